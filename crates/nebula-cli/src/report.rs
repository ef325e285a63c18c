//! What a command found, as one HTML page that needs nothing else: no network, no script, charts inline.
//!
//! A page is a pure function of its data. It reads well in light and dark and on a phone; no meaning rests on color alone.
//!
//! | module | what it makes |
//! |---|---|
//! | `finding` | what a sweep found, for the page and for the table on the terminal |
//! | `sweep` | the page of a sweep over the offered load, design beside design: `nebula demo` |
//! | `load` | the page of one load, or of a search for the load at the SLO: `nebula load kv --report` |
//! | `chart` | a chart, by plotters, in the colors of the page |
//! | `page` | the frame: head, style sheet, figures, tables |

mod chart;
pub(crate) mod finding;
pub(crate) mod load;
mod page;
pub(crate) mod sweep;

use std::path::Path;

use crate::output::Failure;

/// Writes `page` to `path`.
///
/// # Errors
///
/// A fault that names the file and the kernel's reason.
pub(crate) fn write(path: &Path, page: &str) -> Result<(), Failure> {
    std::fs::write(path, page)
        .map_err(|error| Failure::fault(format!("cannot write the report to {}: {error}", path.display())))
}
