//! The callers' actions: they send parts, wait for answers, and cancel the rest.

use super::Tiers;
use super::calls::{At, Copy, Join, Part, What};
use super::table::Key;
use crate::system::HedgeAfter;
use nebula_nic::{Span, Timestamp};
use nebula_requester::another;
use nebula_requester::{After, Attempts, CopyEnd, Hedging, ServerEnd, ServerSet};

impl Tiers<'_> {
    /// A caller asks for its parts; it waits until `until`, or the tier's earlier deadline.
    pub(super) fn join(&mut self, now: Timestamp, tier: usize, caller: Option<Key>, number: u64, until: Timestamp) {
        let calls = self.tiers[tier].calls;
        let deadline = calls.deadline.map_or(until, |deadline| (now + deadline).min(until));
        let (left, parts) = (calls.fan_out, self.lists.pop().unwrap_or_default());
        let join = self.joins.insert(Join { caller, number, begun: now, left, parts });
        if let Some(copy) = caller.and_then(|caller| self.copies.get(caller)) {
            copy.at = At::Behind(join);
        }
        if deadline < until {
            self.events.set(deadline, What::Expires(join));
        }
        let mut asked = ServerSet::default();
        for _ in 0..calls.fan_out {
            let Some(server) = self.tiers[tier].servers.pick(now, 0, asked) else { return self.fail(now, join) };
            asked.insert(server);
            self.call(now, join, tier, server, number, deadline);
            if self.joins.get(join).is_none() {
                // A part failed at once, and its caller with it.
                return;
            }
        }
    }

    /// Sends a part to a server, and later perhaps a copy to a second one.
    fn call(&mut self, now: Timestamp, join: Key, tier: usize, server: u16, number: u64, deadline: Timestamp) {
        let service_ps = self.tiers[tier].services.next().1.as_ps();
        self.window.tally.by_tier[tier].calls += u64::from(self.window.length.is_measured(number));
        let attempts = Attempts::new(true);
        let part = self.parts.insert(Part {
            join,
            tier,
            number,
            begun: now,
            deadline,
            attempts,
            copies: [None; 2],
            service_ps,
        });
        if let Some(join) = self.joins.get(join) {
            join.parts.push(part);
        }
        let delay = match self.tiers[tier].calls.hedge.map(|hedge| hedge.after) {
            None => None,
            Some(HedgeAfter::Time(time)) => Some(time),
            Some(HedgeAfter::Quantile(_)) => self.tiers[tier].hedging.as_mut().and_then(Hedging::begin),
        };
        self.send(now, part, server, service_ps);
        if let Some(delay) = delay {
            self.after(now, delay, What::Copies(part));
        }
    }

    fn send(&mut self, now: Timestamp, key: Key, server: u16, service_ps: u64) {
        let Some(&mut Part { tier, number, deadline, ref mut attempts, .. }) = self.parts.get(key) else { return };
        attempts.begin(server);
        self.tiers[tier].servers.begin(server);
        let copy = self.copies.insert(Copy {
            part: Some(key),
            tier,
            server,
            number,
            deadline,
            service_ps,
            received: now,
            queued_ps: 0,
            at: At::Queue,
        });
        if let Some(part) = self.parts.get(key)
            && let Some(free) = part.copies.iter_mut().find(|copy| copy.is_none())
        {
            *free = Some(copy);
        }
        // Two copies sent together know of each other when the first arrives.
        self.events.set(now + self.tiers[tier].there, What::Arrives(copy));
    }

    pub(super) fn copies(&mut self, now: Timestamp, key: Key) {
        let Some(part) = self.parts.get(key) else { return };
        if !part.attempts.may_be_copied() {
            return;
        }
        let first = part.copies.iter().flatten().next().copied();
        let (tier, number, service_ps, tried) = (part.tier, part.number, part.service_ps, part.attempts.tried());
        let is_tied = self.tiers[tier].calls.hedge.is_some_and(|hedge| hedge.is_tied);
        if is_tied && first.and_then(|first| self.copies.get(first)).is_some_and(|first| first.at != At::Queue) {
            // The news that it has begun would reach the other server first.
            return;
        }
        let calling = &mut self.tiers[tier];
        let Some(server) = another(&mut calling.servers, now, 0, tried, ServerSet::default()) else { return };
        if calling.hedging.as_mut().is_some_and(|hedging| !hedging.take()) {
            return;
        }
        let has_same_service = calling.calls.hedge.is_some_and(|hedge| hedge.has_same_service);
        let service_ps = if has_same_service { service_ps } else { calling.services.next().1.as_ps() };
        self.window.tally.by_tier[tier].copies += u64::from(self.window.length.is_measured(number));
        self.send(now, key, server, service_ps);
    }

    pub(super) fn refused(&mut self, now: Timestamp, key: Key) {
        let Some(Copy { part, tier, server, .. }) = self.copies.remove(key) else { return };
        let Some(key_of_part) = part else { return };
        let calling = &mut self.tiers[tier];
        calling.servers.end(now, server, ServerEnd::Refused);
        let Some(part) = self.parts.get(key_of_part) else { return };
        part.copies.iter_mut().filter(|copy| **copy == Some(key)).for_each(|copy| *copy = None);
        let (rpc, without) = ((&mut part.attempts, 0), ServerSet::default());
        let (join, service_ps) = (part.join, part.service_ps);
        match calling.failover.after(&mut calling.servers, now, rpc, CopyEnd::NotExecuted, without) {
            After::Waits => {}
            After::Goes(server) => self.send(now, key_of_part, server, service_ps),
            After::Rests(span) => self.after(now, span.max(Span::from_ps(1)), What::Again(key_of_part)),
            After::Over => self.fail(now, join),
        }
    }

    pub(super) fn again(&mut self, now: Timestamp, key: Key) {
        let Some(part) = self.parts.get(key) else { return };
        let (tier, service_ps, join) = (part.tier, part.service_ps, part.join);
        match self.tiers[tier].servers.pick(now, 0, ServerSet::default()) {
            Some(server) => self.send(now, key, server, service_ps),
            None => self.fail(now, join),
        }
    }

    /// The answer to a copy, or its failure at a tier behind, reaches its caller.
    pub(super) fn answered(&mut self, now: Timestamp, key: Key, is_whole: bool) {
        let Some(Copy { part, tier, server, service_ps, queued_ps, .. }) = self.copies.remove(key) else { return };
        let Some(key_of_part) = part else { return };
        let calling = &mut self.tiers[tier];
        calling.servers.end(now, server, ServerEnd::Answered);
        let Some(part) = self.parts.get(key_of_part) else { return };
        let (join, took) = (part.join, now - part.begun);
        if !is_whole {
            return self.fail(now, join);
        }
        if let Some(hedging) = &mut calling.hedging {
            hedging.answered(took);
        }
        if self.window.length.is_measured(part.number) {
            let of_tier = &mut self.window.tally.by_tier[tier];
            of_tier.useful_ps += u128::from(service_ps);
            of_tier.latency.record(took.as_ps());
            if tier == 0 {
                self.window.tally.queued.record(queued_ps);
            }
        }
        part.copies.iter_mut().filter(|copy| **copy == Some(key)).for_each(|copy| *copy = None);
        self.drop_part(now, key_of_part);
        self.one_less(now, join);
    }

    fn one_less(&mut self, now: Timestamp, key: Key) {
        let Some(join) = self.joins.get(key) else { return };
        join.left -= 1;
        if join.left > 0 {
            return;
        }
        if let Some(join) = self.remove_join(key) {
            match join.caller {
                None => self.end(now, join.number, join.begun, true),
                Some(copy) => self.answer(now, copy, true),
            }
        }
    }

    /// A caller fails, by its deadline or a part: it cancels its parts and reports it.
    pub(super) fn fail(&mut self, now: Timestamp, key: Key) {
        let Some((caller, number, begun)) = self.joins.get(key).map(|join| (join.caller, join.number, join.begun))
        else {
            return;
        };
        self.withdraw_all(now, key);
        match caller {
            None => self.end(now, number, begun, false),
            Some(copy) => self.answer(now, copy, false),
        }
    }

    /// Cancels the parts of a caller that has given up.
    pub(super) fn withdraw_all(&mut self, now: Timestamp, key: Key) {
        if let Some(Join { mut parts, .. }) = self.joins.remove(key) {
            parts.drain(..).for_each(|part| self.drop_part(now, part));
            self.lists.push(parts);
        }
    }

    fn remove_join(&mut self, key: Key) -> Option<Join> {
        let mut join = self.joins.remove(key)?;
        let mut parts = std::mem::take(&mut join.parts);
        parts.clear();
        self.lists.push(parts);
        Some(join)
    }

    /// Ends a part; its copies without an answer are cancelled.
    fn drop_part(&mut self, now: Timestamp, key: Key) {
        let Some(Part { copies, tier, .. }) = self.parts.remove(key) else { return };
        let there = self.tiers[tier].there;
        for copy in copies.into_iter().flatten() {
            self.forget(now, copy);
            self.after(now, there, What::Cancelled(copy));
        }
    }

    pub(super) fn forget(&mut self, now: Timestamp, key: Key) {
        let Some(copy) = self.copies.get(key) else { return };
        copy.part = None;
        let servers = &mut self.tiers[copy.tier].servers;
        servers.end(now, copy.server, ServerEnd::Withdrawn);
        // The server is alive, whichever copy was faster.
        servers.find(copy.server);
    }
}
