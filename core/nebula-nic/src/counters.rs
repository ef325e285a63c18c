//! Event counts: each reason for a refusal or a drop has its own.

use crate::verdict::{DropReason, NackReason};

/// Counts since construction; they wrap after 2^64.
///
/// # Examples
///
/// ```
/// use nebula_nic::{Backend, BackendConfig, DropReason, Header, Kind, Policy, Timestamp};
///
/// let mut nic = Backend::try_new(BackendConfig::new(2, Policy::Jbsq(2))).unwrap();
/// nic.handle_packet(Timestamp::ZERO, Header { kind: Kind::Ack, ..Header::default() });
/// assert_eq!(nic.counters().dropped(DropReason::NotARequest), 1);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Packets seen.
    pub packets: u64,
    /// RPCs whose packets have all arrived.
    pub completed: u64,
    /// RPCs given to a core.
    pub dispatched: u64,
    /// RPCs whose slots a core has freed.
    pub freed: u64,
    /// RPCs dropped before they were complete.
    pub abandoned: u64,
    /// Frees of something that was not exactly one RPC of that core.
    pub refused_frees: u64,
    /// Times that the head met a used slot and searched for a free run beyond it.
    pub scrubs: u64,
    /// Scrubs that found a run.
    pub scrubs_found: u64,
    nacked: [u64; NackReason::ALL.len() + 1],
    dropped: [u64; DropReason::ALL.len() + 1],
}

impl Counters {
    /// Packets answered with a NACK for `reason`.
    #[must_use]
    pub fn nacked(&self, reason: NackReason) -> u64 {
        self.nacked[usize::from(reason.code())]
    }

    /// Packets answered with a NACK.
    #[must_use]
    pub fn nacked_total(&self) -> u64 {
        self.nacked.iter().sum()
    }

    /// Packets ignored for `reason`.
    #[must_use]
    pub fn dropped(&self, reason: DropReason) -> u64 {
        self.dropped[usize::from(reason.code())]
    }

    /// Packets ignored.
    #[must_use]
    pub fn dropped_total(&self) -> u64 {
        self.dropped.iter().sum()
    }

    pub(crate) fn count_nack(&mut self, reason: NackReason) {
        self.nacked[usize::from(reason.code())] += 1;
    }

    pub(crate) fn count_drop(&mut self, reason: DropReason) {
        self.dropped[usize::from(reason.code())] += 1;
    }
}
