//! An ordered key-value store, for services that also answer range scans.
//!
//! | module | what it holds |
//! |---|---|
//! | [`OrderedStore`] | GET, SET, DELETE and SCAN, within a bound on memory |
//! | [`OrderedService`] | that store as a service; its messages are those of [`nebula_kvs::protocol::scan`] |
//!
//! The map is `crossbeam-skiplist`'s: lock-free, with memory freed by epochs. RPCValet's second
//! application is the ordered store Masstree with 1 % scans of 100 keys. There it matters that a
//! scan takes fifty times as long as a GET, which holds for any ordered map.
//!
//! **Invariant:** a GET or a SCAN returns complete values that one SET stored under their keys.
//! *Enforced by* values that never change once they are in the map: a SET puts another one in its
//! place.
//!
//! # Examples
//!
//! ```
//! use nebula_ordered::OrderedStore;
//!
//! let store = OrderedStore::new(1 << 20);
//! for (key, value) in [("b", "2"), ("a", "1"), ("c", "3")] {
//!     store.set(key.as_bytes(), value.as_bytes())?;
//! }
//! let mut keys = String::new();
//! store.scan(b"b", 10, |key, _value| {
//!     keys.push_str(std::str::from_utf8(key).unwrap_or("?"));
//!     true
//! });
//! assert_eq!(keys, "bc");
//! # Ok::<(), nebula_ordered::Full>(())
//! ```

#![forbid(unsafe_code)]

mod budget;
mod service;
mod store;

pub use budget::Full;
pub use service::OrderedService;
pub use store::{ITEM_OVERHEAD_BYTES, OrderedStore};
