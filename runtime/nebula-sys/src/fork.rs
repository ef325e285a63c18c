//! Whether this process is a fork of the one in which something was made.
//!
//! A page that the kernel gives to a child filled with zeros (`MADV_WIPEONFORK`, Linux 4.14) says
//! so: what a look costs is one load. There is one page for the process, with its number among its
//! ancestors: a page a mark would be a line a mark, all of which meet in one set of a cache.

use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap_anonymous};
use std::io;
use std::ptr::NonNull;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

/// Bytes of the page: on kernels with larger pages, the whole page is taken.
const PAGE_BYTES: usize = 4096;
/// What no process has for its number.
const NOBODYS: u64 = u64::MAX;

/// The number of this process; 0 in a fork that has not made a mark.
static NUMBER: OnceLock<&'static AtomicU64> = OnceLock::new();
/// Numbers that this process and its ancestors have taken: a child inherits the count.
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
    /// The number of the process that made it.
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
                // Where two threads meet here, one page is left unused.
                let number = page()?;
                NUMBER.get_or_init(|| number)
            }
        };
        if number.load(Ordering::Relaxed) == 0 {
            let next = TAKEN.fetch_add(1, Ordering::Relaxed) + 1;
            // Another thread may have been first: then its number is this process's.
            let _ = number.compare_exchange(0, next, Ordering::Relaxed, Ordering::Relaxed);
        }
        Ok(Self { number, made_in: number.load(Ordering::Relaxed) })
    }

    /// Whether the mark was made by another process, of which this one is a fork.
    #[must_use]
    #[inline]
    pub fn is_forked(&self) -> bool {
        // Relaxed: the kernel has written it before this process ran.
        self.number.load(Ordering::Relaxed) != self.made_in
    }

    /// Makes the mark what a fork finds, for tests of what a fork must not do.
    pub fn wipe(&mut self) {
        self.made_in = NOBODYS;
    }
}

/// A page for as long as the process lives, of zeros in each child.
fn page() -> io::Result<&'static AtomicU64> {
    let access = ProtFlags::READ | ProtFlags::WRITE;
    // SAFETY: a new mapping at an address of the kernel's choice replaces nothing.
    let page = unsafe { mmap_anonymous(std::ptr::null_mut(), PAGE_BYTES, access, MapFlags::PRIVATE) }?;
    // SAFETY: the mapping is nobody else's, and a whole number of pages.
    unsafe { madvise(page, PAGE_BYTES, Advice::LinuxWipeOnFork) }?;
    let page = NonNull::new(page.cast::<AtomicU64>()).ok_or(io::ErrorKind::OutOfMemory)?;
    // SAFETY: the mapping is aligned to a page, longer than a word, of zeros, and never unmapped;
    // in a child it is there too. Nobody accesses it but through this reference.
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
