//! How the lines of one flow cross from the core to the NIC.

use crate::error::SimError;
use crate::system::host::{Host, Interface};
use crate::tally::host::HostTraffic;
use nebula_nic::{HostWatch, Span, Timestamp, Watching};
use nebula_workload::Rng;

/// The NIC's side of a flow: when it gets the core's lines.
pub(super) struct Crossing {
    /// The time of the NIC's first read of the flow; a read follows each period.
    phase: Timestamp,
    /// The last read that found a line, counted from the phase, and the number that it found.
    read: u64,
    found: u16,
    /// The state of an adaptive interface, and since when it polls.
    watch: Option<HostWatch>,
    polls_since: Timestamp,
    /// When the NIC got the last line: none overtakes another.
    last: Timestamp,
    traffic: HostTraffic,
}

impl Crossing {
    /// A flow. Its first read is random, since the clocks of cores and NIC are independent.
    pub(super) fn try_new(host: &Host, phases: &mut Rng) -> Result<Self, SimError> {
        let watch = host.watch.map(|watch| HostWatch::try_new(watch.config())).transpose()?;
        Ok(Self {
            phase: Timestamp::from_ps(phases.below(host.poll_period.as_ps().max(1))),
            read: 0,
            found: 0,
            watch,
            polls_since: Timestamp::ZERO,
            last: Timestamp::ZERO,
            traffic: HostTraffic::default(),
        })
    }

    /// Counts `lines` lines that the core announces to the NIC.
    pub(super) fn handle_told(&mut self, host: &Host, lines: usize) {
        self.traffic.lines += lines as u64;
        self.traffic.told += u64::from(host.interface == Interface::Doorbell);
    }

    /// When the NIC gets a line that the core announced at `left`.
    pub(super) fn arrival(&mut self, host: &Host, left: Timestamp) -> Timestamp {
        let at = match host.interface {
            Interface::Mmio => crossed(host, left, Interface::Mmio),
            Interface::Doorbell => {
                self.traffic.reads += 1;
                crossed(host, left, Interface::Doorbell)
            }
            Interface::Poll => self.found_by_read(host, left),
            Interface::Invalidate => self.invalidated(host, left),
            Interface::Adaptive => match self.watched(host, left) {
                Watching::Polling => self.found_by_read(host, left),
                Watching::Invalidations => self.invalidated(host, left),
            },
        };
        self.last = self.last.max(at);
        self.last
    }

    fn invalidated(&mut self, host: &Host, left: Timestamp) -> Timestamp {
        self.traffic.told += 1;
        self.traffic.reads += 1;
        crossed(host, left, Interface::Invalidate)
    }

    /// The first read after the write with room for the line; its data return a crossing later.
    fn found_by_read(&mut self, host: &Host, left: Timestamp) -> Timestamp {
        let period = host.poll_period.as_ps();
        let asked = left.as_ps().saturating_sub(host.hop.as_ps() + self.phase.as_ps());
        let first = asked.div_ceil(period);
        if first > self.read {
            (self.read, self.found) = (first, 0);
        } else if self.found == host.lines_per_read {
            (self.read, self.found) = (self.read + 1, 0);
        }
        self.found += 1;
        let reaches = self.phase + Span::from_ps(self.read * period) + host.hop;
        crossed(host, reaches, Interface::Poll)
    }

    /// How an adaptive interface learns of a line written at `left`.
    fn watched(&mut self, host: &Host, left: Timestamp) -> Watching {
        let Some(watch) = &mut self.watch else { return Watching::Polling };
        while let Some(due) = watch.poll_timeout().filter(|&due| due <= left) {
            if watch.handle_timeout(due) == Watching::Invalidations {
                self.traffic.reads += (due - self.polls_since).as_ps() / host.poll_period.as_ps();
            }
        }
        let found = watch.handle_line(left);
        if found == Watching::Invalidations && watch.watching() == Watching::Polling {
            self.polls_since = left;
        }
        found
    }

    pub(super) fn traffic(&self, host: &Host, now: Timestamp) -> HostTraffic {
        let polled = |since: Timestamp| now.since(since).as_ps() / host.poll_period.as_ps();
        let (more, changes) = match (&self.watch, host.interface) {
            (Some(watch), _) if watch.watching() == Watching::Polling => (polled(self.polls_since), watch.changes()),
            (Some(watch), _) => (0, watch.changes()),
            (None, Interface::Poll) => (polled(Timestamp::ZERO), 0),
            (None, _) => (0, 0),
        };
        HostTraffic { reads: self.traffic.reads + more, changes, ..self.traffic }
    }
}

fn crossed(host: &Host, from: Timestamp, by: Interface) -> Timestamp {
    from + Span::from_ps(u64::from(by.crossings()) * host.hop.as_ps())
}

/// The NIC's intake of all flows: one line after the other.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Intake {
    free: Timestamp,
}

impl Intake {
    /// When a line that arrives at `now` is through the pipeline.
    pub(super) fn take(&mut self, now: Timestamp, host: &Host) -> Timestamp {
        let line = host.lines_per_second.map_or(0, |lines| PS_PER_SEC / lines);
        self.free = self.free.max(now) + Span::from_ps(line);
        self.free + host.pipeline
    }
}

const PS_PER_SEC: u64 = 1_000_000_000_000;
