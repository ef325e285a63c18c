//! RPCValet's evaluation: the NIC's single queue against several queues of fewer cores.

use super::lab::Lab;
use super::reproduction::{ReproduceError, Reproduction};
use super::{paper, side_by_side};

pub(super) fn evaluation(lab: &Lab<'_>) -> Result<Reproduction, ReproduceError> {
    let paper = paper::rpcvalet();
    side_by_side::reproduce(lab, "rpcvalet/evaluation", &paper.setup.evaluation, |id| paper.figure(id))
}
