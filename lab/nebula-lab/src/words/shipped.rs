//! A flag names a file, or something that ships with Nebula.

use std::fmt::Display;
use std::path::Path;

use crate::Failure;

/// The text and its content: a shipped one by name; with `.toml`, a file if it exists.
pub(crate) fn shipped_or_file<T, E: Display>(
    flag: &str,
    given: &str,
    names: impl Iterator<Item = &'static str>,
    source: fn(&str) -> Option<&'static str>,
    parse: fn(&str) -> Result<T, E>,
) -> Result<(String, T), Failure> {
    let path = Path::new(given);
    let text = match source(given) {
        Some(shipped) => shipped.to_owned(),
        None if path.is_file() => nebula_files::text(path)
            .map_err(|error| Failure::bad_input(format!("{flag}: cannot read {given}: {error}")))?,
        None => given.strip_suffix(".toml").and_then(source).map(str::to_owned).ok_or_else(|| {
            Failure::bad_input(format!(
                "{flag}: {given:?} is neither a file nor a name that ships with Nebula: give a file, or one of {}",
                names.collect::<Vec<_>>().join(", ")
            ))
        })?,
    };
    let parsed = parse(&text).map_err(|error| Failure::bad_input(format!("{given}: {error}")))?;
    Ok((text, parsed))
}
