//! A store's memory in a file: its header, and whether it fits.
//!
//! ```text
//! page 0    magic | version | layout | home buckets | extra buckets | log bytes | segment granules | mode | check
//!           | condition | boot 2 | content     then the store's state
//! then      index, then log, each from a page on
//! ```
//! The check covers the words before it. The condition is *begun* until the file is complete, *in
//! use* while a process has it, *clean* once that has ended orderly. The machine's boot is there
//! because a file on a disk may, after a crash of the machine, have some pages and not others. The
//! content is a check of all else, of memory that is clean: while a process has it, each word may
//! change at any moment, so what a killed process leaves has none.

use crate::bucket::BUCKET_WORDS;
use crate::config::{StoreConfig, StoreError};
use crate::hash::KeyHash;
use crate::index::Index;
use crate::index_of::index_of;
use crate::item::GRANULE_BYTES;
use crate::log::{Cut, Log};
use crate::meta::META_WORDS;
use crate::mode::Mode;
use crate::state::STATE_WORDS;
use nebula_files::{Others, check_owner};
use nebula_sys::{
    file,
    mem::WordRegion,
    sync::{AtomicU64, Ordering},
};
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

const MAGIC: u64 = u64::from_be_bytes(*b"NEBULAKV");
/// Changes with the meaning of the words.
const VERSION: u64 = 2;
const PAGE_BYTES: u64 = 4096;

const CHECK: usize = 8;
const CONDITION: usize = 9;
const BOOT: usize = 10;
const CONTENT: usize = 12;
/// Where the state begins, behind the header.
const STATE_BYTE: u64 = 128;
/// The content is checked in blocks, by all cores.
const BLOCK_BYTES: u64 = 1 << 20;

const BEGUN: u64 = 0;
const IN_USE: u64 = 1;
const CLEAN: u64 = 2;

/// The file of a store's memory, and the lock on it.
pub(crate) struct Home {
    /// Locked until it is closed.
    file: File,
    /// The store's header, mapped again: it is marked clean when the store is dropped.
    header: WordRegion,
}

impl Drop for Home {
    fn drop(&mut self) {
        let words = self.header.words();
        // Without its check the memory is as if the process had been killed.
        if let Ok(content) = content(&self.file) {
            words[CONTENT].store(content, Ordering::Relaxed);
            // Release: all earlier writes are in the memory that the next process finds clean.
            words[CONDITION].store(CLEAN, Ordering::Release);
        }
    }
}

/// Regions of a store in a file.
pub(crate) struct Mapped {
    pub(crate) regions: [WordRegion; 3],
    pub(crate) home: Home,
    /// Whether the process before ended orderly.
    pub(crate) was_clean: bool,
}

/// A file, as messages name it.
struct Named<'a>(&'a Path);

impl Named<'_> {
    fn path(&self) -> String {
        self.0.display().to_string()
    }

    fn failed(&self, step: &'static str) -> impl Fn(io::Error) -> StoreError {
        let path = self.path();
        move |cause| match cause.kind() {
            io::ErrorKind::WouldBlock => StoreError::InUse { path: path.clone() },
            _ => StoreError::File { step, path: path.clone(), cause },
        }
    }

    fn unfit(&self, why: &'static str) -> StoreError {
        StoreError::Unfit { path: self.path(), why }
    }
}

/// The layout besides the geometry; another program's may differ.
fn layout() -> u64 {
    let sizes = [BUCKET_WORDS, GRANULE_BYTES, META_WORDS, STATE_WORDS, cfg!(target_endian = "big") as usize];
    let hash = KeyHash::of(b"nebula").0;
    sizes.iter().fold(hash, |mixed, &size| KeyHash::of(&[mixed.to_le_bytes(), size.to_le_bytes()].concat()).0)
}

fn geometry(config: &StoreConfig) -> [(&'static str, u64); CHECK] {
    let (homes, extra_buckets) = Index::buckets_of(config);
    let cut = Cut::of(config.log_bytes, config.mode);
    [
        ("magic", MAGIC),
        ("version", VERSION),
        ("layout", layout()),
        ("buckets", homes as u64),
        ("extra buckets", extra_buckets as u64),
        ("log bytes", cut.log_bytes() as u64),
        ("segment granules", cut.segment_granules()),
        ("mode", u64::from(config.mode == Mode::Store)),
    ]
}

fn check_of(words: &[u64]) -> u64 {
    let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    KeyHash::of(&bytes).0
}

fn parts(config: &StoreConfig) -> [usize; 3] {
    [STATE_WORDS, Index::words_of(config), Log::words_of(Cut::of(config.log_bytes, config.mode))].map(|words| words * 8)
}

fn map(named: &Named<'_>, file: &File, config: &StoreConfig) -> Result<[WordRegion; 3], StoreError> {
    let mut offset = 0;
    let mut regions = Vec::new();
    for (bytes, what) in parts(config).into_iter().zip(["state", "index", "log"]) {
        let region = WordRegion::of_file(file, offset, bytes / 8);
        regions.push(region.map_err(|cause| StoreError::Memory { what, cause })?);
        offset += (bytes as u64).next_multiple_of(PAGE_BYTES);
    }
    regions.try_into().map_err(|_| named.unfit("it has not three parts"))
}

fn file_bytes(config: &StoreConfig) -> u64 {
    parts(config).iter().map(|&bytes| (bytes as u64).next_multiple_of(PAGE_BYTES)).sum()
}

fn boot(named: &Named<'_>) -> Result<[u64; 2], StoreError> {
    let id = file::boot_id().map_err(named.failed("learn when the machine was started, for"))?;
    Ok([KeyHash::of(id.as_bytes()).0, id.len() as u64])
}

fn take(file: File, regions: [WordRegion; 3], was_clean: bool) -> Result<Mapped, StoreError> {
    let header = WordRegion::of_file(&file, 0, STATE_WORDS);
    let header = header.map_err(|cause| StoreError::Memory { what: "state", cause })?;
    header.words()[CONDITION].store(IN_USE, Ordering::Release);
    Ok(Mapped { regions, home: Home { file, header }, was_clean })
}

pub(crate) fn create(path: &Path, config: &StoreConfig) -> Result<Mapped, StoreError> {
    let named = Named(path);
    let boot = boot(&named)?;
    let file = file::create_alone(path, file_bytes(config)).map_err(named.failed("create"))?;
    let regions = map(&named, &file, config)?;
    let words = regions[0].words();
    let store = |at: usize, word: u64| words[at].store(word, Ordering::Relaxed);
    let geometry = geometry(config).map(|(_, word)| word);
    geometry.iter().enumerate().for_each(|(at, &word)| store(at, word));
    store(CHECK, check_of(&geometry));
    store(BOOT, boot[0]);
    store(BOOT + 1, boot[1]);
    take(file, regions, true)
}

/// Maps the file that another process has left, if it fits.
pub(crate) fn open(path: &Path, config: &StoreConfig) -> Result<Mapped, StoreError> {
    let named = Named(path);
    let file = file::open_alone(path).map_err(named.failed("open"))?;
    let about = file.metadata().map_err(named.failed("measure"))?;
    let bytes = about.len();
    if !about.is_file() || bytes < PAGE_BYTES {
        return Err(StoreError::NotAStore { path: named.path() });
    }
    // A user who can write it could shorten it at any time, which would end this process.
    check_owner(&about, Others::MayRead).map_err(|exposed| named.unfit(exposed.why()))?;
    let header = WordRegion::of_file(&file, 0, STATE_WORDS);
    let header = header.map_err(|cause| StoreError::Memory { what: "state", cause })?;
    let condition = check(&named, header.words(), config)?;
    if bytes != file_bytes(config) {
        return Err(named.unfit("the file is not as long as its sizes say"));
    }
    let found = header.words()[CONTENT].load(Ordering::Relaxed);
    if condition == CLEAN && content(&file).map_err(named.failed("read"))? != found {
        return Err(named.unfit("it is not as it was left: it is damaged"));
    }
    let regions = map(&named, &file, config)?;
    take(file, regions, condition == CLEAN)
}

/// The check of everything but the header. Reads the file instead of its mapping, which would end
/// this process if the file were shortened meanwhile.
fn content(file: &File) -> io::Result<u64> {
    let blocks = file.metadata()?.len().saturating_sub(PAGE_BYTES).div_ceil(BLOCK_BYTES);
    let threads = std::thread::available_parallelism().map_or(1, |cores| cores.get() as u64);
    let mut state = [0; STATE_WORDS * 8 - index_of(STATE_BYTE)];
    file.read_exact_at(&mut state, STATE_BYTE)?;
    std::thread::scope(|scope| {
        let of_some = |first| scope.spawn(move || checks_of(file, (first..blocks).step_by(index_of(threads))));
        let running: Vec<_> = (0..threads.min(blocks)).map(of_some).collect();
        running.into_iter().try_fold(check_of_block(blocks, &state), |sum, one| {
            let checks = one.join().map_err(|_| io::Error::other("a thread that reads it has ended"))?;
            Ok(sum.wrapping_add(checks?))
        })
    })
}

/// The sum of the checks of these blocks behind the first page.
fn checks_of(file: &File, mut blocks: impl Iterator<Item = u64>) -> io::Result<u64> {
    let bytes = file.metadata()?.len();
    let mut block = vec![0; index_of(BLOCK_BYTES)];
    blocks.try_fold(0_u64, |sum, number| {
        let from = PAGE_BYTES + number * BLOCK_BYTES;
        let block = &mut block[..index_of(bytes.saturating_sub(from).min(BLOCK_BYTES))];
        file.read_exact_at(block, from)?;
        Ok(sum.wrapping_add(check_of_block(number, block)))
    })
}

fn check_of_block(number: u64, block: &[u8]) -> u64 {
    KeyHash::of(&[number.to_le_bytes(), u64::from(crc32c::crc32c(block)).to_le_bytes()].concat()).0
}

/// Checks the header; returns the condition in which the memory was left.
fn check(named: &Named<'_>, words: &[AtomicU64], config: &StoreConfig) -> Result<u64, StoreError> {
    let word = |at: usize| words[at].load(Ordering::Acquire);
    if word(0) != MAGIC {
        return Err(StoreError::NotAStore { path: named.path() });
    }
    if word(1) != VERSION || word(2) != layout() {
        return Err(named.unfit("another version of this program has left it"));
    }
    let found: Vec<u64> = (0..CHECK).map(word).collect();
    if word(CHECK) != check_of(&found) {
        return Err(named.unfit("its check does not match: it is damaged"));
    }
    for ((what, expected), got) in geometry(config).into_iter().zip(found) {
        if expected != got {
            return Err(StoreError::Geometry { path: named.path(), what, expected, got });
        }
    }
    if boot(named)? != [word(BOOT), word(BOOT + 1)] {
        return Err(named.unfit("the machine was started since; a snapshot outlives that"));
    }
    match word(CONDITION) {
        BEGUN => Err(named.unfit("its process ended before it was complete")),
        condition => Ok(condition),
    }
}
