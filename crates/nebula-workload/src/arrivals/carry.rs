//! Rounds exact gaps to whole picoseconds, without drift.

use nebula_nic::Span;

/// The fraction of a picosecond that truncation removed from earlier gaps, in `0..1`.
#[derive(Clone, Debug, Default)]
pub(super) struct Carry(f64);

impl Carry {
    /// Truncates a gap to whole picoseconds and carries the rest to the next one.
    ///
    /// A gap is at most 2⁶³ ps, 106 days.
    #[inline]
    #[expect(
        clippy::cast_possible_truncation,
        reason = "truncation is intended; it takes one instruction for an i64, eight for a u64"
    )]
    pub(super) fn whole(&mut self, gap_ps: f64) -> Span {
        let exact_ps = gap_ps + self.0;
        let whole_ps = exact_ps as i64;
        // What exceeds the longest gap is not carried.
        self.0 = (exact_ps - whole_ps as f64).min(1.0);
        Span::from_ps(whole_ps.unsigned_abs())
    }
}
