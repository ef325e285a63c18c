//! The answer at a point in the form that is kept: its rows print again as they were.

use nebula_sim::study::{Align, Cell, Row, Value};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json, json};

use super::point::Point;
use crate::{Answer, Failure};

/// The answer at a point, or why there is none.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PointResult {
    axes: Vec<(String, String)>,
    rows: Vec<Kept>,
    notes: Vec<String>,
    error: Option<String>,
    /// Whether the same words fail again, as an unlimited queue does; a missing file may not.
    is_lasting: bool,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Kept {
    fields: Map<String, Json>,
    cells: Vec<(String, String, bool)>,
}

impl PointResult {
    pub(super) fn of(point: &Point, answer: &Answer) -> Self {
        let error = answer.failure.as_ref().map(ToString::to_string);
        let rows = answer.rows.iter().map(Kept::of).collect();
        Self { axes: point.axes().to_vec(), rows, notes: answer.notes.clone(), error, is_lasting: true }
    }

    pub(super) fn failed(point: &Point, failure: &Failure) -> Self {
        Self {
            axes: point.axes().to_vec(),
            rows: Vec::new(),
            notes: Vec::new(),
            error: Some(failure.to_string()),
            is_lasting: false,
        }
    }

    pub(super) const fn is_lasting(&self) -> bool {
        self.is_lasting
    }

    /// Warnings about rows.
    #[must_use]
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// Why the point has no rows, or not all.
    #[must_use]
    pub fn error(&self) -> Option<&str> {
        self.error.as_deref()
    }

    /// Its rows: the place on each axis, then the fields. A failed point's has the field `error`.
    pub fn rows(&self) -> impl Iterator<Item = Row> + '_ {
        let failed = self
            .error
            .iter()
            .map(|error| self.placed(&Kept::default()).field("error", error.as_str()).word("error", error.as_str()));
        self.rows.iter().map(|kept| self.placed(kept)).chain(failed)
    }

    /// A row after its place, which leaves out axes that the row names.
    fn placed(&self, kept: &Kept) -> Row {
        let mut row = Row::new();
        for (axis, value) in &self.axes {
            if !kept.fields.contains_key(axis) {
                row = row.field(axis.clone(), number_or_text(value));
            }
            if !kept.cells.iter().any(|(heading, ..)| heading == axis) {
                row = row.word(axis.clone(), value.clone());
            }
        }
        kept.add_to(row)
    }

    /// One line of JSON.
    ///
    /// # Errors
    ///
    /// A fault: a value that JSON cannot hold.
    pub fn to_json(&self) -> Result<String, Failure> {
        serde_json::to_string(self).map_err(Failure::fault)
    }

    /// The result in this line; `None` if it is not of this version.
    #[must_use]
    pub fn from_json(line: &str) -> Option<Self> {
        serde_json::from_str(line).ok()
    }

    /// The result of a point whose worker died.
    #[must_use]
    pub fn lost(point: &Point, why: &str) -> Self {
        Self::failed(point, &Failure::fault(why))
    }
}

fn number_or_text(text: &str) -> Value {
    if let Ok(count) = text.parse::<u64>() {
        return count.into();
    }
    text.parse::<f64>().map_or_else(|_| text.into(), Value::from)
}

impl Default for Kept {
    fn default() -> Self {
        Self { fields: Map::new(), cells: Vec::new() }
    }
}

impl Kept {
    fn of(row: &Row) -> Self {
        let fields = row.fields().iter().map(|(name, value)| (name.clone().into_owned(), json!(value))).collect();
        let cell = |cell: &Cell| (cell.heading.clone().into_owned(), cell.text.clone(), cell.align == Align::Right);
        Self { fields, cells: row.cells().iter().map(cell).collect() }
    }

    fn add_to(&self, row: Row) -> Row {
        let with = |row: Row, (name, value): (&String, &Json)| row.field(name.clone(), value_of(name, value));
        let row = self.fields.iter().fold(row, with);
        self.cells.iter().fold(row, |row, (heading, text, is_number)| {
            let align = if *is_number { Align::Right } else { Align::Left };
            row.cell(Cell { heading: heading.clone().into(), text: text.clone(), align })
        })
    }
}

fn value_of(name: &str, json: &Json) -> Value {
    match json {
        Json::Null => Value::Null,
        Json::Bool(value) => (*value).into(),
        Json::Number(number) => number.as_u64().map_or_else(|| number.as_f64().into(), Value::Count),
        Json::String(text) => text.as_str().into(),
        Json::Array(ends) if name.ends_with("_ci") && ends.len() == 2 => {
            Value::Ends([0, 1].map(|at: usize| ends[at].as_f64().unwrap_or(f64::INFINITY)))
        }
        Json::Array(values) => Value::List(values.iter().map(|value| value_of("", value)).collect()),
        Json::Object(fields) => Value::object(fields.iter().map(|(name, value)| (name.clone(), value_of(name, value)))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sweep::Kind;

    fn point() -> Point {
        Point::of(
            Kind::Simulate,
            Vec::new(),
            vec![("queue_bound".into(), "10".into()), ("policy".into(), "rss".into())],
        )
    }

    fn result() -> PointResult {
        let latency = Value::object([("p99", Value::Number(0.1 + 0.2)), ("max", Value::Number(f64::INFINITY))]);
        let row = Row::new()
            .field("policy", "rss")
            .field("latency_ns", latency)
            .field("load_ci", Value::Ends([0.5, f64::INFINITY]))
            .field("busy", vec![1.0, 0.5])
            .shown("p99", "3 µs");
        PointResult::of(&point(), &Answer { rows: vec![row], ..Answer::default() })
    }

    #[test]
    fn what_is_kept_is_read_back_to_the_same_bytes() {
        let fresh = result();
        let line = fresh.to_json().unwrap();
        let back = PointResult::from_json(&line).unwrap();
        assert_eq!(back.to_json().unwrap(), line);
        let text = |result: &PointResult| {
            result.rows().map(|row| (serde_json::to_string(&row).unwrap(), row.flat(), row.texts())).collect::<Vec<_>>()
        };
        assert_eq!(text(&back), text(&fresh));
        assert_eq!(
            text(&fresh)[0].0,
            r#"{"queue_bound":10,"policy":"rss","latency_ns":{"p99":0.30000000000000004,"max":null},"load_ci":[0.5,null],"busy":[1.0,0.5]}"#
        );
        assert!(PointResult::from_json("{}").is_none());
    }

    #[test]
    fn a_failure_has_a_row_with_its_place() {
        let failed = PointResult::lost(&point(), "the worker died");
        let rows: Vec<String> = failed.rows().map(|row| serde_json::to_string(&row).unwrap()).collect();
        assert_eq!(rows, [r#"{"queue_bound":10,"policy":"rss","error":"the worker died"}"#]);
    }
}
