//! Stations 7 to 10 of a group, in simulated time: its workers serve, and return slots and credit.

use super::group::{Group, Place};
use super::managers::Message;
use super::{Grouped, due};
use crate::tally::Overheads;
use crate::world::cpu::Serving;
use crate::world::servers::Ended;
use nebula_nic::{CentralDispatch, CoreId, Dispatch, Freed, SlotRange, Span, Timestamp};

impl<D: CentralDispatch> Grouped<'_, D> {
    /// The group `number`, before it changes at `now`.
    #[inline(always)]
    pub(super) fn at(&mut self, now: Timestamp, number: usize) -> &mut Group<D> {
        let group = &mut self.groups[number];
        group.published.note(now, group.nic.queue_depth());
        group
    }

    #[inline(always)]
    pub(super) fn turn_cores(&mut self, now: Timestamp) -> Option<Ended> {
        let (_, source) = self.calendar.next()?;
        let Place { group, core } = self.places[source];
        match core {
            Some(core) => Some(self.finish(now, group as usize, usize::from(core))),
            None => {
                self.carry(now, group as usize);
                None
            }
        }
    }

    #[inline(always)]
    pub(super) fn joined(&mut self, now: Timestamp, number: usize) {
        self.hand_out(now, number);
        let group = &self.groups[number];
        if group.nic.queue_depth() > group.manager.threshold() {
            self.wake_managers(now);
        }
    }

    #[inline(always)]
    fn hand_out(&mut self, now: Timestamp, number: usize) {
        while let Some(dispatch) = self.groups[number].nic.poll_dispatch() {
            self.waiting[number / self.groups_each] -= 1;
            if self.costs.dispatch == Span::ZERO && self.costs.decision == Span::ZERO {
                self.deliver(now, number, dispatch);
            } else {
                self.send_dispatch(now, number, dispatch);
            }
        }
    }

    #[cold]
    fn send_dispatch(&mut self, now: Timestamp, number: usize, dispatch: Dispatch) {
        let group = &mut self.groups[number];
        group.dispatcher_free = group.dispatcher_free.max(now) + self.costs.decision;
        group.dispatches.push_back((group.dispatcher_free + self.costs.dispatch, dispatch));
        self.set_wire(number);
    }

    fn set_wire(&mut self, number: usize) {
        let group = &self.groups[number];
        match group.next_on_wire() {
            Some(at) => self.calendar.set(group.wire, at),
            None => self.calendar.clear(group.wire),
        }
    }

    /// Handles messages due at the NIC or a worker; a free before a dispatch of the same time.
    #[cold]
    fn carry(&mut self, now: Timestamp, number: usize) {
        let group = self.at(now, number);
        if let Some((_, core, slots)) = due(&mut group.frees, now, |free| free.0) {
            self.collect_freed(now, number, core, slots);
        } else if let Some((_, dispatch)) = due(&mut group.dispatches, now, |dispatch| dispatch.0) {
            self.deliver(now, number, dispatch);
        }
        self.set_wire(number);
    }

    #[inline(always)]
    fn deliver(&mut self, now: Timestamp, number: usize, dispatch: Dispatch) {
        let core = dispatch.core.index();
        let frontend = &mut self.groups[number].cores[core].frontend;
        frontend.handle_dispatch(dispatch);
        if frontend.in_service() == 0 {
            self.begin(now, number, core);
        }
    }

    #[inline(always)]
    fn begin(&mut self, now: Timestamp, number: usize, core: usize) {
        let Some(begin) = self.groups[number].cores[core].frontend.poll_completion() else { return };
        let (rpc, slots) = (begin.arrival.rpc, begin.arrival.slots);
        let overheads = self.overheads(number, slots);
        let place = self.in_flight_at(number, slots);
        if let Some(speeds) = self.speeds {
            let at_server = (self.groups[number].first + core) % speeds.cores();
            self.in_flight[place].service_ps = speeds.time_ps(at_server, self.in_flight[place].service_ps);
        }
        let service_ps = self.in_flight[place].service_ps;
        let group = &mut self.groups[number];
        let queued_ps = (now - begin.arrival.arrived).as_ps();
        group.cores[core].serving = Serving { rpc, slots, queued_ps, overheads };
        self.calendar.set(group.first + core, now + Span::from_ps(overheads.total_ps() + service_ps));
    }

    #[inline]
    fn overheads(&self, number: usize, slots: SlotRange) -> Overheads {
        let dispatch_ps = self.costs.receive.as_ps();
        if self.options.fetch == Span::ZERO {
            return Overheads { dispatch_ps, ..Overheads::ZERO };
        }
        let Group { id, nic, .. } = &self.groups[number];
        let migration_ps = if nic.origin_of(slots) == Some(*id) { 0 } else { self.options.fetch.as_ps() };
        Overheads { dispatch_ps, migration_ps, ..Overheads::ZERO }
    }

    #[inline(always)]
    fn finish(&mut self, now: Timestamp, number: usize, core: usize) -> Ended {
        self.last = now;
        let Serving { rpc, slots, queued_ps, overheads } = self.groups[number].cores[core].serving;
        let served = self.in_flight[self.in_flight_at(number, slots)];
        let frontend = &mut self.groups[number].cores[core].frontend;
        let release = frontend.handle_release(slots);
        if frontend.outstanding() > 0 {
            self.begin(now, number, core);
        }
        if self.costs.notify == Span::ZERO {
            self.collect_freed(now, number, release.core, slots);
        } else {
            self.send_free(now, number, release.core, slots);
        }
        let group = &self.groups[number];
        let first = group.first;
        if group.cores[core].frontend.in_service() == 0 {
            self.calendar.clear(first + core);
        }
        Ended { rpc, core: Some(first + core), served, queued_ps, overheads }
    }

    #[cold]
    fn send_free(&mut self, now: Timestamp, number: usize, core: CoreId, slots: SlotRange) {
        self.groups[number].frees.push_back((now + self.costs.notify, core, slots));
        self.set_wire(number);
    }

    /// The NIC learns that a core is done; a migrated RPC's slots return to its home group.
    #[inline(always)]
    fn collect_freed(&mut self, now: Timestamp, number: usize, core: CoreId, slots: SlotRange) {
        let group = self.at(now, number);
        if let Freed::Foreign { origin } = group.nic.handle_free(core, slots) {
            let by = group.id;
            self.send(now, number, origin, Message::Return { by, slots });
        }
        self.hand_out(now, number);
    }
}
