//! A chart as data: lines with markers and intervals over two axes, which Vega-Lite draws.
//!
//! | module | what it holds |
//! |---|---|
//! | `palette`, `marker` | colors and looks |
//! | `axis` | axes and their ticks |
//! | `line` | lines, points, intervals, samples of a legend |
//! | `vega` | the specification that is drawn |

mod axis;
mod line;
mod marker;
mod palette;
mod vega;

pub use axis::{Axis, Unit, latency_axis, log_ticks, round_ticks, symlog, symlog_ticks, ticks_between};
pub use line::{Dot, Line, Sample, Stroke, block_sample, sample};
pub use marker::Marker;
pub use palette::{BLUE, Color, INK, MUTED, ORANGE, PALETTE, PAPER, block_look, hex, look};

/// A bound: a labeled line from edge to edge.
#[derive(Clone, Debug)]
pub struct Bound {
    /// Its place on the vertical axis.
    pub y: f64,
    /// Its text.
    pub label: String,
}

/// The content of a chart.
#[derive(Clone, Debug)]
pub struct Chart {
    /// The title, which screen readers announce.
    pub title: String,
    /// The content as text, for screen readers.
    pub description: String,
    /// The horizontal axis.
    pub x: Axis,
    /// The vertical axis.
    pub y: Axis,
    /// Its lines.
    pub lines: Vec<Line>,
    /// A bound, if one is shown.
    pub bound: Option<Bound>,
}
