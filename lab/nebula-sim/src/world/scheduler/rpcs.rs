//! The RPCs within a server, in reused places up to a bound.

use crate::tally::overheads::Overheads;
use crate::world::servers::{Ended, InFlight};
use nebula_nic::schedule::RpcType;
use nebula_nic::{RpcKey, Timestamp};

#[derive(Clone, Copy, Debug)]
pub(super) struct Rpc {
    pub(super) key: RpcKey,
    pub(super) kind: RpcType,
    pub(super) known: InFlight,
    pub(super) arrived: Timestamp,
    pub(super) remaining_ps: u64,
    /// Time that it waited for its first begin, if that has come.
    pub(super) queued_ps: Option<u64>,
    pub(super) overheads: Overheads,
}

#[derive(Debug)]
pub(super) struct Rpcs {
    places: Vec<Rpc>,
    unused: Vec<u32>,
    places_max: u32,
}

impl Rpcs {
    pub(super) const fn new(places_max: u32) -> Self {
        Self { places: Vec::new(), unused: Vec::new(), places_max }
    }

    #[inline]
    pub(super) fn insert(&mut self, rpc: Rpc) -> Option<u32> {
        if let Some(place) = self.unused.pop() {
            self.places[place as usize] = rpc;
            return Some(place);
        }
        let place = u32::try_from(self.places.len()).ok().filter(|&place| place < self.places_max)?;
        self.places.push(rpc);
        Some(place)
    }

    #[inline]
    pub(super) fn get(&self, place: u32) -> &Rpc {
        &self.places[place as usize]
    }

    #[inline]
    pub(super) fn get_mut(&mut self, place: u32) -> &mut Rpc {
        &mut self.places[place as usize]
    }

    #[inline]
    pub(super) fn end(&mut self, place: u32) -> Ended {
        self.unused.push(place);
        let Rpc { key, known, queued_ps, overheads, .. } = *self.get(place);
        Ended { rpc: key, core: None, served: known, queued_ps: queued_ps.unwrap_or(0), overheads }
    }
}
