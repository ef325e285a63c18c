//! The effort for a case.

/// How much is simulated for a point, and how precise a search is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Depth {
    pub(super) rpcs: u64,
    /// RPCs before the measurement; by default as many as fill the LLC.
    pub(super) warmup: Option<u64>,
    pub(super) replications: u32,
    /// The width of the bracket at which a search ends.
    pub(super) width_krps: u32,
}
