"""A question at every point of a grid, on threads, processes or any executor."""

from __future__ import annotations

import json
import multiprocessing
import os
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor, wait
from typing import Any, Optional, Union

from . import _native
from ._ask import _Bar
from ._result import Result, Row
from ._words import Scalar, Word, plain

Sent = tuple[str, list[str], list[tuple[str, str]]]
Axis = Union[str, Iterable[Scalar], Mapping[str, Any]]


class Study(Result):
    """The rows of a sweep, in the order of its points. A point that failed has one row, with its ``error``."""

    def __init__(self, rows: list[Row], notes: Sequence[str], lines: list[str], asked: int) -> None:
        super().__init__(rows, notes)
        self.lines = lines
        """The result of each point as a line of JSON: the same bytes on any executor, and those that ``nebula sweep`` keeps."""
        self.asked = asked
        """How many points were simulated; the others were known."""

    @property
    def errors(self) -> list[Row]:
        """The rows of the points that failed."""
        return [row for row in self if row.get("error") is not None]


def sweep(
    grid: Mapping[str, Axis],
    *,
    question: str = "simulate",
    executor: Union[Executor, str, None] = None,
    workers: Optional[int] = None,
    cache: Union[bool, str, "os.PathLike[str]"] = True,
    progress: Optional[bool] = None,
    **fixed: Word,
) -> Study:
    """Asks ``question`` at every point of ``grid``: ``{"policy": ["rss", "jbsq:2"], "load": "0.5..0.9:5"}``; the last axis runs fastest.

    An axis is a list, or a range ``"LOW..HIGH:STEPS"``; ``{"set": {"memory.dram.banks": [16, 32]}}`` are keys of a machine. The other keywords
    are words of all points.

    ``executor`` is ``"threads"`` (the default; the lock of the interpreter is free), ``"processes"``, or any object with the ``submit`` of
    ``concurrent.futures``: ``distributed.Client(...).get_executor()``, ``mpi4py.futures.MPIPoolExecutor()``. ``workers`` is how many points run at
    once, by default one a core. Each point runs on one thread, and the rows do not depend on who ran them.

    ``cache`` keeps results on disk, under a digest of version, words, seed and the content of files: ``True`` is the folder that ``nebula
    sweep`` uses, a path another one. What is known is not simulated again, so an interrupted study goes on.

    A point that fails is a row with its ``error``. A point whose worker died is asked once more by itself, and then is such a row.

    Raises ``BadInput`` if no point can be asked with these words. Warns with ``Unsettled``.

    >>> study = sweep({"policy": ["rss", "fifo"], "load": "0.3..0.6:2"}, cores=2, rpcs=2_000, replications=2, cache=False)
    >>> len(study), len(study.errors)
    (4, 2)
    """
    points = _native.points(json.dumps({"question": question, "fixed": _plain(fixed), "grid": _plain(grid)}))
    known = _Known(cache)
    lines: list[Optional[str]] = [known.find(point) for point in points]
    missing = [index for index, line in enumerate(lines) if line is None]
    with _Bar(progress, unit="point", total=len(points)) as bar:
        for _ in range(len(points) - len(missing)):
            bar.step()
        count = workers or os.cpu_count() or 1
        for index, line in _Run(points, executor, count).lines(missing):
            lines[index] = line
            known.keep(points[index], line)
            bar.step()
    found = [line for line in lines if line is not None]
    rows: list[Row] = []
    notes: list[str] = []
    for line in found:
        of_point, said, _ = _native.rows_of(line)
        rows.extend(of_point)
        notes.extend(said)
    study = Study(rows, notes, found, len(missing))
    if notes:
        first = notes[0].split("note: ", 1)[-1]
        more = f" (and {len(notes) - 1} more: see .notes)" if len(notes) > 1 else ""
        Result([], [first + more]).warn()
    return study


def _plain(given: Mapping[str, Any]) -> dict[str, Any]:
    """Values that JSON can hold; laws by their word."""

    def one(value: Any) -> Any:
        if isinstance(value, Mapping):
            return {key: one(inner) for key, inner in value.items()}
        if isinstance(value, (bool, str)) or value is None:
            return value
        if isinstance(value, Iterable) and not isinstance(value, os.PathLike):
            return [inner if isinstance(inner, bool) else plain(inner) for inner in value]
        return plain(value)

    return {name: one(value) for name, value in given.items()}


class _Known:
    """Results on disk, or none."""

    def __init__(self, cache: Union[bool, str, "os.PathLike[str]"]) -> None:
        folder = _native.cache_folder() if cache is True else cache
        self._cache = _native.Cache(os.fspath(folder)) if folder else None

    def find(self, point: Sent) -> Optional[str]:
        return self._cache.find(point) if self._cache is not None else None

    def keep(self, point: Sent, line: str) -> None:
        if self._cache is not None:
            self._cache.keep(point, line)


def _ask(points: list[Sent]) -> list[str]:
    """Runs in a worker: the results of a few points."""
    return _native.ask_points(points)


# Points that are given to a worker at once: enough that handing them over costs little, so few that workers end together.
_BATCH_MAX = 16
_BATCHES_EACH = 8


class _Run:
    """Points on an executor. Two batches a worker are handed out at a time: if a worker dies, only what it may have had is in doubt."""

    def __init__(self, points: list[Sent], executor: Union[Executor, str, None], workers: int) -> None:
        self._points = points
        self._given = executor
        self._workers = workers

    def lines(self, indices: list[int]) -> Iterable[tuple[int, str]]:
        """The result of each of these points, as it comes."""
        if not indices:
            return
        size = max(1, min(_BATCH_MAX, len(indices) // (self._workers * _BATCHES_EACH)))
        waiting = deque(indices[start : start + size] for start in range(0, len(indices), size))
        in_doubt: list[int] = []
        while waiting:
            yield from self._on_one_executor(waiting, in_doubt, 2 * self._workers)
        # One by one: the point that kills its worker kills no other's.
        alone = deque([index] for index in in_doubt)
        while alone:
            again: list[int] = []
            yield from self._on_one_executor(alone, again, 1)
            for index in again:
                yield index, _native.lost(self._points[index], "the worker that simulated this point died twice")

    def _on_one_executor(self, waiting: "deque[list[int]]", in_doubt: list[int], at_once: int) -> Iterable[tuple[int, str]]:
        """Until all are done, or the executor is broken; then what was handed out is in doubt."""
        executor, is_own = self._executor()
        running: dict[Future[list[str]], list[int]] = {}
        try:
            while waiting or running:
                while waiting and len(running) < at_once:
                    batch = waiting.popleft()
                    try:
                        running[executor.submit(_ask, [self._points[index] for index in batch])] = batch
                    except BrokenExecutor:
                        in_doubt.extend(batch)
                        raise
                for future in wait(running, return_when=FIRST_COMPLETED).done:
                    batch = running.pop(future)
                    error = future.exception()
                    if error is None:
                        yield from zip(batch, future.result())
                    elif isinstance(error, (_native.BadInput, TypeError)):
                        raise error
                    else:
                        in_doubt.extend(batch)
                        if isinstance(error, BrokenExecutor):
                            raise error
        except BrokenExecutor:
            for batch in running.values():
                in_doubt.extend(batch)
            if not is_own:
                # Nobody can mend it but its owner.
                for batch in waiting:
                    in_doubt.extend(batch)
                waiting.clear()
        finally:
            if is_own:
                executor.shutdown(wait=True, cancel_futures=True)

    def _executor(self) -> tuple[Any, bool]:
        if self._given is None or self._given == "threads":
            return ThreadPoolExecutor(self._workers), True
        if self._given == "processes":
            # A fork would copy the locks of threads that it does not copy.
            return ProcessPoolExecutor(self._workers, mp_context=multiprocessing.get_context("spawn")), True
        if isinstance(self._given, str):
            raise _native.BadInput(f"unknown executor {self._given!r}: give threads, processes, or an executor of concurrent.futures")
        return self._given, False
