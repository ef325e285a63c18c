//! Zero-filled memory on the largest pages that the machine grants.
//!
//! A random access to a gigabyte costs 1.5–2 times as much with 4 KiB pages as with 2 MiB pages,
//! because the page walk misses the caches too. [`WordRegion`] asks for explicit huge pages, then
//! for transparent ones, then for base pages, and reports the result.

use crate::sync::AtomicU64;

/// The pages that back a region.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Pages {
    /// The machine's base pages, usually 4 KiB.
    Base,
    /// Base pages that the kernel was asked to merge into huge ones.
    Transparent,
    /// Pages of 2 MiB from the reserved pool (`/proc/sys/vm/nr_hugepages`).
    Huge2M,
}

impl std::fmt::Display for Pages {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Pages::Base => "base pages",
            Pages::Transparent => "transparent huge pages",
            Pages::Huge2M => "2 MiB huge pages",
        })
    }
}

/// Memory could not be allocated.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MemError {
    /// The kernel refused the mapping.
    #[error("cannot map {bytes} bytes of memory: {cause}; ask for less or free some")]
    Map {
        /// Bytes asked for.
        bytes: usize,
        /// The kernel's reason.
        cause: std::io::Error,
    },
    /// The size is zero, or too large for the address space.
    #[error("cannot map {words} words of memory: the size must be between 1 and {max}", max = isize::MAX as usize / 8)]
    Size {
        /// Words asked for.
        words: usize,
    },
}

/// The size of a huge page in bytes.
pub const HUGE_PAGE_BYTES: usize = 2 << 20;

#[cfg(not(any(loom, miri)))]
pub use mapped::WordRegion;
#[cfg(any(loom, miri))]
pub use on_heap::WordRegion;

#[cfg(not(any(loom, miri)))]
mod mapped {
    use super::{AtomicU64, HUGE_PAGE_BYTES, MemError, Pages};
    use crate::shared::SharedMemory;
    use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap, mmap_anonymous, munmap};
    use std::ptr::NonNull;
    use std::sync::Arc;

    /// A page-aligned array of 64-bit words, in private zero-filled memory or in a file.
    ///
    /// # Examples
    ///
    /// ```
    /// use nebula_sys::{mem::{Pages, WordRegion}, sync::Ordering};
    /// let region = WordRegion::new(1024, Pages::Huge2M)?;
    /// assert_eq!(region.words()[1023].load(Ordering::Relaxed), 0);
    /// # Ok::<(), nebula_sys::mem::MemError>(())
    /// ```
    #[derive(Debug)]
    pub struct WordRegion {
        base: NonNull<AtomicU64>,
        words: usize,
        mapped_bytes: usize,
        pages: Pages,
        /// The shared memory that it is a part of, unless it has its own mapping.
        part_of: Option<Arc<SharedMemory>>,
    }

    // SAFETY: the region owns its mapping, and every access goes through atomics, those of other
    // processes to a file too.
    unsafe impl Send for WordRegion {}
    // SAFETY: as above: `&WordRegion` only gives access to `&[AtomicU64]`.
    unsafe impl Sync for WordRegion {}

    impl WordRegion {
        /// Maps `words` words of zeros on pages as large as `want`, or on smaller ones if the
        /// machine does not grant those.
        ///
        /// # Errors
        ///
        /// [`MemError`] when the size is zero or too large, or the kernel refuses even base pages.
        ///
        /// # Cost
        ///
        /// A few system calls at most; pages are filled on first access.
        pub fn new(words: usize, want: Pages) -> Result<Self, MemError> {
            let bytes = words.checked_mul(8).filter(|&b| b > 0 && b <= isize::MAX as usize - HUGE_PAGE_BYTES);
            let bytes = bytes.ok_or(MemError::Size { words })?;
            if want == Pages::Huge2M && bytes >= HUGE_PAGE_BYTES / 2 {
                let rounded = bytes.next_multiple_of(HUGE_PAGE_BYTES);
                if let Ok(base) = map(rounded, MapFlags::PRIVATE | MapFlags::HUGETLB | MapFlags::HUGE_2MB) {
                    return Ok(Self { base, words, mapped_bytes: rounded, pages: Pages::Huge2M, part_of: None });
                }
            }
            let base = map(bytes, MapFlags::PRIVATE).map_err(|cause| MemError::Map { bytes, cause })?;
            let mut region = Self { base, words, mapped_bytes: bytes, pages: Pages::Base, part_of: None };
            if want != Pages::Base && bytes >= HUGE_PAGE_BYTES && region.advise_huge() {
                region.pages = Pages::Transparent;
            }
            Ok(region)
        }

        /// Maps `words` words of `file` from byte `offset` on, shared with other processes.
        ///
        /// Use files that only this user can write: a process that shrinks the file ends this one
        /// with SIGBUS at its next access.
        ///
        /// # Errors
        ///
        /// [`MemError`] when the size is zero or too large, the file too short, `offset` not on a
        /// page, or the kernel refuses.
        ///
        /// # Cost
        ///
        /// Some system calls.
        pub fn of_file(file: &std::fs::File, offset: u64, words: usize) -> Result<Self, MemError> {
            let bytes = words.checked_mul(8).filter(|&bytes| bytes > 0 && bytes <= isize::MAX as usize);
            let bytes = bytes.ok_or(MemError::Size { words })?;
            let refused = |cause: std::io::Error| MemError::Map { bytes, cause };
            let file_bytes = file.metadata().map_err(refused)?.len();
            if offset.checked_add(bytes as u64).is_none_or(|end| end > file_bytes) {
                return Err(refused(std::io::Error::other("the file is too short")));
            }
            let access = ProtFlags::READ | ProtFlags::WRITE;
            // SAFETY: a null hint lets the kernel choose an unused range; the file is as long as
            // what is mapped of it.
            let base = unsafe { mmap(std::ptr::null_mut(), bytes, access, MapFlags::SHARED, file, offset) };
            let base = NonNull::new(base.map_err(|cause| refused(cause.into()))?.cast());
            let base = base.ok_or_else(|| refused(std::io::Error::other("mapped at address zero")))?;
            let mut region = Self { base, words, mapped_bytes: bytes, pages: Pages::Base, part_of: None };
            if bytes >= HUGE_PAGE_BYTES && region.advise_huge() {
                region.pages = Pages::Transparent;
            }
            Ok(region)
        }

        /// The `words` words from byte `offset` on of memory that other processes may map too.
        ///
        /// # Errors
        ///
        /// [`MemError`] when `words` is zero, the range not inside, or `offset` no multiple of 64.
        pub fn of_shared(memory: Arc<SharedMemory>, offset: usize, words: usize) -> Result<Self, MemError> {
            let end = words.checked_mul(8).and_then(|bytes| bytes.checked_add(offset));
            let is_inside = words > 0 && offset.is_multiple_of(64) && end.is_some_and(|end| end <= memory.bytes());
            let part = memory.words().get(offset / 8..).filter(|_| is_inside).ok_or(MemError::Size { words })?;
            let base = NonNull::from(part).cast();
            Ok(Self { base, words, mapped_bytes: 0, pages: Pages::Base, part_of: Some(memory) })
        }

        fn advise_huge(&self) -> bool {
            // SAFETY: the range is this region's own mapping; MADV_HUGEPAGE changes no contents.
            unsafe { madvise(self.base.as_ptr().cast(), self.mapped_bytes, Advice::LinuxHugepage) }.is_ok()
        }

        /// The words of the region.
        #[inline]
        #[must_use]
        pub fn words(&self) -> &[AtomicU64] {
            // SAFETY: the mapping is `words` words long, aligned to a line at least, zero-filled or
            // whatever a file has (both valid AtomicU64s), and lives as long as `self`, which holds
            // the shared memory that it may be a part of.
            unsafe { std::slice::from_raw_parts(self.base.as_ptr(), self.words) }
        }

        /// The pages that were granted.
        #[must_use]
        pub fn pages(&self) -> Pages {
            self.pages
        }
    }

    impl Drop for WordRegion {
        fn drop(&mut self) {
            if self.part_of.is_some() {
                return;
            }
            // SAFETY: the mapping is this region's own and no reference into it outlives `self`.
            let _ = unsafe { munmap(self.base.as_ptr().cast(), self.mapped_bytes) };
        }
    }

    fn map(bytes: usize, flags: MapFlags) -> Result<NonNull<AtomicU64>, std::io::Error> {
        // SAFETY: a null hint lets the kernel choose an unused range, so no existing mapping is
        // touched.
        let base = unsafe { mmap_anonymous(std::ptr::null_mut(), bytes, ProtFlags::READ | ProtFlags::WRITE, flags) }?;
        NonNull::new(base.cast()).ok_or_else(|| std::io::Error::other("mapped at address zero"))
    }
}

#[cfg(any(loom, miri))]
mod on_heap {
    use super::{AtomicU64, MemError, Pages};

    /// The words on the heap, under loom and Miri, which do not support `mmap`.
    #[derive(Debug)]
    pub struct WordRegion {
        words: Vec<AtomicU64>,
    }

    impl WordRegion {
        /// Allocates `words` words of zeros.
        ///
        /// # Errors
        ///
        /// [`MemError::Size`] when `words` is zero.
        pub fn new(words: usize, _want: Pages) -> Result<Self, MemError> {
            if words == 0 {
                return Err(MemError::Size { words });
            }
            Ok(Self { words: (0..words).map(|_| AtomicU64::new(0)).collect() })
        }

        /// The words of the region.
        #[must_use]
        pub fn words(&self) -> &[AtomicU64] {
            &self.words
        }

        /// The pages that were granted.
        #[must_use]
        pub fn pages(&self) -> Pages {
            Pages::Base
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::sync::Ordering;

    #[test]
    fn every_kind_of_page_starts_as_zeros_and_keeps_what_is_written() {
        for want in [Pages::Base, Pages::Transparent, Pages::Huge2M] {
            let region = WordRegion::new(300_000, want).unwrap();
            assert!(region.pages() <= want);
            let words = region.words();
            assert_eq!(words.len(), 300_000);
            assert!(words.iter().step_by(4099).all(|w| w.load(Ordering::Relaxed) == 0));
            words[299_999].store(7, Ordering::Relaxed);
            assert_eq!(words[299_999].load(Ordering::Relaxed), 7);
        }
    }

    #[test]
    #[cfg(not(miri))]
    fn two_mappings_of_a_file_are_the_same_words() {
        let file = crate::file::try_create_anonymous(8192).unwrap();
        let [one, two] = [0, 4096].map(|offset| WordRegion::of_file(&file, offset, 512).unwrap());
        two.words()[0].store(7, Ordering::Relaxed);
        let whole = WordRegion::of_file(&file, 0, 1024).unwrap();
        assert_eq!(whole.words()[512].load(Ordering::Relaxed), 7);
        assert_eq!(one.words()[0].load(Ordering::Relaxed), 0);
        assert!(WordRegion::of_file(&file, 4096, 513).is_err(), "beyond its end");
        assert!(WordRegion::of_file(&file, 8, 8).is_err(), "not on a page");
    }

    #[test]
    #[cfg(not(miri))]
    fn a_part_of_shared_memory_is_the_same_words_and_keeps_them() {
        let memory = std::sync::Arc::new(crate::shared::SharedMemory::create_open("test", 4096).unwrap());
        let part = WordRegion::of_shared(memory.clone(), 64, 8).unwrap();
        memory.words()[8].store(7, Ordering::Relaxed);
        drop(memory);
        assert_eq!((part.words().len(), part.words()[0].load(Ordering::Relaxed)), (8, 7));
        let memory = std::sync::Arc::new(crate::shared::SharedMemory::create_open("test", 4096).unwrap());
        for (offset, words) in [(0, 513), (4096, 1), (8, 1), (0, 0), (64, usize::MAX)] {
            assert!(WordRegion::of_shared(memory.clone(), offset, words).is_err(), "{words} at {offset}");
        }
    }

    #[test]
    fn impossible_sizes_are_refused() {
        assert!(matches!(WordRegion::new(0, Pages::Base), Err(MemError::Size { words: 0 })));
        #[cfg(not(miri))]
        assert!(matches!(WordRegion::new(usize::MAX, Pages::Base), Err(MemError::Size { .. })));
    }
}
