//! Stations 2 to 6, in real time: an engine takes packets from the transport, decides about each,
//! and copies it into the receive region.
//!
//! A packet's header is read once and its payload copied once: later changes have no effect.

use super::neighbors::Neighbors;
use super::payloads::Payloads;
use super::recorder::Recorder;
use crate::rpc::requests::Replies;
use nebula_nic::schedule::RpcType;
use nebula_nic::turn::{Refusal, Refusals};
use nebula_nic::{
    Arrival, Backend, Burst, BurstRpc, CoreId, Header, Missing, NodeId, RpcKey, Run, SLOT_BYTES, SlotRange, Timestamp,
    Verdict,
};

/// RPCs served in a turn: few, so that a queue builds up where it is bounded, not in the rings.
pub(crate) const RPCS_PER_TURN: u32 = 32;
const FRESH_MAX: usize = 64;

/// A transport hands packets to it: the decider with its memory and its decision log.
#[derive(Debug)]
pub(crate) struct Intake {
    /// The back end of a whole server, or of one group.
    pub(crate) backend: Backend,
    /// The manager of a group and the ways to the others.
    pub(crate) neighbors: Option<Box<Neighbors>>,
    pub(crate) payloads: Payloads,
    pub(crate) recorder: Option<Recorder>,
    pub(crate) refusals: Refusals,
    /// RPCs that arrived in this turn, by first slot and length, for the worker's prefetches.
    /// Without capacity if the worker does none.
    fresh: Vec<(u32, u32)>,
}

impl Intake {
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

    /// Begins a turn, and forgets the arrivals of the one before.
    #[inline(always)]
    pub(crate) fn begin_turn(&mut self) {
        self.fresh.clear();
        self.refusals.begin_turn();
    }

    #[inline(always)]
    pub(crate) fn for_each_fresh(&self, mut visit: impl FnMut(&[u8])) {
        for &(start, bytes) in &self.fresh {
            visit(self.payloads.payload(start, bytes));
        }
    }

    #[inline]
    pub(crate) fn may_refuse(&mut self, now: Timestamp, snid: NodeId) -> bool {
        let asks_little = self.refusals.is_used_up() && self.backend.share().is_light(snid);
        self.judge_refusal(now, asks_little)
    }

    /// Whether another RPC may be refused, whichever its source.
    #[inline]
    pub(crate) fn may_refuse_more(&mut self, now: Timestamp) -> bool {
        self.judge_refusal(now, false)
    }

    #[inline]
    fn judge_refusal(&mut self, now: Timestamp, asks_little: bool) -> bool {
        let is_scarce = self.refusals.is_used_up();
        let refusal = self.refusals.judge(now, asks_little);
        if is_scarce && let Some(recorder) = &mut self.recorder {
            recorder.judged(now, &self.refusals, asks_little, refusal);
        }
        refusal == Refusal::Answered
    }

    /// An RPC was refused.
    #[inline]
    pub(crate) fn count_refusal(&mut self, now: Timestamp) {
        if let Some(recorder) = &mut self.recorder {
            recorder.refused(now, &self.refusals);
        }
        self.refusals.count();
    }

    /// Whether an RPC of `snid` would be refused without a NACK, so that reading it is useless.
    #[inline]
    pub(crate) fn turns_away(&mut self, now: Timestamp, snid: NodeId) -> bool {
        !self.may_refuse(now, snid) && self.backend.refuses(now, snid)
    }

    /// Whether nothing that `snid` sends is worth reading. RPCs that have begun lose nothing.
    #[inline]
    pub(crate) fn turns_away_all(&mut self, now: Timestamp, snid: NodeId) -> bool {
        self.refusals.is_used_up() && !self.backend.may_have_begun(snid) && self.turns_away(now, snid)
    }

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

    /// Reports the type of each RPC that has become complete, if the policy distinguishes types.
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

    /// Decides about a burst of the back end's places; returns the part that was taken.
    #[inline(always)]
    pub(crate) fn receive_burst(&mut self, now: Timestamp, burst: &Burst, rpcs: u32) -> Option<Run> {
        let run = self.backend.handle_burst(now, burst, rpcs)?;
        if let Some(recorder) = &mut self.recorder {
            recorder.burst(now, &run, self.backend.rpcs_of(&run));
        }
        Some(run)
    }

    /// As [`receive_burst`](Self::receive_burst), for RPCs that this thread's core serves at once;
    /// `None` if it cannot. Nothing is decided before [`end_at_once`](Self::end_at_once).
    #[inline(always)]
    pub(crate) fn plan_run(&self, now: Timestamp, core: CoreId, burst: &Burst, rpcs: u32) -> Option<Run> {
        self.backend.plan_run(now, core, burst, rpcs)
    }

    /// Places for a burst that `core` may serve at once, and the memory where its payloads go then;
    /// empty memory if it cannot, or while slots are leased.
    #[inline(always)]
    pub(crate) fn burst_places(&mut self, core: CoreId) -> (&mut [BurstRpc], &mut [u8]) {
        let (places, slots) = self.backend.burst_places_for(core);
        let memory = slots.and_then(|slots| self.payloads.unwritten(slots));
        (places, memory.unwrap_or_default())
    }

    /// Copies the payloads of a run from `bytes` into its slots, each from behind `lead` bytes;
    /// `None` while slots are leased.
    #[inline(always)]
    pub(crate) fn copy_payloads(&mut self, run: &Run, mut bytes: &[u8], lead: usize) -> Option<()> {
        let memory = self.payloads.burst(run, 0)?;
        let slots = memory.chunks_exact_mut((run.burst.slots_each * SLOT_BYTES) as usize);
        for (rpc, slots) in self.backend.rpcs_of(run).iter().zip(slots) {
            let (message, behind) = bytes.split_at_checked(lead + rpc.bytes() as usize)?;
            slots[..rpc.bytes() as usize].copy_from_slice(&message[lead..]);
            bytes = behind;
        }
        Some(())
    }

    #[inline(always)]
    pub(crate) fn end_at_once(&mut self, now: Timestamp, core: CoreId, run: &Run) {
        if let Some(recorder) = &mut self.recorder {
            let rpcs = self.backend.rpcs_of(run);
            recorder.burst(now, run, rpcs);
            recorder.run(now, core, run, rpcs);
        }
        self.backend.handle_run_served(core, run);
    }

    pub(crate) fn missing(&self, rpc: RpcKey) -> Option<Missing> {
        self.backend.missing(rpc)
    }

    #[inline(always)]
    pub(crate) fn note_fresh(&mut self, range: SlotRange, rpc_bytes: u32) {
        if self.fresh.len() < self.fresh.capacity() {
            self.fresh.push((range.start.0, rpc_bytes));
        }
    }

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

/// A core that serves a burst at once, if nothing waits before it.
pub(crate) trait AtOnce {
    /// The core, and how many RPCs it may still get in this turn; 0 if other threads serve.
    fn most(&self) -> (CoreId, u32);

    /// Whether more packets may be turned away before the core serves.
    #[inline]
    fn may_turn_away(&mut self, refusals: &Refusals) -> bool {
        refusals.may_turn_away()
    }

    /// Whether it is a core, and not other threads.
    #[inline]
    fn serves(&self) -> bool {
        true
    }

    /// Looks at the clock; 0 if there is none.
    #[inline]
    fn look(&mut self) -> u64 {
        0
    }

    /// The time of the last look at the clock, in picoseconds.
    #[inline]
    fn looked_ps(&self) -> u64 {
        0
    }

    /// So many RPCs of the last run were not served.
    #[inline]
    fn uncount(&mut self, _rpcs: u32) {}

    fn serve<'r>(&mut self, run: &Run, rpcs: &'r [BurstRpc], payloads: &'r [u8], replies: Replies<'r>);
}

/// Other threads serve: every RPC is queued.
pub(crate) struct Others;

impl AtOnce for Others {
    #[inline(always)]
    fn most(&self) -> (CoreId, u32) {
        (CoreId(0), 0)
    }

    fn serves(&self) -> bool {
        false
    }

    fn serve<'r>(&mut self, _: &Run, _: &'r [BurstRpc], _: &'r [u8], _: Replies<'r>) {}
}
