"""What holds over UDP, plain or sealed."""

import os
import random
import sys
import time

from nebula_reference import frame, handshake, keyfile, kv, messages, outcomes, udp
from nebula_reference.datagrams import Datagrams, Lossy
from nebula_reference.transfer import Transfer

from .checks import Counted, Failed, ends_with, equal, store

IMPATIENT_S = 0.3
# The server keeps 8 MiB of replies.
REPLIES_KEPT_BYTES = 9 << 20
LONG_BYTES = 100_000
# A NACK has a head and nothing else.
NACK_BYTES = 16
# Longer than a client disregards refusals after a welcome.
BELIEVES_S = 1.1


class Moving:
    """A client's network that gets another address when it is told to, as behind a translator."""

    def __init__(self, endpoint):
        self._endpoint = endpoint
        self._network = Datagrams(endpoint)
        self.datagram_bytes = self._network.datagram_bytes

    def move(self):
        before, self._network = self._network, Datagrams(self._endpoint)
        before.close()

    def send(self, datagram):
        self._network.send(datagram)

    def receive(self, wait_s):
        return self._network.receive(wait_s)

    def close(self):
        self._network.close()


class Recorded:
    """A network that keeps what was sent."""

    def __init__(self, network):
        self._network = network
        self.sent = []
        self.datagram_bytes = network.datagram_bytes
        self.receive, self.close = network.receive, network.close

    def send(self, datagram):
        self.sent.append(datagram)
        self._network.send(datagram)


def deadlines(server):
    """A request past its deadline is refused with NACK 6, and not executed; one before it is served."""
    client = server.connect()
    late = client.submit(kv.encode(kv.SET, b"late", b"x"), budget_us=1)
    ends_with(outcomes.Expired, lambda: Counted(client).wait(late))
    kept = store(client)
    equal(kept.get(b"late"), None, "a SET past its deadline")
    equal(kept.call(kv.SET, b"in time", b"x", budget_us=10_000_000)[0], kv.OK, "a SET before its deadline")
    client.close()


def loss(server):
    """A network that loses, repeats and delays: each RPC is executed at most once, and has its own reply.

    A DELETE that was executed twice would find nothing the second time.
    """
    for seed in range(2):
        network = Lossy(Datagrams(server.endpoint), seed)
        client = server.connect(network=network)
        kept = store(client)
        draw = random.Random(seed)
        for number in range(50):
            key = b"lossy %d %d" % (seed, number)
            value = draw.randbytes(draw.choice((0, 10, 1000, 5000)))
            for what, found, expected in (
                ("set", kept.set(key, value), True),
                ("get", kept.get(key), value),
                ("delete", kept.delete(key), True),
                ("delete again", kept.delete(key), False),
            ):
                equal(found, expected, f"{what} {key!r}, seed {seed}")
        long = draw.randbytes(60_000)
        equal(kept.set(b"lossy", long), True, f"a long value, seed {seed}")
        equal(kept.get(b"lossy"), long, f"a long value back, seed {seed}")
        if min(network.counts.values()) < 5:
            raise Failed(f"the network did next to nothing: {network.counts}")
        client.close()


def copies(server):
    """Every datagram of a client sent again, in order and backwards, changes nothing and is answered as before."""
    network = Recorded(Datagrams(server.endpoint))
    client = server.connect(network=network)
    kept = store(client)
    for value in (b"1", b"2"):
        equal(kept.set(b"copied", value), True, "set")
    equal(kept.delete(b"copied"), True, "delete")
    equal(kept.set(b"copied", b"3"), True, "set after all")
    sent = list(network.sent)
    for datagram in sent + sent[::-1]:
        network.send(datagram)
    equal(kept.get(b"copied"), b"3", "after copies")
    client.close()


def another_version(server):
    """Refusal 1, plain, which repeats what the hello begins with behind its header. The server's version is in it."""
    network = Datagrams(server.endpoint)
    echo = os.urandom(8)
    hello = frame.Header(frame.HELLO, version=1).encode() + echo + bytes(handshake.HELLO_BODY_BYTES - 8)
    network.send(hello)
    answer = heard(network)
    header, body = frame.decode(answer)
    equal((header.kind, header.flags, header.version), (frame.REFUSAL, 0, frame.VERSION), "kind, flags, version")
    refusal = handshake.refusal(frame.checked(answer, body, 0))
    equal(refusal, (frame.ANOTHER_VERSION, echo), "reason and echo")
    network.close()


def nobody_is_sent_more_than_was_sent(server):
    """Hellos that are cut off, and bytes that mean nothing, get nothing, or nothing longer."""
    network = Datagrams(server.endpoint)
    seal = frame.Sealed(server.keys) if server.keys else frame.Plain()
    hello = seal.encode(frame.Header(frame.HELLO), handshake.hello(7))
    draw = random.Random(2)
    for datagram in [hello[:length] for length in range(0, len(hello), 5)] + [draw.randbytes(50) for _ in range(50)]:
        network.send(datagram)
        answer = network.receive(0.002)
        if answer is not None and len(answer) > len(datagram):
            raise Failed(f"{len(answer)} bytes for {len(datagram)}")
    network.send(hello)
    answer = heard(network)
    if len(answer) > len(hello):
        raise Failed(f"a welcome of {len(answer)} bytes for {len(hello)}")
    network.close()


def a_wrong_token_or_run(server):
    """Refusals 3 and 2, with incarnation and snid of what is refused. They end nothing."""
    network = Recorded(Datagrams(server.endpoint))
    client = server.connect(network=network)
    kept = store(client)
    session = client.session
    right = (session.incarnation, session.token)
    cancel = messages.encode_cancel(1, 2)
    for reason, wrong in (
        (frame.ANOTHER_TOKEN, (right[0], right[1] ^ 1)),
        (frame.ANOTHER_RUN, (right[0] ^ 1, right[1])),
    ):
        session.incarnation, session.token = wrong
        network.send(session.encode(cancel))
        header, body = session.open(heard(network))
        equal(header.kind, frame.REFUSAL, "the kind")
        equal(handshake.refusal(body), (reason, network.sent[-1][32:40]), "reason, and what it repeats")
        equal((header.incarnation, header.snid), (wrong[0], session.snid), "incarnation and snid")
        session.incarnation, session.token = right
    equal(kept.set(b"refused", b"x"), True, "an RPC after refusals")
    equal(session.snid, header.snid, "the client's number")
    client.close()


def asking_again(server):
    """A hello with a valid token gets the same snid, and RPCs go on."""
    client = server.connect()
    kept = store(client)
    equal(kept.set(b"again", b"x"), True, "set")
    before = (client.session.incarnation, client.session.snid, client.session.token)
    rpc = client.submit(kv.encode(kv.GET, b"again"))
    client.session.ask(time.monotonic_ns())
    equal(kv.decode(Counted(client).wait(rpc)), (kv.OK, b"x"), "what was submitted before")
    while client.session.is_asking:
        client.turn(0.01)
    equal((client.session.incarnation, client.session.snid, client.session.token), before, "after another hello")
    client.close()


def without_the_key(server):
    """A sealed server refuses who has no key with refusal 4, and does not answer a wrong one."""
    refused = ends_with(outcomes.Refused, lambda: udp.Client(server.endpoint, patience_s=IMPATIENT_S))
    equal(refused.code, frame.SEALED_ONLY, "the refusal")
    wrong = [keyfile.Key(server.keys[0].name, os.urandom(32))]
    silent = ends_with(outcomes.NoAnswer, lambda: udp.Client(server.endpoint, wrong, patience_s=IMPATIENT_S))
    equal(silent.claimed, None, "the refusal that was not believed")


def with_a_key_that_the_server_has_not(server):
    """A plain server says so with refusal 5, which a client with a key does not believe."""
    keys = [keyfile.Key("", os.urandom(32))]
    silent = ends_with(outcomes.NoAnswer, lambda: udp.Client(server.endpoint, keys, patience_s=IMPATIENT_S))
    equal(silent.claimed, frame.NO_KEY, "the refusal that was not believed")


def a_reply_that_is_not_kept(server):
    """A request that comes again when its reply is not kept any more is refused with NACK 5: it may have been executed, and will not be."""
    network = Datagrams(server.endpoint)
    client = server.connect(network=network)
    equal(store(client).set(b"long", bytes(LONG_BYTES)), True, "set")
    request = kv.encode(kv.GET, b"nothing")
    first = client.submit(request)
    equal(kv.decode(settled(client, first, request))[0], kv.NOT_FOUND, "get")
    filled = 0
    while filled <= REPLIES_KEPT_BYTES:
        other = client.submit(kv.encode(kv.GET, b"long"))
        # Replies that nobody reads, or a refusal, which is short.
        is_reply = len(heard(network)) > 1000
        while network.receive(0) is not None:
            pass
        client._end(other, outcomes.Cancelled())
        Counted.executed += is_reply
        filled += is_reply * LONG_BYTES
    # What was heard last may be of an earlier request: this one comes after all of them.
    last = client.submit(request)
    equal(kv.decode(settled(client, last, request))[0], kv.NOT_FOUND, "get")
    again = Transfer(first.tid, request, 0, messages.NO_BUDGET, client.mtu_bytes)
    again.stamp = first.stamp
    client._transfers[again.tid] = again
    client._waiting.append(again)
    error = ends_with(outcomes.Stale, lambda: client.wait(again))
    equal(error.was_executed, None, "whether it was executed")
    client.close()


def settled(client, rpc, request):
    """The reply. What was refused for lack of room is tried again."""
    counted = Counted(client)
    try:
        return counted.wait(rpc)
    except outcomes.Nacked as nacked:
        if not nacked.is_for_lack_of_room:
            raise
        return counted.call(request)


def the_end_of_the_numbers(server):
    """Transfers go on at 0 behind 2^32 - 1."""
    client = server.connect()
    kept = store(client)
    client._next_tid = (1 << 32) - 20
    requests = [kv.encode(kv.SET, b"tid %d" % number, b"x") for number in range(40)]
    sent = [client.submit(request) for request in requests]
    equal([rpc.tid for rpc in sent[19:21]], [(1 << 32) - 1, 0], "both sides of the end")
    for rpc, request in zip(sent, requests, strict=True):
        equal(kv.decode(settled(client, rpc, request))[0], kv.OK, "set")
    for number in range(40):
        equal(kept.delete(b"tid %d" % number), True, "delete")
    client.close()


def many_clients(server):
    """Clients are divided among the engines of a server, and each is served, whichever engine was asked."""
    clients = [server.connect() for _ in range(16)]
    equal(len({client.session.snid for client in clients}), len(clients), "numbers")
    requests = [kv.encode(kv.SET, b"client %d" % at, b"%d" % at) for at in range(16)]
    rpcs = [client.submit(request) for client, request in zip(clients, requests, strict=True)]
    for client, rpc, request in zip(clients, rpcs, requests, strict=True):
        equal(kv.decode(settled(client, rpc, request))[0], kv.OK, "set")
    for at, client in enumerate(clients):
        equal(store(client).get(b"client %d" % at), b"%d" % at, "get")
        client.close()


def another_address_sealed(server):
    """With a key a client whose address changes is refused with refusal 3, says hello, and stays who it is; no RPC ends or is executed twice."""
    network = Moving(server.endpoint)
    client = server.connect(network=network)
    kept = store(client)
    before = (client.session.incarnation, client.session.snid, client.session.token >> 32)
    for number in range(5):
        key = b"moved %d" % number
        equal(kept.set(key, b"x"), True, "set")
        # Its reply goes to the address of before, and is asked for from the other: executed twice it would find nothing.
        request = kv.encode(kv.DELETE, key)
        sent = client.submit(request)
        network.move()
        equal(kv.decode(settled(client, sent, request))[0], kv.OK, "a DELETE under way")
        session = client.session
        equal((session.incarnation, session.snid, session.token >> 32), before, "run, number and session")
    if frame.ANOTHER_TOKEN not in client.session.refusals:
        raise Failed(f"refusals {client.session.refusals}")
    client.close()


def another_address_plain(server):
    """Without a key it is another client, and what was sent ends: nobody knows whether it was executed."""
    network = Moving(server.endpoint)
    client = server.connect(network=network)
    kept = store(client)
    equal(kept.set(b"moved", b"x"), True, "set")
    before = client.session.snid
    time.sleep(BELIEVES_S)
    sent = client.submit(kv.encode(kv.GET, b"moved"))
    # It was answered, where nobody listens any more: a reply is longer than a refusal.
    Counted.executed += len(heard(network)) > frame.HEADER_BYTES + NACK_BYTES
    network.move()
    error = ends_with(outcomes.ServerGone, lambda: client.wait(sent))
    equal((error.was_executed, client.session.snid == before), (None, False), "executed, and the number")
    equal(kept.get(b"moved"), b"x", "as another client")
    client.close()


def a_change_of_key(server):
    """A key is changed while RPCs are under way, and none is lost; who has the old one alone is not answered any more."""
    client, old = server.connect(), server.connect()
    kept = store(client)
    equal(store(old).set(b"old", b"x"), True, "set with the old key")
    new = keyfile.read(ask_for("add"))
    requests = [kv.encode(kv.SET, b"rotated %d" % number, b"x") for number in range(20)]
    sent = [client.submit(request) for request in requests]
    client.session.seal.keys = [*new, *server.keys]
    snid = client.session.snid
    for number, rpc in enumerate(sent):
        equal(kv.decode(settled(client, rpc, requests[number]))[0], kv.OK, "what was under way")
        equal(kept.get(b"rotated %d" % number), b"x", "with the new key")
    ask_for("delete")
    equal(kept.get(b"old"), b"x", "without the old key at the server")
    equal(client.session.snid, snid, "the client's number")
    lost = old.submit(kv.encode(kv.GET, b"old"))
    ends_with(outcomes.TimedOut, lambda: old.wait(lost))
    ends_with(outcomes.NoAnswer, lambda: udp.Client(server.endpoint, server.keys, patience_s=IMPATIENT_S))
    client.close()
    old.close()


def cancels(server):
    """For a server whose RPCs take long: what waits is cancelled, and not executed; what is begun is not."""
    client = server.connect()
    counted, kept = Counted(client), store(client)
    first, *others = [client.submit(kv.encode(kv.SET, b"cancel %d" % number, b"x")) for number in range(6)]
    client.cancel(others[-1])
    ends_with(outcomes.Cancelled, lambda: counted.wait(others[-1]))
    for rpc in [first, *others[:-1]]:
        equal(kv.decode(counted.wait(rpc))[0], kv.OK, "what was not cancelled")
    client.cancel(first)
    equal(kept.get(b"cancel 0"), b"x", "cancelled after its reply")
    equal(kept.get(b"cancel 5"), None, "what was cancelled")
    client.close()


def deadlines_in_the_queue(server):
    """For a server whose RPCs take long: one whose turn comes too late is refused with NACK 6."""
    client = server.connect()
    counted = Counted(client)
    before = [client.submit(kv.encode(kv.SET, b"queue %d" % number, b"x")) for number in range(5)]
    late = client.submit(kv.encode(kv.SET, b"queue late", b"x"), budget_us=20_000)
    ends_with(outcomes.Expired, lambda: counted.wait(late))
    for rpc in before:
        equal(kv.decode(counted.wait(rpc))[0], kv.OK, "what has no deadline")
    equal(store(client).get(b"queue late"), None, "a SET past its deadline")
    client.close()


def a_restart(server):
    """Another run of the server refuses what was meant for the one before; what was sent to that one ends."""
    client = server.connect()
    kept = store(client)
    equal(kept.set(b"restarted", b"x"), True, "set")
    before = client.session.incarnation
    ask_for("stop")
    sent = client.submit(kv.encode(kv.GET, b"restarted"))
    client.turn(0.01)
    ask_for("start")
    ends_with(outcomes.ServerGone, lambda: client.wait(sent))
    if frame.ANOTHER_RUN not in client.session.refusals or client.session.incarnation == before:
        raise Failed(f"refusals {client.session.refusals}, and {before:x} is the run still")
    equal(kept.get(b"restarted"), None, "what the run before had stored")
    equal(kept.set(b"restarted", b"y"), True, "set again")
    client.close()


def ask_for(what):
    """Says what to do with the server, and waits until it is done. What is answered."""
    print(what, flush=True)
    return sys.stdin.readline().rstrip("\n")


def heard(network):
    answer = network.receive(5)
    if answer is None:
        raise Failed("no answer")
    return answer


CASES = [
    deadlines,
    loss,
    copies,
    another_version,
    nobody_is_sent_more_than_was_sent,
    a_wrong_token_or_run,
    asking_again,
    a_reply_that_is_not_kept,
    the_end_of_the_numbers,
    many_clients,
]
PLAIN_CASES = [with_a_key_that_the_server_has_not, another_address_plain]
SEALED_CASES = [without_the_key, another_address_sealed]
SLOW_CASES = [cancels, deadlines_in_the_queue]
