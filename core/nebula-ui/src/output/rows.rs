//! Prints results as a table, as JSON lines or as CSV.

use std::io::Write;

use super::format::Format;
use crate::{Align, Cell, Failure, Row};

/// Writes `rows` to `out`: a table with the first row's headings, or CSV with all rows' columns.
pub(super) fn write_rows(out: &mut impl Write, format: Format, rows: &[Row]) -> Result<(), Failure> {
    match format {
        Format::Table => write_table(out, rows),
        Format::Json => write_json(out, rows),
        Format::Csv => write_csv(out, rows),
    }
}

fn write_json(out: &mut impl Write, rows: &[Row]) -> Result<(), Failure> {
    for row in rows {
        let line = serde_json::to_string(row)
            .map_err(|error| Failure::fault(format!("cannot write a result as JSON: {error}")))?;
        writeln!(out, "{line}")?;
    }
    Ok(())
}

fn write_csv(out: &mut impl Write, rows: &[Row]) -> Result<(), Failure> {
    let rows: Vec<_> = rows.iter().map(Row::flat).collect();
    let mut names: Vec<&str> = Vec::new();
    for (name, _) in rows.iter().flatten() {
        if !names.contains(&name.as_str()) {
            names.push(name);
        }
    }
    let mut csv = csv::Writer::from_writer(out);
    csv.write_record(&names).map_err(from_csv)?;
    for row in &rows {
        let value_of = |name: &str| row.iter().find(|(own, _)| own == name).map_or("", |(_, value)| value.as_str());
        csv.write_record(names.iter().map(|name| value_of(name))).map_err(from_csv)?;
    }
    Ok(csv.flush()?)
}

fn from_csv(error: csv::Error) -> Failure {
    match error.into_kind() {
        csv::ErrorKind::Io(error) => error.into(),
        kind => Failure::fault(format!("cannot write a result as CSV: {kind:?}")),
    }
}

/// The table without borders, so that text tools can cut and sort it.
fn write_table(out: &mut impl Write, rows: &[Row]) -> Result<(), Failure> {
    let Some(first) = rows.first() else { return Ok(writeln!(out)?) };
    let columns = Columns::of(rows, 1);
    columns.write(out, first, |cell| &cell.heading)?;
    rows.iter().try_for_each(|row| columns.write(out, row, |cell| &cell.text))
}

/// Width in characters and alignment of each column of a table.
#[derive(Debug, Default)]
pub(super) struct Columns(Vec<(usize, Align)>);

impl Columns {
    /// The columns of the first row, wide enough for its headings and for all of `rows`.
    pub(super) fn of(rows: &[Row], width_min: usize) -> Self {
        let first = rows.first().map_or(&[][..], Row::cells);
        let column = |(at, head): (usize, &Cell)| {
            let cells = rows.iter().filter_map(|row| row.cells().get(at));
            let lines = cells.map(|cell| &*cell.text).chain([&*head.heading]).flat_map(str::lines);
            (lines.map(|line| line.chars().count()).fold(width_min, usize::max), head.align)
        };
        Self(first.iter().enumerate().map(column).collect())
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Writes the text that `text` selects from each cell; it may have several lines.
    pub(super) fn write<'a>(
        &self,
        out: &mut impl Write,
        row: &'a Row,
        text: impl Fn(&'a Cell) -> &'a str,
    ) -> Result<(), Failure> {
        let texts: Vec<&str> = row.cells().iter().map(text).collect();
        for line in 0..texts.iter().map(|text| text.split('\n').count()).max().unwrap_or(0) {
            let padded = |(text, &(width, align)): (&&str, &(usize, Align))| {
                let text = text.split('\n').nth(line).unwrap_or_default();
                match align {
                    Align::Left => format!("{text:width$}  "),
                    Align::Right => format!("{text:>width$}  "),
                }
            };
            let padded: String = texts.iter().zip(&self.0).map(padded).collect();
            writeln!(out, "{}", padded.trim_end())?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Value;

    fn rows() -> Vec<Row> {
        let row = |name: &str, p99: Option<u64>| {
            let latency = Value::object([("p99", p99.into())]);
            let shown = p99.map_or("∞".to_owned(), |p99| format!("{p99} ns"));
            Row::new().field("name", name).field("latency_ns", latency).word("design", name).shown("p99", shown)
        };
        vec![row("jbsq:2, bounded", Some(1250)), row("unbounded", None)]
    }

    fn written(format: Format) -> String {
        let mut out = Vec::new();
        write_rows(&mut out, format, &rows()).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn json_is_one_object_a_line() {
        let expected = "{\"name\":\"jbsq:2, bounded\",\"latency_ns\":{\"p99\":1250}}\n{\"name\":\"unbounded\",\"latency_ns\":{\"p99\":null}}\n";
        assert_eq!(written(Format::Json), expected);
    }

    #[test]
    fn csv_quotes_what_needs_it_and_leaves_infinity_empty() {
        assert_eq!(written(Format::Csv), "name,latency_ns_p99\n\"jbsq:2, bounded\",1250\nunbounded,\n");
    }

    #[test]
    fn the_table_is_aligned_text() {
        let expected = "design               p99\njbsq:2, bounded  1250 ns\nunbounded              ∞\n";
        assert_eq!(written(Format::Table), expected);
    }

    #[test]
    fn an_object_keeps_its_order_and_infinity_is_null() {
        let value = Value::object([("p99", Value::Number(f64::INFINITY)), ("mean", 1.5.into()), ("max", 7_u64.into())]);
        assert_eq!(serde_json::to_string(&value).unwrap(), r#"{"p99":null,"mean":1.5,"max":7}"#);
        assert_eq!(serde_json::to_string(&Value::Ends([0.5, f64::INFINITY])).unwrap(), "[0.5,null]");
    }
}
