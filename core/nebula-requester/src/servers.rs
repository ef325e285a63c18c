//! *Which of several servers gets an RPC, and which is left alone for a while?*
//!
//! The requester's side of a service with several servers. The caller reports where it has sent
//! RPCs and how they have ended. A decision looks at each server once and allocates nothing.
//!
//! [`failover`](super::failover) decides after the end of an RPC at one of them,
//! [`hedging`](super::hedging) when a second one gets it meanwhile.

mod share;

use super::retry::upper_half;
use alloc::vec::Vec;
use core::cmp::Ordering;
use core::num::NonZeroU16;
use nebula_nic::hash::Rng;
use nebula_nic::time::{Span, Timestamp};

/// Servers that one client can have: a set of them is a word.
pub const SERVERS_MAX: u16 = 64;

/// For about how long a server is left alone after RPCs were lost there; doubles each further time.
const REST_FIRST: Span = Span::from_ms(10);
const REST_MAX: Span = Span::from_ms(5_000);
/// 1 as a share.
const ONE: u32 = 1 << 16;
/// A server is left alone if it does not answer a larger share of its latest RPCs in time.
const LATE: u32 = ONE / 8 * 5;
/// The weight of an RPC in that share: four late ones in a row are enough, and every other one is
/// not.
const LATE_WEIGHT: u32 = 4;
/// A server is left alone after this many RPCs in a row were taken back and none answered. Many: of
/// two servers that got the same RPC, one is always taken back.
const WITHDRAWN_MAX: u32 = 64;
/// Answers after which a server that refused counts as having room for one more RPC.
const ANSWERS_PER_STEP: u32 = 256;
/// The outstanding RPCs that a server which refuses everything counts as.
const REFUSING: u32 = 64;
/// A near server that has refused a larger share of its latest RPCs is overloaded.
const NACKING: u32 = ONE / 4;

/// The properties of a server before any RPC is sent to it.
///
/// # Examples
///
/// ```
/// use nebula_nic::Timestamp;
/// use nebula_requester::{Balance, ServerSet, Servers, Standing};
///
/// let (mut servers, now) = (Servers::new(Balance::RoundRobin, 1), Timestamp::ZERO);
/// servers.join_as(0xA, Standing::default().weight(3));
/// servers.join_as(0xB, Standing::default());
/// servers.join_as(0xC, Standing::default().far(true));
/// let mut picks = [0; 3];
/// for _ in 0..80 {
///     picks[usize::from(servers.pick(now, 0, ServerSet::default()).unwrap())] += 1;
/// }
/// assert_eq!(picks, [60, 20, 0]);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Standing {
    weight: NonZeroU16,
    is_far: bool,
}

impl Default for Standing {
    fn default() -> Self {
        Self { weight: NonZeroU16::MIN, is_far: false }
    }
}

impl Standing {
    /// Sets its share of the RPCs, relative to the others'; 1 by default, and for 0. Under
    /// [`Balance::PowerOfTwo`] also the outstanding RPCs with which it counts as loaded as a server
    /// of weight 1 with one.
    #[must_use]
    pub fn weight(mut self, weight: u16) -> Self {
        self.weight = NonZeroU16::new(weight).unwrap_or(NonZeroU16::MIN);
        self
    }

    /// Sets whether it is in another zone than the client. Those servers get RPCs only while every
    /// near one is left alone, was tried, or is overloaded: it has refused more than a quarter of
    /// its latest RPCs, or has as many as when it refused one.
    #[must_use]
    pub const fn far(mut self, is_far: bool) -> Self {
        self.is_far = is_far;
        self
    }
}

/// How an RPC's server is chosen.
///
/// Each way respects the servers' [weights](Standing::weight), and prefers those of the client's
/// own [zone](Standing::far); except that keys have the same server for clients of all zones.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Balance {
    /// One after the other; a server of weight 3 three times as often as one of 1.
    RoundRobin,
    /// Any, at random.
    Random,
    /// Of two random ones the one with fewer outstanding RPCs of this client and fewer recent
    /// refusals. If that has as many as when it refused one, the least loaded of those that have
    /// not.
    #[default]
    PowerOfTwo,
    /// The one with the highest hash of its name and the key (rendezvous). An RPC that it refuses
    /// goes nowhere else. Only the keys of a server that is left alone, or has left, go to others.
    KeyHash,
}

/// The text names no [`Balance`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected round-robin, random, p2c or key-hash")]
pub struct BalanceNameError;

nebula_nic::spelled! {
    Balance { RoundRobin = "round-robin", Random = "random", PowerOfTwo = "p2c", KeyHash = "key-hash" }
    else |text| -> BalanceNameError { BalanceNameError }
}

/// How an RPC has ended at a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ServerEnd {
    /// It was answered.
    Answered,
    /// It was refused.
    Refused,
    /// The client had no room to send it there: like a refusal, but no sign of life.
    Unsent,
    /// It was not answered in time. The server counts as lost if most of its latest RPCs were not.
    Late,
    /// There is no connection to the server, or it is broken.
    Lost,
    /// Its client took it back before it ended. A server counts as lost once many in a row were
    /// taken back and none answered.
    Withdrawn,
}

/// A set of servers by number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ServerSet(u64);

impl ServerSet {
    /// Adds `server`.
    pub fn insert(&mut self, server: u16) {
        self.0 |= 1 << server;
    }

    /// Removes `server`.
    pub fn remove(&mut self, server: u16) {
        self.0 &= !(1 << server);
    }

    /// The servers in either set.
    #[must_use]
    pub const fn union(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Whether the set is empty.
    #[must_use]
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Whether `server` is in the set.
    #[must_use]
    pub const fn contains(self, server: u16) -> bool {
        self.0 >> server & 1 == 1
    }
}

#[derive(Clone, Copy, Debug, Default)]
struct Server {
    /// Hash of its name; `None` while no server has this number.
    name: Option<u64>,
    standing: Standing,
    /// How far it is behind its share under [`Balance::RoundRobin`], in weights.
    turn: i64,
    has_left: bool,
    /// It has reported that it is not to be used now.
    is_unwell: bool,
    outstanding: u32,
    /// The share of its latest RPCs that it refused, of [`ONE`].
    refused: u32,
    /// The share of its latest RPCs that were not answered in time, of [`ONE`].
    late: u32,
    /// How often RPCs were lost there since its last answer.
    lost: u32,
    /// RPCs taken back since its last answer.
    withdrawn: u32,
    /// RPCs of this client that it had when it refused one: with as many it is full. `None` before
    /// the first refusal.
    full_at: Option<u32>,
    /// Answers since `full_at` was set or last moved.
    answers: u32,
    /// Until then it is left alone.
    rests_until: Timestamp,
}

impl Server {
    /// Whether it may get an RPC: one at a time while it has not answered since it was lost.
    fn is_open(&self, now: Timestamp) -> bool {
        let is_rested = self.lost == 0 || (self.rests_until <= now && self.outstanding == 0);
        self.name.is_some() && !self.has_left && !self.is_unwell && is_rested
    }

    /// Whether it would probably refuse an RPC.
    fn is_full(&self) -> bool {
        self.full_at.is_some_and(|full_at| self.outstanding >= full_at)
    }

    /// Counts an answer: now and then it may have room for more.
    fn answered(&mut self) {
        self.refused -= self.refused / 8;
        self.answers += 1;
        if self.answers == ANSWERS_PER_STEP {
            self.answers = 0;
            self.full_at = self.full_at.map(|full_at| full_at.saturating_add(1));
        }
    }

    fn refused(&mut self) {
        self.refused += (ONE - self.refused) / 8;
        self.answers = 0;
        self.full_at = Some(self.outstanding.max(1));
    }

    fn load(&self) -> u32 {
        self.outstanding * 2 + self.refused * REFUSING / ONE * 2 + 1
    }

    fn weight(&self) -> u32 {
        self.standing.weight.get().into()
    }

    /// Which of two is more loaded for its weight.
    fn by_load(&self, other: &Self) -> Ordering {
        let scaled = |load: u32, weight: u32| u64::from(load) * u64::from(weight);
        scaled(self.load(), other.weight()).cmp(&scaled(other.load(), self.weight()))
    }

    /// Whether it is overloaded.
    fn is_nacking(&self) -> bool {
        self.refused > NACKING || self.is_full()
    }

    /// Frees the number of a server that has left once nothing is outstanding there.
    fn free_if_over(&mut self) {
        if self.has_left && self.outstanding == 0 {
            *self = Self::default();
        }
    }

    fn be_late(&mut self, now: Timestamp, draw: u64) {
        self.late += (ONE - self.late) / LATE_WEIGHT;
        if self.late > LATE {
            self.lose(now, draw);
        }
    }

    fn be_withdrawn(&mut self, now: Timestamp, draw: u64) {
        self.withdrawn += 1;
        if self.withdrawn >= WITHDRAWN_MAX {
            self.withdrawn = 0;
            self.lose(now, draw);
        }
    }

    /// Loses RPCs there; `draw` is random. Clients that lost a server together try it at different
    /// times again.
    fn lose(&mut self, now: Timestamp, draw: u64) {
        // Others that were under way when it was lost add no information.
        if self.lost > 0 && now < self.rests_until {
            return;
        }
        let rest = Span::from_ps(REST_FIRST.as_ps() << self.lost.min(16)).min(REST_MAX);
        (self.lost, self.rests_until) = (self.lost.saturating_add(1), now + upper_half(rest, draw >> 32));
    }
}

/// The servers of a client, numbered from 0.
///
/// # Examples
///
/// ```
/// use nebula_nic::Timestamp;
/// use nebula_requester::{Balance, ServerEnd, ServerSet, Servers};
///
/// let (mut servers, now) = (Servers::new(Balance::RoundRobin, 1), Timestamp::from_ps(0));
/// servers.join(0xA);
/// servers.join(0xB);
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
    servers: Vec<Server>,
    next: u16,
    rng: Rng,
    /// Separate draws, so that a lost server changes no later choice.
    rests: Rng,
}

impl Servers {
    /// No servers yet; `seed` determines all random choices.
    #[must_use]
    pub const fn new(balance: Balance, seed: u64) -> Self {
        Self { balance, servers: Vec::new(), next: 0, rng: Rng::new(seed), rests: Rng::new(!seed) }
    }

    /// How the server of an RPC is chosen.
    #[must_use]
    pub const fn balance(&self) -> Balance {
        self.balance
    }

    /// Adds a server without a history and returns its number; `None` if there are [`SERVERS_MAX`].
    /// All clients must use the same hash `name` of its name, so that they agree on its keys.
    pub fn join(&mut self, name: u64) -> Option<u16> {
        self.join_as(name, Standing::default())
    }

    /// Like [`join`](Self::join), with known properties.
    pub fn join_as(&mut self, name: u64, standing: Standing) -> Option<u16> {
        let server = Server { name: Some(name), standing, ..Server::default() };
        if let Some(free) = (0..self.count()).find(|&number| self.at(number).name.is_none()) {
            self.servers[usize::from(free)] = server;
            return Some(free);
        }
        let number = self.count();
        (number < SERVERS_MAX).then(|| {
            self.servers.push(server);
            number
        })
    }

    /// `server` gets no more RPCs. Once its last RPC has ended, another server may get its number.
    ///
    /// # Panics
    ///
    /// If there is no such server; likewise the other methods that take one.
    pub fn leave(&mut self, server: u16) {
        let server = &mut self.servers[usize::from(server)];
        server.has_left = true;
        server.free_if_over();
    }

    /// Replaces the properties of `server`.
    pub fn set_standing(&mut self, server: u16, standing: Standing) {
        self.servers[usize::from(server)].standing = standing;
    }

    /// Whether the number is a server's, even one that has left and still has RPCs.
    #[must_use]
    pub fn is_there(&self, server: u16) -> bool {
        self.at(server).name.is_some()
    }

    /// Whether the number is a server's that has not left.
    #[must_use]
    pub fn is_member(&self, server: u16) -> bool {
        self.is_there(server) && !self.at(server).has_left
    }

    /// The server for the key with this hash, except those `without`. If all are left alone, RPCs
    /// go to those among them that were lost, since the last one is better than none; not to those
    /// that report that they are not well.
    pub fn pick(&mut self, now: Timestamp, key_hash: u32, without: ServerSet) -> Option<u16> {
        let mut set = ServerSet::default();
        let open = (0..self.count()).filter(|&server| !without.contains(server) && self.at(server).is_open(now));
        open.for_each(|server| set.insert(server));
        let set = if set.is_empty() { self.lost(without) } else { set };
        let set = if self.balance == Balance::KeyHash { set } else { self.preferred(set) };
        match self.balance {
            Balance::RoundRobin => self.next_of(set),
            Balance::Random => self.any_of(set),
            Balance::PowerOfTwo => self.better_of_two(set),
            Balance::KeyHash => self.best_for(key_hash, set),
        }
    }

    /// An RPC is sent to `server`.
    pub fn begin(&mut self, server: u16) {
        self.servers[usize::from(server)].outstanding += 1;
    }

    /// An RPC that was sent to `server` has ended.
    pub fn end(&mut self, now: Timestamp, server: u16, end: ServerEnd) {
        let draw = self.rests.next();
        let server = &mut self.servers[usize::from(server)];
        server.outstanding = server.outstanding.saturating_sub(1);
        match end {
            ServerEnd::Answered => server.answered(),
            ServerEnd::Refused | ServerEnd::Unsent => server.refused(),
            ServerEnd::Late => server.be_late(now, draw),
            ServerEnd::Lost => server.lose(now, draw),
            ServerEnd::Withdrawn => server.be_withdrawn(now, draw),
        }
        if matches!(end, ServerEnd::Answered | ServerEnd::Refused) {
            server.late -= server.late / LATE_WEIGHT;
            (server.lost, server.withdrawn) = (0, 0);
        }
        server.free_if_over();
    }

    /// An RPC at `server` goes on, but its time for this server is over. Its end is then not
    /// [late](ServerEnd::Late) once more.
    pub fn be_late(&mut self, now: Timestamp, server: u16) {
        let draw = self.rests.next();
        self.servers[usize::from(server)].be_late(now, draw);
    }

    /// `server` could not be reached, without an RPC.
    pub fn lose(&mut self, now: Timestamp, server: u16) {
        let draw = self.rests.next();
        self.servers[usize::from(server)].lose(now, draw);
    }

    /// Something other than an RPC's end has come from `server`, so it is reachable.
    pub fn find(&mut self, server: u16) {
        let server = &mut self.servers[usize::from(server)];
        (server.lost, server.withdrawn, server.late) = (0, 0, 0);
    }

    /// Sets what `server` reports of itself: while it is not well it gets no RPCs.
    pub fn set_health(&mut self, server: u16, is_well: bool) {
        self.servers[usize::from(server)].is_unwell = !is_well;
    }

    /// Whether `server` is left alone.
    #[must_use]
    pub fn rests(&self, now: Timestamp, server: u16) -> bool {
        !self.at(server).is_open(now)
    }

    /// Whether RPCs were lost at `server`, and nothing has come from it since.
    #[must_use]
    pub fn is_lost(&self, server: u16) -> bool {
        self.at(server).lost > 0
    }

    /// Whether `server` has as many RPCs of this client as when it refused one; only under
    /// [`Balance::PowerOfTwo`].
    #[must_use]
    pub fn is_full(&self, server: u16) -> bool {
        self.balance == Balance::PowerOfTwo && self.at(server).is_full()
    }

    /// When `server`, where an RPC was lost or which could not be reached, may be tried again.
    #[must_use]
    pub fn rests_until(&self, server: u16) -> Timestamp {
        self.at(server).rests_until
    }

    /// One more than the highest number.
    #[must_use]
    #[expect(clippy::cast_possible_truncation, reason = "at most SERVERS_MAX")]
    pub const fn count(&self) -> u16 {
        self.servers.len() as u16
    }

    /// Servers where RPCs were lost, except those `without` and those that are not well.
    fn lost(&self, without: ServerSet) -> ServerSet {
        let mut set = ServerSet::default();
        let is_lost = |server: &Server| server.name.is_some() && !server.has_left && !server.is_unwell;
        let lost = (0..self.count()).filter(|&server| !without.contains(server) && is_lost(self.at(server)));
        lost.for_each(|server| set.insert(server));
        set
    }

    fn at(&self, server: u16) -> &Server {
        &self.servers[usize::from(server)]
    }
}
