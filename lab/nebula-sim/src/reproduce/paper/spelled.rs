//! Optional values that a paper's file spells as text.

use nebula_workload::from_toml::spelled;
use serde::Deserializer;

pub(crate) fn span<'de, D: Deserializer<'de>>(text: D) -> Result<Option<nebula_nic::Span>, D::Error> {
    spelled(text).map(Some)
}
