//! The NIC's back end: stations 3 to 7 and the freeing of station 10, in the order of the path.
//!
//! This file only composes; each decision is made by its station. One back end serves one messaging
//! domain and is never shared between threads: for more throughput, use more back ends.

mod by_type;
mod join;
mod parts;
pub(crate) mod group;
mod without_queue;

pub use group::{Adoption, GroupConfig, GroupConfigError, Migrations};

use crate::admission::Admission;
use crate::arrival_queue::ArrivalQueue;
use crate::burst::{BURST_MAX, Burst, BurstRpc, Run};
use crate::config::{BackendConfig, ConfigError};
use crate::counters::Counters;
use crate::dispatch::{CentralDispatch, Dispatcher, JBSQ_BOUND_MAX, Placement, Queues};
use crate::fair_share::FairShare;
use crate::id::{CoreId, NodeId, RpcKey, Slot, SlotRange};
use crate::nack_memory::NackMemory;
use crate::reassembler::{Missing, Reassembler};
use crate::recv_buffer::{Holder, RecvBuffer, ScrubMode};
use crate::schedule::by_type::ByType;
use crate::time::Timestamp;
use crate::verdict::{Abandoned, Arrival, Dispatch, DropReason, Freed, NackReason, Verdict};
use crate::wire::{Header, Kind, slots_of};
use alloc::boxed::Box;
use group::Foreign;

/// Decides about every packet and every RPC of one messaging domain.
///
/// It has four kinds of methods:
///
/// - **A.** `handle_*` report events and return the decision: a packet arrived
///   ([`handle_packet`](Self::handle_packet)), several did ([`handle_burst`](Self::handle_burst)),
///   a core is done ([`handle_free`](Self::handle_free)), time has passed
///   ([`handle_timeout`](Self::handle_timeout)), a peer is gone
///   ([`handle_peer_gone`](Self::handle_peer_gone)), the type of a complete RPC is known
///   ([`handle_type`](Self::handle_type)).
/// - **B.** `poll_*` return what follows: [`poll_dispatch`](Self::poll_dispatch),
///   [`poll_abandoned`](Self::poll_abandoned), and [`poll_timeout`](Self::poll_timeout) for the
///   latest time of the next call. Where cores fetch their RPCs themselves, call
///   [`poll_dispatch_for`](Self::poll_dispatch_for) instead of `poll_dispatch`; on a core that
///   serves to completion, [`poll_run`](Self::poll_run).
/// - **C.** `set_*` change a bound at run time.
/// - **D.** All others are readings, which affect no decision.
///
/// After each A and C, drain in this order:
///
/// 1. [`poll_abandoned`](Self::poll_abandoned) until `None` (after a timeout or a lost peer);
/// 2. [`poll_dispatch`](Self::poll_dispatch) until `None`: each result goes to its core's
///    [`Frontend`](crate::Frontend);
/// 3. [`poll_timeout`](Self::poll_timeout): wake up by then.
///
/// Where the policy [tells types apart](Self::tells_types), report the types of [complete
/// RPCs](Self::untyped) before step 2.
///
/// Carry out a [`Verdict::Write`] before step 2, so that a payload is in its slots before its
/// dispatch is passed on. The slots of a dispatch belong to the core until it frees them. `now`
/// must not decrease; if it does, RPCs merely time out late.
///
/// The same calls in the same order make the same decisions, on every machine.
///
/// A server can have one for each group of its cores, built by [`try_group`](Self::try_group).
/// Slots are numbered over the whole server: those of group `g` begin at `g` times the slots of one
/// group. Cost: O(1) for each call unless stated otherwise, and no allocation after construction.
///
/// # Examples
///
/// The whole loop that drives it:
///
/// ```
/// use nebula_nic::{Backend, BackendConfig, CoreId, Header, Policy, Timestamp, Verdict};
///
/// let mut nic = Backend::try_new(BackendConfig::new(2, Policy::Jbsq(2)))?;
/// let mut given = Vec::new();
/// let packet = Header { rpc_bytes: 40, ..Header::default() };
/// match nic.handle_packet(Timestamp::ZERO, packet) {
///     Verdict::Write { slots, .. } => assert_eq!(slots.offset_bytes(), 0), // copy the payload there
///     Verdict::Nack { reason } => panic!("tell the sender: {reason}"),
///     Verdict::Drop { reason } => panic!("nobody is told: {reason}"),
/// }
/// while let Some(dispatch) = nic.poll_dispatch() {
///     given.push(dispatch); // the core runs it …
/// }
/// nic.handle_free(CoreId(0), given[0].arrival.slots); // … and is done
/// assert_eq!(nic.slots_used(), 0);
/// # Ok::<(), nebula_nic::ConfigError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Backend<D: CentralDispatch = Dispatcher> {
    config: BackendConfig,
    /// The longest RPC of one packet that may be admitted; all others take the general path.
    one_packet_bytes_max: u32,
    /// Whether all RPCs wait in one queue and are alike, so that placement need not be computed.
    has_one_queue: bool,
    /// Whether an RPC of one packet for that queue is treated as a burst of one. Not under
    /// [`ScrubMode::Ahead`], where each RPC looks for room.
    takes_singles: bool,
    admission: Admission,
    share: FairShare,
    buffer: RecvBuffer,
    reassembler: Reassembler,
    nacked: NackMemory,
    queue: ArrivalQueue,
    dispatch: D,
    /// By core: the first slot and the number of RPCs of the run that it serves; 0 RPCs for none.
    runs: Box<[(Slot, u32)]>,
    // RPCs of other groups, if there are several groups.
    foreign: Option<Box<Foreign>>,
    // RPCs by type, if the policy has types.
    by_type: Option<Box<ByType>>,
    counters: Counters,
}

impl Backend {
    /// A back end with the policy of its configuration.
    pub fn try_new(config: BackendConfig) -> Result<Self, ConfigError> {
        config.validate()?;
        if let Some(name) = config.custom {
            return Err(ConfigError::Custom { name });
        }
        Self::try_with(config, config.policy.dispatcher(config.cores, config.seed))
    }
}

impl<D: CentralDispatch> Backend<D> {
    /// A back end with the caller's policy, for the configuration's cores; the configuration's
    /// policy is ignored.
    pub fn try_with(config: BackendConfig, dispatch: D) -> Result<Self, ConfigError> {
        config.validate()?;
        if !(1..=JBSQ_BOUND_MAX).contains(&dispatch.bound()) {
            return Err(ConfigError::DispatchBound { got: dispatch.bound() });
        }
        let BackendConfig { slots, mtu, reassembler_entries, cores, queue_bound, queue_capacity, seed, .. } = config;
        let reassembler = Reassembler::new(reassembler_entries, slots, mtu, seed);
        let reassembler = match config.incomplete_per_peer {
            u32::MAX => reassembler,
            rpcs => reassembler.per_peer(rpcs),
        };
        let by_type = config.darc().map(|darc| Box::new(ByType::new(darc, queue_capacity)));
        let share = FairShare::new(config.sources).with_tenants(config.tenants);
        let has_one_queue = dispatch.queues() == Queues::Shared && by_type.is_none();
        Ok(Self {
            config,
            one_packet_bytes_max: mtu.bytes().min(config.rpc_bytes_max),
            has_one_queue,
            takes_singles: has_one_queue && config.scrub != ScrubMode::Ahead,
            admission: Admission::new(queue_bound, config.queue_bound_max(), cores).sharing(&share),
            share,
            buffer: RecvBuffer::new(slots).in_order(config.slot_order),
            reassembler,
            nacked: NackMemory::new(reassembler_entries, config.reassembly_timeout, seed),
            queue: ArrivalQueue::new(queue_capacity, cores, dispatch.queues()).with_first(config.first_places()),
            dispatch,
            runs: alloc::vec![(Slot(0), 0); usize::from(cores)].into(),
            foreign: None,
            by_type,
            counters: Counters::default(),
        })
    }

    /// Decides about one packet.
    ///
    /// An RPC of one packet is not looked up among those being reassembled: two of them under one
    /// number are two RPCs. Likewise, a packet that arrives again after its RPC was complete begins
    /// another RPC; transports that duplicate packets must filter.
    #[inline(always)]
    pub fn handle_packet(&mut self, now: Timestamp, header: Header) -> Verdict {
        self.counters.packets += 1;
        if header.kind != Kind::Request {
            return self.drop(DropReason::NotARequest);
        }
        if header.rpc_bytes > self.one_packet_bytes_max {
            return self.handle_part(now, &header);
        }
        if header.pkt_idx != 0 {
            return self.drop(DropReason::IndexOutOfRange);
        }
        if self.takes_singles { self.handle_shared(now, &header) } else { self.handle_placed(now, &header) }
    }

    /// Whether RPCs can be decided about in bursts: all wait in one queue, none is handed to
    /// another group, and no RPC counts as an input by itself ([`ScrubMode::Ahead`]).
    #[must_use]
    #[inline]
    pub fn takes_bursts(&self) -> bool {
        self.has_one_queue && self.foreign.is_none() && self.config.scrub != ScrubMode::Ahead
    }

    /// The longest RPC of one packet that may be admitted, in bytes; bursts have no longer ones.
    #[must_use]
    #[inline]
    pub const fn one_packet_bytes_max(&self) -> u32 {
        self.one_packet_bytes_max
    }

    /// Places for the sizes and hashes of a burst's RPCs: write them, then pass how many to
    /// [`handle_burst`](Self::handle_burst). At most [`BURST_MAX`]; none while the queue is full.
    ///
    /// The words are written where they will wait, since copying them would stall: a wide load of
    /// words just written one by one waits until all stores before it have drained to the cache.
    #[inline(always)]
    pub fn burst_places(&mut self) -> &mut [BurstRpc] {
        self.queue.places()
    }

    /// Decides about a burst of `rpcs` RPCs, whose sizes were written to
    /// [`burst_places`](Self::burst_places): takes in the first ones, up to the room in the queue
    /// and behind the last slots given out.
    ///
    /// The others count as not arrived. Pass the next one to
    /// [`handle_packet`](Self::handle_packet), which searches for room and says why there is none.
    /// Cost: that of one RPC.
    ///
    /// # Panics
    ///
    /// Where the back end does not [take bursts](Self::takes_bursts). With debug assertions, if an
    /// RPC needs another number of slots than `slots_each`.
    #[inline(always)]
    pub fn handle_burst(&mut self, now: Timestamp, burst: &Burst, rpcs: u32) -> Option<Run> {
        assert!(self.takes_bursts(), "a burst needs one queue for all cores");
        debug_assert!(self.is_of_one_kind(burst, rpcs), "an RPC of a burst takes as many slots as the others");
        let waiting = self.queue.waiting_at(Placement::Shared);
        let is_quick = self.has_room_for_all(waiting, rpcs);
        let run = if is_quick {
            self.take_in(now, burst, (waiting, rpcs))
        } else {
            self.take_in_sharing(now, burst, (waiting, rpcs))
        }?;
        self.counters.packets += u64::from(run.rpcs);
        Some(run)
    }

    /// As [`burst_places`](Self::burst_places), with the slots behind the last ones given out, if
    /// `core` could serve a burst at once: where [`plan_run`](Self::plan_run) will place it.
    #[inline(always)]
    pub fn burst_places_for(&mut self, core: CoreId) -> (&mut [BurstRpc], Option<SlotRange>) {
        let slots = self.is_free(core).then(|| self.buffer.free_ahead());
        (self.queue.places(), slots)
    }

    /// Whether the queue would take in [`BURST_MAX`] RPCs of any client.
    #[must_use]
    #[inline]
    pub fn has_room_for_burst(&self) -> bool {
        self.admission.open() >= BURST_MAX
    }

    #[inline(always)]
    fn is_free(&self, core: CoreId) -> bool {
        !self.queue.has_shared() && self.dispatch.outstanding(core) == 0
    }

    /// The run that [`handle_burst`](Self::handle_burst) and then [`poll_run`](Self::poll_run)
    /// would give an idle core that serves it at once. Nothing changes until
    /// [`handle_run_served`](Self::handle_run_served), so that the replies come before the
    /// bookkeeping. `None` if something waits, if the core has an RPC outstanding, if not all of
    /// the burst may wait, or if the slots behind the last ones given out are too few.
    ///
    /// # Panics
    ///
    /// Like [`handle_burst`](Self::handle_burst) and [`poll_run`](Self::poll_run).
    #[must_use]
    #[inline(always)]
    pub fn plan_run(&self, now: Timestamp, core: CoreId, burst: &Burst, rpcs: u32) -> Option<Run> {
        assert!(self.takes_bursts() && core.0 < self.config.cores, "a run needs one queue and a core");
        debug_assert!(self.is_of_one_kind(burst, rpcs), "an RPC of a burst takes as many slots as the others");
        if !self.is_free(core) || self.admission.open() < rpcs {
            return None;
        }
        let first_slot = self.buffer.next_for(burst.slots_each * rpcs)?;
        Some(self.queue.first_run(burst, first_slot, now, rpcs))
    }

    /// A core has served its [planned](Self::plan_run) run, with no call in between: the RPCs count
    /// as arrived, dispatched and freed.
    #[inline(always)]
    pub fn handle_run_served(&mut self, core: CoreId, run: &Run) {
        let rpcs = u64::from(run.rpcs);
        self.counters.packets += rpcs;
        self.counters.completed += rpcs;
        self.counters.dispatched += rpcs;
        self.counters.freed += rpcs;
        self.buffer.pass(run.first_slot, run.rpcs * run.burst.slots_each);
        self.count_admitted(run.burst.first.snid, 0, run.rpcs);
        self.dispatch.handle_served(core);
    }

    #[inline(always)]
    fn give_run(&mut self, core: CoreId, run: &Run) {
        self.dispatch.handle_dispatched(core);
        let is_own = self.buffer.give_run(run, core);
        debug_assert!(is_own, "what waits lies in this buffer");
        self.runs[core.index()] = (run.first_slot, run.rpcs);
        self.counters.dispatched += u64::from(run.rpcs);
    }

    /// For debug assertions: a caller that forms a burst has checked each size already.
    fn is_of_one_kind(&self, burst: &Burst, rpcs: u32) -> bool {
        let longest = self.one_packet_bytes_max;
        let fits = |rpc: &BurstRpc| slots_of(rpc.bytes()) == burst.slots_each && rpc.bytes() <= longest;
        self.queue.written()[..rpcs as usize].iter().all(fits)
    }

    /// The next RPCs for `core`, which serves each to its end before the next: at most `most`, all
    /// of one burst. None while the core has an RPC outstanding.
    ///
    /// They take one credit together, which [`handle_run_freed`](Self::handle_run_freed) gives
    /// back. A log has a dispatch and a free for each in turn, as if the core took the head of the
    /// queue whenever it is idle. Cost: that of one RPC.
    ///
    /// # Panics
    ///
    /// If there is no such core, or where the back end does not [take bursts](Self::takes_bursts).
    #[inline(always)]
    pub fn poll_run(&mut self, core: CoreId, most: u32) -> Option<Run> {
        assert!(self.takes_bursts() && core.0 < self.config.cores, "a run needs one queue and a core");
        if self.dispatch.outstanding(core) > 0 {
            return None;
        }
        let run = self.queue.pop_run(most.min(BURST_MAX));
        self.queue.note_waiting();
        let run = run?;
        self.give_run(core, &run);
        Some(run)
    }

    /// The words in which the RPCs of a run differ. They stay until the next packet or burst.
    #[must_use]
    #[inline(always)]
    pub fn rpcs_of(&self, run: &Run) -> &[BurstRpc] {
        self.queue.rpcs_of(run)
    }

    /// Takes back the slots of a run that `core` has served, and the core's credit. Refuses and
    /// counts like [`handle_free`](Self::handle_free). Cost: that of one RPC if each takes one
    /// slot; otherwise O(RPCs).
    #[inline(always)]
    pub fn handle_run_freed(&mut self, core: CoreId, run: &Run) -> Freed {
        let given = self.runs.get_mut(core.index()).filter(|given| **given == (run.first_slot, run.rpcs));
        let Some(given) = given.filter(|_| self.buffer.free_run(run, core)) else {
            self.counters.refused_frees += 1;
            return Freed::Refused;
        };
        given.1 = 0;
        self.dispatch.handle_freed(core);
        self.counters.freed += u64::from(run.rpcs);
        Freed::Taken
    }

    /// Takes back the slots of an RPC that `core` has served, and the core's credit.
    ///
    /// Refused and counted, with nothing changed, if `core` does not hold exactly these slots. For
    /// an RPC of another group only the credit is taken back, and the result names the group that
    /// owns the slots. Cost: O(slots of the RPC / 64); for another group's O(RPCs that a core may
    /// have outstanding).
    #[inline(always)]
    pub fn handle_free(&mut self, core: CoreId, slots: SlotRange) -> Freed {
        if self.config.scrub == ScrubMode::Ahead {
            self.buffer.look_ahead(slots_of(self.config.rpc_bytes_max));
        }
        if !self.buffer.free(slots, Holder::Core(core)) {
            return self.free_foreign(core, slots);
        }
        self.dispatch.handle_freed(core);
        self.counters.freed += 1;
        if !self.has_one_queue {
            self.grant(core);
        }
        Freed::Taken
    }

    /// The next RPC for which a core has credit, and that core.
    #[inline(always)]
    pub fn poll_dispatch(&mut self) -> Option<Dispatch> {
        if self.queue.has_shared()
            && let Some(core) = self.dispatch.pick()
            && let Some(arrival) = self.queue.pop_shared()
        {
            return Some(self.give(core, arrival));
        }
        let ready = if self.has_one_queue { None } else { self.poll_ready() };
        if ready.is_none() {
            self.queue.note_waiting();
        }
        ready
    }

    /// The head of the shared queue for `core`, which fetches it; `None` if the core has no credit
    /// or nothing waits there.
    ///
    /// For runtimes without a central dispatcher: cores take turns at the back end, for example
    /// behind a lock. The lock decides which core is first; the policy only counts credit.
    #[inline(always)]
    pub fn poll_dispatch_for(&mut self, core: CoreId) -> Option<Dispatch> {
        let has_credit = core.0 < self.config.cores && self.dispatch.outstanding(core) < self.dispatch.bound();
        let arrival = if has_credit { self.queue.pop_shared() } else { None };
        self.queue.note_waiting();
        arrival.map(|arrival| self.give(core, arrival))
    }

    /// When [`handle_timeout`](Self::handle_timeout) is due to abandon the oldest incomplete RPC.
    #[must_use]
    #[inline]
    pub fn poll_timeout(&self) -> Option<Timestamp> {
        self.reassembler.oldest().map(|since| since + self.config.reassembly_timeout)
    }

    /// Abandons the RPCs whose first packet arrived at least a `reassembly_timeout` ago: an early
    /// call has no effect. Cost: O(RPCs abandoned).
    pub fn handle_timeout(&mut self, now: Timestamp) {
        let Self { reassembler, buffer, counters, .. } = self;
        reassembler.abandon_expired(now, self.config.reassembly_timeout, |slots| {
            counters.abandoned += u64::from(buffer.free(slots, Holder::Nic));
        });
    }

    /// Abandons the incomplete RPCs of a lost peer; complete ones run. O(RPCs being reassembled).
    pub fn handle_peer_gone(&mut self, snid: NodeId) {
        let Self { reassembler, buffer, counters, .. } = self;
        reassembler.abandon_peer(snid, |slots| {
            counters.abandoned += u64::from(buffer.free(slots, Holder::Nic));
        });
        self.nacked.forget_peer(snid);
    }

    /// The next RPC that has been abandoned; this frees its table entry.
    pub fn poll_abandoned(&mut self) -> Option<Abandoned> {
        self.reassembler.poll_abandoned()
    }

    /// From now on, NACKs RPCs that find `waiting` others waiting, at most the capacity of the
    /// arrival queue; 0 refuses every RPC.
    pub fn set_queue_bound(&mut self, waiting: u32) {
        self.admission.set_bound(&self.share, waiting);
    }

    /// The bound on the queue below which one RPC of each of `clients` clients may be refused, for
    /// [`Pace::set_floor`](crate::turn::Pace::set_floor); at most that for
    /// [`CLIENTS_WAITING_MAX`](crate::CLIENTS_WAITING_MAX) clients. Cost: O(clients).
    #[must_use]
    pub fn queue_bound_for(&self, clients: u32) -> u32 {
        self.admission.bound_for(&self.share, clients, self.dispatch.queues())
    }

    /// The sources that recently had RPCs admitted behind others, or met a queue short of room.
    #[must_use]
    #[inline]
    pub const fn sources(&self) -> u32 {
        self.share.sources()
    }

    /// RPCs of any client that may wait before one is refused.
    #[must_use]
    #[inline]
    pub const fn queue_open(&self) -> u32 {
        self.admission.open()
    }

    /// Whether another RPC of `snid` would be refused for lack of room in the queue, without any
    /// other effect: then it need not be [reported](Self::handle_packet). Always `false` where each
    /// core has its own queue.
    #[must_use]
    #[inline]
    pub fn refuses(&self, now: Timestamp, snid: NodeId) -> bool {
        self.has_one_queue
            && self.share.is_noted(now, snid)
            && self.admission.room(now, (&self.queue, &self.share), snid, 1) == 0
    }

    /// Whether packets of RPCs that have begun may come from `snid`. Rarely true where none will:
    /// it compares hashes, as [`Reassembler::may_hold`].
    #[must_use]
    #[inline]
    pub fn may_have_begun(&self, snid: NodeId) -> bool {
        self.reassembler.may_hold(snid)
    }

    /// The room that each source has had.
    #[must_use]
    pub fn share(&self) -> &FairShare {
        &self.share
    }

    /// RPCs that wait and have not been given to a core.
    #[must_use]
    #[inline]
    pub fn queue_depth(&self) -> u32 {
        self.queue.waiting()
    }

    /// The most RPCs that waited when [`poll_dispatch`](Self::poll_dispatch) had no core for them.
    #[must_use]
    pub fn queue_depth_max(&self) -> u32 {
        self.queue.waiting_max()
    }

    /// The RPC that will be dispatched after `ahead` others, for prefetching; `None` when each core
    /// has its own queue.
    #[must_use]
    #[inline]
    pub fn peek_waiting(&self, ahead: usize) -> Option<Arrival> {
        self.queue.peek_shared(ahead)
    }

    /// Counts of all events so far.
    #[must_use]
    #[inline]
    pub fn counters(&self) -> &Counters {
        &self.counters
    }

    /// The configuration it was built with.
    #[must_use]
    pub fn config(&self) -> &BackendConfig {
        &self.config
    }

    /// The receive buffer's bookkeeping: slots used, free, high-water mark.
    #[must_use]
    pub fn buffer(&self) -> &RecvBuffer {
        &self.buffer
    }

    /// The number of its first slot: not 0 in a group that follows others.
    #[must_use]
    #[inline]
    pub const fn first_slot(&self) -> u32 {
        self.buffer.first()
    }

    /// RPCs given to `core` and not freed.
    #[must_use]
    #[inline]
    pub fn outstanding(&self, core: CoreId) -> u32 {
        self.dispatch.outstanding(core)
    }

    /// RPCs being reassembled.
    #[must_use]
    pub fn incomplete(&self) -> u32 {
        self.reassembler.len()
    }

    /// The packets that an incomplete RPC lacks, for an acknowledgment; `None` if it is not being
    /// reassembled. Cost: O(packets of the RPC).
    #[must_use]
    pub fn missing(&self, rpc: RpcKey) -> Option<Missing> {
        self.reassembler.missing(rpc)
    }

    /// Slots that RPCs hold.
    #[must_use]
    #[inline]
    pub fn slots_used(&self) -> u32 {
        self.buffer.slots_used()
    }

    /// Slots that no RPC holds.
    #[must_use]
    #[inline]
    pub fn slots_free(&self) -> u32 {
        self.buffer.slots_free()
    }

    /// The most slots held at once since construction or the last reset.
    #[must_use]
    pub fn slots_used_max(&self) -> u32 {
        self.buffer.slots_used_max()
    }

    /// Restarts the high-water mark of slots from the current use.
    pub fn reset_slots_used_max(&mut self) {
        self.buffer.reset_slots_used_max();
    }

    #[inline(never)]
    fn handle_placed(&mut self, now: Timestamp, header: &Header) -> Verdict {
        let placement = self.dispatch.place(header, &self.queue);
        self.handle_whole(now, header, placement)
    }

    #[inline(always)]
    fn handle_shared(&mut self, now: Timestamp, header: &Header) -> Verdict {
        let Header { rpc_bytes: bytes, key_hash, .. } = *header;
        let burst = Burst { first: header.rpc(), step: 0, slots_each: slots_of(bytes) };
        let waiting = self.queue.waiting_at(Placement::Shared);
        let place = self.queue.places().first_mut().map(|place| *place = BurstRpc::new(bytes, key_hash));
        if place.is_some() && !self.has_room_for_all(waiting, 1) {
            return self.handle_sharing(now, header, &burst, waiting);
        }
        match place.and_then(|()| self.take_in(now, &burst, (waiting, 1))) {
            None => self.handle_whole(now, header, Placement::Shared),
            Some(run) => Verdict::Write { slots: run.slots(0), offset_bytes: 0, bytes, complete: true },
        }
    }

    #[inline(never)]
    fn handle_whole(&mut self, now: Timestamp, header: &Header, placement: Placement) -> Verdict {
        match self.admit(now, header, placement) {
            Ok(slots) => {
                let Header { rpc_bytes: bytes, key_hash, .. } = *header;
                self.complete(placement, Arrival { rpc: header.rpc(), slots, bytes, key_hash, arrived: now });
                Verdict::Write { slots, offset_bytes: 0, bytes, complete: true }
            }
            Err(reason) => self.nack(reason),
        }
    }

    /// Slots for the RPC that begins with this packet, or the reason to refuse it.
    #[inline(always)]
    fn admit(&mut self, now: Timestamp, header: &Header, placement: Placement) -> Result<SlotRange, NackReason> {
        let Self { admission, queue, share, .. } = self;
        if let Some(reason) = admission.refusal(now, (queue, share), (header.snid, placement)) {
            return Err(reason);
        }
        let slots = slots_of(header.rpc_bytes);
        let range = match self.config.scrub {
            ScrubMode::Ahead => self.alloc_ahead(slots),
            _ => self.buffer.alloc(slots).or_else(|| self.alloc_behind_slow(slots)),
        };
        range.ok_or(NackReason::BufferFull)
    }

    #[inline(never)]
    fn alloc_ahead(&mut self, slots: u32) -> Option<SlotRange> {
        let is_stopped = self.buffer.is_stopped(slots);
        let range = self.buffer.alloc_ahead(slots, slots_of(self.config.rpc_bytes_max));
        self.counters.scrubs += u64::from(is_stopped);
        self.counters.scrubs_found += u64::from(is_stopped && range.is_some());
        range
    }

    /// The head has met a used slot: skips it, at once or for later RPCs.
    #[cold]
    fn alloc_behind_slow(&mut self, slots: u32) -> Option<SlotRange> {
        if self.config.scrub == ScrubMode::Off {
            return None;
        }
        self.counters.scrubs += 1;
        let has_found = self.buffer.scrub(slots);
        self.counters.scrubs_found += u64::from(has_found);
        if has_found && self.config.scrub == ScrubMode::OnFull { self.buffer.alloc(slots) } else { None }
    }

    #[inline(never)]
    fn poll_ready(&mut self) -> Option<Dispatch> {
        if self.by_type.is_some() {
            return self.poll_by_type();
        }
        let (core, arrival) = self.queue.pop_ready()?;
        let dispatch = self.give(core, arrival);
        if self.dispatch.outstanding(core) >= self.dispatch.bound() {
            self.queue.withhold(core);
        }
        Some(dispatch)
    }

    #[inline(always)]
    fn give(&mut self, core: CoreId, arrival: Arrival) -> Dispatch {
        self.dispatch.handle_dispatched(core);
        if !self.buffer.give(arrival.slots, core) {
            self.give_foreign(core, arrival.slots);
        }
        self.counters.dispatched += 1;
        Dispatch { core, arrival }
    }

    #[cold]
    fn nack(&mut self, reason: NackReason) -> Verdict {
        self.counters.count_nack(reason);
        Verdict::Nack { reason }
    }

    #[cold]
    fn drop(&mut self, reason: DropReason) -> Verdict {
        self.counters.count_drop(reason);
        Verdict::Drop { reason }
    }
}
