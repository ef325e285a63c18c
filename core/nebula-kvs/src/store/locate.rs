//! Finds an item for a writer that reads its metadata: held in place, and read again once it is.

use super::Store;
use crate::bucket::{Entry, Held};
use crate::hash::KeyHash;
use crate::item::{self, Header};
use crate::log::PinnedItem;
use crate::meta::Stamped;
use crate::mode::Mode;
use crate::probe::Probe;
use nebula_sys::sync::AtomicU64;

/// An item whose bucket is held and whose memory is not recycled. Drop it before reserving space,
/// which may wait for it.
pub(super) struct Located<'a> {
    pub(super) entry_word: &'a AtomicU64,
    pub(super) entry: Entry,
    pub(super) header: Header,
    pub(super) stamped: Stamped,
    pub(super) item: PinnedItem<'a>,
}

impl Located<'_> {
    pub(super) fn value(&self) -> (&[AtomicU64], usize) {
        let value = self.header.value_and_meta(self.item.words).map_or(&[][..], |(value, _)| value);
        (value, self.header.shape().value_bytes)
    }
}

impl<P: Probe> Store<P> {
    /// The item of `key`, live or not, in a held bucket.
    pub(super) fn locate<'a>(&'a self, held: &Held<'a>, hash: KeyHash, key: &[u8]) -> Option<Located<'a>> {
        let found = self.find(held, hash, key)?;
        self.touch_pin();
        let item = self.log.pin(found.entry.position())?;
        // Read again: before the pin, another core may have been recycling the item.
        let header = item::header_if_key(item.words, key)?;
        let (_, meta) = header.value_and_meta(item.words)?;
        let stamped = self.stamped(header, meta);
        Some(Located { entry_word: found.entry_word, entry: found.entry, header, stamped, item })
    }

    pub(super) fn locate_live<'a>(
        &'a self,
        held: &Held<'a>,
        hash: KeyHash,
        key: &[u8],
        now: u32,
    ) -> Option<Located<'a>> {
        self.locate(held, hash, key).filter(|located| self.is_live(&located.stamped, now))
    }

    /// Removes the entry of a held bucket and frees its item's space.
    pub(super) fn remove(&self, held: &mut Held<'_>, entry_word: &AtomicU64, entry: Entry) {
        held.set(entry_word, Entry::EMPTY);
        self.free(entry);
    }

    /// Frees the space of an item whose entry was removed or replaced while the bucket is held.
    pub(super) fn free(&self, entry: Entry) {
        if self.mode == Mode::Store {
            let position = entry.position();
            self.log.free(position, item::granules(self.log.item(position)));
        }
    }

    /// The metadata of an item; an item without any belongs to every generation.
    pub(super) fn stamped(&self, header: Header, meta: Option<&[AtomicU64]>) -> Stamped {
        let value_bytes = header.shape().value_bytes;
        meta.map_or_else(|| self.plain(value_bytes), |words| Stamped::load(words, value_bytes))
    }

    #[inline]
    pub(super) fn is_live(&self, stamped: &Stamped, now: u32) -> bool {
        stamped.is_live(self.state.generation(), now)
    }
}
