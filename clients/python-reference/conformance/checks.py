"""Assertions, and the count of what the server executed for this client."""

import collections

from nebula_reference import kv, outcomes


class Failed(Exception):
    """The server did not do what the page says, or this client did not understand it."""


def equal(found, expected, about):
    if found != expected:
        raise Failed(f"{about}: {found!r:.200}, not {expected!r:.200}")


def ends_with(kind, run):
    """The error of `run`, which has to be of that kind."""
    try:
        ended = run()
    except kind as error:
        return error
    raise Failed(f"ended with {ended!r:.200}, not {kind}")


class Counted:
    """A client whose every end of an RPC is counted: `executed` is what the server has to have executed."""

    executed = 0
    ends = collections.Counter()

    def __init__(self, client):
        self.client = client

    def submit(self, request, **more):
        return self.client.submit(request, **more)

    def wait(self, rpc):
        try:
            reply = self.client.wait(rpc)
        except outcomes.RpcError as error:
            Counted.ends[type(error).__name__] += 1
            if error.was_executed is None:
                raise Failed(f"nobody knows whether an RPC was executed: {type(error).__name__}") from error
            Counted.executed += error.was_executed
            raise
        Counted.ends["reply"] += 1
        Counted.executed += 1
        return reply

    def call(self, request, tries=200, **more):
        """Tries again after a NACK of which the page says that a retry may succeed."""
        for _ in range(tries - 1):
            try:
                return self.wait(self.submit(request, **more))
            except outcomes.Nacked as nacked:
                if not nacked.is_for_lack_of_room and not isinstance(nacked, outcomes.Incomplete):
                    raise
        return self.wait(self.submit(request, **more))

    def close(self):
        self.client.close()


def store(client):
    """The store behind a client, counted."""
    return kv.Store(Counted(client))
