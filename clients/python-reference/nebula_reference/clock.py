"""The server's time, as its frames tell it."""

SECOND = 1_000_000_000


class ServerClock:
    """The largest difference between a frame's time and this machine's as it came, of the last 1 to 2 s."""

    def __init__(self):
        self._since = None
        self._now = None
        self._before = None

    def hear(self, now, time):
        difference = time - now
        if self._since is None or now - self._since >= SECOND:
            self._before, self._now, self._since = self._now, difference, now
        self._now = max(self._now, difference)

    def at(self, now):
        """The server's time, not later than it is but for what the clocks drift apart. None before the first frame."""
        if self._now is None:
            return None
        return now + (self._now if self._before is None else max(self._now, self._before))

    def is_old(self, now, time):
        """Whether a frame's time is more than 10 s before the server's."""
        known = self.at(now)
        return known is not None and time < known - 10 * SECOND
