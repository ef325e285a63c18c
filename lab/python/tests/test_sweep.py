"""Sweeps: the same rows on any executor, what is kept, and workers that die."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import threading
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

import nebula_lab as lab

GRID: dict[str, Any] = {"policy": ["rss", "fifo", "jbsq:2"], "load": "0.3..0.7:3"}
FIXED: dict[str, Any] = {"cores": 4, "rpcs": 2_000, "replications": 2, "queue_bound": 50}


def test_rows_are_those_of_the_program(tmp_path: Path) -> None:
    study = lab.sweep(GRID, cache=False, **FIXED)
    toml = "[fixed]\ncores = 4\nrpcs = 2000\nreplications = 2\nqueue_bound = 50\n[grid]\npolicy = ['rss', 'fifo', 'jbsq:2']\nload = '0.3..0.7:3'\n"
    (tmp_path / "study.toml").write_text(toml)
    words = [os.environ["NEBULA"], "sweep", str(tmp_path / "study.toml"), "--cache", str(tmp_path / "cache"), "--format", "json"]
    theirs = [json.loads(line) for line in subprocess.run(words, capture_output=True, text=True, check=False).stdout.splitlines()]
    assert len(study) == len(theirs) == 9
    for mine, their in zip(study, theirs):
        assert mine.get("error") == their.get("error") and mine["load"] == their["load"]
        assert mine.get("latency_ns_p99") == their.get("latency_ns", {}).get("p99")
    # What the program kept is known here, but for the points that failed.
    again = lab.sweep(GRID, cache=tmp_path / "cache", **FIXED)
    assert again.asked == 3 and again.lines == study.lines


def test_a_point_that_fails_is_a_row_and_a_word_that_is_wrong_everywhere_is_an_error() -> None:
    study = lab.sweep(GRID, cache=False, **FIXED)
    assert [row["policy"] for row in study.errors] == ["fifo"] * 3
    assert all("unknown policy" in str(row["error"]) for row in study.errors)
    with pytest.raises(lab.BadInput, match="unexpected argument '--core'"):
        lab.sweep(GRID, core=4)
    with pytest.raises(lab.BadInput, match="the axis load has no values"):
        lab.sweep({"load": 0.5})
    with pytest.raises(lab.BadInput, match="unknown executor 'gpus'"):
        lab.sweep(GRID, executor="gpus", cache=False, **FIXED)


def test_serial_threads_and_processes_give_the_same_bytes() -> None:
    serial = lab.sweep(GRID, workers=1, cache=False, **FIXED)
    threads = lab.sweep(GRID, executor="threads", workers=2, cache=False, **FIXED)
    processes = lab.sweep(GRID, executor="processes", workers=2, cache=False, **FIXED)
    with ThreadPoolExecutor(3) as own:
        other = lab.sweep(GRID, executor=own, cache=False, **FIXED)
    assert serial.lines == threads.lines == processes.lines == other.lines
    assert serial.asked == 9


def test_what_is_known_is_not_asked_again(tmp_path: Path) -> None:
    first = lab.sweep(GRID, cache=tmp_path, **FIXED)
    again = lab.sweep(GRID, cache=tmp_path, **FIXED)
    assert (first.asked, again.asked) == (9, 3), "points that failed may succeed later"
    wider = lab.sweep({**GRID, "policy": ["rss", "random"]}, cache=tmp_path, **FIXED)
    assert wider.asked == 3 and wider.lines[:3] == first.lines[:3]
    assert lab.sweep(GRID, cache=tmp_path, **{**FIXED, "seed": 2}).asked == 9


class Mortal:
    """An executor whose worker dies of one point: as long as it is in a batch with others, and when it is alone."""

    def __init__(self, deadly: str) -> None:
        self.deadly = deadly
        self.batches: list[int] = []

    def submit(self, work: Any, points: list[Any]) -> "Future[Any]":
        future: "Future[Any]" = Future()
        self.batches.append(len(points))
        if any(self.deadly in words for _, words, _ in points):
            future.set_exception(RuntimeError("the worker died"))
        else:
            future.set_result(work(points))
        return future


def test_a_worker_that_dies_costs_its_point_and_not_the_study() -> None:
    grid = {"seed": list(range(64))}
    executor = Mortal("--seed=40")
    study = lab.sweep(grid, executor=executor, workers=1, cache=False, load=0.5, **FIXED)  # type: ignore[arg-type]
    assert max(executor.batches) > 1
    assert [row["seed"] for row in study.errors] == [40] and len(study) == 64
    assert "died twice" in str(study.errors[0]["error"])
    whole = lab.sweep(grid, cache=False, load=0.5, **FIXED)
    assert study.lines[:40] + study.lines[41:] == whole.lines[:40] + whole.lines[41:]


def test_a_process_that_is_killed_costs_nothing() -> None:
    grid = {"seed": list(range(40))}
    fixed = {**FIXED, "rpcs": 300_000, "queue_bound": 500}
    whole = lab.sweep(grid, cache=False, **fixed)
    stop = threading.Event()

    def kill_one() -> None:
        while not stop.is_set():
            children = Path(f"/proc/{os.getpid()}/task").glob("*/children")
            for child in {int(pid) for file in children for pid in file.read_text().split()}:
                line = Path(f"/proc/{child}/cmdline").read_bytes()
                if b"spawn_main" in line:
                    # It is at work by then, unless all is done.
                    if not stop.wait(0.3):
                        os.kill(child, signal.SIGKILL)
                    return
            stop.wait(0.01)

    killer = threading.Thread(target=kill_one)
    killer.start()
    study = lab.sweep(grid, executor="processes", workers=2, cache=False, **fixed)
    stop.set()
    killer.join()
    assert study.lines == whole.lines


def test_dask_gives_the_same_bytes_though_a_worker_is_killed(tmp_path: Path) -> None:
    distributed = pytest.importorskip("distributed")
    grid = {"seed": list(range(60))}
    fixed = {**FIXED, "rpcs": 200_000, "queue_bound": 500}
    whole = lab.sweep(grid, cache=False, **fixed)
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None, local_directory=str(tmp_path)
    ) as cluster, distributed.Client(cluster) as client:
        victim = next(iter(client.run(os.getpid).values()))
        killer = threading.Timer(0.3, os.kill, (victim, signal.SIGKILL))
        killer.start()
        study = lab.sweep(grid, executor=client.get_executor(), workers=2, cache=False, **fixed)
        killer.join()
    assert study.lines == whole.lines
