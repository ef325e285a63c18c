//! Altocumulus: one group, many groups, the accuracy of thresholds, and migrated bytes.

pub(crate) mod figures;
mod scale;
mod thresholds;
mod traffic;

pub(super) use scale::reproduce as scale;
pub(super) use thresholds::reproduce as thresholds;
pub(super) use traffic::reproduce as traffic;
