//! Output of commands: results on standard output, all else on standard error.

mod format;
pub mod program;
mod progress;
mod rows;
mod stream;

pub use crate::{Failure, Row, Value, text, units};
pub use format::Format;
pub use progress::bar;
pub use stream::RowStream;

use std::io::{StdoutLock, Write};

/// Standard output, for results.
///
/// # Errors
///
/// A fault if the program was started with standard output closed.
pub fn stdout() -> Result<StdoutLock<'static>, Failure> {
    if nebula_sys::stdio::stdout_was_closed() {
        return Err(Failure::fault("cannot write the results: standard output is closed"));
    }
    Ok(std::io::stdout().lock())
}

/// Prints `rows` to standard output.
pub fn print(format: Format, rows: &[Row]) -> Result<(), Failure> {
    let mut out = stdout()?;
    rows::write_rows(&mut out, format, rows)?;
    Ok(out.flush()?)
}

/// The rows as CSV.
pub fn csv(rows: &[Row]) -> String {
    let mut text = Vec::new();
    // Writing to memory cannot fail.
    let _ = rows::write_rows(&mut text, Format::Csv, rows);
    String::from_utf8_lossy(&text).into_owned()
}

/// Prints one line to standard output.
pub fn print_line(line: &str) -> Result<(), Failure> {
    let mut out = stdout()?;
    writeln!(out, "{line}")?;
    Ok(out.flush()?)
}

/// Prints a note to standard error, if that is open.
pub fn note(line: impl std::fmt::Display) {
    let _ = writeln!(std::io::stderr().lock(), "{line}");
}
