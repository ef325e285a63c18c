//! A comparison, described once for tables, JSON and CSV.

use nebula_sim::Interval;
use nebula_sim::reproduce::paper::Relation;
use nebula_sim::reproduce::{self, Entry};

use crate::output::{Row, Value};

/// One line of `--list`.
pub(super) fn entry(entry: &Entry) -> Row {
    let [quick, normal, full] = entry.seconds;
    let seconds = Value::Object(vec![("quick", quick.into()), ("normal", normal.into()), ("full", full.into())]);
    Row::new()
        .field("id", entry.id)
        .field("title", entry.title)
        .field("seconds", seconds)
        .word("id", entry.id)
        .word("what", entry.title)
        .shown("quick", about(quick))
        .shown("normal", about(normal))
        .shown("full", about(full))
}

fn about(seconds: u32) -> String {
    if seconds == 0 { "at once".to_owned() } else { format!("{seconds} s") }
}

/// One comparison.
pub(super) fn row(row: &reproduce::Row) -> Row {
    let (ours, published) = (row.reproduced(), row.published());
    Row::new()
        .field("id", row.id())
        .field("what", row.what())
        .field("published", published.map(|figure| figure.value))
        .field("reproduced", ours.value)
        .field("interval", vec![ours.lo, ours.hi])
        .field("unit", row.unit())
        .field("ratio", row.ratio())
        .field("verdict", row.verdict().to_string())
        .field("why", row.why().map(str::to_owned))
        .field("tolerance", published.map(|figure| figure.tolerance))
        .field("origin", published.map(|figure| figure.origin.to_string()))
        .field("source", published.map(|figure| figure.source.clone()))
        .word("id", row.id())
        .shown("published", published.map_or("–".to_owned(), |figure| bound(figure.relation, figure.value)))
        .shown("reproduced", number(ours.value))
        .shown("interval", interval(ours))
        .word("unit", row.unit())
        .word("verdict", row.verdict().to_string())
        .word("why", wrapped(row.why().unwrap_or_default()))
}

fn bound(relation: Relation, value: f64) -> String {
    let sign = match relation {
        Relation::Equal => "",
        Relation::AtMost => "≤ ",
        Relation::AtLeast => "≥ ",
    };
    format!("{sign}{value}")
}

fn interval(interval: Interval) -> String {
    if interval.lo == interval.hi {
        return "exact".to_owned();
    }
    format!("[{}, {}]", number(interval.lo), number(interval.hi))
}

/// Four digits that count.
fn number(value: f64) -> String {
    let decimals = match value.abs() {
        _ if !value.is_finite() => return "∞".to_owned(),
        small if small < 2.0 => 4,
        medium if medium < 99.95 => 2,
        large if large < 999.5 => 1,
        _ => 0,
    };
    format!("{value:.decimals$}")
}

/// A sentence in lines that a terminal holds beside the other columns.
fn wrapped(sentence: &str) -> String {
    let mut lines: Vec<String> = Vec::new();
    for word in sentence.split(' ') {
        match lines.last_mut() {
            Some(line) if line.chars().count() + word.chars().count() < WIDTH => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines.join("\n")
}

const WIDTH: usize = 60;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sentences_are_wrapped_between_words() {
        let sentence = "word ".repeat(40);
        let wrapped = wrapped(sentence.trim_end());
        assert!(wrapped.lines().all(|line| line.len() <= WIDTH) && wrapped.lines().count() == 4, "{wrapped}");
        assert_eq!(wrapped.replace('\n', " "), sentence.trim_end());
    }

    #[test]
    fn numbers_have_the_digits_that_count() {
        assert_eq!(
            [0.9951, 12.345, 344.4, 1017.3, f64::INFINITY].map(number),
            ["0.9951", "12.35", "344.4", "1017", "∞"]
        );
        assert_eq!(bound(Relation::AtMost, 1000.0), "≤ 1000");
    }
}
