//! One result: fields for JSON and CSV, cells for a table.

use super::value::{Name, Value};
use serde::ser::{Serialize, SerializeMap, Serializer};

/// A line of JSON, a row of CSV, a row of the table.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Row {
    fields: Vec<(Name, Value)>,
    cells: Vec<Cell>,
}

/// A cell of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cell {
    /// The heading; may have several lines.
    pub heading: Name,
    /// The text; several lines make a row of several lines.
    pub text: String,
    /// Alignment of the text.
    pub align: Align,
}

/// Alignment of a cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Align {
    /// Left, for words.
    Left,
    /// Right, for numbers.
    Right,
}

impl Row {
    /// An empty row.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a field of JSON and CSV that is not in the table.
    #[must_use]
    pub fn field(mut self, name: impl Into<Name>, value: impl Into<Value>) -> Self {
        self.fields.push((name.into(), value.into()));
        self
    }

    /// Adds a cell of the table, aligned as numbers are.
    #[must_use]
    pub fn shown(self, heading: impl Into<Name>, text: impl Into<String>) -> Self {
        self.cell(Cell { heading: heading.into(), text: text.into(), align: Align::Right })
    }

    /// Adds a cell of the table, aligned as words are.
    #[must_use]
    pub fn word(self, heading: impl Into<Name>, text: impl Into<String>) -> Self {
        self.cell(Cell { heading: heading.into(), text: text.into(), align: Align::Left })
    }

    /// Adds a cell of the table.
    #[must_use]
    pub fn cell(mut self, cell: Cell) -> Self {
        self.cells.push(cell);
        self
    }

    /// The headings of the table, on one line each.
    #[must_use]
    pub fn headings(&self) -> Vec<String> {
        self.cells.iter().map(|cell| cell.heading.replace('\n', " ")).collect()
    }

    /// The texts of the table.
    #[must_use]
    pub fn texts(&self) -> Vec<String> {
        self.cells.iter().map(|cell| cell.text.clone()).collect()
    }

    /// The fields, in their order.
    #[must_use]
    pub fn fields(&self) -> &[(Name, Value)] {
        &self.fields
    }

    /// The cells of the table.
    #[must_use]
    pub fn cells(&self) -> &[Cell] {
        &self.cells
    }

    /// Names and single values: the parts of an object, an interval and a list have a name each.
    #[must_use]
    pub fn values(&self) -> Vec<(String, Value)> {
        let mut values = Vec::new();
        self.fields.iter().for_each(|(name, value)| value.flatten(name, &mut values));
        values
    }

    /// [`values`](Self::values) as texts, for CSV.
    #[must_use]
    pub fn flat(&self) -> Vec<(String, String)> {
        self.values().into_iter().map(|(name, value)| (name, value.plain())).collect()
    }
}

/// An object of the fields, in their order.
impl Serialize for Row {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.fields.len()))?;
        self.fields.iter().try_for_each(|(name, value)| map.serialize_entry(name, value))?;
        map.end()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_keeps_fields_and_cells_apart_and_in_order() {
        let latency = Value::object([("p50", 3_u64.into()), ("p99", Value::Null)]);
        let row = Row::new().field("b", 1_u64).field("latency_ns", latency).word("name", "x").shown("p99\nraw", "∞");
        let flat: Vec<String> = row.flat().into_iter().map(|(name, _)| name).collect();
        assert_eq!(flat, ["b", "latency_ns_p50", "latency_ns_p99"]);
        assert_eq!(
            (row.headings().join(" | "), row.texts().join(" | ")),
            ("name | p99 raw".to_owned(), "x | ∞".to_owned())
        );
        assert_eq!(row.cells()[0].align, Align::Left);
    }
}
