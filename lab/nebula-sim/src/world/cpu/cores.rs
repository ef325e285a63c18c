//! Stations 8 to 10, in simulated time: cores serve their RPCs, and return slots and credit.
//!
//! Messages have one latency, so each direction is a FIFO, which is empty with costs of zero.

use super::Central;
use super::central_server::{CentralServer, Serving};
use crate::calendar::Calendar;
use crate::system::Costs;
use crate::system::speeds::Speeds;
use crate::tally::overheads::Overheads;
use crate::world::servers::Ended;
use nebula_nic::{CentralDispatch, CoreId, Dispatch, SlotRange, Span, Timestamp};
use std::collections::VecDeque;

#[derive(Debug)]
pub(in crate::world) struct Wires {
    dispatches: VecDeque<(Timestamp, usize, Dispatch)>,
    frees: VecDeque<(Timestamp, usize, CoreId, SlotRange)>,
    pub(super) next_ps: u64,
}

impl Default for Wires {
    fn default() -> Self {
        Self { dispatches: VecDeque::new(), frees: VecDeque::new(), next_ps: u64::MAX }
    }
}

impl Wires {
    #[cold]
    pub(in crate::world) fn send_dispatch(&mut self, at: Timestamp, index: usize, dispatch: Dispatch) {
        // Messages are in order per server, which has one dispatcher, not over all servers.
        let place = match self.dispatches.back() {
            Some(&(last, ..)) if last > at => self.dispatches.partition_point(|&(before, ..)| before <= at),
            _ => self.dispatches.len(),
        };
        self.dispatches.insert(place, (at, index, dispatch));
        self.next_ps = self.next_ps.min(at.as_ps());
    }

    #[cold]
    fn send_free(&mut self, at: Timestamp, index: usize, core: CoreId, slots: SlotRange) {
        self.frees.push_back((at, index, core, slots));
        self.next_ps = self.next_ps.min(at.as_ps());
    }

    fn due<T>(fifo: &mut VecDeque<T>, now: Timestamp, at: impl Fn(&T) -> Timestamp) -> Option<T> {
        if fifo.front().is_some_and(|head| at(head) <= now) { fifo.pop_front() } else { None }
    }

    fn look_ahead(&mut self) {
        let dispatch = self.dispatches.front().map_or(u64::MAX, |(at, ..)| at.as_ps());
        let free = self.frees.front().map_or(u64::MAX, |(at, ..)| at.as_ps());
        self.next_ps = dispatch.min(free);
    }
}

pub(in crate::world) struct Cores<'a, D: CentralDispatch> {
    pub(in crate::world) index: usize,
    first: usize,
    pub(in crate::world) server: &'a mut CentralServer<D>,
    calendar: &'a mut Calendar,
    pub(in crate::world) wires: &'a mut Wires,
    pub(in crate::world) costs: &'a Costs,
    speeds: Option<&'a Speeds>,
}

impl<D: CentralDispatch> Central<'_, D> {
    #[inline(always)]
    pub(super) fn cores(&mut self, index: usize) -> Cores<'_, D> {
        let Self { servers, calendar, wires, costs, speeds, cores_each, .. } = self;
        let first = if index == 0 { 0 } else { index * *cores_each };
        Cores { index, first, server: &mut servers[index], calendar, wires, costs, speeds: *speeds }
    }

    #[cold]
    pub(super) fn carry_next(&mut self, now: Timestamp) {
        // A free comes before a dispatch of the same time: the NIC decides with all information.
        if let Some((_, index, core, slots)) = Wires::due(&mut self.wires.frees, now, |free| free.0) {
            self.cores(index).collect_freed(now, core, slots);
        } else if let Some((_, index, dispatch)) = Wires::due(&mut self.wires.dispatches, now, |dispatch| dispatch.0) {
            self.cores(index).deliver(now, dispatch);
        }
        self.wires.look_ahead();
    }

    #[inline(always)]
    pub(super) fn finish_next(&mut self) -> Option<Ended> {
        let (now, source) = self.calendar.next()?;
        let (index, core) = self.place(source);
        let mut cores = self.cores(index);
        let Serving { rpc, slots, queued_ps, overheads } = cores.server.cores[core].serving;
        let served = *cores.server.in_flight(slots);
        cores.finish(now, core, slots);
        Some(Ended { rpc, core: Some(source), served, queued_ps, overheads })
    }

    #[inline(always)]
    fn place(&self, source: usize) -> (usize, usize) {
        if self.servers.len() == 1 { (0, source) } else { (source / self.cores_each, source % self.cores_each) }
    }
}

impl<D: CentralDispatch> Cores<'_, D> {
    #[inline(always)]
    fn collect_freed(&mut self, now: Timestamp, core: CoreId, slots: SlotRange) {
        self.server.backend.handle_free(core, slots);
        self.hand_out(now);
    }

    #[inline(always)]
    pub(in crate::world) fn begin(&mut self, now: Timestamp, core: usize) {
        let overheads = if self.costs.is_at_core() { self.overheads(now) } else { Overheads::ZERO };
        let at_core = &mut self.server.cores[core];
        let Some(begin) = at_core.frontend.poll_completion() else { return };
        let (rpc, slots) = (begin.arrival.rpc, begin.arrival.slots);
        at_core.serving = Serving { rpc, slots, queued_ps: (now - begin.arrival.arrived).as_ps(), overheads };
        if let Some(speeds) = self.speeds {
            self.server.take_at_speed(speeds, core, slots);
        }
        let end = now + Span::from_ps(overheads.total_ps() + self.server.in_flight(slots).service_ps);
        // An end past the calendar's latest time counts as that; the run ends there too.
        self.calendar.set(self.first + core, end);
    }

    #[cold]
    fn overheads(&mut self, now: Timestamp) -> Overheads {
        let lock_ps = if self.costs.lock_handoff == Span::ZERO { 0 } else { self.wait_for_lock(now) };
        Overheads { dispatch_ps: self.costs.receive.as_ps(), lock_ps, ..Overheads::ZERO }
    }

    /// Cores queue for the software queue's lock, and each holds it for the hand-off.
    #[cold]
    fn wait_for_lock(&mut self, now: Timestamp) -> u64 {
        let server = &mut self.server;
        server.lock_free = server.lock_free.max(now) + self.costs.lock_handoff;
        (server.lock_free - now).as_ps()
    }

    #[inline(always)]
    fn finish(&mut self, now: Timestamp, core: usize, slots: SlotRange) {
        let release = self.server.cores[core].frontend.handle_release(slots);
        if self.server.cores[core].frontend.outstanding() > 0 {
            self.begin(now, core);
        }
        if self.costs.notify == Span::ZERO {
            self.collect_freed(now, release.core, slots);
        } else {
            self.wires.send_free(now + self.costs.notify, self.index, release.core, slots);
        }
        if self.server.cores[core].frontend.in_service() == 0 {
            self.calendar.clear(self.first + core);
        }
    }
}
