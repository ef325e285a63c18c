//! What is run and predicted: groups, clients, load.

use nebula_nic::Span;

/// Groups, and the clients of the first and of the second: a load of 0.6 is 0.9 of the one and 0.3
/// of the other.
pub(super) const GROUPS: u16 = 2;
pub(super) const CLIENTS: [u16; GROUPS as usize] = [3, 1];
/// The SLO in mean service times.
pub(super) const SLO: u64 = 10;
/// From one decision of a manager to the next. A resting engine looks about every 50 µs.
pub(super) const PERIOD: Span = Span::from_us(200);

/// What is run and predicted, with or without migration.
#[derive(Clone, Debug)]
pub(super) struct Setup {
    pub(super) service: Span,
    pub(super) load: f64,
    pub(super) workers: u16,
    /// None where RPCs stay where they came.
    pub(super) waiting_max: Option<u32>,
    pub(super) duration: Span,
    pub(super) seed: u64,
}

impl Setup {
    pub(super) fn slo(&self) -> Span {
        self.service * SLO
    }

    /// RPCs per second of all clients.
    pub(super) fn rate_rps(&self) -> f64 {
        self.load * f64::from(self.workers) / self.service.as_secs_f64()
    }
}
