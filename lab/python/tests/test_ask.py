"""The questions: the same words, the same numbers, the same errors as the program."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest
from conftest import program

import nebula_lab as lab

SHORT = {"rpcs": 5_000, "replications": 3}
WORDS = ["--rpcs", "5000", "--replications", "3"]


def test_a_point_has_the_numbers_of_the_program() -> None:
    ours = lab.simulate(policy=["rss", "jbsq:2"], cores=4, load=[0.5, 0.8], queue_bound=40, seed=7, **SHORT)
    theirs = program("simulate", "--policy", "rss,jbsq:2", "--cores", "4", "--load", "0.5,0.8", "--queue-bound", "40", "--seed", "7", *WORDS)
    assert len(ours) == len(theirs) == 4
    for mine, their in zip(ours, theirs):
        assert mine["latency_ns_p99"] == their["latency_ns"]["p99"]
        assert [mine["latency_ns_p99_lo"], mine["latency_ns_p99_hi"]] == their["latency_ns_p99_ci"]
        assert mine["policy"] == their["policy"] and mine["nacks"] == their["nacks"]


def test_other_questions_have_them_too() -> None:
    found = lab.find_slo(policy="jbsq:2", cores=4, slo="10us", **SHORT)
    assert found["load_at_slo"][0] == program("simulate", "--find-slo", "--cores", "4", "--slo", "10us", *WORDS)[0]["load_at_slo"]
    compared = lab.compare(system=["zygos", "nebula"], load=0.3, **SHORT)
    assert list(compared["system"]) == ["zygos", "nebula"]
    sized = lab.size(cores=[4, 64], load=0.9)
    assert list(sized["buffer_slots"]) == [row["buffer_slots"] for row in program("size", "--cores", "4,64", "--load", "0.9")]
    rows = lab.reproduce("nebula/sizing", effort="quick")
    assert set(rows["verdict"]) <= {"reproduced", "differs", "fitted", "cited", "note", "not-reproducible-as-published"}
    blocks = lab.simulate(machine="isca20", design="nebula", rate="5MRPS", set={"memory.dram.path_ns": 75}, **SHORT)
    usual = lab.simulate(machine="isca20", design="nebula", rate="5MRPS", **SHORT)
    assert blocks["latency_ns_p99"][0] > usual["latency_ns_p99"][0] and not blocks.histograms


def test_what_the_program_refuses_is_an_exception_with_its_line() -> None:
    for words, said in [
        ({"policy": "fifo"}, "unknown policy"),
        ({"core": 4}, "unexpected argument '--core'"),
        ({"rate": "5MRPS"}, "--rate belongs to the block level"),
        ({"load": 1.5}, "no steady state"),
    ]:
        with pytest.raises(lab.BadInput, match=said) as raised:
            lab.simulate(**words)
        line = subprocess.run([os.environ["NEBULA"], "simulate", *_flags(words)], capture_output=True, text=True, check=False).stderr
        assert line.strip() == f"error: {raised.value}"
    with pytest.raises(lab.BadInput, match="unknown entry"):
        lab.reproduce("nebula/fig99")


def _flags(words: dict[str, object]) -> list[str]:
    return [part for name, value in words.items() for part in (f"--{name}", str(value))]


def test_a_fault_has_the_rows_of_the_other_points() -> None:
    with pytest.raises(lab.Fault, match="core") as raised:
        lab.simulate(policy=["rss", "jbsq:2"], cores=2, flows=1, load=0.9, rpcs="1M", replications=2)
    assert list(raised.value.result["policy"]) == ["jbsq:2"]


def test_columns_are_arrays_and_absent_values_are_not_numbers() -> None:
    result = lab.simulate(policy="jbsq:2", cores=2, load=[0.3, 0.6], **SHORT)
    assert result["latency_ns_p99"].dtype == np.float64 and result["policy"].dtype == object
    assert np.isnan(result["queue_bound"].astype(float)).all()
    with pytest.raises(KeyError, match="latency_ns_p99"):
        result["p99"]
    assert result[0]["load"] == 0.3 and [row["load"] for row in result] == [0.3, 0.6]


def test_replications_and_histograms_stand_behind_a_row() -> None:
    result = lab.simulate(policy="jbsq:2", cores=2, load=[0.3, 0.6], **SHORT)
    assert len(result.replications) == 6 and len(result.histograms) == 2
    of = result.histograms[1]
    assert of.load == 0.6 and of.count.sum() == 15_000 and of.ccdf[-1] == 0.0
    assert of.quantile(0.99) == pytest.approx(result["latency_ns_p99"][1], rel=2e-3)
    assert (np.diff(of.latency_ns_lo) > 0).all() and (np.diff(of.ccdf) <= 0).all()


def test_files_have_one_value_a_cell(tmp_path: Path) -> None:
    import pyarrow.parquet

    result = lab.simulate(policy=["rss", "jbsq:2"], cores=2, load=0.3, **SHORT)
    result.to_csv(tmp_path / "points.csv")
    lines = (tmp_path / "points.csv").read_text().splitlines()
    assert len(lines) == 3 and lines[0].split(",") == result.columns and ";" not in lines[1]
    result.to_parquet(tmp_path / "points.parquet")
    frame = result.to_pandas()
    assert pyarrow.parquet.read_table(tmp_path / "points.parquet").to_pylist() == list(result)
    assert list(frame.columns) == result.columns and frame["latency_ns_p99"].tolist() == list(result["latency_ns_p99"])


def test_a_figure_is_drawn_with_its_intervals(tmp_path: Path) -> None:
    drawn = lab.simulate(policy=["rss", "jbsq:2"], cores=2, load=[0.3, 0.6], **SHORT).plot()
    axes = drawn.axes[0]
    assert [line.get_label() for line in axes.lines[:2]] == ["rss", "jbsq:2"] and len(axes.collections) == 2
    assert axes.get_ylabel() == "latency p99 (µs)" and axes.get_yscale() == "log"
    drawn.savefig(tmp_path / "p99.pdf")
    assert (tmp_path / "p99.pdf").read_bytes().startswith(b"%PDF")


def test_distributions_are_drawn_and_notebooks_show_figures() -> None:
    result = lab.simulate(policy=["rss", "jbsq:2"], cores=2, load=[0.3, 0.6], **SHORT)
    drawn = result.plot_ccdf(0.5)
    assert [line.get_label() for line in drawn.axes[0].lines] == ["rss", "jbsq:2"]
    assert drawn.axes[0].get_legend().get_title().get_text() == "load 0.6"
    assert drawn._repr_png_().startswith(b"\x89PNG")
    with pytest.raises(ValueError, match="no distributions"):
        lab.size(cores=4).plot_ccdf()


def test_the_lock_is_free_meanwhile() -> None:
    counted, ended = [0], threading.Event()

    def count() -> None:
        while not ended.is_set():
            counted[0] += 1
            ended.wait(0.001)

    beside = threading.Thread(target=count)
    beside.start()
    during = 0
    # With the lock held, the other thread would count nothing in any of them. On a busy machine it may not in one.
    for _ in range(20):
        before = counted[0]
        lab.simulate(cores=4, load=0.5, rpcs="500k", replications=8, threads=1)
        during = max(during, counted[0] - before)
        if during >= 3:
            break
    ended.set()
    beside.join()
    assert during >= 3


def test_ctrl_c_stops_a_question() -> None:
    # A shell has its background jobs ignore Ctrl-C, and Python then leaves it so.
    listens = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler); import nebula_lab as lab"
    code = f"{listens}; print('asked', flush=True); lab.simulate(cores=4, load=0.5, rpcs='10M', replications=1000)"
    child = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        assert child.stdout is not None
        assert child.stdout.readline() == "asked\n"
        with pytest.raises(subprocess.TimeoutExpired):
            child.wait(timeout=0.5)
        child.send_signal(signal.SIGINT)
        _, said = child.communicate(timeout=120)
        assert child.returncode != 0 and "KeyboardInterrupt" in said
    finally:
        child.kill()


def test_progress_is_told_and_may_stop_the_question(monkeypatch: pytest.MonkeyPatch) -> None:
    from nebula_lab import _native

    told: list[tuple[int, int]] = []
    _native.ask("simulate", ["--rpcs", "1M", "--replications", "20", "--cores", "4", "--threads", "1"], lambda *counts: told.append(counts))
    assert told and all(done <= expected for done, expected in told)

    def stop(done: int, expected: int) -> None:
        raise StopIteration

    with pytest.raises(StopIteration):
        _native.ask("simulate", ["--rpcs", "10M", "--replications", "1000", "--cores", "4"], stop)
    shown = lab.simulate(cores=4, rpcs=5_000, replications=3, progress=True)
    assert len(shown) == 2


def test_a_trace_is_that_of_the_program(tmp_path: Path) -> None:
    path = tmp_path / "rpcs.csv"
    program("simulate", "--policy", "jbsq:2", "--cores", "4", "--load", "1.2", "--queue-bound", "8", "--trace", str(path), *WORDS)
    theirs = [line.split(",") for line in path.read_text().splitlines()[1:]]
    ours = lab.trace(policy="jbsq:2", cores=4, load=1.2, queue_bound=8, **SHORT)[0]
    assert (ours.policy, ours.load, len(theirs)) == ("jbsq:2", 1.2, 5_000)
    assert [core if core else "-1" for *_, core, _, _ in theirs] == [str(core) for core in ours.core]
    assert np.allclose(ours.arrival_ns, [float(line[3]) for line in theirs])
    refused = ours.core < 0
    assert refused.sum() > 100 and np.isnan(ours.end_ns[refused]).all() and not np.isnan(ours.start_ns[~refused]).any()
    with pytest.raises(lab.BadInput, match="policies that decide once"):
        lab.trace(policy="work-stealing")
