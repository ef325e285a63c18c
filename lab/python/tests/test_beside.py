"""The same M/M/k as SimPy and Ciw run, and as a formula says."""

from __future__ import annotations

import math
import random

import pytest

import nebula_lab as lab

CORES, LOAD, SERVICE_NS = 4, 0.7, 1000.0


def erlang_c_sojourn_ns() -> float:
    """The mean time in an M/M/k, by Erlang's formula."""
    offered = CORES * LOAD
    below = sum(offered**n / math.factorial(n) for n in range(CORES))
    last = offered**CORES / math.factorial(CORES) / (1 - LOAD)
    return SERVICE_NS * (1 + last / (below + last) / (CORES * (1 - LOAD)))


def test_nebula_holds_the_formula() -> None:
    result = lab.simulate(policy="single-queue", service="exp:1us", cores=CORES, load=LOAD)
    assert result["latency_ns_mean_lo"][0] <= erlang_c_sojourn_ns() <= result["latency_ns_mean_hi"][0]


def test_simpy_runs_the_same() -> None:
    simpy = pytest.importorskip("simpy")
    generator, taken = random.Random(1), []
    world = simpy.Environment()
    cores = simpy.Resource(world, CORES)

    def rpc():  # type: ignore[no-untyped-def]
        came = world.now
        with cores.request() as core:
            yield core
            yield world.timeout(generator.expovariate(1 / SERVICE_NS))
        taken.append(world.now - came)

    def arrivals():  # type: ignore[no-untyped-def]
        for _ in range(200_000):
            yield world.timeout(generator.expovariate(CORES * LOAD / SERVICE_NS))
            world.process(rpc())

    world.process(arrivals())
    world.run()
    assert sum(taken) / len(taken) == pytest.approx(erlang_c_sojourn_ns(), rel=0.03)


def test_ciw_runs_the_same() -> None:
    ciw = pytest.importorskip("ciw")
    ciw.seed(1)
    network = ciw.create_network(
        arrival_distributions=[ciw.dists.Exponential(rate=CORES * LOAD)],
        service_distributions=[ciw.dists.Exponential(rate=1.0)],
        number_of_servers=[CORES],
    )
    simulation = ciw.Simulation(network)
    simulation.simulate_until_max_time(10_000)
    taken = [record.exit_date - record.arrival_date for record in simulation.get_all_records()]
    assert SERVICE_NS * sum(taken) / len(taken) == pytest.approx(erlang_c_sojourn_ns(), rel=0.05)
