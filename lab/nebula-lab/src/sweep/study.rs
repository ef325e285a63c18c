//! A study's file: its question, its fixed words, and the axes of its grid.

use serde::Deserialize;
use serde_json::{Map, Value};

use super::kind::{Kind, Word};
use super::point::Point;
use crate::Failure;
use crate::words::steps;

/// A question, and the words that ask it.
///
/// In TOML, `grid.load = "0.5..0.9:5"` is five loads, `grid.cores = [4, 16]` two numbers of cores,
/// and `[grid.set.memory.dram] banks = [16, 32]` the flag `--set memory.dram.banks=…`. A key is a
/// flag, with `_` or `-`.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Study {
    /// The question at each point.
    #[serde(default)]
    pub question: Kind,
    /// Words of all points.
    #[serde(default)]
    pub fixed: Map<String, Value>,
    /// The axes, the slowest first: each a list of values, or a range `LOW..HIGH:STEPS`.
    #[serde(default)]
    pub grid: Map<String, Value>,
}

impl Study {
    /// The most points of a study, so that a typing error is reported.
    pub const POINTS_MAX: usize = 100_000;

    /// Reads a study from TOML.
    ///
    /// # Errors
    ///
    /// Invalid input: where, and why.
    pub fn parse(toml: &str) -> Result<Self, Failure> {
        toml::from_str(toml).map_err(|error| Failure::bad_input(format!("this is not a study: {error}")))
    }

    /// Reads a study from JSON with the same keys.
    pub fn parse_json(json: &str) -> Result<Self, Failure> {
        serde_json::from_str(json).map_err(|error| Failure::bad_input(format!("this is not a study: {error}")))
    }

    /// All points; the last axis varies fastest.
    ///
    /// # Errors
    ///
    /// Invalid input: an axis without values, too many points, or words wrong at all points.
    pub fn points(&self) -> Result<Vec<Point>, Failure> {
        let fixed: Vec<Word> =
            flat("", &self.fixed).into_iter().filter_map(|(name, value)| word(name, value)).collect();
        let axes = flat("", &self.grid)
            .into_iter()
            .map(|(name, value)| Ok((values(&name, value)?, name)))
            .collect::<Result<Vec<_>, Failure>>()?;
        let count = axes.iter().try_fold(1_usize, |count, (values, _)| count.checked_mul(values.len()));
        if count.is_none_or(|count| count > Self::POINTS_MAX) {
            return Err(Failure::bad_input(format!("the grid has too many points: give at most {}", Self::POINTS_MAX)));
        }
        let mut points = vec![Vec::new()];
        for (values, name) in &axes {
            let with = |point: &Vec<Word>| {
                let point = point.clone();
                values.iter().map(move |value| [&point[..], &[(name.clone(), value.clone())]].concat())
            };
            points = points.iter().flat_map(with).collect();
        }
        let points: Vec<Point> = points.into_iter().map(|axes| Point::new(self.question, &fixed, axes)).collect();
        check(&points)?;
        Ok(points)
    }
}

/// A wrong fixed word makes all points wrong, which is an error of the study.
fn check(points: &[Point]) -> Result<(), Failure> {
    let mut wrong = None;
    for point in points {
        match point.check() {
            Ok(()) => return Ok(()),
            Err(failure) => wrong = wrong.or(Some(failure)),
        }
    }
    wrong.map_or(Ok(()), Err)
}

/// The values of nested tables, with joined names: `set.memory.dram.banks`.
fn flat<'a>(prefix: &str, table: &'a Map<String, Value>) -> Vec<(String, &'a Value)> {
    let of = |(name, value): (&String, &'a Value)| {
        let name = if prefix.is_empty() { name.replace('-', "_") } else { format!("{prefix}.{name}") };
        match value {
            Value::Object(inner) => flat(&name, inner),
            value => vec![(name, value)],
        }
    };
    table.iter().flat_map(of).collect()
}

/// A fixed word: a list is one value with commas, and `false` leaves the flag out.
fn word(name: String, value: &Value) -> Option<Word> {
    match value {
        Value::Bool(false) | Value::Null => None,
        Value::Bool(true) => Some((name, None)),
        Value::Array(values) => Some((name, Some(values.iter().map(plain).collect::<Vec<_>>().join(",")))),
        value => Some((name, Some(plain(value)))),
    }
}

fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        value => value.to_string(),
    }
}

fn values(name: &str, value: &Value) -> Result<Vec<Option<String>>, Failure> {
    let wrong = || {
        Failure::bad_input(format!(
            "the axis {name} has no values: give a list such as [4, 16], or a range such as \"0.5..0.9:5\""
        ))
    };
    match value {
        Value::Array(values) if !values.is_empty() => Ok(values.iter().map(|value| Some(plain(value))).collect()),
        Value::String(text) => {
            let steps = steps(text, Study::POINTS_MAX).ok_or_else(wrong)?;
            Ok(steps.into_iter().map(Some).collect())
        }
        _ => Err(wrong()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn study(text: &str) -> Result<Vec<String>, String> {
        let points = Study::parse(text).and_then(|study| study.points()).map_err(|failure| failure.to_string())?;
        Ok(points.iter().map(|point| point.words().join(" ")).collect())
    }

    #[test]
    fn the_last_axis_runs_fastest_and_axes_keep_their_order() {
        let points = study(
            "fixed = { rpcs = '1k', fair_shares = false }\n[grid]\npolicy = ['rss', 'jbsq:2']\nload = '0.5..0.7:2'\ncores = [4]",
        );
        assert_eq!(
            points.unwrap(),
            [
                "--rpcs=1k --policy=rss --load=0.5 --cores=4",
                "--rpcs=1k --policy=rss --load=0.7 --cores=4",
                "--rpcs=1k --policy=jbsq:2 --load=0.5 --cores=4",
                "--rpcs=1k --policy=jbsq:2 --load=0.7 --cores=4",
            ]
        );
    }

    #[test]
    fn flags_without_a_value_lists_and_keys_of_machines_are_words_too() {
        let points = study(
            "[fixed]\nmachine = 'isca20'\nfind_slo = true\ndesign = ['rss', 'nebula']\n[grid.set.memory.dram]\nbanks = [16, 32]",
        );
        let fixed = "--machine=isca20 --find-slo --design=rss,nebula";
        assert_eq!(points.unwrap(), [16, 32].map(|banks| format!("{fixed} --set=memory.dram.banks={banks}")));
    }

    #[test]
    fn a_wrong_study_is_told_in_one_line() {
        assert!(study("[fixed]\ncore = 4").unwrap_err().contains("unexpected argument '--core'"));
        assert!(study("grids = 1").unwrap_err().contains("unknown field `grids`"));
        assert!(study("[grid]\ncores = 4").unwrap_err().starts_with("the axis cores has no values"));
        assert!(study("question = 'dream'").unwrap_err().contains("`simulate`, `compare`, `size`"));
        let many = "[grid]\nload = '0.1..0.9:1000'\nseed = '1..1000:1000'";
        assert!(study(many).unwrap_err().contains("too many points"));
        assert_eq!(study("[grid]\npolicy = ['rss', 'fifo']").unwrap().len(), 2, "one point of two is wrong");
    }
}
