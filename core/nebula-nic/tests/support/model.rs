//! A whole back end in lists and scans: slow and obviously correct.
//!
//! It makes all decisions itself except three. A second instance of the policy places RPCs if there
//! is a queue per core. Two decisions may depend on a hash, so the back end's choice is accepted
//! where both are possible: whether the memory of refused RPCs still holds a key, and whether two
//! peers share one limit of the reassembler.

use super::interval_buffer::IntervalBuffer;
use super::reach::Reach;
use nebula_nic::{
    Abandoned, Arrival, ArrivalQueue, BackendConfig, CentralDispatch, CoreId, Decision, Dispatch, Dispatcher,
    DropReason, Freed, Header, Holder, Input, Kind, NackReason, Placement, RpcKey, SLOT_BYTES, ScrubMode, SlotRange,
    Timestamp, Verdict,
};
use std::collections::{BTreeSet, VecDeque};

#[derive(Clone, Debug)]
struct Partial {
    header: Header,
    slots: SlotRange,
    placement: Placement,
    seen: BTreeSet<u32>,
    since: Timestamp,
}

/// A refused RPC, and how many of its packets may still arrive, in the order in which they may have
/// evicted others.
#[derive(Clone, Debug)]
struct Refused {
    rpc: RpcKey,
    left: u32,
    since: Timestamp,
}

#[derive(Clone, Debug)]
pub struct Model {
    pub config: BackendConfig,
    pub reach: Reach,
    placer: Dispatcher,
    bound: u32,
    buffer: IntervalBuffer,
    partial: Vec<Partial>,
    refused: Vec<Refused>,
    shared: VecDeque<Arrival>,
    own: Vec<VecDeque<Arrival>>,
    outstanding: Vec<u32>,
    abandoned: VecDeque<Abandoned>,
}

impl Model {
    pub fn new(config: BackendConfig) -> Self {
        let cores = usize::from(config.cores);
        Self {
            config,
            reach: Reach::default(),
            placer: config.policy.dispatcher(config.cores, config.seed),
            bound: config.queue_bound,
            buffer: IntervalBuffer::new(config.slots, config.slot_order),
            partial: Vec::new(),
            refused: Vec::new(),
            shared: VecDeque::new(),
            own: vec![VecDeque::new(); cores],
            outstanding: vec![0; cores],
            abandoned: VecDeque::new(),
        }
    }

    /// The decisions about an input, including all pending ones; `real` is the back end's.
    pub fn decide(&mut self, at: Timestamp, input: Input, real: &[Decision]) -> Vec<Decision> {
        let mut decisions = Vec::new();
        match input {
            Input::Packet(header) => decisions.push(Decision::Packet(self.packet(at, header, real.first()))),
            Input::Free { core, slots } => decisions.push(Decision::Free(self.free(core, slots))),
            Input::Timeout => self.abandon("a timeout abandoned", |partial, timeout| partial.since + timeout <= at),
            Input::PeerGone(snid) => {
                self.abandon("a lost peer abandoned", |partial, _| partial.header.snid == snid);
                let gone = self.refused.iter_mut().filter(|refused| refused.rpc.snid == snid);
                gone.for_each(|refused| refused.left = 0);
            }
            Input::QueueBound(waiting) => self.bound = waiting,
            // Not among the ops: `tests/pull.rs`, `tests/by_type.rs` and `tests/decision_text.rs`
            // test them.
            _ => {}
        }
        decisions.extend(self.abandoned.drain(..).map(Decision::Abandoned));
        while let Some(dispatch) = self.dispatch() {
            decisions.push(Decision::Dispatch(dispatch));
        }
        decisions
    }

    pub fn queue_depth(&self) -> usize {
        self.shared.len() + self.own.iter().map(VecDeque::len).sum::<usize>()
    }

    pub fn slots_used(&self) -> u32 {
        self.buffer.slots_used()
    }

    pub fn incomplete(&self) -> usize {
        self.partial.len()
    }

    pub fn outstanding(&self, core: CoreId) -> u32 {
        self.outstanding[core.index()]
    }

    pub fn dispatch_bound(&self) -> u32 {
        self.config.policy.bound()
    }

    pub fn held_by(&self, core: CoreId, nth: usize) -> Option<SlotRange> {
        let held: Vec<_> = self.buffer.live.iter().filter(|(_, holder)| *holder == Holder::Core(core)).collect();
        held.get(nth % held.len().max(1)).map(|(range, _)| *range)
    }

    pub fn missing_packet(&self, nth: usize) -> Option<Header> {
        let partial = self.partial.get(nth % self.partial.len().max(1))?;
        let lacks = (0..self.packets(&partial.header)).find(|idx| !partial.seen.contains(idx))?;
        Some(Header { pkt_idx: lacks, ..partial.header })
    }

    fn packets(&self, header: &Header) -> u32 {
        header.rpc_bytes.div_ceil(self.config.mtu.bytes()).max(1)
    }

    fn packet(&mut self, at: Timestamp, header: Header, real: Option<&Decision>) -> Verdict {
        let drop = |reason| Verdict::Drop { reason };
        let longest = self.config.rpc_bytes_max;
        if header.kind != Kind::Request {
            return drop(DropReason::NotARequest);
        }
        let is_one_packet = header.rpc_bytes <= self.config.mtu.bytes() && header.rpc_bytes <= longest;
        if !is_one_packet
            && let Some(index) = self.partial.iter().position(|partial| partial.header.rpc() == header.rpc())
        {
            return self.later_packet(at, index, header);
        }
        if header.pkt_idx >= self.packets(&header) {
            return drop(DropReason::IndexOutOfRange);
        }
        if !is_one_packet && self.recalls(at, header.rpc(), real) {
            return drop(DropReason::AlreadyNacked);
        }
        match self.admit(&header, is_one_packet, real) {
            Ok((slots, placement)) => self.start(at, header, slots, placement, is_one_packet),
            Err(reason) => {
                self.remember(at, &header);
                Verdict::Nack { reason }
            }
        }
    }

    fn later_packet(&mut self, at: Timestamp, index: usize, header: Header) -> Verdict {
        let packets = self.packets(&self.partial[index].header);
        let partial = &mut self.partial[index];
        if header.rpc_bytes != partial.header.rpc_bytes {
            return Verdict::Drop { reason: DropReason::SizeMismatch };
        }
        if header.pkt_idx >= packets {
            return Verdict::Drop { reason: DropReason::IndexOutOfRange };
        }
        if !partial.seen.insert(header.pkt_idx) {
            return Verdict::Drop { reason: DropReason::Duplicate };
        }
        let (slots, complete) = (partial.slots, partial.seen.len() == packets as usize);
        if complete {
            let Partial { header: first, slots, placement, .. } = self.partial.remove(index);
            self.reach.count("several packets became whole");
            self.push(at, &first, slots, placement);
        }
        self.write(&header, slots, complete)
    }

    fn admit(
        &mut self,
        header: &Header,
        is_one_packet: bool,
        real: Option<&Decision>,
    ) -> Result<(SlotRange, Placement), NackReason> {
        if header.rpc_bytes > self.config.rpc_bytes_max {
            return Err(NackReason::TooLarge);
        }
        if !is_one_packet && self.partial.len() == self.config.reassembler_entries as usize {
            self.reach.count("the reassembler was full");
            return Err(NackReason::ReassemblerFull);
        }
        if !is_one_packet && self.is_beyond_share(header, real) {
            self.reach.count("a peer had its share of the reassembler");
            return Err(NackReason::ReassemblerFull);
        }
        let placement = self.placer.place(header, &self.waiting());
        if self.is_at_bound(placement) {
            self.reach.count("the queue was at its bound");
            return Err(NackReason::QueueBound);
        }
        let head = self.buffer.head;
        let slots = header.rpc_bytes.div_ceil(SLOT_BYTES).max(1);
        let range = self.buffer.alloc(slots).or_else(|| self.alloc_behind(slots)).ok_or(NackReason::BufferFull)?;
        if range.start.0 == 0 && head > 0 {
            self.reach.count("the head went round");
        }
        Ok((range, placement))
    }

    /// Whether a peer has reached its limit while others need the entries. Peers that may share a
    /// limit may be refused together or not.
    fn is_beyond_share(&self, header: &Header, real: Option<&Decision>) -> bool {
        let share = self.config.incomplete_per_peer as usize;
        if self.partial.len() <= self.config.reassembler_entries as usize / 2 || self.partial.len() < share {
            return false;
        }
        let own = self.partial.iter().filter(|partial| partial.header.snid == header.snid).count();
        own >= share || real == Some(&Decision::Packet(Verdict::Nack { reason: NackReason::ReassemblerFull }))
    }

    /// A queue with the real lengths, for policies that compare loads.
    fn waiting(&self) -> ArrivalQueue {
        let mut queue = ArrivalQueue::new(self.config.queue_capacity, self.config.cores, self.placer.queues());
        for (core, own) in (0..).zip(&self.own) {
            own.iter().for_each(|&arrival| queue.push(Placement::Core(CoreId(core)), arrival));
        }
        queue
    }

    fn alloc_behind(&mut self, slots: u32) -> Option<SlotRange> {
        if self.config.scrub == ScrubMode::Off {
            return None;
        }
        let has_found = self.buffer.scrub(slots);
        self.reach.count(if has_found { "scrub found a hole" } else { "scrub found none" });
        if self.config.scrub == ScrubMode::OnFull { self.buffer.alloc(slots) } else { None }
    }

    fn is_at_bound(&self, placement: Placement) -> bool {
        match placement {
            Placement::Shared => self.shared.len() >= self.bound as usize,
            Placement::Core(core) => {
                self.own[core.index()].len() >= self.bound.div_ceil(u32::from(self.config.cores)) as usize
            }
        }
    }

    fn start(
        &mut self,
        at: Timestamp,
        header: Header,
        slots: SlotRange,
        placement: Placement,
        complete: bool,
    ) -> Verdict {
        if complete {
            self.push(at, &header, slots, placement);
        } else {
            let seen = BTreeSet::from([header.pkt_idx]);
            self.partial.push(Partial { header, slots, placement, seen, since: at });
        }
        self.write(&header, slots, complete)
    }

    fn write(&self, header: &Header, slots: SlotRange, complete: bool) -> Verdict {
        let offset_bytes = header.pkt_idx * self.config.mtu.bytes();
        let bytes = (header.rpc_bytes - offset_bytes).min(self.config.mtu.bytes());
        Verdict::Write { slots, offset_bytes, bytes, complete }
    }

    fn push(&mut self, arrived: Timestamp, header: &Header, slots: SlotRange, placement: Placement) {
        let (bytes, key_hash) = (header.rpc_bytes, header.key_hash);
        let arrival = Arrival { rpc: header.rpc(), slots, bytes, key_hash, arrived };
        match placement {
            Placement::Shared => self.shared.push_back(arrival),
            Placement::Core(core) => self.own[core.index()].push_back(arrival),
        }
    }

    /// The least loaded core with credit takes the shared head; otherwise the lowest core with work
    /// and credit takes its own.
    fn dispatch(&mut self) -> Option<Dispatch> {
        let bound = self.dispatch_bound();
        let with_credit = |core: &usize| self.outstanding[*core] < bound;
        let cores = 0..self.outstanding.len();
        let (core, queue) = match self.shared.is_empty() {
            false => (cores.filter(with_credit).min_by_key(|&core| self.outstanding[core])?, &mut self.shared),
            true => {
                let core = cores.filter(with_credit).find(|&core| !self.own[core].is_empty())?;
                (core, &mut self.own[core])
            }
        };
        let arrival = queue.pop_front()?;
        self.outstanding[core] += 1;
        let core = CoreId(u16::try_from(core).expect("there are few cores"));
        self.buffer.give(arrival.slots, core);
        self.placer.handle_dispatched(core);
        Some(Dispatch { core, arrival })
    }

    fn free(&mut self, core: CoreId, slots: SlotRange) -> Freed {
        if !self.buffer.free(slots, Holder::Core(core)) {
            self.reach.count("a free was refused");
            return Freed::Refused;
        }
        self.outstanding[core.index()] -= 1;
        self.placer.handle_freed(core);
        Freed::Taken
    }

    fn abandon(&mut self, branch: &'static str, is_over: impl Fn(&Partial, nebula_nic::Span) -> bool) {
        let timeout = self.config.reassembly_timeout;
        let (over, partial) = self.partial.drain(..).partition(|partial| is_over(partial, timeout));
        self.partial = partial;
        for Partial { header, slots, .. } in over as Vec<Partial> {
            self.reach.count(branch);
            assert!(self.buffer.free(slots, Holder::Nic));
            self.abandoned.push_back(Abandoned { rpc: header.rpc(), slots });
        }
    }

    fn remember(&mut self, at: Timestamp, header: &Header) {
        let left = self.packets(header) - 1;
        if left > 0 {
            self.refused.retain(|refused| refused.rpc != header.rpc());
            self.refused.push(Refused { rpc: header.rpc(), left, since: at });
        }
    }

    /// Whether a refused RPC is remembered. One that may have been evicted may be remembered or
    /// not.
    fn recalls(&mut self, at: Timestamp, rpc: RpcKey, real: Option<&Decision>) -> bool {
        let lifetime = self.config.reassembly_timeout;
        let is_known = |refused: &Refused| refused.rpc == rpc && refused.left > 0 && refused.since + lifetime > at;
        let Some(index) = self.refused.iter().position(is_known) else { return false };
        let is_recalled = real == Some(&Decision::Packet(Verdict::Drop { reason: DropReason::AlreadyNacked }));
        let is_newest = index + 1 == self.refused.len();
        assert!(is_recalled || !is_newest, "the RPC refused last is remembered");
        if is_recalled {
            self.reach.count("a refused RPC was recalled");
            self.refused[index].left -= 1;
        } else {
            self.refused[index].left = 0;
        }
        is_recalled
    }
}
