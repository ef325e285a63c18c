//! The calls of a client's tasks: waiting for room, waiting for an answer, or ended.

use super::by_ticket::ByTicket;
use crate::client::error::CallError;
use crate::client::ticket::Ticket;
use std::collections::VecDeque;
use std::task::Waker;

/// The number of a call, until its future is dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct CallId(u32);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Free,
    Queued,
    Outstanding,
    Ended,
}

/// Each field is written and read whole, by itself: a read of two that were just written waits
/// until the writes before them, one of which goes to the server's core, are done.
#[derive(Debug)]
struct Entry {
    phase: Phase,
    /// Of an outstanding call.
    ticket: Ticket,
    /// When it ends without an answer. Unknown until it was polled without an end:
    /// most calls end before, and need no look at the clock.
    until: Option<u64>,
    /// Wakes the task, unless that polls by itself.
    waker: Option<Waker>,
    reply: Vec<u8>,
    /// Why a call that has ended has no reply.
    error: Option<CallError>,
    /// Differs from that of earlier calls with the same number.
    stamp: u64,
}

#[derive(Debug, Default)]
pub(super) struct Calls {
    entries: Vec<Entry>,
    free: Vec<u32>,
    by_ticket: ByTicket,
    /// Calls that wait for room in order, by number and stamp; some may have gone.
    waiting: VecDeque<(u32, u64)>,
    queued: usize,
    asleep: usize,
    /// Tasks without a call to be woken when there is room.
    ready: Vec<Waker>,
    stamps: u64,
    /// No call times out before this.
    expiry: Option<u64>,
}

impl Calls {
    pub(super) fn outstanding(&self) -> usize {
        self.by_ticket.len()
    }

    pub(super) fn has_sleepers(&self) -> bool {
        self.asleep > 0 || !self.ready.is_empty()
    }

    /// Whether another call waits for room ahead of `call`.
    pub(super) fn goes_behind(&mut self, call: Option<CallId>) -> bool {
        self.first_waiting().is_some_and(|first| Some(first) != call)
    }

    pub(super) fn has_queued(&self) -> bool {
        self.queued > 0 || !self.ready.is_empty()
    }

    #[cfg(feature = "tower")]
    pub(super) fn wake_when_ready(&mut self, waker: &Waker) {
        if !self.ready.iter().any(|known| known.will_wake(waker)) {
            self.ready.push(waker.clone());
        }
    }

    fn first_waiting(&mut self) -> Option<CallId> {
        while let Some(&(place, stamp)) = self.waiting.front() {
            let entry = &self.entries[place as usize];
            if entry.stamp == stamp && entry.phase == Phase::Queued {
                return Some(CallId(place));
            }
            self.waiting.pop_front();
        }
        None
    }

    fn begin(&mut self, phase: Phase, reply: Vec<u8>) -> CallId {
        self.stamps += 1;
        if let Some(place) = self.free.pop() {
            let entry = &mut self.entries[place as usize];
            (entry.phase, entry.until, entry.stamp) = (phase, None, self.stamps);
            entry.reply = reply;
            return CallId(place);
        }
        let (ticket, stamp) = (Ticket(0), self.stamps);
        self.entries.push(Entry { phase, ticket, until: None, waker: None, reply, error: None, stamp });
        CallId(u32::try_from(self.entries.len() - 1).unwrap_or(u32::MAX))
    }

    /// The call times out at `until` at the latest.
    pub(super) fn limit(&mut self, call: CallId, until: u64) {
        let until = *self.entries[call.0 as usize].until.get_or_insert(until);
        if self.expiry.is_none_or(|expiry| until < expiry) {
            self.expiry = Some(until);
        }
    }

    pub(super) fn queue(&mut self, until: u64, reply: Vec<u8>) -> CallId {
        let call = self.begin(Phase::Queued, reply);
        self.limit(call, until);
        // Remove calls that went before their turn, if they are many.
        if self.waiting.len() > 2 * self.queued + 16 {
            let entries = &self.entries;
            self.waiting.retain(|&(place, stamp)| {
                let entry = &entries[place as usize];
                entry.stamp == stamp && entry.phase == Phase::Queued
            });
        }
        self.waiting.push_back((call.0, self.stamps));
        self.queued += 1;
        call
    }

    pub(super) fn sent(&mut self, call: Option<CallId>, ticket: Ticket, reply: &mut Vec<u8>) -> CallId {
        let call = match call {
            None => self.begin(Phase::Outstanding, std::mem::take(reply)),
            Some(call) => {
                self.queued -= 1;
                self.entries[call.0 as usize].phase = Phase::Outstanding;
                call
            }
        };
        self.entries[call.0 as usize].ticket = ticket;
        self.by_ticket.insert(ticket, call.0);
        call
    }

    /// The RPC of `ticket` has ended. Returns the waker of its task, if that sleeps.
    pub(super) fn end(&mut self, ticket: Ticket, result: Result<&[u8], CallError>) -> Option<Waker> {
        let place = self.by_ticket.remove(ticket)?;
        let entry = &mut self.entries[place as usize];
        entry.phase = Phase::Ended;
        match result {
            Ok(reply) => {
                entry.reply.clear();
                entry.reply.extend_from_slice(reply);
            }
            Err(error) => entry.error = Some(error),
        }
        self.take_waker(CallId(place))
    }

    /// The result of a call that has ended, with the bytes in `reply`. This frees the call.
    #[inline]
    pub(super) fn take_ended(&mut self, call: CallId, reply: &mut Vec<u8>) -> Option<Result<(), CallError>> {
        let entry = &mut self.entries[call.0 as usize];
        if entry.phase != Phase::Ended {
            return None;
        }
        *reply = std::mem::take(&mut entry.reply);
        let error = entry.error.take();
        self.free(call);
        Some(error.map_or(Ok(()), Err))
    }

    /// Returns the ticket of an outstanding call, and its waker, not to be dropped under a lock.
    pub(super) fn forget(&mut self, call: CallId) -> (Option<Ticket>, Option<Waker>) {
        let waker = self.take_waker(call);
        let entry = &mut self.entries[call.0 as usize];
        self.queued -= usize::from(entry.phase == Phase::Queued);
        let ticket = Some(entry.ticket).filter(|_| entry.phase == Phase::Outstanding);
        ticket.and_then(|ticket| self.by_ticket.remove(ticket));
        entry.error = None;
        self.free(call);
        (ticket, waker)
    }

    fn free(&mut self, CallId(place): CallId) {
        self.entries[place as usize].phase = Phase::Free;
        self.free.push(place);
    }

    /// `waker` wakes the task from now on. Returns the one before, not to be dropped under a lock.
    pub(super) fn sleep(&mut self, call: CallId, waker: &Waker) -> Option<Waker> {
        let slot = &mut self.entries[call.0 as usize].waker;
        if slot.as_ref().is_some_and(|known| known.will_wake(waker)) {
            return None;
        }
        let before = slot.replace(waker.clone());
        self.asleep += usize::from(before.is_none());
        before
    }

    /// The task is awake. Returns its waker.
    pub(super) fn take_waker(&mut self, call: CallId) -> Option<Waker> {
        let waker = self.entries[call.0 as usize].waker.take();
        self.asleep -= usize::from(waker.is_some());
        waker
    }

    /// Adds to `woken` the first call that waits for room, unless it is awake, or all tasks without
    /// a call.
    #[inline]
    pub(super) fn make_room(&mut self, woken: &mut Vec<Waker>) {
        if self.queued > 0 {
            let first = self.first_waiting();
            woken.extend(first.and_then(|first| self.take_waker(first)));
        } else {
            woken.append(&mut self.ready);
        }
    }

    pub(super) fn expiry(&self) -> Option<u64> {
        self.expiry
    }

    /// Ends the calls that time out at `now`; `expired` gets their tickets, if sent, and their
    /// wakers.
    pub(super) fn expire(&mut self, now: u64, mut expired: impl FnMut(Option<Ticket>, Option<Waker>)) {
        if self.expiry.is_none_or(|expiry| now < expiry) {
            return;
        }
        self.expiry = None;
        for entry in &mut self.entries {
            let ticket = match entry.phase {
                Phase::Free | Phase::Ended => continue,
                _ if entry.until.is_none_or(|until| now < until) => {
                    self.expiry = [self.expiry, entry.until].into_iter().flatten().min();
                    continue;
                }
                Phase::Queued => {
                    self.queued -= 1;
                    None
                }
                Phase::Outstanding => {
                    self.by_ticket.remove(entry.ticket);
                    Some(entry.ticket)
                }
            };
            (entry.phase, entry.error) = (Phase::Ended, Some(CallError::TimedOut));
            let waker = entry.waker.take();
            self.asleep -= usize::from(waker.is_some());
            expired(ticket, waker);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    #[derive(Debug, PartialEq, Eq)]
    enum Known {
        Queued,
        Outstanding(u64),
        Ended,
    }

    #[derive(Default)]
    struct Pair {
        calls: Calls,
        known: BTreeMap<u32, Known>,
        asleep: Vec<u32>,
        order: Vec<u32>,
        tickets: u64,
    }

    impl Pair {
        fn check(&mut self) {
            let count = |kind: fn(&Known) -> bool| self.known.values().filter(|known| kind(known)).count();
            assert_eq!(self.calls.outstanding(), count(|known| matches!(known, Known::Outstanding(_))));
            assert_eq!(self.calls.has_queued(), count(|known| *known == Known::Queued) > 0);
            assert_eq!(self.calls.has_sleepers(), !self.asleep.is_empty());
            self.order.retain(|call| self.known.get(call) == Some(&Known::Queued));
            assert_eq!(self.calls.first_waiting().map(|call| call.0), self.order.first().copied());
            assert!(self.calls.waiting.len() <= 2 * self.order.len() + 17, "places of calls that have gone");
        }

        fn send(&mut self, call: Option<u32>, until: u64) {
            let ticket = self.tickets;
            self.tickets += 1;
            let id = self.calls.sent(call.map(CallId), Ticket(ticket), &mut Vec::new());
            self.calls.limit(id, until);
            let id = id.0;
            assert_eq!(call.unwrap_or(id), id);
            self.known.insert(id, Known::Outstanding(ticket));
        }

        fn wake(&mut self, call: u32, woken: Option<Waker>) {
            assert_eq!(woken.is_some(), self.asleep.contains(&call));
            self.asleep.retain(|asleep| *asleep != call);
        }
    }

    #[test]
    fn whatever_becomes_of_calls_each_ends_once_and_they_wait_in_their_order() {
        nebula_testing::seeded(|u| {
            let (mut pair, mut now) = (Pair::default(), 0);
            for _ in 0..u.int_in_range(1..=120)? {
                now += u.int_in_range(0..=2_u64)?;
                let some = u.choose_index(pair.known.len().max(1))?;
                let some = pair.known.keys().nth(some).copied();
                match (u.int_in_range(0..=7)?, some) {
                    (0, _) => pair.send(None, now + 10),
                    (1, _) => {
                        let id = pair.calls.queue(now + 10, Vec::new()).0;
                        pair.known.insert(id, Known::Queued);
                        pair.order.push(id);
                    }
                    (2, _) => {
                        if let Some(&first) = pair.order.first() {
                            let woken = pair.calls.take_waker(CallId(first));
                            pair.wake(first, woken);
                            pair.send(Some(first), now + 10);
                        }
                    }
                    (3, Some(call)) => {
                        if let Known::Outstanding(ticket) = pair.known[&call] {
                            let woken = pair.calls.end(Ticket(ticket), Ok(&ticket.to_le_bytes()));
                            pair.wake(call, woken);
                            pair.known.insert(call, Known::Ended);
                            assert!(pair.calls.end(Ticket(ticket), Ok(b"twice")).is_none());
                        }
                    }
                    (4, Some(call)) if pair.known[&call] != Known::Ended => {
                        pair.calls.sleep(CallId(call), Waker::noop());
                        pair.asleep.push(call);
                        pair.asleep.dedup();
                    }
                    (5, Some(call)) => {
                        let ended = pair.calls.take_ended(CallId(call), &mut Vec::new()).is_some();
                        assert_eq!(ended, pair.known[&call] == Known::Ended);
                        if ended {
                            pair.known.remove(&call);
                        }
                    }
                    (6, Some(call)) => {
                        let (ticket, woken) = pair.calls.forget(CallId(call));
                        pair.wake(call, woken);
                        let sent = match pair.known.remove(&call) {
                            Some(Known::Outstanding(ticket)) => Some(Ticket(ticket)),
                            _ => None,
                        };
                        assert_eq!(ticket, sent);
                    }
                    _ => {
                        let mut woken = Vec::new();
                        pair.calls.make_room(&mut woken);
                        if let Some(first) = pair.order.first().copied() {
                            pair.wake(first, woken.pop());
                        }
                        assert!(woken.is_empty());
                    }
                }
                pair.asleep.sort_unstable();
                pair.asleep.dedup();
                pair.check();
            }
            let (mut expired, mut woken) = (0, 0);
            pair.calls.expire(now + 10, |_, waker| {
                expired += 1;
                woken += usize::from(waker.is_some());
            });
            assert_eq!(expired, pair.known.values().filter(|known| **known != Known::Ended).count());
            assert_eq!(woken, pair.asleep.len());
            for call in pair.known.into_keys() {
                assert!(pair.calls.take_ended(CallId(call), &mut Vec::new()).is_some());
            }
            assert!(pair.calls.outstanding() == 0 && !pair.calls.has_queued() && pair.calls.expiry().is_none());
            Ok(())
        });
    }
}
