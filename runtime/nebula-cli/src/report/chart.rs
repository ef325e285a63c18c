//! One chart as data: lines with markers and intervals over two axes, which Vega-Lite draws in a browser.
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

pub(crate) use axis::{Axis, Unit, log_ticks, round_ticks, symlog, symlog_ticks, ticks_between};
pub(crate) use line::{Dot, Line, Sample, Stroke, block_sample, sample};
pub(crate) use marker::Marker;
pub(crate) use palette::{BLUE, Color, INK, MUTED, ORANGE, PALETTE, PAPER, block_look, hex, look};

/// A bound: a labeled line from edge to edge.
#[derive(Clone, Debug)]
pub(crate) struct Bound {
    pub(crate) y: f64,
    pub(crate) label: String,
}

/// The content of a chart.
#[derive(Clone, Debug)]
pub(crate) struct Chart {
    /// The title, which screen readers announce.
    pub(crate) title: String,
    /// The content as text, for screen readers.
    pub(crate) description: String,
    pub(crate) x: Axis,
    pub(crate) y: Axis,
    pub(crate) lines: Vec<Line>,
    pub(crate) bound: Option<Bound>,
}
