//! The state machine: committed writes, applied to a `nebula-kvs` store, and its snapshots.
//!
//! **Invariant:** a write's effect depends on the writes before it alone, never on how a replica's
//! store lies in memory. So the machine counts the room ([`Room`]), and the store has more. If the
//! store still refuses an item, the replica stops rather than differ.

use std::io::Cursor;
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard};

use nebula_kvs::{Mode, Store, StoreConfig, StoreError, check_snapshot};
use openraft::storage::RaftStateMachine;
use openraft::{
    AnyError, BasicNode, Entry, EntryPayload, LogId, OptionalSend, RaftSnapshotBuilder, Snapshot, SnapshotMeta,
    StorageError, StorageIOError, StoredMembership,
};
use serde::{Deserialize, Serialize};

use crate::command::{Kv, Outcome, Write};
use crate::disk::Disk;

/// The room of a replicated store. All replicas must have the same: others refuse to speak with one
/// that differs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Room {
    /// The most items.
    pub items_max: u64,
    /// The longest value, in bytes.
    pub value_bytes_max: u32,
}

impl Room {
    /// Bytes of keys and values of all items together, each rounded up to whole lines.
    fn bytes_max(self) -> u64 {
        self.items_max * charge(KEY_BYTES, self.value_bytes_max as usize)
    }

    /// A store in which fragments and long keys never exhaust that room.
    fn config(self) -> StoreConfig {
        let items = self.items_max.max(64) * 2;
        let config = StoreConfig::for_items(items, KEY_BYTES, self.value_bytes_max as usize);
        StoreConfig { mode: Mode::Store, extra_buckets: config.buckets / 2 + 64, ..config }
    }
}

/// The key length that room is calculated for; longer keys take more.
const KEY_BYTES: usize = 16;
const LINE_BYTES: u64 = 64;
const HEADER_BYTES: u64 = 16;

fn charge(key_bytes: usize, value_bytes: usize) -> u64 {
    (HEADER_BYTES + key_bytes as u64 + value_bytes as u64).next_multiple_of(LINE_BYTES)
}

/// The store for readers.
#[derive(Clone)]
pub struct Replicated {
    store: Arc<Store>,
    /// Readers hold it to read; a snapshot that replaces all items to write.
    replaced: Arc<RwLock<()>>,
}

impl std::fmt::Debug for Replicated {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Replicated").field("items", &self.store.stats().items).finish_non_exhaustive()
    }
}

impl Replicated {
    /// The store; no snapshot replaces it while the guard lives.
    pub(crate) fn read(&self) -> (RwLockReadGuard<'_, ()>, &Store) {
        (self.replaced.read().unwrap_or_else(PoisonError::into_inner), &self.store)
    }

    /// The value of a key at this replica, which may lag behind the leader's: no linearizable read.
    #[must_use]
    pub fn get_here(&self, key: &[u8]) -> Option<Vec<u8>> {
        let (_guard, store) = self.read();
        let mut value = Vec::new();
        store.get(Store::hash(key), key, &mut value).then_some(value)
    }

    /// The counters of the store.
    #[must_use]
    pub fn stats(&self) -> nebula_kvs::Stats {
        self.store.stats()
    }
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Facts {
    applied: Option<LogId<u64>>,
    membership: StoredMembership<u64, BasicNode>,
    items: u64,
    bytes: u64,
}

impl Facts {
    fn meta(&self) -> SnapshotMeta<u64, BasicNode> {
        let id = self.applied.map_or_else(|| "empty".to_owned(), |applied| applied.to_string());
        SnapshotMeta { last_log_id: self.applied, last_membership: self.membership.clone(), snapshot_id: id }
    }
}

/// A replica's state machine.
pub struct Machine {
    replicated: Replicated,
    disk: Disk,
    room: Room,
    facts: Facts,
}

/// A replica's state could not be restored from its file.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MachineError {
    /// The store could not be created.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The file could not be read.
    #[error(transparent)]
    Disk(#[from] crate::disk::DiskError),
    /// The snapshot does not decode.
    #[error("the replica's snapshot is damaged: {0}; remove the replica, delete its folder and add it again")]
    Facts(#[from] postcard::Error),
    /// The items of the snapshot do not decode.
    #[error("the replica's snapshot is damaged: {0}; remove the replica, delete its folder and add it again")]
    Items(#[from] nebula_kvs::SnapshotError),
}

impl Machine {
    /// The state of the last snapshot on `disk`, or the empty one.
    ///
    /// # Errors
    ///
    /// [`MachineError`].
    pub fn open(disk: Disk, room: Room) -> Result<Self, MachineError> {
        let store = Arc::new(Store::try_new(room.config())?);
        let replicated = Replicated { store, replaced: Arc::default() };
        let mut machine = Self { replicated, disk, room, facts: Facts::default() };
        if let Some(bytes) = machine.disk.snapshot()? {
            machine.restore(&bytes)?;
        }
        Ok(machine)
    }

    /// The store for readers.
    #[must_use]
    pub fn replicated(&self) -> Replicated {
        self.replicated.clone()
    }

    fn restore(&mut self, bytes: &[u8]) -> Result<(), MachineError> {
        let (facts, items) = postcard::take_from_bytes::<Facts>(bytes)?;
        // All or nothing.
        check_snapshot(items)?;
        let replaced = self.replicated.replaced.write().unwrap_or_else(PoisonError::into_inner);
        self.replicated.store.flush_all(0, 0);
        self.replicated.store.load(items, 0)?;
        drop(replaced);
        self.facts = facts;
        Ok(())
    }

    fn encoded(&self) -> Result<Vec<u8>, MachineError> {
        let mut bytes = postcard::to_allocvec(&self.facts)?;
        self.replicated.store.snapshot(&mut bytes)?;
        Ok(bytes)
    }

    fn apply_one(&mut self, write: &Write) -> Result<Outcome, nebula_kvs::SetError> {
        match write {
            Write::Set { key, value } => self.set(key, value),
            Write::Delete { key } => Ok(self.delete(key)),
        }
    }

    fn set(&mut self, key: &[u8], value: &[u8]) -> Result<Outcome, nebula_kvs::SetError> {
        let before = self.charged(key);
        let items = self.facts.items + u64::from(before.is_none());
        let bytes = self.facts.bytes - before.unwrap_or(0) + charge(key.len(), value.len());
        let is_too_long = value.len() > self.room.value_bytes_max as usize;
        if is_too_long || items > self.room.items_max || bytes > self.room.bytes_max() {
            return Ok(Outcome::Full);
        }
        self.replicated.store.set(Store::hash(key), key, value)?;
        (self.facts.items, self.facts.bytes) = (items, bytes);
        Ok(Outcome::Done)
    }

    fn delete(&mut self, key: &[u8]) -> Outcome {
        let Some(charged) = self.charged(key) else { return Outcome::NotFound };
        self.replicated.store.delete(Store::hash(key), key);
        self.facts.items -= 1;
        self.facts.bytes -= charged;
        Outcome::Done
    }

    fn charged(&self, key: &[u8]) -> Option<u64> {
        let mut value = Vec::new();
        let is_there = self.replicated.store.get(Store::hash(key), key, &mut value);
        is_there.then(|| charge(key.len(), value.len()))
    }
}

fn index_of(meta: &SnapshotMeta<u64, BasicNode>) -> u64 {
    meta.last_log_id.map_or(0, |last| last.index)
}

/// A snapshot to be kept.
pub struct Taken {
    disk: Disk,
    meta: SnapshotMeta<u64, BasicNode>,
    encoded: Result<Vec<u8>, MachineError>,
}

impl RaftSnapshotBuilder<Kv> for Taken {
    async fn build_snapshot(&mut self) -> Result<Snapshot<Kv>, StorageError<u64>> {
        let failed = |error: AnyError| StorageIOError::write_snapshot(Some(self.meta.signature()), error);
        let encoded = self.encoded.as_ref().map_err(|error| failed(AnyError::new(error)))?;
        self.disk.keep_snapshot(index_of(&self.meta), encoded).map_err(|error| failed(AnyError::new(&error)))?;
        Ok(Snapshot { meta: self.meta.clone(), snapshot: Box::new(Cursor::new(encoded.clone())) })
    }
}

impl RaftStateMachine<Kv> for Machine {
    type SnapshotBuilder = Taken;

    async fn applied_state(
        &mut self,
    ) -> Result<(Option<LogId<u64>>, StoredMembership<u64, BasicNode>), StorageError<u64>> {
        Ok((self.facts.applied, self.facts.membership.clone()))
    }

    async fn apply<I>(&mut self, entries: I) -> Result<Vec<Vec<Outcome>>, StorageError<u64>>
    where
        I: IntoIterator<Item = Entry<Kv>> + OptionalSend,
        I::IntoIter: OptionalSend,
    {
        let mut outcomes = Vec::new();
        for entry in entries {
            let log_id = entry.log_id;
            let done = match entry.payload {
                EntryPayload::Blank => Ok(Vec::new()),
                EntryPayload::Normal(writes) => writes.iter().map(|write| self.apply_one(write)).collect(),
                EntryPayload::Membership(membership) => {
                    self.facts.membership = StoredMembership::new(Some(log_id), membership);
                    Ok(Vec::new())
                }
            };
            outcomes.push(done.map_err(|error| StorageIOError::apply(log_id, AnyError::new(&error)))?);
            self.facts.applied = Some(log_id);
        }
        Ok(outcomes)
    }

    /// Copies the items while no entry is applied: a snapshot is of one moment.
    async fn get_snapshot_builder(&mut self) -> Taken {
        Taken { disk: self.disk.clone(), meta: self.facts.meta(), encoded: self.encoded() }
    }

    async fn begin_receiving_snapshot(&mut self) -> Result<Box<Cursor<Vec<u8>>>, StorageError<u64>> {
        Ok(Box::default())
    }

    async fn install_snapshot(
        &mut self,
        meta: &SnapshotMeta<u64, BasicNode>,
        snapshot: Box<Cursor<Vec<u8>>>,
    ) -> Result<(), StorageError<u64>> {
        let failed = |error: AnyError| StorageIOError::read_snapshot(Some(meta.signature()), error);
        let bytes = snapshot.into_inner();
        self.restore(&bytes).map_err(|error| failed(AnyError::new(&error)))?;
        self.disk.keep_snapshot(index_of(meta), &bytes).map_err(|error| failed(AnyError::new(&error)))?;
        Ok(())
    }

    async fn get_current_snapshot(&mut self) -> Result<Option<Snapshot<Kv>>, StorageError<u64>> {
        let failed = |error: AnyError| StorageIOError::read_snapshot(None, error);
        let kept = self.disk.snapshot().map_err(|error| failed(AnyError::new(&error)))?;
        let Some(bytes) = kept else { return Ok(None) };
        let (facts, _) = postcard::take_from_bytes::<Facts>(&bytes).map_err(|error| failed(AnyError::new(&error)))?;
        Ok(Some(Snapshot { meta: facts.meta(), snapshot: Box::new(Cursor::new(bytes)) }))
    }
}
