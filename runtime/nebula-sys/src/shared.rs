//! Memory shared by two processes, sealed against shrinking.
//!
//! One side creates a memfd and seals its size; the other receives the descriptor over a Unix
//! socket and maps it only if the seals hold. Without seals, a peer could shrink the file, and the
//! next access would end this process with SIGBUS. The memory has no name: the kernel frees it when
//! the last process that maps it ends, for any reason.

use crate::{
    mem::HUGE_PAGE_BYTES,
    sync::{AtomicU64, Ordering},
    window,
};
use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, fcntl_get_seals, fstat, ftruncate, memfd_create};
use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap, munmap};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::ptr::NonNull;

/// Shared memory could not be created or mapped.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SharedError {
    /// A system call failed.
    #[error("cannot {step} shared memory of {bytes} bytes: {cause}")]
    System {
        /// The operation that failed.
        step: &'static str,
        /// Bytes asked for.
        bytes: usize,
        /// The kernel's reason.
        cause: std::io::Error,
    },
    /// The size is zero or not a multiple of 64 bytes.
    #[error("shared memory of {bytes} bytes: the size must be a multiple of 64 and above zero")]
    Size {
        /// Bytes asked for.
        bytes: usize,
    },
    /// The peer's object does not have the size announced in the handshake.
    #[error("the peer's shared memory has {got} bytes where the handshake announced {expected}")]
    SizeDisagrees {
        /// Bytes that the handshake announced.
        expected: usize,
        /// Actual bytes of the object.
        got: u64,
    },
    /// The peer could still change the object's size.
    #[error("the peer's shared memory is not sealed against shrinking: refused")]
    NotSealed,
}

/// A mapping of memory that another process also maps.
///
/// # Examples
///
/// ```
/// use nebula_sys::{shared::SharedMemory, sync::Ordering};
/// let mine = SharedMemory::create("example", 4096)?;
/// let theirs = SharedMemory::open(mine.fd().try_clone_to_owned().unwrap(), 4096)?;
/// mine.words()[5].store(7, Ordering::Release);
/// assert_eq!(theirs.words()[5].load(Ordering::Acquire), 7);
/// # Ok::<(), nebula_sys::shared::SharedError>(())
/// ```
#[derive(Debug)]
pub struct SharedMemory {
    base: NonNull<AtomicU64>,
    bytes: usize,
    fd: Option<OwnedFd>,
}

// SAFETY: the value owns the mapping, and every access is atomic.
unsafe impl Send for SharedMemory {}
// SAFETY: as above.
unsafe impl Sync for SharedMemory {}

const SEALS: SealFlags = SealFlags::SHRINK.union(SealFlags::GROW).union(SealFlags::SEAL);

impl SharedMemory {
    /// Creates `bytes` zero bytes, shared by sending [`fd`](Self::fd) to the peer. `label` appears
    /// in `/proc/PID/maps`.
    ///
    /// # Errors
    ///
    /// [`SharedError::Size`] unless `bytes` is a positive multiple of 64; [`SharedError::System`]
    /// when the kernel refuses.
    pub fn create(label: &str, bytes: usize) -> Result<Self, SharedError> {
        Self::create_sealed(label, bytes, SEALS)
    }

    /// Maps the memory behind a descriptor that a peer sent.
    ///
    /// # Errors
    ///
    /// [`SharedError::NotSealed`] when its size could still change, [`SharedError::SizeDisagrees`]
    /// when it is not `bytes` bytes long, [`SharedError::System`] when the kernel refuses.
    pub fn open(fd: OwnedFd, bytes: usize) -> Result<Self, SharedError> {
        check_peers(&fd, bytes)?;
        Self::map(fd, bytes)
    }

    /// Creates `bytes` zero bytes that other processes can only read, through [`ReadOnlyMemory`].
    pub fn create_published(label: &str, bytes: usize) -> Result<Self, SharedError> {
        Self::create_sealed(label, bytes, SEALS | SealFlags::FUTURE_WRITE)
    }

    /// Creates `bytes` zero bytes of fixed size. [`seal`](Self::seal) decides later whether other
    /// processes may write them.
    pub fn create_open(label: &str, bytes: usize) -> Result<Self, SharedError> {
        Self::create_sealed(label, bytes, SealFlags::SHRINK | SealFlags::GROW)
    }

    /// Fixes whether other processes may map the memory for writing; returns whether that is so. An
    /// earlier decision stays.
    pub fn seal(&self, may_write: bool) -> bool {
        let wanted = if may_write { SealFlags::SEAL } else { SealFlags::SEAL | SealFlags::FUTURE_WRITE };
        let _ = fcntl_add_seals(self.fd(), wanted);
        let seals = fcntl_get_seals(self.fd()).unwrap_or(SealFlags::empty());
        seals.contains(SEALS) && seals.contains(SealFlags::FUTURE_WRITE) != may_write
    }

    fn create_sealed(label: &str, bytes: usize, seals: SealFlags) -> Result<Self, SharedError> {
        check_size(bytes)?;
        let fail = |step| move |cause: rustix::io::Errno| SharedError::System { step, bytes, cause: cause.into() };
        let fd = memfd_create(label, MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING).map_err(fail("create"))?;
        ftruncate(&fd, bytes as u64).map_err(fail("size"))?;
        let memory = Self::map(fd, bytes)?;
        fcntl_add_seals(memory.fd(), seals).map_err(fail("seal"))?;
        Ok(memory)
    }

    fn map(fd: OwnedFd, bytes: usize) -> Result<Self, SharedError> {
        let base = map_shared(fd.as_fd(), bytes, ProtFlags::READ | ProtFlags::WRITE)?;
        if bytes >= HUGE_PAGE_BYTES {
            // SAFETY: the range was mapped just above; the advice changes no contents and may be
            // refused.
            let _ = unsafe { madvise(base.as_ptr().cast(), bytes, Advice::LinuxHugepage) };
        }
        Ok(Self { base, bytes, fd: Some(fd) })
    }

    /// Closes the descriptor; the memory stays mapped. Descriptors are scarce in a process that
    /// shares memory with many others.
    pub fn close_fd(&mut self) {
        self.fd = None;
    }

    /// The memory as words, which the peer may change at any moment.
    #[inline]
    #[must_use]
    pub fn words(&self) -> &[AtomicU64] {
        // SAFETY: the mapping is `bytes` bytes long, page-aligned, initialized (zeros or whatever
        // the peer wrote, all valid for AtomicU64), and lives as long as `self`; both processes
        // access it atomically.
        unsafe { std::slice::from_raw_parts(self.base.as_ptr(), self.bytes / 8) }
    }

    /// The descriptor to send to the peer.
    ///
    /// # Panics
    ///
    /// After [`close_fd`](Self::close_fd).
    #[must_use]
    pub fn fd(&self) -> BorrowedFd<'_> {
        self.fd.as_ref().expect("the descriptor was closed").as_fd()
    }

    /// Bytes mapped.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.bytes
    }
}

/// Maps memory that is sealed at `bytes` bytes, or about to be.
fn map_shared(fd: BorrowedFd<'_>, bytes: usize, access: ProtFlags) -> Result<NonNull<AtomicU64>, SharedError> {
    // SAFETY: a null hint lets the kernel choose an unused range; the object is sealed at `bytes`
    // bytes, so the mapping stays backed.
    let base = unsafe { mmap(std::ptr::null_mut(), bytes, access, MapFlags::SHARED, fd, 0) };
    let base = base.ok().and_then(|base| NonNull::new(base.cast::<AtomicU64>()));
    base.ok_or_else(|| SharedError::System { step: "map", bytes, cause: std::io::Error::last_os_error() })
}

impl Drop for SharedMemory {
    fn drop(&mut self) {
        // SAFETY: the mapping is this value's own and no reference into it outlives `self`.
        let _ = unsafe { munmap(self.base.as_ptr().cast(), self.bytes) };
    }
}

/// Memory that another process writes and this process can only read.
#[derive(Debug)]
pub struct ReadOnlyMemory {
    base: NonNull<AtomicU64>,
    bytes: usize,
}

// SAFETY: the value owns the mapping and only ever loads from it, atomically.
unsafe impl Send for ReadOnlyMemory {}
// SAFETY: as above.
unsafe impl Sync for ReadOnlyMemory {}

impl ReadOnlyMemory {
    /// Maps the memory behind a descriptor that a peer sent, read-only.
    ///
    /// # Errors
    ///
    /// As [`SharedMemory::open`].
    pub fn open(fd: impl AsFd, bytes: usize) -> Result<Self, SharedError> {
        check_peers(fd.as_fd(), bytes)?;
        let base = map_shared(fd.as_fd(), bytes, ProtFlags::READ)?;
        Ok(Self { base, bytes })
    }

    /// The word at `index`, or `None` past the end.
    #[inline]
    #[must_use]
    pub fn load(&self, index: usize) -> Option<u64> {
        // SAFETY: the index is inside the mapping, which is readable, aligned and lives as long as
        // `self`; a 64-bit load from read-only memory is a plain load on every 64-bit target.
        (index < self.bytes / 8).then(|| unsafe { (*self.base.as_ptr().add(index)).load(Ordering::Acquire) })
    }

    /// Copies `into.len()` bytes from byte `offset` on; `false` where they are not all there.
    #[inline]
    #[must_use]
    pub fn read(&self, offset: usize, into: &mut [u8]) -> bool {
        let is_inside = self.has(offset, into.len());
        if is_inside {
            window::load(self.words(), offset, into);
        }
        is_inside
    }

    /// As [`window::load_whole`]: the bytes' version, or `None` if inconsistent or outside.
    #[inline]
    #[must_use]
    pub fn read_whole(&self, version_at: usize, offset: usize, into: &mut [u8]) -> Option<u64> {
        let is_inside = self.has(offset, into.len()) && self.has(version_at, 8) && version_at.is_multiple_of(8);
        if is_inside { window::load_whole(self.words(), version_at, offset, into) } else { None }
    }

    /// Bytes mapped.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    #[inline]
    fn has(&self, offset: usize, bytes: usize) -> bool {
        offset <= self.bytes && bytes <= self.bytes - offset
    }

    /// The memory as words, which must not be stored to.
    #[inline]
    fn words(&self) -> &[AtomicU64] {
        // SAFETY: the mapping is `bytes` bytes long, page-aligned, initialized and lives as long as
        // `self`; the other process accesses it atomically, and this one only loads, in the
        // functions above.
        unsafe { std::slice::from_raw_parts(self.base.as_ptr(), self.bytes / 8) }
    }
}

impl Drop for ReadOnlyMemory {
    fn drop(&mut self) {
        // SAFETY: the mapping is this value's own, and no reference into it is ever returned.
        let _ = unsafe { munmap(self.base.as_ptr().cast(), self.bytes) };
    }
}

fn check_size(bytes: usize) -> Result<(), SharedError> {
    if bytes == 0 || !bytes.is_multiple_of(64) || bytes > isize::MAX as usize {
        return Err(SharedError::Size { bytes });
    }
    Ok(())
}

fn check_peers(fd: impl AsFd, bytes: usize) -> Result<(), SharedError> {
    check_size(bytes)?;
    let fail = |cause: rustix::io::Errno| SharedError::System { step: "check", bytes, cause: cause.into() };
    let seals = fcntl_get_seals(fd.as_fd()).map_err(fail)?;
    if !seals.contains(SEALS) {
        return Err(SharedError::NotSealed);
    }
    let got = u64::try_from(fstat(fd).map_err(fail)?.st_size).unwrap_or(0);
    if got != bytes as u64 {
        return Err(SharedError::SizeDisagrees { expected: bytes, got });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_object_that_could_shrink_is_refused() {
        let fd = memfd_create("test", MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING).unwrap();
        ftruncate(&fd, 4096).unwrap();
        assert!(matches!(SharedMemory::open(fd, 4096), Err(SharedError::NotSealed)));
    }

    #[test]
    fn a_size_that_disagrees_is_refused() {
        let mine = SharedMemory::create("test", 4096).unwrap();
        let fd = mine.fd().try_clone_to_owned().unwrap();
        assert!(matches!(SharedMemory::open(fd, 8192), Err(SharedError::SizeDisagrees { expected: 8192, got: 4096 })));
    }

    #[test]
    fn the_peer_cannot_shrink_sealed_memory() {
        let mine = SharedMemory::create("test", 4096).unwrap();
        assert!(ftruncate(mine.fd(), 64).is_err());
        mine.words()[511].store(1, Ordering::Relaxed);
        assert_eq!(mine.words()[511].load(Ordering::Relaxed), 1);
    }

    #[test]
    fn sizes_that_are_not_whole_cache_lines_are_refused() {
        for bytes in [0, 63, 100] {
            assert!(matches!(SharedMemory::create("test", bytes), Err(SharedError::Size { .. })));
        }
    }

    #[test]
    fn open_memory_is_sealed_once_for_readers_or_for_writers() {
        let fd = |memory: &SharedMemory| memory.fd().try_clone_to_owned().unwrap();
        let readable = SharedMemory::create_open("test", 64).unwrap();
        assert!(readable.seal(false) && !readable.seal(true) && readable.seal(false));
        readable.words()[1].store(3, Ordering::Release);
        let theirs = ReadOnlyMemory::open(readable.fd(), 64).unwrap();
        let mut read = [0; 9];
        assert!(theirs.read(7, &mut read) && read == [0, 3, 0, 0, 0, 0, 0, 0, 0]);
        assert!(!theirs.read(56, &mut read) && !theirs.read(usize::MAX, &mut read));
        assert_eq!((theirs.read_whole(0, 8, &mut read), read[0]), (Some(0), 3));
        assert_eq!((theirs.read_whole(8, 0, &mut read), theirs.read_whole(64, 0, &mut read)), (None, None));
        assert!(SharedMemory::open(fd(&readable), 64).is_err(), "mapped for writing");
        let writable = SharedMemory::create_open("test", 64).unwrap();
        assert!(writable.seal(true) && !writable.seal(false));
        SharedMemory::open(fd(&writable), 64).unwrap().words()[1].store(3, Ordering::Release);
        assert_eq!(writable.words()[1].load(Ordering::Acquire), 3);
    }

    #[test]
    fn published_memory_is_read_and_not_written_by_others() {
        let mine = SharedMemory::create_published("test", 64).unwrap();
        mine.words()[7].store(3, Ordering::Release);
        let theirs = ReadOnlyMemory::open(mine.fd(), 64).unwrap();
        assert_eq!((theirs.load(7), theirs.load(8)), (Some(3), None));
        assert!(SharedMemory::open(mine.fd().try_clone_to_owned().unwrap(), 64).is_err(), "mapped for writing");
    }
}
