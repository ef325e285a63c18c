"""M/M/k in SimPy as one would write it today: prints the RPCs simulated a second of real time, and their p99 in us.

usage: mmk.py CORES LOAD RPCS
"""

import random
import sys
import time

import simpy


def main(cores: int, load: float, rpcs: int) -> None:
    arrivals, services = random.Random(1), random.Random(2)
    env = simpy.Environment()
    pool = simpy.Resource(env, capacity=cores)
    latencies_us: list[float] = []

    def rpc(service_us: float):
        sent = env.now
        with pool.request() as core:
            yield core
            yield env.timeout(service_us)
        latencies_us.append(env.now - sent)

    def clients():
        for _ in range(rpcs):
            yield env.timeout(arrivals.expovariate(cores * load))
            env.process(rpc(services.expovariate(1.0)))

    env.process(clients())
    start = time.perf_counter()
    env.run()
    elapsed = time.perf_counter() - start
    latencies_us.sort()
    print(rpcs / elapsed, latencies_us[int(0.99 * len(latencies_us))])


main(int(sys.argv[1]), float(sys.argv[2]), int(sys.argv[3]))
