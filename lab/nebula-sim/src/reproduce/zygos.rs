//! ZygOS: the load that work stealing sustains, as a share of an ideal queue's.

use super::lab::Lab;
use super::reproduction::{ReproduceError, Reproduction};
use super::{paper, side_by_side};

pub(super) fn efficiency(lab: &Lab<'_>) -> Result<Reproduction, ReproduceError> {
    let paper = paper::zygos();
    side_by_side::reproduce(lab, "zygos/efficiency", &paper.setup.efficiency, |id| paper.figure(id))
}

pub(super) fn silo(lab: &Lab<'_>) -> Result<Reproduction, ReproduceError> {
    let paper = paper::zygos();
    side_by_side::reproduce(lab, "zygos/silo", &paper.setup.silo, |id| paper.figure(id))
}
