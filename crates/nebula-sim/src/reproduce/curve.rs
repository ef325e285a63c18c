//! What a picture of an entry shows: ours against a load or a number of queues, with intervals, and the published points beside them.

use crate::interval::Interval;

/// One line of a chart.
#[derive(Clone, Debug, PartialEq)]
pub struct Curve {
    /// The chart it belongs to.
    pub chart: &'static str,
    /// The name of the line.
    pub name: String,
    /// Its points, from left to right.
    pub points: Vec<Point>,
    /// Published points of the same line.
    pub marks: Vec<Mark>,
}

/// One point of a line.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    /// Where: a load, or a number of queues.
    pub at: f64,
    /// What.
    pub value: Interval,
}

/// One published point.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Mark {
    /// Where.
    pub at: f64,
    /// What.
    pub value: f64,
}
