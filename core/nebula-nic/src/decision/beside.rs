//! The machines outside the back end, by core, for a replay: thieves and preemption.

use super::line::{Decision, Input, TurnStep};
use crate::config::BackendConfig;
use crate::core_set::CoreSet;
use crate::dispatch::{JBSQ_BOUND_MAX, Quantum};
use crate::id::CoreId;
use crate::schedule::thief::Thief;
use crate::schedule::turns::Turns;
use crate::time::Timestamp;
use alloc::vec::Vec;

/// The machines of one server that decide outside its back end.
#[derive(Clone, Debug)]
pub struct Beside {
    thieves: Vec<Thief>,
    turns: Vec<Option<Turns>>,
}

impl Beside {
    /// New machines for a server of that configuration.
    #[must_use]
    pub fn new(config: &BackendConfig) -> Self {
        let thief = |core| Thief::new(CoreId(core), config.cores, config.seed);
        Self { thieves: (0..config.cores).map(thief).collect(), turns: (0..config.cores).map(|_| None).collect() }
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
            _ => None,
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
