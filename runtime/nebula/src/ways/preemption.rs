//! `preemptive:Q`, at the worker: handlers let others run at their safe points.
//!
//! Every RPC runs on its own stack, in a fiber slot. At a safe point the handler calls
//! [`yield_if_due`](crate::yield_if_due). Once its quantum is used, that switches to the worker's
//! own stack. There the worker takes newly dispatched RPCs and asks [`Turns`] for the next RPC: the
//! same one if none waits, or else the first in line. A handler without safe points runs to its
//! end.
//!
//! ```text
//!   worker's stack    pull ─▶ who is next? ─▶ start or resume ─┐        ┌─▶ pull ─▶ who is next? …
//!   RPC's own stack                                            └─ serve ─┘ yield_if_due(), quantum used
//! ```
//!
//! Fiber slots and stacks are created at the start. An RPC in a fiber slot owns its slots of the
//! receive region and keeps its client's ring mapped, even if the client leaves.

use super::core::{Begun, Core};
use super::logged_turns::LoggedTurns;
use crate::config::error::ServeError;
use crate::nic::ingress::RPCS_PER_TURN;
use crate::rpc::fault::Fault;
use crate::rpc::reply::Reply;
use crate::rpc::safe_point;
use crate::rpc::service::Service;
use crate::transport::shm::channel::Channel;
use nebula_nic::schedule::Next;
#[cfg(doc)]
use nebula_nic::schedule::Turns;
use nebula_nic::{Quantum, Timestamp};
use nebula_sys::clock::Clock;
use nebula_sys::fiber::{Fibers, Stacks, State};
use std::cell::RefCell;
use std::sync::Arc;

#[derive(Debug)]
struct Placed {
    begun: Begun,
    channel: Option<Arc<Channel>>,
    began_ps: u64,
}

impl Placed {
    fn parts(&mut self) -> (&[u8], Option<Reply<'_>>) {
        let Begun { arrival, held, .. } = &mut self.begun;
        let reply = match (&mut held.answer, &self.channel) {
            (Some(answer), _) => Some(Reply::buffered(answer)),
            (None, Some(channel)) => Some(Reply::in_ring(channel.slots(), arrival.rpc.tid.0, held.span)),
            (None, None) => None,
        };
        (held.lease.payload(arrival.bytes as usize), reply)
    }
}

/// Borrowed by the handler while it runs or is suspended.
type Place = RefCell<Option<Placed>>;

#[derive(Debug)]
pub(crate) struct Preemption {
    turns: LoggedTurns,
    stacks: Stacks,
    places: Box<[Place]>,
    clock: Clock,
    quantum_ticks: u64,
}

impl Preemption {
    pub(crate) fn try_new(turns: LoggedTurns, quantum: Quantum, stack_bytes: usize) -> Result<Self, ServeError> {
        let clock = Clock::new();
        let places = turns.contexts() as usize;
        Ok(Self {
            turns,
            stacks: Stacks::try_new(places, stack_bytes)?,
            places: (0..places).map(|_| Place::default()).collect(),
            clock,
            // One tick more, so that the quantum is used at that tick however it was rounded.
            quantum_ticks: clock.ticks_of(quantum.span().as_ps()).saturating_add(1),
        })
    }

    /// Serves until the server stops. RPCs suspended then are unwound and not answered.
    pub(crate) fn run(&mut self, core: &mut Core, service: &dyn Service) {
        self.within(core, service, |round| {
            let mut idle_since = None;
            while !round.core.is_stopped() {
                let pass = round.pass(true);
                if pass.served > 0 || pass.is_under_way {
                    idle_since = None;
                } else {
                    round.core.note_rest();
                    round.core.rest(&mut idle_since);
                }
            }
            round.cancel_all();
            round.core.note_end();
        });
        core.finish();
    }

    /// Serves RPCs that are there, at most some, and each to its end.
    pub(crate) fn turn(&mut self, core: &mut Core, service: &dyn Service) -> usize {
        self.within(core, service, |round| {
            let mut served = 0;
            loop {
                let pass = round.pass(served < RPCS_PER_TURN as usize);
                served += pass.served;
                if !pass.is_under_way {
                    return served;
                }
            }
        })
    }

    fn within<R>(
        &mut self,
        core: &mut Core,
        service: &dyn Service,
        run: impl FnOnce(&mut Round<'_, '_, '_>) -> R,
    ) -> R {
        let Self { turns, stacks, places, clock, quantum_ticks } = self;
        let (places, clock, quantum_ticks) = (&**places, *clock, *quantum_ticks);
        stacks.scope(|fibers| run(&mut Round { core, turns, places, fibers, service, clock, quantum_ticks }))
    }
}

struct Round<'r, 'scope, 'env> {
    core: &'r mut Core,
    turns: &'r mut LoggedTurns,
    places: &'env [Place],
    fibers: &'r mut Fibers<'scope, 'env>,
    service: &'env dyn Service,
    clock: Clock,
    quantum_ticks: u64,
}

struct Pass {
    served: usize,
    is_under_way: bool,
}

impl Round<'_, '_, '_> {
    /// Takes dispatched RPCs, then serves until one has used its quantum.
    fn pass(&mut self, may_begin: bool) -> Pass {
        self.core.pull(self.service);
        let mut served = 0;
        while served < RPCS_PER_TURN as usize
            && let Some(state) = self.step(may_begin)
        {
            if state == State::Suspended {
                self.core.note_unfinished();
                break;
            }
            served += 1;
        }
        self.core.settle();
        Pass { served, is_under_way: self.turns.begun() > 0 }
    }

    #[inline]
    fn step(&mut self, may_begin: bool) -> Option<State> {
        self.line_up();
        let ticks = self.clock.ticks();
        let now = Timestamp::from_ps(self.clock.at_ps(ticks));
        self.turns.handle_yield(now);
        let next = if may_begin { self.turns.poll_next(now) } else { self.turns.poll_suspended(now) }?;
        let (Next::Begin { context: fiber } | Next::Resume { context: fiber }) = next;
        let fiber = fiber as usize;
        let due_outside = safe_point::set_due(ticks.saturating_add(self.quantum_ticks));
        let state = match next {
            Next::Begin { .. } => self.begin(fiber, now),
            Next::Resume { .. } => self.fibers.resume(fiber),
        };
        safe_point::set_due(due_outside);
        match state {
            State::Suspended => {}
            State::Ended => self.end(fiber, None),
            State::Panicked => self.end(fiber, Some(Fault::HandlerPanicked)),
        }
        Some(state)
    }

    #[inline]
    fn line_up(&mut self) {
        let given = self.core.completions.frontend.outstanding() - self.core.completions.frontend.in_service();
        for _ in self.turns.fresh()..given {
            self.turns.handle_dispatch();
        }
    }

    fn begin(&mut self, fiber: usize, now: Timestamp) -> State {
        // The caller may have taken it with `wait_for_rpc` meanwhile.
        let Some(begun) = self.core.begin(self.service) else { return State::Ended };
        // With an answer buffer it needs no ring, so the search for one, under a lock, is skipped.
        let channel = match begun.held.answer {
            Some(_) => None,
            None => match self.core.channels.shared(begun.arrival.rpc.snid) {
                None => {
                    self.core.release(begun);
                    return State::Ended;
                }
                found => found,
            },
        };
        let (service, place) = (self.service, &self.places[fiber]);
        place.replace(Some(Placed { begun, channel, began_ps: now.as_ps() }));
        self.fibers.start(fiber, move || serve(place, service))
    }

    /// The RPC in the fiber slot `fiber` has ended: slots and credit go back.
    #[inline]
    fn end(&mut self, fiber: usize, fault: Option<Fault>) {
        self.turns.handle_end();
        if let Some(mut placed) = self.places[fiber].take() {
            if let (Some(fault), (_, Some(mut reply))) = (fault, placed.parts()) {
                reply.fail(fault);
            }
            placed.channel.iter().for_each(|channel| channel.wake_sleeper());
            self.core.note_served(&placed.begun, placed.began_ps);
            self.core.release(placed.begun);
        }
    }

    #[cold]
    fn cancel_all(&mut self) {
        for (fiber, place) in self.places.iter().enumerate() {
            self.fibers.cancel(fiber);
            if let Some(placed) = place.take() {
                self.core.release(placed.begun);
            }
        }
    }
}

fn serve(place: &Place, service: &dyn Service) {
    if let Some(placed) = &mut *place.borrow_mut()
        && let (request, Some(mut reply)) = placed.parts()
    {
        service.serve(request, &mut reply);
        reply.publish();
    }
}
