"""Messages of the key-value service, and a store that is reached by any client with `call`."""

import struct

from .crc32c import crc32c

GET, SET, DELETE = 1, 2, 3
OK, NOT_FOUND, FULL, MALFORMED = range(4)
_HEAD_BYTES = 8


class MalformedReply(Exception):
    """A reply that the page does not allow."""


def encode(op, key, value=b""):
    """A request. GET and DELETE have no value."""
    return struct.pack("<BBHI", op, len(key), 0, len(value)) + key + value


def decode(reply):
    """Status and value of a reply."""
    if len(reply) < _HEAD_BYTES:
        raise MalformedReply(reply)
    status, *reserved, value_bytes = struct.unpack_from("<BBBBI", reply)
    value = reply[_HEAD_BYTES:]
    if status > MALFORMED or any(reserved) or len(value) != value_bytes:
        raise MalformedReply(reply[:_HEAD_BYTES])
    return status, value


class Store:
    """The store behind `client`, an RPC a method, each a call until its end."""

    def __init__(self, client):
        self.client = client

    def call(self, op, key, value=b"", **more):
        return decode(self.client.call(encode(op, key, value), key_hash=crc32c(key), **more))

    def get(self, key):
        """The value, or None where there is none."""
        status, value = self.call(GET, key)
        return value if status == OK else None

    def set(self, key, value):
        """Whether the value is stored."""
        return self.call(SET, key, value)[0] == OK

    def delete(self, key):
        """Whether there was a value."""
        return self.call(DELETE, key)[0] == OK
