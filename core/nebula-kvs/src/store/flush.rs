//! The store's time, and flushes, which remove everything stored before.

use crate::{
    Probe, Store,
    bucket::{self, Bucket, Entry},
    item,
    stripe::Event,
};

impl<P: Probe> Store<P> {
    /// Notes the caller's time: one load unless the second is new.
    #[inline]
    pub(super) fn note_time(&self, now: u32) {
        if self.state.is_flush_due(now) {
            self.drop_plain();
        }
    }

    /// Removes everything stored before second `at` of the caller's clock; if `at` is `now` or
    /// earlier, everything stored so far.
    ///
    /// A later flush replaces one that is still to come. Items with metadata are gone at once for
    /// all threads; items without are removed one by one until this returns. Cost: a few
    /// instructions. If the store has ever held items without metadata, a walk over all buckets, by
    /// the first operation from `at` on.
    pub fn flush_all(&self, at: u32, now: u32) {
        self.note_time(now);
        if at > now {
            self.state.flush_at(at);
        } else {
            self.state.flush_at(0);
            self.state.begin_generation();
            self.drop_plain();
        }
    }

    #[cold]
    fn drop_plain(&self) {
        // In this order: each item with metadata that is counted here is then counted as inserted
        // or appended too.
        let extended = self.counters.total_before(Event::Extended);
        let [inserted, appended] = [Event::Inserted, Event::Appended].map(|event| self.counters.total(event));
        if inserted + appended > extended {
            self.index.homes().iter().for_each(|home| self.drop_plain_of(home));
        }
    }

    fn drop_plain_of(&self, home: &Bucket) {
        let mut held = bucket::hold(home);
        for bucket in self.chain(home) {
            for (slot, entry) in bucket::entries(bucket) {
                let is_plain = entry != Entry::EMPTY
                    && self.log.pin(entry.position()).is_some_and(|pinned| !item::is_extended(pinned.words));
                if is_plain {
                    self.remove(&mut held, &bucket[slot], entry);
                    self.counters.count(Event::Deleted);
                }
            }
        }
    }
}
