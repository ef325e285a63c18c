//! Shinjuku: the loads that preemption sustains, against queues that run to completion.

use super::lab::Lab;
use super::reproduction::{ReproduceError, Reproduction};
use super::{paper, side_by_side};

pub(super) fn bimodal(lab: &Lab<'_>) -> Result<Reproduction, ReproduceError> {
    let paper = paper::shinjuku();
    side_by_side::reproduce(lab, "shinjuku/bimodal", &paper.setup.bimodal, |id| paper.figure(id))
}

pub(super) fn rocksdb(lab: &Lab<'_>) -> Result<Reproduction, ReproduceError> {
    let paper = paper::shinjuku();
    side_by_side::reproduce(lab, "shinjuku/rocksdb", &paper.setup.rocksdb, |id| paper.figure(id))
}
