//! A store in memory that clients may read: a map, then index and log.

use crate::index_of::index_of;
use crate::{
    NoProbe, Store, StoreConfig, StoreError, StoreOptions,
    index::Index,
    log::{Cut, Log},
    remote::{INDEX_AT, RemoteMap},
    state::State,
    writers::Writers,
};
use nebula_sys::{mem::WordRegion, shared::SharedMemory, window};
use std::sync::Arc;

impl Store {
    /// A store in memory that others may map or read with [`RemoteGet`](crate::RemoteGet): a client
    /// that may read it can read all items. Their reads do not count for
    /// [`Eviction`](crate::Eviction).
    pub fn try_shared(config: StoreConfig, options: StoreOptions) -> Result<(Self, Arc<SharedMemory>), StoreError> {
        config.check()?;
        let cut = Cut::of(config.log_bytes, config.mode);
        let (index_words, log_words) = (Index::words_of(&config), Log::words_of(cut));
        let log_at = (INDEX_AT + index_words as u64 * 8).next_multiple_of(4096);
        let bytes = index_of(log_at) + log_words * 8;
        let memory = SharedMemory::create_open("nebula-store", bytes.next_multiple_of(64));
        let memory = Arc::new(memory.map_err(|cause| StoreError::Shared { bytes, cause })?);
        let part = |what, at: u64, words| {
            let region = WordRegion::of_shared(memory.clone(), index_of(at), words);
            region.map_err(|cause| StoreError::Memory { what, cause })
        };
        let regions = [State::try_new()?, part("index", INDEX_AT, index_words)?, part("log", log_at, log_words)?];
        let store = Self::of(regions, &config, options, Writers::Many, None, NoProbe);
        let log = (log_at, cut.log_bytes() as u64);
        let map = RemoteMap::new(Index::buckets_of(&config), log, store.log.lap_bits(), config.mode);
        window::store(memory.words(), 0, &map.encode());
        Ok((store, memory))
    }
}
