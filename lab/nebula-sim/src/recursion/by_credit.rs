//! Cores with credit for several RPCs: `jbsq:N`, with the policy of `nebula-nic`.
//!
//! An RPC depends on none behind it. It is dispatched when it has arrived, the RPC before it has
//! been dispatched and a core has credit; its begin and end follow from its core's RPC before it.
//! So the only events are returns of credit, one pending per core.

use super::one_queue::{Cores, Taken};
use super::terms::Terms;
use crate::calendar::Calendar;
use nebula_nic::{CentralDispatch, CoreId, Timestamp};

pub(super) struct ByCredit<D> {
    dispatch: D,
    terms: Terms,
    cores: Box<[Core]>,
    /// By core: when the NIC knows of the end of each of its RPCs, the oldest first. A ring of
    /// [`bound`](Self::bound) places each.
    known: Box<[u64]>,
    bound: usize,
    returns: Calendar,
    last_dispatched: u64,
}

#[derive(Clone, Copy, Debug, Default)]
struct Core {
    ended: u64,
    /// The place of the oldest RPC that the NIC counts, and how many it counts.
    oldest: u32,
    outstanding: u32,
}

impl<D: CentralDispatch> ByCredit<D> {
    pub(super) fn new(dispatch: D, cores: u16, terms: Terms) -> Self {
        let (all, bound) = (usize::from(cores), (dispatch.bound() as usize).next_power_of_two());
        Self {
            dispatch,
            terms,
            cores: vec![Core::default(); all].into(),
            known: vec![0; all * bound].into(),
            bound,
            returns: Calendar::new(all),
            last_dispatched: 0,
        }
    }

    /// Takes the next credit that comes back; returns when.
    #[inline(always)]
    #[expect(clippy::cast_possible_truncation, reason = "a bound is small")]
    fn take_credit(&mut self) -> u64 {
        let (now, index) = self.returns.next().expect("a core without credit has RPCs that end");
        let core = &mut self.cores[index];
        core.oldest = (core.oldest + 1) & (self.bound as u32 - 1);
        core.outstanding -= 1;
        if core.outstanding == 0 {
            self.returns.clear(index);
        } else {
            self.returns.set(index, Timestamp::from_ps(self.known[index * self.bound + core.oldest as usize]));
        }
        #[expect(clippy::cast_possible_truncation, reason = "below the number of cores, which is a u16")]
        self.dispatch.handle_freed(CoreId(index as u16));
        now.as_ps()
    }

    #[inline(always)]
    fn pick(&mut self, arrived: u64) -> (CoreId, u64) {
        let mut dispatched = arrived.max(self.last_dispatched);
        // No RPC waits: the credit that is due comes back first.
        while arrived == dispatched && self.returns.next_ps() <= arrived {
            self.take_credit();
        }
        loop {
            match self.dispatch.pick() {
                Some(core) => return (core, dispatched),
                None => dispatched = self.take_credit(),
            }
        }
    }

    #[inline(always)]
    fn give(&mut self, to: CoreId, dispatched: u64, service: u64) -> Taken {
        self.dispatch.handle_dispatched(to);
        let (index, core) = (to.index(), &mut self.cores[to.index()]);
        let begun = dispatched.saturating_add(self.terms.dispatch).max(core.ended);
        let ended = begun.saturating_add(self.terms.receive).saturating_add(service);
        let known = ended.saturating_add(self.terms.notify);
        let place = (core.oldest + core.outstanding) as usize & (self.bound - 1);
        self.known[index * self.bound + place] = known;
        core.ended = ended;
        core.outstanding += 1;
        if core.outstanding == 1 {
            self.returns.set(index, Timestamp::from_ps(known));
        }
        Taken { dispatched, begun, ended }
    }
}

impl<D: CentralDispatch> Cores for ByCredit<D> {
    #[inline(always)]
    fn take(&mut self, arrived: u64, service: u64) -> Taken {
        let (core, dispatched) = self.pick(arrived);
        self.last_dispatched = dispatched;
        self.give(core, dispatched, service)
    }
}
