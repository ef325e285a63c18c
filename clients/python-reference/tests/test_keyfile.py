"""The rules of the key file."""

import os
import tempfile
import unittest

from nebula_reference import keyfile
from nebula_reference.keyfile import KeyFileError

A, B = "aA" * 32, "0b" * 32


class Text(unittest.TestCase):
    def test_names_comments_and_empty_lines(self):
        keys = keyfile.parse(f"# all of them\n\nann {A} # a comment\n  {B}\n")
        self.assertEqual([key.name for key in keys], ["ann", ""])
        self.assertEqual([key.octets.hex() for key in keys], [A.lower(), B])

    def test_what_is_no_line_of_it_is_an_error(self):
        for text in (
            f"{A[:-1]}\n",
            f"{A}0\n",
            f"{A[:-1]}g\n",
            f"a/b {A}\n",
            f"{'a' * 65} {A}\n",
            f"ann bob {A}\n",
            f"ann {A}\nbob {A.lower()}\n",
            "# no key\n",
        ):
            with self.assertRaises(KeyFileError, msg=text):
                keyfile.parse(text)

    def test_no_more_than_a_thousand_and_twenty_four(self):
        lines = [f"{number:064x}\n" for number in range(1025)]
        self.assertEqual(len(keyfile.parse("".join(lines[:1024]))), 1024)
        with self.assertRaises(KeyFileError):
            keyfile.parse("".join(lines))


class File(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = os.path.join(folder.name, "kv.key")

    def write(self, text, mode=0o600):
        with open(self.path, "w") as file:
            file.write(text)
        os.chmod(self.path, mode)

    def test_only_its_owner_may_read_it(self):
        self.write(f"ann {A}\n")
        self.assertEqual(keyfile.read(self.path)[0].name, "ann")
        for mode in (0o640, 0o604):
            self.write(f"ann {A}\n", mode)
            with self.assertRaises(KeyFileError, msg=oct(mode)):
                keyfile.read(self.path)

    def test_it_is_not_longer_than_256_kib(self):
        self.write(f"{A}\n" + "#" * keyfile.FILE_BYTES_MAX)
        with self.assertRaises(KeyFileError):
            keyfile.read(self.path)


if __name__ == "__main__":
    unittest.main()
