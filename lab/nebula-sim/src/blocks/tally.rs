//! The measurements of one run: latencies, the time of RPCs by stage, and DRAM traffic.

use super::map::Part;
use super::world::message::Message;
use crate::tally::Depths;
use crate::tally::distribution::Distribution;
use crate::tally::ended::counted;
use nebula_memsys::Traffic;
use nebula_nic::{SLOT_BYTES, Span, Timestamp};

/// The stages of an RPC; their times add up to its server latency.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// Waiting for the link, while it carries other messages.
    Link,
    /// From the first packet until the last block is written.
    Receive,
    /// Latencies of the NIC: notification and dispatch.
    Dispatch,
    /// Waiting for a core, in the arrival queue and in the core's completion queue.
    Queue,
    /// The core waits for the request.
    Payload,
    /// The core waits for the index.
    Index,
    /// The core waits for the log, or for its stores to the log.
    Log,
    /// The core waits for the state.
    State,
    /// Waiting for the stores of the reply.
    Reply,
    /// The core computes.
    Compute,
    /// The core looks for RPCs: it reads its completion queue ahead and prefetches, or polls slots.
    LookAhead,
}

impl Stage {
    /// All stages, in the order of an RPC's path.
    pub const ALL: [Self; 11] = [
        Self::Link,
        Self::Receive,
        Self::Dispatch,
        Self::Queue,
        Self::Payload,
        Self::Index,
        Self::Log,
        Self::State,
        Self::Reply,
        Self::Compute,
        Self::LookAhead,
    ];

    /// Name in results.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Link => "link",
            Self::Receive => "receive",
            Self::Dispatch => "dispatch",
            Self::Queue => "queue",
            Self::Payload => "payload",
            Self::Index => "index",
            Self::Log => "log",
            Self::State => "state",
            Self::Reply => "reply",
            Self::Compute => "compute",
            Self::LookAhead => "look-ahead",
        }
    }

    /// The stage that a core's wait for this part counts for.
    pub(super) const fn of(part: Part) -> Self {
        match part {
            Part::Payload => Self::Payload,
            Part::Index => Self::Index,
            Part::Log => Self::Log,
            Part::State | Part::Slots | Part::Hog => Self::State,
            Part::Reply => Self::Reply,
        }
    }
}

/// Time by stage, in picoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stages(pub(super) [u64; Stage::ALL.len()]);

impl Stages {
    #[inline]
    pub(super) fn add(&mut self, stage: Stage, ps: u64) {
        self.0[stage as usize] += ps;
    }

    /// Time of one stage, in picoseconds.
    #[must_use]
    pub const fn of(&self, stage: Stage) -> u64 {
        self.0[stage as usize]
    }

    /// Time of all stages, in picoseconds.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.0.iter().sum()
    }

    fn merge(&mut self, other: &Self) {
        self.0.iter_mut().zip(other.0).for_each(|(mine, more)| *mine += more);
    }
}

/// The measurements of the RPCs in a run's measured window.
#[derive(Clone, Debug)]
pub struct BlocksTally {
    /// Latency of RPCs served in picoseconds, from the arrival at the link until the buffer is
    /// freed: with the wait for the link, without the receipt of the first packet.
    pub latency: Distribution,
    /// From the start of service until the buffer is freed, in picoseconds, of RPCs served.
    pub service: Distribution,
    /// RPCs that a complete RPC finds waiting at the NIC, without those dispatched to a core.
    pub queue_depth: Depths,
    /// RPCs in the reassembler as it takes one, for RPCs of several packets in a shared buffer.
    pub incomplete: Depths,
    /// Total time of the served RPCs by stage.
    pub stages: Stages,
    /// Time that cores spent on the served RPCs, in picoseconds.
    pub busy_ps: u64,
    /// RPCs that were served.
    pub served: u64,
    /// RPCs that were NACKed.
    pub nacked: u64,
    /// RPCs that were dispatched to a core which was serving another one.
    pub queued_at_core: u64,
    /// RPCs of clients that arrived in the window.
    pub arrived: u64,
    /// RPCs of clients that were served in the window, whenever they arrived.
    pub done: u64,
    /// Time from the first measured arrival to the last.
    pub window: Span,
    /// DRAM traffic in the window.
    pub traffic: Traffic,
}

impl BlocksTally {
    pub(super) fn new() -> Self {
        Self {
            latency: Distribution::new(),
            service: Distribution::new(),
            queue_depth: Depths::default(),
            incomplete: Depths::default(),
            stages: Stages::default(),
            busy_ps: 0,
            served: 0,
            nacked: 0,
            queued_at_core: 0,
            arrived: 0,
            done: 0,
            window: Span::ZERO,
            traffic: Traffic::default(),
        }
    }

    /// RPCs served per second.
    #[must_use]
    pub fn served_rps(&self) -> f64 {
        self.done as f64 / self.window.as_secs_f64()
    }

    /// The share of the time of `cores` cores that they spend on no RPC.
    #[must_use]
    pub fn idle_share(&self, cores: u16) -> f64 {
        let busy_ps = self.busy_ps as f64 / self.served.max(1) as f64;
        (1.0 - self.served_rps() * busy_ps / 1e12 / f64::from(cores)).max(0.0)
    }

    /// How late RPCs are at the end of the window because of RPCs that came in it and were neither
    /// served nor NACKed: the time in which as many arrive, in picoseconds. Negative if a backlog
    /// became shorter.
    #[must_use]
    pub fn lag_ps(&self) -> f64 {
        let behind = self.arrived as f64 - (self.done + self.nacked) as f64;
        behind * self.window.as_ps() as f64 / self.arrived.max(1) as f64
    }

    /// DRAM traffic in 10⁹ bytes per second.
    #[must_use]
    pub fn dram_gb_per_s(&self) -> f64 {
        self.traffic.total() as f64 * f64::from(SLOT_BYTES) / self.window.as_secs_f64() / 1e9
    }

    /// DRAM blocks per arrived RPC.
    #[must_use]
    pub fn blocks_per_rpc(&self) -> f64 {
        self.traffic.total() as f64 / self.arrived.max(1) as f64
    }

    /// Mean time of an RPC in one stage, in nanoseconds.
    #[must_use]
    pub fn stage_ns(&self, stage: Stage) -> f64 {
        self.stages.of(stage) as f64 / self.served.max(1) as f64 / 1e3
    }

    /// The share of RPCs served that were dispatched to a core which was serving another RPC.
    #[must_use]
    pub fn queued_at_core_share(&self) -> f64 {
        self.queued_at_core as f64 / self.served.max(1) as f64
    }

    #[inline]
    pub(super) fn note_served(&mut self, message: &Message, now: Timestamp) {
        self.served += 1;
        self.latency.record(message.latency(now).as_ps());
        self.busy_ps += message.busy.as_ps();
        self.service.record((now - message.begun).as_ps());
        self.queued_at_core += u64::from(message.was_queued_at_core);
        self.stages.merge(&message.stages);
    }

    pub(super) fn add(&mut self, other: &Self) {
        self.latency.add(&other.latency);
        self.service.add(&other.service);
        self.queue_depth.add(&other.queue_depth);
        self.incomplete.add(&other.incomplete);
        self.stages.merge(&other.stages);
        self.busy_ps += other.busy_ps;
        self.served += other.served;
        self.nacked += other.nacked;
        self.queued_at_core += other.queued_at_core;
        self.arrived += other.arrived;
        self.done += other.done;
        self.window += other.window;
        self.traffic += other.traffic;
    }
}

counted!(BlocksTally, not_served: nacked, nacks: nacked);
