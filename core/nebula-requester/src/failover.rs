//! *An RPC has ended at one of several servers: is it over, or does another server get it?*
//!
//! **Invariant:** an RPC that is not idempotent is at one server at a time, and at no further one
//! once it is unknown whether it was executed. *Enforced by* [`Failover::after`], and by the test
//! of all short histories (`tests/failover.rs`).

use super::retry::{RetryPolicy, upper_half};
use super::servers::{Balance, ServerSet, Servers};
use nebula_nic::hash::Rng;
use nebula_nic::time::{Span, Timestamp};

/// A backup with less time than this would hardly be answered.
const BACKUP_MIN: Span = Span::from_us(100);

/// How an RPC, or one copy of it, has ended at a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CopyEnd {
    /// With an answer.
    Answered,
    /// It was not executed there and will not be. Another server may execute it.
    NotExecuted,
    /// It was not executed, and no server would execute it: it is too long, or too late.
    Impossible,
    /// It is unknown whether it was executed.
    Unknown,
}

/// What follows the end of a copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum After {
    /// The RPC is over.
    Over,
    /// Nothing yet: another copy is under way.
    Waits,
    /// This server gets it now.
    Goes(u16),
    /// After this time it is tried again, at any server.
    Rests(Span),
}

/// The servers that an RPC has been at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Attempts {
    tried: ServerSet,
    /// Copies that have not ended.
    under_way: u8,
    tries: u32,
    /// How often it has been at all servers.
    rounds: u32,
    delay: Span,
    /// Executing it twice does no harm.
    is_idempotent: bool,
}

impl Attempts {
    /// The state of an RPC that has been at no server.
    #[must_use]
    pub fn new(is_idempotent: bool) -> Self {
        Self { is_idempotent, ..Self::default() }
    }

    /// Notes that a copy is sent to `server`.
    pub fn begin(&mut self, server: u16) {
        self.tried.insert(server);
        self.under_way += 1;
        self.tries += 1;
    }

    /// Copies that have not ended.
    #[must_use]
    pub const fn under_way(&self) -> u8 {
        self.under_way
    }

    /// The servers of this round.
    #[must_use]
    pub const fn tried(&self) -> ServerSet {
        self.tried
    }

    /// After a connection broke: every server may get it again.
    pub fn forget_tried(&mut self) {
        self.tried = ServerSet::default();
    }

    /// Whether it may be sent again after a copy of it ended so.
    #[must_use]
    pub const fn may_go_on(&self, end: CopyEnd) -> bool {
        let may_be_twice = matches!(end, CopyEnd::Unknown) && self.is_idempotent;
        self.under_way == 0 && (may_be_twice || matches!(end, CopyEnd::NotExecuted))
    }

    /// Whether a second copy may be sent while one is under way.
    #[must_use]
    pub const fn may_be_copied(&self) -> bool {
        self.is_idempotent && self.under_way == 1
    }

    /// Whether one more server may get it, since those that have it do not answer.
    #[must_use]
    pub const fn may_be_backed_up(&self) -> bool {
        self.is_idempotent && self.under_way > 0
    }
}

/// Decides what follows the end of an RPC at one of several servers.
#[derive(Clone, Debug)]
pub struct Failover {
    retry: RetryPolicy,
    rng: Rng,
}

impl Failover {
    /// Under each policy an RPC goes to each server at most once, under [`Balance::KeyHash`] only
    /// to that of its key; then `retry` decides. [`GiveUp`](RetryPolicy::GiveUp) ends it.
    /// [`BackOff`](RetryPolicy::BackOff) waits, and all servers may get it again, `attempts` times
    /// in all. [`AnotherServer`](RetryPolicy::AnotherServer) ends it, after `attempts` servers even
    /// if there are more.
    #[must_use]
    pub const fn new(retry: RetryPolicy) -> Self {
        let seed = if let RetryPolicy::BackOff { seed, .. } = retry { seed } else { 0 };
        Self { retry, rng: Rng::new(seed) }
    }

    /// The decision after a copy of an RPC ended with `end`; the servers `without` cannot get it.
    pub fn after(
        &mut self,
        servers: &mut Servers,
        now: Timestamp,
        rpc: (&mut Attempts, u32),
        end: CopyEnd,
        without: ServerSet,
    ) -> After {
        let (attempts, key_hash) = rpc;
        attempts.under_way = attempts.under_way.saturating_sub(1);
        match end {
            CopyEnd::Answered | CopyEnd::Impossible => return After::Over,
            _ if attempts.under_way > 0 => return After::Waits,
            CopyEnd::Unknown if !attempts.is_idempotent => return After::Over,
            CopyEnd::NotExecuted | CopyEnd::Unknown => {}
        }
        let tries_max = if let RetryPolicy::AnotherServer { attempts, .. } = self.retry { attempts } else { u32::MAX };
        if attempts.tries >= tries_max {
            return After::Over;
        }
        match another(servers, now, key_hash, attempts.tried, without) {
            Some(server) => After::Goes(server),
            None => self.next_round(attempts),
        }
    }

    /// The decision when no server is left that might take it now.
    pub fn next_round(&mut self, attempts: &mut Attempts) -> After {
        let RetryPolicy::BackOff { first, factor, attempts: rounds, .. } = self.retry else { return After::Over };
        attempts.rounds += 1;
        if attempts.rounds >= rounds {
            return After::Over;
        }
        attempts.delay = if attempts.rounds == 1 { first } else { attempts.delay * u64::from(factor) };
        attempts.tried = ServerSet::default();
        After::Rests(upper_half(attempts.delay, self.rng.next() >> 32))
    }
}

/// A server for an RPC that has been at those `tried`. If keys have servers, only the key's server
/// is possible; another one, which may lack the key's data, gets the RPC only while that server is
/// left alone.
pub fn another(
    servers: &mut Servers,
    now: Timestamp,
    key_hash: u32,
    tried: ServerSet,
    without: ServerSet,
) -> Option<u16> {
    if servers.balance() == Balance::KeyHash {
        return servers.pick(now, key_hash, without).filter(|&server| !tried.contains(server));
    }
    let server = servers.pick(now, key_hash, tried.union(without));
    // A full server would refuse it too.
    server.filter(|&server| tried.is_empty() || !servers.is_full(server))
}

/// How long after `elapsed` one more server gets an idempotent RPC that no server has answered:
/// when a quarter of its deadline, half of it, and each time half of what is then `left` has
/// passed. `None` if too little would be left.
///
/// A server that is well answers or refuses much sooner. So silence is a pause or a loss, and no
/// overload to which a copy would add; and the copies are few, however many servers there are.
#[must_use]
pub fn backup_after(elapsed: Span, left: Span) -> Option<Span> {
    let after = if elapsed == Span::ZERO { left / 4 } else { elapsed.min(left / 2) };
    Some(after).filter(|&after| after >= BACKUP_MIN)
}

/// A server for one more copy of an RPC, except those `tried` and those `without`. One that would
/// probably refuse it is better than none.
pub fn spare(
    servers: &mut Servers,
    now: Timestamp,
    key_hash: u32,
    tried: ServerSet,
    without: ServerSet,
) -> Option<u16> {
    match servers.balance() {
        Balance::KeyHash => another(servers, now, key_hash, tried, without),
        _ => servers.pick(now, key_hash, tried.union(without)),
    }
}
