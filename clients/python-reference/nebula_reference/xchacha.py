"""XChaCha20-Poly1305: RFC 8439 and draft-irtf-cfrg-xchacha-03. Slow, and its time depends on what is secret."""

import hmac
import struct

TAG_BYTES = 16
NONCE_BYTES = 24

_CONSTANTS = struct.unpack("<4I", b"expand 32-byte k")
_COLUMNS_AND_DIAGONALS = (
    (0, 4, 8, 12), (1, 5, 9, 13), (2, 6, 10, 14), (3, 7, 11, 15),
    (0, 5, 10, 15), (1, 6, 11, 12), (2, 7, 8, 13), (3, 4, 9, 14),
)  # fmt: skip


class NotAuthentic(Exception):
    """The tag does not belong to these bytes under this key."""


def _rounds(words, lanes=1):
    """The twenty rounds. A word is an integer of `lanes` lanes, 64 bits each, of which the lower 32 count."""
    x = list(words)
    ones = int.from_bytes(bytes([1, 0, 0, 0, 0, 0, 0, 0]) * lanes, "little")
    mask = 0xFFFFFFFF * ones
    for _ in range(10):
        for a, b, c, d in _COLUMNS_AND_DIAGONALS:
            for p, q, r, bits in ((a, b, d, 16), (c, d, b, 12), (a, b, d, 8), (c, d, b, 7)):
                x[p] = (x[p] + x[q]) & mask
                mixed = x[r] ^ x[p]
                x[r] = ((mixed << bits) & mask) | ((mixed >> (32 - bits)) & mask)
    return x, ones, mask


def hchacha20(key, nonce):
    """The key that the 32 bytes of `key` and the 16 of `nonce` make."""
    x, _, _ = _rounds(_CONSTANTS + struct.unpack("<8I", key) + struct.unpack("<4I", nonce))
    return struct.pack("<8I", *x[:4], *x[12:])


def _stream(key, counter, nonce, blocks):
    """`blocks` blocks of ChaCha20's key stream from block `counter` on, all computed at once, a lane each."""
    start = _CONSTANTS + struct.unpack("<8I", key) + (0,) + struct.unpack("<3I", nonce)
    ones = int.from_bytes(bytes([1, 0, 0, 0, 0, 0, 0, 0]) * blocks, "little")
    lanes = [word * ones for word in start]
    lanes[12] = int.from_bytes(struct.pack(f"<{blocks}Q", *range(counter, counter + blocks)), "little")
    mixed, _, mask = _rounds(lanes, blocks)
    words = [((a + b) & mask).to_bytes(8 * blocks, "little") for a, b in zip(mixed, lanes)]
    by_word = [struct.unpack(f"<{blocks}Q", word) for word in words]
    return b"".join(struct.pack("<16I", *block) for block in zip(*by_word))


def chacha20(key, counter, nonce, data):
    """`data` encrypted, or decrypted, under a nonce of 12 bytes."""
    stream = _stream(key, counter, nonce, len(data) // 64 + 1)[: len(data)]
    mixed = int.from_bytes(data, "little") ^ int.from_bytes(stream, "little")
    return mixed.to_bytes(len(data), "little")


def poly1305(key, data):
    """The tag of `data` under a key of 32 bytes that is used once."""
    r = int.from_bytes(key[:16], "little") & 0x0FFFFFFC0FFFFFFC0FFFFFFC0FFFFFFF
    total = 0
    for at in range(0, len(data), 16):
        total = (total + int.from_bytes(data[at : at + 16] + b"\x01", "little")) * r % ((1 << 130) - 5)
    return ((total + int.from_bytes(key[16:], "little")) & ((1 << 128) - 1)).to_bytes(16, "little")


def _tag(key, nonce, additional, sealed):
    def padded(data):
        return data + bytes(-len(data) % 16)

    lengths = struct.pack("<QQ", len(additional), len(sealed))
    once = chacha20(key, 0, nonce, bytes(32))
    return poly1305(once, padded(additional) + padded(sealed) + lengths)


def seal_under(subkey, tail, additional, text):
    """ChaCha20-Poly1305 under what `hchacha20` made; `tail` is the last 8 bytes of XChaCha20's nonce."""
    nonce = bytes(4) + tail
    sealed = chacha20(subkey, 1, nonce, text)
    return sealed + _tag(subkey, nonce, additional, sealed)


def open_under(subkey, tail, additional, sealed):
    """The text that `seal_under` sealed. Raises `NotAuthentic`."""
    nonce = bytes(4) + tail
    sealed, tag = sealed[:-TAG_BYTES], sealed[-TAG_BYTES:]
    if not hmac.compare_digest(tag, _tag(subkey, nonce, additional, sealed)):
        raise NotAuthentic
    return chacha20(subkey, 1, nonce, sealed)


def seal(key, nonce, additional, text):
    """XChaCha20-Poly1305 with a nonce of 24 bytes: what was sealed, then its tag."""
    return seal_under(hchacha20(key, nonce[:16]), nonce[16:], additional, text)


def open_sealed(key, nonce, additional, sealed):
    """The text that `seal` sealed. Raises `NotAuthentic`."""
    return open_under(hchacha20(key, nonce[:16]), nonce[16:], additional, sealed)
