//! Recorded arrivals: `trace:FILE`, scaled to a rate and repeated.
//!
//! The file has one arrival time per line, in nanoseconds, in ascending order. Only the gaps
//! between lines count, so the times may begin anywhere (at 0, at a boot, in 1970).

use std::fmt;
use std::io::BufRead;
use std::sync::Arc;

use nebula_nic::Span;

use super::carry::Carry;
use super::gap::gap_ps_mean;
use crate::column;
use crate::error::WorkloadError;
use crate::rate::Rate;

/// The gaps of recorded arrivals.
///
/// # Examples
///
/// ```
/// use nebula_workload::{ArrivalTrace, Arrivals, Rate, Seed};
///
/// let trace = ArrivalTrace::read("day.csv", "arrival_ns\n1000\n1100\n1400\n".as_bytes())?;
/// // The mean gap of 200 ns is stretched to a microsecond.
/// let mut process = Arrivals::Trace(trace).at(Rate::try_new(1e6)?);
/// let mut rng = Seed(1).stream("arrivals");
/// assert_eq!([(); 3].map(|()| process.next_gap(&mut rng).as_ns()), [500, 1500, 500]);
/// # Ok::<(), nebula_workload::WorkloadError>(())
/// ```
#[derive(Clone, PartialEq)]
pub struct ArrivalTrace {
    name: Arc<str>,
    /// Never empty, and not all 0.
    gaps_ps: Arc<[u64]>,
}

impl ArrivalTrace {
    /// Reads the arrival times of the file called `name`; keeps every gap, at 8 B each.
    ///
    /// # Errors
    ///
    /// [`WorkloadError::SampleLine`] for a line that is not a time or is earlier than the line
    /// before, and [`WorkloadError::SampleFile`] for a source that cannot be read or has no gap
    /// above 0.
    pub fn read(name: &str, source: impl BufRead) -> Result<Self, WorkloadError> {
        let mut gaps_ps = Vec::new();
        let mut last_ps = None;
        column::read(name, source, |ps| {
            if let Some(last_ps) = last_ps.replace(ps) {
                gaps_ps.push(gap_ps(last_ps, ps)?);
            }
            Ok(())
        })?;
        if gaps_ps.iter().all(|&gap_ps| gap_ps == 0) {
            return Err(WorkloadError::sample_file(name, "used", "it has fewer than two different arrival times"));
        }
        Ok(Self { name: name.into(), gaps_ps: gaps_ps.into() })
    }

    /// The file's name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    fn gap_ps_mean(&self) -> f64 {
        self.gaps_ps.iter().map(|&gap_ps| gap_ps as f64).sum::<f64>() / self.gaps_ps.len() as f64
    }
}

fn gap_ps(from: u128, to: u128) -> Result<u64, &'static str> {
    let gap_ps = to.checked_sub(from).ok_or("time goes back: sort the lines")?;
    u64::try_from(gap_ps).map_err(|_| "no gap is longer than 213 days")
}

/// Omits the gaps, of which there may be millions.
impl fmt::Debug for ArrivalTrace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ArrivalTrace").field("name", &self.name).field("gaps", &self.gaps_ps.len()).finish()
    }
}

#[derive(Clone, Debug)]
pub(super) struct Recorded {
    trace: ArrivalTrace,
    next: usize,
    stretch: f64,
    carry: Carry,
}

impl Recorded {
    pub(super) fn new(trace: &ArrivalTrace, rate: Rate) -> Self {
        let stretch = gap_ps_mean(rate) / trace.gap_ps_mean();
        Self { trace: trace.clone(), next: 0, stretch, carry: Carry::default() }
    }

    pub(super) fn next_gap(&mut self) -> Span {
        let gaps_ps = &self.trace.gaps_ps;
        let gap_ps = gaps_ps[self.next] as f64 * self.stretch;
        self.next = if self.next + 1 == gaps_ps.len() { 0 } else { self.next + 1 };
        self.carry.whole(gap_ps)
    }
}
