//! A load balancer: spreads the clients of a virtual address over several backends, whose answers
//! leave with that address.
//!
//! A consistent hash (Maglev, NSDI 2016) chooses a client's backend: every backend has an even
//! share of a lookup table, and a change of backends moves few places of it. A known client keeps
//! its backend as long as both stay. If there are more clients than places, the hash alone decides
//! for the others.

use crate::chain::{Direction, DropReason, Function};
use crate::flow::{Endpoint, Flow, Protocol, low};
use crate::nat::hash_of_inside;
use crate::packet::Packet;
use crate::table::{Table, until};
use alloc::sync::Arc;
use alloc::vec;
use alloc::vec::Vec;
use nebula_nic::{Span, Timestamp};
use rapidhash::v3::rapidhash_v3;

/// A prime, at least a hundred times the number of backends, so that shares differ by less than 1
/// %.
const PLACES: u32 = 65_537;
/// The most backends.
pub const BACKENDS_MAX: usize = 256;
/// A silent client is forgotten after this time.
const IDLE: Span = Span::from_secs(300);
/// The most clients known to one shard.
pub const CLIENTS_MAX: u32 = 65_536;

/// Maglev's lookup table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Maglev {
    places: Vec<u16>,
}

impl Maglev {
    /// The table for 1 to [`BACKENDS_MAX`] backends. Their order does not matter.
    ///
    /// # Panics
    ///
    /// With no backend or too many.
    ///
    /// # Cost
    ///
    /// O(places · log places) as a rule; some milliseconds.
    #[must_use]
    pub fn new(backends: &[Endpoint]) -> Self {
        assert!((1..=BACKENDS_MAX).contains(&backends.len()), "{} backends", backends.len());
        const FREE: u16 = u16::MAX;
        let mut places = vec![FREE; PLACES as usize];
        // Sorted, so that their order does not matter.
        let mut order: Vec<usize> = (0..backends.len()).collect();
        order.sort_by_key(|&index| backends[index]);
        let mut turns: Vec<Turn> = order.into_iter().map(|index| Turn::of(index, backends[index])).collect();
        let mut left = PLACES;
        'filled: loop {
            for turn in &mut turns {
                while places[turn.at as usize] != FREE {
                    turn.next();
                }
                places[turn.at as usize] = turn.backend;
                turn.next();
                left -= 1;
                if left == 0 {
                    break 'filled;
                }
            }
        }
        Self { places }
    }

    /// The index of the backend for a hash.
    #[must_use]
    pub fn backend(&self, hash: u32) -> usize {
        self.places[(hash % PLACES) as usize].into()
    }
}

/// A backend's preferences: every place once, as their number is prime.
struct Turn {
    backend: u16,
    at: u32,
    skip: u32,
}

impl Turn {
    fn of(index: usize, Endpoint { ip, port }: Endpoint) -> Self {
        let [a, b, c, d] = ip.octets();
        let [e, f] = port.to_be_bytes();
        let hash = rapidhash_v3(&[a, b, c, d, e, f]);
        let backend = u16::try_from(index).expect("at most BACKENDS_MAX backends");
        Self { backend, at: low(hash) % PLACES, skip: low(hash >> 32) % (PLACES - 1) + 1 }
    }

    fn next(&mut self) {
        self.at = (self.at + self.skip) % PLACES;
    }
}

/// A virtual end, and the backends that serve it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Backends {
    virtual_end: Endpoint,
    backends: Vec<Endpoint>,
    maglev: Maglev,
}

impl Backends {
    /// Serves `virtual_end` by `backends`.
    ///
    /// # Panics
    ///
    /// As [`Maglev::new`].
    #[must_use]
    pub fn new(virtual_end: Endpoint, backends: Vec<Endpoint>) -> Self {
        let maglev = Maglev::new(&backends);
        Self { virtual_end, backends, maglev }
    }

    /// The destination of clients.
    #[must_use]
    pub const fn virtual_end(&self) -> Endpoint {
        self.virtual_end
    }

    fn by_hash(&self, client: (Protocol, Endpoint)) -> Endpoint {
        self.backends[self.maglev.backend(hash_of_inside(client.0, client.1))]
    }
}

/// The function that balances.
#[derive(Clone, Debug)]
pub struct Balancer {
    backends: Arc<Backends>,
    clients: Table<(Protocol, Endpoint), Endpoint>,
}

impl Balancer {
    /// A balancer that knows at most `clients_max` clients at once.
    #[must_use]
    pub fn new(backends: Arc<Backends>, clients_max: u32) -> Self {
        Self { backends, clients: Table::new(clients_max) }
    }

    /// Replaces the backends. Clients keep theirs if it stays.
    pub fn set_backends(&mut self, backends: Arc<Backends>) {
        self.backends = backends;
    }

    /// The client's backend, if both are still known.
    fn known(&mut self, now: Timestamp, client: (Protocol, Endpoint)) -> Option<(u32, Endpoint)> {
        let (place, backend) = self.clients.get(now, client).map(|(place, backend)| (place, *backend))?;
        self.backends.backends.contains(&backend).then_some((place, backend))
    }

    fn backend(&mut self, now: Timestamp, client: (Protocol, Endpoint)) -> Endpoint {
        let until = until(now, IDLE);
        if let Some((place, backend)) = self.known(now, client) {
            self.clients.keep(place, until);
            return backend;
        }
        let backend = self.backends.by_hash(client);
        // Without a place the hash gives the same backend while the backends stay.
        let _ = self.clients.insert(now, (client, backend), until);
        backend
    }
}

impl Function for Balancer {
    fn handle(&mut self, now: Timestamp, direction: Direction, packet: &mut Packet<'_>) -> Result<(), DropReason> {
        let Flow { protocol, from, to } = *packet.flow();
        let virtual_end = self.backends.virtual_end;
        match direction {
            Direction::Outward if packet.is_fragment() && to.ip == virtual_end.ip => return Err(DropReason::Fragment),
            Direction::Outward if to == virtual_end && packet.has_ports() => {
                let backend = self.backend(now, (protocol, from));
                packet.set_destination(backend);
            }
            Direction::Inward if packet.has_ports() => {
                let client = (protocol, to);
                let backend = match self.known(now, client) {
                    Some((_, backend)) => backend,
                    None => self.backends.by_hash(client),
                };
                if backend == from {
                    packet.set_source(virtual_end);
                }
            }
            Direction::Outward | Direction::Inward => {}
        }
        Ok(())
    }

    fn keeps_order(&self) -> bool {
        true
    }
}
