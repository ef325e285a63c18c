//! One server: RPCs arrive, are dispatched to cores, are preempted, and end.

use super::Agenda;
use super::chooser::Chooser;
use super::core::{Core, Next, Phase};
use super::dispatcher::Dispatcher;
use super::rpc::Rpc;
use super::terms::Terms;
use crate::slab::Slab;
use crate::system::System;
use crate::tally::overheads::Overheads;
use crate::world::client::Request;
use crate::world::servers::{Ended, Received};
use nebula_nic::schedule::{RpcType, TypedQueues};
use nebula_nic::{Admission, CoreId, CoreSet, Header, NackReason, SlotRange, Span, Timestamp, Verdict};
use std::collections::VecDeque;

pub(super) struct ScheduledServer<C> {
    admission: Admission,
    rpcs: Slab<Rpc>,
    rpcs_max: u32,
    queues: TypedQueues<u32>,
    chooser: C,
    cores: Box<[Core]>,
    /// Cores whose RPC has used its quantum while no other RPC waited.
    overdue: CoreSet,
    /// Interrupts in flight that will return an RPC to the queue and free a core.
    interrupts: u32,
    dispatcher: Dispatcher,
    deliveries: VecDeque<(Timestamp, CoreId, u32)>,
    notices: VecDeque<(Timestamp, Notice)>,
}

#[derive(Clone, Copy, Debug)]
struct Notice {
    core: CoreId,
    /// The RPC that returns to the queue.
    back: Option<u32>,
}

impl<C: Chooser> ScheduledServer<C> {
    pub(super) fn new(terms: &Terms, system: &System, slots: u32, chooser: C) -> Self {
        let bound = system.queue_bound.unwrap_or(u32::MAX);
        Self {
            admission: Admission::new(bound, bound, terms.workers),
            rpcs: Slab::default(),
            rpcs_max: slots,
            queues: TypedQueues::new(terms.types, slots),
            chooser,
            cores: (0..terms.workers).map(|_| Core::new(terms)).collect(),
            overdue: CoreSet::empty(terms.workers),
            interrupts: 0,
            dispatcher: Dispatcher::default(),
            deliveries: VecDeque::new(),
            notices: VecDeque::new(),
        }
    }

    #[inline]
    pub(super) fn receive(
        &mut self,
        now: Timestamp,
        header: Header,
        request: &Request,
        agenda: &mut Agenda<'_>,
    ) -> Received {
        let depth = self.queues.waiting();
        let verdict = match self.admission.refusal_behind(depth) {
            Some(reason) => Verdict::Nack { reason },
            None => self.admit(now, header, request, agenda.terms),
        };
        self.settle(now, agenda);
        Received { depth, verdict }
    }

    fn admit(&mut self, now: Timestamp, header: Header, request: &Request, terms: &Terms) -> Verdict {
        let kind = RpcType(if terms.types == 1 { 0 } else { request.kind.0 });
        let rpc = Rpc {
            key: header.rpc(),
            kind,
            known: request.into(),
            arrived: now,
            remaining_ps: request.service_ps,
            queued_ps: None,
            overheads: Overheads::ZERO,
        };
        match self.rpcs.insert_within(self.rpcs_max, rpc) {
            Some(place) if self.queues.push(kind, place, now) => {
                Verdict::Write { slots: SlotRange::new(place, 1), offset_bytes: 0, bytes: 64, complete: true }
            }
            _ => Verdict::Nack { reason: NackReason::BufferFull },
        }
    }

    #[inline]
    pub(super) fn turn(&mut self, now: Timestamp, source: usize, agenda: &mut Agenda<'_>) -> Option<Ended> {
        let terms = agenda.terms;
        let ended = if source < self.cores.len() {
            self.turn_core(now, source, agenda)
        } else if source == terms.deliveries() {
            self.deliver_next(now, agenda)
        } else if source == terms.notices() {
            self.take_next_notice(agenda)
        } else {
            self.finish_at_dispatcher(agenda)
        };
        self.settle(now, agenda);
        ended
    }

    /// Dispatches, begins and interrupts as long as any is possible.
    #[inline]
    fn settle(&mut self, now: Timestamp, agenda: &mut Agenda<'_>) {
        loop {
            while let Some((core, kind)) = self.chooser.choose(now, &self.queues) {
                self.give_out(now, core, kind, agenda);
            }
            if self.queues.waiting() == 0 || agenda.terms.stays_at_core {
                return;
            }
            if agenda.terms.dispatcher_serves && !self.dispatcher.is_serving() {
                self.serve_at_dispatcher(now, agenda);
            }
            match self.overdue.first() {
                Some(core) if self.queues.waiting() > self.interrupts => self.interrupt(now, core.index(), agenda),
                _ => return,
            }
        }
    }

    // -- to the cores --

    #[inline]
    fn give_out(&mut self, now: Timestamp, core: CoreId, kind: RpcType, agenda: &mut Agenda<'_>) {
        let Some(head) = self.queues.pop(kind) else { return };
        self.chooser.handle_dispatched(core);
        let at = self.act(now, agenda.terms.decision, agenda) + agenda.terms.dispatch;
        if at == now {
            return self.deliver(now, core.index(), head.rpc, agenda);
        }
        self.deliveries.push_back((at, core, head.rpc));
        agenda.set(agenda.terms.deliveries(), self.deliveries.front().map(|first| first.0));
    }

    fn act(&mut self, now: Timestamp, span: Span, agenda: &mut Agenda<'_>) -> Timestamp {
        let done = self.dispatcher.act(now, span);
        if self.dispatcher.is_serving() {
            agenda.set(agenda.terms.dispatcher(), self.dispatcher.end());
        }
        done
    }

    fn deliver_next(&mut self, now: Timestamp, agenda: &mut Agenda<'_>) -> Option<Ended> {
        let (_, core, rpc) = self.deliveries.pop_front()?;
        agenda.set(agenda.terms.deliveries(), self.deliveries.front().map(|first| first.0));
        self.deliver(now, core.index(), rpc, agenda);
        None
    }

    #[inline]
    fn deliver(&mut self, now: Timestamp, core: usize, rpc: u32, agenda: &mut Agenda<'_>) {
        self.cores[core].rpcs.push_back(rpc);
        if self.cores[core].phase == Phase::Idle {
            self.begin(now, core, agenda);
        } else if self.overdue.contains(core_id(core)) {
            self.interrupt(now, core, agenda);
        }
    }

    #[inline]
    fn begin(&mut self, now: Timestamp, core: usize, agenda: &mut Agenda<'_>) {
        let terms = agenda.terms;
        let Some(&place) = self.cores[core].rpcs.front() else {
            self.cores[core].rest();
            return agenda.set(core, None);
        };
        let rpc = self.rpcs.at_mut(place);
        let mut since = now;
        if rpc.queued_ps.is_none() {
            let queued = now - rpc.arrived;
            rpc.queued_ps = Some(queued.as_ps());
            rpc.overheads.dispatch_ps = terms.receive.as_ps();
            since += terms.receive;
            self.chooser.handle_begun(rpc.kind, queued);
        }
        self.cores[core].serve(since, rpc.remaining_ps, terms);
        agenda.set(core, self.cores[core].next_at());
    }

    // -- at the cores --

    #[inline]
    fn turn_core(&mut self, now: Timestamp, core: usize, agenda: &mut Agenda<'_>) -> Option<Ended> {
        match self.cores[core].next(now) {
            Next::End => return self.finish(now, core, agenda),
            Next::Interrupt => self.suspend(now, core, agenda),
            Next::Due => self.judge(now, core, agenda),
            Next::Left => self.leave(now, core, agenda),
        }
        None
    }

    fn judge(&mut self, now: Timestamp, core: usize, agenda: &mut Agenda<'_>) {
        let Some(turns) = agenda.terms.turns else { return };
        let at_core = &mut self.cores[core];
        at_core.note_due();
        let waits_elsewhere = !agenda.terms.stays_at_core && self.queues.waiting() > self.interrupts;
        if turns.suspends(at_core.used(now), at_core.rpcs.len() > 1 || waits_elsewhere) {
            return self.interrupt(now, core, agenda);
        }
        self.overdue.insert(core_id(core));
        agenda.set(core, self.cores[core].next_at());
    }

    fn interrupt(&mut self, now: Timestamp, core: usize, agenda: &mut Agenda<'_>) {
        let terms = agenda.terms;
        self.overdue.remove(core_id(core));
        let mut at = now;
        if !terms.stays_at_core {
            self.interrupts += 1;
            at = self.act(now, terms.send, agenda);
        }
        let at_core = &mut self.cores[core];
        at = terms.safe_point(at_core.since, at);
        at_core.interrupt_at(at);
        if at == now {
            return self.suspend(now, core, agenda);
        }
        agenda.set(core, at_core.next_at());
    }

    /// Suspends the RPC in service, which keeps its remaining service time.
    fn suspend(&mut self, now: Timestamp, core: usize, agenda: &mut Agenda<'_>) {
        let terms = agenda.terms;
        let at_core = &mut self.cores[core];
        if let Some(&place) = at_core.rpcs.front() {
            let rpc = self.rpcs.at_mut(place);
            let used = at_core.used(now);
            let done_ps = terms.service_in(used).min(rpc.remaining_ps);
            rpc.remaining_ps -= done_ps;
            rpc.overheads.preemption_ps += used.as_ps() - done_ps + terms.suspend.as_ps();
        }
        if terms.suspend == Span::ZERO {
            return self.leave(now, core, agenda);
        }
        at_core.leave_until(now + terms.suspend);
        agenda.set(core, at_core.next_at());
    }

    /// The RPC goes behind the others of its core, or back to the queue.
    fn leave(&mut self, now: Timestamp, core: usize, agenda: &mut Agenda<'_>) {
        let rpcs = &mut self.cores[core].rpcs;
        if agenda.terms.stays_at_core {
            rpcs.rotate_left(1);
            return self.begin(now, core, agenda);
        }
        let back = rpcs.pop_front();
        self.begin(now, core, agenda);
        self.notify(now, Notice { core: core_id(core), back }, agenda);
    }

    #[inline]
    fn finish(&mut self, now: Timestamp, core: usize, agenda: &mut Agenda<'_>) -> Option<Ended> {
        let at_core = &mut self.cores[core];
        let place = at_core.rpcs.pop_front()?;
        if at_core.is_being_interrupted() && !agenda.terms.stays_at_core {
            // The interrupt comes after the RPC's end and is ignored.
            self.interrupts -= 1;
        }
        let checks_ps = at_core.used(now).as_ps() - self.rpcs.at(place).remaining_ps;
        self.overdue.remove(core_id(core));
        self.begin(now, core, agenda);
        self.notify(now, Notice { core: core_id(core), back: None }, agenda);
        self.rpcs.at_mut(place).overheads.preemption_ps += checks_ps;
        Some(Ended { core: Some(core), ..self.end(place) })
    }

    fn end(&mut self, place: u32) -> Ended {
        let kind = self.rpcs.at(place).kind;
        let ended = self.rpcs.remove(place).ended();
        self.chooser.handle_done(kind, Span::from_ps(ended.served.service_ps));
        ended
    }

    // -- from the cores --

    #[inline]
    fn notify(&mut self, now: Timestamp, notice: Notice, agenda: &mut Agenda<'_>) {
        if agenda.terms.notify == Span::ZERO {
            return self.take_notice(notice);
        }
        self.notices.push_back((now + agenda.terms.notify, notice));
        agenda.set(agenda.terms.notices(), self.notices.front().map(|first| first.0));
    }

    fn take_next_notice(&mut self, agenda: &mut Agenda<'_>) -> Option<Ended> {
        let (_, notice) = self.notices.pop_front()?;
        agenda.set(agenda.terms.notices(), self.notices.front().map(|first| first.0));
        self.take_notice(notice);
        None
    }

    /// The scheduler learns that a core has credit again, and takes the RPC that returns.
    #[inline]
    fn take_notice(&mut self, Notice { core, back }: Notice) {
        self.chooser.handle_freed(core);
        let Some(place) = back else { return };
        let Rpc { kind, arrived, .. } = *self.rpcs.at(place);
        let has_room = self.queues.push(kind, place, arrived);
        debug_assert!(has_room, "there is a place for each RPC in the server");
        self.interrupts -= 1;
    }

    // -- at the dispatcher --

    /// The dispatcher itself begins the head of the queue, unless that was begun before.
    fn serve_at_dispatcher(&mut self, now: Timestamp, agenda: &mut Agenda<'_>) {
        let Some(kind) = self.chooser.choose_type(now, &self.queues) else { return };
        let Some(head) = self.queues.peek(kind) else { return };
        let rpc = self.rpcs.at_mut(head.rpc);
        if rpc.queued_ps.is_some() {
            return;
        }
        self.queues.pop(kind);
        let since = self.dispatcher.serve(now, head.rpc, Span::from_ps(rpc.remaining_ps));
        rpc.queued_ps = Some((since - rpc.arrived).as_ps());
        self.chooser.handle_begun(kind, since - rpc.arrived);
        agenda.set(agenda.terms.dispatcher(), self.dispatcher.end());
    }

    fn finish_at_dispatcher(&mut self, agenda: &mut Agenda<'_>) -> Option<Ended> {
        let place = self.dispatcher.finish()?;
        agenda.set(agenda.terms.dispatcher(), None);
        Some(self.end(place))
    }
}

#[expect(clippy::cast_possible_truncation, reason = "below a number of cores that is a u16")]
#[inline]
const fn core_id(core: usize) -> CoreId {
    CoreId(core as u16)
}
