"""The algorithms against published vectors."""

import unittest

from nebula_reference import xchacha
from nebula_reference.crc32c import crc32c
from nebula_reference.keyfile import Key
from nebula_reference.siphash import siphash24

KEY = bytes(range(32))
SUNSCREEN = (
    b"Ladies and Gentlemen of the class of '99: If I could offer you only one tip for the future, "
    b"sunscreen would be it."
)


class Crc32c(unittest.TestCase):
    """RFC 3720, B.4, and the check value of the catalogs."""

    def test_published_values(self):
        ascending = bytes(range(32))
        for data, crc in (
            (b"123456789", 0xE3069283),
            (bytes(32), 0x8A9136AA),
            (b"\xff" * 32, 0x62A8AB43),
            (ascending, 0x46DD794E),
            (ascending[::-1], 0x113FDB5C),
        ):
            self.assertEqual(crc32c(data), crc, data)

    def test_it_goes_on_from_what_stood_before(self):
        self.assertEqual(crc32c(b"56789", crc32c(b"1234")), 0xE3069283)


class SipHash(unittest.TestCase):
    """The vectors of the reference implementation: messages 00, 00 01, … under the key 00 … 0f."""

    def test_published_values(self):
        for length, digest in (
            (0, "310e0edd47db6f72"),
            (1, "fd67dc93c539f874"),
            (2, "5a4fa9d909806c0d"),
            (15, "e545be4961ca29a1"),
        ):
            found = siphash24(bytes(range(16)), bytes(range(length)))
            self.assertEqual(found.to_bytes(8, "little").hex(), digest, length)

    def test_a_keys_tag_is_the_lower_half_word(self):
        octets = bytes(range(16)) + bytes(range(16))
        self.assertEqual(Key("", octets).tag, siphash24(octets[:16], octets[:16]) & 0xFFFF)


class ChaCha(unittest.TestCase):
    """RFC 8439 and draft-irtf-cfrg-xchacha-03."""

    def test_chacha20_of_rfc_8439_section_2_4_2(self):
        sealed = (
            "6e2e359a2568f98041ba0728dd0d6981e97e7aec1d4360c20a27afccfd9fae0b"
            "f91b65c5524733ab8f593dabcd62b3571639d624e65152ab8f530c359f0861d8"
            "07ca0dbf500d6a6156a38e088a22b65e52bc514d16ccf806818ce91ab7793736"
            "5af90bbf74a35be6b40b8eedf2785e42874d"
        )
        nonce = bytes.fromhex("000000000000004a00000000")
        self.assertEqual(xchacha.chacha20(KEY, 1, nonce, SUNSCREEN).hex(), sealed)

    def test_poly1305_of_rfc_8439_section_2_5_2(self):
        key = bytes.fromhex("85d6be7857556d337f4452fe42d506a80103808afb0db2fd4abff6af4149f51b")
        tag = xchacha.poly1305(key, b"Cryptographic Forum Research Group")
        self.assertEqual(tag.hex(), "a8061dc1305136c6c22b8baf0c0127a9")

    def test_hchacha20_of_the_draft_section_2_2_1(self):
        nonce = bytes.fromhex("000000090000004a0000000031415927")
        subkey = "82413b4227b27bfed30e42508a877d73a0f9e4d58a74a853c12ec41326d3ecdc"
        self.assertEqual(xchacha.hchacha20(KEY, nonce).hex(), subkey)

    def test_xchacha20_poly1305_of_the_draft_section_a_3_1(self):
        key, nonce = bytes(range(0x80, 0xA0)), bytes(range(0x40, 0x58))
        additional = bytes.fromhex("50515253c0c1c2c3c4c5c6c7")
        sealed = (
            "bd6d179d3e83d43b9576579493c0e939572a1700252bfaccbed2902c21396cbb"
            "731c7f1b0b4aa6440bf3a82f4eda7e39ae64c6708c54c216cb96b72e1213b452"
            "2f8c9ba40db5d945b11b69b982c1bb9e3f3fac2bc369488f76b2383565d3fff9"
            "21f9664c97637da9768812f615c68b13b52e"
            "c0875924c1c7987947deafd8780acf49"
        )
        self.assertEqual(xchacha.seal(key, nonce, additional, SUNSCREEN).hex(), sealed)
        self.assertEqual(xchacha.open_sealed(key, nonce, additional, bytes.fromhex(sealed)), SUNSCREEN)

    def test_a_changed_bit_is_not_authentic(self):
        nonce = bytes(24)
        sealed = xchacha.seal(KEY, nonce, b"header", b"text")
        for at in range(len(sealed)):
            changed = sealed[:at] + bytes([sealed[at] ^ 1]) + sealed[at + 1 :]
            with self.assertRaises(xchacha.NotAuthentic):
                xchacha.open_sealed(KEY, nonce, b"header", changed)
        with self.assertRaises(xchacha.NotAuthentic):
            xchacha.open_sealed(KEY, nonce, b"Header", sealed)


if __name__ == "__main__":
    unittest.main()
