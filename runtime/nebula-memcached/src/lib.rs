//! memcached's protocols without I/O: requests are read from bytes, answers are written to bytes.
//!
//! | module | question |
//! |---|---|
//! | [`frame`] | where does a request end in a stream of bytes? |
//! | [`request`] | what does it ask for? The text commands |
//! | [`meta`] | the same of the meta commands, `mg` to `me` |
//! | [`answer`] | what are memcached's words for an answer? |
//! | [`time`] | when does an item expire? |
//! | [`datagram`] | the header of a datagram |
//!
//! A request is a piece of the stream, its line and any value behind it, and borrows those bytes.
//!
//! ```
//! use nebula_memcached::frame::{Framed, next};
//! use nebula_memcached::request::{Request, Verb};
//!
//! let stream = b"set greeting 0 60 5\r\nhello\r\nget greeting\r\n";
//! let Framed::Request { bytes, .. } = next(stream, 1 << 20) else { unreachable!() };
//! let Request::Store(store) = Request::parse(&stream[..bytes]) else { unreachable!() };
//! assert_eq!((store.verb, store.key, store.value), (Verb::Set, &b"greeting"[..], Some(&b"hello"[..])));
//! assert_eq!(next(&stream[..12], 1 << 20), Framed::Incomplete { bytes_min: 13 });
//! ```
//!
//! # Commands
//!
//! - Values: `get` `gets` `gat` `gats` `set` `add` `replace` `append` `prepend` `cas` `delete`
//!   `incr` `decr` `touch`.
//! - Server: `flush_all`, `verbosity` (which changes nothing), `version`, `quit`, `lru_crawler
//!   metadump`, and `stats` with `settings` `items` `slabs` `sizes` `conns` `cachedump` `reset`.
//! - Meta: `mg` `ms` `md` `ma` `mn` `me`, with the flags `b c f h k l q s t v C D F I J M N O R T`
//!   where memcached has them.
//! - `ERROR`: `lru`, `slabs`, `watch`, `cache_memlimit`, `shutdown`.
//! - The connection is closed: HTTP, TLS, the binary protocol and so SASL.
//!
//! **Invariant:** a stream is cut into the same requests however it comes, and no bytes make it
//! panic. *Enforced by* `tests/stream.rs` and the fuzz target `memcached`.
//!
//! Answers and limits are those of memcached 1.6.18; tests of the program `nebula` compare them.

#![no_std]
#![forbid(unsafe_code)]

pub mod answer;
pub mod datagram;
pub mod frame;
pub mod meta;
pub mod request;
pub mod time;
mod tokens;

/// The longest key, in bytes.
pub const KEY_BYTES_MAX: usize = 250;
/// The longest item in bytes: key, value and [`ITEM_OVERHEAD_BYTES`].
pub const ITEM_BYTES_MAX: usize = 1 << 20;
/// memcached's overhead of an item: its header, the CAS number, an end of the key, and the line end
/// behind the value.
pub const ITEM_OVERHEAD_BYTES: usize = 48 + 8 + 1 + 2;

/// Whether such an item fits into memcached, whose largest item is 1 MiB.
#[must_use]
pub const fn fits(key_bytes: usize, value_bytes: usize) -> bool {
    key_bytes + value_bytes + ITEM_OVERHEAD_BYTES <= ITEM_BYTES_MAX
}
