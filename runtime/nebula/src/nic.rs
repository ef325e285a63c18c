//! The parts of an engine around the decider of `nebula-nic`: receive region, intake, log, other
//! groups, and the border to the transports.

pub(crate) mod neighbors;
pub(crate) mod payloads;
pub(crate) mod recorder;
pub(crate) mod ingress;
pub(crate) mod transport;
pub(crate) mod one_sided;
