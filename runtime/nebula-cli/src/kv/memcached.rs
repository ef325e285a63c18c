//! The store for memcached's clients.

mod bounds;
mod dump;
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
