//! The longest requests and answers of memcached's clients, and the version that they see.

/// As in memcached, a value of 1 MiB is too long with its key.
pub(in crate::kv) const REQUEST_BYTES_MAX: u32 = 1 << 20;
/// A `get` of more gets an error.
pub(in crate::kv) const ANSWER_BYTES_MAX: u32 = 16 << 20;
/// The protocol of memcached 1.6.18.
pub(in crate::kv) const VERSION: &str = "1.6.18-nebula";
