//! One channel: its banks, its bus, and the writes that wait for an idle bus.
//!
//! Reads go first. A write waits in a bounded queue until the bus is idle long enough to turn,
//! write and turn back; a full queue writes a batch at once. The batch pays for both turns.
//!
//! ```text
//!   bus   R R . . . . . R R R W W W W W W W . R      R read   W written batch   . idle
//!               └ a write fits, and its two turns
//! ```
//!
//! Decisions are made by reservation when a request arrives: slots before the earliest one that a
//! later request could take are settled, and waiting writes get those still idle.

use super::bank::{Bank, RowState};
use super::place::Place;
use super::refresh::Refresh;
use super::timing::Timing;
use super::write_queue::{Waiting, WriteQueue};
use crate::calendar::Calendar;
use crate::config::DramConfig;
use crate::counters::DramCounters;

pub(super) struct Channel {
    banks: Banks,
    bus: Calendar,
    queue: WriteQueue,
    batch: u32,
    /// The number of waiting writes from which on they use the idle bus.
    idle_least: usize,
    /// The first slot that is not settled.
    settled: u64,
    /// The earliest time at which waiting writes may be able to use the idle bus.
    due_ps: u64,
    /// The first taken slot from `settled` on, if the bus is known to be idle until then:
    /// [`u64::MAX`] if none is taken yet, 0 if that is unknown.
    busy: u64,
    /// Reservations of slots before this one change when writes are due.
    watched: u64,
    room_ps: u64,
}

struct Banks {
    banks: Box<[Bank]>,
    refreshes: Box<[Refresh]>,
    /// Bits of a bank's number within its rank.
    rank_shift: u32,
}

impl Banks {
    /// Accesses a bank at `at_ps`; returns when the bank is done with the block.
    #[inline(always)]
    fn access(&mut self, at_ps: u64, place: Place, timing: &Timing, counters: &mut DramCounters) -> u64 {
        let bank = &mut self.banks[place.bank as usize];
        let refresh = &mut self.refreshes[(place.bank >> self.rank_shift) as usize];
        let from_ps = refresh.after(bank.free_ps(at_ps), timing);
        let (ready_ps, state) = bank.access(from_ps, place.row, refresh.count(), timing);
        *match state {
            RowState::Hit => &mut counters.row_hits,
            RowState::Closed => &mut counters.row_closed,
            RowState::Conflict => &mut counters.row_conflicts,
        } += 1;
        ready_ps
    }
}

impl Channel {
    pub(super) fn new(config: &DramConfig, timing: &Timing, channel: u32) -> Self {
        let ranks = config.channels * config.ranks;
        // The machine's ranks refresh in turn, so that rarely two channels are blocked at a time.
        let first_ps =
            |rank| timing.refresh_interval_ps * u64::from(rank * config.channels + channel + 1) / u64::from(ranks);
        Self {
            banks: Banks {
                banks: std::iter::repeat_with(Bank::new).take((config.ranks * config.banks) as usize).collect(),
                refreshes: (0..config.ranks).map(|rank| Refresh::new(first_ps(rank), timing)).collect(),
                rank_shift: config.banks.trailing_zeros(),
            },
            bus: Calendar::new(timing.burst_ps),
            queue: WriteQueue::new(config.write_queue),
            batch: config.write_batch,
            idle_least: config.idle_writes_least as usize,
            settled: 0,
            due_ps: u64::MAX,
            busy: 0,
            watched: 0,
            room_ps: 0,
        }
    }

    #[inline(always)]
    pub(super) fn read(&mut self, at_ps: u64, place: Place, timing: &Timing, counters: &mut DramCounters) -> u64 {
        self.use_idle_bus(at_ps, timing, counters);
        counters.reads += 1;
        let ready_ps = self.banks.access(at_ps, place, timing, counters);
        let transfer_ps = ready_ps.saturating_sub(timing.burst_ps).max(at_ps);
        let slot = self.bus.take_first(self.bus.slot_at(transfer_ps));
        if slot < self.watched {
            self.note_taken(slot, timing);
        }
        transfer_ps.max(self.bus.start_ps(slot)) + timing.burst_ps
    }

    /// Queues the write; returns when there is room for it.
    #[inline(always)]
    pub(super) fn write(&mut self, at_ps: u64, place: Place, timing: &Timing, counters: &mut DramCounters) -> u64 {
        self.use_idle_bus(at_ps, timing, counters);
        if self.queue.is_full() {
            self.write_batch(at_ps, timing, counters);
        }
        counters.writes += 1;
        self.queue.push(Waiting { place, at_ps });
        if self.watched > 0 || self.queue.len() <= self.idle_least.max(2) {
            self.note_due(timing);
        }
        self.room_ps.max(at_ps)
    }

    #[inline(always)]
    fn use_idle_bus(&mut self, now_ps: u64, timing: &Timing, counters: &mut DramCounters) {
        if now_ps >= self.due_ps {
            self.settle(now_ps, timing, counters);
        }
    }

    /// Notes when writes are due next. Before that there are too few slots: an ended run needs room
    /// for a write, an open one for all.
    #[inline(always)]
    fn note_due(&mut self, timing: &Timing) {
        let waiting = self.queue.len();
        (self.due_ps, self.watched) = (u64::MAX, 0);
        if waiting == 0 || waiting < self.idle_least {
            return;
        }
        if timing.burst_ps == 0 {
            self.due_ps = 0;
            return;
        }
        let frontier = if self.busy == 0 {
            // Requests only take slots: no run comes before the first of now.
            let start = self.bus.run_not_before(self.settled, timing.turn_slots + 1);
            start + timing.turn_slots + waiting.min(2) as u64
        } else {
            // More writes may come until then.
            let after_turns = self.settled + timing.turn_slots;
            self.watched = self.busy.min(after_turns + self.queue.room() as u64);
            self.busy.saturating_add(1).min(after_turns + waiting as u64)
        };
        self.due_ps = (self.bus.start_ps(frontier) + timing.burst_ps).saturating_sub(timing.hit_ps);
    }

    /// A read takes a slot in an open idle run.
    #[inline(never)]
    fn note_taken(&mut self, slot: u64, timing: &Timing) {
        if slot < self.settled {
            return;
        }
        self.busy = self.busy.min(slot);
        self.skip_short_run(timing);
        self.note_due(timing);
    }

    /// Settles an idle run that ends without room for a write.
    #[inline(always)]
    fn skip_short_run(&mut self, timing: &Timing) {
        if self.busy <= self.settled + timing.turn_slots {
            (self.settled, self.busy) = (self.busy + 1, 0);
        }
    }

    /// Settles the slots that no later request can take, and writes in the idle ones.
    #[inline(never)]
    fn settle(&mut self, now_ps: u64, timing: &Timing, counters: &mut DramCounters) {
        if timing.burst_ps == 0 {
            return self.write_all(now_ps, timing, counters);
        }
        // A request that arrives now takes no slot before this one.
        let frontier = self.bus.slot_at((now_ps + timing.hit_ps).saturating_sub(timing.burst_ps));
        self.settle_until(frontier, timing, counters);
        self.note_due(timing);
    }

    #[inline(always)]
    fn settle_until(&mut self, frontier: u64, timing: &Timing, counters: &mut DramCounters) {
        let Some(first) = self.queue.first() else { return };
        self.busy = 0;
        self.settled = self.settled.max(self.bus.slot_at(first.at_ps) + 1);
        while self.queue.len() > 0 {
            let Some(idle) = self.bus.free_run(self.settled, frontier) else { break };
            let writes = (idle.end - idle.start).saturating_sub(timing.turn_slots);
            // The last idle run may still grow: it is used once it ends or has room for all writes.
            if idle.end == frontier && writes < self.queue.len() as u64 {
                self.settled = idle.start;
                let most = idle.start + timing.turn_slots + self.queue.room() as u64;
                self.busy = self.bus.next_taken(frontier, most).unwrap_or(u64::MAX);
                return self.skip_short_run(timing);
            }
            if writes > 0 {
                counters.turnarounds += 2;
                self.write_in(idle.start + timing.turn_slots / 2, writes, timing, counters);
            }
            self.settled = idle.end;
        }
        self.settled = self.settled.max(frontier);
    }

    #[inline(never)]
    fn write_in(&mut self, slot: u64, writes: u64, timing: &Timing, counters: &mut DramCounters) {
        let mut start_ps = self.bus.start_ps(slot);
        let writes = writes.min(self.queue.len() as u64);
        self.bus.take_run(slot, writes);
        for part in self.queue.pop_up_to(writes) {
            for waiting in part {
                self.banks.access(start_ps, waiting.place, timing, counters);
                start_ps += timing.burst_ps;
            }
        }
    }

    /// Makes room in a full queue; later reads wait for the batch.
    #[inline(never)]
    fn write_batch(&mut self, now_ps: u64, timing: &Timing, counters: &mut DramCounters) {
        counters.turnarounds += 2;
        counters.full_batches += 1;
        self.busy = 0;
        // No write uses a slot before its arrival.
        self.settled =
            self.queue.first().map_or(self.settled, |first| self.settled.max(self.bus.slot_at(first.at_ps) + 1));
        // No slot before the last one taken is free.
        let mut from = self.bus.slot_at(now_ps);
        for _ in 0..timing.turn_slots {
            from = self.bus.take_first(from);
        }
        let mut is_first = true;
        for part in self.queue.pop_up_to(self.batch.into()) {
            for waiting in part {
                from = if timing.burst_ps == 0 { from } else { self.bus.take_first(from) };
                let start_ps = now_ps.max(self.bus.start_ps(from));
                if is_first {
                    (self.room_ps, is_first) = (start_ps, false);
                }
                self.banks.access(start_ps, waiting.place, timing, counters);
            }
        }
        self.note_due(timing);
    }

    /// Without transfer time writes need not wait.
    fn write_all(&mut self, now_ps: u64, timing: &Timing, counters: &mut DramCounters) {
        while let Some(first) = self.queue.pop() {
            self.banks.access(now_ps, first.place, timing, counters);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dram::tests::config;

    struct Bench {
        timing: Timing,
        channel: Channel,
        counters: DramCounters,
    }

    impl Bench {
        fn new(config: &DramConfig) -> Self {
            let timing = Timing::new(config);
            Self { channel: Channel::new(config, &timing, 0), timing, counters: DramCounters::default() }
        }

        fn read(&mut self, at_ps: u64, bank: u32) -> u64 {
            self.channel.read(at_ps, Place { bank, row: 1 }, &self.timing, &mut self.counters)
        }

        fn write(&mut self, at_ps: u64, bank: u32) -> u64 {
            self.channel.write(at_ps, Place { bank, row: 1 }, &self.timing, &mut self.counters)
        }
    }

    #[test]
    fn writes_wait_for_an_idle_bus_and_cost_a_read_nothing() {
        let mut bench = Bench::new(&config());
        for bank in 0..5 {
            assert_eq!(bench.write(0, bank), 0, "there is room");
        }
        assert_eq!(bench.read(1_000_000, 9), 1_045_000);
        assert_eq!(bench.channel.queue.len(), 0);
        assert_eq!((bench.counters.row_closed, bench.counters.full_batches), (6, 0));
    }

    #[test]
    fn writes_that_are_too_few_leave_the_bus_idle() {
        let mut bench = Bench::new(&DramConfig { idle_writes_least: 5, ..config() });
        for bank in 0..4 {
            bench.write(0, bank);
        }
        bench.read(1_000_000, 9);
        assert_eq!((bench.channel.queue.len(), bench.counters.row_closed), (4, 1));
        bench.write(1_000_000, 4);
        bench.read(2_000_000, 9);
        assert_eq!((bench.channel.queue.len(), bench.counters.full_batches), (0, 0));
    }

    #[test]
    fn a_write_is_not_done_before_it_arrived() {
        let mut bench = Bench::new(&DramConfig { row_idle_ns: Some(100.0), ..config() });
        bench.write(10_000_000, 0);
        // Its row is still open: a write in the earlier idle time would have closed it long ago.
        assert_eq!(bench.read(10_060_000, 0), 10_091_000);
        assert_eq!(bench.counters.row_hits, 1);
    }

    #[test]
    fn a_slot_taken_by_a_write_is_not_given_to_an_earlier_read() {
        let config = DramConfig { hit_ns: 0.0, closed_ns: 0.0, conflict_ns: 0.0, turnaround_ns: 0.0, ..config() };
        let mut bench = Bench::new(&config);
        let burst_ps = bench.timing.burst_ps;
        bench.write(0, 0);
        bench.read(20 * burst_ps, 1);
        assert_eq!(bench.read(burst_ps, 2), 3 * burst_ps);
    }

    #[test]
    fn a_short_idle_run_that_has_ended_is_used() {
        let config = DramConfig { hit_ns: 0.0, closed_ns: 0.0, conflict_ns: 0.0, turnaround_ns: 0.0, ..config() };
        let mut bench = Bench::new(&config);
        let burst_ps = bench.timing.burst_ps;
        (0..5).for_each(|bank| assert_eq!(bench.write(0, bank), 0, "there is room"));
        bench.read(3 * burst_ps, 9);
        bench.read(5 * burst_ps, 10);
        // Slots 1 and 2, before the first read.
        assert_eq!(bench.channel.queue.len(), 3);
    }

    #[test]
    fn a_full_queue_is_written_before_later_reads() {
        let mut bench = Bench::new(&config());
        let burst_ps = bench.timing.burst_ps;
        // Reads of all banks at once keep the bus busy while the queue fills.
        let before_ps = (0..64).map(|read| bench.read(0, read % 32)).max();
        let (mut room_ps, mut banks) = (0, (0..32).cycle());
        while bench.counters.full_batches == 0 {
            assert_eq!(room_ps, 0, "there is room");
            room_ps = bench.write(0, banks.next().unwrap_or(0));
        }
        assert_eq!(bench.channel.queue.len(), 48 - 16 + 1);
        assert!(room_ps > 0, "the last write waited");
        let behind_ps = (0..32).map(|bank| bench.read(0, bank)).min();
        assert!(behind_ps >= before_ps.map(|ps| ps + 10 * burst_ps), "{behind_ps:?} after {before_ps:?}");
    }
}
