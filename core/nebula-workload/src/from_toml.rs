//! Shared by all files in TOML: values by their spelling, and errors on one line.

use serde::{Deserialize, Deserializer, de};

/// Deserializes a value from its spelling.
///
/// # Errors
///
/// It is no text, or not the spelling of a value.
pub fn spelled<'de, D: Deserializer<'de>, T: std::str::FromStr<Err: std::fmt::Display>>(
    text: D,
) -> Result<T, D::Error> {
    String::deserialize(text)?.parse().map_err(de::Error::custom)
}

/// A duration, such as `200ns`.
///
/// # Errors
///
/// It is no text, or no duration.
pub fn span<'de, D: Deserializer<'de>>(text: D) -> Result<nebula_nic::Span, D::Error> {
    spelled(text)
}

/// The error in a TOML file, with its line.
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
