//! The state of the whole store besides its items: CAS numbers, the callers' time, and flushes.
//!
//! A later process may adopt these words together with the items. No operation on items without
//! metadata writes them.

use crate::config::StoreError;
use crate::meta::GENERATIONS;
use nebula_sys::{
    mem::{Pages, WordRegion},
    sync::{AtomicU64, Ordering},
};

/// Words of the region: two lines for a file's header, one for words that are mostly read, one for
/// the CAS number.
pub(crate) const STATE_WORDS: usize = 32;
const GENERATION: usize = 16;
const CLOCK: usize = 17;
const FLUSH_AT: usize = 18;
const CAS: usize = 24;

pub(crate) struct State {
    region: WordRegion,
}

impl State {
    pub(crate) fn try_new() -> Result<WordRegion, StoreError> {
        WordRegion::new(STATE_WORDS, Pages::Base).map_err(|cause| StoreError::Memory { what: "state", cause })
    }

    /// The state in `region`: all zeros, or as a store has left it.
    pub(crate) fn of(region: WordRegion) -> Self {
        Self { region }
    }

    /// Notes that items have CAS number `cas`: later ones get higher numbers.
    pub(crate) fn note_cas(&self, cas: u64) {
        self.word(CAS).fetch_max(cas, Ordering::Relaxed);
    }

    fn word(&self, at: usize) -> &AtomicU64 {
        &self.region.words()[at]
    }

    /// A number above zero that no earlier store of an item got.
    pub(crate) fn next_cas(&self) -> u64 {
        self.word(CAS).fetch_add(1, Ordering::Relaxed) + 1
    }

    /// The latest second that any caller named.
    pub(crate) fn clock(&self) -> u32 {
        low(self.word(CLOCK).load(Ordering::Relaxed))
    }

    #[inline]
    pub(crate) fn generation(&self) -> u32 {
        low(self.word(GENERATION).load(Ordering::Relaxed))
    }

    /// Notes the caller's time. Returns whether a flush was due and this call began a generation.
    #[inline]
    pub(crate) fn is_flush_due(&self, now: u32) -> bool {
        self.clock() < now && self.advance(now)
    }

    #[cold]
    fn advance(&self, now: u32) -> bool {
        self.word(CLOCK).fetch_max(u64::from(now), Ordering::Relaxed);
        let at = self.word(FLUSH_AT).load(Ordering::Relaxed);
        let is_due = at > 0 && at <= u64::from(now);
        is_due && self.word(FLUSH_AT).compare_exchange(at, 0, Ordering::Relaxed, Ordering::Relaxed).is_ok() && {
            self.begin_generation();
            true
        }
    }

    /// Begins the next generation, which removes all items of earlier ones.
    pub(crate) fn begin_generation(&self) {
        let next = |generation: u64| Some((generation + 1) % u64::from(GENERATIONS));
        let _ = self.word(GENERATION).fetch_update(Ordering::Relaxed, Ordering::Relaxed, next);
    }

    /// Lets the next generation begin at `at`; 0: never.
    pub(crate) fn flush_at(&self, at: u32) {
        self.word(FLUSH_AT).store(u64::from(at), Ordering::Relaxed);
    }
}

#[expect(clippy::cast_possible_truncation, reason = "words that hold numbers of 32 bits")]
fn low(word: u64) -> u32 {
    word as u32
}
