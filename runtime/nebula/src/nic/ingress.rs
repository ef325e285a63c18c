//! Stations 2 to 6, in real time: packets come in by the transport, are decided about, and copied
//! into the receive region.
//!
//! A packet's header is read once, and its payload is copied once: what its sender changes after
//! that changes nothing here.
//!

use super::neighbors::Neighbors;
use super::payloads::Payloads;
use super::recorder::Recorder;
use super::refusals::Refusals;
use crate::rpc::requests::Replies;
use nebula_nic::schedule::RpcType;
use nebula_nic::{
    Arrival, Backend, Burst, BurstRpc, CoreId, Header, Missing, NodeId, RpcKey, Run, SlotRange, Timestamp, Verdict,
};

/// RPCs served in a turn. A small number, so that a queue builds up in the arrival queue, which is
/// bounded, and not in the rings.
pub(crate) const RPCS_PER_TURN: u32 = 32;
/// Packets turned away in a turn, after which the core serves: some microseconds.
const TURNED_AWAY_PER_TURN: u32 = 64;
/// Arrivals of one turn that are remembered for prefetching.
const FRESH_MAX: usize = 64;

/// What a transport hands packets to: the decider, and the memory and the log of its decisions.
#[derive(Debug)]
pub(crate) struct Intake {
    /// Of a whole server, or of one group of it.
    pub(crate) backend: Backend,
    /// The manager of a group and the ways to the others.
    pub(crate) neighbors: Option<Box<Neighbors>>,
    pub(crate) payloads: Payloads,
    pub(crate) recorder: Option<Recorder>,
    pub(crate) refusals: Refusals,
    /// RPCs that arrived in this turn, by first slot and length: what the worker's prefetches go
    /// through. Without capacity where nobody asks.
    fresh: Vec<(u32, u32)>,
}

impl Intake {
    /// Of a back end and what belongs to it; `notes_fresh` where RPCs that have arrived are asked
    /// for.
    pub(crate) fn new(
        backend: Backend,
        neighbors: Option<Box<Neighbors>>,
        payloads: Payloads,
        recorder: Option<Recorder>,
        refusals: Refusals,
        notes_fresh: bool,
    ) -> Self {
        let fresh = Vec::with_capacity(if notes_fresh { FRESH_MAX } else { 0 });
        Self { backend, neighbors, payloads, recorder, refusals, fresh }
    }

    /// Begins a turn: what arrived before is no news any more.
    #[inline(always)]
    pub(crate) fn begin_turn(&mut self) {
        self.fresh.clear();
        self.refusals.begin_turn();
    }

    /// Calls `visit` with the payload of each RPC that arrived in this turn.
    #[inline(always)]
    pub(crate) fn for_each_fresh(&self, mut visit: impl FnMut(&[u8])) {
        for &(start, bytes) in &self.fresh {
            visit(self.payloads.payload(start, bytes));
        }
    }

    /// Whether an RPC of `snid` may be refused, and its client told.
    #[inline]
    pub(crate) fn may_refuse(&mut self, now: Timestamp, snid: NodeId) -> bool {
        let asks_little = self.refusals.is_used_up() && self.backend.share().is_light(snid);
        self.refusals.has_left(now, asks_little)
    }

    /// Whether an RPC of `snid` would be refused and its client not be told: it is better not
    /// looked at.
    #[inline]
    pub(crate) fn turns_away(&mut self, now: Timestamp, snid: NodeId) -> bool {
        !self.may_refuse(now, snid) && self.backend.refuses(now, snid)
    }

    /// Whether whatever `snid` sends now is better not looked at: what it may send of RPCs that
    /// have begun is not lost by that.
    #[inline]
    pub(crate) fn turns_away_all(&mut self, now: Timestamp, snid: NodeId) -> bool {
        self.refusals.is_used_up() && !self.backend.may_have_begun(snid) && self.turns_away(now, snid)
    }

    /// Has a packet decided about.
    #[inline(always)]
    pub(crate) fn receive(&mut self, now: Timestamp, header: Header) -> Verdict {
        let verdict = self.backend.handle_packet(now, header);
        if let (Some(neighbors), Verdict::Write { complete: true, .. }) = (&mut self.neighbors, verdict) {
            neighbors.handle_arrival(now);
        }
        if let Some(recorder) = &mut self.recorder {
            recorder.packet(now, header, verdict);
        }
        verdict
    }

    /// Tells the type of each RPC that has become whole, where types are told apart.
    #[inline]
    pub(crate) fn sort(&mut self, now: Timestamp, type_of: impl Fn(&[u8]) -> RpcType) {
        while let Some(Arrival { slots, bytes, .. }) = self.backend.untyped() {
            let kind = type_of(self.payloads.payload(slots.start.0, bytes));
            self.backend.handle_type(now, kind);
            if let Some(recorder) = &mut self.recorder {
                recorder.kind(now, kind);
            }
        }
    }

    /// Has a burst decided about, whose sizes were written to the back end's places; what was taken
    /// in of it.
    #[inline(always)]
    pub(crate) fn receive_burst(&mut self, now: Timestamp, burst: &Burst, rpcs: u32) -> Option<Run> {
        let run = self.backend.handle_burst(now, burst, rpcs)?;
        if let Some(recorder) = &mut self.recorder {
            recorder.burst(now, &run, self.backend.rpcs_of(&run));
        }
        Some(run)
    }

    /// As [`receive_burst`](Self::receive_burst), where the core of this thread serves it at once;
    /// `None` where it cannot. Nothing is decided before [`end_at_once`](Self::end_at_once).
    #[inline(always)]
    pub(crate) fn plan_run(&self, now: Timestamp, core: CoreId, burst: &Burst, rpcs: u32) -> Option<Run> {
        self.backend.plan_run(now, core, burst, rpcs)
    }

    /// The run that was planned is served.
    #[inline(always)]
    pub(crate) fn end_at_once(&mut self, now: Timestamp, core: CoreId, run: &Run) {
        if let Some(recorder) = &mut self.recorder {
            let rpcs = self.backend.rpcs_of(run);
            recorder.burst(now, run, rpcs);
            recorder.run(now, core, run, rpcs);
        }
        self.backend.handle_run_served(core, run);
    }

    /// Which packets of an incomplete RPC have arrived.
    pub(crate) fn missing(&self, rpc: RpcKey) -> Option<Missing> {
        self.backend.missing(rpc)
    }

    /// Notes that an RPC is whole.
    #[inline(always)]
    pub(crate) fn note_fresh(&mut self, range: SlotRange, rpc_bytes: u32) {
        if self.fresh.len() < self.fresh.capacity() {
            self.fresh.push((range.start.0, rpc_bytes));
        }
    }

    /// The same of each RPC of a run.
    #[inline(always)]
    pub(crate) fn note_fresh_run(&mut self, run: &Run) {
        if self.fresh.capacity() > 0 {
            for (index, rpc) in (0..).zip(self.backend.rpcs_of(run)) {
                if self.fresh.len() < self.fresh.capacity() {
                    self.fresh.push((run.slots(index).start.0, rpc.bytes()));
                }
            }
        }
    }
}

/// Who serves a burst at once, where nothing waits before it.
pub(crate) trait AtOnce {
    /// The core, and how many RPCs it may still be given in this turn; none where others serve.
    fn most(&self) -> (CoreId, u32);

    /// Whether more may be turned away in this turn, of which `turned_away` were, before those that
    /// wait are served.
    #[inline]
    fn may_turn_away(&self, turned_away: u32) -> bool {
        turned_away < TURNED_AWAY_PER_TURN
    }

    /// Serves a run, which lies in `payloads`.
    fn serve<'r>(&mut self, run: &Run, rpcs: &'r [BurstRpc], payloads: &'r [u8], replies: Replies<'r>);
}

/// Others serve: whatever comes is queued.
pub(crate) struct Others;

impl AtOnce for Others {
    #[inline(always)]
    fn most(&self) -> (CoreId, u32) {
        (CoreId(0), 0)
    }

    fn serve<'r>(&mut self, _: &Run, _: &'r [BurstRpc], _: &'r [u8], _: Replies<'r>) {}
}
