"""Being let in: hello until welcomed, refusals, and what the welcome gave. Time in nanoseconds."""

import os

from . import frame, handshake, messages, outcomes

SECOND, MILLI = 1_000_000_000, 1_000_000
HELLO_FIRST, HELLO_MAX = 20 * MILLI, SECOND
BELIEVE_TIMES, BELIEVE_MIN, BELIEVE_MAX = 8, 20 * MILLI, SECOND
SILENCE_MAX = 10 * SECOND


class Session:
    """What a client knows of its server, and whether it asks to be let in."""

    def __init__(self, seal, datagram_bytes, patience):
        self.seal = seal
        self.datagram_bytes = datagram_bytes
        self.patience = patience
        self.welcome = None
        self.incarnation = 0
        self.snid = 0
        self.token = 0
        self.server_datagram_bytes = 0
        self.heard_at = 0
        self.claimed = None
        self.error = None
        self.refusals = []
        # -- asking --
        self.is_asking = False
        self._echo = 0
        self._hello = b""
        self._hellos = []
        self._asked_at = 0
        self._asks_again_after = 0
        self.next_hello_at = 0
        self._believes_refusals_at = 0

    # -- hello --

    def ask(self, now):
        """Asks with a fresh echo, unless it asks already."""
        if self.is_asking:
            return
        self.is_asking = True
        self._echo = int.from_bytes(os.urandom(8), "little")
        self._asked_at = self.next_hello_at = now
        self._asks_again_after = HELLO_FIRST
        self._hellos = []

    def hello(self, now):
        """The hello that is due at `now`, or None."""
        if not self.is_asking or now < self.next_hello_at:
            return None
        if now - self._asked_at > self.patience:
            self.is_asking = False
            self.error = outcomes.NoAnswer(self.claimed)
            return None
        self.next_hello_at = now + self._asks_again_after
        self._asks_again_after = min(2 * self._asks_again_after, HELLO_MAX)
        header = frame.Header(frame.HELLO, 0, self.snid, self.datagram_bytes, self.token)
        hello = self.seal.encode(header, handshake.hello(self._echo))
        self._hellos.append(hello[frame.HEADER_BYTES :][:8])
        return hello

    # -- welcome --

    def handle_welcome(self, header, body, now):
        """Takes the welcome that repeats the echo. Whether it is another server, or another client to it; None if not taken."""
        welcome = handshake.welcome(body)
        if welcome is None or not self.is_asking or welcome.echo != self._echo:
            return None
        longest = min(self.datagram_bytes, header.datagram_bytes)
        if frame.HEADER_BYTES + self.seal.overhead_bytes + messages.REQUEST_BYTES + welcome.mtu_bytes > longest:
            return None
        is_other = self.welcome is not None and (header.incarnation, header.snid) != (self.incarnation, self.snid)
        self.is_asking = False
        self.welcome, self.token = welcome, welcome.token
        self.incarnation, self.snid = header.incarnation, header.snid
        self.server_datagram_bytes = header.datagram_bytes
        taken = now - self._asked_at
        self._believes_refusals_at = now + min(max(BELIEVE_TIMES * taken, BELIEVE_MIN), BELIEVE_MAX)
        return is_other

    # -- refusal --

    def handle_refusal(self, header, refusal, now):
        """Believes a refusal, or does not; ends no RPC."""
        if refusal.reason in frame.ALWAYS_PLAIN:
            self._handle_final(refusal)
        elif (header.incarnation, header.snid) == (self.incarnation, self.snid) and now >= self._believes_refusals_at:
            self.refusals.append(refusal.reason)
            self.ask(now)

    def _handle_final(self, refusal):
        if not self.is_asking or refusal.repeats not in self._hellos:
            return
        self.refusals.append(refusal.reason)
        if self.seal.is_sealed:
            self.claimed = refusal.reason
        else:
            self.is_asking = False
            self.error = outcomes.Refused(refusal.reason)

    # -- frames --

    def open(self, datagram):
        """Header and messages of a datagram that is the server's. Raises `frame.NotTaken`."""
        header, body = frame.decode(datagram)
        if header.kind == frame.REFUSAL and not header.flags & frame.SEALED:
            return header, self._open_plain_refusal(datagram, header, body)
        if header.version != frame.VERSION or header.kind not in (frame.WELCOME, frame.REFUSAL, frame.OF_SERVER):
            raise frame.NotTaken("another version or kind")
        secret = 0 if header.kind == frame.WELCOME else frame.secret_of(self.token)
        body = self.seal.open(datagram, header, body, secret)
        if header.kind == frame.OF_SERVER and (header.incarnation, header.snid) != (self.incarnation, self.snid):
            raise frame.NotTaken("of another server, or for another client")
        return header, body

    def _open_plain_refusal(self, datagram, header, body):
        refusal = handshake.refusal(body)
        if refusal is None or (header.version != frame.VERSION and refusal.reason != frame.ANOTHER_VERSION):
            raise frame.NotTaken("no refusal")
        if header.version != frame.VERSION:
            return body  # How another version makes its check nobody knows.
        if refusal.reason in frame.ALWAYS_PLAIN:
            return frame.checked(datagram, body, 0)
        return self.seal.open(datagram, header, body, frame.secret_of(self.token))

    def encode(self, body):
        """A frame of messages to the server."""
        header = frame.Header(frame.OF_CLIENT, self.incarnation, self.snid, self.datagram_bytes, self.token)
        return self.seal.encode(header, body)

    def body_bytes_max(self):
        """How long the messages of one datagram may be."""
        longest = min(self.datagram_bytes, self.server_datagram_bytes)
        return longest - frame.HEADER_BYTES - self.seal.overhead_bytes
