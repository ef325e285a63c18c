//! The clock of a transport: the machine's, or one that its caller advances.

use nebula_sys::clock::Clock;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// The clock of a transport.
#[derive(Clone, Debug, Default)]
pub enum Time {
    /// The machine's clock.
    #[default]
    Machine,
    /// A counter of picoseconds that the caller advances.
    Manual(Arc<AtomicU64>),
}

#[derive(Clone, Debug)]
pub(crate) struct Watch {
    machine: Clock,
    manual: Option<Arc<AtomicU64>>,
}

impl Watch {
    pub(crate) fn new(time: &Time) -> Self {
        let manual = match time {
            Time::Machine => None,
            Time::Manual(ps) => Some(ps.clone()),
        };
        Self { machine: Clock::new(), manual }
    }

    /// Whether its time is the machine's.
    pub(crate) fn is_of_machine(&self) -> bool {
        self.manual.is_none()
    }

    /// Ticks of the machine's counter, or the picoseconds of a manual clock.
    #[inline(always)]
    pub(crate) fn ticks(&self) -> u64 {
        match &self.manual {
            None => self.machine.ticks(),
            Some(ps) => ps.load(Ordering::Relaxed),
        }
    }

    #[inline(always)]
    pub(crate) fn at_ps(&self, ticks: u64) -> u64 {
        if self.manual.is_none() { self.machine.at_ps(ticks) } else { ticks }
    }

    #[inline(always)]
    pub(crate) fn ticks_of(&self, ps: u64) -> u64 {
        if self.manual.is_none() { self.machine.ticks_of(ps) } else { ps }
    }

    pub(crate) fn ps(&self, ticks: u64) -> u64 {
        if self.manual.is_none() { self.machine.ps(ticks) } else { ticks }
    }

    #[inline(always)]
    pub(crate) fn now_ps(&self) -> u64 {
        self.at_ps(self.ticks())
    }
}
