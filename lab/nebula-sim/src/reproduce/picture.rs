//! The charts of a report: lines with intervals, and published points.

use crate::interval::Interval;

/// One chart.
#[derive(Clone, Debug, PartialEq)]
pub struct Picture {
    /// What it shows.
    pub title: String,
    /// What the horizontal axis measures.
    pub x: Measure,
    /// What the vertical axis measures.
    pub y: Measure,
    /// A bound to keep, on the vertical axis.
    pub slo: Option<f64>,
    /// Its lines.
    pub curves: Vec<Curve>,
}

/// What an axis measures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Measure {
    /// Load, as a share of the cores' time.
    Load,
    /// Number of queues, for this total number of cores.
    Queues(u16),
    /// p99 latency in nanoseconds.
    TailNs,
    /// DRAM bandwidth in 10⁹ bytes per second.
    GbPerS,
    /// 10⁶ RPCs per second.
    Mrps,
    /// Percentage of GETs.
    GetsPercent,
    /// Bytes of a value.
    ValueBytes,
    /// Number of threads.
    Threads,
    /// 10⁶ RPCs served per second.
    Throughput,
}

/// One line.
#[derive(Clone, Debug, PartialEq)]
pub struct Curve {
    /// Its name.
    pub name: String,
    /// Its points, from left to right.
    pub points: Vec<Point>,
    /// Published points of the same line.
    pub published: Vec<(f64, f64)>,
}

/// One point of a line.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    /// Position on the horizontal axis.
    pub at: f64,
    /// Position on the vertical axis, with its interval.
    pub value: Interval,
}
