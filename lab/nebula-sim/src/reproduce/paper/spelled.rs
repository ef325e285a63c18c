//! Values that a file of a paper spells as text, and may leave out.

use nebula_workload::from_toml::spelled;
use serde::Deserializer;

/// Reads a time from its text form.
pub(crate) fn span<'de, D: Deserializer<'de>>(text: D) -> Result<Option<nebula_nic::Span>, D::Error> {
    spelled(text).map(Some)
}
