//! memcached's clients: the store, as they know it.
//!
//! | module | what |
//! |---|---|
//! | [`framing`] | requests of a stream, and what a refusal is called |
//! | [`service`] | the commands of the text protocol |
//! | [`get`] | values written behind their lines |
//! | [`meta`] | the meta commands |
//! | [`stats`] | counters, and what `stats` says |
//! | [`seconds`] | the clock that items expire by |

mod framing;
mod get;
mod meta;
mod seconds;
mod service;
mod stats;

pub(super) use framing::Memcached;
pub(super) use seconds::unix_second;
pub(super) use service::MemcachedService;
pub(super) use stats::Facts;

/// The longest request: a value of 1 MiB is too long with its key, as it is for memcached.
pub(super) const REQUEST_BYTES_MAX: u32 = 1 << 20;
/// The longest answer. A `get` of more gets an error instead.
pub(super) const ANSWER_BYTES_MAX: u32 = 16 << 20;
/// The protocol as memcached of this version speaks it.
pub(super) const VERSION: &str = "1.6.18-nebula";
