"""The questions: simulate, find_slo, compare, size, reproduce."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any, Callable, Optional

from . import _native
from ._result import Histogram, Result, Trace
from ._own import Policy
from ._words import Word, flags, policies

Progress = Callable[[int, int], None]


def simulate(*, progress: Optional[bool] = None, **words: Word) -> Result:
    """A server under each policy or design, at each load: latency, throughput and queue, with 95 % intervals.

    The words are those of ``nebula simulate``: ``policy``, ``cores``, ``service``, ``load``, ``queue_bound``, ``rpcs``, ``seed`` and so on; with
    ``machine="isca20"`` the block level, with ``design``, ``rate`` and ``set={"memory.dram.banks": 32}``. Latency is in nanoseconds, from the
    arrival to the end of service; NACKs count as infinite where the SLO is judged. The lock of the interpreter is free meanwhile.

    ``policy`` may have policies of your own: see :func:`policy`. Their rows come last.

    ``progress`` shows a bar (by tqdm); without it, one shows on terminals where tqdm is installed.

    Raises ``BadInput`` for words that cannot be simulated, and ``Fault`` for a queue that grows without limit: its ``result`` has the rows of
    the other points. Warns with ``Unsettled``.

    >>> result = simulate(policy=["rss", "jbsq:2"], cores=4, load=0.6, rpcs=20_000, queue_bound=50)
    >>> bool(result["latency_ns_p99"][0] > result["latency_ns_p99"][1])
    True
    >>> simulate(policy="fifo")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    nebula_lab.BadInput: invalid value 'fifo' for '--policy <POLICY>': unknown policy "fifo": there are rss, ...
    """
    named, own = policies(words)
    return _asked("simulate", flags(named), progress, own, named.get("policy") is None)


def find_slo(*, progress: Optional[bool] = None, **words: Word) -> Result:
    """The highest load, or rate with ``machine``, whose p99 is within ``slo``: the columns ``load_at_slo``, ``_lo`` and ``_hi``.

    As :func:`simulate` with ``find_slo=True``. Raises and warns as it does.

    >>> float(find_slo(policy="single-queue", cores=2, slo="10x", rpcs=200_000, replications=2)["load_at_slo"][0]) > 0.5
    True
    """
    named, own = policies(words)
    return _asked("simulate", ["--find-slo", *flags(named)], progress, own, named.get("policy") is None)


def compare(*, progress: Optional[bool] = None, **words: Word) -> Result:
    """Published systems side by side on one workload, with the costs that their papers state. The words are those of ``nebula compare``.

    Raises and warns as :func:`simulate` does.
    """
    return _asked("compare", flags(words), progress)


def size(*, progress: Optional[bool] = None, **words: Word) -> Result:
    """Room for a server: receive buffer, bitvector, reassembler and queue bound (NEBULA §IV). The words are those of ``nebula size``.

    Raises and warns as :func:`simulate` does.

    With ``rate`` the fewest cores that keep the SLO are the answer, for the times in a log (``trace="prod.csv", column="duration=us"``) or a law;
    ``Result.said`` has it in sentences.

    >>> int(size(cores=64)["buffer_bytes"][0])
    552960
    >>> size(rate="6M", peak="9M", slo="10us", service="exp:1us").said[0]
    '10 cores keep a p99 of 10 µs at 6M RPC/s, at a load of 0.6, and 9M RPC/s at a load of 0.9; up to 9.44M RPC/s they would, 1.57 times the rate.'
    """
    return _asked("size", flags(words), progress)


def reproduce(*ids: str, progress: Optional[bool] = None, **words: Word) -> Result:
    """Published values beside reproduced ones, with a verdict: ``reproduce("nebula/eq1", effort="quick")``. Without ids, all.

    Raises ``BadInput`` for an unknown id, and names those that there are.
    """
    return _asked("reproduce", [*ids, *flags(words)], progress)


def trace(**words: Word) -> list[Trace]:
    """Each RPC of one run of each point of ``simulate(**words)``: its arrival, core, start and end, as arrays.

    Of the first replication, with ``rpcs`` RPCs after the warm-up. Raises ``BadInput`` for policies whose RPCs are not served by one core from begin to
    end, and at the block level.

    >>> one = trace(policy="jbsq:2", cores=4, load=0.6, rpcs=2_000, queue_bound=50)[0]
    >>> len(one.core), int(one.core.max()), bool(((one.end_ns - one.start_ns)[one.core >= 0] > 0).all())
    (2000, 3, True)
    """
    return [Trace.of(*one) for one in _native.trace(flags(words))]


def _asked(
    question: str, words: list[str], progress: Optional[bool], own: Sequence[Policy] = (), are_all: bool = False
) -> Result:
    with _Bar(progress) as bar:
        given = [(one.name, one.room, one.function) for one in own]
        answer = _native.ask(question, words, bar.told, given, bool(own) and are_all)
    histograms = [Histogram.of(*one) for one in answer["histograms"]]
    result = Result(answer["rows"], answer["notes"], answer["replications"], histograms, answer["said"])
    result.warn()
    if answer["failure"] is not None:
        fault = _native.Fault(answer["failure"])
        fault.result = result
        raise fault
    return result


class _Bar:
    """A bar of tqdm, where it is wanted and installed."""

    def __init__(self, wanted: Optional[bool], unit: str = "replication", total: Optional[int] = None) -> None:
        self._bar: Any = None
        self.told: Optional[Progress] = None
        if wanted is False or (wanted is None and not sys.stderr.isatty()):
            return
        try:
            from tqdm.auto import tqdm
        except ImportError:
            if wanted:
                raise
            return
        self._bar = tqdm(total=total, unit=unit, leave=False)
        self.told = self._tell

    def _tell(self, done: int, expected: int) -> None:
        # A precision may add replications that nobody expected.
        self._bar.total = max(done, expected)
        self._bar.update(done - self._bar.n)

    def step(self) -> None:
        """One more is done."""
        if self._bar is not None:
            self._bar.update(1)

    def __enter__(self) -> "_Bar":
        return self

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.close()
