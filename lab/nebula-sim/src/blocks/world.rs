//! One run: the stations of an RPC, with every block that it touches.
//!
//! `egress`, `ingress` and `cpu` carry out what `nebula-nic` decides, as at the queueing level.
//!
//! ```text
//!            egress            ingress                     cpu
//! clients ──▶ draw, link ─────▶ write blocks, admit ─────▶ dispatch, steer ─▶ step by step ─┐
//!                                  │ NACK                                                   │
//!                                  ▼              read reply ◀──── stores done ◀────────────┘
//! ```
//!
//! # Order
//!
//! An access that goes to DRAM is made in an event at the time of the access, within [`AHEAD_PS`],
//! so DRAM receives requests in order. A core or packet may make an access that stays on the chip
//! ahead of time: its latency is known, and nothing else depends on it within those nanoseconds.
//! This halves the number of events.
//!
//! Next: [`egress`].

pub(crate) mod link;
pub(crate) mod clients;
pub(crate) mod at_core;
pub(crate) mod event;
mod egress;
mod ingress;
mod interleaved;
mod cpu;
mod near;
mod pending;
mod remote;
pub(super) mod message;

use super::design::Buffers;
use super::error::BlocksError;
use super::machine::ps_of;
use super::map::Part;
use super::program::Compiled;
use super::scenario::Scenario;
use super::tally::BlocksTally;
use crate::blocks::world::event::Event;
use crate::calendar::Calendar;
use crate::slab::Slab;
use crate::world::length::Length;
use at_core::{AtCore, Limits};
use clients::Clients;
use link::Link;
use message::Message;
use near::NearCore;
use nebula_memsys::{MemorySystem, Traffic};
use nebula_nic::{
    Backend, BackendConfig, CentralDispatch, CoreId, Dispatch, Frontend, SLOT_BYTES, SlotRange, Span, Steering,
    Timestamp,
};
use nebula_workload::{Rate, Rng, Seed};
use pending::Pending;
use std::borrow::Cow;

/// Runs a scenario at `rate` from an empty system until all RPCs of the measured window have ended.
///
/// The same arguments give the same tally on every machine. Takes O(blocks that RPCs touch) time;
/// memory depends on the size of the LLC.
///
/// # Errors
///
/// [`BlocksError`] if the scenario cannot be simulated.
pub fn run(scenario: &Scenario, rate: Rate, length: Length, seed: Seed) -> Result<BlocksTally, BlocksError> {
    Runner::try_new(scenario)?.run(rate, length, seed)
}

/// A scenario prepared for many runs.
pub(super) struct Runner<'a> {
    scenario: Cow<'a, Scenario>,
    compiled: Compiled,
}

impl<'a> Runner<'a> {
    pub(super) fn try_new(scenario: &'a Scenario) -> Result<Self, BlocksError> {
        scenario.validate()?;
        let machine = scenario.design.on(&scenario.machine);
        let scenario = match machine == scenario.machine {
            true => Cow::Borrowed(scenario),
            false => Cow::Owned(Scenario { machine, ..scenario.clone() }),
        };
        scenario.validate()?;
        Ok(Self { compiled: Compiled::of(&scenario.application, &scenario.machine)?, scenario })
    }

    pub(super) fn run(&self, rate: Rate, length: Length, seed: Seed) -> Result<BlocksTally, BlocksError> {
        Ok(World::try_new(&self.scenario, &self.compiled, rate, length, seed)?.run())
    }

    /// As [`run`](Self::run), but stops early, and is `None`, if the p99 or the lag exceeds `slo`.
    pub(super) fn run_within(
        &self,
        slo: Span,
        rate: Rate,
        length: Length,
        seed: Seed,
    ) -> Result<Option<BlocksTally>, BlocksError> {
        let tally = self.run_until(slo, length.rpcs / 100, rate, length, seed)?;
        let (slo_ps, is_whole) = (slo.as_ps() as f64, tally.ended() == length.rpcs);
        Ok((is_whole && tally.latency_with_nacks(0.99) <= slo_ps && tally.lag_ps() <= slo_ps).then_some(tally))
    }

    /// As [`run`](Self::run), but ends once over `late_max` RPCs are NACKed or later than `slo`.
    pub(super) fn run_until(
        &self,
        slo: Span,
        late_max: u64,
        rate: Rate,
        length: Length,
        seed: Seed,
    ) -> Result<BlocksTally, BlocksError> {
        let mut world = World::try_new(&self.scenario, &self.compiled, rate, length, seed)?;
        (world.late_ps, world.late_max) = (slo.as_ps(), late_max);
        Ok(world.run())
    }
}

/// Clients hold a slot for each RPC if buffers are per connection, so there is room for all.
const CONNECTION_SLOTS: u32 = 1 << 17;

struct World<'a> {
    scenario: &'a Scenario,
    compiled: &'a Compiled,
    length: Length,
    delays: Delays,
    limits: Limits,
    clients: Clients,
    link: Link,
    messages: Slab<Message>,
    memory: MemorySystem,
    near: Option<NearCore>,
    backend: Backend,
    cores: Box<[AtCore<'a>]>,
    /// Sources: the next step of each core; then the link, the clients, the hog.
    calendar: Calendar,
    events: Pending,
    /// Draws random places: items, slots.
    places: Rng,
    services: Rng,
    /// Blocks that the end of the log and the hog have advanced.
    appended: u32,
    streamed: u32,
    tally: BlocksTally,
    /// RPCs of clients that arrived, and that were served.
    arrived: u64,
    done: u64,
    opened: Mark,
    closed: Option<Mark>,
    /// Measured RPCs that were NACKed or took longer than `late_ps`; the run ends above `late_max`.
    late: u64,
    late_ps: u64,
    late_max: u64,
    is_over: bool,
}

#[derive(Clone, Copy)]
struct Mark {
    at: Timestamp,
    traffic: Traffic,
    arrived: u64,
    done: u64,
}

#[derive(Clone, Copy)]
struct Delays {
    notify: Span,
    dispatch: Span,
    free: Span,
    look_ahead_ps: u64,
    /// If cores poll: the picoseconds of a look at one slot, and the number of slots.
    poll: Option<(u64, u64)>,
    byte_fs: u64,
    /// The most bytes that the NIC has received and memory has not taken, as time on the link.
    unwritten: Span,
    /// A byte on a client's link, if clients have a link each.
    client_byte_fs: Option<u64>,
    hog_ps: u64,
}

impl Delays {
    fn of(scenario: &Scenario) -> Self {
        let (nic, core) = (&scenario.machine.nic, &scenario.machine.core);
        let ps = ps_of;
        // A byte at 1 Gbps takes 8 ns: as many femtoseconds as picoseconds of a thousand bytes.
        let byte_fs = |gbps: f64| ps(8e3 / gbps);
        Self {
            notify: Span::from_ps(ps(nic.notify_ns)),
            dispatch: Span::from_ps(ps(nic.dispatch_ns)),
            free: Span::from_ps(ps(nic.free_ns)),
            look_ahead_ps: ps(core.software_prefetch_ns),
            poll: scenario.design.polls.then(|| (ps(core.poll_ns), u64::from(scenario.machine.deployment.nodes))),
            byte_fs: byte_fs(nic.link_gbps),
            unwritten: Span::from_ps(u64::from(nic.write_buffer_bytes) * byte_fs(nic.link_gbps) / 1000),
            client_byte_fs: scenario.machine.deployment.client_gbps.map(byte_fs),
            hog_ps: if scenario.hog_gb_per_s > 0.0 { ps(64.0 / scenario.hog_gb_per_s) } else { 0 },
        }
    }
}

impl<'a> World<'a> {
    fn try_new(
        scenario: &'a Scenario,
        compiled: &'a Compiled,
        rate: Rate,
        length: Length,
        seed: Seed,
    ) -> Result<Self, BlocksError> {
        let cores = scenario.machine.memory.cores;
        let memory = MemorySystem::try_new(&scenario.machine.memory)?;
        let backend = Backend::try_new(backend_config(scenario, compiled, seed))?;
        let bound = scenario.design.policy.dispatcher(cores, 0).bound();
        let steering = if scenario.design.steering { Steering::On } else { Steering::Off };
        let at_core = |core| AtCore::new(Frontend::new(CoreId(core), bound), steering);
        let sources = usize::from(cores) + 3;
        let opened = Mark { at: Timestamp::ZERO, traffic: memory.traffic(), arrived: 0, done: 0 };
        let mut world = Self {
            scenario,
            compiled,
            length,
            delays: Delays::of(scenario),
            limits: Limits::of(&scenario.machine.core),
            clients: Clients::new(scenario, compiled, rate, seed),
            link: Link::default(),
            messages: Slab::default(),
            memory,
            near: NearCore::of(scenario, seed),
            backend,
            cores: (0..cores).map(at_core).collect(),
            calendar: Calendar::new(sources),
            events: Pending::default(),
            places: seed.stream("places"),
            services: seed.stream("service"),
            appended: 0,
            streamed: 0,
            tally: BlocksTally::new(),
            arrived: 0,
            done: 0,
            opened,
            closed: None,
            late: 0,
            late_ps: u64::MAX,
            late_max: u64::MAX,
            is_over: length.rpcs == 0,
        };
        world.schedule_arrival();
        if world.delays.hog_ps > 0 {
            world.calendar.set(world.hog_source(), Timestamp::from_ps(world.delays.hog_ps));
        }
        Ok(world)
    }

    fn run(mut self) -> BlocksTally {
        while !self.is_over {
            self.turn();
        }
        if let Some(closed) = self.closed {
            self.tally.window = closed.at - self.opened.at;
            self.tally.traffic = closed.traffic - self.opened.traffic;
            self.tally.arrived = closed.arrived - self.opened.arrived;
            self.tally.done = closed.done - self.opened.done;
        }
        self.tally
    }

    #[inline(always)]
    fn turn(&mut self) {
        if self.events.next_ps() <= self.calendar.next_ps() {
            if let Some((at_ps, event)) = self.events.pop() {
                self.carry_out(Timestamp::from_ps(at_ps), event);
            }
        } else if let Some((now, source)) = self.calendar.next() {
            if source < self.cores.len() {
                self.advance(now, source);
            } else if source == self.link_source() {
                self.receive(now);
            } else if source == self.arrival_source() {
                self.arrive_next(now);
            } else {
                self.stream(now);
            }
        }
    }

    #[inline(always)]
    fn carry_out(&mut self, now: Timestamp, event: Event) {
        match event {
            Event::Written(message) => self.complete(now, message),
            Event::Deliver(core, message) => self.deliver(now, core, message),
            Event::Freed(message) => self.send_reply(now, message),
            Event::Credit(core, first, slots) => {
                self.backend.handle_free(core, SlotRange::new(first, slots));
                self.hand_out(now);
            }
            Event::Answer(type_index) => self.arrive(now, type_index, false),
            Event::Remote(place) => self.advance_remote(now, place),
            Event::AtLink(sender, packet) => self.queue_packet(now, sender, packet),
            Event::Received(sender, packet) => self.receive_packet(now, sender, packet),
        }
    }

    #[inline(always)]
    fn push(&mut self, at: Timestamp, event: Event) {
        self.events.push(at.as_ps(), event);
    }

    const fn link_source(&self) -> usize {
        self.cores.len()
    }

    const fn arrival_source(&self) -> usize {
        self.cores.len() + 1
    }

    const fn hog_source(&self) -> usize {
        self.cores.len() + 2
    }

    /// The other program moves a block: it reads one and writes one in turn.
    fn stream(&mut self, now: Timestamp) {
        let hog = self.compiled.regions.hog;
        self.streamed = (self.streamed + 1) % hog.blocks;
        self.memory.stream(now.as_ps(), hog.at(self.streamed), Part::Hog.label(), self.streamed % 2 == 1);
        self.calendar.set(self.hog_source(), now + Span::from_ps(self.delays.hog_ps));
    }

    #[inline(always)]
    fn hand_out(&mut self, now: Timestamp) {
        while let Some(Dispatch { core, arrival }) = self.backend.poll_dispatch() {
            let place = Self::place_of(arrival.rpc);
            let message = self.messages.at_mut(place);
            message.arrival = arrival;
            let at = (now + self.delays.dispatch).max(message.written);
            self.push(at, Event::Deliver(core, place));
        }
    }

    #[inline(always)]
    fn note_ended(&mut self, is_late: bool) {
        self.late += u64::from(is_late);
        self.is_over = self.tally.ended() >= self.length.rpcs || self.late > self.late_max;
    }

    fn mark(&self, at: Timestamp) -> Mark {
        Mark { at, traffic: self.memory.traffic(), arrived: self.arrived, done: self.done }
    }

    #[inline]
    fn is_per_connection(&self) -> bool {
        self.scenario.design.buffers == Buffers::PerConnection
    }
}

fn backend_config(scenario: &Scenario, compiled: &Compiled, seed: Seed) -> BackendConfig {
    let cores = scenario.machine.memory.cores;
    let slots = match scenario.design.buffers {
        Buffers::Shared => scenario.machine.deployment.receive_buffer_bytes / SLOT_BYTES,
        Buffers::PerConnection => CONNECTION_SLOTS,
    };
    let request_max = compiled.types.iter().map(|kind| kind.request_bytes).max().unwrap_or(SLOT_BYTES);
    // By default the reassembler has an entry for every RPC that fits the buffer.
    let mut config = BackendConfig::new(cores, scenario.design.policy).slots(slots).queue_bound(slots);
    config.rpc_bytes_max = request_max.next_multiple_of(SLOT_BYTES);
    config.reassembler_entries = scenario.machine.nic.reassembler_entries.unwrap_or(slots);
    config.queue_capacity = config.rpcs_waiting_max().max(slots);
    config.scrub = scenario.machine.nic.scrub;
    config.reassembly_timeout = Span::from_ms(1_000_000);
    config.seed = seed.0;
    config
}
