//! `work-stealing`: *from whose queue does an idle core steal?*
//!
//! An idle core looks at the other queues from a random one on, so that thieves do not all choose
//! the same victim. It takes the oldest RPC there, which is closest to missing the SLO.

use crate::core_set::CoreSet;
use crate::hash::Rng;
use crate::id::CoreId;

/// The state of one idle core for stealing. Cost: O(1) for up to 64 cores, O(cores / 64) beyond.
///
/// Source: ZygOS: the idle loop polls the shuffle queues of the other cores in random order.
///
/// # Examples
///
/// ```
/// use nebula_nic::{CoreId, CoreSet};
/// use nebula_nic::schedule::Thief;
///
/// let mut queues = CoreSet::empty(4);
/// let mut thief = Thief::new(CoreId(0), 4, 1);
/// assert_eq!(thief.choose(&queues), None);
/// queues.insert(CoreId(2));
/// assert_eq!(thief.choose(&queues), Some(CoreId(2)));
/// queues.insert(CoreId(0));
/// assert_eq!(thief.choose(&queues), Some(CoreId(0)), "its own queue comes first");
/// ```
#[derive(Clone, Debug)]
pub struct Thief {
    core: CoreId,
    cores: u32,
    rng: Rng,
}

impl Thief {
    /// The idle core `core` of the cores below `cores`; thieves of one seed draw differently.
    #[must_use]
    pub fn new(core: CoreId, cores: u16, seed: u64) -> Self {
        Self { core, cores: u32::from(cores), rng: Rng::new(seed ^ (u64::from(core.0) << 32)) }
    }

    /// The queue to take from, of those that `queues` marks as not empty; its own if marked.
    #[inline]
    pub fn choose(&mut self, queues: &CoreSet) -> Option<CoreId> {
        if queues.is_empty() {
            return None;
        }
        if queues.contains(self.core) {
            return Some(self.core);
        }
        #[expect(clippy::cast_possible_truncation, reason = "below a number of cores that is a u16")]
        let from = CoreId(self.rng.below(self.cores) as u16);
        queues.first_from(from)
    }
}
