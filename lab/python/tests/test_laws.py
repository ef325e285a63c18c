"""Own laws, from arrays."""

from __future__ import annotations

import numpy as np
import pytest

import nebula_lab as lab


def test_service_times_are_drawn_from_an_array() -> None:
    times = np.repeat([500.0, 5500.0], [9, 1])
    own = lab.simulate(service=lab.samples(times), cores=4, load=0.5, rpcs=20_000)
    spelled = lab.simulate(service="bimodal:500ns@0.9,5500ns@0.1", cores=4, load=0.5, rpcs=20_000)
    assert own["latency_ns_mean"][0] == pytest.approx(spelled["latency_ns_mean"][0], rel=0.05)
    assert own["busy"][0] == pytest.approx(0.5, rel=0.05)


def test_equal_arrays_are_the_same_law() -> None:
    assert lab.samples([1.0, 2.0]) == lab.samples(np.array([1, 2]))
    assert lab.samples([1.0, 2.0]) != lab.samples([2.0, 1.0])


def test_a_function_fills_blocks() -> None:
    sizes: list[int] = []

    def fill(block: np.ndarray, generator: np.random.Generator) -> None:
        sizes.append(block.size)
        block[:] = generator.exponential(1000.0, block.size)

    law = lab.drawn(fill, count=100_000)
    assert sum(sizes) == 100_000 and len(sizes) == 2
    assert law == lab.drawn(fill, count=100_000) and law != lab.drawn(fill, count=100_000, seed=2)
    own, exact = (lab.simulate(service=service, policy="single-queue", cores=4, load=0.7, rpcs=50_000) for service in (law, "exp:1us"))
    assert own["latency_ns_mean"][0] == pytest.approx(exact["latency_ns_mean"][0], rel=0.05)


def test_arrivals_are_replayed() -> None:
    gaps = np.tile([100.0, 100.0, 100.0, 3700.0], 5_000)
    bursty = lab.simulate(arrivals=lab.arrival_times(np.cumsum(gaps)), policy="jbsq:2", service="fixed:1us", cores=2, load=0.5, rpcs=20_000)
    paced = lab.simulate(arrivals="paced", policy="jbsq:2", service="fixed:1us", cores=2, load=0.5, rpcs=20_000)
    assert bursty["latency_ns_p99"][0] > 1.5 * paced["latency_ns_p99"][0]


def test_what_is_no_law_is_refused() -> None:
    for wrong in ([], [0.0], [-1.0, 2.0], [float("nan")]):
        with pytest.raises(ValueError, match="times in nanoseconds"):
            lab.samples(wrong)
    with pytest.raises(ValueError, match="must not fall"):
        lab.arrival_times([2.0, 1.0])
