"""One RPC over UDP at its client: which of its packets are under way, and which of its reply have come."""

from . import messages, outcomes

ASK_FIRST, ASK_MAX = 10_000_000, 1_000_000_000  # nanoseconds
BURST_PACKETS = 64
REPLY_FIRST_PACKETS = 32
TRANSMISSIONS_MAX = 12


class Sending:
    """The last transmission of a packet."""

    def __init__(self, now, earlier):
        self.at = now
        self.times = earlier.times + 1 if earlier else 1


class Transfer:
    """An RPC from its submission to its end. `reply` or `error` is set at the end."""

    def __init__(self, tid, request, key_hash, budget_us, mtu_bytes):
        self.tid = tid
        self.request = request
        self.key_hash = key_hash
        self.budget_us = budget_us
        self.stamp = None
        self.mtu_bytes = mtu_bytes
        self.packets = messages.packets_of(len(request), mtu_bytes)
        self.reply = None
        self.error = None
        self.is_cancelled = False
        # -- the request --
        self.to_send = list(range(min(self.packets, BURST_PACKETS)))
        self.next_new = len(self.to_send)
        self.sent = {}  # packet: its last transmission
        self.flying = set()
        self.unknown = set()  # after a time-out: sent, or about to be
        self.arrived = set()
        self.is_whole = False
        self.was_overtaken = False  # counted as lost because something sent later was answered
        # -- waiting --
        self.unanswered = 0  # transmissions since the last answer
        self.due = None
        self.ask_after = ASK_FIRST
        # -- the reply --
        self.reply_bytes = None
        self.reply_packets = {}
        self.expected = set()  # packets of it that are to come without being asked for again
        self.last_expected = None
        self.wants_pull = False
        self.pulled_at = None

    @property
    def has_ended(self):
        return self.reply is not None or self.error is not None

    @property
    def in_flight(self):
        """Its packets that count for the window."""
        return len(self.flying) + len(self.expected)

    @property
    def has_to_send(self):
        return bool(self.to_send) or self.wants_pull

    def end(self, reply=None, error=None):
        self.reply, self.error = reply, error
        self.wants_pull = False
        self.expected.clear()
        self.flying.clear()
        self.to_send.clear()

    # -- the request --

    def wants_ack(self, packet, is_last):
        """Whether this transmission asks for an acknowledgment: a repetition, or the last of a burst."""
        return packet in self.sent if self.packets == 1 or self.is_whole else is_last or not self.to_send

    def encode(self, packet, wants_ack):
        at = packet * self.mtu_bytes
        return messages.encode_request(
            self.tid, len(self.request), packet, wants_ack, self.key_hash, self.budget_us, self.stamp,
            self.request[at : at + self.mtu_bytes],
        )  # fmt: skip

    def handle_sent(self, packet, now):
        self.sent[packet] = Sending(now, self.sent.get(packet))
        self.flying.add(packet)

    def handle_ack(self, message):
        """Takes what an acknowledgment says, plans the next burst; returns the packets that have come."""
        bits = {i for i in range(messages.BITMAP_PACKETS) if message.word >> i & 1}
        named = set(range(message.pkt_idx)) | {message.pkt_idx + i for i in bits}
        news = (set(range(self.packets)) if message.flag else named & set(self.sent)) - self.arrived
        self.is_whole |= message.flag
        self.arrived |= news
        self.flying -= news
        reached = message.pkt_idx + max(bits, default=-1)
        self.lose({packet for packet in self.flying if packet <= reached} | self.unknown)
        if not self.to_send and not self.is_whole:
            self._plan_new(message.pkt_idx)
        return news & set(self.sent)

    def lose(self, packets):
        """These packets are sent again, in order and before what is new."""
        self.flying -= packets
        self.unknown -= packets
        self.to_send = [] if self.is_whole else sorted((packets | set(self.to_send)) - self.arrived)

    def _plan_new(self, first_missing):
        """No more than one acknowledgment can name."""
        new = range(self.next_new, min(self.packets, first_missing + BURST_PACKETS))
        self.next_new += len(new)
        self.to_send = list(new)

    def plan_repeat(self):
        """After a time-out: one packet, the answer to which says what else is missing."""
        self.unknown |= (self.flying | set(self.to_send)) - self.arrived
        self.flying.clear()
        self.to_send = [min(set(range(self.packets)) - self.arrived, default=0)]

    # -- the reply --

    def handle_reply(self, message):
        """Keeps a packet of the reply, and ends the RPC with the last that was missing. Whether it was new."""
        packets = messages.packets_of(message.number, self.mtu_bytes)
        is_last = message.pkt_idx == packets - 1
        length = message.number - (packets - 1) * self.mtu_bytes if is_last else self.mtu_bytes
        is_other = self.reply_bytes not in (None, message.number)
        if is_other or message.pkt_idx >= packets or len(message.payload) != length:
            return False
        self.is_whole = True
        self.flying.clear()
        self.to_send.clear()
        if self.reply_bytes is None:
            self._expect(range(min(packets, REPLY_FIRST_PACKETS)))
        self.reply_bytes = message.number
        self.expected.discard(message.pkt_idx)
        is_new = message.pkt_idx not in self.reply_packets
        self.reply_packets[message.pkt_idx] = message.payload
        if len(self.reply_packets) == packets:
            self.end(reply=b"".join(self.reply_packets[i] for i in range(packets)))
        return is_new

    def _expect(self, packets):
        self.expected = set(packets)
        self.last_expected = max(self.expected)

    def plan_pull(self):
        """What was expected is not waited for any longer."""
        self.expected.clear()
        self.wants_pull = True

    def pull(self, now, room):
        """A pull of the first packets that are missing, `room` of them."""
        packets = messages.packets_of(self.reply_bytes, self.mtu_bytes)
        missing = [packet for packet in range(packets) if packet not in self.reply_packets]
        wanted = [packet for packet in missing if packet < missing[0] + messages.BITMAP_PACKETS][:room]
        self._expect(wanted)
        self.wants_pull, self.pulled_at = False, now
        bitmap = sum(1 << (packet - missing[0]) for packet in wanted)
        return messages.encode_pull(self.tid, missing[0], bitmap)

    def fail(self, message):
        """Ends with what a NACK or a fault says; a NACK with an unknown reason is ignored."""
        error = outcomes.nack if message.kind == messages.NACK else outcomes.fault
        error = error(message.number)
        if error is not None:
            self.end(error=error)
        return error
