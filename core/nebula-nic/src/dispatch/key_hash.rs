//! `key-hash`: the core is a function of the key: all RPCs about a key share one core's cache.

use super::per_core::Choose;
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

    /// The core of a key with this hash: a server that divides its data by core uses it too.
    #[must_use]
    #[inline]
    #[expect(clippy::cast_possible_truncation, reason = "below a number of cores that is a u16")]
    pub fn core_of(&self, key_hash: u32) -> CoreId {
        CoreId(reduce(mix(u64::from(key_hash)), self.cores) as u16)
    }
}

impl Choose for KeyHash {
    #[inline]
    fn choose(&mut self, header: &Header) -> CoreId {
        self.core_of(header.key_hash)
    }
}
