//! Servers whose cores are parted into groups: each group's NIC queue and workers are as under a central policy, and managers hand waiting
//! RPCs from group to group.
//!
//! Ends of RPCs and what is on the way between a group's NIC and its workers are events of one [`Calendar`]; messages between managers
//! all take the same time, so they are one FIFO; and managers decide at the same times, which are events only while a queue is
//! beyond its threshold. At the same time they come in that order.
//!
//! | file | what it holds |
//! |---|---|
//! | [`group`] | one group: its NIC, its manager, its workers |
//! | [`cores`] | stations 7 to 10 of a group |
//! | [`managers`] | decisions, and messages between managers |
//! | [`published`] | what a group has said of its queue's length, and when |

mod group;
mod cores;
mod managers;
mod published;

use super::client::Request;
use super::servers::{Ended, InFlight, Received, Servers};
use crate::calendar::Calendar;
use crate::error::SimError;
use crate::load::Load;
use crate::system::{Altocumulus, Costs, System};
use crate::tally::{Migrations, Tally};
use group::{Group, Place};
use managers::Message;
use nebula_nic::{CentralDispatch, Choose, Header, NodeId, Rss, Timestamp, Verdict};
use nebula_workload::Seed;
use std::collections::VecDeque;

/// Servers whose cores are parted into groups.
pub(super) struct Grouped<'a, D: CentralDispatch> {
    costs: &'a Costs,
    options: &'a Altocumulus,
    groups_each: usize,
    /// Those of server `s` from `s` times the groups of each.
    groups: Box<[Group<D>]>,
    /// Which group of a server an RPC comes to.
    rss: Rss,
    /// Which flow it is of, where there are fewer than RPCs.
    flows: Option<Rss>,
    /// What is known of each RPC, in the place of its first slot among those of all groups of all servers.
    in_flight: Box<[InFlight]>,
    slots_each: usize,
    /// Of each core: the end of what it serves; then of each group: what is next on the way between NIC and workers.
    calendar: Calendar,
    places: Box<[Place]>,
    messages: VecDeque<(Timestamp, usize, Message)>,
    /// When managers decide next; never while no queue is beyond its threshold.
    tick_ps: u64,
    /// Of each server: RPCs that no worker has been given, those on their way to another group included.
    waiting: Box<[u32]>,
    counts: Migrations,
    /// When the last RPC ended.
    last: Timestamp,
}

impl<'a, D: CentralDispatch> Grouped<'a, D> {
    /// Servers with room for `slots` RPCs each and more, whose local dispatch `dispatch` makes for so many workers.
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

    /// Which group of its server an RPC comes to.
    #[inline(always)]
    fn group_of(&mut self, header: &Header) -> usize {
        let Some(flows) = &mut self.flows else { return self.rss.choose(header).index() };
        let flow = NodeId(flows.choose(header).0.into());
        self.rss.choose(&Header { snid: flow, ..*header }).index()
    }

    /// The place in `in_flight` of an RPC at a group of the same server as group `number`.
    #[inline(always)]
    fn in_flight_at(&self, number: usize, slots: nebula_nic::SlotRange) -> usize {
        let first = if number < self.groups_each { 0 } else { number / self.groups_each * self.groups_each };
        first * self.slots_each + slots.start.0 as usize
    }
}

/// The head of a FIFO, if it is due at `now`; what is behind it comes later.
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
