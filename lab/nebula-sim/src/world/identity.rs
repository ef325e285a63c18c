//! Station 1, in simulated time: the flow of an RPC and the key that it is about, as policies see
//! them.
//!
//! They are drawn from separate streams, so that arrivals and service times are the same with and
//! without them.

use crate::error::SimError;
use crate::hottest::key_hash;
use crate::load::Load;
use crate::load::population::{Flows, Population};
use nebula_workload::{KeyPicker, Rng, Seed};

/// The flow and the key's hash of one RPC.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Identity {
    pub(super) flow: u32,
    pub(super) key_hash: u32,
}

impl Identity {
    /// Of the RPC of this number, where each has a flow and a key that no other has.
    #[inline(always)]
    pub(super) fn of(number: u32) -> Self {
        Self { flow: number, key_hash: key_hash(number) }
    }
}

/// Where identities come from.
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

    /// Whether several RPCs share a flow.
    #[inline(always)]
    pub(super) const fn share_flows(&self) -> bool {
        self.clients_are_flows || self.flows.is_some()
    }

    /// The identity of the RPC of this number, which this client sends.
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
