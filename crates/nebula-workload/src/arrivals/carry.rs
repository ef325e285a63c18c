//! Whole picoseconds of exact gaps, without drift.

use nebula_nic::Span;

/// The fraction of a picosecond that earlier gaps were cut by, in `0..1`.
#[derive(Clone, Debug, Default)]
pub(super) struct Carry(f64);

impl Carry {
    /// Cuts a gap to whole picoseconds and keeps the rest for the next one.
    #[inline]
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "whole, and above the last it ends there"
    )]
    pub(super) fn whole(&mut self, gap_ps: f64) -> Span {
        let exact_ps = gap_ps + self.0;
        let whole_ps = libm::floor(exact_ps);
        self.0 = exact_ps - whole_ps;
        Span::from_ps(whole_ps as u64)
    }
}
