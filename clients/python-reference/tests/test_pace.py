"""Round trip and window, as the page describes them."""

import unittest

from nebula_reference.pace import MICRO, MILLI, RoundTrip, Window


class Timeouts(unittest.TestCase):
    def test_they_double_and_have_bounds(self):
        trip = RoundTrip()
        self.assertEqual(trip.timeout(), MILLI)
        trip.sample(200 * MICRO)
        self.assertEqual(trip.timeout(), 600 * MICRO)
        self.assertEqual(trip.timeout(2), 2400 * MICRO)
        self.assertEqual(trip.timeout(11), 1000 * MILLI)
        for _ in range(200):
            trip.sample(1)
        self.assertEqual(trip.timeout(), 100 * MICRO)

    def test_all_double_until_there_is_a_sample(self):
        trip = RoundTrip()
        trip.sample(200 * MICRO)
        trip.handle_timeout(sent_at=10, now=20)
        trip.handle_timeout(sent_at=15, now=30)
        self.assertEqual(trip.timeout(), 1200 * MICRO)
        trip.sample(200 * MICRO)
        self.assertEqual(trip.timeout(), 500 * MICRO)


class Windows(unittest.TestCase):
    def setUp(self):
        self.trip = RoundTrip()
        self.trip.sample(100 * MICRO)
        self.window = Window(self.trip)

    def answer_a_window(self):
        for left in range(int(self.window.packets), 0, -1):
            self.window.handle_answered(int(self.window.packets))

    def test_it_doubles_and_after_a_refusal_grows_by_one_a_round_trip(self):
        self.answer_a_window()
        self.assertEqual(self.window.packets, 128)
        self.window.handle_refused(now=50, sent_at=10)
        self.window.handle_refused(now=60, sent_at=49)
        self.assertAlmostEqual(self.window.packets, 89.6)
        self.answer_a_window()
        self.assertAlmostEqual(self.window.packets, 90.6, delta=0.1)

    def test_a_window_that_is_not_used_does_not_grow(self):
        for _ in range(100):
            self.window.handle_answered(31)
        self.assertEqual(self.window.packets, 64)

    def test_refusals_leave_a_sixteenth_of_a_packet_and_sixteen_round_trips_between_packets(self):
        for now in range(1, 40):
            self.window.handle_refused(now, now)
        self.assertEqual(self.window.packets, 1 / 16)
        self.window.handle_sent(1000)
        self.assertFalse(self.window.has_room(1000 + 1600 * MICRO - 1, 0))
        self.assertTrue(self.window.has_room(1000 + 1600 * MICRO, 0))
        self.assertFalse(self.window.has_room(1000 + 1600 * MICRO, 1))

    def test_losses_take_their_share_and_few_losses_nothing(self):
        for lost in range(7):
            self.window.handle_lost(lost)
        for _ in range(57):
            self.window.handle_answered(0)
        self.assertEqual(self.window.packets, 64)
        self.window.handle_lost(8)
        self.assertAlmostEqual(self.window.packets, 64 * (1 - 8 / 65))

    def test_silence_leaves_two_and_half_is_won_back_quickly(self):
        self.window.handle_silence()
        self.assertEqual(self.window.packets, 2)
        for expected in (4, 8, 16, 32):
            self.answer_a_window()
            self.assertEqual(self.window.packets, expected)
        self.answer_a_window()
        self.assertAlmostEqual(self.window.packets, 33, delta=0.1)


if __name__ == "__main__":
    unittest.main()
