//! What memcached's clients may send and get.

/// The longest request: a value of 1 MiB is too long with its key, as it is for memcached.
pub(in crate::kv) const REQUEST_BYTES_MAX: u32 = 1 << 20;
/// The longest answer. A `get` of more gets an error instead.
pub(in crate::kv) const ANSWER_BYTES_MAX: u32 = 16 << 20;
/// The protocol as memcached of this version speaks it.
pub(super) const VERSION: &str = "1.6.18-nebula";
