//! What an engine is made of, around the decider of `nebula-nic`: the receive region, the intake,
//! the log, the pace, the other groups, and the border to the transports.

pub(crate) mod neighbors;
pub(crate) mod payloads;
pub(crate) mod recorder;
pub(crate) mod ingress;
pub(crate) mod transport;
pub(crate) mod median;
pub(crate) mod pace;
pub(crate) mod refusals;
pub(crate) mod one_sided;
