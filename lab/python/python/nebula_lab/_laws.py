"""Own laws: service and arrival times from arrays, by the name of their content."""

from __future__ import annotations

import hashlib
import os
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Callable, Optional

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import _native


@dataclass(frozen=True)
class Law:
    """A service or arrival law. It is a word of the command line, so it can stand wherever one can."""

    word: str

    def __str__(self) -> str:
        return self.word


def samples(times_ns: ArrayLike) -> Law:
    """The empirical law of these times in nanoseconds: all equally likely, drawn with replacement.

    Raises ``ValueError`` unless the times are finite, not negative and not all zero. The times are written once, in a folder of the
    user's cache, under the name of their content: 25 bytes a time.

    >>> law = samples([500.0, 500.0, 500.0, 5500.0])
    >>> str(law).startswith("trace:")
    True
    """
    return Law("trace:" + str(_kept(_checked(times_ns))))


def arrival_times(times_ns: ArrayLike) -> Law:
    """Arrivals at these times in nanoseconds, which must not fall; replayed from a random place, and scaled to the load that is asked.

    Raises ``ValueError`` unless the times are finite, not negative and in order.
    """
    times = _checked(times_ns)
    if np.any(np.diff(times) < 0):
        raise ValueError("arrival times must not fall: sort them first")
    return Law("trace:" + str(_kept(times)))


def drawn(fill: Callable[[NDArray[np.float64], np.random.Generator], None], count: int = 1_000_000, seed: int = 1) -> Law:
    """The empirical law of ``count`` times that ``fill`` draws: it is called with blocks of an array to fill with nanoseconds, and a generator.

    The law is that of the sample, not of the function: its tail ends at the largest of ``count`` times.

    >>> law = drawn(lambda block, rng: block.__setitem__(slice(None), rng.gamma(2.0, 500.0, block.size)), count=10_000)
    """
    times = np.empty(count, dtype=np.float64)
    generator = np.random.default_rng(seed)
    for start in range(0, count, _BLOCK):
        fill(times[start : start + _BLOCK], generator)
    return samples(times)


_BLOCK = 65_536


def _checked(times_ns: ArrayLike) -> NDArray[np.float64]:
    times = np.asarray(times_ns, dtype=np.float64).ravel()
    if times.size == 0 or not np.all(np.isfinite(times)) or np.any(times < 0) or not np.any(times > 0):
        raise ValueError("expected times in nanoseconds: finite, not negative, and not all zero")
    return times


def _kept(times: NDArray[np.float64]) -> Path:
    """The file of these times, one a line in nanoseconds to a picosecond."""
    name = hashlib.sha256(times.tobytes()).hexdigest()[:32]
    path = _folder() / f"{name}.csv"
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, new = tempfile.mkstemp(dir=path.parent)
        with os.fdopen(handle, "w") as file:
            np.savetxt(file, times, fmt="%.3f")
        os.replace(new, path)
    return path


def _folder() -> Path:
    cache: Optional[str] = _native.cache_folder()
    base = Path(cache) if cache is not None else Path(tempfile.gettempdir()) / "nebula-lab"
    return base / "times"
