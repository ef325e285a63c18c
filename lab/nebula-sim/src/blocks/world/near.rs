//! Messages whose first block is next to their core, as CacheDirector places them.

use crate::blocks::scenario::Scenario;
use nebula_memsys::{Block, MemorySystem};
use nebula_nic::{Choose, Header, Rss};
use nebula_workload::Seed;

/// Knows the core of a message before it is written, and moves the message within its slot.
#[derive(Clone, Debug)]
pub(super) struct NearCore {
    choice: Rss,
    headroom_blocks: u32,
}

impl NearCore {
    /// `None` if messages begin where slots do. `seed` is the back end's, for the same choices.
    pub(super) fn of(scenario: &Scenario, seed: Seed) -> Option<Self> {
        let choice = Rss::new(scenario.machine.memory.cores, seed.0);
        let headroom_blocks = scenario.machine.deployment.headroom_blocks;
        scenario.design.header_near_core.then_some(Self { choice, headroom_blocks })
    }

    /// The first block from `start` on in the bank at the core's tile; `start` if there is none.
    pub(super) fn moved(&mut self, memory: &MemorySystem, start: Block, header: &Header) -> Block {
        let core = self.choice.choose(header).0;
        let mut places = (0..=self.headroom_blocks).map(|by| Block(start.0 + by));
        places.find(|&place| memory.is_nearest(core, place)).unwrap_or(start)
    }
}
