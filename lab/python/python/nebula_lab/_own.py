"""Own policies: a function chooses the core of each RPC."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from typing import Any, Callable, Optional, Union

import numpy as np
from numpy.typing import NDArray

Choice = Callable[[NDArray[np.uint32], int, int], int]

# What every type that ctypes.CFUNCTYPE makes comes from.
_POINTER: type = ctypes.CFUNCTYPE(None).__mro__[1]

SIGNATURE = "int64(CPointer(uint32), int64, uint64, uint64)"
"""What to give ``numba.cfunc``: ``int64_t choose(const uint32_t *load, int64_t cores, uint64_t key, uint64_t draw)``."""


@dataclass(frozen=True)
class Policy:
    """A dispatch policy of your own, for ``simulate(policy=...)`` and ``find_slo(policy=...)``. Its rows are called ``custom:NAME``."""

    name: str
    room: Optional[int]
    function: Union[int, Callable[[bytes, int, int], int]]
    """The address of a compiled function, or a function of Python."""
    owner: Any
    """What the address belongs to: it lives as long as this."""


def policy(choose: Any, *, name: str = "own", room: Optional[int] = None) -> Policy:
    """A policy that ``choose(load, key, draw)`` decides: it returns the index of a core.

    Without ``room`` it chooses as an RPC comes, which then waits for that core: ``load`` are the RPCs that wait for each core or are given to it,
    ``key`` is the RPC's key, or else its flow. With ``room`` the RPCs wait in one queue, and it chooses whenever a core has room: ``load`` are the RPCs
    given to each core, of which at least one is below ``room``, and so must be the one chosen. ``draw`` is a random number of 64 bits: with it in place of
    any other, the same seed gives the same result.

    ``choose`` is a function of Python, which is called some hundred thousand times a second at most, or a compiled one: a ``numba.cfunc`` of
    :data:`SIGNATURE`, or a function pointer of ``ctypes``; these are nearly as fast as Nebula's own. Nothing can check that a compiled function has this signature: with another one, the process may crash.

    A choice that is no core with room is a ``Fault``; an exception in ``choose`` is raised from ``simulate``.

    >>> from nebula_lab import simulate
    >>> shortest = policy(lambda load, key, draw: int(load.argmin()), name="shortest")
    >>> result = simulate(policy=["rss", shortest], cores=4, load=0.7, queue_bound=50, rpcs=2_000, replications=2)
    >>> [str(name) for name in result["policy"]], bool(result["latency_ns_p99"][0] > result["latency_ns_p99"][1])
    (['rss', 'custom:shortest'], True)
    """
    address = getattr(choose, "address", None)
    if isinstance(address, int):
        return Policy(name, room, address, choose)
    if isinstance(choose, _POINTER):
        pointer: Any = choose
        return Policy(name, room, ctypes.cast(pointer, ctypes.c_void_p).value or 0, choose)
    if not callable(choose):
        raise TypeError(f"expected a function, a numba.cfunc or a function pointer of ctypes, not {choose!r}")

    def called(load: bytes, key: int, draw: int) -> int:
        return int(choose(np.frombuffer(load, dtype=np.uint32), key, draw))

    return Policy(name, room, called, choose)
