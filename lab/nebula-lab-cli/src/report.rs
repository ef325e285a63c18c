//! The reports of this program. `nebula-ui` has their frame and their charts.
//!
//! | module | what it makes |
//! |---|---|
//! | `simulation` | the page, and the plot, of simulated operating points: `simulate` |
//! | `blocks` | the same at the block level, with breakdowns of time and traffic: `simulate --machine` |
//! | `compare` | systems side by side: `compare` |
//! | `size` | how many cores, or how much room: `size --report` |
//! | `stacked` | stacked bars |

pub(crate) mod blocks;
pub(crate) mod compare;
/// The samples with which the laboratory tests its tables.
#[cfg(test)]
#[path = "../../nebula-sim/tests/study/samples.rs"]
mod samples;
pub(crate) mod simulation;
pub(crate) mod size;
mod stacked;

pub(crate) use nebula_ui::report::{chart, check_directory, made_by_this_command, page, plot, write, write_plot};
