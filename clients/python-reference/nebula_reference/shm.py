"""A client over shared memory: one thread, which works while it is called.

Python has no ordered loads and stores. A word is written and read whole, and in program order, on x86-64 alone.
"""

import fcntl
import mmap
import os
import select
import socket
import struct
import time

from . import messages, outcomes

VERSION = 7
HANDSHAKE_BYTES = 64
SPAN_MAX = 4095
ANSWER_WAIT_S = 5
SLOT_HEADER_BYTES = 16
HEAD_BYTES_MAX = 128
SLEEP_BYTES = 64
REQUEST, REPLY, NACK, FAULT = 1, 2, 3, 4

_HELLO = struct.Struct("<6sBcIII")
_ANSWER = struct.Struct("<6sBcIIIIIIIIQ")
_PEER = struct.Struct("<III")
_F_GET_SEALS = 1034
_SEALS = 0x1 | 0x2 | 0x4  # F_SEAL_SEAL, F_SEAL_SHRINK, F_SEAL_GROW
_SEAL_FUTURE_WRITE = 0x10
_LOOK_AT_SOCKET_EVERY = 32
_LOOK_AT_SOCKET_AFTER_NS = 50_000


class Violation(Exception):
    """A server that does what the page does not allow."""


class Pending:
    """An RPC in the ring. `reply` or `error` is set at its end."""

    def __init__(self, position, span):
        self.position = position
        self.span = span
        self.reply = None
        self.error = None

    @property
    def has_ended(self):
        return self.reply is not None or self.error is not None


def connect(name):
    """The socket of `shm://NAME`'s server."""
    link = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    link.settimeout(ANSWER_WAIT_S)
    try:
        link.connect(b"\0nebula/1/" + name.encode())
    except OSError as error:
        link.close()
        raise outcomes.NoAnswer from error
    return link


def hello(slots, version=VERSION, sleeps=False):
    return _HELLO.pack(b"NEBULA", 0, b"H", version, slots, sleeps).ljust(HANDSHAKE_BYTES, b"\0")


def answer_to(link, greeting):
    """The server's answer to a hello, 64 bytes, and the descriptors that came with it."""
    link.send(greeting)
    try:
        answer, descriptors, _, _ = socket.recv_fds(link, HANDSHAKE_BYTES, 2)
    except TimeoutError as error:
        raise outcomes.NoAnswer from error
    if len(answer) < HANDSHAKE_BYTES:
        raise outcomes.NoAnswer
    return answer, descriptors


class Client:
    """A client that is connected, or raises `ConnectError`.

    `slots` is the length of the ring, and `reply_room` the longest reply that the client takes. One that `sleeps` may be woken.
    """

    def __init__(self, endpoint, slots=1024, reply_room=None, timeout_s=5, sleeps=False):
        self._timeout_s = timeout_s
        self._sleeps = sleeps
        self._link = connect(endpoint.removeprefix("shm://"))
        descriptors = []
        try:
            answer, descriptors = answer_to(self._link, hello(slots, sleeps=sleeps))
            self._take(answer)
            self._map(descriptors)
        except Exception:
            self._link.close()
            raise
        finally:
            for descriptor in descriptors:
                os.close(descriptor)
        self._link.setblocking(False)
        self._provision(reply_room)
        self._next = 0
        self._used = 0
        self._outstanding = []
        self._polls = 0
        self._looked_at = 0

    # -- what a user calls --

    def submit(self, request, key_hash=0):
        """An RPC. While the ring has no room, waits for answers."""
        packets = messages.packets_of(len(request), self.mtu_bytes)
        span = max(packets, messages.packets_of(self.reply_room, self.mtu_bytes))
        if len(request) > self.rpc_bytes_max or span > min(SPAN_MAX, self.slots):
            pending = Pending(None, 0)
            pending.error = outcomes.TooLarge()
            return pending
        while self._used + span > self.slots:
            self.turn()
        pending = Pending(self._next, span)
        for packet in range(packets):
            payload = request[packet * self.mtu_bytes :][: self.mtu_bytes]
            self.write(pending.position + packet, packet, span, len(request), key_hash, payload)
        self.expect(pending)
        return pending

    def wait(self, pending):
        """The reply. Raises `RpcError`; after a `TimedOut` the answer may still come, and frees its slots."""
        until = time.monotonic() + self._timeout_s
        while not pending.has_ended:
            if time.monotonic() > until:
                raise outcomes.TimedOut
            self.turn()
        if pending.error:
            raise pending.error
        return pending.reply

    def call(self, request, retries=0, **more):
        """The reply. After a NACK of which the page says that a retry may succeed, tries again."""
        for _ in range(retries):
            try:
                return self.wait(self.submit(request, **more))
            except outcomes.Nacked as nacked:
                if not nacked.is_for_lack_of_room and not isinstance(nacked, outcomes.Incomplete):
                    raise
                time.sleep(0.001)
        return self.wait(self.submit(request, **more))

    def turn(self):
        """Takes the answers that have come. Where there are none, lets other threads run."""
        has_found = sum([self._try_take(pending) for pending in self._outstanding if not pending.has_ended])
        while self._outstanding and self._outstanding[0].has_ended:
            self._used -= self._outstanding.pop(0).span
        if not self._outstanding:
            self._next = -(-self._next // self.slots) * self.slots & 0xFFFFFFFF
        if not has_found:
            self._look_at_socket()
            os.sched_yield()

    def arm(self):
        """Says that the client is about to sleep. What is outstanding has to be looked at after that."""
        self._words[self._sleep_word] = 1

    def is_armed(self):
        return self._words[self._sleep_word] != 0

    def sleep(self, seconds):
        """Sleeps until the socket is readable; what the server has sent, and nothing where nothing came."""
        if not select.select([self._link], [], [], seconds)[0]:
            return None
        return self._link.recv(64)

    def status(self):
        """The first words of the status page."""
        return list(self._status[:32])

    def close(self):
        self._link.close()

    # -- connecting --

    def _take(self, answer):
        magic, _, kind, version, refusal, self.snid, self.slots, self.mtu_bytes, *rest = _ANSWER.unpack_from(answer)
        if (magic, kind) != (b"NEBULA", b"W"):
            raise outcomes.NoAnswer
        if refusal:
            raise outcomes.Refused(refusal)
        if version != VERSION:
            raise Violation(f"a welcome of version {version}")
        self.rpc_bytes_max, self._status_bytes, self.reply_bytes_max, self.slo_ps = rest
        self.rpc_bytes_max = min(self.rpc_bytes_max, SPAN_MAX * self.mtu_bytes)

    def _map(self, descriptors):
        peer = _PEER.unpack(self._link.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _PEER.size))
        if peer[1] not in (0, os.geteuid()):
            raise Violation("memory of another user")
        if len(descriptors) != 2:
            raise Violation(f"{len(descriptors)} descriptors")
        slot_bytes = self.mtu_bytes + SLOT_HEADER_BYTES
        self._head_bytes = min(slot_bytes, HEAD_BYTES_MAX)
        self._tail_bytes = slot_bytes - self._head_bytes
        ring_bytes = self.slots * slot_bytes
        self._sleep_word = ring_bytes // 8
        ring_bytes += SLEEP_BYTES
        check_seals(descriptors[0], ring_bytes, _SEALS)
        check_seals(descriptors[1], self._status_bytes, _SEALS | _SEAL_FUTURE_WRITE)
        self._ring = memoryview(mmap.mmap(descriptors[0], ring_bytes))
        self._words = self._ring.cast("Q")
        self._status = memoryview(mmap.mmap(descriptors[1], self._status_bytes, prot=mmap.PROT_READ)).cast("Q")

    def _provision(self, reply_room):
        """Hangs up where a reply may be longer than the room for it."""
        self.reply_room = reply_room or self.reply_bytes_max or self.mtu_bytes
        if self.reply_room < self.reply_bytes_max:
            self.close()
            raise outcomes.NoRoom(f"replies may have {self.reply_bytes_max} bytes")

    # -- the ring --

    def _at(self, position):
        """Where the head of the slot of a position begins, in bytes."""
        return position % self.slots * self._head_bytes

    def _behind(self, position):
        """Where its tail begins, behind the heads of all slots."""
        return self.slots * self._head_bytes + position % self.slots * self._tail_bytes

    def expect(self, pending):
        """Its packets are written: what follows is written behind its slots, and its answer is looked for."""
        self._next = (pending.position + pending.span) & 0xFFFFFFFF
        self._used += pending.span
        self._outstanding.append(pending)

    def write(self, position, packet, span, rpc_bytes, key_hash, payload):
        """Writes one packet of a request: the payload, then word 1, then word 0."""
        position &= 0xFFFFFFFF
        at = self._at(position)
        padded = payload.ljust(-(-len(payload) // 8) * 8, b"\0")
        room = self._head_bytes - SLOT_HEADER_BYTES
        if len(padded) > room:
            behind = self._behind(position)
            self._ring[behind : behind + len(padded) - room] = padded[room:]
            padded = padded[:room]
        self._ring[at + SLOT_HEADER_BYTES : at + SLOT_HEADER_BYTES + len(padded)] = padded
        self._words[at // 8 + 1] = rpc_bytes | key_hash << 32
        self._words[at // 8] = position | packet << 32 | span << 48 | REQUEST << 60

    def _try_take(self, pending):
        """Takes the answer to an RPC. Whether there was one."""
        at = self._at(pending.position)
        word = self._words[at // 8]
        mark = word >> 60
        if word & 0xFFFFFFFF != pending.position or mark not in (REPLY, NACK, FAULT):
            return False
        rpc_bytes, extra = self._words[at // 8 + 1] & 0xFFFFFFFF, self._words[at // 8 + 1] >> 32
        if mark == REPLY:
            self._take_reply(pending, rpc_bytes)
        else:
            pending.error = outcomes.nack(extra) if mark == NACK else outcomes.fault(extra)
            if pending.error is None:
                raise Violation(f"NACK with reason {extra}")
        return True

    def _take_reply(self, pending, rpc_bytes):
        packets = messages.packets_of(rpc_bytes, self.mtu_bytes)
        if packets > pending.span:
            pending.error = outcomes.ReplyTooLarge()
            return
        payload = b"".join(self._payload(pending.position + packet) for packet in range(packets))
        pending.reply = payload[:rpc_bytes]

    def _payload(self, position):
        at, behind = self._at(position), self._behind(position)
        head = bytes(self._ring[at + SLOT_HEADER_BYTES : at + self._head_bytes])
        return head + bytes(self._ring[behind : behind + self._tail_bytes]) if self._tail_bytes else head

    def _look_at_socket(self):
        """Now and then asks whether the server is gone: what it sends after its answer is its end."""
        self._polls += 1
        now = time.monotonic_ns()
        if self._polls % _LOOK_AT_SOCKET_EVERY or now - self._looked_at < _LOOK_AT_SOCKET_AFTER_NS:
            return
        self._looked_at = now
        try:
            # To one that may sleep, what the server sends is a wake-up.
            if self._link.recv(1, socket.MSG_DONTWAIT | socket.MSG_PEEK) and self._sleeps:
                return
        except BlockingIOError:
            return
        except OSError:
            pass
        for pending in self._outstanding:
            if not pending.has_ended:
                pending.error = outcomes.ServerGone()


def check_seals(descriptor, size_bytes, seals):
    """Raises `Violation` for memory that a peer could cut off, or that has another size."""
    if os.fstat(descriptor).st_size != size_bytes or fcntl.fcntl(descriptor, _F_GET_SEALS) & seals != seals:
        raise Violation("memory that is not sealed, or of another size than announced")
