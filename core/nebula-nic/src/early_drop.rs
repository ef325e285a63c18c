//! Early drop: drops the excess datagrams of heavy clients before they take room in the socket.
//!
//! A client that ignores NACKs can fill the socket's buffer with datagrams of which few are served.
//! Other clients' datagrams wait behind them or are lost with them. So the wire passes a random
//! part of such a client's datagrams: twice as many as are served. Fewer would leave the server
//! idle between two of them.
//!
//! This is random early detection, as in routers, but by client: only clients that send more than
//! is served to them, and ignore NACKs, are affected.

use crate::id::NodeId;
use crate::time::{Span, Timestamp};
use alloc::vec::Vec;
use core::mem;

const LOOK_EVERY: Span = Span::from_ms(4);
/// A client is judged after so many datagrams or this time: fewer say nothing.
const DATAGRAMS: u32 = 32;
const JUDGED_AFTER: Span = Span::from_ms(64);
/// A server that is idle for more than 1 / 32 of the time passes too little.
const IDLE_PART: u64 = 32;
const ALL: u32 = u32::MAX;
/// The least part that passes: one in 256 datagrams.
const LEAST: u32 = 1 << 24;

/// The part of a client's datagrams that may pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DropRule<P> {
    /// The client's address.
    pub peer: P,
    /// Its number.
    pub snid: NodeId,
    /// This part of 2^32 datagrams passes.
    pub pass: u32,
}

/// The heavy clients of a server, which are known by an address `P` and a number.
#[derive(Clone, Debug)]
pub struct EarlyDrop<P> {
    clients_max: usize,
    clients: Vec<Heavy<P>>,
    rules: Vec<DropRule<P>>,
    looked: Timestamp,
    turned: Timestamp,
    /// Whether the last turn found nothing to do, and for how long since the last check.
    was_idle: bool,
    idle: Span,
}

/// A heavy client, with its datagrams and bytes since it was judged.
#[derive(Clone, Copy, Debug)]
struct Heavy<P> {
    peer: P,
    snid: NodeId,
    pass: u32,
    since: Timestamp,
    datagrams: u32,
    came: u64,
    lost: u64,
}

impl<P: Copy + PartialEq> EarlyDrop<P> {
    /// No client is heavy. At most `clients_max` will have early drop; others are refused as usual,
    /// until one backs off.
    #[must_use]
    pub fn new(clients_max: usize) -> Self {
        Self {
            clients_max,
            clients: Vec::with_capacity(clients_max),
            rules: Vec::with_capacity(clients_max),
            looked: Timestamp::ZERO,
            turned: Timestamp::ZERO,
            was_idle: false,
            idle: Span::ZERO,
        }
    }

    /// Whether no client is heavy.
    #[must_use]
    #[inline(always)]
    pub fn is_idle(&self) -> bool {
        self.clients.is_empty()
    }

    /// Notes a datagram of `came` bytes, `lost` of them in requests without service or NACK.
    #[cold]
    pub fn note(&mut self, now: Timestamp, peer: P, snid: NodeId, came: u64, lost: u64) {
        let known = self.clients.iter().position(|client| (client.peer, client.snid) == (peer, snid));
        let at =
            known.or_else(|| (lost > 0 && self.clients.len() < self.clients_max).then(|| self.admit(now, peer, snid)));
        if let Some(client) = at.and_then(|at| self.clients.get_mut(at)) {
            client.datagrams += 1;
            client.came += came;
            client.lost += lost;
        }
    }

    fn admit(&mut self, now: Timestamp, peer: P, snid: NodeId) -> usize {
        self.clients.push(Heavy { peer, snid, pass: ALL, since: now, datagrams: 0, came: 0, lost: 0 });
        self.clients.len() - 1
    }

    /// The new rules, if they have changed at a check. `is_idle`: nothing came and nothing waits.
    #[cold]
    pub fn end_turn(&mut self, now: Timestamp, is_idle: bool) -> Option<&[DropRule<P>]> {
        if self.was_idle {
            self.idle += now - self.turned;
        }
        (self.turned, self.was_idle) = (now, is_idle);
        let elapsed = now - self.looked;
        if elapsed < LOOK_EVERY {
            return None;
        }
        let passes_too_little = mem::take(&mut self.idle) > Span::from_ps(elapsed.as_ps() / IDLE_PART);
        self.looked = now;
        self.clients.retain_mut(|client| {
            let is_due = client.datagrams >= DATAGRAMS || now - client.since >= JUDGED_AFTER;
            if passes_too_little {
                client.change(now, 2.0);
            } else if is_due {
                client.judge(now);
            }
            client.pass < ALL || !(is_due || passes_too_little)
        });
        self.write_rules()
    }

    /// Removes all rules: no later check could notice that a client sends less.
    #[cold]
    pub fn end(&mut self) -> Option<&[DropRule<P>]> {
        self.clients.clear();
        self.write_rules()
    }

    fn write_rules(&mut self) -> Option<&[DropRule<P>]> {
        let are_same = self.rules.len() == self.clients.len()
            && self.rules.iter().zip(&self.clients).all(|(rule, client)| client.is_as_in(rule));
        if are_same {
            return None;
        }
        self.rules.clear();
        self.rules.extend(self.clients.iter().map(Heavy::rule));
        Some(&self.rules)
    }
}

impl<P: Copy + PartialEq> Heavy<P> {
    /// Aims at serving half of the datagrams that pass. A fifth to two thirds is near enough,
    /// because new rules cost time. The part changes at most to a quarter or to twice as much. A
    /// client of which nothing came sends less now.
    fn judge(&mut self, now: Timestamp) {
        let served = self.came - self.lost;
        let factor = match self.came {
            0 => 2.0,
            came if served * 5 > came && served * 3 < came * 2 => 1.0,
            came => (2.0 * served as f64 / came as f64).clamp(0.25, 2.0),
        };
        self.change(now, factor);
    }

    fn change(&mut self, now: Timestamp, factor: f64) {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "positive, and saturates as it should"
        )]
        let pass = (f64::from(self.pass) * factor) as u32;
        *self = Self { pass: pass.max(LEAST), since: now, datagrams: 0, came: 0, lost: 0, ..*self };
    }

    fn rule(&self) -> DropRule<P> {
        DropRule { peer: self.peer, snid: self.snid, pass: self.pass }
    }

    fn is_as_in(&self, rule: &DropRule<P>) -> bool {
        self.rule() == *rule
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BYTES: u64 = 1000;
    const CLIENTS_MAX: usize = 32;

    /// At each check, client i sent `sent` datagrams, some passed, and `served` were served.
    fn run(early: &mut EarlyDrop<u16>, now: &mut Timestamp, looks: u32, clients: &[(u64, u64)]) -> Vec<u32> {
        let mut parts = alloc::vec![ALL; clients.len()];
        for _ in 0..looks {
            for ((number, part), &(sent, served)) in (0..).zip(&parts).zip(clients) {
                let came = (sent * u64::from(*part)) >> 32;
                for datagram in 0..came {
                    let lost = if datagram < served { 0 } else { BYTES };
                    early.note(*now, number, NodeId(number.into()), BYTES, lost);
                }
            }
            *now += LOOK_EVERY;
            early.end_turn(*now, false);
            for (number, part) in (0..).zip(&mut parts) {
                *part = early.rules.iter().find(|rule| rule.peer == number).map_or(ALL, |rule| rule.pass);
            }
        }
        parts
    }

    #[test]
    fn of_what_passes_about_half_is_served() {
        for sent in [1_000, 4_000, 20_000] {
            let (mut early, mut now) = (EarlyDrop::new(CLIENTS_MAX), Timestamp::ZERO);
            let parts = run(&mut early, &mut now, 100, &[(sent, 300), (20, 20)]);
            let passes = (sent * u64::from(parts[0])) >> 32;
            assert!((450..=1500).contains(&passes), "{passes} of {sent}");
            assert_eq!(parts[1], ALL, "who is served is not met");
        }
    }

    #[test]
    fn a_client_that_sends_less_again_is_not_met_any_more() {
        let (mut early, mut now) = (EarlyDrop::new(CLIENTS_MAX), Timestamp::ZERO);
        run(&mut early, &mut now, 50, &[(10_000, 100)]);
        assert!(!early.rules.is_empty());
        run(&mut early, &mut now, 200, &[(90, 100)]);
        assert!(early.is_idle() && early.rules.is_empty());
        run(&mut early, &mut now, 50, &[(10_000, 100)]);
        run(&mut early, &mut now, 300, &[(0, 100)]);
        assert!(early.is_idle() && early.rules.is_empty());
    }

    #[test]
    fn more_passes_where_the_server_is_idle_between_bursts() {
        let (mut early, mut now) = (EarlyDrop::new(CLIENTS_MAX), Timestamp::ZERO);
        let before = run(&mut early, &mut now, 50, &[(10_000, 100)])[0];
        let step = Span::from_ps(LOOK_EVERY.as_ps() / 8);
        for turn in 1..=8 {
            // Every other turn finds nothing.
            early.end_turn(now + step * turn, turn % 2 == 0);
        }
        assert_eq!(early.rules[0].pass, 2 * before);
    }

    #[test]
    fn nothing_is_dropped_where_nobody_looks() {
        let (mut early, mut now) = (EarlyDrop::new(CLIENTS_MAX), Timestamp::ZERO);
        run(&mut early, &mut now, 50, &[(10_000, 100)]);
        assert_eq!(early.end(), Some(&[][..]));
        assert_eq!((early.is_idle(), early.end()), (true, None));
    }

    #[test]
    fn rules_are_few_and_new_ones_only_where_they_change() {
        let (mut early, mut now) = (EarlyDrop::new(CLIENTS_MAX), Timestamp::ZERO);
        let parts = run(&mut early, &mut now, 50, &[(1_000, 10); 40]);
        assert_eq!(parts.iter().filter(|&&part| part < ALL).count(), CLIENTS_MAX);
        // Half of what passes is served: no change.
        for _ in 0..2 * DATAGRAMS {
            early.note(now, 0, NodeId(0), BYTES, BYTES / 2);
        }
        assert_eq!(early.end_turn(now + LOOK_EVERY, false), None);
    }
}
