"""The datagram: a header of 32 bytes, and messages that a check or a seal protects."""

import itertools
import os
import struct
from typing import NamedTuple

from . import xchacha
from .crc32c import crc32c

VERSION = 2
HELLO, WELCOME, REFUSAL, OF_CLIENT, OF_SERVER = 1, 2, 3, 4, 5
SEALED = 1
HEADER_BYTES = 32
SEAL_BYTES = xchacha.NONCE_BYTES + xchacha.TAG_BYTES
DATAGRAM_BYTES_ANYWHERE = 1232
DATAGRAM_BYTES_LOOPBACK = 16 * 1024

ANOTHER_VERSION, ANOTHER_RUN, ANOTHER_TOKEN, SEALED_ONLY, NO_KEY = 1, 2, 3, 4, 5
ALWAYS_PLAIN = (ANOTHER_VERSION, SEALED_ONLY, NO_KEY)

_HEADER = struct.Struct("<BBBBIQIHHQ")
_CHECK = slice(4, 8)
_RUN_BYTES = 16


class NotTaken(Exception):
    """A datagram that is to be ignored."""


class Forked(Exception):
    """This process is a fork: its parent uses the same nonces."""


class Header(NamedTuple):
    kind: int
    incarnation: int = 0
    snid: int = 0
    datagram_bytes: int = DATAGRAM_BYTES_ANYWHERE
    token_or_time: int = 0
    key_tag: int = 0
    flags: int = 0
    version: int = VERSION

    def encode(self, check=0):
        return _HEADER.pack(
            self.version, self.kind, self.flags, 0, check, self.incarnation, self.snid,
            self.datagram_bytes, self.key_tag, self.token_or_time,
        )  # fmt: skip


def decode(datagram):
    """The header of a datagram and the bytes behind it, neither of them checked."""
    if len(datagram) < HEADER_BYTES:
        raise NotTaken("too short")
    version, kind, flags, _, _, incarnation, snid, longest, tag, last = _HEADER.unpack_from(datagram)
    return Header(kind, incarnation, snid, longest, last, tag, flags, version), datagram[HEADER_BYTES:]


def secret_of(token):
    """What the check of the server's plain frames goes on from."""
    return (token >> 32) ^ (token & 0xFFFFFFFF)


class Plain:
    """Frames with a check."""

    overhead_bytes = 0
    is_sealed = False

    def encode(self, header, body, secret=0):
        unchecked = header.encode() + body
        return header.encode(crc32c(unchecked, secret)) + body

    def open(self, datagram, header, body, secret):
        """The messages of a datagram. Raises `NotTaken`."""
        if header.flags & SEALED:
            raise NotTaken("sealed, and there is no key")
        return checked(datagram, body, secret)


def checked(datagram, body, secret):
    """`body`, the messages of a plain datagram. Raises `NotTaken` where the check is another."""
    unchecked = datagram[: _CHECK.start] + bytes(4) + datagram[_CHECK.stop :]
    if crc32c(unchecked, secret) != int.from_bytes(datagram[_CHECK], "little"):
        raise NotTaken("the check is another")
    return body


class Sealed:
    """Frames that are sealed under the first key, and opened under any."""

    overhead_bytes = SEAL_BYTES
    is_sealed = True

    def __init__(self, keys):
        self.keys = keys
        self._run = os.urandom(_RUN_BYTES)
        self._process = os.getpid()
        self._counter = itertools.count()
        self._subkeys = {}

    def encode(self, header, body, secret=0):
        if os.getpid() != self._process:
            raise Forked
        key = self.keys[0]
        head = header._replace(flags=SEALED, key_tag=key.tag).encode()
        tail = struct.pack("<Q", next(self._counter))
        return head + self._run + tail + xchacha.seal_under(self._subkey(key, self._run), tail, head, body)

    def open(self, datagram, header, body, secret):
        """The messages of a datagram. Raises `NotTaken`."""
        if not header.flags & SEALED or len(body) < SEAL_BYTES:
            raise NotTaken("plain, or too short for a seal")
        run, tail, sealed = body[:_RUN_BYTES], body[_RUN_BYTES : xchacha.NONCE_BYTES], body[xchacha.NONCE_BYTES :]
        additional = datagram[:HEADER_BYTES]
        for key in self.keys:
            if key.tag == header.key_tag:
                try:
                    return xchacha.open_under(self._subkey(key, run), tail, additional, sealed)
                except xchacha.NotAuthentic:
                    continue
        raise NotTaken("no key opens it")

    def _subkey(self, key, run):
        """HChaCha20 of both, remembered: a run sends many frames."""
        if (key.octets, run) not in self._subkeys:
            if len(self._subkeys) >= 64:
                self._subkeys.clear()
            self._subkeys[key.octets, run] = xchacha.hchacha20(key.octets, run)
        return self._subkeys[key.octets, run]
