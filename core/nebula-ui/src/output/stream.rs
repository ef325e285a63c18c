//! Prints results one by one, as soon as each is known.

use std::io::Write;

use super::format::Format;
use super::rows::{Columns, write_rows};
use super::{print, stdout};
use crate::{Failure, Row};

/// Prints rows of one kind as they come. A table has the columns of the first row. CSV has the
/// columns of all rows, so it is printed at the end.
#[derive(Debug)]
pub struct RowStream {
    format: Format,
    /// Those of the table; none before the first row.
    columns: Columns,
    kept: Vec<Row>,
}

/// Minimum width of a column in characters: later values may be longer than the first.
const WIDTH_MIN: usize = 7;

impl RowStream {
    /// A stream that has printed nothing.
    #[must_use]
    pub fn new(format: Format) -> Self {
        Self { format, columns: Columns::default(), kept: Vec::new() }
    }

    /// Prints one row.
    pub fn print(&mut self, row: Row) -> Result<(), Failure> {
        let mut out = stdout()?;
        self.write(&mut out, row)?;
        Ok(out.flush()?)
    }

    /// Prints the buffered rows after the last row.
    pub fn finish(self) -> Result<(), Failure> {
        if self.kept.is_empty() { Ok(()) } else { print(self.format, &self.kept) }
    }

    fn write(&mut self, out: &mut impl Write, row: Row) -> Result<(), Failure> {
        match self.format {
            Format::Table => {
                if self.columns.is_empty() {
                    self.columns = Columns::of(std::slice::from_ref(&row), WIDTH_MIN);
                    self.columns.write(out, &row, |cell| &cell.heading)?;
                }
                self.columns.write(out, &row, |cell| &cell.text)
            }
            Format::Json => write_rows(out, self.format, std::slice::from_ref(&row)),
            Format::Csv => {
                self.kept.push(row);
                Ok(())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(name: &str, p99: &str) -> Row {
        Row::new().field("name", name).word("design", name).shown("p99\nraw", p99)
    }

    fn written(format: Format) -> String {
        let mut stream = RowStream::new(format);
        let mut out = Vec::new();
        for (name, p99) in [("jbsq:2, bounded", "1.25 µs"), ("unbounded", "∞"), ("a name that is longer", "12.25 µs")]
        {
            stream.write(&mut out, row(name, p99)).unwrap();
        }
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn a_table_is_aligned_by_its_first_row() {
        let expected = "design               p99\n                     raw\njbsq:2, bounded  1.25 µs\nunbounded              ∞\n\
                        a name that is longer  12.25 µs\n";
        assert_eq!(written(Format::Table), expected);
    }

    #[test]
    fn json_comes_line_by_line_and_csv_at_the_end() {
        assert_eq!(written(Format::Json).lines().count(), 3);
        assert_eq!(written(Format::Csv), "");
    }
}
