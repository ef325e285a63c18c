//! The reports of this program. `nebula-ui` has their frame and their charts.
//!
//! | module | what it makes |
//! |---|---|
//! | `simulation` | the page, and the plot, of simulated operating points: `simulate` |
//! | `blocks` | the same at the block level, with breakdowns of time and traffic: `simulate --machine` |
//! | `compare` | systems side by side: `compare` |
//! | `size` | how many cores, or how much room: `size --report` |
//! | `stacked` | stacked bars |
//! | `levels` | a figure with its interval for each policy, system or design |

pub(crate) mod blocks;
pub(crate) mod compare;
/// The samples with which the laboratory tests its tables.
#[cfg(test)]
#[path = "../../nebula-sim/tests/study/samples.rs"]
mod samples;
pub(crate) mod simulation;
pub(crate) mod size;
mod stacked;
mod levels;

use nebula_ui::output::Row;
pub(crate) use nebula_ui::report::{chart, check_directory, made_by_this_command, page, plot, write, write_plot};

/// The rows of the terminal as a table of the page.
fn table(caption: &str, rows: &[Row]) -> page::Table {
    page::Table {
        caption: caption.to_owned(),
        headings: rows.first().map(Row::headings).unwrap_or_default(),
        rows: rows.iter().map(Row::texts).collect(),
    }
}

/// The logarithm of a latency in µs, at least a nanosecond.
fn log_us(ns: f64) -> f64 {
    (ns.max(1.0) / 1e3).log10()
}
