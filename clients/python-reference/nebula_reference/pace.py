"""How fast to send and when to send again: the round trip, the window, and what is taken as lost."""

MICRO = 1_000
MILLI = 1_000_000
RTO_MIN, RTO_MAX, RTO_FIRST = 100 * MICRO, 100 * MILLI, MILLI
RTO_BACKED_OFF_MAX = 1_000 * MILLI
LOSSES_BELIEVED = 8
PATIENCE_ANSWERS = 1024
WINDOW_FIRST, WINDOW_MAX, WINDOW_MIN = 64.0, 4096.0, 1 / 16


class RoundTrip:
    """RFC 6298 with gains of 1/8 and 1/4."""

    def __init__(self):
        self.smoothed = None
        self.variation = 0
        self._doublings = 0
        self._backed_off_at = 0
        self._late = 0
        self._answers = 0

    def sample(self, taken):
        """Takes the time to the answer of what was sent once."""
        self._doublings = 0
        self._answers += 1
        if self._late and self._answers >= PATIENCE_ANSWERS:
            self._late, self._answers = self._late - 1, 0
        if self.smoothed is None:
            self.smoothed, self.variation = taken, taken / 2
            return
        self.variation += (abs(self.smoothed - taken) - self.variation) / 4
        self.smoothed += (taken - self.smoothed) / 8

    def handle_timeout(self, sent_at, now):
        """What was sent at `sent_at` was not answered in time: until the next sample all time-outs double."""
        if sent_at >= self._backed_off_at:
            self._doublings = min(self._doublings + 1, 10)
            self._backed_off_at = now

    def timeout(self, transmissions=0):
        """How long to wait for an answer to what has been sent that many times before."""
        first = RTO_FIRST if self.smoothed is None else self.smoothed + 4 * self.variation
        first = min(max(first, RTO_MIN), RTO_MAX)
        of_all = min(first * 2**self._doublings, RTO_MAX)
        return min(max(of_all, first * 2**transmissions), RTO_BACKED_OFF_MAX)

    def margin(self):
        """How much earlier than something answered a packet was sent that counts as lost."""
        return max(self.or_guess() / 4, 2 * self.variation, 20 * MICRO) * 2**self._late

    def handle_late(self):
        """What had counted as lost was late."""
        self._late, self._answers = min(self._late + 1, 5), 0

    def or_guess(self):
        return self.smoothed if self.smoothed is not None else RTO_FIRST


class Window:
    """Packets in flight: grows with answers, shrinks with refusals, losses and silence."""

    def __init__(self, round_trip):
        self.packets = WINDOW_FIRST
        self._round_trip = round_trip
        self._doubles_below = WINDOW_MAX
        self._is_refused = False
        self._cut_at = 0
        self._sent_at = 0
        self._known = 0
        self._lost = 0
        self._lost_times = set()

    def has_room(self, now, in_flight):
        """Whether one more packet may be sent."""
        return in_flight < max(int(self.packets), 1) and now >= self.next_at()

    def next_at(self):
        """When a window of less than one packet lets the next one go: one in each `1 / packets` round trips."""
        return 0 if self.packets >= 1 else self._sent_at + self._round_trip.or_guess() / self.packets

    def handle_sent(self, now):
        self._sent_at = now

    def handle_answered(self, in_flight):
        """One of `in_flight` packets was answered, and not refused. A window that is not used does not grow."""
        self._know(1)
        if in_flight < self.packets / 2:
            return
        if self.packets < self._doubles_below:
            self.packets = min(self.packets + 1, self._doubles_below)
        elif self.packets < 6 and self._is_refused:
            self.packets += (1 / 32 if self.packets >= 1 else 1 / 256) / self.packets
        else:
            self._is_refused = False
            self.packets = min(self.packets + 1 / self.packets, WINDOW_MAX)

    def handle_refused(self, now, sent_at):
        """A NACK for lack of room takes 3/10, once for all that was sent before it."""
        self._know(1)
        if sent_at >= self._cut_at:
            self._cut_at, self._is_refused = now, True
            self.packets = self._doubles_below = max(self.packets * 0.7, WINDOW_MIN)

    def handle_lost(self, sent_at):
        """A packet counts as lost. Some losses are the network's; more than 1/20 say that too much is sent."""
        self._lost += 1
        self._lost_times.add(sent_at)
        self._know(1)

    def handle_silence(self):
        """Two time-outs and no answer between them: two packets are left, and half is won back quickly."""
        self._doubles_below = max(self.packets / 2, 2.0)
        self.packets = min(self.packets, 2.0)
        self._forget()

    def _know(self, packets):
        """The fate of packets is known. After a window of them, losses are judged by their share."""
        self._known += packets
        if self._known < self.packets:
            return
        if len(self._lost_times) >= LOSSES_BELIEVED:
            share = self._lost / self._known
            if share > 1 / 20:
                self.packets = min(self.packets, max(self.packets * (1 - min(share, 0.5)), 2.0))
                self._doubles_below = self.packets
            self._forget()
        elif not self._lost:
            self._forget()

    def _forget(self):
        self._known = self._lost = 0
        self._lost_times.clear()
