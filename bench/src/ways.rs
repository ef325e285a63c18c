//! Several ways to do the same, in turn, round after round; the result is the median of the rounds.

use crate::Failure;
use crate::measure::{Pipe, median, round_trip, throughput};
use crate::row::{Bound, against, plain};
use crate::watchdog::within;
use std::time::Duration;

/// Bytes of a request, and of its reply.
pub const PAYLOAD_BYTES: usize = 64;
/// RPCs in flight when the rate is measured.
pub const OUTSTANDING: u64 = 64;
/// Rounds; each measures every way once.
const ROUNDS: usize = 5;
/// The time limit for one measurement; it takes half a second.
const LIMIT: Duration = Duration::from_secs(30);

/// One way to echo.
pub struct Way {
    pub name: &'static str,
    pub measure: fn() -> Result<Sample, Failure>,
}

/// The result of one round of one way.
#[derive(Clone, Copy)]
pub struct Sample {
    pub p50_ns: f64,
    pub p99_ns: f64,
    pub rate_mrps: f64,
}

/// One round: RPCs one at a time, then with [`OUTSTANDING`] in flight.
pub fn sample(mut pipe: impl Pipe) -> Result<Sample, Failure> {
    let (p50_ns, p99_ns) = round_trip(&mut pipe);
    Ok(Sample { p50_ns, p99_ns, rate_mrps: throughput(&mut pipe, OUTSTANDING) })
}

/// The figures reported for a sample.
#[derive(Clone, Copy)]
pub struct Figure {
    pub name: &'static str,
    pub unit: &'static str,
    pub of: fn(&Sample) -> f64,
}

pub const FIGURES: [Figure; 3] = [
    Figure { name: "round trip p50", unit: "ns", of: |sample| sample.p50_ns },
    Figure { name: "round trip p99", unit: "ns", of: |sample| sample.p99_ns },
    Figure { name: "64 outstanding", unit: "M RPC/s", of: |sample| sample.rate_mrps },
];

impl Figure {
    fn what(&self, way: &Way) -> String {
        format!("{PAYLOAD_BYTES} B echo, {}: {}", self.name, way.name)
    }

    /// Prints one way's figures.
    pub fn print(&self, (way, sample): (&Way, &Sample)) {
        plain(&self.what(way), (self.of)(sample), self.unit);
    }

    /// Prints one way's figures compared with another's.
    pub fn print_beside(&self, (way, sample): (&Way, &Sample), baseline: (&Way, &Sample), bound: Option<Bound>) {
        let baseline = (baseline.0.name, (self.of)(baseline.1));
        against(&self.what(way), (self.of)(sample), self.unit, baseline, bound);
    }
}

/// Measures every way in turn; returns the medians of each.
pub fn rounds(ways: &[Way]) -> Result<Vec<Sample>, Failure> {
    let mut samples = vec![Vec::with_capacity(ROUNDS); ways.len()];
    for _ in 0..ROUNDS {
        for (way, samples) in ways.iter().zip(&mut samples) {
            let sample = within(LIMIT, way.name, way.measure);
            samples.push(sample.map_err(|error| format!("{}: {error}", way.name))?);
        }
    }
    Ok(samples.iter().map(|samples| middle(samples)).collect())
}

fn middle(samples: &[Sample]) -> Sample {
    let of = |figure: fn(&Sample) -> f64| median(samples.iter().map(figure).collect());
    let [p50_ns, p99_ns, rate_mrps] = FIGURES.map(|figure| of(figure.of));
    Sample { p50_ns, p99_ns, rate_mrps }
}
