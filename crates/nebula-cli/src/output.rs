//! What commands print: results on standard output, all else on standard error.

mod failure;
pub(crate) mod interval;
mod rows;
mod stream;
pub(crate) mod units;
mod value;

pub(crate) use failure::Failure;
pub(crate) use rows::Row;
pub(crate) use stream::RowStream;
pub(crate) use value::Value;

use std::io::Write;

use crate::flags::Format;

/// Prints `rows` to standard output.
pub(crate) fn print(format: Format, rows: &[Row]) -> Result<(), Failure> {
    let mut out = std::io::stdout().lock();
    rows::write_rows(&mut out, format, rows)?;
    Ok(out.flush()?)
}

/// Prints one line to standard output.
pub(crate) fn print_line(line: &str) -> Result<(), Failure> {
    let mut out = std::io::stdout().lock();
    writeln!(out, "{line}")?;
    Ok(out.flush()?)
}

/// Tells the user something beside the results. Where standard error is closed there is nobody to tell.
pub(crate) fn note(line: impl std::fmt::Display) {
    let _ = writeln!(std::io::stderr().lock(), "{line}");
}
