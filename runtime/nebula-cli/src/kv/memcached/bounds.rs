//! How long requests and answers of memcached's clients may be, and which memcached they are those
//! of.

/// The longest request: a value of 1 MiB is too long with its key, as it is for memcached.
pub(in crate::kv) const REQUEST_BYTES_MAX: u32 = 1 << 20;
/// The longest answer. A `get` of more gets an error instead.
pub(in crate::kv) const ANSWER_BYTES_MAX: u32 = 16 << 20;
/// The protocol as memcached of this version speaks it.
pub(in crate::kv) const VERSION: &str = "1.6.18-nebula";
