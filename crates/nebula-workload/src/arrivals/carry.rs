//! Whole picoseconds of exact gaps, without drift.

use nebula_nic::Span;

/// The fraction of a picosecond that earlier gaps were cut by, in `0..1`.
#[derive(Clone, Debug, Default)]
pub(super) struct Carry(f64);

impl Carry {
    /// Cuts a gap to whole picoseconds and keeps the rest for the next one.
    ///
    /// A gap ends at 2⁶³ ps, 106 days.
    #[inline]
    #[expect(
        clippy::cast_possible_truncation,
        reason = "meant to be cut; an i64 is cut in one instruction, a u64 in eight"
    )]
    pub(super) fn whole(&mut self, gap_ps: f64) -> Span {
        let exact_ps = gap_ps + self.0;
        let whole_ps = exact_ps as i64;
        // What exceeds the longest gap is not carried.
        self.0 = (exact_ps - whole_ps as f64).min(1.0);
        Span::from_ps(whole_ps.unsigned_abs())
    }
}
