//! The sizes of a store, and its behavior when it is full.

use crate::eviction::Eviction;
use crate::hash::KeyHash;
use crate::index_of::index_of;
use crate::item::GRANULE_BYTES;
use crate::log::{Cut, prev_power_of_two};
use crate::mode::Mode;
use crate::shape::{Shape, VALUE_BYTES_MAX};
use nebula_sys::mem::{MemError, Pages};

/// The sizes of a [`Store`](crate::Store).
///
/// # Examples
///
/// ```
/// use nebula_kvs::{Mode, Pages, StoreConfig};
/// // NEBULA's data set: 1.6 M pairs of 16 B/512 B, 2 M buckets.
/// let config = StoreConfig { pages: Pages::Transparent, ..StoreConfig::for_items(1_600_000, 16, 512) };
/// assert_eq!(config.buckets, 2 * 1024 * 1024);
/// assert!(config.log_bytes > 1_600_000 * 9 * 64 && config.mode == Mode::Cache);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StoreConfig {
    /// Buckets of 64 B with seven entries each; rounded up to a power of two.
    pub buckets: usize,
    /// Bytes of the log; rounded up to whole segments in [`Mode::Cache`], at most by a 32nd if
    /// there are 64 of them.
    pub log_bytes: usize,
    /// What happens when the store is full.
    pub mode: Mode,
    /// Buckets reserved for chains; a [`Mode::Cache`] takes more from its log.
    pub extra_buckets: usize,
    /// The page size to ask for; smaller pages are used if the machine does not grant it.
    pub pages: Pages,
}

/// The options of a [`Store`](crate::Store) besides its sizes.
#[derive(Clone, Copy, Debug)]
pub struct StoreOptions {
    /// The items to evict when a cache is full.
    pub eviction: Eviction,
    /// The hash of the callers' keys. A store calls it for items that it finds in its log: when it
    /// evicts unread items, or adopts memory.
    pub hash_of: fn(&[u8]) -> KeyHash,
    /// The longest value that is stored, at most [`VALUE_BYTES_MAX`].
    pub value_bytes_max: usize,
}

impl Default for StoreOptions {
    /// Evicts the oldest items, hashes as [`Store::hash`](crate::Store::hash) does, and takes
    /// values of any length.
    fn default() -> Self {
        Self { eviction: Eviction::default(), hash_of: KeyHash::of, value_bytes_max: VALUE_BYTES_MAX }
    }
}

impl StoreConfig {
    /// Sizes a cache for `items` items of `key_bytes` and `value_bytes` each: at least one bucket
    /// per item, as in NEBULA's evaluation (2 M buckets, 1.6 M pairs), and a log that holds all of
    /// them before it wraps.
    ///
    /// Also reserves a sixteenth of the buckets for chains: far more than uniform hashes need.
    #[must_use]
    pub fn for_items(items: u64, key_bytes: usize, value_bytes: usize) -> Self {
        let granules = Shape { key_bytes, value_bytes }.granules();
        let buckets = index_of(items).max(1).next_power_of_two();
        Self {
            buckets,
            log_bytes: log_bytes_for(items, granules),
            mode: Mode::Cache,
            extra_buckets: (buckets / 16).max(8),
            pages: Pages::Huge2M,
        }
    }
}

impl StoreConfig {
    /// Sizes a store of items with metadata, of `key_bytes` and up to `value_bytes`, such that
    /// index and log together take at most `memory_bytes`, and at least the smallest store.
    ///
    /// A 16th of the memory at most is for home buckets, or more if even the longest items need it.
    /// A cache takes most extra buckets, for shorter items, from its log while it runs; a
    /// [`Mode::Store`] has another 16th for them, enough for items of 200 B on average.
    ///
    /// # Examples
    ///
    /// ```
    /// use nebula_kvs::{Mode, StoreConfig};
    /// let config = StoreConfig::within(64 << 20, Mode::Cache, 16, 512);
    /// assert!(config.buckets * 64 + config.log_bytes <= 64 << 20);
    /// // The longest value does not say how many items there will be.
    /// assert_eq!(config.buckets, StoreConfig::within(64 << 20, Mode::Cache, 16, 1_000_000).buckets);
    /// ```
    #[must_use]
    pub fn within(memory_bytes: usize, mode: Mode, key_bytes: usize, value_bytes: usize) -> Self {
        let item_bytes = index_of(Shape { key_bytes, value_bytes }.granules_extended(mode)) * GRANULE_BYTES;
        let longest = memory_bytes / (item_bytes + BUCKET_BYTES / 4);
        let share = memory_bytes / BUCKET_BYTES / 16;
        let buckets = (longest / 7).max(1).next_power_of_two().max(prev_power_of_two(share));
        let extra_buckets = if mode == Mode::Store { share } else { buckets / 16 }.max(8);
        let log_bytes = Cut::whole(memory_bytes.saturating_sub((buckets + extra_buckets) * BUCKET_BYTES), mode);
        // A cache's log is whole segments.
        let left = memory_bytes.saturating_sub(log_bytes) / BUCKET_BYTES;
        let extra_buckets = extra_buckets.max(left.saturating_sub(buckets));
        Self { buckets, log_bytes, mode, extra_buckets, pages: Pages::Huge2M }
    }
}

const BUCKET_BYTES: usize = 64;

/// The smallest log, within 3 %, that keeps `items` items of `granules` each valid in both modes.
fn log_bytes_for(items: u64, granules: u64) -> usize {
    let holds_all = |log_bytes| {
        let holds = |mode| Cut::of(log_bytes, mode).items_valid_min(granules, mode) >= items;
        holds(Mode::Cache) && holds(Mode::Store)
    };
    let mut log_bytes = index_of(items.saturating_mul(granules)).saturating_mul(crate::item::GRANULE_BYTES).max(1);
    while !holds_all(log_bytes) && log_bytes < usize::MAX / 4 {
        log_bytes += log_bytes.div_ceil(32);
    }
    log_bytes
}

/// The store could not be created.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// Memory allocation failed.
    #[error("cannot allocate the store's {what}")]
    Memory {
        /// The part of the store: `index` or `log`.
        what: &'static str,
        /// The cause.
        #[source]
        cause: MemError,
    },
    /// Memory that others may read could not be allocated.
    #[cfg(not(any(loom, miri)))]
    #[error("cannot share a store of {bytes} bytes")]
    Shared {
        /// Bytes asked for.
        bytes: usize,
        /// The cause.
        #[source]
        cause: nebula_sys::shared::SharedError,
    },
    /// More buckets than an entry can address, or than fit the address space.
    #[error(
        "{buckets} buckets and {extra_buckets} extra buckets exceed the limits of 2^40 and 2^32 - 1; ask for fewer"
    )]
    TooManyBuckets {
        /// Buckets asked for.
        buckets: usize,
        /// Extra buckets asked for.
        extra_buckets: usize,
    },
    /// The file of the store's memory could not be used.
    #[error("cannot {step} {path}")]
    File {
        /// The failed step.
        step: &'static str,
        /// The file.
        path: String,
        /// The cause.
        #[source]
        cause: std::io::Error,
    },
    /// Another process has the file.
    #[error("{path} is another process's store; wait until it has ended")]
    InUse {
        /// The file.
        path: String,
    },
    /// The file does not begin like a store's memory.
    #[error("{path} is no store's memory; name another file")]
    NotAStore {
        /// The file.
        path: String,
    },
    /// Another version of this program has left the memory, or it is damaged or incomplete.
    #[error("the memory in {path} cannot be adopted: {why}; remove the file to begin with an empty store")]
    Unfit {
        /// The file.
        path: String,
        /// The reason.
        why: &'static str,
    },
    /// The store in the file has other sizes.
    #[error("the store in {path} has {what} {got} where {expected} is asked for; ask for the same, or remove the file")]
    Geometry {
        /// The file.
        path: String,
        /// The size that differs.
        what: &'static str,
        /// The size asked for.
        expected: u64,
        /// The size in the file.
        got: u64,
    },
    /// More bytes of log than positions can address.
    #[error("a log of {log_bytes} bytes exceeds the limit of 2^48; ask for less")]
    LogTooLarge {
        /// Bytes asked for.
        log_bytes: usize,
    },
}

/// Entries hold 46 bits of a position in granules of 32 bytes; half of them must cover a lap, and a
/// lap may be rounded up to twice the log.
pub(crate) const LOG_BYTES_MAX: usize = 1 << 48;
pub(crate) const BUCKETS_MAX: usize = 1 << 40;
pub(crate) const EXTRA_BUCKETS_MAX: usize = u32::MAX as usize;

impl StoreConfig {
    pub(crate) fn check(&self) -> Result<(), StoreError> {
        let &Self { buckets, extra_buckets, log_bytes, .. } = self;
        if buckets > BUCKETS_MAX || extra_buckets > EXTRA_BUCKETS_MAX - 1 {
            return Err(StoreError::TooManyBuckets { buckets, extra_buckets });
        }
        if log_bytes > LOG_BYTES_MAX { Err(StoreError::LogTooLarge { log_bytes }) } else { Ok(()) }
    }
}
