//! Errors of TOML on one line.

/// What is wrong with a TOML file, and on which line.
#[must_use]
pub fn toml_reason(text: &str, error: &toml::de::Error) -> String {
    let words = error.message().split_whitespace().collect::<Vec<_>>().join(" ");
    let line = error.span().map(|span| text[..span.start.min(text.len())].matches('\n').count() + 1);
    line.map_or(words.clone(), |line| format!("line {line}: {words}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_is_named_where_it_is_known() {
        let text = "a = 1\nb = \n";
        let error = text.parse::<toml::Table>().unwrap_err();
        assert!(toml_reason(text, &error).starts_with("line 2: "), "{error}");
    }
}
