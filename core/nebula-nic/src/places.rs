//! Which connections have a place at a listener: a place must be earned.
//!
//! A connection costs memory and a descriptor before its client has shown anything. So those that
//! have **proved** something (a frame sealed with a key, a whole request) keep their places, and
//! the others are in a pool:
//!
//! - Each has [`within`](PlacesConfig::within) to prove itself.
//! - If the pool is full, the source with most of it loses its oldest connection to the new one.
//! - Nobody takes a place of the proven before the proof.
//!
//! A source is one of [`SOURCES`] values of a hash, of an address prefix for instance, so memory
//! does not grow with sources. Two that meet have one share together.

use crate::time::{Span, Timestamp};
use alloc::boxed::Box;
use alloc::vec;
use alloc::vec::Vec;
use core::cmp::Reverse;
use core::net::IpAddr;

/// The values by which sources are distinguished.
pub const SOURCES: usize = 256;
/// The time for a proof.
const WITHIN: Span = Span::from_secs(2);
/// The pool next to clients with keys: a part of their places, within these bounds. The oldest of
/// hundreds has had time for several round trips.
const POOL_SHARE: u32 = 4;
const POOL_MIN: u32 = 16;
const POOL_MAX: u32 = 256;
/// As many places again, one part in so many, are for other sources than one that has all.
const OTHERS_SHARE: u32 = 8;
const NONE: u32 = u32::MAX;

/// The places of a listener.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlacesConfig {
    /// All places. If none is free, one of the unproven is evicted, or else the new connection is
    /// refused.
    pub places_max: u32,
    /// Places of the unproven. The next one evicts one of them.
    pub unproven_max: u32,
    /// Places of the proven. While all are taken, new connections are refused.
    pub proven_max: u32,
    /// Those of one source. While it has so many, its new connections are refused.
    pub source_max: u32,
    /// The time for a proof; `None`: only a lack of places evicts.
    pub within: Option<Span>,
}

impl PlacesConfig {
    /// For `most` clients of a source that prove themselves within two seconds by what only an
    /// accepted client sends. The others have a small pool.
    #[must_use]
    pub const fn of_clients(most: u32) -> Self {
        let of_clients = Self::of_requests(most);
        let part = most / POOL_SHARE;
        let pool = if part < POOL_MIN { POOL_MIN } else { part };
        let unproven_max = if pool > POOL_MAX { POOL_MAX } else { pool };
        let places_max = of_clients.places_max + unproven_max;
        Self { places_max, unproven_max, within: Some(WITHIN), ..of_clients }
    }

    /// For `most` clients of a source without keys: a whole request is the proof. They may be
    /// silent while there are places for others.
    #[must_use]
    pub const fn of_requests(most: u32) -> Self {
        let places_max = most + most / OTHERS_SHARE;
        Self { places_max, unproven_max: places_max, proven_max: places_max, source_max: most, within: None }
    }

    /// For at most `most` connections that leave the pool with their proof, within two seconds.
    #[must_use]
    pub const fn of_handshakes(most: u32) -> Self {
        Self { places_max: most, unproven_max: most, proven_max: 1, source_max: u32::MAX, within: Some(WITHIN) }
    }
}

/// The prefix of an address whose connections have one share: 24 bits of IPv4, 64 bits of IPv6.
#[must_use]
pub const fn prefix(address: IpAddr) -> u64 {
    match address.to_canonical() {
        IpAddr::V4(address) => (address.to_bits() >> 8) as u64,
        IpAddr::V6(address) => (address.to_bits() >> 64) as u64,
    }
}

/// A place for a new connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// Its number, below [`places_max`](PlacesConfig::places_max); perhaps that of the evicted one.
    pub id: u32,
    /// The connection that has lost its place, to be closed first.
    pub evicts: Option<u32>,
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    source: u8,
    state: State,
    arrived: Timestamp,
    /// The next older and the next younger unproven one of its source.
    older: u32,
    younger: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Free,
    Unproven,
    Proven,
}

#[derive(Clone, Copy, Debug)]
struct Source {
    oldest: u32,
    youngest: u32,
    unproven: u32,
    proven: u32,
}

/// The connections that have a place.
#[derive(Clone, Debug)]
pub struct Places {
    config: PlacesConfig,
    entries: Vec<Entry>,
    free: Vec<u32>,
    sources: Box<[Source]>,
    unproven: u32,
    proven: u32,
    /// No unproven one is overdue before.
    none_before: Timestamp,
}

impl Places {
    /// No place is taken.
    #[must_use]
    pub fn new(config: PlacesConfig) -> Self {
        let source = Source { oldest: NONE, youngest: NONE, unproven: 0, proven: 0 };
        Self {
            config,
            entries: Vec::new(),
            free: Vec::new(),
            sources: vec![source; SOURCES].into(),
            unproven: 0,
            proven: 0,
            none_before: Timestamp::ZERO,
        }
    }

    /// A place for a connection of `source`, which has proved nothing so far. `None` if it is
    /// refused.
    ///
    /// # Cost
    ///
    /// O(1); O([`SOURCES`]) if another one is evicted.
    pub fn arrive(&mut self, now: Timestamp, source: u8) -> Option<Place> {
        if !self.has_room_for(source) {
            return None;
        }
        let PlacesConfig { places_max, unproven_max, .. } = self.config;
        let is_full = self.unproven >= unproven_max || self.held() >= places_max;
        let evicts = if is_full { Some(self.most_crowded()?) } else { None };
        evicts.into_iter().for_each(|id| self.leave(id));
        Some(Place { id: self.take(now, source), evicts })
    }

    /// Whether another one of this source may be proven.
    fn has_room_for(&self, source: u8) -> bool {
        let PlacesConfig { proven_max, source_max, .. } = self.config;
        self.proven < proven_max && self.sources[usize::from(source)].proven < source_max
    }

    /// A connection has proved itself, and keeps its place. Returns false if there is none for it:
    /// then it is to be closed, and has its place until it [leaves](Self::leave).
    pub fn prove(&mut self, id: u32) -> bool {
        if self.state(id) != State::Unproven {
            return self.state(id) == State::Proven;
        }
        let has_room = self.has_room_for(self.entries[id as usize].source);
        let source = self.unlink(id);
        self.entries[id as usize].state = State::Proven;
        self.sources[source].proven += 1;
        self.proven += 1;
        has_room
    }

    /// A connection is over. Does nothing for a place that is free.
    pub fn leave(&mut self, id: u32) {
        match self.state(id) {
            State::Free => return,
            State::Unproven => drop(self.unlink(id)),
            State::Proven => {
                self.sources[usize::from(self.entries[id as usize].source)].proven -= 1;
                self.proven -= 1;
            }
        }
        self.entries[id as usize].state = State::Free;
        self.free.push(id);
    }

    /// Takes the place of a connection that has not proved itself in time, to be closed; `None` if
    /// there is none.
    ///
    /// # Cost
    ///
    /// O(1) before the next one is overdue, otherwise O([`SOURCES`]).
    pub fn poll_overdue(&mut self, now: Timestamp) -> Option<u32> {
        if self.unproven == 0 || now < self.none_before {
            return None;
        }
        let oldest = self.oldest()?;
        let until = self.entries[oldest as usize].arrived + self.config.within?;
        if now < until {
            self.none_before = until;
            return None;
        }
        self.leave(oldest);
        Some(oldest)
    }

    /// When [`poll_overdue`](Self::poll_overdue) may have one; not later.
    #[must_use]
    pub fn next_overdue(&self) -> Option<Timestamp> {
        self.config.within.filter(|_| self.unproven > 0).map(|_| self.none_before)
    }

    /// Places taken.
    #[must_use]
    pub const fn held(&self) -> u32 {
        self.unproven + self.proven
    }

    /// Places taken by those that have proved nothing so far.
    #[must_use]
    pub const fn unproven(&self) -> u32 {
        self.unproven
    }

    fn state(&self, id: u32) -> State {
        self.entries.get(id as usize).map_or(State::Free, |entry| entry.state)
    }

    fn take(&mut self, now: Timestamp, source: u8) -> u32 {
        let at = &mut self.sources[usize::from(source)];
        let entry = Entry { source, state: State::Unproven, arrived: now, older: at.youngest, younger: NONE };
        let id = match self.free.pop() {
            Some(id) => {
                self.entries[id as usize] = entry;
                id
            }
            None => {
                self.entries.push(entry);
                u32::try_from(self.entries.len() - 1).unwrap_or(NONE)
            }
        };
        match at.youngest {
            NONE => at.oldest = id,
            older => self.entries[older as usize].younger = id,
        }
        (at.youngest, at.unproven) = (id, at.unproven + 1);
        if self.unproven == 0 {
            self.none_before = self.config.within.map_or(now, |within| now + within);
        }
        self.unproven += 1;
        id
    }

    /// Takes an unproven one out of its source's list. Returns the source.
    fn unlink(&mut self, id: u32) -> usize {
        let Entry { source, older, younger, .. } = self.entries[id as usize];
        let at = usize::from(source);
        match older {
            NONE => self.sources[at].oldest = younger,
            older => self.entries[older as usize].younger = younger,
        }
        match younger {
            NONE => self.sources[at].youngest = older,
            younger => self.entries[younger as usize].older = older,
        }
        self.sources[at].unproven -= 1;
        self.unproven -= 1;
        at
    }

    fn first(&self, source: &Source) -> Option<Timestamp> {
        self.entries.get(source.oldest as usize).map(|entry| entry.arrived)
    }

    /// The oldest unproven one of the source with most of them; of equal ones, the oldest.
    fn most_crowded(&self) -> Option<u32> {
        let crowded = self.sources.iter().filter(|source| source.unproven > 0);
        crowded.max_by_key(|source| (source.unproven, Reverse(self.first(source)))).map(|source| source.oldest)
    }

    fn oldest(&self) -> Option<u32> {
        let waiting = self.sources.iter().filter(|source| source.unproven > 0);
        waiting.min_by_key(|source| self.first(source)).map(|source| source.oldest)
    }
}
