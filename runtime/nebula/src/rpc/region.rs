//! Memory that a server registers for one-sided operations, and its owner's access to it.

use nebula_nic::{AccessRefusal, Rights};
use nebula_sys::shared::{SharedError, SharedMemory};
use nebula_sys::sync::AtomicU64;
use nebula_sys::window;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Memory that a server registers, so that clients read and write it without a worker.
///
/// Clones are the same memory. Every aligned word of 8 bytes is read and written atomically; a
/// longer range may mix the bytes of several writers. To read an object consistently, give it a
/// version word: see [`write_whole`](Self::write_whole).
///
/// # Examples
///
/// ```
/// use nebula::Region;
///
/// let region = Region::create(4096)?;
/// region.write(100, b"hello")?;
/// let mut read = [0; 5];
/// region.read(100, &mut read)?;
/// assert_eq!(&read, b"hello");
/// assert!(region.read(4092, &mut read).is_err(), "beyond its end");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Region {
    memory: Arc<SharedMemory>,
    base: usize,
    bytes: usize,
}

impl Region {
    /// A region of `bytes` zeros, a positive multiple of 64.
    ///
    /// # Errors
    ///
    /// [`SharedError`]: the length is invalid, or memory allocation failed.
    pub fn create(bytes: usize) -> Result<Self, SharedError> {
        Ok(Self::of(Arc::new(SharedMemory::create_open("nebula-region", bytes)?)))
    }

    /// All of `memory` as a region. Clients may map it only if it was [created
    /// open](SharedMemory::create_open).
    #[must_use]
    pub fn of(memory: Arc<SharedMemory>) -> Self {
        let bytes = memory.bytes();
        Self { memory, base: 0, bytes }
    }

    /// The `bytes` bytes from `from` on as a region. Clients cannot map it: its memory has more.
    ///
    /// # Errors
    ///
    /// [`AccessRefusal::Bounds`] if they are not inside this region, [`AccessRefusal::Unaligned`]
    /// if `from` is not a multiple of 8.
    pub fn part(&self, from: usize, bytes: usize) -> Result<Self, AccessRefusal> {
        let base = self.place(from, bytes)?;
        if !from.is_multiple_of(8) {
            return Err(AccessRefusal::Unaligned);
        }
        Ok(Self { memory: self.memory.clone(), base, bytes })
    }

    /// Its length, in bytes.
    #[must_use]
    pub const fn bytes(&self) -> usize {
        self.bytes
    }

    /// Copies `into.len()` bytes from `at` on.
    ///
    /// # Errors
    ///
    /// [`AccessRefusal::Bounds`].
    pub fn read(&self, at: usize, into: &mut [u8]) -> Result<(), AccessRefusal> {
        window::load(self.words(), self.place(at, into.len())?, into);
        Ok(())
    }

    /// Writes `bytes` from `at` on.
    ///
    /// # Errors
    ///
    /// [`AccessRefusal::Bounds`].
    pub fn write(&self, at: usize, bytes: &[u8]) -> Result<(), AccessRefusal> {
        window::store(self.words(), self.place(at, bytes.len())?, bytes);
        Ok(())
    }

    /// Writes an object under the version word at `version_at`, so that
    /// [`Client::read_whole`](crate::Client::read_whole) reads either the old or the new object.
    /// Waits while another thread does the same.
    ///
    /// # Errors
    ///
    /// [`AccessRefusal::Bounds`], and [`AccessRefusal::Unaligned`] if `version_at` is not a
    /// multiple of 8.
    pub fn write_whole(&self, version_at: usize, at: usize, bytes: &[u8]) -> Result<(), AccessRefusal> {
        let (version, place) = (self.word(version_at)?, self.place(at, bytes.len())?);
        window::store_whole(self.words(), version, place, bytes);
        Ok(())
    }

    /// Replaces the word at `at` by `desired` if it is `expected`; returns the old word.
    ///
    /// # Errors
    ///
    /// [`AccessRefusal::Bounds`], and [`AccessRefusal::Unaligned`] if `at` is not a multiple of 8.
    pub fn compare_swap(&self, at: usize, expected: u64, desired: u64) -> Result<u64, AccessRefusal> {
        Ok(window::compare_swap(self.words(), self.word(at)?, expected, desired))
    }

    fn place(&self, at: usize, bytes: usize) -> Result<usize, AccessRefusal> {
        let is_inside = at <= self.bytes && bytes <= self.bytes - at;
        if is_inside { Ok(self.base + at) } else { Err(AccessRefusal::Bounds) }
    }

    fn word(&self, at: usize) -> Result<usize, AccessRefusal> {
        if at.is_multiple_of(8) { self.place(at, 8) } else { Err(AccessRefusal::Unaligned) }
    }

    #[inline]
    pub(crate) fn words(&self) -> &[AtomicU64] {
        self.memory.words()
    }

    pub(crate) const fn base(&self) -> usize {
        self.base
    }

    /// The memory, if the region is all of it.
    pub(crate) fn whole(&self) -> Option<&SharedMemory> {
        let is_all = self.bytes == self.memory.bytes();
        is_all.then_some(&self.memory)
    }
}

impl std::fmt::Debug for Region {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Region").field("base", &self.base).field("bytes", &self.bytes).finish_non_exhaustive()
    }
}

/// A region that a server registers, and its clients' rights.
#[derive(Clone, Debug)]
pub struct Registered {
    pub(crate) region: Region,
    pub(crate) rights: Rights,
    is_revoked: Arc<AtomicBool>,
}

impl Registered {
    /// `region`, with `rights`.
    #[must_use]
    pub fn new(region: Region, rights: Rights) -> Self {
        Self { region, rights, is_revoked: Arc::default() }
    }

    /// The memory and whether clients may map it for writing. `None` if they may not map it, or the
    /// kernel cannot enforce their rights.
    pub(crate) fn mapped(&self) -> Option<(&SharedMemory, bool)> {
        let may_write = self.rights.has(Rights::WRITE);
        let memory = self.region.whole().filter(|_| self.rights.has(Rights::MAP | Rights::READ))?;
        memory.seal(may_write).then_some((memory, may_write))
    }

    pub(crate) fn revoke(&self) {
        self.is_revoked.store(true, Ordering::Release);
    }

    #[inline]
    pub(crate) fn is_revoked(&self) -> bool {
        self.is_revoked.load(Ordering::Acquire)
    }
}
