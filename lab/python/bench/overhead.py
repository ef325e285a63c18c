"""What Python adds: a call's time beside the simulation's, a sweep's use of the cores, a resume, own policies, and two processes on Dask against one.

Run by `cargo xtask python --bench`. The program `nebula` of the same build answers the same question for comparison.
"""

from __future__ import annotations

import os
import statistics
import tempfile
import time
import warnings
from typing import Any, Callable

import nebula_lab as lab
from nebula_lab import _native

warnings.simplefilter("ignore", lab.Unsettled)


def seconds(work: Callable[[], Any], times: int = 7) -> float:
    """The median of some runs."""
    taken = []
    for _ in range(times):
        start = time.perf_counter()
        work()
        taken.append(time.perf_counter() - start)
    return statistics.median(taken)


def cpu_seconds() -> float:
    of = os.times()
    return of.user + of.system + of.children_user + of.children_system


def call() -> None:
    """A call against the same point asked by the compiled code alone, on one thread."""
    words: dict[str, Any] = {"cores": 16, "load": 0.7, "queue_bound": 100, "rpcs": 200_000, "replications": 10}
    sent = _native.points('{"fixed": {"cores": 16, "load": 0.7, "queue_bound": 100, "rpcs": 200000, "replications": 10}}')
    bare = seconds(lambda: _native.ask_points(sent))
    whole = seconds(lambda: lab.simulate(threads=1, **words))
    print(f"a call of 2 M RPCs: {whole * 1e3:.1f} ms, without Python {bare * 1e3:.1f} ms, added {100 * (whole / bare - 1):.1f} %")


def sweep() -> None:
    """1,000 cheap points: the processor's time over the wall's, and how much of it is simulation."""
    grid = {"seed": list(range(1_000))}
    fixed: dict[str, Any] = {"cores": 16, "load": 0.55, "queue_bound": 100, "rpcs": 20_000, "replications": 5}
    cores = os.cpu_count() or 1
    points = _native.points('{"fixed": {"cores": 16, "load": 0.55, "queue_bound": 100, "rpcs": 20000, "replications": 5}}')
    alone = seconds(lambda: _native.ask_points(points * 20), 3) / 20
    with tempfile.TemporaryDirectory() as folder:
        start, before = time.perf_counter(), cpu_seconds()
        lab.sweep(grid, cache=folder, **fixed)
        wall, cpu = time.perf_counter() - start, cpu_seconds() - before
        resumed = seconds(lambda: lab.sweep(grid, cache=folder, **fixed), 3)
    share = 1_000 * alone / cpu
    print(f"1,000 points: {wall:.2f} s on {cores} cores, {cpu / wall / cores:.2f} of the cores' time, {share:.2f} of it simulation; resumed in {resumed:.2f} s")


def own_policies() -> None:
    """Compiled policies of the caller's beside Nebula's own, on one thread; and one in Python."""
    import numba
    import numpy as np

    @numba.cfunc(lab.SIGNATURE)
    def two_choices(load, cores, key, draw):  # type: ignore[no-untyped-def]
        first, second = draw % np.uint64(cores), (draw >> np.uint64(32)) % np.uint64(cores)
        return np.int64(second if load[second] < load[first] else first)

    @numba.cfunc(lab.SIGNATURE)
    def least(load, cores, key, draw):  # type: ignore[no-untyped-def]
        best = 0
        for core in range(1, cores):
            if load[core] < load[best]:
                best = core
        return best

    def rate(policy: Any, rpcs: int = 500_000) -> float:
        words: dict[str, Any] = {"cores": 16, "load": 0.7, "replications": 4, "threads": 1, "queue_bound": 200}
        return 4 * rpcs / seconds(lambda: lab.simulate(policy=policy, rpcs=rpcs, **words), 3) / 1e6

    for name, own in [("two-choices", lab.policy(two_choices)), ("jbsq:2", lab.policy(least, room=2))]:
        theirs, ours = rate(name), rate(own)
        print(f"{name}: {theirs:.1f} M RPC/s, as a numba.cfunc {ours:.1f}: {ours / theirs:.2f} of its speed")
    print(f"shortest queue in Python: {rate(lab.policy(lambda load, key, draw: int(load.argmin())), 20_000):.2f} M RPC/s")


def dask() -> None:
    """Two worker processes against one."""
    import distributed

    grid = {"seed": list(range(200))}
    fixed: dict[str, Any] = {"cores": 16, "load": 0.7, "queue_bound": 100, "rpcs": 200_000, "replications": 5}
    taken = {}
    for workers in (1, 2):
        with distributed.LocalCluster(n_workers=workers, threads_per_worker=1, dashboard_address=None) as cluster:
            with distributed.Client(cluster) as client:
                lab.sweep({"seed": [1_000, 1_001]}, executor=client.get_executor(), workers=workers, cache=False, **fixed)
                start = time.perf_counter()
                lab.sweep(grid, executor=client.get_executor(), workers=workers, cache=False, **fixed)
                taken[workers] = time.perf_counter() - start
    print(f"200 points on Dask: one process {taken[1]:.2f} s, two {taken[2]:.2f} s, {taken[1] / taken[2]:.2f} times as fast")


if __name__ == "__main__":
    call()
    sweep()
    own_policies()
    dask()
