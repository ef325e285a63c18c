//! A wrapper around servers that notes every RPC of a run, for tests that compare RPC by RPC.

use super::client::Request;
use super::cpu::Central;
use super::demand::Demand;
use super::length::Length;
use super::one_run::run_behind;
use super::servers::{Ended, Received, Servers};
use crate::error::SimError;
use crate::load::Load;
use crate::system::System;
use crate::tally::Tally;
use nebula_nic::{CentralDispatch, Header, Span, Timestamp};
use nebula_workload::Seed;
use std::cell::RefCell;

/// An RPC as the machines served it. Times are in picoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Noted {
    pub(crate) arrived: u64,
    /// RPCs that it found waiting.
    pub(crate) found: u32,
    pub(crate) begun: u64,
    pub(crate) ended: u64,
}

struct Noting<'a, S> {
    servers: S,
    rpcs: &'a RefCell<Vec<Noted>>,
}

impl<S: Servers> Servers for Noting<'_, S> {
    fn next_ps(&self) -> u64 {
        self.servers.next_ps()
    }

    fn latest(&self) -> Timestamp {
        self.servers.latest()
    }

    fn turn(&mut self, now: Timestamp) -> Option<Ended> {
        let ended = self.servers.turn(now)?;
        let noted = &mut self.rpcs.borrow_mut()[usize::try_from(ended.served.number).expect("few RPCs")];
        noted.begun = (ended.served.sent + Span::from_ps(ended.queued_ps)).as_ps();
        noted.ended = now.as_ps();
        Some(ended)
    }

    fn receive(&mut self, now: Timestamp, server: u16, header: Header, request: &Request) -> Received {
        let received = self.servers.receive(now, server, header, request);
        self.rpcs.borrow_mut().push(Noted { arrived: now.as_ps(), found: received.depth, ..Noted::default() });
        received
    }
}

/// Runs an open load without a bound on the machines; returns each RPC in the order of arrival, and
/// the tally.
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
        Ok(Noting { servers: Central::try_new(system, slots, seed, &dispatch)?, rpcs: &rpcs })
    })?;
    let all = usize::try_from(length.warmup + length.rpcs).expect("few RPCs");
    let mut rpcs = rpcs.into_inner();
    // Those that arrived after the last one of the run may not have ended.
    rpcs.truncate(all);
    Ok((rpcs, tally))
}
