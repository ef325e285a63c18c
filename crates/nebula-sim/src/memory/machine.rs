//! One run: NI, DRAM and cores in simulated time.
//!
//! Three things may come next: an access of a copy or a write-back, a fetch of the NI, or an event of the calendar. The
//! earliest does, so the DRAM sees all accesses in the order of time; at the same time they come in that order.
//!
//! Next: `ni`, then `cpu`.

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
use cpu::Core;
use nebula_nic::{Backend, BackendConfig, Policy, Span, Timestamp};
use nebula_workload::Seed;
use ni::{Fetch, Ni};

/// How much is offered, how much of it is measured, and by which chance.
///
/// # Examples
///
/// ```
/// use nebula_sim::memory::MemoryRun;
/// use nebula_workload::Seed;
///
/// let run = MemoryRun { seed: Seed(7), ..MemoryRun::of(0.6, 300_000) };
/// assert_eq!(run.warmup, 30_000);
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MemoryRun {
    /// RPCs offered, as a share of what the cores can serve with the model's service time.
    pub load: f64,
    /// RPCs of the measured window.
    pub rpcs: u64,
    /// RPCs before it, which fill the empty server.
    pub warmup: u64,
    /// The one number that all chance follows from. Designs under one seed meet the same arrivals.
    pub seed: Seed,
}

impl MemoryRun {
    /// `rpcs` measured RPCs at `load`, after a tenth as many to fill the server, by seed 1.
    #[must_use]
    pub const fn of(load: f64, rpcs: u64) -> Self {
        Self { load, rpcs, warmup: rpcs / 10, seed: Seed(1) }
    }
}

/// RPCs below which nothing can be said about a tail.
pub(super) const RPCS_MIN: u64 = 1000;
/// So many that no sum of theirs overflows.
const RPCS_MAX: u64 = 1 << 50;

/// Runs `design` on the machine `model` from empty until all RPCs of the measured window are served.
///
/// A saturated server never serves all in time; the run ends when four more windows' loads have come.
///
/// # Errors
///
/// [`MemoryError`] for what cannot be simulated.
///
/// # Cost
///
/// O(RPCs · (blocks + log cores)) time; memory by the longest backlog and not by the number of RPCs.
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

/// RPCs that can wait and be served at first: what is kept for them stays in the processor's cache.
const SLOTS_FIRST: u32 = 1 << 13;
/// RPCs beyond which a run gives up.
const SLOTS_LAST: u32 = 1 << 25;

/// Why a run ends early.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stop {
    /// The NIC's buffer is full, which it never is in this model: the run begins again with a larger one, from the same
    /// seed.
    NoRoom,
    /// The calendar ends after so many hours.
    NoTime(u64),
}

struct Machine {
    /// Blocks of an RPC's payload.
    blocks: u32,
    compute: Span,
    offered_rps: f64,
    // -- stations --
    ni: Ni,
    backend: Backend,
    cores: Box<[Core]>,
    dram: Dram,
    // -- what comes next --
    /// Copies and write-backs.
    streams: Streams<()>,
    fetches: Streams<Fetch>,
    /// What each core ends next; behind the cores the next arrival and the next RPC that is ready.
    calendar: Calendar,
    // -- what has happened --
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

    /// The next event of the calendar.
    fn handle_event(&mut self) {
        let Some((now, source)) = self.calendar.next() else { return };
        // An access may be due before: then it is not this event's turn.
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

/// Places in the calendar behind the cores.
const ARRIVAL: usize = 0;
const READY: usize = 1;

/// A NIC that holds `slots` RPCs. How many there are is all that matters here: each is one packet and takes one slot.
fn backend(cores: u16, policy: Policy, slots: u32, seed: Seed) -> BackendConfig {
    BackendConfig::new(cores, policy)
        .slots(slots)
        .rpc_bytes_max(64)
        .reassembler_entries(1)
        .queue_bound(slots)
        .seed(seed.stream("dispatch").next_u64())
}

/// Whole picoseconds; a length beyond what a `u64` holds ends there.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "rounding is meant, and lengths are positive"
)]
fn ps(exact: f64) -> u64 {
    libm::round(exact) as u64
}
