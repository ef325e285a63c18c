//! The interface between a server's cores and its NIC, which RPCs cross line by line.

use crate::error::SimError;
use nebula_nic::{HostWatchConfig, JBSQ_BOUND_MAX, Span};
use nebula_workload::from_toml::span;
use serde::Deserialize;

/// How a core hands an RPC to the NIC. An RPC is one line of 64 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Interface {
    /// The core stores the line into the NIC's registers: one crossing of the interconnect.
    Mmio,
    /// The core stores a doorbell into a register, and the NIC reads the lines by DMA: three
    /// crossings.
    Doorbell,
    /// The NIC reads the flow's lines periodically: one crossing from when a read reaches the line,
    /// since reads are on their way all the time.
    Poll,
    /// An invalidation notifies the NIC of each line, and it reads the line: three crossings.
    Invalidate,
    /// Invalidations for a flow with few lines, polling for one with many, by
    /// [`HostWatch`](nebula_nic::HostWatch).
    Adaptive,
}

impl Interface {
    /// Whether the NIC polls, always or at times.
    #[must_use]
    pub const fn polls(self) -> bool {
        matches!(self, Self::Poll | Self::Adaptive)
    }

    /// Crossings of the interconnect from core to NIC; if it polls, from when its read arrives.
    #[must_use]
    pub const fn crossings(self) -> u32 {
        match self {
            Self::Mmio | Self::Poll => 1,
            // The doorbell or the invalidation, the NIC's request, the data.
            Self::Doorbell | Self::Invalidate | Self::Adaptive => 3,
        }
    }

    /// As a file spells it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Mmio => "mmio",
            Self::Doorbell => "doorbell",
            Self::Poll => "poll",
            Self::Invalidate => "invalidate",
            Self::Adaptive => "adaptive",
        }
    }
}

/// The costs of the interface between cores and NIC. Each core has a flow: a ring to the NIC, a
/// FIFO in the NIC, and a ring from the NIC. Source: Dagger (ASPLOS 2021), its three host
/// interfaces and the structure of its public program.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Host {
    /// How a core hands an RPC to the NIC.
    pub interface: Interface,
    /// Core time for an RPC: reading what came, and writing what leaves.
    #[serde(deserialize_with = "span")]
    pub per_rpc: Span,
    /// Core time, once a batch, to notify the NIC of it: spent after the line has left.
    #[serde(deserialize_with = "span")]
    pub store: Span,
    /// RPCs of which the NIC is notified at once.
    #[serde(default = "one")]
    pub batch: u16,
    /// How long a batch of several waits to be full.
    #[serde(default, deserialize_with = "span")]
    pub batch_wait: Span,
    /// Latency of one crossing of the interconnect.
    #[serde(deserialize_with = "span")]
    pub hop: Span,
    /// Latency of the NIC's pipeline, in each direction.
    #[serde(default, deserialize_with = "span")]
    pub pipeline: Span,
    /// Time from one read of a flow to the next, where the NIC polls.
    #[serde(default, deserialize_with = "span")]
    pub poll_period: Span,
    /// Lines of a read, where the NIC polls.
    #[serde(default)]
    pub lines_per_read: u16,
    /// When an adaptive interface changes its way.
    #[serde(default)]
    pub watch: Option<Watch>,
    /// Most lines per second that the NIC takes from all flows together; any number, unless given.
    #[serde(default)]
    pub lines_per_second: Option<u64>,
    /// Lines that the NIC writes to a core together: 1, 2 or 4.
    #[serde(default = "one")]
    pub push: u16,
    /// How long several lines wait for each other.
    #[serde(default, deserialize_with = "span")]
    pub push_wait: Span,
    /// RPCs that wait in the NIC's FIFO of a flow; another one is dropped.
    pub fifo: u16,
    /// Entries of the ring from the NIC to a core, at most [`JBSQ_BOUND_MAX`]: those of RPCs being
    /// served included.
    pub ring: u16,
    /// Whether clients are threads of the same host, one a flow, whose RPCs cross the interface as
    /// well, both ways. Latency is the round trip then.
    #[serde(default)]
    pub loopback: bool,
}

/// When an adaptive interface changes between invalidations and polling: [`HostWatchConfig`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Watch {
    /// The length of a window.
    #[serde(deserialize_with = "span")]
    pub window: Span,
    /// With as many lines in a window, the flow is polled.
    pub polls_from: u32,
    /// With fewer lines than this in a whole window, it is polled no longer.
    pub polls_until: u32,
}

impl Watch {
    /// The configuration of the machine.
    #[must_use]
    pub const fn config(self) -> HostWatchConfig {
        let Self { window, polls_from, polls_until } = self;
        HostWatchConfig { window, polls_from, polls_until }
    }
}

const fn one() -> u16 {
    1
}

const BATCH_MAX: u16 = 64;
const FIFO_MAX: u16 = 1024;
/// Most lines per second: one in a picosecond.
const LINES_MAX: u64 = 1_000_000_000_000;

impl Host {
    /// Core time that an RPC takes in addition to its service, if batches are full.
    #[must_use]
    pub fn core_ns(&self) -> f64 {
        self.per_rpc.as_ns_f64() + self.store.as_ns_f64() / f64::from(self.batch)
    }

    /// The highest load that cores, the NIC's reads, its rings and its intake of lines can serve.
    pub(crate) fn saturation(&self, service_ps: f64, cores: u16) -> f64 {
        let work_ps = service_ps + 1e3 * self.core_ns();
        // An entry of the ring is taken from when the line is on its way until its RPC is served.
        let ring = f64::from(self.ring) / (self.hop.as_ps() as f64 + work_ps);
        let polled = self.poll_period.as_ps() as f64 / f64::from(self.lines_per_read.max(1));
        let lines_per_rpc = if self.loopback { 2.0 } else { 1.0 };
        let taken = self.lines_per_second.map_or(0.0, |lines| lines_per_rpc * 1e12 / lines as f64) * f64::from(cores);
        // RPCs per picosecond that a core can serve.
        let rate = (1.0 / work_ps).min(ring).min(1.0 / polled).min(1.0 / taken);
        rate * service_ps
    }

    /// Checks that the settings are possible and that none would be ignored.
    pub(crate) fn validate(&self) -> Result<(), SimError> {
        self.validate_batches()?;
        self.validate_polling()?;
        let wrong = |reason| Err(SimError::Host { reason });
        match *self {
            Self { fifo, .. } if !(1..=FIFO_MAX).contains(&fifo) => {
                wrong("the FIFO of a flow: give a fifo of 1 to 1024")
            }
            Self { ring, .. } if !(1..=JBSQ_BOUND_MAX).contains(&ring.into()) => {
                wrong("the ring of a core: give a ring of 1 to 64 entries")
            }
            Self { push, ring, .. } if push > ring => {
                wrong("more lines are written together than the ring has entries: give a push of at most the ring")
            }
            Self { lines_per_second: Some(lines), .. } if !(1..=LINES_MAX).contains(&lines) => wrong(
                "the NIC takes from one line to 10^12 lines per second: give lines_per_second in between, or leave it out",
            ),
            _ => Ok(()),
        }
    }

    fn validate_batches(&self) -> Result<(), SimError> {
        let wrong = |reason| Err(SimError::Host { reason });
        match *self {
            Self { batch, .. } if !(1..=BATCH_MAX).contains(&batch) => wrong("a batch is of 1 to 64 RPCs"),
            Self { interface: Interface::Mmio, batch, .. } if batch > 1 => {
                wrong("under mmio each RPC is a separate store: leave the batch out, or give the interface doorbell")
            }
            Self { batch, batch_wait, .. } if (batch > 1) != (batch_wait > Span::ZERO) => wrong(
                "a batch of several RPCs needs a batch_wait, the longest time that it waits to be full, and a batch of one has none",
            ),
            Self { push, .. } if ![1, 2, 4].contains(&push) => {
                wrong("the NIC writes 1, 2 or 4 lines together: give a push of these")
            }
            Self { push, push_wait, .. } if (push > 1) != (push_wait > Span::ZERO) => wrong(
                "a push of several lines needs a push_wait, the longest time that they wait for each other, and a push of one has none",
            ),
            _ => Ok(()),
        }
    }

    fn validate_polling(&self) -> Result<(), SimError> {
        let wrong = |reason| Err(SimError::Host { reason });
        let (has_polls, is_adaptive) = (self.interface.polls(), self.interface == Interface::Adaptive);
        match *self {
            Self { poll_period, lines_per_read, .. }
                if has_polls && (poll_period == Span::ZERO || lines_per_read == 0) =>
            {
                wrong("a NIC that polls needs a poll_period and lines_per_read of 1 or more")
            }
            Self { poll_period, lines_per_read, .. }
                if !has_polls && (poll_period > Span::ZERO || lines_per_read > 0) =>
            {
                wrong(
                    "the NIC polls under the interfaces poll and adaptive only: leave out poll_period and lines_per_read",
                )
            }
            Self { watch, .. } if is_adaptive != watch.is_some() => wrong(
                "the interface adaptive needs a watch with window, polls_from and polls_until, and no other interface has one",
            ),
            Self { watch: Some(watch), .. } => Ok(watch.config().validate()?),
            _ => Ok(()),
        }
    }
}
