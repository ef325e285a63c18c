"""What holds over shared memory."""

from nebula_reference import kv, outcomes, shm

from .checks import Counted, Failed, ends_with, equal, store


def refusals(server):
    """Another version, and a ring of a length that is not allowed. A refusal has the server's version and no descriptor."""
    for greeting, code in ((shm.hello(64, version=2), 1), (shm.hello(48), 2), (shm.hello(1 << 17), 2)):
        with shm.connect(server.name) as link:
            answer, descriptors = shm.answer_to(link, greeting)
            equal((answer[:8], answer[8], answer[12]), (b"NEBULA\0W", shm.VERSION, code), "the refusal")
            equal((answer[16:], descriptors), (bytes(48), []), "what follows a refusal")


def a_reply_longer_than_its_room(server):
    """Fault 1: it was executed. A client with more room gets the reply."""
    writer = server.connect()
    equal(store(writer).set(b"long", bytes(50_000)), True, "set")
    narrow = shm.Client(server.endpoint, slots=64, reply_room=writer.mtu_bytes)
    ends_with(outcomes.ReplyTooLarge, lambda: Counted(narrow).wait(narrow.submit(kv.encode(kv.GET, b"long"))))
    equal(store(writer).get(b"long"), bytes(50_000), "with room")
    narrow.close()
    writer.close()


def a_ring_that_is_full_again_and_again(server):
    """A short ring: positions go round it many times, and answers make room."""
    client = shm.Client(server.endpoint, slots=4, reply_room=1)
    counted = Counted(client)
    for number in range(300):
        rpcs = [client.submit(kv.encode(kv.SET, b"ring %d" % number, b"x")) for _ in range(1 + number % 7)]
        for rpc in rpcs:
            try:
                equal(kv.decode(counted.wait(rpc))[0], kv.OK, "set")
            except outcomes.QueueBound:
                continue
    client.close()


def violations(server):
    """Packets that no request has: the server hangs up on their client, and on no other."""
    other = server.connect()
    mtu = other.mtu_bytes
    for packets in (
        [(0, 1, 1, 0)],  # a first packet of index 1
        [(0, 0, 1, mtu + 1)],  # more packets than the span
        [(0, 0, 65, 0)],  # a span longer than the ring
        [(0, 0, 2, 2 * mtu), (1, 0, 2, 2 * mtu)],  # an index that is not the next
        [(0, 0, 2, 2 * mtu), (1, 1, 2, 2 * mtu - 1)],  # another length than before
    ):
        client = shm.Client(server.endpoint, slots=64, reply_room=1)
        for position, packet, span, rpc_bytes in packets:
            client.write(position, packet, span, rpc_bytes, 0, bytes(min(rpc_bytes, mtu)))
        rpc = shm.Pending(0, 1)
        client.expect(rpc)
        # What was begun may have got NACK 7 before the server hung up.
        ends_with((outcomes.ServerGone, outcomes.Incomplete), lambda: client.wait(rpc))
        ends_with(outcomes.ServerGone, lambda: client.wait(client.submit(b"")))
        client.close()
    equal(store(other).set(b"other", b"x"), True, "another client's RPC")
    other.close()


def a_client_that_sleeps(server):
    """It is woken by an answer while it sleeps, once, and is sent nothing while it is awake."""
    client = shm.Client(server.endpoint, sleeps=True)
    counted = Counted(client)
    for number in range(50):
        equal(store(client).set(b"awake", b"%d" % number), True, "set")
    equal(client.sleep(0), None, "what is sent to a client that is awake")
    for number in range(50):
        client.arm()
        rpc = counted.submit(kv.encode(kv.GET, b"awake"))
        equal(len(client.sleep(5) or b""), 1, "bytes of a wake-up")
        equal(client.is_armed(), False, "whether the word is still set")
        equal(kv.decode(counted.wait(rpc))[0], kv.OK, "get")
    equal(client.sleep(0), None, "what is left")
    client.close()


def status(server):
    """The page says what the server did: RPCs freed are those that had a reply."""
    client = server.connect()
    kept = store(client)
    before = client.status()
    for number in range(100):
        equal(kept.set(b"status", b"%d" % number), True, "set")
    for _ in range(100_000):
        freed, completed = (after - earlier for after, earlier in zip(client.status()[3:0:-2], before[3:0:-2]))
        if freed == 100:
            break
        store(client).get(b"status")
        before[1] += 1
        before[3] += 1
    else:
        raise Failed(f"{completed} completed and {freed} freed of 100")
    client.close()


CASES = [refusals, a_reply_longer_than_its_room, a_client_that_sleeps, a_ring_that_is_full_again_and_again, violations, status]
