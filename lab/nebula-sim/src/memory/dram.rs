//! DRAM: channels of banks, and the end time of each access.
//!
//! A channel is one FIFO with many equal servers: an access begins when it arrives or when the
//! first bank is free, whichever is later, so its end is known at once and needs no event. The only
//! state is *when banks become free* (Kiefer and Wolfowitz). Accesses begin in order and take one
//! of two times, so the ends of row hits come sorted, and those of row misses as well: two FIFOs
//! hold all banks, and the first free bank is at one of their heads.
//!
//! ```text
//!   hits    41 43 58 60 75 ← now + 39     first free: the smaller head, 41
//!   misses  44 79 ← now + 77              as many entries in both as there are banks
//! ```

use super::bounds::BLOCK_BYTES;
use super::chance::Chance;
use super::model::MemoryModel;
use super::series::Series;
use nebula_nic::{Span, Timestamp};
use nebula_workload::{Rng, Seed};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Access {
    pub(super) began: Timestamp,
    pub(super) done: Timestamp,
}

#[derive(Clone, Debug)]
pub(super) struct Dram {
    channels: Box<[Channel]>,
    row_hit: Chance,
    row_ps: [u64; 2],
    /// Random numbers: the high half chooses the channel, the low half row hit or row miss.
    rng: Rng,
    moved: Series,
}

impl Dram {
    pub(super) fn new(model: &MemoryModel, moved: Series, seed: Seed) -> Self {
        let channels = (0..model.channels).map(|_| Channel::new(model.banks_per_channel)).collect();
        let row_ps = [model.row_hit_ns, model.row_miss_ns].map(|ns| Span::from_ns(ns).as_ps());
        Self { channels, row_hit: Chance::of(model.row_hits.share()), row_ps, rng: seed.stream("dram"), moved }
    }

    /// Makes an access that arrives at `now`; calls are in the order of time.
    #[inline]
    pub(super) fn access(&mut self, now: Timestamp) -> Access {
        let bits = self.rng.next_u64();
        let row = if self.row_hit.happens(bits) { Row::Open } else { Row::Closed };
        let channel = self.pick(bits >> 32);
        let access = self.channels[channel].access(now, row, self.row_ps[row as usize]);
        self.moved.add(access.done, BLOCK_BYTES);
        access
    }

    pub(super) fn into_moved(self) -> Series {
        self.moved
    }

    /// A choice by 32 random bits, uniform to one part in 2³² / channels.
    #[inline]
    fn pick(&self, bits: u64) -> usize {
        ((bits * self.channels.len() as u64) >> 32) as usize
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Row {
    Open,
    Closed,
}

/// The mark after the last entry of a FIFO of free times.
const NEVER_PS: u64 = u64::MAX;

/// When the banks of one channel become free.
#[derive(Clone, Debug)]
struct Channel {
    /// For each kind of row a ring of times, with [`NEVER_PS`] after its last one.
    free_ps: [Box<[u64]>; 2],
    heads: [usize; 2],
    tails: [usize; 2],
}

impl Channel {
    fn new(banks: u32) -> Self {
        let banks = banks as usize;
        let places = (banks + 1).next_power_of_two();
        let ring = |entries| (0..places).map(|place| if place < entries { 0 } else { NEVER_PS }).collect();
        Self { free_ps: [ring(banks), ring(0)], heads: [0, 0], tails: [banks, 0] }
    }

    #[inline]
    fn access(&mut self, now: Timestamp, row: Row, takes_ps: u64) -> Access {
        let began_ps = self.pop().max(now.as_ps());
        let done_ps = began_ps + takes_ps;
        self.push(row as usize, done_ps);
        Access { began: Timestamp::from_ps(began_ps), done: Timestamp::from_ps(done_ps) }
    }

    /// Takes the bank that is free first; returns when that is.
    #[inline]
    fn pop(&mut self) -> u64 {
        let [hit_ps, miss_ps] = [self.head(0), self.head(1)];
        // Arithmetic instead of a branch: which head is smaller is unpredictable.
        self.heads[0] += usize::from(hit_ps <= miss_ps);
        self.heads[1] += usize::from(hit_ps > miss_ps);
        hit_ps.min(miss_ps)
    }

    #[inline]
    fn head(&self, row: usize) -> u64 {
        let ring = &self.free_ps[row];
        ring[self.heads[row] & (ring.len() - 1)]
    }

    #[inline]
    fn push(&mut self, row: usize, free_ps: u64) {
        let (ring, tail) = (&mut self.free_ps[row], &mut self.tails[row]);
        let last = ring.len() - 1;
        ring[*tail & last] = free_ps;
        *tail += 1;
        ring[*tail & last] = NEVER_PS;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::Odds;

    /// The naive model: a linear search over a list of banks.
    struct Naive {
        free_ps: Vec<u64>,
    }

    impl Naive {
        fn access(&mut self, now_ps: u64, takes_ps: u64) -> Access {
            let bank = self.free_ps.iter_mut().min().unwrap();
            let began_ps = now_ps.max(*bank);
            *bank = began_ps + takes_ps;
            Access { began: Timestamp::from_ps(began_ps), done: Timestamp::from_ps(*bank) }
        }
    }

    #[test]
    fn two_fifos_of_banks_are_a_search_among_banks() {
        let mut rng = Seed(3).stream("naive");
        for (banks, row_ps, gap_ps) in [
            (1, [39, 77], 50),
            (2, [39, 77], 20),
            (7, [77, 39], 8),
            (24, [39, 77], 2),
            (31, [5, 5], 0),
            (33, [39, 1000], 9),
        ] {
            let mut channel = Channel::new(banks);
            let mut naive = Naive { free_ps: vec![0; banks as usize] };
            let mut now_ps = 0;
            for _ in 0..20_000 {
                now_ps += rng.below(2 * gap_ps + 1);
                let row = if rng.below(4) < 3 { Row::Open } else { Row::Closed };
                let takes_ps = row_ps[row as usize];
                let expected = naive.access(now_ps, takes_ps);
                assert_eq!(channel.access(Timestamp::from_ps(now_ps), row, takes_ps), expected, "{banks} banks");
            }
        }
    }

    #[test]
    fn an_access_to_idle_banks_takes_exactly_its_row_time() {
        let mut channel = Channel::new(2);
        let at = Timestamp::from_ps;
        assert_eq!(channel.access(at(100), Row::Open, 39), Access { began: at(100), done: at(139) });
        assert_eq!(channel.access(at(100), Row::Closed, 77), Access { began: at(100), done: at(177) });
        assert_eq!(channel.access(at(138), Row::Open, 39).began, at(139), "no bank is free before the first ends");
        assert_eq!(channel.access(at(177), Row::Open, 39).began, at(177), "a bank is free when its access ends");
    }

    /// One bank with Poisson accesses is M/D/1: the mean wait is ρ/(2(1 − ρ)) times the row time.
    #[test]
    #[expect(clippy::cast_possible_truncation, reason = "meant to be cut to whole picoseconds")]
    fn one_bank_waits_as_in_m_d_1() {
        let row_hits = Odds { numerator: 1, denominator: 1 };
        let model = MemoryModel { channels: 1, banks_per_channel: 1, row_hits, ..MemoryModel::default() };
        let row_ps = 39_000.0;
        for utilization in [0.3, 0.6, 0.8] {
            let mut dram = Dram::new(&model, Series::new(Span::from_secs(1)), Seed(8));
            let mut rng = Seed(8).stream("poisson");
            let (mut at_ps, mut waited_ps, accesses) = (0.0, 0.0, 400_000);
            for _ in 0..accesses {
                at_ps += rng.exponential() * row_ps / utilization;
                let now = Timestamp::from_ps(at_ps as u64);
                waited_ps += (dram.access(now).began - now).as_ps() as f64;
            }
            let expected = utilization / (2.0 * (1.0 - utilization));
            let waited = waited_ps / f64::from(accesses) / row_ps;
            assert!((waited / expected - 1.0).abs() < 0.03, "{utilization}: {waited} and not {expected}");
        }
    }

    #[test]
    fn accesses_without_a_pause_move_a_block_a_bank_and_mean_access_time() {
        let model = MemoryModel::default();
        let mut dram = Dram::new(&model, Series::new(Span::from_ms(2)), Seed(1));
        let accesses = 2_000_000;
        let done = (0..accesses).map(|_| dram.access(Timestamp::ZERO).done).max().unwrap();
        let window = [Timestamp::ZERO, Timestamp::from_ps(done.as_ps() / 100 * 95)];
        let gb_per_s = dram.into_moved().bytes_per_s(window[0], window[1]) / 1e9;
        assert!((gb_per_s / model.dram_gb_per_s_max() - 1.0).abs() < 0.01, "{gb_per_s}");
    }
}
