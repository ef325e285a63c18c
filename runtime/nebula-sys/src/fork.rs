//! Whether this process is a fork of the one that made something.
//!
//! The kernel fills a page with zeros in a child (`MADV_WIPEONFORK`, Linux 4.14), so a check is one
//! load. The process has one page, with its number among its ancestors. With a page for each mark,
//! the marks' lines would all fall into one set of a cache.

use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap_anonymous};
use std::io;
use std::ptr::NonNull;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

/// Bytes of the page; a kernel with larger pages maps one whole page.
const PAGE_BYTES: usize = 4096;
const NOBODYS: u64 = u64::MAX;

/// The number of this process; 0 in a fork that has made no mark.
static NUMBER: OnceLock<&'static AtomicU64> = OnceLock::new();
/// The last number taken by this process or an ancestor: a child inherits it.
static TAKEN: AtomicU64 = AtomicU64::new(0);

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
    number: &'static AtomicU64,
    made_in: u64,
}

impl ForkMark {
    /// A mark of this process.
    ///
    /// # Errors
    ///
    /// The kernel's reason: no memory, or a kernel before 4.14.
    pub fn new() -> io::Result<Self> {
        let number = match NUMBER.get() {
            Some(number) => number,
            None => {
                // If two threads meet here, one page stays unused.
                let number = page()?;
                NUMBER.get_or_init(|| number)
            }
        };
        if number.load(Ordering::Relaxed) == 0 {
            let next = TAKEN.fetch_add(1, Ordering::Relaxed) + 1;
            // If another thread was first, its number is this process's.
            let _ = number.compare_exchange(0, next, Ordering::Relaxed, Ordering::Relaxed);
        }
        Ok(Self { number, made_in: number.load(Ordering::Relaxed) })
    }

    /// Whether the mark was made by another process, of which this one is a fork.
    #[must_use]
    #[inline]
    pub fn is_forked(&self) -> bool {
        // Relaxed: the kernel wrote it before this process ran.
        self.number.load(Ordering::Relaxed) != self.made_in
    }

    /// Makes the mark look forked, for tests.
    pub fn wipe(&mut self) {
        self.made_in = NOBODYS;
    }
}

fn page() -> io::Result<&'static AtomicU64> {
    let access = ProtFlags::READ | ProtFlags::WRITE;
    // SAFETY: a new mapping at an address of the kernel's choice replaces nothing.
    let page = unsafe { mmap_anonymous(std::ptr::null_mut(), PAGE_BYTES, access, MapFlags::PRIVATE) }?;
    // SAFETY: only this function has the mapping, which is a whole number of pages.
    unsafe { madvise(page, PAGE_BYTES, Advice::LinuxWipeOnFork) }?;
    let page = NonNull::new(page.cast::<AtomicU64>()).ok_or(io::ErrorKind::OutOfMemory)?;
    // SAFETY: the mapping is aligned to a page, longer than a word, of zeros, and never unmapped; a
    // child has it too. It is accessed only through this reference.
    Ok(unsafe { page.as_ref() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_is_not_inherited() {
        let mark = ForkMark::new().unwrap();
        assert!(!mark.is_forked());
        // SAFETY: the child calls only `_exit`, which is safe after a fork of a process with
        // threads.
        let child = unsafe { libc::fork() };
        if child == 0 {
            let was_forked = mark.is_forked();
            let has_own = ForkMark::new().is_ok_and(|own| !own.is_forked());
            // SAFETY: ends the child at once.
            unsafe { libc::_exit(if was_forked && has_own && mark.is_forked() { 7 } else { 8 }) };
        }
        let mut status = 0;
        // SAFETY: the child is this process's, and `status` is written through a valid pointer.
        assert_eq!(unsafe { libc::waitpid(child, &raw mut status, 0) }, child);
        assert!(libc::WIFEXITED(status));
        assert_eq!(libc::WEXITSTATUS(status), 7);
        assert!(!mark.is_forked() && !ForkMark::new().unwrap().is_forked());
    }
}
