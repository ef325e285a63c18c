//! Managers in simulated time: those with a queue above their threshold decide each period.

use super::Grouped;
use super::group::Group;
use nebula_nic::schedule::Migration;
use nebula_nic::{Adoption, Arrival, CentralDispatch, GroupId, SlotRange, Timestamp};

#[derive(Clone, Copy, Debug)]
pub(super) enum Message {
    /// An RPC to serve.
    Migrate { from: GroupId, arrival: Arrival },
    /// The group has no room.
    Refuse { by: GroupId, arrival: Arrival },
    /// The RPC has been served by another group.
    Return { by: GroupId, slots: SlotRange },
}

impl<D: CentralDispatch> Grouped<'_, D> {
    /// A queue exceeds its threshold: managers decide at the next multiple of the period.
    #[inline]
    pub(super) fn wake_managers(&mut self, now: Timestamp) {
        if self.tick_ps == u64::MAX {
            let period_ps = self.options.period.as_ps();
            self.tick_ps = now.as_ps().div_ceil(period_ps) * period_ps;
        }
    }

    /// Managers decide, and sleep if no queue exceeds its threshold.
    #[inline(never)]
    pub(super) fn decide(&mut self, now: Timestamp) {
        let mut is_any_beyond = false;
        for number in 0..self.groups.len() {
            let group = &self.groups[number];
            if group.nic.queue_depth() > group.manager.threshold() {
                is_any_beyond = true;
                self.decide_at(now, number);
            }
        }
        self.tick_ps = if is_any_beyond { (now + self.options.period).as_ps() } else { u64::MAX };
    }

    fn decide_at(&mut self, now: Timestamp, number: usize) {
        let first = number / self.groups_each * self.groups_each;
        let reached = Timestamp::from_ps(now.as_ps().saturating_sub(self.options.message.as_ps()));
        let (before, rest) = self.groups[first..first + self.groups_each].split_at_mut(number - first);
        let Some((group, after)) = rest.split_first_mut() else { return };
        let waiting = group.nic.queue_depth();
        group.published.note(now, waiting);
        let published = |other: GroupId| {
            let other: &Group<D> = match other.index().checked_sub(before.len() + 1) {
                Some(behind) => &after[behind],
                None => &before[other.index()],
            };
            other.published.at(reached, other.nic.queue_depth())
        };
        let batch = u64::from(group.manager.batch());
        let arrives = now + self.options.message;
        for &Migration { to, count } in group.manager.decide(now, waiting, published) {
            let before = self.messages.len();
            for _ in 0..count {
                let Some(arrival) = group.nic.take_newest_waiting(to) else { break };
                let message = Message::Migrate { from: group.id, arrival };
                self.messages.push_back((arrives, first + to.index(), message));
            }
            let sent = (self.messages.len() - before) as u64;
            self.counts.descriptors += sent;
            self.counts.messages += sent.div_ceil(batch);
        }
    }

    /// Sends a message to a group of the same server as group `number`.
    pub(super) fn send(&mut self, now: Timestamp, number: usize, to: GroupId, message: Message) {
        let first = number / self.groups_each * self.groups_each;
        self.messages.push_back((now + self.options.message, first + to.index(), message));
    }

    #[inline(never)]
    pub(super) fn take_message(&mut self, now: Timestamp, number: usize, message: Message) {
        let group = self.at(now, number);
        match message {
            Message::Migrate { from, arrival } => match group.nic.adopt(arrival) {
                Adoption::Taken => self.joined(now, number),
                Adoption::Refused => {
                    let by = group.id;
                    self.send(now, number, from, Message::Refuse { by, arrival });
                }
            },
            Message::Refuse { by, arrival } => {
                if group.nic.handle_refused(by, arrival) {
                    self.joined(now, number);
                }
            }
            Message::Return { by, slots } => {
                group.nic.handle_returned(by, slots);
            }
        }
    }
}
