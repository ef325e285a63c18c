"""Calls the whole interface of pymemcache and pylibmc against each server named, and compares what comes back.

    libraries.py NAME=PORT NAME=PORT     the second is held to what the first answers
"""

import re
import sys

import pylibmc
from pymemcache.client.base import Client, PooledClient
from pymemcache.client.hash import HashClient
from pymemcache.serde import PickleSerde


def outcome(call):
    """What a call returns or raises, as text."""
    try:
        return repr(call())
    except Exception as error:  # whatever it is, the other server is to give the same
        return f"raised {type(error).__name__}: {error}"


def pymemcache_calls(client):
    big = b"x" * 1_000_000
    yield "set", lambda: client.set("a", b"1", noreply=False)
    yield "set, no reply", lambda: client.set("b", b"2", noreply=True)
    yield "get", lambda: (client.get("a"), client.get("b"), client.get("none"), client.get("none", b"default"))
    yield "set with flags", lambda: client.set("flagged", b"1", flags=77, noreply=False)
    yield "set_many", lambda: sorted(client.set_many({f"many{i}": b"%d" % i for i in range(500)}, noreply=False))
    yield "get_many", lambda: sorted(client.get_many([f"many{i}" for i in range(520)]).items())
    yield "gets_many", lambda: sorted(key for key in client.gets_many(["many1", "many2", "none"]))
    yield "set_multi, no reply", lambda: client.set_multi({f"quiet{i}": b"v" * i for i in range(500)}, noreply=True)
    yield "get_multi", lambda: sorted(client.get_multi([f"quiet{i}" for i in range(500)]).items())
    yield "add", lambda: (client.add("added", b"x", noreply=False), client.add("added", b"y", noreply=False))
    yield "replace", lambda: (client.replace("added", b"z", noreply=False), client.replace("no", b"z", noreply=False))
    yield "append", lambda: (client.append("added", b"-", noreply=False), client.append("no", b"-", noreply=False))
    yield "prepend", lambda: (client.prepend("added", b"+", noreply=False), client.get("added"))
    yield "cas", lambda: client.cas("added", b"new", client.gets("added")[1], noreply=False)
    yield "cas conflict", lambda: client.cas("added", b"newer", b"1", noreply=False)
    yield "cas of nothing", lambda: client.cas("no", b"newer", b"1", noreply=False)
    yield "gets of nothing", lambda: client.gets("no")
    yield "incr", lambda: (client.set("n", b"10", noreply=False), client.incr("n", 5), client.incr("no", 1))
    yield "decr", lambda: (client.decr("n", 3), client.decr("n", 100), client.decr("no", 1))
    yield "incr wraps", lambda: (client.incr("n", 2**64 - 1), client.incr("n", 2))
    yield "incr of text", lambda: client.incr("added", 1)
    yield "touch", lambda: (client.touch("a", 100, noreply=False), client.touch("no", 100, noreply=False))
    yield "expired", lambda: (client.set("gone", b"x", expire=-1, noreply=False), client.get("gone"))
    yield "gat", lambda: (client.gat("a", 100), client.gat("no", 100))
    yield "gats", lambda: (client.gats("a", 100)[0], client.gats("no", 100))
    yield "delete", lambda: (client.delete("a", noreply=False), client.delete("a", noreply=False), client.get("a"))
    yield "delete_many", lambda: client.delete_many(["many1", "many2", "no"], noreply=False)
    yield "delete_multi", lambda: client.delete_multi(["many3"], noreply=True)
    yield "big values", lambda: (client.set("big", big, noreply=False), client.get("big") == big)
    yield "too big", lambda: client.set("big", b"x" * 1_100_000, noreply=False)
    yield "after too big", lambda: client.get("big")
    yield "250-byte key", lambda: (client.set("k" * 250, b"x", noreply=False), client.get("k" * 250))
    yield "251-byte key", lambda: client.set("k" * 251, b"x", noreply=False)
    yield "key with blanks", lambda: client.set("a b", b"x", noreply=False)
    yield "version", lambda: type(client.version()).__name__
    yield "stats", lambda: sorted(key for key in client.stats() if key in (b"pid", b"cmd_get", b"get_hits", b"curr_items", b"threads"))
    yield "stats settings", lambda: client.stats("settings")[b"item_size_max"]
    yield "stats of nothing", lambda: client.stats("nothing")
    yield "verbosity", lambda: client.cache_memlimit and client.raw_command(b"verbosity 1")
    yield "raw", lambda: client.raw_command(b"mn")
    yield "raw meta", lambda: (client.set("raw", b"v", noreply=False), client.raw_command(b"mg raw v s t", b"v\r\n"))
    yield "flush_all", lambda: (client.flush_all(noreply=False), client.get("n"))
    yield "flush_all later", lambda: client.flush_all(delay=1000, noreply=False)
    yield "flush_all", lambda: client.flush_all(delay=0, noreply=False)
    yield "quit", lambda: client.quit()
    yield "after quit", lambda: client.get("n")


def pooled_calls(client):
    yield "set", lambda: client.set("a", {"k": [1, 2]}, noreply=False)
    yield "get", lambda: client.get("a")
    yield "get_many", lambda: client.get_many(["a", "b"])
    yield "delete", lambda: client.delete("a", noreply=False)


def pylibmc_calls(client):
    yield "set", lambda: (client.set("a", "text"), client.set("i", 7), client.set("o", {"k": 1}), client.set("f", 1.5))
    yield "get", lambda: (client.get("a"), client.get("i"), client.get("o"), client.get("f"), client.get("no", "default"))
    yield "set_multi", lambda: client.set_multi({f"m{i}": f"v{i}" for i in range(2000)})
    yield "get_multi", lambda: sorted(client.get_multi([f"m{i}" for i in range(2010)]).items())
    yield "prefixes", lambda: (client.set_multi({"x": 1, "y": 2}, key_prefix="p_"), sorted(client.get_multi(["x", "y"], key_prefix="p_").items()))
    yield "add", lambda: (client.add("added", "1"), client.add("added", "2"))
    yield "add_multi", lambda: client.add_multi({"added": "1", "added2": "2"})
    yield "replace", lambda: (client.replace("added", "3"), client.replace("no", "3"))
    yield "append", lambda: (client.set("t", "b"), client.append("t", "c"), client.prepend("t", "a"), client.get("t"))
    yield "append to nothing", lambda: client.append("no", "c")
    yield "prepend to nothing", lambda: client.prepend("no", "c")
    yield "incr", lambda: (client.set("n", 10), client.incr("n"), client.incr("n", 10), client.decr("n", 5), client.decr("n", 500))
    yield "incr of nothing", lambda: client.incr("no")
    yield "decr of nothing", lambda: client.decr("no")
    yield "incr_multi", lambda: (client.incr_multi(["n"], delta=3), client.get("n"))
    yield "touch", lambda: (client.touch("a", 100), client.touch("no", 100))
    yield "time", lambda: (client.set("gone", "x", time=-1), client.get("gone"))
    yield "gets and cas", lambda: client.cas("a", "new", client.gets("a")[1])
    yield "cas conflict", lambda: client.cas("a", "newer", 1)
    yield "cas of nothing", lambda: client.cas("no", "newer", 1)
    yield "gets of nothing", lambda: client.gets("no")
    yield "delete", lambda: (client.delete("a"), client.delete("a"))
    yield "delete_multi", lambda: (client.delete_multi(["m1", "m2"]), client.delete_multi(["m1", "no"]))
    yield "exists", lambda: "m3" in client
    yield "mapping", lambda: client.__setitem__("map", "v") or client["map"]
    yield "mapping of nothing", lambda: client["nothing"]
    yield "del", lambda: client.__delitem__("map")
    yield "big", lambda: (client.set("big", b"x" * 1_000_000), len(client.get("big")))
    yield "too big", lambda: client.set("big", b"x" * 1_100_000)
    yield "compressed", lambda: (client.set("z", "x" * 100_000, min_compress_len=1000), client.get("z") == "x" * 100_000)
    yield "get_stats", lambda: len(client.get_stats())
    yield "flush_all", lambda: (client.flush_all(), client.get("n"))
    yield "disconnect_all", lambda: (client.disconnect_all(), client.get("n"))


def suites(port):
    address = ("127.0.0.1", port)
    yield "pymemcache", pymemcache_calls(Client(address, connect_timeout=5, timeout=5))
    yield "pymemcache pooled", pooled_calls(PooledClient(address, serde=PickleSerde(), timeout=5))
    yield "pymemcache hashed", pooled_calls(HashClient([address], serde=PickleSerde(), timeout=5))
    behaviors = {"cas": True, "tcp_nodelay": True}
    yield "pylibmc", pylibmc_calls(pylibmc.Client([f"127.0.0.1:{port}"], behaviors=behaviors))
    quiet = {"cas": True, "no_block": True, "buffer_requests": True}
    yield "pylibmc, buffered", [
        ("set_multi", lambda c=pylibmc.Client([f"127.0.0.1:{port}"], behaviors={**quiet}): (c.set_multi({f"q{i}": i for i in range(3000)}), sorted(c.get_multi([f"q{i}" for i in range(3000)]).items()) and len(c.get_multi([f"q{i}" for i in range(3000)])))),
    ]


def answers(port):
    found = []
    for suite, calls in suites(port):
        for name, call in calls:
            answer = outcome(call)
            answer = re.sub(r"0x[0-9a-f]+", "ADDRESS", answer).replace(str(port), "PORT")
            found.append((f"{suite}: {name}", answer))
    return found


def main():
    (first, first_port), (second, second_port) = (server.split("=") for server in sys.argv[1:])
    wrong = 0
    calls = list(zip(answers(int(first_port)), answers(int(second_port)), strict=True))
    for (name, expected), (_, answer) in calls:
        if answer != expected:
            wrong += 1
            print(f"{name}:\n  {first:10} {expected[:300]}\n  {second:10} {answer[:300]}")
    print(f"{len(calls)} calls of pymemcache and pylibmc; {wrong} answered otherwise")
    sys.exit(1 if wrong else 0)


main()
