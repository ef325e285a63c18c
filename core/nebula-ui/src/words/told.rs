//! Clap's error in one line.

/// Clap's error of several paragraphs as one line, without the usage.
#[must_use]
pub fn in_one_line(text: &str) -> String {
    let said = text.lines().map(str::trim).take_while(|line| !line.starts_with("Usage:"));
    let said = said.filter(|line| !line.is_empty() && !line.starts_with("For more information"));
    let line = said.collect::<Vec<_>>().join("; ");
    // No semicolon after a colon or before a bracket of possible values.
    let line = line.replace(":; ", ": ").replace("; [", " [");
    line.strip_prefix("error: ").unwrap_or(&line).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_of_several_paragraphs_is_one_line_without_its_usage() {
        let text =
            "error: invalid value 'x' for '--format <FORMAT>'\n  [possible values: table, json]\n\nUsage: nebula\n";
        assert_eq!(in_one_line(text), "invalid value 'x' for '--format <FORMAT>' [possible values: table, json]");
    }
}
