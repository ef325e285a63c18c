//! What a command found, as one HTML page that needs nothing else: no network, no script, charts inline.
//!
//! A page is a pure function of its data. It reads well in light and dark and on a phone; no meaning rests on color alone.
//!
//! | module | what it makes |
//! |---|---|
//! | `finding` | what a sweep found, for the page and for the table on the terminal |
//! | `sweep` | the page of a sweep over the offered load, design beside design: `nebula demo` |
//! | `load` | the page of one load, or of a search for the load at the SLO: `nebula load kv --report` |
//! | `simulation` | the page, and the plot, of simulated operating points: `nebula simulate` |
//! | `blocks` | the same at the block level, with what became of time and bytes: `nebula simulate --machine` |
//! | `compare` | systems side by side: `nebula compare` |
//! | `stacked` | stacked bars |
//! | `chart` | a chart, by plotters, in the colors of the page |
//! | `plot` | a chart by itself, as an SVG file |
//! | `markup` | text within markup |
//! | `page` | the frame: head, style sheet, figures, tables |

pub(crate) mod chart;
pub(crate) mod compare;
pub(crate) mod finding;
pub(crate) mod load;
pub(crate) mod markup;
pub(crate) mod page;
pub(crate) mod plot;
pub(crate) mod blocks;
pub(crate) mod simulation;
/// Those that the laboratory tests its own tables with.
#[cfg(test)]
#[path = "../../nebula-sim/tests/study/samples.rs"]
mod samples;
mod stacked;
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

/// Writes one chart to `path` as SVG.
///
/// # Errors
///
/// As [`write()`].
pub(crate) fn write_plot(path: &Path, figure: &page::Figure) -> Result<(), Failure> {
    let drawn =
        plot::to_svg(figure).map_err(|error| Failure::fault(format!("the chart could not be drawn: {error}")))?;
    std::fs::write(path, drawn)
        .map_err(|error| Failure::fault(format!("cannot write the chart to {}: {error}", path.display())))
}

/// Whether a file can be written where `path` says: minutes of work should not end with a page that cannot be.
///
/// # Errors
///
/// Bad input: there is no such directory. `flag` is the argument that named it.
pub(crate) fn check_directory(flag: &str, path: &Path) -> Result<(), Failure> {
    match path.parent().filter(|parent| !parent.as_os_str().is_empty() && !parent.is_dir()) {
        Some(missing) => Err(Failure::bad_input(format!("{flag}: there is no directory {}", missing.display()))),
        None => Ok(()),
    }
}
