"""Bodies of hello, welcome and refusal."""

import struct
from typing import NamedTuple

HELLO_BODY_BYTES = 128 - 32
_WELCOME = struct.Struct("<QQIIQII")
_REFUSAL = struct.Struct("<II8s")


class Welcome(NamedTuple):
    echo: int
    token: int
    rpc_bytes_max: int
    mtu_bytes: int
    slo_ps: int
    reply_bytes_max: int


class Refusal(NamedTuple):
    reason: int
    repeats: bytes


def hello(echo):
    """The body of a hello, which is as long as no answer to it."""
    return struct.pack("<Q", echo) + bytes(HELLO_BODY_BYTES - 8)


def welcome(body):
    """The welcome in a body, or None."""
    return Welcome(*_WELCOME.unpack_from(body)[:6]) if len(body) >= _WELCOME.size else None


def refusal(body):
    """The refusal in a body, or None."""
    if len(body) < _REFUSAL.size:
        return None
    reason, _, repeats = _REFUSAL.unpack_from(body)
    return Refusal(reason, repeats)
