//! Converts the units of a description to picoseconds.

#[expect(clippy::cast_possible_truncation, reason = "descriptions are checked: 0 to 1e6 ns")]
pub(crate) fn ps(ns: f64) -> u64 {
    (ns * 1000.0).round() as u64
}

pub(crate) fn cycles_ps(cycles: u32, clock_ghz: f64) -> u64 {
    ps(f64::from(cycles) / clock_ghz)
}
