//! Hints that a cache line will be accessed soon: the software half of NEBULA's payload steering
//! (§V-B) and of group prefetching. A hint only affects timing; an invalid index is ignored.

use crate::sync::AtomicU64;

/// Words in a cache line of 64 bytes.
pub const LINE_WORDS: usize = 8;

/// Hints that the line of `words[index]` will be read soon.
///
/// # Cost
///
/// One instruction and a bounds check; at most one line fill.
#[inline(always)]
pub fn read(words: &[AtomicU64], index: usize) {
    if let Some(word) = words.get(index) {
        hint_read(std::ptr::from_ref(word).cast());
    }
}

/// Hints that the line of `words[index]` will be written soon: fetches it in a writable state.
///
/// # Cost
///
/// As [`read`].
#[inline(always)]
pub fn write(words: &[AtomicU64], index: usize) {
    if let Some(word) = words.get(index) {
        hint_write(std::ptr::from_ref(word).cast());
    }
}

/// Hints that the lines holding `bytes` bytes from `words[index]` on will be read soon.
///
/// # Cost
///
/// One instruction per line.
#[inline(always)]
pub fn read_lines(words: &[AtomicU64], index: usize, bytes: usize) {
    let last = index + bytes.saturating_sub(1) / 8;
    let mut at = index;
    while at < last {
        read(words, at);
        at += LINE_WORDS;
    }
    read(words, last);
}

/// Hints that the lines of `bytes` will be read soon.
///
/// # Cost
///
/// One instruction per line.
#[inline(always)]
pub fn read_bytes(bytes: &[u8]) {
    for line in bytes.chunks(64) {
        hint_read(line.as_ptr());
    }
}

#[inline(always)]
fn hint_read(line: *const u8) {
    #[cfg(all(target_arch = "x86_64", not(any(miri, loom))))]
    // SAFETY: a prefetch is a hint: it reads nothing into the program and cannot fault.
    unsafe {
        std::arch::x86_64::_mm_prefetch::<{ std::arch::x86_64::_MM_HINT_T0 }>(line.cast());
    }
    #[cfg(not(all(target_arch = "x86_64", not(any(miri, loom)))))]
    let _ = line;
}

#[inline(always)]
fn hint_write(line: *const u8) {
    #[cfg(all(target_arch = "x86_64", not(any(miri, loom))))]
    // SAFETY: a prefetch is a hint: it changes no memory and cannot fault; x86-64 processors
    // without the instruction run it as a no-op.
    unsafe {
        std::arch::asm!("prefetchw [{}]", in(reg) line, options(nostack, preserves_flags, readonly));
    }
    #[cfg(not(all(target_arch = "x86_64", not(any(miri, loom)))))]
    let _ = line;
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_hint_outside_the_slice_is_ignored() {
        let words = [const { AtomicU64::new(0) }; 3];
        read(&words, 3);
        write(&words, usize::MAX);
        read_lines(&words, 2, 4096);
        read_lines(&words, 0, 0);
    }
}
