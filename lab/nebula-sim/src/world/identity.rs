//! Station 1, in simulated time: an RPC's flow and key, as policies see them.
//!
//! They have separate streams, so arrivals and service times are the same with and without them.

use crate::error::SimError;
use crate::hottest::key_hash;
use crate::load::Load;
use crate::load::population::{Flows, Population};
use nebula_workload::{KeyPicker, Rng, Seed};

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Identity {
    pub(super) flow: u32,
    pub(super) key_hash: u32,
}

impl Identity {
    /// The identity of RPC `number` if each has a separate flow and key.
    #[inline(always)]
    pub(super) fn of(number: u32) -> Self {
        Self { flow: number, key_hash: key_hash(number) }
    }
}

pub(super) struct Identities {
    flows: Option<Draws>,
    keys: Option<Draws>,
    clients_are_flows: bool,
}

struct Draws {
    picker: KeyPicker,
    rng: Rng,
}

impl Draws {
    fn try_new(population: &Population, rng: Rng) -> Result<Self, SimError> {
        Ok(Self { picker: population.popularity.over(population.count.into())?, rng })
    }

    #[expect(clippy::cast_possible_truncation, reason = "below a count that is 32 bits")]
    fn draw(&mut self) -> u32 {
        self.picker.next_key(&mut self.rng).0 as u32
    }
}

impl Identities {
    pub(super) fn try_new(load: &Load, seed: Seed) -> Result<Self, SimError> {
        let flows = if let Flows::Among(flows) = &load.flows { Some(flows) } else { None };
        let draws = |population: Option<&Population>, stream| {
            population.map(|population| Draws::try_new(population, seed.stream(stream))).transpose()
        };
        Ok(Self {
            flows: draws(flows, "flows")?,
            keys: draws(load.keys.as_ref(), "keys")?,
            clients_are_flows: load.flows == Flows::Clients,
        })
    }

    #[inline(always)]
    pub(super) const fn share_flows(&self) -> bool {
        self.clients_are_flows || self.flows.is_some()
    }

    #[inline(always)]
    pub(super) fn next(&mut self, number: u32, client: u32) -> Identity {
        let flow = match &mut self.flows {
            Some(draws) => draws.draw(),
            None if self.clients_are_flows => client,
            None => number,
        };
        let key = self.keys.as_mut().map_or(number, Draws::draw);
        Identity { flow, key_hash: key_hash(key) }
    }
}
