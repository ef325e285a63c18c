"""Nebula's laboratory: servers whose RPCs take a microsecond, simulated with confidence intervals.

The functions take the words of the program ``nebula``: a keyword is a flag with ``_`` for ``-``. Times in results are in
nanoseconds and rates in 10⁶ RPC/s, as the names of the columns say. The mechanisms are those of NEBULA (ISCA 2020) and RPCValet
(ASPLOS 2019); ``nebula reproduce`` compares the results with the published ones.

>>> import nebula_lab as lab
>>> result = lab.simulate(policy="jbsq:2", cores=4, load=[0.3, 0.6], rpcs=20_000, queue_bound=50)
>>> [str(name) for name in result["policy"]], result["latency_ns_p99"].dtype.name
(['jbsq:2', 'jbsq:2'], 'float64')
>>> bool(result["latency_ns_p99_lo"][1] <= result["latency_ns_p99"][1] <= result["latency_ns_p99_hi"][1])
True
"""

from ._ask import compare, find_slo, reproduce, simulate, size, trace
from ._laws import Law, arrival_times, drawn, samples
from ._own import SIGNATURE, Policy, policy
from ._native import BadInput, Fault, __version__
from ._result import Histogram, Result, Trace, Unsettled
from ._sweep import Study, sweep

__all__ = [
    "BadInput",
    "Fault",
    "Histogram",
    "Law",
    "Policy",
    "Result",
    "SIGNATURE",
    "Study",
    "Trace",
    "Unsettled",
    "__version__",
    "arrival_times",
    "compare",
    "drawn",
    "find_slo",
    "policy",
    "reproduce",
    "samples",
    "simulate",
    "size",
    "sweep",
    "trace",
]
