//! The store's time, and flushes: everything stored before is gone.

use crate::{
    Probe, Store,
    bucket::{self, Bucket, Entry},
    item,
    stripe::Event,
};

impl<P: Probe> Store<P> {
    /// Takes note of the caller's time. It costs a load where the second is not new.
    #[inline]
    pub(super) fn note_time(&self, now: u32) {
        if self.state.is_flush_due(now) {
            self.drop_plain();
        }
    }

    /// Drops everything that is stored before second `at` of the caller's clock; where `at` is
    /// `now` or earlier, everything stored by now.
    ///
    /// A flush to come replaces one that was to come. Items with metadata are gone at once,
    /// whichever thread asks; items without are removed one after the other until this returns.
    ///
    /// # Cost
    ///
    /// A few instructions; where the store has ever held items without metadata, a walk over all
    /// buckets, at `at` by the operation that comes first.
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
        // or appended, too.
        let extended = self.counters.total_before(Event::Extended);
        let [inserted, appended] = [Event::Inserted, Event::Appended].map(|event| self.counters.total(event));
        if inserted + appended > extended {
            self.index.homes().iter().for_each(|home| self.drop_plain_of(home));
        }
    }

    /// Removes the items without metadata from a bucket and its chain.
    fn drop_plain_of(&self, home: &Bucket) {
        let mut held = bucket::hold(home);
        for bucket in self.index.chain(home) {
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
