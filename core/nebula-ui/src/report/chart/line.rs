//! The marks of a chart: lines of points with intervals, and the samples of a legend.

use super::marker::Marker;
use super::palette::Color;

/// The style of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stroke {
    /// Without gaps.
    Solid,
    /// With gaps.
    Dashed,
    /// Markers only; hollow ones are published values.
    None,
    /// A horizontal block over the interval of each dot: a piece of a stacked bar.
    Blocks,
}

/// A point of a line.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Dot {
    /// Where it is on the horizontal axis.
    pub x: f64,
    /// Where it is on the vertical axis.
    pub y: f64,
    /// Hollow: a published value, or one that misses its SLO for another reason.
    pub is_hollow: bool,
    /// Its interval along the horizontal axis.
    pub x_ends: Option<(f64, f64)>,
    /// Its interval along the vertical axis.
    pub y_ends: Option<(f64, f64)>,
    /// The text on its block, shown if there is room.
    pub label: &'static str,
}

impl Dot {
    /// A point without an interval.
    pub const fn at(x: f64, y: f64) -> Self {
        Self { x, y, is_hollow: false, x_ends: None, y_ends: None, label: "" }
    }

    /// Whether the marker is hollow.
    #[must_use]
    pub const fn hollow(mut self, is_hollow: bool) -> Self {
        self.is_hollow = is_hollow;
        self
    }

    /// Adds a vertical interval from `lo` to `hi`; none if its upper end is not known.
    #[must_use]
    pub fn between(mut self, lo: f64, hi: f64) -> Self {
        self.y_ends = hi.is_finite().then_some((lo, hi));
        self
    }

    /// Labels its block.
    #[must_use]
    pub const fn labeled(mut self, label: &'static str) -> Self {
        self.label = label;
        self
    }

    /// Adds a horizontal interval from `lo` to `hi`.
    #[must_use]
    pub const fn level_between(mut self, lo: f64, hi: f64) -> Self {
        self.x_ends = Some((lo, hi));
        self
    }
}

/// A line with markers; without markers for a curve of very many points.
#[derive(Clone, Debug)]
pub struct Line {
    /// Its color.
    pub color: Color,
    /// The marker of its points, if any.
    pub marker: Option<Marker>,
    /// How it is drawn.
    pub stroke: Stroke,
    /// Its points.
    pub dots: Vec<Dot>,
}

impl Line {
    /// Its sample in a legend; that of published values if its points are hollow.
    pub(super) fn sample(&self) -> Sample {
        let is_hollow = self.dots.first().is_some_and(|dot| dot.is_hollow);
        Sample { color: self.color, marker: self.marker, stroke: self.stroke, is_hollow }
    }
}

/// How a legend shows one kind of marks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sample {
    pub(super) color: Color,
    pub(super) marker: Option<Marker>,
    pub(super) stroke: Stroke,
    pub(super) is_hollow: bool,
}

/// A sample of a line, for a legend.
pub const fn sample(color: Color, marker: Option<Marker>, stroke: Stroke, is_hollow: bool) -> Sample {
    Sample { color, marker, stroke, is_hollow }
}

/// A sample of a block, for a legend.
pub const fn block_sample(color: Color, is_hollow: bool) -> Sample {
    Sample { color, marker: None, stroke: Stroke::Blocks, is_hollow }
}
