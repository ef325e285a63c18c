//! The question of a study, and its words.

use serde::Deserialize;

/// The question of a study.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// [`simulate`](crate::simulate).
    #[default]
    Simulate,
    /// [`compare`](crate::compare).
    Compare,
    /// [`size`](crate::size).
    Size,
}

impl Kind {
    /// Its name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Simulate => "simulate",
            Self::Compare => "compare",
            Self::Size => "size",
        }
    }
}

/// A flag and its value as a word; `None` for a flag without one.
pub(super) type Word = (String, Option<String>);
