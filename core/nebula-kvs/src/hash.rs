//! A key's hash, and the use of its bits.
//!
//! ```text
//! bit 63 ........................... 16 | 15 ............ 0
//!        bucket (as many low bits as fit)      tag
//! ```
//! The tag distinguishes the seven entries of a bucket without reading the log. It shares no bit
//! with the bucket number: shared bits would be equal for all tags of a bucket. MICA §4.2 divides
//! its hash the same way.

use rapidhash::v3::rapidhash_v3;

/// The hash of a key.
///
/// A server computes it once and passes it to every step of a request: prefetch of the bucket,
/// prefetch of the item, and the operation.
///
/// # Examples
///
/// ```
/// use nebula_kvs::KeyHash;
/// assert_eq!(KeyHash::of(b"key"), KeyHash::of(b"key"));
/// assert_ne!(KeyHash::of(b"key"), KeyHash::of(b"kez"));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct KeyHash(pub u64);

impl KeyHash {
    /// Hashes `key` with a fixed seed, the same in every run and on every machine: two
    /// multiplications for a key of up to 16 bytes.
    #[inline]
    #[must_use]
    pub fn of(key: &[u8]) -> Self {
        Self(rapidhash_v3(key))
    }

    /// The tag of the key's entry, 1..=65535. Zero marks an empty entry: a hash with tag 0 gets 1.
    #[inline]
    #[expect(clippy::cast_possible_truncation, reason = "the lowest 16 bits")]
    pub(crate) fn tag(self) -> u16 {
        (self.0 as u16).max(1)
    }

    #[inline]
    pub(crate) fn bucket(self) -> u64 {
        self.0 >> 16
    }
}
