//! Two adjacent words at a time, with the guarantees of two relaxed atomic accesses: the basis of
//! copies and searches on x86-64.

use std::arch::{asm, x86_64::__m128i};

pub(crate) const PAIR_BYTES: usize = 16;

/// Loads 16 bytes that other threads may be writing, as two relaxed atomic 8-byte loads.
///
/// # Safety
///
/// The 16 bytes must be readable, and all concurrent accesses to them must be atomic.
#[inline(always)]
pub(crate) unsafe fn load(from: *const u8) -> __m128i {
    let value;
    // SAFETY: the caller guarantees that the bytes are readable. Inline assembly keeps the compiler
    // from assuming that they do not change; each aligned 8-byte half of the access is single-copy
    // atomic on x86-64.
    unsafe {
        asm!("movdqu {value}, [{from}]", from = in(reg) from, value = out(xmm_reg) value,
            options(nostack, preserves_flags, readonly));
    }
    value
}

/// Stores 16 bytes that other threads may access, as two relaxed atomic 8-byte stores.
///
/// # Safety
///
/// The 16 bytes must be writable, and all concurrent accesses to them must be atomic.
#[inline(always)]
pub(crate) unsafe fn store(to: *mut u8, value: __m128i) {
    // SAFETY: as in `load`.
    unsafe {
        asm!("movdqu [{to}], {value}", to = in(reg) to, value = in(xmm_reg) value,
            options(nostack, preserves_flags));
    }
}
