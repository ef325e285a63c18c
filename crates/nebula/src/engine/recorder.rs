//! The decision log: every input of the back end and what it decided, for replay ([`nebula_nic::replay_text`]).
//!
//! For checking that the runtime carries out what the mechanisms decide; it allocates and writes, and costs far more than the decisions.

use crate::worker::Choice;
use nebula_nic::decision::LOG_HEADER;
use nebula_nic::{
    Abandoned, BackendConfig, CoreId, Decision, Dispatch, Freed, Header, Input, LogLine, NodeId, SlotRange, Timestamp,
    Verdict,
};
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;

/// Writes the log, one line an input. Errors of the disk end the log and nothing else.
#[derive(Debug)]
pub(super) struct Recorder {
    out: Option<BufWriter<File>>,
    /// The latest line, to which decisions may still be added.
    pending: Option<LogLine>,
}

impl Recorder {
    pub(super) fn create(path: &Path, config: &BackendConfig) -> std::io::Result<Self> {
        let mut out = BufWriter::new(File::create(path)?);
        writeln!(out, "{LOG_HEADER} {config}")?;
        Ok(Self { out: Some(out), pending: None })
    }

    fn note(&mut self, at: Timestamp, input: Input, decisions: Vec<Decision>) {
        self.write_pending();
        self.pending = Some(LogLine { at, input, decisions });
    }

    fn write_pending(&mut self) {
        if let (Some(line), Some(out)) = (self.pending.take(), &mut self.out)
            && writeln!(out, "{line}").is_err()
        {
            self.out = None;
        }
    }

    fn add(&mut self, decision: Decision) {
        if let Some(line) = &mut self.pending {
            line.decisions.push(decision);
        }
    }

    pub(super) fn packet(&mut self, at: Timestamp, header: Header, verdict: Verdict) {
        self.note(at, Input::Packet(header), vec![Decision::Packet(verdict)]);
    }

    pub(super) fn free(&mut self, at: Timestamp, core: CoreId, slots: SlotRange, outcome: Freed) {
        self.note(at, Input::Free { core, slots }, vec![Decision::Free(outcome)]);
    }

    pub(super) fn timeout(&mut self, at: Timestamp) {
        self.note(at, Input::Timeout, Vec::new());
    }

    pub(super) fn peer_gone(&mut self, at: Timestamp, snid: NodeId) {
        self.note(at, Input::PeerGone(snid), Vec::new());
    }

    pub(super) fn queue_bound(&mut self, at: Timestamp, waiting: u32) {
        self.note(at, Input::QueueBound(waiting), Vec::new());
    }

    pub(super) fn abandoned(&mut self, abandoned: Abandoned) {
        self.add(Decision::Abandoned(abandoned));
    }

    pub(super) fn dispatch(&mut self, dispatch: Dispatch) {
        self.add(Decision::Dispatch(dispatch));
    }

    /// A core has come for the head of the queue and got it.
    pub(super) fn pull(&mut self, at: Timestamp, dispatch: Dispatch) {
        self.note(at, Input::Pull { core: dispatch.core }, vec![Decision::Dispatch(dispatch)]);
    }

    /// What a worker's own machine has decided before `now`.
    pub(super) fn choice(&mut self, now: Timestamp, choice: Choice) {
        self.note(choice.at.unwrap_or(now), choice.input, choice.decision.into_iter().collect());
    }

    /// Hands what is written to the disk. The latest line stays: decisions may still be added to it.
    pub(super) fn flush(&mut self) {
        if let Some(out) = &mut self.out
            && out.flush().is_err()
        {
            self.out = None;
        }
    }
}

impl Drop for Recorder {
    fn drop(&mut self) {
        self.write_pending();
        self.flush();
    }
}
