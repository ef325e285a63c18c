//! The setup of run and prediction.

use nebula_nic::Span;

/// The types, by number.
pub(super) const KINDS: [&str; 2] = ["get", "scan"];

/// Without the load.
#[derive(Clone, Debug)]
pub(super) struct Setup {
    pub(super) scans: f64,
    pub(super) scan_items: u16,
    pub(super) keys: u64,
    pub(super) duration: Span,
    pub(super) seed: u64,
}
