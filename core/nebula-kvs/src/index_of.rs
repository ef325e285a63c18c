//! A count of things in memory as an index.

const _: () = assert!(usize::BITS == 64, "positions and sizes are 64 bits wide");

#[expect(clippy::cast_possible_truncation, reason = "usize has 64 bits, as asserted above")]
#[inline]
pub(crate) const fn index_of(number: u64) -> usize {
    number as usize
}
