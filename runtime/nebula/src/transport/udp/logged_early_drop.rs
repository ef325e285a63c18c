//! Early drop, and its steps in the decision log, if there is one.

use crate::nic::recorder::Recorder;
use nebula_nic::decision::EarlyStep;
use nebula_nic::early_drop::{DropRule, EarlyDrop};
use nebula_nic::{Decision, Input, NodeId, Timestamp};
use nebula_sys::udp::DROP_RULES_MAX;
use std::net::SocketAddr;

#[expect(clippy::cast_possible_truncation, reason = "32")]
const CLIENTS_MAX: u16 = DROP_RULES_MAX as u16;

type Log = Option<Recorder>;
type Rules<'a> = Option<&'a [DropRule<SocketAddr>]>;

/// An [`EarlyDrop`] whose steps are logged. Its methods are those of early drop.
#[derive(Debug)]
pub(super) struct LoggedEarlyDrop {
    early: EarlyDrop<SocketAddr>,
    has_begun: bool,
    /// The decisions of an end that is not in the log yet: it came as the engine went to sleep.
    ended: Option<Vec<Decision>>,
}

impl LoggedEarlyDrop {
    pub(super) fn new() -> Self {
        Self { early: EarlyDrop::new(CLIENTS_MAX.into()), has_begun: false, ended: None }
    }

    #[inline(always)]
    pub(super) fn is_idle(&self) -> bool {
        self.early.is_idle()
    }

    #[cold]
    pub(super) fn note(
        &mut self,
        now: Timestamp,
        peer: SocketAddr,
        snid: NodeId,
        (came, lost): (u64, u64),
        log: &mut Log,
    ) {
        let lost = lost.min(came);
        self.early.note(now, peer, snid, came, lost);
        if let Some(recorder) = log {
            self.log_what_was(now, recorder);
            let (came, lost) = (in_log(came), in_log(lost));
            recorder.note(now, Input::Early(EarlyStep::Note { peer, snid, came, lost }), Vec::new());
        }
    }

    /// Logs the beginning, and the last end, if they are not in the log yet.
    fn log_what_was(&mut self, now: Timestamp, recorder: &mut Recorder) {
        if !std::mem::replace(&mut self.has_begun, true) {
            recorder.note(now, Input::Early(EarlyStep::Start { clients_max: CLIENTS_MAX }), Vec::new());
        }
        if let Some(decisions) = self.ended.take() {
            recorder.note(now, Input::Early(EarlyStep::End), decisions);
        }
    }

    #[cold]
    pub(super) fn end_turn(&mut self, now: Timestamp, is_idle: bool, log: &mut Log) -> Rules<'_> {
        let rules = self.early.end_turn(now, is_idle);
        if let Some(recorder) = log {
            let decisions = rules.map(Decision::rules).unwrap_or_default();
            recorder.note(now, Input::Early(EarlyStep::EndTurn { is_idle }), decisions);
        }
        rules
    }

    #[cold]
    pub(super) fn end(&mut self) -> Rules<'_> {
        let rules = self.early.end();
        self.ended = Some(rules.map(Decision::rules).unwrap_or_default());
        rules
    }
}

fn in_log(bytes: u64) -> u32 {
    u32::try_from(bytes).unwrap_or(u32::MAX)
}
