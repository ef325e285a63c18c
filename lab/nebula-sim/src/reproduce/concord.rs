//! Concord: preemption at safe points, with one RPC queued at each core.

use super::lab::Lab;
use super::reproduction::{ReproduceError, Reproduction};
use super::{paper, side_by_side};

pub(super) fn micro(lab: &Lab<'_>) -> Result<Reproduction, ReproduceError> {
    let paper = paper::concord();
    side_by_side::reproduce(lab, "concord/micro", &paper.setup.micro, |id| paper.figure(id))
}
