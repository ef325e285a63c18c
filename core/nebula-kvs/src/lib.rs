//! A key-value store modeled on MICA: an index over a circular log; any core may read and write.
//!
//! | module | what it holds |
//! |---|---|
//! | [`Store`] | GET, SET, DELETE, and the operations on items with metadata; [`StoreConfig`] sizes it, [`ValueSink`] receives values |
//! | `hash`, `index`, `bucket` | from a key to its entry: hash, one line of seven tagged entries, chains of extra lines |
//! | `log`, `item`, `meta` | from an entry to its item: circular log, 64-byte-aligned items, the metadata of some |
//! | `runs`, `eviction`, `given` | reuse of space: free runs of a full store, eviction of a full cache, segments that its index takes |
//! | `backing`, `snapshot` | memory in a file and snapshots, which outlive the process |
//! | [`Partition`] | a store divided over threads, each of which alone writes its part |
//! | [`touch`] | the memory that each operation touches, described once, for simulators |
//! | [`protocol`] | the message formats of the service: requests and replies |
//!
//! ```text
//!  key ─hash─▶ bucket [ version | e1 .. e7 ]      entry = tag 16 | reads 2 | position 46
//!                                 │
//!                                 ▼ position
//!  log  ░░░░░░│head ... item ... item ... tail│░░░░░░   item = header | key | value
//! ```
//!
//! **Invariant:** a GET returns a complete value that one SET stored under this very key, or
//! nothing. *Enforced by* the bucket's version and the log's head, both checked after the copy; the
//! loom tests try every interleaving of small cases.
//!
//! [`touch`] and [`protocol`] exist on every target; the store itself, the feature `store` (on by
//! default), needs Linux.
//!
//! **Invariant:** space is reused only when no reader can take it for its previous item. *Enforced
//! by* loom (`tests/loom_reuse.rs`, `tests/loom_carry.rs`).
//!
//! **Invariant:** a process that adopts the memory of a killed one finds complete values. *Enforced
//! by* `tests/killed.rs`.
//!
//! **Invariant:** an operation touches only what [`touch`] describes. *Enforced by*
//! `tests/touch.rs`.
//!
//! **Invariant:** this crate depends on no NIC, engine or runtime. *Enforced by* its dependencies.
//!
//! # Examples
//!
//! ```
//! use nebula_kvs::{Mode, Store, StoreConfig};
//! let store = Store::try_new(StoreConfig { mode: Mode::Store, ..StoreConfig::for_items(1000, 16, 64) })?;
//! let hash = Store::hash(b"key");
//! store.set(hash, b"key", b"value")?;
//! let mut value = Vec::new();
//! assert!(store.get(hash, b"key", &mut value));
//! assert_eq!(value, b"value");
//! assert!(store.delete(hash, b"key"));
//! assert!(!store.get(hash, b"key", &mut value));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#![forbid(unsafe_code)]

mod mode;
mod shape;
#[cfg(feature = "store")]
mod index_of;
#[cfg(feature = "store")]
mod config;
#[cfg(feature = "store")]
mod hash;
#[cfg(feature = "store")]
mod index;
#[cfg(feature = "store")]
mod bucket;
#[cfg(feature = "store")]
mod log;
#[cfg(feature = "store")]
mod runs;
#[cfg(feature = "store")]
mod snapshot;
#[cfg(feature = "store")]
mod item;
#[cfg(feature = "store")]
mod meta;
#[cfg(feature = "store")]
mod state;
#[cfg(feature = "store")]
mod eviction;
#[cfg(feature = "store")]
mod given;
#[cfg(all(feature = "store", not(any(loom, miri))))]
mod backing;
#[cfg(feature = "store")]
mod remote;
#[cfg(feature = "store")]
mod backoff;
#[cfg(feature = "store")]
mod stripe;
#[cfg(feature = "store")]
mod writers;
#[cfg(feature = "store")]
mod sink;
#[cfg(feature = "store")]
mod store;
#[cfg(feature = "store")]
mod group;
#[cfg(feature = "store")]
mod partitions;
#[cfg(feature = "store")]
mod stats;
mod probe;
pub mod touch;
pub mod protocol;

pub use mode::Mode;
pub use probe::{NoProbe, Probe};
pub use shape::{KEY_BYTES_MAX, VALUE_BYTES_MAX};
#[cfg(feature = "store")]
pub use {
    config::{StoreConfig, StoreError, StoreOptions},
    eviction::Eviction,
    group::GROUP,
    hash::KeyHash,
    meta::Meta,
    nebula_sys::mem::Pages,
    partitions::{Access, OtherPartition, Partition, PartitionOf, PartitionSetError, PartitionStats},
    remote::{MAP_BYTES, RemoteGet, RemoteMap, RemoteStep},
    sink::{SliceSink, ValueSink},
    snapshot::{Snapshot, SnapshotError},
    stats::Stats,
    store::Store,
    store::change::{Change, Mark},
    store::concat::End,
    store::delete::DeleteOutcome,
    store::number::{Delta, NumberOutcome},
    store::put::{Condition, Put, PutOutcome},
    store::set::{SetError, SetOutcome},
    store::snapshot::check_snapshot,
};

#[cfg(all(feature = "store", not(any(loom, miri))))]
pub use store::adopt::Adopted;
