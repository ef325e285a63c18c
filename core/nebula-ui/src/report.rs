//! Reports: self-contained HTML pages without network access.
//!
//! A page is a pure function of its data and of the command that made it. Its charts are drawn by
//! Vega-Lite, which is in the page: they show values under the pointer, zoom, fade by a click on
//! the legend, and export SVG and PNG. Pages support light and dark mode and small screens, and
//! convey nothing by color alone.
//!
//! | module | what it makes |
//! |---|---|
//! | [`chart`] | a chart, which Vega-Lite draws in the colors of the page |
//! | [`plot`] | a single chart, as an SVG file |
//! | [`markup`] | escaping of text |
//! | [`page`] | the frame: head, style sheet, figures, tables |

pub mod chart;
pub mod markup;
pub mod page;
pub mod plot;

use std::path::Path;

use crate::Failure;

/// Writes `page` to `path`.
///
/// # Errors
///
/// A fault that names the file and the kernel's reason.
pub fn write(path: &Path, page: &str) -> Result<(), Failure> {
    std::fs::write(path, page)
        .map_err(|error| Failure::fault(format!("cannot write the report to {}: {error}", path.display())))
}

/// A line with the command that made a page, its version, and the date.
#[must_use]
pub fn made_by_this_command() -> String {
    let words = std::env::args().skip(1).map(|word| {
        match word.contains(|char: char| char.is_whitespace() || "*;'\"$&|<>()#".contains(char)) {
            true => format!("'{}'", word.replace('\'', "'\\''")),
            false => word,
        }
    });
    let command = words.collect::<Vec<_>>().join(" ");
    let today = httpdate::fmt_http_date(std::time::SystemTime::now());
    format!("Made by nebula {} on {today}: nebula {command}", env!("CARGO_PKG_VERSION"))
}

/// Writes one chart to `path` as SVG.
pub fn write_plot(path: &Path, figure: &page::Figure) -> Result<(), Failure> {
    std::fs::write(path, plot::to_svg(figure)?)
        .map_err(|error| Failure::fault(format!("cannot write the chart to {}: {error}", path.display())))
}

/// Checks that the directory of `path` exists, so that minutes of work do not end with an
/// unwritable report. `flag` is the argument that named it.
///
/// # Errors
///
/// Invalid input: there is no such directory.
pub fn check_directory(flag: &str, path: &Path) -> Result<(), Failure> {
    match path.parent().filter(|parent| !parent.as_os_str().is_empty() && !parent.is_dir()) {
        Some(missing) => Err(Failure::bad_input(format!("{flag}: there is no directory {}", missing.display()))),
        None => Ok(()),
    }
}
