//! The result of one check.

use nebula_ui::output::{Row, Value};

#[derive(Clone, Debug)]
pub(super) struct Finding {
    check: String,
    measured: String,
    values: Vec<(&'static str, Value)>,
    /// Empty if all is well.
    advice: &'static str,
    /// Empty if no command does it.
    command: String,
}

impl Finding {
    pub(super) fn new(check: impl Into<String>, measured: impl Into<String>) -> Self {
        Self { check: check.into(), measured: measured.into(), values: Vec::new(), advice: "", command: String::new() }
    }

    #[must_use]
    pub(super) fn value(mut self, name: &'static str, value: impl Into<Value>) -> Self {
        self.values.push((name, value.into()));
        self
    }

    #[must_use]
    pub(super) fn advise_unless(mut self, is_well: bool, advice: &'static str) -> Self {
        if !is_well && self.advice.is_empty() {
            self.advice = advice;
        }
        self
    }

    /// As `advise_unless`, with the command that fixes it.
    #[must_use]
    pub(super) fn fix_unless(mut self, is_well: bool, advice: &'static str, command: String) -> Self {
        if !is_well && self.advice.is_empty() {
            (self.advice, self.command) = (advice, command);
        }
        self
    }

    pub(super) fn row(&self) -> Row {
        let verdict = if self.advice.is_empty() { "ok" } else { "warn" };
        Row::new()
            .field("check", self.check.as_str())
            .field("measured", self.measured.as_str())
            .field("verdict", verdict)
            .field("advice", self.advice)
            .field("command", self.command.as_str())
            .field("values", Value::object(self.values.clone()))
            .word("check", self.check.as_str())
            .word("verdict", verdict)
            .word("measured", wrapped(&self.measured, self.advice, &self.command))
    }
}

/// Wraps the text for a terminal. Advice and command begin on separate lines.
fn wrapped(text: &str, advice: &str, command: &str) -> String {
    let advice = if advice.is_empty() { String::new() } else { format!("→ {advice}") };
    let command = if command.is_empty() { String::new() } else { format!("$ {command}") };
    let lines = lines_of(text).into_iter().chain(lines_of(&advice)).chain(lines_of(&command));
    lines.filter(|line| !line.is_empty()).collect::<Vec<_>>().join("\n")
}

fn lines_of(text: &str) -> Vec<String> {
    const COLUMNS: usize = 78;
    let mut lines = vec![String::new()];
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if line.is_empty() => line.push_str(word),
            Some(line) if line.chars().count() + word.chars().count() < COLUMNS => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_line_is_longer_than_the_terminal_and_no_word_is_lost() {
        let text = "word ".repeat(40).trim_end().to_owned();
        let shown = wrapped(&text, "advice", "");
        assert!(shown.lines().all(|line| line.chars().count() <= 78));
        assert_eq!(shown.split_whitespace().count(), 42);
        assert_eq!(shown.lines().last(), Some("→ advice"));
        assert_eq!(wrapped("all is well", "", ""), "all is well");
        assert_eq!(wrapped("slow", "fix it", "fix --now"), "slow\n→ fix it\n$ fix --now");
    }
}
