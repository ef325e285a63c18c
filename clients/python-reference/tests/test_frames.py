"""Frames, messages and the server's time."""

import unittest

from nebula_reference import frame, keyfile, messages
from nebula_reference.clock import SECOND, ServerClock

HEADER = frame.Header(frame.OF_CLIENT, 0x1122334455667788, 7, 1232, 0xAABBCCDD00112233)


def opened(seal, datagram, secret=0):
    header, body = frame.decode(datagram)
    return header, seal.open(datagram, header, body, secret)


class Frames(unittest.TestCase):
    def test_a_plain_frame_comes_back_and_any_changed_byte_is_noticed(self):
        datagram = frame.Plain().encode(HEADER, b"messages", secret=5)
        self.assertEqual(opened(frame.Plain(), datagram, 5), (HEADER, b"messages"))
        for at in range(len(datagram)):
            changed = datagram[:at] + bytes([datagram[at] ^ 8]) + datagram[at + 1 :]
            with self.assertRaises(frame.NotTaken, msg=at):
                opened(frame.Plain(), changed, 5)
        with self.assertRaises(frame.NotTaken):
            opened(frame.Plain(), datagram, 6)

    def test_a_sealed_frame_comes_back_under_any_key_of_the_file(self):
        first, second = keyfile.parse(f"{'01' * 32}\n{'02' * 32}\n")
        datagram = frame.Sealed([second]).encode(HEADER, b"messages")
        self.assertEqual(len(datagram), 32 + 24 + 8 + 16)
        header, body = opened(frame.Sealed([first, second]), datagram)
        self.assertEqual((header.snid, header.key_tag, body), (7, second.tag, b"messages"))
        with self.assertRaises(frame.NotTaken):
            opened(frame.Sealed([first]), datagram)

    def test_no_two_frames_have_one_nonce(self):
        keys = keyfile.parse("01" * 32)
        seals = [frame.Sealed(keys), frame.Sealed(keys)]
        nonces = {seal.encode(HEADER, b"")[32:56] for seal in seals for _ in range(3)}
        self.assertEqual(len(nonces), 6)


class Messages(unittest.TestCase):
    def test_messages_are_read_up_to_the_padding(self):
        pull, cancel = messages.encode_pull(9, 3, 5), messages.encode_cancel(10, 1 << 40)
        read = list(messages.decode_all(pull + cancel + bytes(33)))
        self.assertEqual([(message.kind, message.tid, message.word) for message in read], [(6, 9, 5), (7, 10, 1 << 40)])

    def test_a_message_that_is_cut_short_is_the_last(self):
        request = messages.encode_request(1, 4, 0, True, 2, 3, 4, b"abcd")
        self.assertEqual(len(request), messages.REQUEST_BYTES + 4)
        self.assertEqual(len(list(messages.decode_all(request + request[:-1]))), 1)


class Time(unittest.TestCase):
    def test_it_is_the_largest_difference_of_the_last_one_to_two_seconds(self):
        clock = ServerClock()
        clock.hear(0, 100)
        clock.hear(10, 60)
        self.assertEqual(clock.at(10), 110)
        clock.hear(SECOND, SECOND + 50)
        self.assertEqual(clock.at(SECOND), SECOND + 100)
        clock.hear(2 * SECOND, 2 * SECOND + 50)
        self.assertEqual(clock.at(2 * SECOND), 2 * SECOND + 50)

    def test_a_frame_of_ten_seconds_ago_is_old(self):
        clock = ServerClock()
        clock.hear(0, 100 * SECOND)
        self.assertFalse(clock.is_old(0, 90 * SECOND))
        self.assertTrue(clock.is_old(0, 90 * SECOND - 1))


if __name__ == "__main__":
    unittest.main()
