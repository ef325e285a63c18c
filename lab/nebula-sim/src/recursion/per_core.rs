//! A queue per core: an RPC begins when it has arrived and its core's RPC before it has ended.
//!
//! The NIC keeps an RPC until its core has fewer than [`PER_CORE_BOUND`] RPCs, so its dispatch
//! follows from the core's RPC before the last. RPCs of different cores leave the NIC in no common
//! order, so [`found`](super::found) counts how many an arrival finds there.

use super::block::Block;
use super::found::Found;
use super::loads::Loads;
use super::terms::{Recursion, Stop, Terms};
use crate::system::SLOTS_LAST;
use crate::world::client::header_of;
use nebula_nic::{Choose, PER_CORE_BOUND};

#[derive(Clone, Debug)]
pub(super) struct PerCore<C, L> {
    choice: C,
    loads: L,
    terms: Terms,
    cores: Box<[Core]>,
    dispatched: Vec<u64>,
    found: Found,
}

#[derive(Clone, Copy, Debug, Default)]
struct Core {
    ended: u64,
    /// When the NIC knows of the end of its last RPC, and of the one before.
    known: [u64; 2],
}

const _: () = assert!(PER_CORE_BOUND == 2, "a core keeps the ends of as many RPCs as the NIC gives it");

impl<C: Choose, L: Loads> PerCore<C, L> {
    pub(super) fn new(choice: C, loads: L, cores: u16, terms: Terms) -> Self {
        let cores = vec![Core::default(); usize::from(cores)].into();
        Self { choice, loads, terms, cores, dispatched: Vec::new(), found: Found::default() }
    }
}

impl<C: Choose, L: Loads> Recursion for PerCore<C, L> {
    fn block_rpcs(&self) -> usize {
        // Waiting RPCs are scanned once a block, whose length grows with them: half a look per RPC.
        (2 * self.found.waiting()).next_power_of_two().clamp(1 << 10, 1 << 16)
    }

    fn serve(&mut self, block: &mut Block) -> Result<(), Stop> {
        let Terms { dispatch, receive, notify } = self.terms;
        self.dispatched.resize(block.arrived.len(), 0);
        let drawn = block.arrived.iter().zip(&block.service);
        let served = block.begun.iter_mut().zip(&mut block.ended).zip(&mut self.dispatched);
        for (number, ((&arrived, &service), ((begun, ended), dispatched))) in (block.first..).zip(drawn.zip(served)) {
            let loads = &self.loads;
            let id = self.choice.choose_by_load(&header_of(number), |core| loads.load(core, arrived));
            let core = &mut self.cores[id.index()];
            *dispatched = arrived.max(core.known[1]);
            *begun = dispatched.saturating_add(dispatch).max(core.ended);
            *ended = begun.saturating_add(receive).saturating_add(service);
            *core = Core { ended: *ended, known: [ended.saturating_add(notify), core.known[0]] };
            self.loads.give(id, arrived, core.known[0]);
        }
        self.found.count(&block.arrived, &self.dispatched, &mut block.found);
        if self.found.waiting() > SLOTS_LAST as usize { Err(Stop::Outgrown) } else { Ok(()) }
    }
}
