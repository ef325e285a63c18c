"""Own policies, as functions of Python and as compiled ones."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
import pytest

import nebula_lab as lab

SHORT = {"cores": 4, "load": 0.7, "queue_bound": 50, "rpcs": 3_000, "replications": 2}


def shortest(load: Any, key: int, draw: int) -> int:
    return int(load.argmin())


def test_with_room_the_least_loaded_core_is_jbsq() -> None:
    result = lab.simulate(policy=[lab.policy(shortest, name="mine", room=2), "jbsq:2"], **SHORT)
    assert list(result["policy"]) == ["jbsq:2", "custom:mine"]
    assert result["latency_ns_p99"][1] == pytest.approx(result["latency_ns_p99"][0], rel=0.02)


def test_a_compiled_function_decides_as_the_same_one_of_python() -> None:
    prototype = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.POINTER(ctypes.c_uint32), ctypes.c_int64, ctypes.c_uint64, ctypes.c_uint64)
    pointer = prototype(lambda load, cores, key, draw: min(range(cores), key=lambda core: load[core]))
    found = [lab.simulate(policy=lab.policy(choose), **SHORT) for choose in (shortest, pointer)]
    assert found[0]["latency_ns_p99"][0] == found[1]["latency_ns_p99"][0]
    assert found[0].replications == found[1].replications


def test_numba_compiles_one() -> None:
    numba = pytest.importorskip("numba")

    @numba.cfunc(lab.SIGNATURE)
    def two_choices(load, cores, key, draw):  # type: ignore[no-untyped-def]
        first, second = draw % np.uint64(cores), (draw >> np.uint64(32)) % np.uint64(cores)
        return np.int64(second if load[second] < load[first] else first)

    words = {**SHORT, "cores": 16, "rpcs": 50_000, "queue_bound": 200}
    result = lab.simulate(policy=["two-choices", lab.policy(two_choices)], **words)
    assert result["latency_ns_p99"][1] == pytest.approx(result["latency_ns_p99"][0], rel=0.1)


def test_a_choice_that_is_no_core_is_a_fault_and_an_exception_is_raised() -> None:
    with pytest.raises(lab.Fault, match="the policy mine chose core 4: give one of 0 to 3"):
        lab.simulate(policy=lab.policy(lambda load, key, draw: 4, name="mine"), **SHORT)

    def fails(load: Any, key: int, draw: int) -> int:
        raise ZeroDivisionError("in the policy")

    with pytest.raises(ZeroDivisionError, match="in the policy"):
        lab.simulate(policy=lab.policy(fails), **{**SHORT, "rpcs": "10M", "replications": 100})


def test_what_is_no_policy_is_refused() -> None:
    with pytest.raises(TypeError, match="expected a function"):
        lab.policy(17)
    with pytest.raises(lab.BadInput, match="cannot be the name"):
        lab.simulate(policy=lab.policy(shortest, name="My Policy"), **SHORT)
    with pytest.raises(lab.BadInput, match="there is no code at the address 0x"):
        lab.simulate(policy=lab.Policy("mine", None, 4096, None), **SHORT)
    with pytest.raises(lab.BadInput, match="neither a machine, nor tenants, nor tiers"):
        lab.simulate(policy=lab.policy(shortest), machine="isca20", rate="5MRPS")
    with pytest.raises(TypeError, match="simulate and find_slo alone"):
        lab.sweep({"policy": [lab.policy(shortest)]})


def test_a_search_takes_one() -> None:
    words = {key: value for key, value in SHORT.items() if key not in ("load", "queue_bound")}
    found = lab.find_slo(policy=lab.policy(shortest, room=1), slo="10us", **{**words, "rpcs": 10_000})
    assert list(found["policy"]) == ["custom:own"]
    assert 0.2 < found["load_at_slo"][0] < 1.0
