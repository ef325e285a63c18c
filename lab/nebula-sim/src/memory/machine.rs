//! One run: NI, DRAM and cores in simulated time.
//!
//! The next step is the earliest of three: an access of a copy or a write-back, a fetch of the NI,
//! or an event of the calendar. So the DRAM receives all accesses in the order of time. Ties are
//! broken in this order.
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

/// The offered load, the number of measured RPCs, and the seed.
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
    /// RPCs of the warm-up before it, which fill the empty server.
    pub warmup: u64,
    /// Seed of all random draws. Designs with the same seed receive the same arrivals.
    pub seed: Seed,
}

impl MemoryRun {
    /// `rpcs` measured RPCs at `load`, after a warm-up of a tenth as many, with seed 1.
    #[must_use]
    pub const fn of(load: f64, rpcs: u64) -> Self {
        Self { load, rpcs, warmup: rpcs / 10, seed: Seed(1) }
    }
}

/// Fewest RPCs that give a meaningful tail.
pub(super) const RPCS_MIN: u64 = 1000;
/// Most RPCs; no sum over them overflows.
const RPCS_MAX: u64 = 1 << 50;

/// Runs `design` on the machine `model` from empty until all RPCs of the measured window are
/// served.
///
/// A saturated server never serves all of them in time; the run then ends after four more windows
/// of load.
///
/// # Errors
///
/// [`MemoryError`] if this cannot be simulated.
///
/// # Cost
///
/// O(RPCs · (blocks + log cores)) time; memory depends on the longest backlog, not on the number of
/// RPCs.
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

/// Why a run ends early.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stop {
    /// The NIC's buffer is full. The model assumes an unbounded one, so the run restarts with a
    /// larger buffer and the same seed.
    NoRoom,
    /// The end of the calendar was reached, after this many hours.
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
    // -- pending events --
    /// Copies and write-backs.
    streams: Streams<()>,
    fetches: Streams<Fetch>,
    /// The next end of each core; after the cores, the next arrival and the next RPC that is ready.
    calendar: Calendar,
    // -- measurements --
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

/// Sources in the calendar after the cores.
const ARRIVAL: usize = 0;
const READY: usize = 1;

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
