//! Whether this process is a fork of the one in which something was made.
//!
//! A page that the kernel gives to a child filled with zeros (`MADV_WIPEONFORK`, Linux 4.14) says so: what a look costs is one load.

use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap_anonymous, munmap};
use std::ffi::c_void;
use std::io;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering};

/// Bytes of the page: on kernels with larger pages, the whole page is taken.
const PAGE_BYTES: usize = 4096;

/// A mark that a fork does not inherit.
///
/// # Examples
///
/// ```
/// let mark = nebula_sys::fork::ForkMark::new()?;
/// assert!(!mark.is_forked());
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug)]
pub struct ForkMark {
    page: NonNull<AtomicU64>,
}

// SAFETY: the page is written once, before it is shared, and read atomically after that; a mark owns it until it is dropped.
unsafe impl Send for ForkMark {}
// SAFETY: as above.
unsafe impl Sync for ForkMark {}

impl ForkMark {
    /// A mark of this process.
    ///
    /// # Errors
    ///
    /// The kernel's reason: no memory, or a kernel before 4.14.
    pub fn new() -> io::Result<Self> {
        let access = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: a new mapping at an address of the kernel's choice replaces nothing.
        let page = unsafe { mmap_anonymous(std::ptr::null_mut(), PAGE_BYTES, access, MapFlags::PRIVATE) }?;
        let page = NonNull::new(page).ok_or(io::ErrorKind::OutOfMemory)?;
        let mark = Self { page: page.cast() };
        // SAFETY: the mapping is this mark's alone, and a whole number of pages.
        unsafe { madvise(page.as_ptr(), PAGE_BYTES, Advice::LinuxWipeOnFork) }?;
        mark.word().store(1, Ordering::Relaxed);
        Ok(mark)
    }

    fn word(&self) -> &AtomicU64 {
        // SAFETY: the mapping is aligned to a page, longer than a word, and lives as long as the mark; in a child it is there too, as zeros.
        unsafe { self.page.as_ref() }
    }

    /// Whether the mark was made by another process, of which this one is a fork.
    #[must_use]
    #[inline]
    pub fn is_forked(&self) -> bool {
        // Relaxed: the kernel has written it before this process ran.
        self.word().load(Ordering::Relaxed) == 0
    }
}

impl ForkMark {
    /// Makes the mark what a fork finds, for tests of what a fork must not do.
    pub fn wipe(&self) {
        self.word().store(0, Ordering::Relaxed);
    }
}

impl Drop for ForkMark {
    fn drop(&mut self) {
        // SAFETY: the mapping is this mark's, and nothing refers to it any more.
        let _ = unsafe { munmap(self.page.as_ptr().cast::<c_void>(), PAGE_BYTES) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_is_not_inherited() {
        let mark = ForkMark::new().unwrap();
        assert!(!mark.is_forked());
        // SAFETY: the child calls only `_exit`, which is safe after a fork of a process with threads.
        let child = unsafe { libc::fork() };
        if child == 0 {
            // SAFETY: ends the child at once.
            unsafe { libc::_exit(if mark.is_forked() { 7 } else { 8 }) };
        }
        let mut status = 0;
        // SAFETY: the child is this process's, and `status` is written through a valid pointer.
        assert_eq!(unsafe { libc::waitpid(child, &raw mut status, 0) }, child);
        assert!(libc::WIFEXITED(status));
        assert_eq!(libc::WEXITSTATUS(status), 7);
        assert!(!mark.is_forked());
    }
}
