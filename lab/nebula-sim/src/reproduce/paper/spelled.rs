//! Values that a file of a paper spells as text.

use serde::de::Error;
use serde::{Deserialize, Deserializer};
use std::fmt;

/// Reads a time from its text form.
pub(crate) fn span<'de, D: Deserializer<'de>>(text: D) -> Result<Option<nebula_nic::Span>, D::Error> {
    spelled(text).map(Some)
}

/// Reads a value from its text form.
pub(crate) fn spelled<'de, D: Deserializer<'de>, T: std::str::FromStr<Err: fmt::Display>>(
    text: D,
) -> Result<T, D::Error> {
    String::deserialize(text)?.parse().map_err(D::Error::custom)
}
