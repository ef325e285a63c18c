//! Partitions, as in MICA: keys are divided over stores by hash, and one thread writes each store.
//!
//! Source: H. Lim et al., "MICA: A Holistic Approach to Fast In-Memory Key-Value Storage", NSDI
//! 2014, section 3.1: partitions that one core reads and writes (EREW), that one core writes and
//! all read (CREW), and data that all read and write (CRCW), which is [`Store`].

use crate::config::{StoreConfig, StoreError, StoreOptions};
use crate::hash::KeyHash;
use crate::sink::ValueSink;
use crate::stats::Stats;
use crate::store::Store;
use crate::store::set::{SetError, SetOutcome};
use std::{cell::Cell, marker::PhantomData, sync::Arc};

/// The readers of a partition. Only its own thread writes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// All threads with a partition: concurrent reads, exclusive writes (MICA's CREW).
    Crew,
    /// Only its own thread: exclusive reads, exclusive writes (MICA's EREW).
    Erew,
}

/// The partition of a key, below the number of partitions. It steers RPCs about the key to the
/// thread of its partition.
pub type PartitionOf = fn(KeyHash, u16) -> u16;

/// The key belongs to a partition that this thread may not read or write.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the key is of partition {of}, and partition {asked} was asked; steer its requests by the key's hash")]
pub struct OtherPartition {
    /// The key's partition.
    pub of: u16,
    /// The partition that was asked.
    pub asked: u16,
}

/// Why a SET in a partition had no effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PartitionSetError {
    /// The key belongs to another partition.
    #[error(transparent)]
    Other(#[from] OtherPartition),
    /// The store refused it.
    #[error(transparent)]
    Set(#[from] SetError),
}

/// One partition of a store, for the thread that writes it. It can move to a thread, but two cannot
/// share it: so an update in place needs no atomic read-modify-write.
///
/// # Examples
///
/// ```
/// use nebula_kvs::{Access, Partition, Store, StoreConfig};
/// let config = StoreConfig::for_items(1000, 16, 8);
/// let mut partitions = Partition::divide(config, Access::Crew, 2, |hash, partitions| (hash.0 % u64::from(partitions)) as u16)?;
/// let (second, first) = (partitions.pop().unwrap(), partitions.pop().unwrap());
/// let hash = Store::hash(b"key");
/// let (its, other) = if first.of(hash) == 0 { (first, second) } else { (second, first) };
/// its.set(hash, b"key", b"value")?;
/// assert!(other.set(hash, b"key", b"other").is_err());
/// let mut value = Vec::new();
/// assert_eq!(other.get(hash, b"key", &mut value), Ok(true));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// ```compile_fail
/// fn is_shared<T: Sync>() {}
/// is_shared::<nebula_kvs::Partition>();
/// ```
pub struct Partition {
    all: Arc<All>,
    index: u16,
    /// Not `Sync`.
    _one_thread: PhantomData<Cell<()>>,
}

struct All {
    stores: Box<[Store]>,
    access: Access,
    partition_of: PartitionOf,
}

/// The counters of all partitions of a store, for any thread.
#[derive(Clone)]
pub struct PartitionStats(Arc<All>);

impl PartitionStats {
    /// Those of each partition now, in order.
    pub fn read(&self) -> impl Iterator<Item = Stats> {
        self.0.stores.iter().map(Store::stats)
    }
}

impl Partition {
    /// Creates `partitions` partitions, each an equal share of `config`. Hashes do not divide keys
    /// equally, so one may be full while others are not.
    ///
    /// # Panics
    ///
    /// If `partitions` is 0.
    pub fn divide(
        config: StoreConfig,
        access: Access,
        partitions: u16,
        partition_of: PartitionOf,
    ) -> Result<Vec<Self>, StoreError> {
        assert!(partitions > 0, "no partition");
        let share = |whole: usize| (whole / usize::from(partitions)).max(1);
        let config = StoreConfig {
            // Rounded down, since a store rounds up: together they take no more than was asked for.
            buckets: 1 << share(config.buckets).ilog2(),
            log_bytes: share(config.log_bytes),
            extra_buckets: share(config.extra_buckets),
            ..config
        };
        let stores = (0..partitions).map(|_| Store::try_alone(config, StoreOptions::default()));
        let all = Arc::new(All { stores: stores.collect::<Result<_, _>>()?, access, partition_of });
        let partition = |index| Self { all: all.clone(), index, _one_thread: PhantomData };
        Ok((0..partitions).map(partition).collect())
    }

    /// The number of this partition, from 0 on.
    #[must_use]
    pub fn index(&self) -> u16 {
        self.index
    }

    /// The partition of the key with this hash.
    #[inline]
    #[must_use]
    pub fn of(&self, hash: KeyHash) -> u16 {
        (self.all.partition_of)(hash, self.partitions()).min(self.partitions() - 1)
    }

    /// Like [`Store::get`], in the key's partition.
    ///
    /// # Errors
    ///
    /// [`OtherPartition`] under [`Access::Erew`], if it is not this one.
    #[inline]
    pub fn get(&self, hash: KeyHash, key: &[u8], sink: &mut impl ValueSink) -> Result<bool, OtherPartition> {
        let store = match self.all.access {
            Access::Crew => self.store_of(hash),
            Access::Erew => self.own(hash)?,
        };
        Ok(store.get(hash, key, sink))
    }

    /// Like [`Store::set`], in this partition. Takes none of the atomic read-modify-writes that
    /// exclude other writers, except for the list of free space in
    /// [`Mode::Store`](crate::Mode::Store).
    ///
    /// # Errors
    ///
    /// [`PartitionSetError`]; nothing has changed then.
    #[inline]
    pub fn set(&self, hash: KeyHash, key: &[u8], value: &[u8]) -> Result<SetOutcome, PartitionSetError> {
        Ok(self.own(hash)?.set(hash, key, value)?)
    }

    /// Like [`Store::delete`], in this partition.
    #[inline]
    pub fn delete(&self, hash: KeyHash, key: &[u8]) -> Result<bool, OtherPartition> {
        Ok(self.own(hash)?.delete(hash, key))
    }

    /// Like [`Store::prefetch_bucket`].
    #[inline]
    pub fn prefetch_bucket(&self, hash: KeyHash) {
        self.store_of(hash).prefetch_bucket(hash);
    }

    /// Like [`Store::prefetch_entry`].
    #[inline]
    pub fn prefetch_entry(&self, hash: KeyHash, item_bytes: usize) {
        self.store_of(hash).prefetch_entry(hash, item_bytes);
    }

    /// The counters of all partitions.
    #[must_use]
    pub fn stats(&self) -> PartitionStats {
        PartitionStats(self.all.clone())
    }

    #[inline]
    #[expect(clippy::cast_possible_truncation, reason = "made of a number that is a u16")]
    fn partitions(&self) -> u16 {
        self.all.stores.len() as u16
    }

    #[inline]
    fn store_of(&self, hash: KeyHash) -> &Store {
        &self.all.stores[usize::from(self.of(hash))]
    }

    #[inline]
    fn own(&self, hash: KeyHash) -> Result<&Store, OtherPartition> {
        let of = self.of(hash);
        if of == self.index {
            Ok(&self.all.stores[usize::from(of)])
        } else {
            Err(OtherPartition { of, asked: self.index })
        }
    }
}
