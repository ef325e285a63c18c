//! The layout of the status page. See `docs/PROTOCOL.md`.
//!
//! ```text
//!   first engine │ gaps │ further engines │ pool and store │ worker 0 │ worker 1 │ …
//!     64 words     8192      64 each            32            2112 each
//! ```

use super::counters::Status;
use super::histogram::BUCKETS;
use crate::config::server::ServerConfig;
use nebula_nic::Span;

pub(super) const GAPS: usize = 4096;
/// The word of the first engine that counts the gaps.
pub(super) const GAPS_WORD: usize = 20;
/// The word of an engine that says whether it sleeps.
pub(super) const ASLEEP_WORD: usize = 49;
const ENGINE_WORDS: usize = 64;
pub(super) const POOL_WORDS: usize = 16;
const SHARED_WORDS: usize = 2 * POOL_WORDS;
const SUM_WORDS: usize = 16;
pub(super) const SAMPLE_WORDS: usize = 8;
/// Samples of a worker: the latest, then the slow ones.
pub(super) const SAMPLES: usize = LATEST + SLOW;
pub(super) const LATEST: usize = 32;
pub(super) const SLOW: usize = 32;
pub(super) const WORKER_WORDS: usize = SUM_WORDS + Kind::COUNT * BUCKETS + SAMPLES * SAMPLE_WORDS;
/// A reader of another revision reads nothing.
const REVISION: u64 = 1;

#[derive(Clone, Copy)]
pub(super) enum Sum {
    Served,
    /// Time to serve them, estimated from the samples.
    BusyPs,
    Sampled,
    Engine,
    /// Samples of slow RPCs written.
    Slow,
    /// Sums of the samples, in the order of [`Kind`].
    Latency,
    Waiting,
    Service,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Latency,
    Waiting,
    Service,
}

impl Kind {
    const COUNT: usize = 3;

    pub(super) const fn sum(self) -> Sum {
        match self {
            Self::Latency => Sum::Latency,
            Self::Waiting => Sum::Waiting,
            Self::Service => Sum::Service,
        }
    }
}

/// A value in a word of the status page.
pub(super) trait Counted {
    fn to_word(&self) -> u64;

    fn set(&mut self, word: u64);
}

impl Counted for u64 {
    fn to_word(&self) -> u64 {
        *self
    }

    fn set(&mut self, word: u64) {
        *self = word;
    }
}

impl Counted for Span {
    fn to_word(&self) -> u64 {
        self.as_ps()
    }

    fn set(&mut self, word: u64) {
        *self = Self::from_ps(word);
    }
}

impl Counted for bool {
    fn to_word(&self) -> u64 {
        u64::from(*self)
    }

    fn set(&mut self, word: u64) {
        *self = word > 0;
    }
}

/// What the values of several engines are together.
#[derive(Clone, Copy)]
pub(super) enum Total {
    Sum,
    Max,
    Min,
}

impl Total {
    pub(super) fn of(self, each: impl Iterator<Item = u64>) -> u64 {
        match self {
            Self::Sum => each.sum(),
            Self::Max => each.max().unwrap_or(0),
            Self::Min => each.min().unwrap_or(0),
        }
    }
}

impl Status {
    /// The words of an engine, but for [`Layout::WORD`], [`GAPS_WORD`] and [`ASLEEP_WORD`].
    pub(super) fn words(&mut self) -> [(usize, Total, &mut dyn Counted); 51] {
        use Total::{Max, Min, Sum};
        [
            (0, Sum, &mut self.packets),
            (1, Sum, &mut self.completed),
            (2, Sum, &mut self.dispatched),
            (3, Sum, &mut self.freed),
            (4, Sum, &mut self.abandoned),
            (5, Sum, &mut self.nacked_buffer_full),
            (6, Sum, &mut self.nacked_reassembler_full),
            (7, Sum, &mut self.nacked_queue_bound),
            (8, Sum, &mut self.nacked_too_large),
            (9, Sum, &mut self.dropped),
            (10, Sum, &mut self.slots),
            (11, Sum, &mut self.slots_used),
            (12, Sum, &mut self.slots_used_max),
            (13, Sum, &mut self.queue_depth),
            (14, Max, &mut self.queue_depth_max),
            (15, Max, &mut self.queue_bound),
            (16, Max, &mut self.service),
            (17, Sum, &mut self.workers),
            (18, Sum, &mut self.clients),
            (19, Sum, &mut self.violations),
            (21, Sum, &mut self.stolen),
            (22, Sum, &mut self.migrated_out),
            (23, Sum, &mut self.migrated_in),
            (24, Sum, &mut self.repeated),
            (25, Sum, &mut self.nacked_stale),
            (26, Sum, &mut self.nacked_expired),
            (27, Sum, &mut self.cancelled),
            (28, Sum, &mut self.steered),
            (29, Sum, &mut self.unanswered),
            (30, Sum, &mut self.unread),
            (32, Sum, &mut self.queue_depth_recent),
            (33, Sum, &mut self.slots_used_recent),
            (34, Sum, &mut self.incomplete),
            (35, Sum, &mut self.reassembler_entries),
            (36, Sum, &mut self.engine_busy),
            (37, Min, &mut self.started_ticks),
            (38, Max, &mut self.written_ticks),
            (39, Min, &mut self.is_draining),
            (40, Sum, &mut self.darc_plans),
            (41, Sum, &mut self.darc_groups),
            (42, Min, &mut self.is_inline),
            (43, Max, &mut self.slo),
            (44, Sum, &mut self.operations),
            (45, Sum, &mut self.operations_refused),
            (46, Sum, &mut self.migrations_hill),
            (47, Sum, &mut self.migrations_valley),
            (48, Sum, &mut self.migrations_pairing),
            (50, Sum, &mut self.connections),
            (51, Sum, &mut self.connections_refused),
            (52, Sum, &mut self.bytes_read),
            (53, Sum, &mut self.bytes_written),
        ]
    }
}

pub(super) fn gap_word(number: u64) -> usize {
    ENGINE_WORDS + 2 * usize::try_from(number % GAPS as u64).unwrap_or(0)
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Layout {
    pub(crate) engines: u16,
    pub(crate) workers: u16,
}

impl Layout {
    pub(super) const WORD: usize = 31;

    pub(crate) fn of(config: &ServerConfig) -> Self {
        Self { engines: config.parts(), workers: config.workers }
    }

    pub(crate) const fn bytes(self) -> usize {
        self.worker_at(self.workers as usize) * 8
    }

    pub(super) const fn to_word(self) -> u64 {
        REVISION << 32 | (self.workers as u64) << 16 | self.engines as u64
    }

    /// The layout in a page's word, if the page has room for it.
    #[expect(clippy::cast_possible_truncation, reason = "16 bits each")]
    pub(super) fn from_word(word: u64, bytes: usize) -> Option<Self> {
        let layout = Self { engines: word as u16, workers: (word >> 16) as u16 };
        (word >> 32 == REVISION && layout.engines > 0 && layout.bytes() <= bytes).then_some(layout)
    }

    /// The first engine's counters are before the gaps, the others' behind.
    pub(super) const fn engine_word(self, engine: usize, word: usize) -> usize {
        let at = if engine == 0 { 0 } else { engine * ENGINE_WORDS + 2 * GAPS };
        at + word
    }

    pub(super) const fn pool_at(self) -> usize {
        self.engines as usize * ENGINE_WORDS + 2 * GAPS
    }

    pub(super) const fn store_at(self) -> usize {
        self.pool_at() + POOL_WORDS
    }

    pub(super) const fn worker_at(self, worker: usize) -> usize {
        self.pool_at() + SHARED_WORDS + worker * WORKER_WORDS
    }
}

pub(super) const fn histogram_at(kind: Kind) -> usize {
    SUM_WORDS + kind as usize * BUCKETS
}

pub(super) const SAMPLES_AT: usize = SUM_WORDS + Kind::COUNT * BUCKETS;

const _: () = assert!((Sum::Service as usize) < SUM_WORDS);
const _: () = assert!(WORKER_WORDS.is_multiple_of(8) && (2 * GAPS).is_multiple_of(8) && SHARED_WORDS.is_multiple_of(8));

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_counters_share_a_word_and_all_are_in_the_page() {
        for layout in [Layout { engines: 1, workers: 1 }, Layout { engines: 3, workers: 7 }] {
            let mut words = std::collections::BTreeSet::new();
            for engine in 0..usize::from(layout.engines) {
                let mut status = Status::default();
                let counted = status.words().map(|(word, ..)| word);
                for word in counted.into_iter().chain([GAPS_WORD, Layout::WORD, ASLEEP_WORD]) {
                    assert!(word < ENGINE_WORDS && words.insert(layout.engine_word(engine, word)));
                }
            }
            assert!(words.insert(gap_word(0)) && words.insert(gap_word(4095) + 1));
            assert!(words.insert(layout.pool_at()) && words.insert(layout.store_at()));
            for worker in 0..usize::from(layout.workers) {
                let at = layout.worker_at(worker);
                assert!(words.insert(at) && words.insert(at + WORKER_WORDS - 1));
            }
            assert!(words.into_iter().all(|word| word < layout.bytes() / 8));
        }
    }

    #[test]
    fn the_protocols_table_lists_every_word_of_an_engine_and_no_other() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/data/status-page.tsv");
        let table = std::fs::read_to_string(path).expect("the table");
        let listed = table.lines().filter_map(|row| row.split('\t').next()?.parse::<usize>().ok());
        let mut counted: Vec<usize> = Status::default().words().map(|(word, ..)| word).to_vec();
        counted.extend([GAPS_WORD, Layout::WORD, ASLEEP_WORD]);
        counted.sort_unstable();
        assert_eq!(listed.collect::<Vec<_>>(), counted);
    }

    #[test]
    fn a_page_of_another_arrangement_or_too_small_is_not_read() {
        let layout = Layout { engines: 2, workers: 5 };
        assert_eq!(Layout::from_word(layout.to_word(), layout.bytes()), Some(layout));
        assert_eq!(Layout::from_word(layout.to_word(), layout.bytes() - 64), None);
        assert_eq!(Layout::from_word(0, layout.bytes()), None);
        assert_eq!(Layout::from_word(layout.to_word() + (1 << 32), layout.bytes()), None);
    }
}
