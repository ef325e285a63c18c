//! An observer that notes every RPC of a run, for tests that compare RPC by RPC.

use super::cpu::Central;
use super::demand::Demand;
use super::length::Length;
use super::observed::{Observed, Observer};
use super::one_run::run_behind;
use super::request::Request;
use super::servers::{Ended, Received};
use crate::error::SimError;
use crate::load::Load;
use crate::system::System;
use crate::tally::Tally;
use nebula_nic::{CentralDispatch, Span, Timestamp};
use nebula_workload::Seed;
use std::cell::RefCell;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Noted {
    pub(crate) arrived: u64,
    pub(crate) found: u32,
    pub(crate) begun: u64,
    pub(crate) ended: u64,
}

struct Noting<'a> {
    rpcs: &'a RefCell<Vec<Noted>>,
}

impl Observer for Noting<'_> {
    fn note_received(&mut self, now: Timestamp, _: &Request, received: Received) {
        self.rpcs.borrow_mut().push(Noted { arrived: now.as_ps(), found: received.depth, ..Noted::default() });
    }

    fn note_ended(&mut self, now: Timestamp, ended: &Ended) {
        let noted = &mut self.rpcs.borrow_mut()[usize::try_from(ended.served.number).expect("few RPCs")];
        noted.begun = (ended.served.sent + Span::from_ps(ended.queued_ps)).as_ps();
        noted.ended = now.as_ps();
    }
}

/// Runs an open load without a bound on the machines; returns each RPC by arrival, and the tally.
pub(crate) fn run_noted<D: CentralDispatch>(
    system: &System,
    load: &Load,
    length: Length,
    seed: Seed,
    dispatch: impl Fn(u16, u64) -> D,
) -> Result<(Vec<Noted>, Tally), SimError> {
    let rpcs: RefCell<Vec<Noted>> = RefCell::default();
    let (tally, _) = run_behind(system, Demand { load, length, seed, parts: 0 }, |slots| {
        // A run that restarts with more room restarts its notes.
        rpcs.borrow_mut().clear();
        Ok(Observed::new(Central::try_new(system, slots, seed, &dispatch)?, Noting { rpcs: &rpcs }))
    })?;
    let all = usize::try_from(length.warmup + length.rpcs).expect("few RPCs");
    let mut rpcs = rpcs.into_inner();
    // Those that arrived after the last RPC of the run may not have ended.
    rpcs.truncate(all);
    Ok((rpcs, tally))
}
