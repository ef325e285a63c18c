"""Prints how many items two servers of the same memory keep: `kept.py MIB SIZES NAME=PORT…`.

Stores twice as many bytes as fit, and asks for each key, or for each 16th of many.
"""

import random
import socket
import sys

BATCH = 500
FILLER = b"v" * 20_000


def sizes(kind):
    """The lengths of values: always the same ones, in an order that is the same in every run."""
    rng = random.Random(1)
    if kind.isdigit():
        return lambda: int(kind)
    if kind == "uniform":
        return lambda: rng.randint(10, 1000)
    # Facebook's ETC pool, by Atikoglu et al. 2012: a generalized Pareto distribution.
    return lambda: max(1, min(4096, int(214.476 / 0.348238 * ((1 - rng.random()) ** -0.348238 - 1))))


def fill(port, mib, kind):
    """Items stored, items kept, and the bytes of values kept."""
    stream = socket.create_connection(("127.0.0.1", port))
    lines = stream.makefile("rb")
    draw, stored, left = sizes(kind), 0, mib * 2 << 20
    while left > 0:
        batch = []
        for number in range(stored, stored + BATCH):
            length = draw()
            left -= length + 80
            batch.append(b"set key%d 0 0 %d noreply\r\n%s\r\n" % (number, length, FILLER[:length]))
        stored += BATCH
        stream.sendall(b"".join(batch) + b"mn\r\n")
        assert lines.readline() == b"MN\r\n"
    every = 1 if stored < 1_000_000 else 16
    kept = kept_bytes = 0
    for begin in range(0, stored, BATCH * every):
        numbers = range(begin, min(stored, begin + BATCH * every), every)
        stream.sendall(b"".join(b"mg key%d s\r\n" % number for number in numbers))
        for _ in numbers:
            words = lines.readline().split()
            if words[0] == b"HD":
                kept, kept_bytes = kept + every, kept_bytes + every * int(words[1][1:])
    return stored, kept, kept_bytes


mib, kind, *servers = sys.argv[1:]
found = {}
for server in servers:
    name, port = server.split("=")
    found[name] = fill(int(port), int(mib), kind)
stored, theirs, their_bytes = found["memcached"]
_, ours, our_bytes = found["nebula"]
items, volume = ours / theirs, our_bytes / their_bytes
print(f"{kind:>8} {mib:>5} MiB  memcached {theirs:>9,}  nebula {ours:>9,}  items {items:.2f}  bytes {volume:.2f}", flush=True)
