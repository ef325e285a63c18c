//! The mean gap at a rate.

use crate::rate::Rate;

pub(super) const PS_PER_SEC: u64 = 1_000_000_000_000;

pub(super) fn gap_ps_mean(rate: Rate) -> f64 {
    PS_PER_SEC as f64 / rate.as_rps()
}
