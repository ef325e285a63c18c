"""A client over UDP: one thread, which works while it is called."""

import random
import time

from . import frame, handshake, messages, outcomes
from .clock import ServerClock
from .datagrams import Datagrams
from .pace import RoundTrip, Window
from .session import SECOND, SILENCE_MAX, Session
from .transfer import ASK_MAX, TRANSMISSIONS_MAX, Transfer

_TURN_DATAGRAMS = 64


class Client:
    """A client that is connected, or raises `ConnectError`.

    `network` stands for a socket in tests; `reply_room` is the longest reply that the client takes.
    """

    def __init__(self, endpoint, keys=None, reply_room=1 << 20, network=None, patience_s=5):
        self._network = network or Datagrams(endpoint)
        seal = frame.Sealed(keys) if keys else frame.Plain()
        self.session = Session(seal, self._network.datagram_bytes, int(patience_s * SECOND))
        self._clock = ServerClock()
        self.round_trip = RoundTrip()
        self.window = Window(self.round_trip)
        self._transfers = {}
        self._waiting = []
        self._flying = 0
        self._next_tid = random.getrandbits(32)
        self._out = []
        self._heard_at = 0
        self._timed_out_at = 0
        self.sent_packets = 0
        try:
            self._connect(reply_room)
        except outcomes.ConnectError:
            self.close()
            raise

    # -- what a user calls --

    def submit(self, request, key_hash=0, budget_us=messages.NO_BUDGET):
        """An RPC that is sent as the window allows. `turn` and `wait` carry it on."""
        now = time.monotonic_ns()
        if not self._transfers and now - self._heard_at > SILENCE_MAX:
            self.session.ask(now)
        transfer = Transfer(self._take_tid(), request, key_hash, budget_us, self.mtu_bytes)
        if len(request) > self.rpc_bytes_max:
            transfer.end(error=outcomes.TooLarge())
            return transfer
        self._transfers[transfer.tid] = transfer
        self._waiting.append(transfer)
        self._send(now)
        return transfer

    def wait(self, transfer):
        """The reply. Raises `RpcError`."""
        while not transfer.has_ended:
            self.turn(0.05)
        if transfer.error:
            raise transfer.error
        return transfer.reply

    def call(self, request, retries=0, **more):
        """The reply. After a NACK of which the page says that a retry may succeed, tries again as a new transfer."""
        for _ in range(retries):
            try:
                return self.wait(self.submit(request, **more))
            except outcomes.Nacked as nacked:
                if not nacked.is_for_lack_of_room and not isinstance(nacked, outcomes.Incomplete):
                    raise
        return self.wait(self.submit(request, **more))

    def cancel(self, transfer):
        """Asks the server to drop an RPC. It ends with `Cancelled`, or with a reply if a core has begun it."""
        if transfer.has_ended:
            return
        if transfer.stamp is None:
            self._end(transfer, error=outcomes.Cancelled())
            return
        transfer.is_cancelled = True
        self._add(messages.encode_cancel(transfer.tid, transfer.stamp))
        self._flush()

    def turn(self, wait_s=0.0):
        """Takes what has come, waiting for it at most so long, and sends what is due."""
        wait_s = 0 if self._out else min(wait_s, max(self._due() - time.monotonic_ns(), 0) / SECOND)
        datagram = self._network.receive(wait_s)
        for _ in range(_TURN_DATAGRAMS):
            if datagram is None:
                break
            self._handle(datagram)
            datagram = self._network.receive(0)
        self._send(time.monotonic_ns())
        if self.session.error:
            self._end_all(outcomes.TimedOut())

    def close(self):
        self._network.close()

    # -- connecting --

    def _connect(self, reply_room):
        self.session.ask(time.monotonic_ns())
        while self.session.is_asking:
            self.turn(0.05)
        if self.session.error:
            raise self.session.error
        self.mtu_bytes, self.rpc_bytes_max = self.session.welcome.mtu_bytes, self.session.welcome.rpc_bytes_max
        if self.session.welcome.reply_bytes_max > reply_room:
            raise outcomes.NoRoom(f"replies may have {self.session.welcome.reply_bytes_max} bytes")

    # -- receiving --

    def _handle(self, datagram):
        now = time.monotonic_ns()
        try:
            header, body = self.session.open(datagram)
        except frame.NotTaken:
            return
        if header.kind == frame.REFUSAL:
            refusal = handshake.refusal(body)
            if refusal is not None:
                self.session.handle_refusal(header, refusal, now)
        elif header.kind == frame.WELCOME:
            self._handle_welcome(header, body, now)
        elif self._clock.is_old(now, header.token_or_time):
            self.session.ask(now)
        else:
            self._heard_at = now
            self._clock.hear(now, header.token_or_time)
            for message in messages.decode_all(body):
                self._handle_message(message, now)

    def _handle_welcome(self, header, body, now):
        is_other = self.session.handle_welcome(header, body, now)
        if is_other is None:
            return
        self._heard_at = now
        if is_other:
            for transfer in [transfer for transfer in self._transfers.values() if transfer.stamp is not None]:
                self._end(transfer, error=outcomes.ServerGone())
        # A time that goes back says that the clock known until now was stopped, or another server's.
        if is_other or self._clock.is_old(now, header.token_or_time):
            self._clock = ServerClock()
        self._clock.hear(now, header.token_or_time)
        for transfer in self._transfers.values():
            if transfer.due is not None:
                transfer.due = now + self.round_trip.timeout(transfer.unanswered)

    def _handle_message(self, message, now):
        transfer = self._transfers.get(message.tid)
        if transfer is None or transfer.stamp is None:
            return
        if message.kind == messages.ACK:
            if message.flag and transfer.was_overtaken:
                transfer.was_overtaken = False
                self.round_trip.handle_late()
            self._handle_answered(transfer, self._counted(transfer, lambda: transfer.handle_ack(message)), now)
            self._wait_for_more(transfer, now)
        elif message.kind == messages.REPLY:
            self._handle_reply(transfer, message, now)
        elif message.kind in (messages.NACK, messages.FAULT):
            packets = set(transfer.flying)
            error = self._counted(transfer, lambda: transfer.fail(message))
            if error is not None:
                self._handle_failed(transfer, packets, error, now)

    def _handle_reply(self, transfer, message, now):
        packets = set(transfer.flying)
        is_expected = message.pkt_idx in transfer.expected
        if not self._counted(transfer, lambda: transfer.handle_reply(message)):
            return
        transfer.unanswered = 0
        if is_expected:
            self.window.handle_answered(self._flying + 1)
        self._handle_answered(transfer, packets, now)
        if transfer.has_ended:
            del self._transfers[transfer.tid]
            return
        if message.pkt_idx == transfer.last_expected:
            if transfer.pulled_at is not None:
                self.round_trip.sample(now - transfer.pulled_at)
            self._counted(transfer, transfer.plan_pull)
            self._queue(transfer)
        transfer.due = now + self.round_trip.timeout()

    def _handle_failed(self, transfer, packets, error, now):
        del self._transfers[transfer.tid]
        if isinstance(error, outcomes.Nacked) and error.is_for_lack_of_room:
            self.window.handle_refused(now, max(sending.at for sending in transfer.sent.values()))
        else:
            self._handle_answered(transfer, packets, now)

    def _handle_answered(self, transfer, packets, now):
        """These packets of a request were answered: the window grows, and what was sent earlier may be lost."""
        transfer.unanswered = 0
        for left in range(len(packets), 0, -1):
            self.window.handle_answered(self._flying + left)
        latest = max((transfer.sent[packet] for packet in packets), key=lambda sending: sending.at, default=None)
        if latest is not None and latest.times == 1:
            self.round_trip.sample(now - latest.at)
            self._find_lost(latest.at)

    def _find_lost(self, answered_at):
        before = answered_at - self.round_trip.margin()
        for transfer in self._transfers.values():
            lost = {p for p in transfer.flying if transfer.sent[p].at < before and transfer.sent[p].times == 1}
            if lost:
                transfer.was_overtaken = True
                self._lose(transfer, lost)
                self._counted(transfer, lambda: transfer.lose(lost))
                self._queue(transfer)

    def _lose(self, transfer, packets):
        for packet in packets:
            self.window.handle_lost(transfer.sent[packet].at)

    def _wait_for_more(self, transfer, now):
        """After an acknowledgment: more packets, or patience."""
        if transfer.is_whole:
            transfer.due = now + max(transfer.ask_after, 2 * self.round_trip.timeout())
            transfer.ask_after = min(2 * transfer.ask_after, ASK_MAX)
        else:
            transfer.due = now + self.round_trip.timeout()
            self._queue(transfer)

    # -- sending --

    def _send(self, now):
        """What is due: a hello alone while the client asks, else repetitions and what the window lets go."""
        hello = self.session.hello(now)
        if hello is not None:
            self._network.send(hello)
        if self.session.is_asking or self.session.welcome is None:
            return
        self._repeat(now)
        while self._waiting and self.window.has_room(now, self._flying):
            transfer = self._waiting[0]
            if transfer.wants_pull:
                room = max(int(self.window.packets) - self._flying, 1)
                self._add(self._counted(transfer, lambda: transfer.pull(now, room)))
                transfer.due = now + self.round_trip.timeout(transfer.unanswered)
            elif transfer.to_send:
                is_last = not self.window.has_room(now, self._flying + 1)
                self._send_packet(transfer, transfer.to_send.pop(0), is_last, now)
            if not transfer.has_to_send:
                self._waiting.pop(0)
        self._flush()

    def _send_packet(self, transfer, packet, is_last, now):
        if transfer.stamp is None:
            transfer.stamp = self._clock.at(now)
        wants_ack = transfer.wants_ack(packet, is_last)
        self._counted(transfer, lambda: transfer.handle_sent(packet, now))
        self.window.handle_sent(now)
        self.sent_packets += 1
        self._add(transfer.encode(packet, wants_ack), transfer, packet)

    def _repeat(self, now):
        for transfer in [transfer for transfer in self._transfers.values() if transfer.due and transfer.due <= now]:
            transfer.unanswered += 1
            if transfer.unanswered >= TRANSMISSIONS_MAX:
                self._end(transfer, error=outcomes.TimedOut())
                continue
            self._handle_timeout(transfer, now)
            transfer.due = now + self.round_trip.timeout(transfer.unanswered)
            if transfer.reply_bytes is not None:
                for _ in transfer.expected:
                    self.window.handle_lost(transfer.pulled_at or 0)
                self._counted(transfer, transfer.plan_pull)
            else:
                self._lose(transfer, transfer.flying)
                self._counted(transfer, transfer.plan_repeat)
            self._queue(transfer)

    def _handle_timeout(self, transfer, now):
        sent_at = max(sending.at for sending in transfer.sent.values())
        if transfer.is_whole:
            return
        self.round_trip.handle_timeout(sent_at, now)
        if sent_at >= self._timed_out_at > self._heard_at:
            self.window.handle_silence()
        self._timed_out_at = now

    def _queue(self, transfer):
        if transfer.has_to_send and transfer not in self._waiting:
            self._waiting.insert(0, transfer)

    def _add(self, message, transfer=None, packet=None):
        if sum(len(other) for other, _, _ in self._out) + len(message) > self.session.body_bytes_max():
            self._flush()
        self._out.append((message, transfer, packet))

    def _flush(self):
        """Sends what is collected. Making a datagram takes long in Python, so only now its packets are under way."""
        if not self._out or self.session.is_asking:
            return
        self._network.send(self.session.encode(b"".join(message for message, _, _ in self._out)))
        now = time.monotonic_ns()
        for _, transfer, packet in self._out:
            if transfer is not None:
                transfer.sent[packet].at = now
                transfer.due = now + self.round_trip.timeout(transfer.unanswered)
        self._out.clear()

    # -- accounts --

    def _counted(self, transfer, change):
        """Runs `change` of a transfer and keeps the number of packets in flight."""
        before = transfer.in_flight
        result = change()
        self._flying += transfer.in_flight - before
        return result

    def _end(self, transfer, error):
        self._counted(transfer, lambda: transfer.end(error=error))
        del self._transfers[transfer.tid]

    def _end_all(self, error):
        for transfer in list(self._transfers.values()):
            self._end(transfer, error=error)

    def _take_tid(self):
        while self._next_tid in self._transfers:
            self._next_tid = (self._next_tid + 1) & 0xFFFFFFFF
        tid = self._next_tid
        self._next_tid = (tid + 1) & 0xFFFFFFFF
        return tid

    def _due(self):
        """When something is to be done next."""
        if self.session.is_asking:
            return self.session.next_hello_at
        dues = [transfer.due for transfer in self._transfers.values() if transfer.due]
        if self._waiting:
            dues.append(max(self.window.next_at(), 0) if self.window.packets < 1 else time.monotonic_ns() + SECOND)
        return min(dues, default=time.monotonic_ns() + SECOND)
