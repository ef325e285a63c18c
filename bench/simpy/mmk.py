"""M/M/k in SimPy as one would write it today, with what the laboratory measures: latency, waiting time and the queue that each
arrival finds. Prints the RPCs simulated a second of real time, their p99 in us and their mean queue depth.

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
    waits_us: list[float] = []
    depths: list[int] = []

    def rpc(service_us: float):
        sent = env.now
        depths.append(len(pool.queue))
        with pool.request() as core:
            yield core
            waits_us.append(env.now - sent)
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
    print(rpcs / elapsed, latencies_us[int(0.99 * rpcs)], sum(depths) / rpcs)


main(int(sys.argv[1]), float(sys.argv[2]), int(sys.argv[3]))
