//! Results described once, printed as a table, as JSON lines or as CSV.

use std::io::Write;

use comfy_table::{CellAlignment, ContentArrangement, Table, presets};

use super::{Failure, Value};
use crate::flags::Format;

/// One result: a line of JSON, a row of CSV, a row of the table.
#[derive(Clone, Debug, Default)]
pub(crate) struct Row {
    fields: Vec<(&'static str, Value)>,
    shown: Vec<Shown>,
}

/// A cell of the table.
#[derive(Clone, Debug)]
struct Shown {
    heading: &'static str,
    text: String,
    alignment: CellAlignment,
}

impl Row {
    pub(crate) fn new() -> Self {
        Self::default()
    }

    /// A field of JSON and CSV that the table leaves out.
    #[must_use]
    pub(crate) fn field(mut self, name: &'static str, value: impl Into<Value>) -> Self {
        self.fields.push((name, value.into()));
        self
    }

    /// A cell of the table, aligned as numbers are. A text of several lines makes a row of several lines.
    #[must_use]
    pub(crate) fn shown(mut self, heading: &'static str, text: impl Into<String>) -> Self {
        self.shown.push(Shown { heading, text: text.into(), alignment: CellAlignment::Right });
        self
    }

    /// A cell of the table, aligned as words are.
    #[must_use]
    pub(crate) fn word(mut self, heading: &'static str, text: impl Into<String>) -> Self {
        self.shown.push(Shown { heading, text: text.into(), alignment: CellAlignment::Left });
        self
    }

    /// The headings of the table, on one line each.
    pub(crate) fn headings(&self) -> Vec<String> {
        self.shown.iter().map(|shown| shown.heading.replace('\n', " ")).collect()
    }

    /// The texts of the table.
    pub(crate) fn cells(&self) -> Vec<String> {
        self.shown.iter().map(|shown| shown.text.clone()).collect()
    }

    /// Characters that each column of a table needs for this row and its heading, and `least` at least.
    pub(super) fn widths(&self, least: usize) -> Vec<usize> {
        let width = |shown: &Shown| {
            let lines = shown.heading.lines().chain([shown.text.as_str()]);
            lines.map(|line| line.chars().count()).fold(least, usize::max)
        };
        self.shown.iter().map(width).collect()
    }

    /// The headings, in columns of these widths.
    pub(super) fn heading_lines(&self, widths: &[usize]) -> Vec<String> {
        let lines = self.shown.iter().map(|shown| shown.heading.lines().count()).max().unwrap_or(0);
        (0..lines).map(|line| self.columns(widths, |shown| shown.heading.lines().nth(line).unwrap_or(""))).collect()
    }

    /// The row, in columns of these widths.
    pub(super) fn line(&self, widths: &[usize]) -> String {
        self.columns(widths, |shown| &shown.text)
    }

    fn columns<'a>(&'a self, widths: &[usize], text: impl Fn(&'a Shown) -> &'a str) -> String {
        let cell = |(shown, &width): (&'a Shown, &usize)| match shown.alignment {
            CellAlignment::Left => format!("{:width$}", text(shown)),
            _ => format!("{:>width$}", text(shown)),
        };
        let cells: Vec<String> = self.shown.iter().zip(widths).map(cell).collect();
        cells.join("  ").trim_end().to_owned()
    }

    fn json(&self) -> serde_json::Result<String> {
        serde_json::to_string(&Value::Object(self.fields.clone()))
    }

    fn flat(&self) -> Vec<(String, String)> {
        let mut flat = Vec::new();
        self.fields.iter().for_each(|(name, value)| value.flatten(name, &mut flat));
        flat
    }
}

/// Writes `rows` to `out`. The first row's headings are the table's; the names of CSV are those of all rows.
pub(crate) fn write_rows(out: &mut impl Write, format: Format, rows: &[Row]) -> Result<(), Failure> {
    match format {
        Format::Table => Ok(writeln!(out, "{}", table(rows))?),
        Format::Json => write_json(out, rows),
        Format::Csv => write_csv(out, rows),
    }
}

fn write_json(out: &mut impl Write, rows: &[Row]) -> Result<(), Failure> {
    for row in rows {
        let line = row.json().map_err(|error| Failure::fault(format!("a result has no JSON form: {error}")))?;
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
        kind => Failure::fault(format!("a result has no CSV form: {kind:?}")),
    }
}

/// The table, without lines at its sides: it reads well, and can be cut and sorted, as plain text too.
fn table(rows: &[Row]) -> String {
    let mut table = Table::new();
    table.load_preset(presets::NOTHING).set_content_arrangement(ContentArrangement::Disabled);
    if let Some(first) = rows.first() {
        table.set_header(first.shown.iter().map(|shown| shown.heading));
        for (column, shown) in table.column_iter_mut().zip(&first.shown) {
            column.set_cell_alignment(shown.alignment);
            column.set_padding((0, 2));
        }
    }
    rows.iter().for_each(|row| {
        table.add_row(row.shown.iter().map(|shown| shown.text.as_str()));
    });
    table.lines().map(|line| line.trim_end().to_owned()).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows() -> Vec<Row> {
        let row = |name: &str, p99: Option<u64>| {
            let latency = Value::Object(vec![("p99", p99.into())]);
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
}
