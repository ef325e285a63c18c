//! The pace of an engine and the lengths of its turns, and their steps in the decision log, if
//! there is one.

use crate::nic::recorder::Recorder;
use nebula_nic::decision::{LongTurnStep, PaceStep};
use nebula_nic::turn::{LongTurn, Pace, PaceConfig};
use nebula_nic::{Decision, Input, Span, Timestamp};
use std::ops::Deref;

type Log = Option<Recorder>;

/// A [`Pace`] whose steps are logged. Its methods are those of the pace.
#[derive(Debug)]
pub(super) struct LoggedPace(Pace);

impl LoggedPace {
    pub(super) fn new(config: PaceConfig, now: Timestamp, log: &mut Log) -> Self {
        note(log, now, PaceStep::Start(config), None);
        Self(Pace::new(config))
    }

    #[inline(always)]
    pub(super) fn end_turn(
        &mut self,
        now: Timestamp,
        (work, served): (usize, usize),
        waiting: u32,
        log: &mut Log,
    ) -> Option<u32> {
        let bound = self.0.end_turn(now, work, served, waiting);
        if let Some(recorder) = log {
            note_turn(recorder, now, (work, served), waiting, bound);
        }
        bound
    }

    #[inline]
    pub(super) fn end_serving(&mut self, now: Timestamp, took: Span, (served, most): (usize, usize), log: &mut Log) {
        self.0.end_serving(took, served, most);
        if let Some(recorder) = log {
            let step = PaceStep::EndServing { took, served: in_log(served), most: in_log(most) };
            recorder.outside(now, Input::Pace(step), Some(Decision::together(self.0.rpcs_together())));
        }
    }

    #[cold]
    pub(super) fn end_ingress(&mut self, now: Timestamp, turned_away: u32, log: &mut Log) {
        note(log, now, PaceStep::EndIngress { turned_away }, None);
        self.0.end_ingress(now, turned_away);
    }

    #[cold]
    pub(super) fn leave_out_turn(&mut self, now: Timestamp, log: &mut Log) {
        note(log, now, PaceStep::LeaveOut, None);
        self.0.leave_out_turn();
    }

    #[cold]
    pub(super) fn set_floor(&mut self, now: Timestamp, bound: u32, log: &mut Log) -> Option<u32> {
        let raised = self.0.set_floor(bound);
        note(log, now, PaceStep::Floor { bound }, raised.map(Decision::Bound));
        raised
    }

    pub(super) fn has_rested(&mut self, now: Timestamp, log: &mut Log) {
        let has_moved = self.0.has_rested(now);
        if has_moved && let Some(recorder) = log {
            recorder.has_rested(now);
        }
    }

    pub(super) fn note_unfinished(&mut self, now: Timestamp, log: &mut Log) {
        note(log, now, PaceStep::Unfinished, None);
        self.0.note_unfinished();
    }

    #[cold]
    pub(super) fn rpcs_beside_refusals(&self, now: Timestamp, ingress: Span, log: &mut Log) -> usize {
        let rpcs = self.0.rpcs_beside_refusals(ingress);
        note(log, now, PaceStep::BesideRefusals { ingress }, Some(Decision::together(rpcs)));
        rpcs
    }

    /// The part of a pace that decides nothing: see [`Pace::explained`].
    #[inline(always)]
    pub(super) fn explained(&mut self) -> Span {
        self.0.explained()
    }
}

impl Deref for LoggedPace {
    type Target = Pace;

    #[inline(always)]
    fn deref(&self) -> &Pace {
        &self.0
    }
}

fn note(log: &mut Log, now: Timestamp, step: PaceStep, decision: Option<Decision>) {
    if let Some(recorder) = log {
        recorder.outside(now, Input::Pace(step), decision);
    }
}

#[cold]
fn note_turn(
    recorder: &mut Recorder,
    now: Timestamp,
    (work, served): (usize, usize),
    waiting: u32,
    bound: Option<u32>,
) {
    if work == 0 && waiting == 0 && bound.is_none() {
        return recorder.idle_turn(now);
    }
    let step = PaceStep::EndTurn { work: in_log(work), served: in_log(served), waiting };
    recorder.outside(now, Input::Pace(step), bound.map(Decision::Bound));
}

fn in_log(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}

pub(super) fn begin_long_turns(slo: Span, now: Timestamp, log: &mut Log) -> LongTurn {
    if let Some(recorder) = log {
        recorder.outside(now, Input::LongTurn(LongTurnStep::Start { slo }), None);
    }
    LongTurn::new(slo)
}

/// Ends a turn, and logs it if it changes how long the next may serve.
pub(super) fn end_long_turn(turn: &mut LongTurn, now: Timestamp, elapsed: Option<Span>, log: &mut Log) {
    let Some(recorder) = log else { return turn.end(elapsed) };
    let before = turn.clone();
    turn.end(elapsed);
    if *turn != before {
        let decision = Some(Decision::Serves(turn.serves()));
        recorder.outside(now, Input::LongTurn(LongTurnStep::End { elapsed }), decision);
    }
}
