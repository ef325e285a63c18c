//! What is run and predicted.

use nebula_nic::Span;

/// The types, in the order of their numbers here.
pub(super) const KINDS: [&str; 2] = ["get", "scan"];

/// The load, but for how much of it there is.
#[derive(Clone, Debug)]
pub(super) struct Setup {
    /// The share of SCANs.
    pub(super) scans: f64,
    pub(super) scan_items: u16,
    pub(super) keys: u64,
    pub(super) duration: Span,
    pub(super) seed: u64,
}
