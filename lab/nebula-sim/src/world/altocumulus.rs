//! Servers whose cores are divided into groups: a group has its NIC queue and workers under a
//! central policy, and managers migrate waiting RPCs between groups.
//!
//! Ends of RPCs, and messages between a group's NIC and workers, are events of one [`Calendar`].
//! Messages between managers have one latency, so they are one FIFO. Managers decide together,
//! while a queue exceeds its threshold. Events of the same time happen in that order.
//!
//! [`group`] is one group, [`cores`] its stations 7 to 10, [`managers`] the decisions and messages
//! between managers, [`published`] the queue lengths that groups publish.

mod group;
mod cores;
mod managers;
mod published;

use super::client::Request;
use super::servers::{Ended, InFlight, Received, Servers};
use crate::calendar::Calendar;
use crate::error::SimError;
use crate::load::Load;
use crate::system::altocumulus::Altocumulus;
use crate::system::speeds::Speeds;
use crate::system::{Costs, System};
use crate::tally::Tally;
use crate::tally::migrations::Migrations;
use group::{Group, Place};
use managers::Message;
use nebula_nic::{CentralDispatch, Choose, Header, NodeId, Rss, Timestamp, Verdict};
use nebula_workload::Seed;
use std::collections::VecDeque;

pub(super) struct Grouped<'a, D: CentralDispatch> {
    costs: &'a Costs,
    options: &'a Altocumulus,
    speeds: Option<&'a Speeds>,
    groups_each: usize,
    groups: Box<[Group<D>]>,
    rss: Rss,
    flows: Option<Rss>,
    /// The RPCs by first slot, among the slots of all groups of all servers.
    in_flight: Box<[InFlight]>,
    slots_each: usize,
    /// Sources: the end of each core's service, then each group's next message.
    calendar: Calendar,
    places: Box<[Place]>,
    messages: VecDeque<(Timestamp, usize, Message)>,
    /// When managers decide next; never while no queue exceeds its threshold.
    tick_ps: u64,
    /// By server: RPCs not yet dispatched to a worker, including those in flight between groups.
    waiting: Box<[u32]>,
    counts: Migrations,
    last: Timestamp,
}

impl<'a, D: CentralDispatch> Grouped<'a, D> {
    /// Servers with room for `slots` RPCs each; `dispatch` creates the state for some workers.
    pub(super) fn try_new(
        system: &'a System,
        options: &'a Altocumulus,
        load: &Load,
        slots: u32,
        seed: Seed,
        dispatch: &impl Fn(u16) -> D,
    ) -> Result<Self, SimError> {
        let groups_each = usize::from(system.groups());
        let slots_each = system.slots_of_group(slots);
        let one = |number| Group::try_new(system, options, load, number, slots_each, dispatch);
        let numbers = 0..usize::from(system.servers) * groups_each;
        let mut groups = numbers.map(one).collect::<Result<Box<[_]>, SimError>>()?;
        let places = group::places(&mut groups);
        Ok(Self {
            costs: &system.costs,
            options,
            speeds: system.speeds.as_ref(),
            groups_each,
            rss: Rss::new(system.groups(), seed.0),
            flows: options.flows.map(|flows| Rss::new(flows, !seed.0)),
            in_flight: vec![InFlight::default(); groups.len() * slots_each as usize].into(),
            slots_each: slots_each as usize,
            calendar: Calendar::new(places.len()),
            places,
            messages: VecDeque::new(),
            tick_ps: u64::MAX,
            waiting: vec![0; usize::from(system.servers)].into(),
            groups,
            counts: Migrations::default(),
            last: Timestamp::ZERO,
        })
    }

    #[inline(always)]
    fn group_of(&mut self, header: &Header) -> usize {
        let Some(flows) = &mut self.flows else { return self.rss.choose(header).index() };
        let flow = flows.choose(header);
        if let Some(groups) = &self.options.groups_of_flows {
            return groups[flow.index()].into();
        }
        let flow = NodeId(flow.0.into());
        self.rss.choose(&Header { snid: flow, ..*header }).index()
    }

    /// The place in `in_flight` of an RPC of group `number`'s server.
    #[inline(always)]
    fn in_flight_at(&self, number: usize, slots: nebula_nic::SlotRange) -> usize {
        let first = if number < self.groups_each { 0 } else { number / self.groups_each * self.groups_each };
        first * self.slots_each + slots.start.0 as usize
    }
}

/// The head of a FIFO, if it is due at `now`.
fn due<T>(fifo: &mut VecDeque<T>, now: Timestamp, at: impl Fn(&T) -> Timestamp) -> Option<T> {
    if fifo.front().is_some_and(|head| at(head) <= now) { fifo.pop_front() } else { None }
}

impl<D: CentralDispatch> Servers for Grouped<'_, D> {
    #[inline(always)]
    fn next_ps(&self) -> u64 {
        let message = self.messages.front().map_or(u64::MAX, |(at, ..)| at.as_ps());
        self.calendar.next_ps().min(message).min(self.tick_ps)
    }

    #[inline(always)]
    fn latest(&self) -> Timestamp {
        self.calendar.latest()
    }

    #[inline(always)]
    fn turn(&mut self, now: Timestamp) -> Option<Ended> {
        if self.calendar.next_ps() == now.as_ps() {
            return self.turn_cores(now);
        }
        match due(&mut self.messages, now, |message| message.0) {
            Some((_, to, message)) => self.take_message(now, to, message),
            None => self.decide(now),
        }
        None
    }

    #[inline(always)]
    fn receive(&mut self, now: Timestamp, server: u16, header: Header, request: &Request) -> Received {
        let server = usize::from(server);
        let number = server * self.groups_each + self.group_of(&header);
        let depth = self.waiting[server];
        let group = self.at(now, number);
        let verdict = group.nic.handle_packet(now, header);
        if let Verdict::Write { slots, .. } = verdict {
            group.manager.handle_arrival(now);
            let place = self.in_flight_at(number, slots);
            self.in_flight[place] = request.into();
            self.counts.let_in += 1;
            self.waiting[server] += 1;
            self.joined(now, number);
        }
        Received { depth, verdict }
    }

    fn account(&self, tally: &mut Tally) {
        let periods = self.last.as_ps() / self.options.period.as_ps();
        let pairs = (self.groups.len() * (self.groups_each - 1)) as u64;
        let refused = self.groups.iter().map(|group| group.nic.migrations().sent_back).sum();
        tally.migrations = Migrations { updates: periods * pairs, refused, ..self.counts };
    }
}
