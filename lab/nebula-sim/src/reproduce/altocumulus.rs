//! Altocumulus: one group, many groups, the accuracy of thresholds, and migrated bytes.

pub(crate) mod figures;
mod scale;
mod thresholds;
mod traffic;

pub(super) use scale::reproduce as scale;
pub(super) use thresholds::reproduce as thresholds;
pub(super) use traffic::reproduce as traffic;

use super::lab::Lab;
use super::reproduction::{ReproduceError, Reproduction};
use super::{paper, side_by_side};

pub(super) fn sixteen(lab: &Lab<'_>) -> Result<Reproduction, ReproduceError> {
    let paper = paper::altocumulus();
    side_by_side::reproduce(lab, "altocumulus/16-cores", &paper.setup.sixteen, |id| paper.figure(id))
}
