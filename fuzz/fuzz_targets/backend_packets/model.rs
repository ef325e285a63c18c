//! A second back end, slow and simple: lists that are searched linearly.

use nebula_nic::{
    Abandoned, Arrival, Backend, BackendConfig, CoreId, Dispatch, DropReason, Freed, Header, Kind, NackReason, NodeId,
    Policy, RpcKey, ScrubMode, SlotRange, Span, Timestamp, Verdict,
};

struct Incomplete {
    rpc: RpcKey,
    slots: SlotRange,
    bytes: u32,
    /// From the first packet; others are ignored.
    key_hash: u32,
    has: Vec<bool>,
    since: Timestamp,
}

/// A back end, and its state as seen from outside.
pub struct Model {
    real: Backend,
    config: BackendConfig,
    now: Timestamp,
    queue_bound: u32,
    /// In the order of their first packets.
    incomplete: Vec<Incomplete>,
    /// In the order in which they became complete.
    waiting: Vec<Arrival>,
    held: Vec<(CoreId, SlotRange)>,
    outstanding: Vec<u32>,
    nacked: Vec<RpcKey>,
}

impl Model {
    pub fn new(real: Backend) -> Self {
        let config = *real.config();
        Self {
            real,
            config,
            now: Timestamp::ZERO,
            queue_bound: config.queue_bound,
            incomplete: Vec::new(),
            waiting: Vec::new(),
            held: Vec::new(),
            outstanding: vec![0; usize::from(config.cores)],
            nacked: Vec::new(),
        }
    }

    pub fn packet(&mut self, header: Header) {
        match self.real.handle_packet(self.now, header) {
            Verdict::Write { slots, offset_bytes, bytes, complete } => {
                let mtu = self.config.mtu.bytes();
                assert_eq!(header.kind, Kind::Request);
                assert_eq!(offset_bytes, header.pkt_idx * mtu);
                assert_eq!(bytes, (header.rpc_bytes - offset_bytes).min(mtu));
                assert_eq!(slots.slots, header.rpc_bytes.div_ceil(64).max(1));
                match self.place_of(&header) {
                    Some(place) => self.later_packet(place, &header, slots, complete),
                    None => self.first_packet(&header, slots, complete),
                }
            }
            Verdict::Nack { reason } => self.nack(&header, reason),
            Verdict::Drop { reason } => self.check_drop(&header, reason),
        }
    }

    /// The index of a packet's RPC among the incomplete ones, which an RPC of a single packet never
    /// joins.
    fn place_of(&self, header: &Header) -> Option<usize> {
        let is_one_packet = header.rpc_bytes <= self.config.mtu.bytes().min(self.config.rpc_bytes_max);
        if is_one_packet { None } else { self.incomplete.iter().position(|rpc| rpc.rpc == header.rpc()) }
    }

    fn first_packet(&mut self, header: &Header, slots: SlotRange, complete: bool) {
        let packets = header.rpc_bytes.div_ceil(self.config.mtu.bytes()).max(1);
        assert!(header.pkt_idx < packets && header.rpc_bytes <= self.config.rpc_bytes_max);
        assert!(u64::from(slots.start.0) + u64::from(slots.slots) <= u64::from(self.config.slots));
        assert!(self.live().all(|live| !overlap(live, slots)), "{slots:?} is live already");
        assert_eq!(complete, packets == 1);
        if complete {
            self.whole(header.rpc(), slots, header.rpc_bytes, header.key_hash);
            return;
        }
        assert!(self.incomplete.len() < self.config.reassembler_entries as usize);
        let has = (0..packets).map(|idx| idx == header.pkt_idx).collect();
        let Header { rpc_bytes: bytes, key_hash, .. } = *header;
        self.incomplete.push(Incomplete { rpc: header.rpc(), slots, bytes, key_hash, has, since: self.now });
    }

    fn later_packet(&mut self, place: usize, header: &Header, slots: SlotRange, complete: bool) {
        let rpc = &mut self.incomplete[place];
        assert_eq!((rpc.slots, rpc.bytes), (slots, header.rpc_bytes));
        let has = &mut rpc.has[header.pkt_idx as usize];
        assert!(!*has, "a packet was written twice");
        *has = true;
        assert_eq!(complete, rpc.has.iter().all(|&has| has));
        if complete {
            let Incomplete { rpc, slots, bytes, key_hash, .. } = self.incomplete.remove(place);
            self.whole(rpc, slots, bytes, key_hash);
        }
    }

    fn whole(&mut self, rpc: RpcKey, slots: SlotRange, bytes: u32, key_hash: u32) {
        self.waiting.push(Arrival { rpc, slots, bytes, key_hash, arrived: self.now });
    }

    fn nack(&mut self, header: &Header, reason: NackReason) {
        assert_eq!(self.place_of(header), None, "an admitted RPC is not refused");
        let incomplete = self.incomplete.len() as u32;
        let waiting = self.waiting.len() as u32;
        match reason {
            NackReason::TooLarge => assert!(header.rpc_bytes > self.config.rpc_bytes_max),
            NackReason::ReassemblerFull => assert_eq!(incomplete, self.config.reassembler_entries),
            NackReason::QueueBound => {
                let cores = if self.is_shared() { 1 } else { u32::from(self.config.cores) };
                assert!(waiting >= self.queue_bound.div_ceil(cores));
            }
            NackReason::BufferFull if self.config.scrub == ScrubMode::OnFull => {
                let run = self.free_run_max();
                assert!(run < header.rpc_bytes.div_ceil(64).max(1), "there is a free run of {run} slots");
            }
            _ => {}
        }
        self.nacked.push(header.rpc());
    }

    fn check_drop(&self, header: &Header, reason: DropReason) {
        let live = self.place_of(header).map(|place| &self.incomplete[place]);
        let packets = header.rpc_bytes.div_ceil(self.config.mtu.bytes()).max(1);
        let is_right = match reason {
            DropReason::Duplicate => live.is_some_and(|rpc| rpc.has[header.pkt_idx as usize]),
            DropReason::SizeMismatch => live.is_some_and(|rpc| rpc.bytes != header.rpc_bytes),
            DropReason::IndexOutOfRange => header.pkt_idx >= packets,
            DropReason::NotARequest => header.kind != Kind::Request,
            DropReason::AlreadyNacked => live.is_none() && self.nacked.contains(&header.rpc()),
        };
        assert!(is_right, "{header:?} was dropped for {reason}");
    }

    pub fn free_held(&mut self, which: usize) {
        if let Some(which) = which.checked_rem(self.held.len()) {
            let (core, slots) = self.held[which];
            self.free(core, slots);
        }
    }

    pub fn free(&mut self, core: CoreId, slots: SlotRange) {
        let held = self.held.iter().position(|&held| held == (core, slots));
        let expected = if held.is_some() { Freed::Taken } else { Freed::Refused };
        assert_eq!(self.real.handle_free(core, slots), expected, "{slots:?} by {core:?}");
        if let Some(place) = held {
            self.held.remove(place);
            self.outstanding[core.index()] -= 1;
        }
    }

    pub fn wait(&mut self, span: Span) {
        self.now = self.now + span;
        self.real.handle_timeout(self.now);
        let (now, timeout) = (self.now, self.config.reassembly_timeout);
        self.abandon(|rpc| rpc.since + timeout <= now);
    }

    pub fn peer_gone(&mut self, snid: NodeId) {
        self.real.handle_peer_gone(snid);
        self.abandon(|rpc| rpc.rpc.snid == snid);
        self.nacked.retain(|rpc| rpc.snid != snid);
    }

    fn abandon(&mut self, is_abandoned: impl Fn(&Incomplete) -> bool) {
        for rpc in self.incomplete.extract_if(.., |rpc| is_abandoned(rpc)) {
            let (rpc, slots) = (rpc.rpc, rpc.slots);
            assert_eq!(self.real.poll_abandoned(), Some(Abandoned { rpc, slots }));
        }
        assert_eq!(self.real.poll_abandoned(), None);
    }

    pub fn set_queue_bound(&mut self, waiting: u32) {
        self.real.set_queue_bound(waiting);
        // A bound beyond the queue's capacity is reduced: incomplete RPCs, and the rounding up of a
        // core's share, need places too.
        let Self { config, queue_bound, .. } = self;
        let more = config.reassembler_entries + u32::from(config.cores);
        let has_all_places = config.queue_capacity >= config.slots;
        *queue_bound = if has_all_places { waiting } else { waiting.min(config.queue_capacity.saturating_sub(more)) };
    }

    pub fn drain(&mut self) {
        while let Some(Dispatch { core, arrival }) = self.real.poll_dispatch() {
            let place =
                self.waiting.iter().position(|waiting| *waiting == arrival).expect("it became complete, and waits");
            assert!(place == 0 || !self.is_shared(), "the head of the queue goes first");
            self.waiting.remove(place);
            self.held.push((core, arrival.slots));
            self.outstanding[core.index()] += 1;
            assert!(self.outstanding[core.index()] <= self.bound(), "{core:?} has more than its bound");
        }
        let has_credit = self.outstanding.iter().any(|&outstanding| outstanding < self.bound());
        assert!(self.waiting.is_empty() || !self.is_shared() || !has_credit, "a core with credit has no work");
    }

    pub fn check(&self) {
        assert_eq!(self.real.slots_used(), self.live().map(|slots| slots.slots).sum::<u32>());
        assert_eq!(self.real.slots_used() + self.real.slots_free(), self.config.slots);
        assert_eq!(self.real.queue_depth() as usize, self.waiting.len());
        assert_eq!(self.real.incomplete() as usize, self.incomplete.len());
        let oldest = self.incomplete.first().map(|rpc| rpc.since + self.config.reassembly_timeout);
        assert_eq!(self.real.poll_timeout(), oldest);
        for (core, &outstanding) in (0..self.config.cores).zip(&self.outstanding) {
            assert_eq!(self.real.outstanding(CoreId(core)), outstanding);
        }
    }

    fn live(&self) -> impl Iterator<Item = SlotRange> {
        let incomplete = self.incomplete.iter().map(|rpc| rpc.slots);
        incomplete.chain(self.waiting.iter().map(|rpc| rpc.slots)).chain(self.held.iter().map(|&(_, slots)| slots))
    }

    fn free_run_max(&self) -> u32 {
        let mut run = 0;
        let mut longest = 0;
        for slot in 0..self.config.slots {
            let is_free = self.live().all(|live| !(live.start.0..live.start.0 + live.slots).contains(&slot));
            run = if is_free { run + 1 } else { 0 };
            longest = longest.max(run);
        }
        longest
    }

    fn is_shared(&self) -> bool {
        matches!(self.config.policy, Policy::SingleQueue | Policy::Jbsq(_))
    }

    fn bound(&self) -> u32 {
        match self.config.policy {
            Policy::Jbsq(bound) => bound,
            Policy::SingleQueue => 1,
            _ => nebula_nic::PER_CORE_BOUND,
        }
    }
}

fn overlap(a: SlotRange, b: SlotRange) -> bool {
    a.start.0 < b.start.0 + b.slots && b.start.0 < a.start.0 + a.slots
}
