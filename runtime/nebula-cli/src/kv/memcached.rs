//! memcached's clients: the store, as they know it.
//!
//! | module | what |
//! |---|---|
//! | [`bounds`] | the longest request and answer |
//! | [`framing`] | requests of a stream, and what a refusal is called |
//! | [`service`] | the commands of the text protocol |
//! | [`get`] | values written behind their lines |
//! | [`meta`] | the meta commands |
//! | [`stats`] | counters, and what `stats` says |
//! | [`seconds`] | the clock that items expire by |

mod bounds;
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

pub(super) use bounds::{ANSWER_BYTES_MAX, REQUEST_BYTES_MAX};
