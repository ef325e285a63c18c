//! One run: NI, DRAM and cores in simulated time.
//!
//! The next step is the earliest of three: an access of a copy or a write-back, a fetch of the NI,
//! or an event of the calendar. So the DRAM receives all accesses in the order of time. Ties are
//! broken in this order.
//!
//! Next: `ni`, then `cpu`.

pub(crate) mod interface;
pub(crate) mod core;
pub(crate) mod event;
mod cpu;
mod ni;

use super::design::Design;
use super::dram::Dram;
use super::error::MemoryError;
use super::measure::Meter;
use super::model::MemoryModel;
use super::series::Series;
use super::stream::Streams;
use super::tally::MemoryTally;
use crate::calendar::Calendar;
pub(super) use crate::memory::bounds::RPCS_MIN;
use crate::memory::machine::event::{ARRIVAL, Stop};
pub use crate::memory::memory_run::MemoryRun;
use crate::memory::memory_run::RPCS_MAX;
use core::Core;
use interface::{Fetch, Ni};
use nebula_nic::{Backend, BackendConfig, Policy, Span, Timestamp};
use nebula_workload::Seed;

/// Runs `design` on the machine `model` from empty until all measured RPCs are served.
///
/// A saturated server never serves all of them in time; the run then ends after four more windows
/// of load. Takes O(RPCs · (blocks + log cores)) time; memory depends on the longest backlog, not
/// on the number of RPCs.
///
/// # Errors
///
/// [`MemoryError`] if this cannot be simulated.
///
/// # Examples
///
/// ```
/// use nebula_sim::memory::{Design, MemoryModel, MemoryRun, run};
///
/// let run_at = MemoryRun::of(0.5, 20_000);
/// let bloated = run(&MemoryModel::default(), &Design::rpcvalet(), &run_at)?;
/// let shared = run(&MemoryModel::default(), &Design::nebula(), &run_at)?;
/// assert!(bloated.dram_gb_per_s > 3.0 * shared.dram_gb_per_s);
/// # Ok::<(), nebula_sim::memory::MemoryError>(())
/// ```
pub fn run(model: &MemoryModel, design: &Design, run: &MemoryRun) -> Result<MemoryTally, MemoryError> {
    model.validate()?;
    if !(RPCS_MIN..=RPCS_MAX).contains(&run.rpcs) || run.warmup > RPCS_MAX {
        return Err(MemoryError::Rpcs { got: run.rpcs });
    }
    let mut slots = SLOTS_FIRST;
    loop {
        match Machine::new(model, design, run, slots)?.run() {
            Ok(tally) => return Ok(tally),
            Err(Stop::NoRoom) if slots < SLOTS_LAST => slots *= 8,
            Err(Stop::NoRoom) => return Err(MemoryError::Outgrown { rpcs: slots, policy: design.policy }),
            Err(Stop::NoTime(hours)) => return Err(MemoryError::Endless { hours }),
        }
    }
}

/// Initial room for RPCs that wait or are served: their state fits the processor's cache.
const SLOTS_FIRST: u32 = 1 << 13;
/// Most RPCs that wait or are served; a run ends with an error beyond.
const SLOTS_LAST: u32 = 1 << 25;

struct Machine {
    blocks: u32,
    compute: Span,
    offered_rps: f64,
    ni: Ni,
    backend: Backend,
    cores: Box<[Core]>,
    dram: Dram,
    /// Copies and write-backs.
    streams: Streams<()>,
    fetches: Streams<Fetch>,
    /// The next end of each core; after the cores, the next arrival and the next RPC that is ready.
    calendar: Calendar,
    meter: Meter,
    stop: Option<Stop>,
}

impl Machine {
    fn new(model: &MemoryModel, design: &Design, run: &MemoryRun, slots: u32) -> Result<Self, MemoryError> {
        let rate = model.rate(run.load)?;
        let packet_gap = Span::from_ps(ps(1e12 / rate.as_rps() / f64::from(model.blocks())));
        let expected = Span::from_ps(ps((run.warmup + run.rpcs) as f64 * 1e12 / rate.as_rps()));
        let cores = usize::from(model.cores);
        Ok(Self {
            blocks: model.blocks(),
            compute: model.compute(),
            offered_rps: rate.as_rps(),
            ni: Ni::new(model, model.llc_hit(design)?, rate, packet_gap, run.seed),
            backend: Backend::try_new(backend(model.cores, design.policy, slots, run.seed))?,
            cores: Core::all(model.cores, design.policy),
            dram: Dram::new(model, Series::new(expected), run.seed),
            streams: Streams::new(model.stream_gap()),
            fetches: Streams::new(packet_gap),
            calendar: Calendar::new(cores + 2),
            meter: Meter::new(run),
            stop: None,
        })
    }

    fn run(mut self) -> Result<MemoryTally, Stop> {
        self.schedule_arrival(Timestamp::ZERO);
        while !self.meter.is_over() {
            self.make_accesses();
            self.handle_event();
            if let Some(stop) = self.stop {
                return Err(stop);
            }
        }
        let cores = u16::try_from(self.cores.len()).unwrap_or(u16::MAX);
        Ok(self.meter.tally(&self.dram.into_moved(), self.offered_rps, cores))
    }

    /// Makes the accesses of streams that are due until the next event.
    fn make_accesses(&mut self) {
        let event_ps = self.calendar.next_ps();
        loop {
            let (stream_ps, fetch_ps) = (self.streams.next_ps(), self.fetches.next_ps());
            if stream_ps.min(fetch_ps) > event_ps {
                return;
            }
            if stream_ps <= fetch_ps {
                self.make_stream_access();
            } else if self.make_fetch() {
                // The last fetch of an RPC: it may be ready before what the calendar had.
                return;
            }
        }
    }

    #[inline]
    fn make_stream_access(&mut self) {
        if let Some(stream) = self.streams.pop() {
            self.dram.access(stream.at);
            if !stream.is_last() {
                self.streams.resume(stream);
            }
        }
    }

    fn handle_event(&mut self) {
        let Some((now, source)) = self.calendar.next() else { return };
        // An access may be due earlier; it is handled first.
        if self.streams.next_ps().min(self.fetches.next_ps()) <= now.as_ps() {
            return;
        }
        match source.checked_sub(self.cores.len()) {
            None => self.handle_core(now, source),
            Some(ARRIVAL) => self.handle_arrival(now),
            Some(_) => self.handle_ready(now),
        }
    }
}

/// A NIC that holds `slots` RPCs. Only their number matters here: each is one packet in one slot.
fn backend(cores: u16, policy: Policy, slots: u32, seed: Seed) -> BackendConfig {
    BackendConfig::new(cores, policy)
        .slots(slots)
        .rpc_bytes_max(64)
        .reassembler_entries(1)
        .queue_bound(slots)
        .seed(seed.stream("dispatch").next_u64())
}

/// Whole picoseconds, saturating at the range of `u64`.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "rounding is meant, and lengths are positive"
)]
fn ps(exact: f64) -> u64 {
    libm::round(exact) as u64
}
