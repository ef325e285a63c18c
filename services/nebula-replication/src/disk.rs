//! The log, the vote and the snapshot of a replica: one `redb` file.
//!
//! | table | what it holds |
//! |---|---|
//! | `log` | index → entry |
//! | `facts` | the vote, the last entry that was purged, the last that is known to be committed, the snapshot's generation |
//! | `snapshot` | (generation, number) → chunk |
//!
//! **Policy of fsync:** a vote and the entries of an append are on disk (one transaction, one
//! fsync) before the caller hears of them. Records that only save work after a restart (commits,
//! purges) wait for the next such transaction.

use std::fmt::Debug;
use std::io;
use std::ops::{Bound, RangeBounds};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use openraft::storage::{LogFlushed, RaftLogStorage};
use openraft::{AnyError, Entry, LogId, LogState, OptionalSend, RaftLogReader, StorageError, StorageIOError, Vote};
use redb::{Database, Durability, ReadableDatabase, ReadableTable, StorageBackend, TableDefinition, WriteTransaction};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::command::Kv;

const LOG: TableDefinition<'_, u64, &[u8]> = TableDefinition::new("log");
const FACTS: TableDefinition<'_, &str, &[u8]> = TableDefinition::new("facts");
const SNAPSHOT: TableDefinition<'_, (u64, u64), &[u8]> = TableDefinition::new("snapshot");

const VOTE: &str = "vote";
const PURGED: &str = "purged";
const COMMITTED: &str = "committed";
const GENERATION: &str = "generation";

/// One transaction writes this much of a snapshot, so that appends come in between.
const CHUNK_BYTES: usize = 1 << 20;

/// A replica's file could not be opened, read or written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DiskError {
    /// `redb` failed: the file is in use, damaged, or the disk is full.
    #[error("cannot use the replica's log: {0}")]
    Database(Box<redb::Error>),
    /// A record does not decode.
    #[error("a record of the replica's log is damaged: {0}")]
    Record(postcard::Error),
}

impl<E: Into<redb::Error>> From<E> for DiskError {
    fn from(error: E) -> Self {
        Self::Database(Box::new(error.into()))
    }
}

#[derive(Clone, Copy, Serialize, Deserialize)]
struct Kept {
    generation: u64,
    /// Of its last entry.
    index: u64,
}

/// The file of a replica. Clones share it.
#[derive(Clone, Debug)]
pub struct Disk {
    database: Arc<Database>,
    /// Written with the next append.
    committed: Arc<Mutex<Option<LogId<u64>>>>,
    /// One snapshot is written at a time.
    keeping: Arc<Mutex<()>>,
    /// The most bytes of entries in one message to a follower, unless one entry has more.
    append_bytes_max: usize,
}

impl Disk {
    /// Opens the file at `path`, or creates it.
    ///
    /// # Errors
    ///
    /// [`DiskError`].
    pub fn open(path: &Path) -> Result<Self, DiskError> {
        Self::of(Database::create(path)?)
    }

    /// As [`open`](Self::open), on the caller's backend, such as memory.
    ///
    /// # Errors
    ///
    /// [`DiskError`].
    pub fn open_on(backend: impl StorageBackend) -> Result<Self, DiskError> {
        Self::of(Database::builder().create_with_backend(backend)?)
    }

    fn of(database: Database) -> Result<Self, DiskError> {
        let disk = Self {
            database: Arc::new(database),
            committed: Arc::default(),
            keeping: Arc::default(),
            append_bytes_max: 48 << 10,
        };
        disk.change(Durability::Immediate, |change| {
            change.open_table(LOG)?;
            change.open_table(FACTS)?;
            change.open_table(SNAPSHOT)?;
            Ok(())
        })?;
        Ok(disk)
    }

    fn change<T>(
        &self,
        durability: Durability,
        change: impl FnOnce(&WriteTransaction) -> Result<T, DiskError>,
    ) -> Result<T, DiskError> {
        let mut transaction = self.database.begin_write()?;
        transaction.set_durability(durability)?;
        let changed = change(&transaction)?;
        transaction.commit()?;
        Ok(changed)
    }

    fn fact<T: DeserializeOwned>(&self, name: &str) -> Result<Option<T>, DiskError> {
        let facts = self.database.begin_read()?.open_table(FACTS)?;
        facts.get(name)?.map(|bytes| decoded(bytes.value())).transpose()
    }

    fn entries(&self, range: impl RangeBounds<u64>, bytes_max: usize) -> Result<Vec<Entry<Kv>>, DiskError> {
        let log = self.database.begin_read()?.open_table(LOG)?;
        let bounds: (Bound<u64>, Bound<u64>) = (range.start_bound().cloned(), range.end_bound().cloned());
        let (mut entries, mut bytes) = (Vec::new(), 0);
        for found in log.range::<u64>(bounds)? {
            let (_, entry) = found?;
            bytes += entry.value().len();
            if bytes > bytes_max && !entries.is_empty() {
                break;
            }
            entries.push(decoded(entry.value())?);
        }
        Ok(entries)
    }

    fn append_all(&self, entries: impl IntoIterator<Item = Entry<Kv>>) -> Result<(), DiskError> {
        let committed = *self.committed.lock().unwrap_or_else(PoisonError::into_inner);
        self.change(Durability::Immediate, |change| {
            let mut log = change.open_table(LOG)?;
            for entry in entries {
                log.insert(entry.log_id.index, &*encoded(&entry)?)?;
            }
            if committed.is_some() {
                put(change, COMMITTED, &committed)?;
            }
            Ok(())
        })
    }

    fn state(&self) -> Result<LogState<Kv>, DiskError> {
        let purged: Option<LogId<u64>> = self.fact(PURGED)?;
        let log = self.database.begin_read()?.open_table(LOG)?;
        let last = match log.last()? {
            Some((_, bytes)) => Some(decoded::<Entry<Kv>>(bytes.value())?.log_id),
            None => purged,
        };
        Ok(LogState { last_purged_log_id: purged, last_log_id: last })
    }

    pub(crate) fn snapshot(&self) -> Result<Option<Vec<u8>>, DiskError> {
        let Some(Kept { generation, .. }) = self.fact(GENERATION)? else { return Ok(None) };
        let chunks = self.database.begin_read()?.open_table(SNAPSHOT)?;
        let mut bytes = Vec::new();
        for chunk in chunks.range((generation, 0)..=(generation, u64::MAX))? {
            bytes.extend_from_slice(chunk?.1.value());
        }
        Ok(Some(bytes))
    }

    /// Replaces the snapshot by that of the state after entry `index`; the old one stays until the
    /// new one is on disk. A snapshot of an earlier state changes nothing: a leader has sent a
    /// later one meanwhile.
    pub(crate) fn keep_snapshot(&self, index: u64, bytes: &[u8]) -> Result<(), DiskError> {
        let _alone = self.keeping.lock().unwrap_or_else(PoisonError::into_inner);
        let before = self.fact::<Kept>(GENERATION)?;
        if before.is_some_and(|before| before.index > index) {
            return Ok(());
        }
        let generation = before.map_or(0, |before| before.generation + 1);
        // Left by an attempt that did not end.
        self.drop_snapshots(|kept| kept >= generation)?;
        for (number, chunk) in bytes.chunks(CHUNK_BYTES).enumerate() {
            self.change(Durability::None, |change| {
                change.open_table(SNAPSHOT)?.insert((generation, number as u64), chunk)?;
                Ok(())
            })?;
        }
        self.change(Durability::Immediate, |change| put(change, GENERATION, &Kept { generation, index }))?;
        self.drop_snapshots(|kept| kept < generation)
    }

    fn drop_snapshots(&self, is_old: impl Fn(u64) -> bool) -> Result<(), DiskError> {
        self.change(Durability::None, |change| {
            change.open_table(SNAPSHOT)?.retain(|(generation, _), _| !is_old(generation))?;
            Ok(())
        })
    }
}

fn encoded(record: &impl Serialize) -> Result<Vec<u8>, DiskError> {
    postcard::to_allocvec(record).map_err(DiskError::Record)
}

fn decoded<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, DiskError> {
    postcard::from_bytes(bytes).map_err(DiskError::Record)
}

fn put(change: &WriteTransaction, name: &str, fact: &impl Serialize) -> Result<(), DiskError> {
    change.open_table(FACTS)?.insert(name, &*encoded(fact)?)?;
    Ok(())
}

fn reading(error: &DiskError) -> StorageError<u64> {
    StorageIOError::read_logs(AnyError::new(error)).into()
}

fn writing(error: &DiskError) -> StorageError<u64> {
    StorageIOError::write_logs(AnyError::new(error)).into()
}

impl RaftLogReader<Kv> for Disk {
    async fn try_get_log_entries<R: RangeBounds<u64> + Clone + Debug + OptionalSend>(
        &mut self,
        range: R,
    ) -> Result<Vec<Entry<Kv>>, StorageError<u64>> {
        self.entries(range, usize::MAX).map_err(|error| reading(&error))
    }

    async fn limited_get_log_entries(&mut self, start: u64, end: u64) -> Result<Vec<Entry<Kv>>, StorageError<u64>> {
        self.entries(start..end, self.append_bytes_max).map_err(|error| reading(&error))
    }
}

impl RaftLogStorage<Kv> for Disk {
    type LogReader = Self;

    async fn get_log_state(&mut self) -> Result<LogState<Kv>, StorageError<u64>> {
        self.state().map_err(|error| reading(&error))
    }

    async fn get_log_reader(&mut self) -> Self {
        self.clone()
    }

    async fn save_vote(&mut self, vote: &Vote<u64>) -> Result<(), StorageError<u64>> {
        let saved = self.change(Durability::Immediate, |change| put(change, VOTE, vote));
        saved.map_err(|error| StorageIOError::write_vote(AnyError::new(&error)).into())
    }

    async fn read_vote(&mut self) -> Result<Option<Vote<u64>>, StorageError<u64>> {
        self.fact(VOTE).map_err(|error| StorageIOError::read_vote(AnyError::new(&error)).into())
    }

    async fn save_committed(&mut self, committed: Option<LogId<u64>>) -> Result<(), StorageError<u64>> {
        *self.committed.lock().unwrap_or_else(PoisonError::into_inner) = committed;
        Ok(())
    }

    async fn read_committed(&mut self) -> Result<Option<LogId<u64>>, StorageError<u64>> {
        let unwritten = *self.committed.lock().unwrap_or_else(PoisonError::into_inner);
        let written = self.fact::<Option<LogId<u64>>>(COMMITTED).map_err(|error| reading(&error))?;
        Ok(unwritten.or(written.flatten()))
    }

    async fn append<I>(&mut self, entries: I, flushed: LogFlushed<Kv>) -> Result<(), StorageError<u64>>
    where
        I: IntoIterator<Item = Entry<Kv>> + OptionalSend,
        I::IntoIter: OptionalSend,
    {
        let appended = self.append_all(entries);
        flushed.log_io_completed(appended.as_ref().map(drop).map_err(|error| io::Error::other(error.to_string())));
        appended.map_err(|error| writing(&error))
    }

    async fn truncate(&mut self, since: LogId<u64>) -> Result<(), StorageError<u64>> {
        let truncated = self.change(Durability::Immediate, |change| {
            change.open_table(LOG)?.retain_in(since.index.., |_, _| false)?;
            Ok(())
        });
        truncated.map_err(|error| writing(&error))
    }

    async fn purge(&mut self, upto: LogId<u64>) -> Result<(), StorageError<u64>> {
        let purged = self.change(Durability::None, |change| {
            put(change, PURGED, &upto)?;
            change.open_table(LOG)?.retain_in(..=upto.index, |_, _| false)?;
            Ok(())
        });
        purged.map_err(|error| writing(&error))
    }
}
