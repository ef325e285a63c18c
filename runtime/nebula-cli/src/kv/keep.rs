//! Items that outlive the process of the store, and the items that a full cache evicts: `--adopt`,
//! `--load`, `--snapshot`, `--eviction`.

use std::fs::File;
use std::io::{BufReader, BufWriter};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use nebula_files::{Sync, check_place, replace};
use nebula_kvs::{Adopted, Eviction, SnapshotError, Store, StoreConfig, StoreOptions, check_snapshot};
use nebula_sys::shared::SharedMemory;

use nebula_ops::or_fail::OrFail;
use nebula_ui::output::Failure;

/// Flags of what a store keeps.
#[derive(Debug, clap::Args)]
pub(crate) struct KeepArgs {
    /// What a full cache evicts: the oldest items, or the oldest of those that were not read
    #[arg(long, value_enum, default_value_t = Evicted::Oldest)]
    eviction: Evicted,
    /// Keep the store's memory in this file, on /dev/shm for instance, and take over what a server
    /// before has left in it. Its sizes must be the same
    #[arg(long, value_name = "FILE")]
    adopt: Option<PathBuf>,
    /// Store the items of this snapshot before serving
    #[arg(long, value_name = "FILE")]
    load: Option<PathBuf>,
    /// Write a snapshot of all items to this file at the end
    #[arg(long, value_name = "FILE")]
    snapshot: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Evicted {
    /// The oldest items
    Oldest,
    /// The oldest items that were not read
    Unread,
}

type Kept = (Store, Option<Arc<SharedMemory>>);

impl KeepArgs {
    /// Creates the store: in its own memory, in the `--adopt` file, or where `is_shared` in memory
    /// that others may read. Loads the snapshot if one is named.
    pub(super) fn begin(
        &self,
        config: StoreConfig,
        options: StoreOptions,
        now: u32,
        is_shared: bool,
    ) -> Result<Kept, Failure> {
        let (store, memory) = self.store(config, options, is_shared)?;
        if let Some(path) = &self.load {
            let loaded = store.load(BufReader::new(open(path)?), now).map_err(|error| named(path, &error))?;
            tracing::info!("loaded {} items from {}; {} had expired", loaded.items, path.display(), loaded.expired);
        }
        Ok((store, memory))
    }

    /// Checks the files, before the store allocates its memory.
    pub(super) fn check(&self) -> Result<(), Failure> {
        self.load.as_deref().map(check).transpose()?;
        self.snapshot.as_deref().map(|path| check_place(path).map_err(cannot_write(path))).transpose()?;
        Ok(())
    }

    pub(super) fn eviction(&self) -> Eviction {
        match self.eviction {
            Evicted::Oldest => Eviction::Oldest,
            Evicted::Unread => Eviction::Unread,
        }
    }

    fn store(&self, config: StoreConfig, options: StoreOptions, is_shared: bool) -> Result<Kept, Failure> {
        if is_shared {
            let (store, memory) = Store::try_shared(config, options).or_fail()?;
            return Ok((store, Some(memory)));
        }
        let Some(path) = &self.adopt else { return Ok((Store::try_with(config, options).or_fail()?, None)) };
        if !path.exists() {
            return Ok((Store::create_in(path, config, options).or_fail()?, None));
        }
        let (store, Adopted { was_clean, items, dropped, released, .. }) =
            Store::adopt(path, config, options).or_fail()?;
        let how = if was_clean { "ended" } else { "was killed" };
        tracing::info!("adopted {items} items from {}; the server before {how}", path.display());
        if dropped + released > 0 {
            tracing::warn!("{dropped} items were half written and dropped; {released} buckets were held");
        }
        Ok((store, None))
    }

    /// Writes the snapshot, if requested. It gets its name when it is complete: until then a file
    /// of that name stays.
    pub(super) fn end(&self, store: &Store) -> Result<(), Failure> {
        let Some(path) = &self.snapshot else { return Ok(()) };
        let written = replace(path, Sync::Now, |file| store.snapshot(BufWriter::new(file)))
            .map_err(|error: SnapshotError| Failure::fault(format!("{}: {error}", path.display())))?;
        tracing::info!("wrote {} items to {}", written.items, path.display());
        Ok(())
    }
}

/// Reads the snapshot to its end: a damaged one is refused as a whole.
fn check(path: &Path) -> Result<(), Failure> {
    check_snapshot(BufReader::new(open(path)?)).map(drop).map_err(|error| named(path, &error))
}

fn open(path: &Path) -> Result<File, Failure> {
    nebula_files::open(path).map_err(|error| Failure::bad_input(format!("cannot read {}: {error}", path.display())))
}

fn named(path: &Path, error: &SnapshotError) -> Failure {
    Failure::bad_input(format!("{}: {error}", path.display()))
}

fn cannot_write(path: &Path) -> impl Fn(std::io::Error) -> Failure {
    move |error| Failure::bad_input(format!("cannot write {}: {error}", path.display()))
}
