//! A value, published and reproduced: from a run, or from the JSON of an earlier run.

use std::fmt;
use std::path::Path;

use nebula_sim::reproduce::paper::{self, Relation};
use nebula_sim::reproduce::{Entry, Judgment, Row};
use nebula_sim::study::text::digits;
use serde::Deserialize;

use crate::Failure;

/// A comparison; infinite values are `None`.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Comparison {
    /// Its name, `paper/entry/value`.
    pub id: String,
    /// The measured quantity, in words.
    pub what: String,
    /// The paper's value; `None` if none is published.
    pub published: Option<f64>,
    /// Our value.
    pub reproduced: Option<f64>,
    /// Both ends of its 95 % interval, which are equal for a formula.
    pub interval: [Option<f64>; 2],
    /// The unit of all values.
    pub unit: String,
    /// Ours over the published one.
    pub ratio: Option<f64>,
    /// `reproduced`, `differs`, `not-reproducible-as-published`, `fitted`, `cited` or `note`.
    pub verdict: String,
    /// The reason of a difference.
    pub why: Option<String>,
    /// `equal`, `at-most` or `at-least`.
    pub relation: Option<String>,
    /// The largest deviation that counts as reproduced, in `unit`.
    pub tolerance: Option<f64>,
    /// Where it was read: `paper`, `slides`, `abstract`, `recalled` or `artefact`.
    pub origin: Option<String>,
    /// Paper and section.
    pub source: Option<String>,
    /// The value that means no effect, if the published one is an effect.
    #[serde(default)]
    pub neutral: Option<f64>,
    /// The id of the same claim, if the paper makes it twice.
    #[serde(default)]
    pub same_as: Option<String>,
    /// Our value without fitted parameters.
    #[serde(default)]
    pub unfitted: Option<f64>,
    /// The verdict on it.
    #[serde(default)]
    pub unfitted_verdict: Option<String>,
}

impl Comparison {
    /// The comparison of a run's row.
    #[must_use]
    pub fn of(row: &Row) -> Self {
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
            neutral: figure.and_then(|figure| figure.neutral),
            same_as: figure.and_then(|figure| figure.same_as.clone()),
            unfitted: row.unfitted().and_then(|(value, _)| finite(value.value)),
            unfitted_verdict: row.unfitted().map(|(_, judgment)| judgment.to_string()),
        }
    }

    /// Whether it belongs to `entry`.
    pub fn is_of(&self, entry: &Entry) -> bool {
        self.id.strip_prefix(entry.id).is_some_and(|rest| rest.starts_with('/'))
    }

    /// The published value with its relation: `≤ 1000`.
    pub fn claim(&self) -> Option<String> {
        let sign = match self.relation.as_deref() {
            Some("at-most") => "≤ ",
            Some("at-least") => "≥ ",
            _ => "",
        };
        self.published.map(|value| format!("{sign}{value}"))
    }

    fn is_cited(&self) -> bool {
        self.verdict == Judgment::Cited.to_string()
    }

    /// The value and the verdict without fitted parameters; `–` without such runs.
    pub fn with_nothing_fitted(&self) -> String {
        self.unfitted_verdict
            .as_ref()
            .map_or("–".to_owned(), |verdict| format!("{} {verdict}", number(self.unfitted)))
    }

    /// Our value as text; `–` if the row is only cited.
    #[must_use]
    pub fn value(&self) -> String {
        if self.is_cited() {
            return "–".to_owned();
        }
        number(self.reproduced)
    }

    /// The interval; `exact` if a formula gives the value.
    pub fn ends(&self) -> String {
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

/// The number of published values by verdict; a claim counts once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counted {
    reproduced: usize,
    differ: usize,
    not_reproducible: usize,
    /// Apart from those above: a parameter is fitted to them.
    fitted: usize,
    /// Apart from those above: the laboratory has no value for them.
    cited: usize,
    unfitted: usize,
    unfitted_reproduced: usize,
}

impl Counted {
    /// Counts comparisons.
    #[must_use]
    pub fn of<'a>(comparisons: impl Iterator<Item = &'a Comparison>) -> Self {
        let mut counted = Self::default();
        for one in comparisons.filter(|one| one.published.is_some() && one.same_as.is_none()) {
            match one.verdict.as_str() {
                REPRODUCED => counted.reproduced += 1,
                "differs" => counted.differ += 1,
                "fitted" => counted.fitted += 1,
                "cited" => counted.cited += 1,
                _ => counted.not_reproducible += 1,
            }
            counted.unfitted += usize::from(one.unfitted_verdict.is_some());
            counted.unfitted_reproduced += usize::from(one.unfitted_verdict.as_deref() == Some(REPRODUCED));
        }
        counted
    }

    /// Reproduced, different, not reproducible as published, fitted, and only cited.
    #[must_use]
    pub fn by_verdict(&self) -> [usize; 5] {
        [self.reproduced, self.differ, self.not_reproducible, self.fitted, self.cited]
    }
}

impl fmt::Display for Counted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { reproduced, differ, not_reproducible, fitted, cited, unfitted, unfitted_reproduced } = self;
        let judged = reproduced + differ + not_reproducible;
        write!(
            f,
            "Of {judged} published values {reproduced} are reproduced, {differ} differ, and {not_reproducible} are not reproducible as published."
        )?;
        if fitted + cited > 0 {
            write!(f, " Not among them: {fitted} to which parameters are fitted, and {cited} that are only cited.")?;
        }
        if *unfitted > 0 {
            write!(f, " With nothing fitted {unfitted_reproduced} of {unfitted} are reproduced.")?;
        }
        Ok(())
    }
}

/// The verdict on a reproduced value.
pub const REPRODUCED: &str = "reproduced";

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
pub fn read(path: &Path, entries: &[Entry]) -> Result<Vec<Comparison>, Failure> {
    let text = nebula_files::text(path)
        .map_err(|error| Failure::bad_input(format!("cannot read {}: {error}", path.display())))?;
    let comparisons = parse(&text).map_err(|error| Failure::bad_input(format!("{} {error}", path.display())))?;
    Ok(comparisons.into_iter().filter(|comparison| entries.iter().any(|entry| comparison.is_of(entry))).collect())
}

/// Reads one JSON object per line.
pub fn parse(text: &str) -> Result<Vec<Comparison>, String> {
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
    fn a_claim_made_twice_is_counted_once() {
        let row = |id: &str, verdict: &str, more: &str| {
            format!(
                r#"{{"id":"a/b/{id}","what":"w","published":2.0,"reproduced":1.5,"interval":[1.0,2.0],"unit":"u","ratio":0.75,"verdict":"{verdict}","why":null,"relation":"equal","tolerance":0.1,"origin":"paper","source":"P"{more}}}"#
            )
        };
        let rows = [
            row("c", "reproduced", r#","unfitted":1.9,"unfitted_verdict":"differs""#),
            row("d", "reproduced", r#","same_as":"a/b/c","unfitted":2.0,"unfitted_verdict":"reproduced""#),
            row("e", "differs", ""),
            row("f", "not-reproducible-as-published", ""),
            row("g", "fitted", ""),
            row("h", "cited", ""),
            row("i", "cited", ""),
        ];
        let counted = Counted::of(parse(&rows.join("\n")).unwrap().iter()).to_string();
        assert_eq!(
            counted,
            "Of 3 published values 1 are reproduced, 1 differ, and 1 are not reproducible as published. Not among them: 1 to which parameters are fitted, and 2 that are only cited. With nothing fitted 0 of 1 are reproduced."
        );
    }

    #[test]
    fn a_line_that_is_no_row_is_named() {
        let error = parse("\n{\"id\": 3}\n").unwrap_err();
        assert!(error.starts_with("line 2 is not a row of nebula reproduce"), "{error}");
    }
}
