//! Stations 7 to 10, in simulated time: cores are given RPCs, serve them, and give slots and credit back.
//!
//! What is on the way between the NIC and a core takes the same time each way for every core, so it arrives in the order in which it
//! left: two FIFOs. With costs of zero nothing is ever on the way.

use super::World;
use super::server::{InFlight, Serving};
use nebula_nic::{CoreId, Dispatch, SlotRange, Span, Timestamp};
use std::collections::VecDeque;

/// What is on the way between NICs and cores.
#[derive(Debug, Default)]
pub(super) struct Wires {
    dispatches: VecDeque<(Timestamp, usize, Dispatch)>,
    frees: VecDeque<(Timestamp, usize, CoreId, SlotRange)>,
}

impl Wires {
    /// When the next of it arrives.
    #[inline]
    pub(super) fn next_ps(&self) -> u64 {
        let dispatch = self.dispatches.front().map_or(u64::MAX, |(at, ..)| at.as_ps());
        let free = self.frees.front().map_or(u64::MAX, |(at, ..)| at.as_ps());
        dispatch.min(free)
    }
}

/// The head of a FIFO, if it has arrived.
fn due<T>(fifo: &mut VecDeque<T>, now: Timestamp, at: impl Fn(&T) -> Timestamp) -> Option<T> {
    if fifo.front().is_some_and(|head| at(head) <= now) { fifo.pop_front() } else { None }
}

impl World<'_> {
    /// Takes in what has arrived at a NIC or a core.
    #[cold]
    pub(super) fn carry_next(&mut self, now: Timestamp) {
        // A free comes before a dispatch of the same time: the NIC decides with all it can know.
        if let Some((_, server, core, slots)) = due(&mut self.wires.frees, now, |free| free.0) {
            self.collect_freed(now, server, core, slots);
        } else if let Some((_, server, dispatch)) = due(&mut self.wires.dispatches, now, |dispatch| dispatch.0) {
            self.deliver(now, server, dispatch);
        }
    }

    /// The NIC learns that a core is done.
    #[inline]
    fn collect_freed(&mut self, now: Timestamp, index: usize, core: CoreId, slots: SlotRange) {
        self.servers[index].backend.handle_free(now, core, slots);
        self.hand_out(now, index);
    }

    /// Gives out what cores have credit for.
    #[inline]
    pub(super) fn hand_out(&mut self, now: Timestamp, index: usize) {
        while let Some(dispatch) = self.servers[index].backend.poll_dispatch(now) {
            if self.system.costs.dispatch == Span::ZERO {
                self.deliver(now, index, dispatch);
            } else {
                self.wires.dispatches.push_back((now + self.system.costs.dispatch, index, dispatch));
            }
        }
    }

    /// The core's completion queue has one RPC more.
    #[inline]
    fn deliver(&mut self, now: Timestamp, index: usize, dispatch: Dispatch) {
        let core = dispatch.core.index();
        let frontend = &mut self.servers[index].cores[core].frontend;
        frontend.handle_dispatch(now, dispatch);
        if frontend.in_service() == 0 {
            self.begin(now, index, core);
        }
    }

    /// The core begins what is next in its completion queue; whether there was anything.
    #[inline]
    fn begin(&mut self, now: Timestamp, index: usize, core: usize) -> bool {
        let server = &mut self.servers[index];
        let Some(begin) = server.cores[core].frontend.poll_completion(now) else { return false };
        let mut lock_ps = 0;
        if self.system.costs.lock_handoff != Span::ZERO {
            // Cores wait in line for the lock, and each holds it for the hand-off.
            server.lock_free = server.lock_free.max(now) + self.system.costs.lock_handoff;
            lock_ps = (server.lock_free - now).as_ps();
        }
        let service_ps = server.in_flight[begin.arrival.slots.start.0 as usize].service_ps;
        server.cores[core].serving = Serving { arrival: begin.arrival, began: now, lock_ps };
        let end = now + Span::from_ps(lock_ps) + Span::from_ps(service_ps);
        // Beyond its latest time the calendar has no room; arrivals end there, and the run with them.
        self.calendar.set(index * self.cores + core, end.min(self.calendar.latest()));
        true
    }

    /// The core that is done first is done.
    #[inline]
    pub(super) fn finish_next(&mut self) {
        let Some((now, source)) = self.calendar.next() else { return };
        let (index, core) = self.place(source);
        let at_core = &mut self.servers[index].cores[core];
        let serving = at_core.serving;
        let release = at_core.frontend.handle_release(now, serving.arrival.slots);
        self.measure(now, index, &serving);
        self.take_reply(now, serving.arrival.rpc);
        let goes_on = self.begin(now, index, core);
        if self.system.costs.notify == Span::ZERO {
            self.collect_freed(now, index, release.core, release.slots);
        } else {
            self.wires.frees.push_back((now + self.system.costs.notify, index, release.core, release.slots));
        }
        if !goes_on && self.servers[index].cores[core].frontend.in_service() == 0 {
            self.calendar.clear(source);
        }
    }

    #[inline]
    const fn place(&self, source: usize) -> (usize, usize) {
        if self.servers.len() == 1 { (0, source) } else { (source / self.cores, source % self.cores) }
    }

    #[inline]
    fn measure(&mut self, now: Timestamp, index: usize, serving: &Serving) {
        let InFlight { number, sent, service_ps } =
            self.servers[index].in_flight[serving.arrival.slots.start.0 as usize];
        if !self.length.is_measured(number) {
            return;
        }
        self.tally.served += 1;
        self.tally.latency.record((now - sent).as_ps());
        self.tally.queued.record((serving.began - serving.arrival.arrived).as_ps());
        self.tally.busy_ps += u128::from(service_ps);
        self.tally.lock_ps += u128::from(serving.lock_ps);
    }
}
