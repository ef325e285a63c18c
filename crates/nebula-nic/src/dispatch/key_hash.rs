//! `key-hash`: the core is a function of the key, so that all RPCs about a key run on one core and share its cache.

use super::Choose;
use crate::hash::{mix, reduce};
use crate::id::CoreId;
use crate::wire::Header;

/// A function of the key's hash, without a seed: a client can compute which core a key belongs to.
#[derive(Clone, Debug)]
pub struct KeyHash {
    cores: u32,
}

impl KeyHash {
    /// Spreads keys over the cores below `cores`.
    #[must_use]
    pub fn new(cores: u16) -> Self {
        Self { cores: u32::from(cores) }
    }
}

impl Choose for KeyHash {
    #[inline]
    #[expect(clippy::cast_possible_truncation, reason = "below a number of cores that is a u16")]
    fn choose(&mut self, header: &Header) -> CoreId {
        CoreId(reduce(mix(u64::from(header.key_hash)), self.cores) as u16)
    }
}
