"""How an RPC, or an attempt to connect, ends other than with a reply: the names of docs/PROTOCOL.md."""


class RpcError(Exception):
    """An RPC without a reply. `was_executed` is True, False, or None where nobody knows."""

    was_executed = None


class Nacked(RpcError):
    """The server refused the RPC."""

    code = 0
    was_executed = False
    is_for_lack_of_room = False


class BufferFull(Nacked):
    code = 1
    is_for_lack_of_room = True


class ReassemblerFull(Nacked):
    code = 2
    is_for_lack_of_room = True


class QueueBound(Nacked):
    code = 3
    is_for_lack_of_room = True


class TooLarge(Nacked):
    code = 4


class Stale(Nacked):
    """Older than what the server remembers. It may have been executed, and will not be."""

    code = 5
    was_executed = None


class Expired(Nacked):
    code = 6


class Incomplete(Nacked):
    code = 7


class Cancelled(Nacked):
    code = 8


class Faulted(RpcError):
    """The server executed the RPC, or began it, and has no reply."""

    code = 0
    was_executed = True


class ReplyTooLarge(Faulted):
    code = 1


class HandlerPanicked(Faulted):
    code = 2


class ReplyDropped(Faulted):
    code = 3


class ServerGone(RpcError):
    """The server that the RPC was sent to has ended."""


class TimedOut(RpcError):
    """The server did not answer."""


class ConnectError(Exception):
    """No connection."""


class Refused(ConnectError):
    """The server refused the client. `code` is the refusal of the page."""

    def __init__(self, code):
        super().__init__(f"refusal {code}")
        self.code = code


class NoAnswer(ConnectError):
    """No server answered. `claimed` is the reason of a plain refusal that a client with a key did not believe, or None."""

    def __init__(self, claimed=None):
        super().__init__("no answer" + (f", but a refusal {claimed} that anybody can make" if claimed else ""))
        self.claimed = claimed


class NoRoom(ConnectError):
    """The server's replies may be longer than what this client takes."""


_NACKS = {
    kind.code: kind
    for kind in (BufferFull, ReassemblerFull, QueueBound, TooLarge, Stale, Expired, Incomplete, Cancelled)
}
_FAULTS = {kind.code: kind for kind in (ReplyTooLarge, HandlerPanicked, ReplyDropped)}


def nack(code):
    """The error of a NACK's reason, or None where the page has no such reason."""
    kind = _NACKS.get(code)
    return kind and kind()


def fault(code):
    """The error of a fault's code. A fault with an unknown code counts as fault 3."""
    return _FAULTS.get(code, ReplyDropped)()
