//! One measured figure, what it is compared with, and whether it keeps what is promised of it.

use serde::{Deserialize, Serialize};

/// One measured figure; a benchmark program prints it as one JSON line.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Row {
    /// What was measured: "echo 64 B, 64 outstanding".
    pub(crate) what: String,
    pub(crate) value: f64,
    /// The unit of `value`: "M RPC/s", "ns", "instructions".
    pub(crate) unit: String,
    /// What it is compared with in the same run, and the ratio to that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) against: Option<Against>,
}

/// The baseline of a [`Row`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Against {
    /// "bare slot ring".
    pub(crate) what: String,
    /// The row's value divided by the baseline's.
    pub(crate) ratio: f64,
    /// The required ratio, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) bound: Option<Bound>,
}

/// The requirement on a ratio.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Bound {
    AtLeast(f64),
    AtMost(f64),
}

impl Row {
    /// A figure that is compared with nothing.
    pub(crate) fn plain(what: impl Into<String>, value: f64, unit: &str) -> Self {
        Self { what: what.into(), value, unit: unit.to_owned(), against: None }
    }

    /// The same figure beside a baseline.
    pub(crate) fn against(self, what: impl Into<String>, ratio: f64, bound: Bound) -> Self {
        Self { against: Some(Against { what: what.into(), ratio, bound: Some(bound) }), ..self }
    }

    /// The same figure, which may be `most`.
    pub(crate) fn at_most(self, most: f64) -> Self {
        let ratio = self.value / most;
        self.against("the most", ratio, Bound::AtMost(1.0))
    }

    /// Whether it keeps its bound, or has none.
    pub(crate) fn is_kept(&self) -> bool {
        self.against.as_ref().is_none_or(|against| against.bound.is_none_or(|bound| bound.holds(against.ratio)))
    }
}

impl Bound {
    pub(crate) fn holds(self, ratio: f64) -> bool {
        match self {
            Self::AtLeast(least) => ratio >= least,
            Self::AtMost(most) => ratio <= most,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bound_holds_at_its_edge() {
        assert!(Bound::AtLeast(0.4).holds(0.4) && !Bound::AtLeast(0.4).holds(0.39));
        assert!(Bound::AtMost(1.5).holds(1.5) && !Bound::AtMost(1.5).holds(1.51));
    }
}
