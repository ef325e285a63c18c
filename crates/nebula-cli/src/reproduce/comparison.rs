//! One value, published and reproduced: from a run, or from the JSON of an earlier run.

use std::path::Path;

use nebula_sim::reproduce::paper::{self, Relation};
use nebula_sim::reproduce::{Entry, Judgment, Row};
use serde::Deserialize;

use crate::output::Failure;
use crate::output::text::digits;

/// A comparison; infinite values are `None`.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Comparison {
    pub(super) id: String,
    pub(super) what: String,
    pub(super) published: Option<f64>,
    pub(super) reproduced: Option<f64>,
    pub(super) interval: [Option<f64>; 2],
    pub(super) unit: String,
    pub(super) ratio: Option<f64>,
    pub(super) verdict: String,
    pub(super) why: Option<String>,
    pub(super) relation: Option<String>,
    pub(super) tolerance: Option<f64>,
    pub(super) origin: Option<String>,
    pub(super) source: Option<String>,
}

impl Comparison {
    pub(super) fn of(row: &Row) -> Self {
        let (ours, figure) = (row.reproduced(), row.published());
        let finite = |value: f64| Some(digits(value)).filter(|value| value.is_finite());
        Self {
            id: row.id().to_owned(),
            what: row.what().to_owned(),
            published: figure.map(|figure| figure.value),
            reproduced: finite(ours.value),
            interval: [finite(ours.lo), finite(ours.hi)],
            unit: row.unit().to_owned(),
            ratio: row.ratio().and_then(finite),
            verdict: row.judgment().to_string(),
            why: row.why().map(str::to_owned),
            relation: figure.map(|figure| relation(figure.relation).to_owned()),
            tolerance: figure.map(|figure| figure.tolerance),
            origin: figure.map(|figure| figure.origin.to_string()),
            source: figure.map(|figure| format!("{}, {}", paper_of(&figure.id), figure.source)),
        }
    }

    /// Whether it belongs to `entry`.
    pub(super) fn is_of(&self, entry: &Entry) -> bool {
        self.id.strip_prefix(entry.id).is_some_and(|rest| rest.starts_with('/'))
    }

    /// The published value with its relation: `≤ 1000`.
    pub(super) fn claim(&self) -> Option<String> {
        let sign = match self.relation.as_deref() {
            Some("at-most") => "≤ ",
            Some("at-least") => "≥ ",
            _ => "",
        };
        self.published.map(|value| format!("{sign}{value}"))
    }

    /// Whether nothing of ours stands beside the published value.
    fn is_cited(&self) -> bool {
        self.verdict == Judgment::Cited.to_string()
    }

    pub(super) fn value(&self) -> String {
        if self.is_cited() {
            return "–".to_owned();
        }
        number(self.reproduced)
    }

    /// The interval; `exact` if a formula gives the value.
    pub(super) fn ends(&self) -> String {
        if self.is_cited() {
            return "–".to_owned();
        }
        let [lo, hi] = self.interval;
        if lo.is_some() && lo == hi { "exact".to_owned() } else { format!("[{}, {}]", number(lo), number(hi)) }
    }
}

const fn relation(relation: Relation) -> &'static str {
    match relation {
        Relation::Equal => "equal",
        Relation::AtMost => "at-most",
        Relation::AtLeast => "at-least",
    }
}

fn paper_of(id: &str) -> &'static str {
    paper::figures().find(|(_, figure)| figure.id == id).map_or("", |(paper, _)| paper)
}

/// Four significant digits.
fn number(value: Option<f64>) -> String {
    let Some(value) = value else { return "∞".to_owned() };
    let decimals = match value.abs() {
        small if small < 2.0 => 4,
        medium if medium < 99.95 => 2,
        large if large < 999.5 => 1,
        _ => 0,
    };
    format!("{value:.decimals$}")
}

/// The comparisons of `entries` that an earlier run printed as JSON.
pub(super) fn read(path: &Path, entries: &[Entry]) -> Result<Vec<Comparison>, Failure> {
    let text = std::fs::read_to_string(path)
        .map_err(|error| Failure::bad_input(format!("cannot read {}: {error}", path.display())))?;
    let comparisons = parse(&text).map_err(|error| Failure::bad_input(format!("{} {error}", path.display())))?;
    Ok(comparisons.into_iter().filter(|comparison| entries.iter().any(|entry| comparison.is_of(entry))).collect())
}

/// Reads one JSON object per line.
pub(super) fn parse(text: &str) -> Result<Vec<Comparison>, String> {
    let one = |(line, number): (&str, u64)| {
        serde_json::from_str(line).map_err(|error| format!("line {number} is not a row of nebula reproduce: {error}"))
    };
    text.lines().zip(1..).filter(|(line, _)| !line.trim().is_empty()).map(one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_the_digits_that_count() {
        let values = [Some(0.9951), Some(12.345), Some(344.4), Some(1017.3), None];
        assert_eq!(values.map(number), ["0.9951", "12.35", "344.4", "1017", "∞"]);
    }

    #[test]
    fn a_line_that_is_no_row_is_named() {
        let error = parse("\n{\"id\": 3}\n").unwrap_err();
        assert!(error.starts_with("line 2 is not a row of nebula reproduce"), "{error}");
    }
}
