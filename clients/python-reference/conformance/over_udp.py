"""What holds over UDP, plain or sealed."""

import os
import random
import sys
import time

from nebula_reference import frame, handshake, keyfile, kv, messages, outcomes, udp
from nebula_reference.datagrams import Datagrams, Lossy

from .checks import Counted, Failed, ends_with, equal, store

IMPATIENT_S = 0.3


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
    """Says what to do with the server, and waits until it is done."""
    print(what, flush=True)
    sys.stdin.readline()


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
]
PLAIN_CASES = [with_a_key_that_the_server_has_not]
SEALED_CASES = [without_the_key]
SLOW_CASES = [cancels, deadlines_in_the_queue]
