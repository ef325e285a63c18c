//! Metadata of an item: three words behind its value, for a cache's clients.
//!
//! ```text
//! word 0   flags 32 | expires 32
//! word 1   CAS number
//! word 2   last access 32 | generation 24 | stale 1, won 1, fetched 1
//! ```
//! Times are whole seconds of the caller's clock. The generation is the store's when the item was
//! written; a flush begins the next one and so removes all older items at once.

use nebula_sys::sync::{AtomicU64, Ordering};

pub(crate) const META_WORDS: usize = 3;
pub(crate) type Words = [u64; META_WORDS];

pub(crate) const GENERATIONS: u32 = 1 << 24;

const FETCHED: u64 = 1;
const WON: u64 = 2;
const STALE: u64 = 4;

/// The metadata of an item: all 0 if [`Store::set`](crate::Store::set) stored it for a new key.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Meta {
    /// The client's flags.
    pub flags: u32,
    /// When it expires, in seconds of the caller's clock; 0: never.
    pub expires: u32,
    /// The CAS number: different after each store of any value; 0: none.
    pub cas: u64,
    /// When it was last read or, if never, written, in seconds. Updated at most once a minute.
    pub last_access: u32,
    /// Whether it was read since it was written, before this operation.
    pub is_fetched: bool,
    /// Whether a client has declared it stale.
    pub is_stale: bool,
    /// Whether a client has been asked to fetch the value again.
    pub is_won: bool,
    /// The value's length in bytes.
    pub value_bytes: u32,
}

#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Stamped {
    pub(crate) meta: Meta,
    pub(crate) generation: u32,
}

impl Stamped {
    /// Reads three words, which may be in recycled memory.
    pub(crate) fn load(words: &[AtomicU64], value_bytes: usize) -> Self {
        let word = |at: usize| words.get(at).map_or(0, |word| word.load(Ordering::Relaxed));
        Self::of([word(0), word(1), word(2)], value_bytes)
    }

    #[expect(clippy::cast_possible_truncation, reason = "each takes its half of a word")]
    pub(crate) fn of([first, cas, last]: Words, value_bytes: usize) -> Self {
        let meta = Meta {
            flags: first as u32,
            expires: (first >> 32) as u32,
            cas,
            last_access: last as u32,
            is_fetched: last >> 56 & FETCHED != 0,
            is_won: last >> 56 & WON != 0,
            is_stale: last >> 56 & STALE != 0,
            value_bytes: value_bytes as u32,
        };
        Self { meta, generation: (last >> 32) as u32 % GENERATIONS }
    }

    pub(crate) fn words(&self) -> Words {
        let Meta { flags, expires, cas, last_access, is_fetched, is_stale, is_won, .. } = self.meta;
        let mark = |is_set: bool, mark: u64| if is_set { mark } else { 0 };
        let marks = mark(is_fetched, FETCHED) | mark(is_won, WON) | mark(is_stale, STALE);
        let last = u64::from(last_access) | u64::from(self.generation % GENERATIONS) << 32 | marks << 56;
        [u64::from(flags) | u64::from(expires) << 32, cas, last]
    }

    /// Whether the item exists at `now`, in generation `generation`.
    pub(crate) fn is_live(&self, generation: u32, now: u32) -> bool {
        self.generation == generation && (self.meta.expires == 0 || now < self.meta.expires)
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn metadata_comes_back_from_its_words() {
        let marks = (0..8).map(|bits| (bits & 1 != 0, bits & 2 != 0, bits & 4 != 0));
        for (is_fetched, is_stale, is_won) in marks {
            let (flags, expires, cas, last_access) = (u32::MAX, 7, u64::MAX - 1, u32::MAX - 2);
            let meta = Meta { flags, expires, cas, last_access, is_fetched, is_stale, is_won, value_bytes: 9 };
            let stamped = Stamped { meta, generation: GENERATIONS - 1 };
            let again = Stamped::of(stamped.words(), 9);
            assert_eq!((again.meta, again.generation), (meta, GENERATIONS - 1));
        }
    }

    #[test]
    fn an_item_expires_with_the_second_it_names() {
        let at = |expires| Stamped { meta: Meta { expires, ..Meta::default() }, generation: 3 };
        assert!(at(0).is_live(3, u32::MAX) && at(10).is_live(3, 9));
        assert!(!at(10).is_live(3, 10) && !at(0).is_live(4, 0));
    }
}
