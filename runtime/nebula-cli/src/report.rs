//! The reports of this program.
//!
//! `nebula-ui` has their frame and their charts.
//!
//! | module | what it makes |
//! |---|---|
//! | `finding` | the results of a sweep, for the page and for the table on the terminal |
//! | `sweep` | the page of a sweep over the offered load, comparing designs: `nebula demo` |
//! | `load` | the page of one load, or of a search for the load under the SLO: `nebula load kv --report` |

pub(crate) mod finding;
pub(crate) mod load;
pub(crate) mod sweep;

pub(crate) use nebula_ui::report::{chart, check_directory, made_by_this_command, page, plot, write, write_plot};
