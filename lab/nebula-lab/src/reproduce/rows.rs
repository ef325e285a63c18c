//! Comparisons, defined once for tables, JSON and CSV.

use nebula_sim::reproduce::Entry;
use nebula_sim::study::{Row, Value};

use super::comparison::Comparison;

/// A row of `--list`.
pub fn entry(entry: &Entry) -> Row {
    let [quick, normal, full] = entry.seconds;
    let seconds = Value::object([("quick", quick.into()), ("normal", normal.into()), ("full", full.into())]);
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
    if seconds == 0 { "< 1 s".to_owned() } else { format!("{seconds} s") }
}

/// The row of one comparison.
pub fn row(one: &Comparison) -> Row {
    let Comparison { id, what, unit, verdict, .. } = one;
    Row::new()
        .field("id", id.as_str())
        .field("what", what.as_str())
        .field("published", one.published)
        .field("reproduced", one.reproduced)
        .field("interval", Value::Ends(one.interval.map(|end| end.unwrap_or(f64::INFINITY))))
        .field("unit", unit.as_str())
        .field("ratio", one.ratio)
        .field("verdict", verdict.as_str())
        .field("why", one.why.clone())
        .field("relation", one.relation.clone())
        .field("tolerance", one.tolerance)
        .field("origin", one.origin.clone())
        .field("source", one.source.clone())
        .field("neutral", one.neutral)
        .field("same_as", one.same_as.clone())
        .field("unfitted", one.unfitted)
        .field("unfitted_verdict", one.unfitted_verdict.clone())
        .word("id", id)
        .shown("published", one.claim().unwrap_or_else(|| "–".to_owned()))
        .shown("reproduced", one.value())
        .shown("interval", one.ends())
        .word("unit", unit)
        .word("verdict", verdict)
        .word("nothing fitted", one.with_nothing_fitted())
        .word("why", wrapped(one.why.as_deref().unwrap_or_default()))
}

/// A sentence in lines that fit a terminal next to the other columns.
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
}
