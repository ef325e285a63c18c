//! Values that a file spells as text.

use nebula_nic::Span;
use serde::{Deserialize, Deserializer, de};

/// Deserializes a value from its text.
pub(crate) fn spelled<'de, D: Deserializer<'de>, T: std::str::FromStr<Err: std::fmt::Display>>(
    text: D,
) -> Result<T, D::Error> {
    String::deserialize(text)?.parse().map_err(de::Error::custom)
}

/// A duration as people write it, such as `200ns`.
pub(crate) fn span<'de, D: serde::Deserializer<'de>>(text: D) -> Result<Span, D::Error> {
    spelled(text)
}
