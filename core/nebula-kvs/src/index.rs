//! The index: home buckets, chosen by hash, and extra buckets for chains. A cache takes more of
//! them from its [log](crate::given).

use crate::bucket::{BUCKET_WORDS, Bucket};
use crate::config::{StoreConfig, StoreError};
use crate::hash::KeyHash;
use crate::index_of::index_of;
use nebula_sys::{
    mem::WordRegion,
    sync::{AtomicUsize, Ordering},
};

pub(crate) struct Index {
    region: WordRegion,
    home_mask: u64,
    extra_buckets: usize,
    extra_buckets_used: AtomicUsize,
}

impl Index {
    pub(crate) fn words_of(config: &StoreConfig) -> usize {
        let (homes, extra_buckets) = Self::buckets_of(config);
        (homes + extra_buckets) * BUCKET_WORDS
    }

    /// Home buckets and extra buckets.
    pub(crate) fn buckets_of(config: &StoreConfig) -> (usize, usize) {
        (config.buckets.max(1).next_power_of_two(), config.extra_buckets)
    }

    pub(crate) fn try_new(config: &StoreConfig) -> Result<WordRegion, StoreError> {
        let region = WordRegion::new(Self::words_of(config), config.pages);
        region.map_err(|cause| StoreError::Memory { what: "index", cause })
    }

    /// The index in `region`: all zeros, or as another store has left it.
    pub(crate) fn of(region: WordRegion, config: &StoreConfig) -> Self {
        let (homes, extra_buckets) = Self::buckets_of(config);
        Self { region, home_mask: homes as u64 - 1, extra_buckets, extra_buckets_used: AtomicUsize::new(0) }
    }

    /// Notes that the first `used` extra buckets are linked, in an index that a store has left.
    #[cfg(not(any(loom, miri)))]
    pub(crate) fn adopt(&self, used: usize) {
        self.extra_buckets_used.store(used, Ordering::Relaxed);
    }

    #[inline]
    pub(crate) fn home(&self, hash: KeyHash) -> &Bucket {
        &self.buckets()[index_of(hash.bucket() & self.home_mask)]
    }

    /// The number of the first word of `hash`'s bucket.
    #[inline]
    pub(crate) fn home_word(&self, hash: KeyHash) -> usize {
        index_of(hash.bucket() & self.home_mask) * BUCKET_WORDS
    }

    /// Takes an extra bucket that no chain has, if one is left.
    pub(crate) fn take_extra(&self) -> Option<usize> {
        let take = |used| (used < self.extra_buckets).then_some(used + 1);
        self.extra_buckets_used.fetch_update(Ordering::Relaxed, Ordering::Relaxed, take).ok()
    }

    pub(crate) fn extra_buckets_used(&self) -> usize {
        self.extra_buckets_used.load(Ordering::Relaxed)
    }

    #[inline]
    fn buckets(&self) -> &[Bucket] {
        self.region.words().as_chunks().0
    }

    pub(crate) fn homes(&self) -> &[Bucket] {
        &self.buckets()[..index_of(self.home_mask) + 1]
    }

    pub(crate) fn words(&self) -> &[nebula_sys::sync::AtomicU64] {
        self.region.words()
    }

    pub(crate) fn pages(&self) -> nebula_sys::mem::Pages {
        self.region.pages()
    }

    /// An extra bucket, or how far behind the last its number is.
    #[inline]
    pub(crate) fn extra(&self, extra: usize) -> Result<&Bucket, usize> {
        let behind = extra.wrapping_sub(self.extra_buckets);
        self.buckets().get(index_of(self.home_mask) + 1 + extra).ok_or(behind)
    }

    pub(crate) fn extra_buckets(&self) -> usize {
        self.extra_buckets
    }
}
