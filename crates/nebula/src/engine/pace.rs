//! How fast RPCs are served, and so how long a queue the SLO allows.
//!
//! An RPC that finds `q` waiting waits `q` service times over the number of workers. What counts is the whole time that an RPC takes
//! of a worker, the engine's share included; so it is measured as elapsed time over RPCs served while the queue was never empty.

use crate::server::ServerConfig;
use nebula_nic::{Span, Timestamp};

/// RPCs in one measurement.
const WINDOW: usize = 512;
/// Weight of a new measurement: 1 / 2^SHIFT.
const SHIFT: u32 = 3;
/// What one packet or RPC may take beyond the mean before a long turn counts as a pause of the machine.
const EXPLAINED_FACTOR: u64 = 4;

#[derive(Debug)]
pub(super) struct Pace {
    config: ServerConfig,
    service: Span,
    queue_bound: u32,
    window_started: Option<Timestamp>,
    window_served: usize,
    /// Work of the last turn.
    work: u64,
    has_rested: bool,
}

impl Pace {
    pub(super) fn new(config: &ServerConfig) -> Self {
        let queue_bound = config.queue_bound(config.service_mean);
        let (service, config) = (config.service_mean, config.clone());
        Self { config, service, queue_bound, window_started: None, window_served: 0, work: 0, has_rested: false }
    }

    /// Notes a turn that did `work` things, `served` of them RPCs served, and left `waiting` RPCs; a new bound for the queue, if it is
    /// time for one.
    #[inline]
    pub(super) fn end_turn(&mut self, now: Timestamp, work: usize, served: usize, waiting: u32) -> Option<u32> {
        self.work = work as u64;
        if waiting == 0 {
            self.window_started = None;
            return None;
        }
        let Some(started) = self.window_started else {
            (self.window_started, self.window_served) = (Some(now), 0);
            return None;
        };
        self.window_served += served;
        if self.window_served < WINDOW { None } else { self.end_window(now - started) }
    }

    /// Takes a busy window of some RPCs into the mean.
    #[cold]
    fn end_window(&mut self, elapsed: Span) -> Option<u32> {
        self.window_started = None;
        let each = elapsed.as_ps() * u64::from(self.config.workers) / self.window_served.max(1) as u64;
        let mean = self.service.as_ps();
        // A window in which the machine paused says nothing about the service.
        if each > 16 * mean.max(1) {
            return None;
        }
        self.service = Span::from_ps(mean - (mean >> SHIFT) + (each >> SHIFT));
        let bound = self.config.queue_bound(self.service);
        let has_moved = bound.abs_diff(self.queue_bound) > self.queue_bound / 8;
        has_moved.then(|| {
            self.queue_bound = bound;
            bound
        })
    }

    /// The longest that the work of the last turn explains.
    #[inline(always)]
    pub(super) fn explained(&mut self) -> Span {
        if std::mem::take(&mut self.has_rested) {
            return Span::MAX;
        }
        Span::from_ps(2_000_000 + self.work * EXPLAINED_FACTOR * self.service.as_ps())
    }

    pub(super) fn has_rested(&mut self) {
        self.has_rested = true;
    }

    pub(super) fn queue_bound(&self) -> u32 {
        self.queue_bound
    }

    pub(super) fn service(&self) -> Span {
        self.service
    }
}
