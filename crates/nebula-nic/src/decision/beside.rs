//! The machines beside a back end, by core, as a replay needs them: thieves, and the turns that RPCs take at a core.

use super::{Decision, Input, TurnStep};
use crate::config::BackendConfig;
use crate::core_set::CoreSet;
use crate::dispatch::{JBSQ_BOUND_MAX, Quantum};
use crate::id::CoreId;
use crate::schedule::{Thief, Turns};
use crate::time::Timestamp;
use alloc::vec::Vec;

/// What decides beside the back end of one server.
#[derive(Clone, Debug)]
pub struct Beside {
    thieves: Vec<Thief>,
    /// Of the cores whose RPCs take turns.
    turns: Vec<Option<Turns>>,
}

impl Beside {
    /// Fresh machines for a server of that configuration.
    #[must_use]
    pub fn new(config: &BackendConfig) -> Self {
        let thief = |core| Thief::new(CoreId(core), config.cores, config.seed);
        Self { thieves: (0..config.cores).map(thief).collect(), turns: (0..config.cores).map(|_| None).collect() }
    }

    /// Hands an input to the machine that it is for; its answer, if it has one. The back end's inputs have none here, nor has what
    /// cannot be: a core that does not exist, a queue that is full.
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
