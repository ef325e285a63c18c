"""What holds over every transport."""

import random

from nebula_reference import kv, outcomes

from .checks import Counted, ends_with, equal, store


def small_values(connect):
    """Values are stored, found, replaced and deleted."""
    kept = store(connect())
    key = b"small"
    equal(kept.get(key), None, "a key that was never set")
    equal(kept.set(key, b""), True, "set to nothing")
    equal(kept.get(key), b"", "an empty value")
    equal(kept.set(key, b"two"), True, "set again")
    equal(kept.get(key), b"two", "the latest value")
    equal(kept.delete(key), True, "delete")
    equal(kept.delete(key), False, "delete again")
    equal(kept.get(key), None, "a deleted key")
    equal(kv.decode(kept.client.call(b"\xff" * 8))[0], kv.MALFORMED, "no operation")
    kept.client.close()


def values_of_many_packets(connect):
    """Requests and replies of any number of packets come whole."""
    client = connect()
    kept = store(client)
    mtu = client.mtu_bytes
    draw = random.Random(1)
    head = 8 + len(b"large")
    around = [packets * mtu - head + more for packets in (1, 2, 31, 32, 33, 64, 65) for more in (-1, 0, 1)]
    around += [packets * mtu - 8 for packets in (1, 32, 33)]
    for length in [*(length for length in around if 0 <= length <= 100_000), 100_000]:
        value = draw.randbytes(length)
        equal(kept.set(b"large", value), True, f"set {length} bytes")
        equal(kept.get(b"large"), value, f"get {length} bytes")
    client.close()


def many_outstanding(connect):
    """Hundreds of RPCs at once: each has one end, and what is refused is not executed."""
    client = connect()
    counted = Counted(client)
    kept = store(client)
    keys = [b"many %d" % number for number in range(400)]
    ended = {}
    submitted = [(key, counted.submit(kv.encode(kv.SET, key, key * 3))) for key in keys]
    for key, rpc in submitted:
        try:
            ended[key] = kv.decode(counted.wait(rpc))[0] == kv.OK
        except outcomes.Nacked:
            ended[key] = False
    for key in keys:
        equal(kept.get(key), key * 3 if ended[key] else None, f"{key}, stored: {ended[key]}")
    client.close()


def a_request_that_is_too_long(connect):
    """NACK 4, from a client that does not look at `rpc_bytes_max`."""
    client = connect()
    client.rpc_bytes_max += 1000
    request = kv.encode(kv.SET, b"k", bytes(client.rpc_bytes_max - 9))
    equal(len(request), client.rpc_bytes_max, "the request's length")
    ends_with(outcomes.TooLarge, lambda: Counted(client).wait(client.submit(request)))
    equal(store(client).get(b"k"), None, "what was refused")
    client.close()


CASES = [small_values, values_of_many_packets, many_outstanding, a_request_that_is_too_long]
