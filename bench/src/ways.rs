//! Measures several ways to do the same, in turn, round after round; the result is the median of
//! the rounds.

use crate::Failure;
use crate::measure::{Pipe, median, round_trip, throughput};
use crate::row::{Bound, against, plain};
use crate::watchdog::within;
use std::time::Duration;

/// Of a request, and of its reply.
pub const PAYLOAD_BYTES: usize = 64;
/// While the rate is measured.
pub const OUTSTANDING: u64 = 64;
/// Each measures every way once.
const ROUNDS: usize = 5;
/// For one measurement, which takes half a second.
const LIMIT: Duration = Duration::from_secs(30);

pub struct Way {
    pub name: &'static str,
    pub measure: fn() -> Result<Sample, Failure>,
}

#[derive(Clone, Copy)]
pub struct Sample {
    pub p50_ns: f64,
    pub p99_ns: f64,
    pub rate_mrps: f64,
}

pub fn sample(mut pipe: impl Pipe) -> Result<Sample, Failure> {
    let (p50_ns, p99_ns) = round_trip(&mut pipe);
    Ok(Sample { p50_ns, p99_ns, rate_mrps: throughput(&mut pipe, OUTSTANDING) })
}

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

    pub fn print(&self, (way, sample): (&Way, &Sample)) {
        plain(&self.what(way), (self.of)(sample), self.unit);
    }

    pub fn print_beside(&self, (way, sample): (&Way, &Sample), baseline: (&Way, &Sample), bound: Option<Bound>) {
        let baseline = (baseline.0.name, (self.of)(baseline.1));
        against(&self.what(way), (self.of)(sample), self.unit, baseline, bound);
    }
}

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
