//! The machines outside the back end, for a replay: thieves and preemption by core, waiting
//! clients, incomplete requests, the refusals that an engine's time allows, the pool, and the pace
//! and turns of the engine.

use super::line::{Decision, EarlyStep, Input, LongTurnStep, PaceStep, PoolStep, RefuseStep, TurnStep};
use crate::config::BackendConfig;
use crate::core_set::CoreSet;
use crate::crowding::{self, Crowding};
use crate::dispatch::{JBSQ_BOUND_MAX, Quantum};
use crate::early_drop::EarlyDrop;
use crate::ending::over;
use crate::id::CoreId;
use crate::pool::Pool;
use crate::schedule::thief::Thief;
use crate::schedule::turns::Turns;
use crate::time::Timestamp;
use crate::turn::{LongTurn, Pace, Refusals};
use alloc::vec::Vec;
use core::net::SocketAddr;

/// The machines of one server that decide outside its back end.
#[derive(Clone, Debug)]
pub struct Beside {
    thieves: Vec<Thief>,
    turns: Vec<Option<Turns>>,
    crowding: Crowding,
    refusals: Option<Refusals>,
    pool: Option<Pool>,
    pace: Option<Pace>,
    long_turn: Option<LongTurn>,
    early: Option<EarlyDrop<SocketAddr>>,
}

impl Beside {
    /// New machines for a server of that configuration.
    #[must_use]
    pub fn new(config: &BackendConfig) -> Self {
        let thief = |core| Thief::new(CoreId(core), config.cores, config.seed);
        Self {
            thieves: (0..config.cores).map(thief).collect(),
            turns: (0..config.cores).map(|_| None).collect(),
            crowding: Crowding::new(config.slots, config.rpc_bytes_max),
            refusals: None,
            pool: None,
            pace: None,
            long_turn: None,
            early: None,
        }
    }

    /// Applies an input to its machine; returns the decisions. None for the back end's inputs and
    /// for invalid ones: a missing core, a full queue.
    pub fn decide(&mut self, at: Timestamp, input: Input) -> Vec<Decision> {
        match input {
            Input::Early(step) => self.early(at, step),
            input => self.decide_one(at, input).into_iter().collect(),
        }
    }

    fn decide_one(&mut self, at: Timestamp, input: Input) -> Option<Decision> {
        match input {
            Input::Steal { core, queues } => {
                let victim = self.thieves.get_mut(core.index())?.choose(&CoreSet::of_bits(queues));
                victim.map(Decision::Victim)
            }
            Input::Turn { core, step } => self.turn(at, core, step),
            Input::Over { deadline, is_cancelled, .. } => over(deadline, is_cancelled, || at).map(Decision::nack),
            Input::Crowd { host, bytes, .. } => {
                Some(self.crowding.refusal(host, bytes).map_or(Decision::Fits, Decision::nack))
            }
            Input::Hold { host, slots } => {
                self.crowding.hold(host, slots);
                None
            }
            Input::GiveBack { host, slots } => {
                self.crowding.give_back(host, slots);
                None
            }
            Input::Keep { held, bytes } => Some(crowding::kept(held, bytes).map_or(Decision::Fits, Decision::nack)),
            Input::Refuse(step) => self.refuse(at, step),
            Input::Pool(step) => self.pool(at, step),
            Input::Pace(step) => self.pace(at, step),
            Input::LongTurn(step) => self.long_turn(step),
            Input::Early(_)
            | Input::Packet(_)
            | Input::Free { .. }
            | Input::Type(_)
            | Input::Timeout
            | Input::PeerGone(_)
            | Input::QueueBound(_)
            | Input::Poll
            | Input::Pull { .. } => None,
        }
    }

    fn refuse(&mut self, at: Timestamp, step: RefuseStep) -> Option<Decision> {
        match step {
            RefuseStep::Start { each } => self.refusals = Some(Refusals::new(each)),
            RefuseStep::Judge { asks_little } => {
                return self.refusals.as_mut().map(|refusals| Decision::Refusal(refusals.judge(at, asks_little)));
            }
            RefuseStep::Count => self.refusals.iter_mut().for_each(Refusals::count),
        }
        None
    }

    fn pool(&mut self, at: Timestamp, step: PoolStep) -> Option<Decision> {
        if let PoolStep::Start(config) = step {
            let is_possible = config.sources.is_possible() && config.tenants.are_possible();
            self.pool = is_possible.then(|| Pool::new(config));
            return None;
        }
        if let PoolStep::Over { deadline, is_cancelled } = step {
            return over(deadline, is_cancelled, || at).map(Decision::nack);
        }
        let pool = self.pool.as_mut()?;
        match step {
            PoolStep::Start(_) | PoolStep::Over { .. } => None,
            PoolStep::Judge(client) => {
                let judged = pool.judge(at, client);
                pool.handle_queued(judged);
                Some(judged.into())
            }
            PoolStep::Next => pool.poll_next().map(Decision::from),
            PoolStep::End(took) => {
                pool.handle_end(took);
                None
            }
        }
    }

    fn pace(&mut self, at: Timestamp, step: PaceStep) -> Option<Decision> {
        if let PaceStep::Start(config) = step {
            self.pace = Some(Pace::new(config));
            return None;
        }
        let pace = self.pace.as_mut()?;
        match step {
            PaceStep::Start(_) => {}
            PaceStep::EndTurn { work, served, waiting } => {
                return pace.end_turn(at, work as usize, served as usize, waiting).map(Decision::Bound);
            }
            PaceStep::Idle { turns } => {
                let bounds = (0..turns).filter_map(|_| pace.end_turn(at, 0, 0, 0));
                return bounds.last().map(Decision::Bound);
            }
            PaceStep::EndServing { took, served, most } => {
                pace.end_serving(took, served as usize, most as usize);
                return Some(Decision::together(pace.rpcs_together()));
            }
            PaceStep::EndIngress { turned_away } => pace.end_ingress(at, turned_away),
            PaceStep::LeaveOut => pace.leave_out_turn(),
            PaceStep::Floor { bound } => return pace.set_floor(bound).map(Decision::Bound),
            PaceStep::HasRested => {
                pace.has_rested(at);
            }
            PaceStep::Unfinished => pace.note_unfinished(),
            PaceStep::BesideRefusals { ingress } => {
                return Some(Decision::together(pace.rpcs_beside_refusals(ingress)));
            }
        }
        None
    }

    fn long_turn(&mut self, step: LongTurnStep) -> Option<Decision> {
        match step {
            LongTurnStep::Start { slo } => {
                self.long_turn = Some(LongTurn::new(slo));
                None
            }
            LongTurnStep::End { elapsed } => {
                let turn = self.long_turn.as_mut()?;
                turn.end(elapsed);
                Some(Decision::Serves(turn.serves()))
            }
        }
    }

    fn early(&mut self, at: Timestamp, step: EarlyStep) -> Vec<Decision> {
        if let EarlyStep::Start { clients_max } = step {
            self.early = Some(EarlyDrop::new(clients_max.into()));
            return Vec::new();
        }
        let Some(early) = &mut self.early else { return Vec::new() };
        match step {
            EarlyStep::Start { .. } => Vec::new(),
            EarlyStep::Note { peer, snid, came, lost } => {
                early.note(at, peer, snid, came.into(), lost.min(came).into());
                Vec::new()
            }
            EarlyStep::EndTurn { is_idle } => early.end_turn(at, is_idle).map(Decision::rules).unwrap_or_default(),
            EarlyStep::End => early.end().map(Decision::rules).unwrap_or_default(),
        }
    }

    fn turn(&mut self, at: Timestamp, core: CoreId, step: TurnStep) -> Option<Decision> {
        let place = self.turns.get_mut(core.index())?;
        if let TurnStep::Start { quantum, suspended_max } = step {
            *place = Some(Turns::new(Quantum::try_new(quantum)?, suspended_max));
            return None;
        }
        let turns = place.as_mut()?;
        match step {
            TurnStep::Start { .. } => None,
            TurnStep::Given => {
                if turns.fresh() < JBSQ_BOUND_MAX {
                    turns.handle_dispatch();
                }
                None
            }
            TurnStep::Next => turns.poll_next(at).map(Decision::Turn),
            TurnStep::NextSuspended => turns.poll_suspended(at).map(Decision::Turn),
            TurnStep::Yield => Some(Decision::Yield(turns.handle_yield(at))),
            TurnStep::End => {
                turns.handle_end();
                None
            }
        }
    }
}
