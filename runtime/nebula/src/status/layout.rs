//! The layout of the status page. See `docs/PROTOCOL.md`.
//!
//! ```text
//!   first engine │ gaps │ further engines │ pool and store │ worker 0 │ worker 1 │ …
//!     64 words     8192      64 each            32            2112 each
//! ```

use super::histogram::BUCKETS;
use crate::config::server::ServerConfig;

pub(super) const GAPS: usize = 4096;
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
pub(super) enum Field {
    Packets,
    Completed,
    Dispatched,
    Freed,
    Abandoned,
    NackedBufferFull,
    NackedReassemblerFull,
    NackedQueueBound,
    NackedTooLarge,
    Dropped,
    Slots,
    SlotsUsed,
    SlotsUsedMax,
    QueueDepth,
    QueueDepthMax,
    QueueBound,
    ServicePs,
    Workers,
    Clients,
    Violations,
    Gaps,
    Stolen,
    MigratedOut,
    MigratedIn,
    Repeated,
    Stale,
    Expired,
    Cancelled,
    Steered,
    Unanswered,
    Unread,
    // The word of the layout is between.
    QueueDepthRecent = 32,
    SlotsUsedRecent,
    Incomplete,
    ReassemblerEntries,
    EngineBusyPs,
    StartedTicks,
    WrittenTicks,
    Draining,
    DarcPlans,
    DarcGroups,
    Inline,
    SloPs,
    Operations,
    OperationsRefused,
    Hills,
    Valleys,
    Pairings,
}

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
    pub(super) const fn engine_word(self, engine: usize, field: Field) -> usize {
        let at = if engine == 0 { 0 } else { engine * ENGINE_WORDS + 2 * GAPS };
        at + field as usize
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

const _: () = assert!((Field::Unread as usize) < Layout::WORD && (Field::OperationsRefused as usize) < ENGINE_WORDS);
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
                assert!(words.insert(layout.engine_word(engine, Field::Packets)));
                assert!(words.insert(layout.engine_word(engine, Field::DarcGroups)));
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
    fn a_page_of_another_arrangement_or_too_small_is_not_read() {
        let layout = Layout { engines: 2, workers: 5 };
        assert_eq!(Layout::from_word(layout.to_word(), layout.bytes()), Some(layout));
        assert_eq!(Layout::from_word(layout.to_word(), layout.bytes() - 64), None);
        assert_eq!(Layout::from_word(0, layout.bytes()), None);
        assert_eq!(Layout::from_word(layout.to_word() + (1 << 32), layout.bytes()), None);
    }
}
