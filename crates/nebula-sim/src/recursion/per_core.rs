//! A queue for each core: an RPC begins when it has arrived and the RPC before it at its core has ended.
//!
//! The NIC keeps an RPC until its core has fewer than [`PER_CORE_BOUND`] RPCs, so its dispatch follows from the RPC before the one before
//! it. How many RPCs an arrival finds at the NIC is counted over all cores, whose RPCs are dispatched in no common order: [`Found`].

use super::block::Block;
use super::{Recursion, Terms};
use crate::system::SLOTS_LAST;
use crate::world::header_of;
use nebula_nic::{Choose, PER_CORE_BOUND};

/// The state of the recursion, with the policy that chooses the core.
#[derive(Clone, Debug)]
pub(super) struct PerCore<C> {
    choice: C,
    terms: Terms,
    cores: Box<[Core]>,
    /// When each RPC of the block leaves the NIC.
    dispatched: Vec<u64>,
    found: Found,
}

/// A core, by the RPCs that it was given last.
#[derive(Clone, Copy, Debug, Default)]
struct Core {
    /// When the last one ends.
    ended: u64,
    /// When the NIC knows of the end of the last one, and of the one before.
    known: [u64; 2],
}

const _: () = assert!(PER_CORE_BOUND == 2, "a core keeps the ends of as many RPCs as the NIC gives it");

impl<C: Choose> PerCore<C> {
    /// All cores below `cores` idle.
    pub(super) fn new(choice: C, cores: u16, terms: Terms) -> Self {
        let cores = vec![Core::default(); usize::from(cores)].into();
        Self { choice, terms, cores, dispatched: Vec::new(), found: Found::default() }
    }
}

impl<C: Choose> Recursion for PerCore<C> {
    fn block_rpcs(&self) -> usize {
        // The RPCs that wait are looked at once a block: of longer blocks where more wait, that is a constant number for each.
        self.found.waiting.len().next_power_of_two().clamp(1 << 9, 1 << 16)
    }

    fn serve(&mut self, block: &mut Block) -> bool {
        let Terms { dispatch, receive, notify } = self.terms;
        self.dispatched.resize(block.arrived.len(), 0);
        let drawn = block.arrived.iter().zip(&block.service);
        let served = block.begun.iter_mut().zip(&mut block.ended).zip(&mut self.dispatched);
        for (number, ((&arrived, &service), ((begun, ended), dispatched))) in (block.first..).zip(drawn.zip(served)) {
            let core = &mut self.cores[self.choice.choose(&header_of(number)).index()];
            *dispatched = arrived.max(core.known[1]);
            *begun = dispatched.saturating_add(dispatch).max(core.ended);
            *ended = begun.saturating_add(receive).saturating_add(service);
            *core = Core { ended: *ended, known: [ended.saturating_add(notify), core.known[0]] };
        }
        self.found.count(&block.arrived, &self.dispatched, &mut block.found);
        self.found.waiting.len() <= SLOTS_LAST as usize
    }
}

/// How many RPCs each arrival finds waiting.
///
/// An RPC that waits is found by the arrivals after it, up to the first one at or after its dispatch. So each RPC adds one where it begins
/// to be found and takes one away where it is not found any more, and a running sum is what is found.
#[derive(Clone, Debug, Default)]
struct Found {
    /// When the RPCs are dispatched that still wait after the last block.
    waiting: Vec<u64>,
    /// By arrival of the block: how many more are found than by the arrival before.
    changes: Vec<i32>,
    at: Places,
}

impl Found {
    fn count(&mut self, arrived: &[u64], dispatched: &[u64], found: &mut [u32]) {
        let Self { waiting, changes, at } = self;
        at.index(arrived);
        changes.clear();
        changes.resize(arrived.len() + 1, 0);
        #[expect(clippy::cast_possible_truncation, reason = "no more than fit in a run")]
        let mut now_waiting = waiting.len() as u32;
        let mut leaves_within = |left: u64| {
            let place = at.first_from(arrived, left);
            changes[place] -= 1;
            place < arrived.len()
        };
        waiting.retain(|&left| !leaves_within(left));
        for (&arrived, &left) in arrived.iter().zip(dispatched) {
            if left > arrived && !leaves_within(left) {
                waiting.push(left);
            }
        }
        for (index, found) in found.iter_mut().enumerate() {
            now_waiting = now_waiting.wrapping_add_signed(changes[index]);
            *found = now_waiting;
            now_waiting += u32::from(dispatched[index] > arrived[index]);
        }
    }
}

/// Where in a block a time lies: the times between the first and the last arrival are cut into as many equal parts as there are arrivals.
#[derive(Clone, Debug, Default)]
struct Places {
    first_ps: u64,
    last_ps: u64,
    parts_per_ps: f64,
    /// By part: the first arrival in it or after it. One more than there are parts.
    begins: Vec<u32>,
}

impl Places {
    #[expect(clippy::cast_possible_truncation, reason = "a block has at most 2^16 RPCs")]
    fn index(&mut self, arrived: &[u64]) {
        let (Some(&first_ps), Some(&last_ps)) = (arrived.first(), arrived.last()) else { return };
        let count = arrived.len();
        let parts_per_ps = (count - 1) as f64 / (last_ps - first_ps).max(1) as f64;
        (self.first_ps, self.last_ps, self.parts_per_ps) = (first_ps, last_ps, parts_per_ps);
        self.begins.clear();
        for (index, &at) in arrived.iter().enumerate() {
            let part = self.part(at);
            if part >= self.begins.len() {
                self.begins.resize(part + 1, index as u32);
            }
        }
        self.begins.resize(count + 1, count as u32);
    }

    /// The part that a time between the first and the last arrival lies in. A later time never lies in an earlier part.
    #[inline(always)]
    #[expect(clippy::cast_possible_truncation, reason = "below the number of arrivals, or a little more by rounding")]
    fn part(&self, at: u64) -> usize {
        ((at - self.first_ps) as i64 as f64 * self.parts_per_ps) as i64 as usize
    }

    /// The first arrival at `at` or later; the number of arrivals if there is none.
    #[inline(always)]
    fn first_from(&self, arrived: &[u64], at: u64) -> usize {
        if at > self.last_ps {
            return arrived.len();
        }
        if at <= self.first_ps {
            return 0;
        }
        let part = self.part(at);
        let (from, to) = (self.begins[part] as usize, self.begins[part + 1] as usize);
        from + arrived[from..to].partition_point(|&arrived| arrived < at)
    }
}
