//! The machines outside the back end, for a replay: thieves and preemption by core, waiting
//! clients, incomplete requests, the refusals that an engine's time allows, and the pool.

use super::line::{Decision, Input, PoolStep, RefuseStep, TurnStep};
use crate::config::BackendConfig;
use crate::core_set::CoreSet;
use crate::crowding::{self, Crowding};
use crate::dispatch::{JBSQ_BOUND_MAX, Quantum};
use crate::ending::over;
use crate::id::CoreId;
use crate::pool::Pool;
use crate::schedule::thief::Thief;
use crate::schedule::turns::Turns;
use crate::time::Timestamp;
use crate::turn::Refusals;
use alloc::vec::Vec;

/// The machines of one server that decide outside its back end.
#[derive(Clone, Debug)]
pub struct Beside {
    thieves: Vec<Thief>,
    turns: Vec<Option<Turns>>,
    crowding: Crowding,
    refusals: Option<Refusals>,
    pool: Option<Pool>,
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
        }
    }

    /// Applies an input to its machine; returns the decision, if there is one. `None` for the back
    /// end's inputs and for invalid ones: a missing core, a full queue.
    pub fn decide(&mut self, at: Timestamp, input: Input) -> Option<Decision> {
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
            Input::Packet(_)
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
        let pool = self.pool.as_mut()?;
        match step {
            PoolStep::Start(_) => None,
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
