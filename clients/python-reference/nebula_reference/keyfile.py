"""The key file: named keys of 32 bytes, a line each."""

import os
import re
import stat
import string

from .siphash import siphash24

FILE_BYTES_MAX = 256 * 1024
KEYS_MAX = 1024
_NAME = re.compile(r"[a-z A-Z 0-9 . _ -]{1,64}".replace(" ", ""), re.ASCII)


class KeyFileError(Exception):
    """A key file that cannot be used."""


class Key:
    """32 bytes and the name of their owner, which may be empty."""

    def __init__(self, name, octets):
        self.name = name
        self.octets = octets
        self.tag = siphash24(octets[:16], octets[16:]) & 0xFFFF


def parse(text):
    """The keys of a file's text, in its order."""
    keys = []
    for number, line in enumerate(text.split("\n"), 1):
        words = line.split("#", 1)[0].split()
        if not words:
            continue
        key = _parse_line(words, number)
        if any(key.octets == other.octets for other in keys):
            raise KeyFileError(f"line {number}: this key stands above already")
        keys.append(key)
    if not 1 <= len(keys) <= KEYS_MAX:
        raise KeyFileError(f"{len(keys)} keys, where 1 to {KEYS_MAX} may be")
    return keys


def _parse_line(words, number):
    *name, digits = words
    if len(name) > 1:
        raise KeyFileError(f"line {number} is neither `NAME KEY` nor `KEY`")
    if name and not _NAME.fullmatch(name[0]):
        raise KeyFileError(f"line {number}: a name has up to 64 of a-z, A-Z, 0-9, `.`, `_` and `-`")
    if len(digits) != 64 or not set(digits) <= set(string.hexdigits):
        raise KeyFileError(f"line {number}: a key has 64 hexadecimal digits")
    return Key(name[0] if name else "", bytes.fromhex(digits))


def read(path):
    """The keys of a file that nobody but its owner may read."""
    with open(path, "rb") as file:
        status = os.fstat(file.fileno())
        if not stat.S_ISREG(status.st_mode):
            raise KeyFileError(f"{path} is no regular file")
        if status.st_mode & 0o077:
            raise KeyFileError(f"others than its owner can use {path}: chmod 600")
        text = file.read(FILE_BYTES_MAX + 1)
    if len(text) > FILE_BYTES_MAX:
        raise KeyFileError(f"{path} is longer than {FILE_BYTES_MAX} bytes")
    try:
        return parse(text.decode())
    except UnicodeDecodeError as error:
        raise KeyFileError(f"{path} is not text") from error
