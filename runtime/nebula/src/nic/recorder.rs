//! The decision log: the inputs of the back end and its decisions, for replay
//! ([`nebula_nic::replay_text`]). A group's log has its manager's too
//! ([`nebula_nic::decision::replay_group_text`]).
//!
//! It is for checking the runtime: it allocates and writes, and costs far more than decisions.

use crate::config::error::LogError;
use nebula_files::Sealing;
use nebula_nic::decision::{GroupDecision, GroupInput, GroupLine, IDLE_TURNS_MAX, PaceStep, RefuseStep};
use nebula_nic::schedule::{Migration, RpcType, Thresholds};
use nebula_nic::turn::{Refusal, Refusals};
use nebula_nic::{
    Abandoned, Adoption, Arrival, BurstRpc, CoreId, Decision, Dispatch, Freed, GroupId, Header, Input, Kind, NodeId,
    RpcKey, Run, SlotRange, Timestamp, Verdict,
};
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

/// A decision of a worker's own state machines.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Choice {
    /// The time that the machine was given, if any.
    pub(crate) at: Option<Timestamp>,
    pub(crate) input: Input,
    pub(crate) decision: Option<Decision>,
}

pub(crate) type FirstLogError = Arc<OnceLock<LogError>>;

/// Writes the log, one line for each input, and at its end the seal, so that a log that was changed
/// or cut is known. A write error ends the log, and is reported.
#[derive(Debug)]
pub(crate) struct Recorder {
    path: PathBuf,
    out: Option<Sealing<BufWriter<File>>>,
    error: FirstLogError,
    /// The latest line, which may still get decisions.
    pending: Option<GroupLine>,
    /// Whether the log has had refusals.
    has_refused: bool,
}

impl Recorder {
    /// A log that begins with `header`, written at once, so that a full disk is found at the start.
    pub(crate) fn create(path: &Path, header: &str, error: FirstLogError) -> Result<Self, LogError> {
        let begun = File::create(path).and_then(|file| {
            let mut out = Sealing::new("", BufWriter::new(file));
            writeln!(out, "{header}")?;
            out.flush()?;
            Ok(out)
        });
        let out = begun.map_err(|cause| LogError { path: path.to_owned(), cause: Arc::new(cause) })?;
        Ok(Self { path: path.to_owned(), out: Some(out), error, pending: None, has_refused: false })
    }

    pub(crate) fn note(&mut self, at: Timestamp, input: Input, decisions: Vec<Decision>) {
        self.note_of_group(at, GroupInput::Nic(input), decisions.into_iter().map(GroupDecision::Nic).collect());
    }

    fn note_of_group(&mut self, at: Timestamp, input: GroupInput, decisions: Vec<GroupDecision>) {
        self.write_pending();
        self.pending = Some(GroupLine { at, input, decisions });
    }

    fn write_pending(&mut self) {
        if let (Some(line), Some(out)) = (self.pending.take(), &mut self.out) {
            let written = writeln!(out, "{line}");
            self.check(written);
        }
    }

    /// Ends the log after a failed write. Only a server's first error is kept.
    fn check(&mut self, written: std::io::Result<()>) {
        if let Err(cause) = written {
            // Its drop would try the unwritten rest again.
            self.out.take().map(|out| out.into_inner().into_parts());
            let _ = self.error.set(LogError { path: self.path.clone(), cause: Arc::new(cause) });
        }
    }

    fn add(&mut self, decision: Decision) {
        if let Some(line) = &mut self.pending {
            line.decisions.push(GroupDecision::Nic(decision));
        }
    }

    pub(crate) fn packet(&mut self, at: Timestamp, header: Header, verdict: Verdict) {
        self.note(at, Input::Packet(header), vec![Decision::Packet(verdict)]);
    }

    pub(crate) fn burst(&mut self, at: Timestamp, run: &Run, rpcs: &[BurstRpc]) {
        for (index, &rpc) in (0..run.rpcs).zip(rpcs) {
            let Arrival { rpc: RpcKey { snid, tid }, slots, bytes, key_hash, .. } = run.arrival(index, rpc);
            let header = Header { kind: Kind::Request, snid, tid, rpc_bytes: bytes, pkt_idx: 0, key_hash };
            self.packet(at, header, Verdict::Write { slots, offset_bytes: 0, bytes, complete: true });
        }
    }

    pub(crate) fn run(&mut self, at: Timestamp, core: CoreId, run: &Run, rpcs: &[BurstRpc]) {
        for (index, &rpc) in (0..run.rpcs).zip(rpcs) {
            let arrival = run.arrival(index, rpc);
            self.dispatch(Dispatch { core, arrival });
            self.free(at, core, arrival.slots, Freed::Taken);
        }
    }

    pub(crate) fn free(&mut self, at: Timestamp, core: CoreId, slots: SlotRange, outcome: Freed) {
        self.note(at, Input::Free { core, slots }, vec![Decision::Free(outcome)]);
    }

    pub(crate) fn kind(&mut self, at: Timestamp, kind: RpcType) {
        self.note(at, Input::Type(kind), Vec::new());
    }

    pub(crate) fn timeout(&mut self, at: Timestamp) {
        self.note(at, Input::Timeout, Vec::new());
    }

    pub(crate) fn peer_gone(&mut self, at: Timestamp, snid: NodeId) {
        self.note(at, Input::PeerGone(snid), Vec::new());
    }

    pub(crate) fn queue_bound(&mut self, at: Timestamp, waiting: u32) {
        self.note(at, Input::QueueBound(waiting), Vec::new());
    }

    pub(crate) fn abandoned(&mut self, abandoned: Abandoned) {
        self.add(Decision::Abandoned(abandoned));
    }

    pub(crate) fn dispatch(&mut self, dispatch: Dispatch) {
        self.add(Decision::Dispatch(dispatch));
    }

    /// A core took the head of the queue.
    pub(crate) fn pull(&mut self, at: Timestamp, dispatch: Dispatch) {
        self.note(at, Input::Pull { core: dispatch.core }, vec![Decision::Dispatch(dispatch)]);
    }

    /// A machine outside the back end has decided.
    pub(crate) fn outside(&mut self, at: Timestamp, input: Input, decision: Option<Decision>) {
        self.note(at, input, decision.into_iter().collect());
    }

    /// `refusals` has judged a refusal. A silent one like that of the latest line is left out: only
    /// a refusal that is answered can change the next judgment.
    #[cold]
    pub(crate) fn judged(&mut self, at: Timestamp, refusals: &Refusals, asks_little: bool, refusal: Refusal) {
        let input = Input::Refuse(RefuseStep::Judge { asks_little });
        let decision = Decision::Refusal(refusal);
        let is_same = |line: &GroupLine| {
            line.input == GroupInput::Nic(input) && line.decisions.first() == Some(&GroupDecision::Nic(decision))
        };
        if refusal == Refusal::Answered || !self.pending.as_ref().is_some_and(is_same) {
            self.begin_refusals(at, refusals);
            self.outside(at, input, Some(decision));
        }
    }

    /// `refusals` has counted a NACK.
    #[cold]
    pub(crate) fn refused(&mut self, at: Timestamp, refusals: &Refusals) {
        self.begin_refusals(at, refusals);
        self.outside(at, Input::Refuse(RefuseStep::Count), None);
    }

    fn begin_refusals(&mut self, at: Timestamp, refusals: &Refusals) {
        if !std::mem::replace(&mut self.has_refused, true) {
            self.outside(at, Input::Refuse(RefuseStep::Start { each: refusals.each() }), None);
        }
    }

    /// A turn has ended in which the engine found nothing. Such turns in a row make one line.
    #[cold]
    pub(crate) fn idle_turn(&mut self, now: Timestamp) {
        match self.idle_turns() {
            Some((at, turns)) if *turns < IDLE_TURNS_MAX => (*at, *turns) = (now, *turns + 1),
            _ => self.outside(now, Input::Pace(PaceStep::Idle { turns: 1 }), None),
        }
    }

    /// The engine has rested until `now`, which is as if its last idle turn had ended then.
    #[cold]
    pub(crate) fn has_rested(&mut self, now: Timestamp) {
        match self.idle_turns() {
            Some((at, _)) => *at = now,
            None => self.outside(now, Input::Pace(PaceStep::HasRested), None),
        }
    }

    /// The time and the number of the idle turns of the latest line, if it has some.
    fn idle_turns(&mut self) -> Option<(&mut Timestamp, &mut u32)> {
        match &mut self.pending {
            Some(GroupLine { at, input: GroupInput::Nic(Input::Pace(PaceStep::Idle { turns })), .. }) => {
                Some((at, turns))
            }
            _ => None,
        }
    }

    pub(crate) fn choice(&mut self, now: Timestamp, choice: Choice) {
        self.outside(choice.at.unwrap_or(now), choice.input, choice.decision);
    }

    pub(crate) fn thresholds(&mut self, at: Timestamp, thresholds: Thresholds) {
        self.note_of_group(at, GroupInput::Thresholds(thresholds), Vec::new());
    }

    pub(crate) fn manage(
        &mut self,
        at: Timestamp,
        waiting: u32,
        published: Vec<(GroupId, u32)>,
        migrations: &[Migration],
    ) {
        let decisions = migrations.iter().copied().map(GroupDecision::Migrate).collect();
        self.note_of_group(at, GroupInput::Manage { waiting, published }, decisions);
    }

    pub(crate) fn take(&mut self, at: Timestamp, to: GroupId, taken: Option<Arrival>) {
        let decisions = taken.map(GroupDecision::Handed).into_iter().collect();
        self.note_of_group(at, GroupInput::Take { to }, decisions);
    }

    pub(crate) fn adopt(&mut self, at: Timestamp, arrival: Arrival, adoption: Adoption) {
        let decision = match adoption {
            Adoption::Taken => GroupDecision::Adopted,
            Adoption::Refused => GroupDecision::TurnedAway,
        };
        self.note_of_group(at, GroupInput::Adopt(arrival), vec![decision]);
    }

    pub(crate) fn sent_back(&mut self, at: Timestamp, by: GroupId, arrival: Arrival, waits_again: bool) {
        let decisions = waits_again.then_some(GroupDecision::WaitsAgain).into_iter().collect();
        self.note_of_group(at, GroupInput::SentBack { by, arrival }, decisions);
    }

    pub(crate) fn returned(&mut self, at: Timestamp, by: GroupId, slots: SlotRange, outcome: Freed) {
        let decisions = vec![GroupDecision::Nic(Decision::Free(outcome))];
        self.note_of_group(at, GroupInput::Returned { by, slots }, decisions);
    }

    /// Hands the written lines to the disk, except the latest, which may still get decisions.
    pub(crate) fn flush(&mut self) {
        if let Some(out) = &mut self.out {
            let flushed = out.flush();
            self.check(flushed);
        }
    }
}

impl Drop for Recorder {
    fn drop(&mut self) {
        self.write_pending();
        if let Some(out) = self.out.take() {
            let sealed = out.end().map(drop);
            self.check(sealed);
        }
    }
}
