//! *Which of several servers gets an RPC, and which is left alone for a while?*
//!
//! The requester's side of a service that several servers have: no clock, no sockets. The caller says what it has sent where, and how that has ended.
//! A decision looks at each server once and allocates nothing.

use crate::hash::{Rng, mix};
use crate::time::{Span, Timestamp};
use alloc::boxed::Box;
use alloc::vec;

/// Servers that one client can have: a set of them is a word.
pub const SERVERS_MAX: u16 = 64;

/// How long a server is left alone after an RPC was lost there; twice as long after each further one.
const REST_FIRST: Span = Span::from_ms(10);
/// The longest rest.
const REST_MAX: Span = Span::from_ms(5_000);
/// A share of one, as numbers count it.
const ONE: u32 = 1 << 16;
/// Outstanding RPCs that a server which refuses everything counts as.
const REFUSING: u32 = 64;

/// How an RPC's server is chosen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Balance {
    /// One after the other.
    #[default]
    RoundRobin,
    /// Any, by chance.
    Random,
    /// Of two by chance the one that has fewer RPCs of this client outstanding, and has refused fewer lately.
    PowerOfTwo,
    /// The one that the key's hash says. Of a server that is left alone only its keys go elsewhere.
    KeyHash,
}

impl core::fmt::Display for Balance {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(match self {
            Self::RoundRobin => "round-robin",
            Self::Random => "random",
            Self::PowerOfTwo => "p2c",
            Self::KeyHash => "key-hash",
        })
    }
}

/// What became of an RPC at a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ServerEnd {
    /// It was answered.
    Answered,
    /// It was refused.
    Refused,
    /// There was no answer, or no connection.
    Lost,
}

/// Servers, as a set of their numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ServerSet(u64);

impl ServerSet {
    /// Adds one.
    pub fn insert(&mut self, server: u16) {
        self.0 |= 1 << server;
    }

    /// Whether it is among them.
    #[must_use]
    pub const fn contains(self, server: u16) -> bool {
        self.0 >> server & 1 == 1
    }
}

#[derive(Clone, Copy, Debug, Default)]
struct Server {
    outstanding: u32,
    /// The share of its latest RPCs that it refused, of [`ONE`].
    refused: u32,
    /// RPCs lost there since it has answered.
    lost: u32,
    /// Until then it is left alone; the beginning of time for a server that is not.
    rests_until: Timestamp,
}

impl Server {
    /// Whether it may get an RPC: one at a time while it has not answered since it was lost.
    fn is_open(&self, now: Timestamp) -> bool {
        self.lost == 0 || (self.rests_until <= now && self.outstanding == 0)
    }

    /// The load that it seems to have.
    fn load(&self) -> u32 {
        self.outstanding * 2 + self.refused * REFUSING / ONE * 2 + 1
    }
}

/// The servers of a client, by their numbers from 0 on.
///
/// # Examples
///
/// ```
/// use nebula_nic::{Balance, ServerEnd, ServerSet, Servers, Timestamp};
///
/// let (mut servers, now) = (Servers::new(2, Balance::RoundRobin, 1), Timestamp::from_ps(0));
/// let first = servers.pick(now, 0, ServerSet::default()).unwrap();
/// servers.begin(first);
/// servers.end(now, first, ServerEnd::Refused);
/// // A NACK goes elsewhere.
/// let mut tried = ServerSet::default();
/// tried.insert(first);
/// assert_ne!(servers.pick(now, 0, tried), Some(first));
/// ```
#[derive(Clone, Debug)]
pub struct Servers {
    balance: Balance,
    servers: Box<[Server]>,
    next: u16,
    rng: Rng,
}

impl Servers {
    /// As many servers, none of which has been heard of.
    ///
    /// # Panics
    ///
    /// When there are none, or more than [`SERVERS_MAX`].
    #[must_use]
    pub fn new(servers: u16, balance: Balance, seed: u64) -> Self {
        assert!((1..=SERVERS_MAX).contains(&servers), "{servers} servers: 1 to {SERVERS_MAX} are possible");
        Self { balance, servers: vec![Server::default(); servers.into()].into(), next: 0, rng: Rng::new(seed) }
    }

    /// The server for an RPC about the key with this hash, which has been at those `tried`; `None` if each of the others is left alone.
    pub fn pick(&mut self, now: Timestamp, key_hash: u32, tried: ServerSet) -> Option<u16> {
        let open = (0..self.count())
            .filter(|&server| !tried.contains(server) && self.servers[usize::from(server)].is_open(now));
        let mut set = ServerSet::default();
        open.for_each(|server| set.insert(server));
        match self.balance {
            Balance::RoundRobin => self.next_of(set),
            Balance::Random => self.any_of(set),
            Balance::PowerOfTwo => self.better_of_two(set),
            Balance::KeyHash => (0..self.count())
                .filter(|&server| set.contains(server))
                .max_by_key(|&server| mix(u64::from(key_hash) << 16 | u64::from(server))),
        }
    }

    /// An RPC is sent to `server`.
    ///
    /// # Panics
    ///
    /// When there is no such server; likewise [`end`](Self::end).
    pub fn begin(&mut self, server: u16) {
        self.servers[usize::from(server)].outstanding += 1;
    }

    /// An RPC that was sent to `server` has ended.
    pub fn end(&mut self, now: Timestamp, server: u16, end: ServerEnd) {
        let server = &mut self.servers[usize::from(server)];
        server.outstanding = server.outstanding.saturating_sub(1);
        match end {
            ServerEnd::Answered => (server.refused, server.lost) = (server.refused - server.refused / 8, 0),
            ServerEnd::Refused => (server.refused, server.lost) = (server.refused + (ONE - server.refused) / 8, 0),
            // Others that were under way when it rested already say nothing new.
            ServerEnd::Lost if server.lost > 0 && now < server.rests_until => {}
            ServerEnd::Lost => {
                let rest = Span::from_ps(REST_FIRST.as_ps() << server.lost.min(16)).min(REST_MAX);
                (server.lost, server.rests_until) = (server.lost.saturating_add(1), now + rest);
            }
        }
    }

    /// Whether `server` is left alone.
    #[must_use]
    pub fn rests(&self, now: Timestamp, server: u16) -> bool {
        !self.servers[usize::from(server)].is_open(now)
    }

    /// How many there are.
    #[must_use]
    #[expect(clippy::cast_possible_truncation, reason = "at most SERVERS_MAX")]
    pub const fn count(&self) -> u16 {
        self.servers.len() as u16
    }

    /// The first of `set` from the next one on.
    fn next_of(&mut self, set: ServerSet) -> Option<u16> {
        let count = self.count();
        let found = (0..count).map(|step| (self.next + step) % count).find(|&server| set.contains(server))?;
        self.next = (found + 1) % count;
        Some(found)
    }

    fn any_of(&mut self, ServerSet(set): ServerSet) -> Option<u16> {
        let place = self.rng.below(set.count_ones().max(1));
        (0..self.count()).filter(|&server| ServerSet(set).contains(server)).nth(place as usize)
    }

    fn better_of_two(&mut self, set: ServerSet) -> Option<u16> {
        let one = self.any_of(set)?;
        let Some(other) = self.any_of(ServerSet(set.0 & !(1 << one))) else { return Some(one) };
        let load = |server: u16| self.servers[usize::from(server)].load();
        Some(if load(other) < load(one) { other } else { one })
    }
}
