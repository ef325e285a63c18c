//! The setup of run and prediction: groups, clients, load.

use nebula_nic::Span;

/// The clients of the first group and of the second: a load of 0.6 is 0.9 of the one and 0.3 of the
/// other.
pub(super) const GROUPS: u16 = 2;
pub(super) const CLIENTS: [u16; GROUPS as usize] = [3, 1];
/// In mean service times.
pub(super) const SLO: u64 = 10;
/// Between two decisions of a manager. A resting engine looks about every 50 µs.
pub(super) const PERIOD: Span = Span::from_us(200);

#[derive(Clone, Debug)]
pub(super) struct Setup {
    pub(super) service: Span,
    pub(super) load: f64,
    pub(super) workers: u16,
    /// `None`: no migration.
    pub(super) waiting_max: Option<u32>,
    pub(super) duration: Span,
    pub(super) seed: u64,
}

impl Setup {
    pub(super) fn slo(&self) -> Span {
        self.service * SLO
    }

    /// Of all clients.
    pub(super) fn rate_rps(&self) -> f64 {
        self.load * f64::from(self.workers) / self.service.as_secs_f64()
    }
}
