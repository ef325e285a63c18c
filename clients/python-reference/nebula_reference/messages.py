"""The messages of a datagram."""

import struct
from typing import NamedTuple

REQUEST, REPLY, NACK, ACK, FAULT, PULL, CANCEL = 1, 2, 3, 4, 5, 6, 7
NO_BUDGET = 0xFFFFFFFF
BITMAP_PACKETS = 64

_HEAD = struct.Struct("<BBHIIHH")
_REQUEST = struct.Struct("<IIQ")
_WORD = struct.Struct("<Q")
_ADDS_BYTES = {REQUEST: _REQUEST.size, REPLY: 0, NACK: 0, ACK: 8, FAULT: 0, PULL: 8, CANCEL: 8}
REQUEST_BYTES = _HEAD.size + _REQUEST.size


class Message(NamedTuple):
    """`number` is rpc_bytes, or a reason, or a code; `word` is a bitmap or a stamp, where the kind has one."""

    kind: int
    tid: int
    number: int = 0
    pkt_idx: int = 0
    flag: bool = False
    word: int = 0
    payload: bytes = b""


def encode_request(tid, rpc_bytes, pkt_idx, wants_ack, key_hash, budget_us, stamp, payload):
    head = _HEAD.pack(REQUEST, wants_ack, len(payload), tid, rpc_bytes, pkt_idx, 0)
    return head + _REQUEST.pack(key_hash, budget_us, stamp) + payload


def encode_pull(tid, first, bitmap):
    return _HEAD.pack(PULL, 0, 0, tid, 0, first, 0) + _WORD.pack(bitmap)


def encode_cancel(tid, stamp):
    return _HEAD.pack(CANCEL, 0, 0, tid, 0, 0, 0) + _WORD.pack(stamp)


def decode_all(body):
    """The messages of a body, up to padding or to the first that is none."""
    at = 0
    while at + _HEAD.size <= len(body) and body[at] in _ADDS_BYTES:
        kind, flags, payload_bytes, tid, number, pkt_idx, _ = _HEAD.unpack_from(body, at)
        payload_at = at + _HEAD.size + _ADDS_BYTES[kind]
        at = payload_at + payload_bytes
        if at > len(body):
            return
        word = _WORD.unpack_from(body, payload_at - 8)[0] if _ADDS_BYTES[kind] == 8 else 0
        yield Message(kind, tid, number, pkt_idx, bool(flags & 1), word, bytes(body[payload_at:at]))


def packets_of(octets, mtu_bytes):
    """How many packets `octets` bytes take: one for none."""
    return max(1, -(-octets // mtu_bytes))
