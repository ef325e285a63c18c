//! The engine's end of the status page: writes its counters.

use super::counters::Status;
use super::layout::{ASLEEP_WORD, GAPS_WORD, Layout, gap_word};
use nebula_sys::shared::SharedMemory;
use nebula_sys::sync::Ordering;
use nebula_sys::wake::SleepWord;
use std::sync::Arc;

/// Whether an engine sleeps: a word that its clients read and cannot write.
#[derive(Debug)]
pub(crate) struct Asleep {
    memory: Arc<SharedMemory>,
    word: usize,
}

impl Asleep {
    pub(crate) fn new(memory: Arc<SharedMemory>, layout: Layout, engine: usize) -> Self {
        Self { memory, word: layout.engine_word(engine, ASLEEP_WORD) }
    }

    /// Where it lies in the page.
    pub(crate) fn word(&self) -> usize {
        self.word
    }

    /// The engine is about to sleep. It must look for work after this.
    pub(crate) fn arm(&self) {
        SleepWord::new(&self.memory.words()[self.word]).arm();
    }

    pub(crate) fn disarm(&self) {
        SleepWord::new(&self.memory.words()[self.word]).disarm();
    }
}

#[derive(Debug)]
pub(crate) struct StatusPage {
    memory: Arc<SharedMemory>,
    layout: Layout,
    section: usize,
    gaps: u64,
}

impl StatusPage {
    pub(crate) fn new(memory: Arc<SharedMemory>, layout: Layout, section: usize) -> Self {
        let page = Self { memory, layout, section, gaps: 0 };
        page.memory.words()[Layout::WORD].store(layout.to_word(), Ordering::Relaxed);
        page
    }

    pub(crate) fn publish(&self, mut status: Status) {
        for (word, _, value) in status.words() {
            let at = self.layout.engine_word(self.section, word);
            self.memory.words()[at].store(value.to_word(), Ordering::Relaxed);
        }
    }

    /// Adds a gap to the list, in place of the oldest. Only the first engine's gaps are listed.
    pub(crate) fn add_gap(&mut self, from_ticks: u64, to_ticks: u64) {
        if self.section > 0 {
            return;
        }
        let at = gap_word(self.gaps);
        self.memory.words()[at].store(from_ticks, Ordering::Relaxed);
        self.memory.words()[at + 1].store(to_ticks, Ordering::Relaxed);
        self.gaps += 1;
        // Release: a reader that sees the number (Acquire) sees the entry.
        self.memory.words()[GAPS_WORD].store(self.gaps, Ordering::Release);
    }
}
