//! Eviction that keeps read items: before the tail enters a segment, the pass carries its read
//! items over to the tail.
//!
//! ```text
//!   tail ─▶ segment being written      next segment, a lap old: the pass ─▶
//!   ... new, new, carried, new ...     unread, READ, unread, deleted, READ ...
//! ```
//! As always, the head moves past the next segment before the tail enters it, and all items left
//! there are gone. Each SET that appends advances the pass by some items, so none pays for a whole
//! segment. An item is carried over while its bucket is held and its segment pinned: no thread
//! changes or recycles it, and the bucket's version tells readers that it has moved.
//!
//! An item whose bucket another writer holds for long is missed, and evicted as if unread.

use crate::index_of::index_of;
use crate::{
    KeyHash, Probe, Store,
    bucket::{self, Bucket, Entry},
    eviction::{self, HeldPass},
    item,
    log::Victim,
    shape::KEY_BYTES_MAX,
    stripe::Event,
};
use nebula_sys::{copy, sync::AtomicU64};

enum Next {
    /// Continue behind the item, which takes this many granules.
    Skip(u64),
    /// End: the segment is being recycled, or there is no room at the tail.
    End,
}

impl<P: Probe> Store<P> {
    /// Advances the pass, after an append of some `granules`. Call with no bucket held.
    #[cold]
    pub(super) fn carry_over(&self, granules: u64) {
        let Some(pass) = self.log.pass().try_hold() else { return };
        let Some(victim) = self.log.victim() else { return };
        if !pass.is_over(victim.start) {
            // A writer still inside has reserved an item and not written it: do not trust its
            // header.
            if !self.log.is_drained(victim.start) {
                return;
            }
            pass.begin(victim.start);
        }
        let mut left = eviction::budget(granules);
        while left > 0 && pass.cursor() < victim.end {
            if pass.cursor() - victim.start > eviction::due(self.log.tail_granules()) {
                return;
            }
            match self.carry_one(&pass, &victim) {
                Next::Skip(granules) => {
                    pass.move_to(pass.cursor() + granules);
                    left = left.saturating_sub(granules);
                }
                Next::End => pass.move_to(victim.end),
            }
        }
    }

    fn carry_one(&self, pass: &HeldPass<'_>, victim: &Victim) -> Next {
        let position = pass.cursor();
        let Some(pinned) = self.log.pin(position) else { return Next::End };
        let mut key = [0; KEY_BYTES_MAX];
        let Some((granules, key)) = item::key_of(pinned.words, &mut key) else { return Next::End };
        if granules == 0 || position + granules > victim.end {
            return Next::End;
        }
        let is_to_stay = !key.is_empty() && pass.has_room_for(granules, victim.granules);
        if !is_to_stay {
            return Next::Skip(granules);
        }
        let hash = (self.hash_of)(key);
        let home = self.index.home(hash);
        let Some((word, entry)) = self.entry_at(home, hash, position) else { return Next::Skip(granules) };
        if entry.reads() == 0 {
            return Next::Skip(granules);
        }
        let Some(mut held) = bucket::try_hold(home) else { return Next::Skip(granules) };
        // Looked up again: it may have moved or gone before the bucket was held.
        let is_there = self.entry_at(home, hash, position).is_some_and(|(again, _)| std::ptr::eq(again, word));
        if !is_there || !self.is_worth_keeping(pinned.words) {
            return Next::Skip(granules);
        }
        let Some(reserved) = self.log.try_reserve(granules) else { return Next::End };
        copy::copy_words(self.log.item(reserved.position), pinned.words, index_of(granules) * item::GRANULE_BYTES);
        held.set(word, entry.carried_to(reserved.position));
        pass.note_carried(granules);
        self.counters.count(Event::Carried);
        Next::Skip(granules)
    }

    /// The entry of the item at `position`, if it still leads there.
    fn entry_at<'a>(&'a self, home: &'a Bucket, hash: KeyHash, position: u64) -> Option<(&'a AtomicU64, Entry)> {
        let sought = Entry::new(hash.tag(), position).position();
        self.chain(home).find_map(|bucket| {
            let mut entries = bucket::entries_with_tag(bucket, hash.tag());
            let (slot, entry) = entries.find(|(_, entry)| entry.position() == sought)?;
            Some((&bucket[slot], entry))
        })
    }

    fn is_worth_keeping(&self, words: &[AtomicU64]) -> bool {
        item::stamped(words).is_none_or(|stamped| self.is_live(&stamped, self.state.clock()))
    }
}
