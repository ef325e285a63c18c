//! Results printed one by one, as they are found: whoever waits sees the first long before the last.

use std::io::Write;

use super::rows::{Row, write_rows};
use super::{Failure, print};
use crate::flags::Format;

/// Prints rows of one kind as they come. A table has the columns of its first row; CSV, whose names are those of all rows, comes at the end.
#[derive(Debug)]
pub(crate) struct RowStream {
    format: Format,
    /// Characters of each column of the table; empty before the first row.
    widths: Vec<usize>,
    /// Rows of CSV.
    kept: Vec<Row>,
}

/// Width of the narrowest column, in characters: later values may be longer than the first.
const WIDTH_MIN: usize = 7;

impl RowStream {
    pub(crate) fn new(format: Format) -> Self {
        Self { format, widths: Vec::new(), kept: Vec::new() }
    }

    /// Prints one row.
    pub(crate) fn print(&mut self, row: Row) -> Result<(), Failure> {
        let mut out = std::io::stdout().lock();
        self.write(&mut out, row)?;
        Ok(out.flush()?)
    }

    /// Prints what had to wait for the last row.
    pub(crate) fn finish(self) -> Result<(), Failure> {
        if self.kept.is_empty() { Ok(()) } else { print(self.format, &self.kept) }
    }

    fn write(&mut self, out: &mut impl Write, row: Row) -> Result<(), Failure> {
        match self.format {
            Format::Table => {
                if self.widths.is_empty() {
                    self.widths = row.widths(WIDTH_MIN);
                    row.heading_lines(&self.widths).iter().try_for_each(|line| writeln!(out, "{line}"))?;
                }
                Ok(writeln!(out, "{}", row.line(&self.widths))?)
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
