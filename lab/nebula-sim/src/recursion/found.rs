//! How many RPCs each arrival finds waiting, where RPCs are dispatched in another order than they
//! arrive.
//!
//! An RPC that waits is found by the arrivals after it, up to the first one at or after its
//! dispatch. So each RPC adds one where it begins to be found and takes one away where it is not
//! found any more, and a running sum is what is found.

/// The RPCs that wait, from block to block.
#[derive(Clone, Debug, Default)]
pub(super) struct Found {
    /// When the RPCs are dispatched that still wait after the last block.
    waiting: Vec<u64>,
    /// By arrival of the block: how many fewer are found than by the arrival before, but for that
    /// one itself.
    left: Vec<u32>,
    places: Places,
}

impl Found {
    /// RPCs that wait after the last block.
    pub(super) fn waiting(&self) -> usize {
        self.waiting.len()
    }

    /// Fills in how many RPCs each arrival of a block finds, given when each RPC of the block is
    /// dispatched.
    ///
    /// # Cost
    ///
    /// O(arrivals + RPCs that wait) without a branch for each; a search where many arrive in the
    /// mean time between two arrivals.
    pub(super) fn count(&mut self, arrived: &[u64], dispatched: &[u64], found: &mut [u32]) {
        let Self { waiting, left, places } = self;
        places.index(arrived);
        left.clear();
        left.resize(arrived.len() + 1, 0);
        #[expect(clippy::cast_possible_truncation, reason = "no more than fit in a run")]
        let mut within = waiting.len() as u32;
        let mut kept = 0;
        for index in 0..waiting.len() {
            let at = waiting[index];
            let place = places.first_from(at);
            left[place] += 1;
            waiting[kept] = at;
            kept += usize::from(place == arrived.len());
        }
        waiting.resize(kept + arrived.len(), 0);
        for (&arrived_at, &at) in arrived.iter().zip(dispatched) {
            // An RPC that does not wait leaves when it arrives, and is not counted below.
            let waits = at > arrived_at;
            let place = places.first_from(at);
            left[place] += u32::from(waits);
            waiting[kept] = at;
            kept += usize::from(waits && place == arrived.len());
        }
        waiting.truncate(kept);
        for (((found, left), arrived), dispatched) in found.iter_mut().zip(left).zip(arrived).zip(dispatched) {
            within -= *left;
            *found = within;
            within += u32::from(dispatched > arrived);
        }
    }
}

/// Where in a block a time lies: the times between the first and the last arrival are cut into as
/// many equal parts as there are arrivals.
#[derive(Clone, Debug, Default)]
struct Places {
    /// The arrivals of the block, and [`AHEAD`] times that never come.
    arrived: Vec<u64>,
    first_ps: u64,
    last_ps: u64,
    /// Parts in a picosecond, in units of 2⁻⁶⁴.
    parts_per_ps: u64,
    /// By part: the first arrival in it or after it.
    begins: Vec<u32>,
}

/// Arrivals that are looked at together: 3 of 100 look-ups need more.
const AHEAD: usize = 3;

impl Places {
    #[expect(clippy::cast_possible_truncation, reason = "a quotient is below 2^64")]
    fn index(&mut self, arrived: &[u64]) {
        let (Some(&first_ps), Some(&last_ps)) = (arrived.first(), arrived.last()) else { return };
        let count = arrived.len();
        self.arrived.clear();
        self.arrived.extend_from_slice(arrived);
        self.arrived.extend_from_slice(&[u64::MAX; AHEAD]);
        (self.first_ps, self.last_ps) = (first_ps, last_ps);
        let range = u128::from((last_ps - first_ps).max(count as u64));
        self.parts_per_ps = (((count as u128 - 1) << 64) / range) as u64;
        // First how many lie in each part, one place further up, and then their running sum.
        self.begins.clear();
        self.begins.resize(count + 1, 0);
        for &at in arrived {
            let part = self.part(at);
            self.begins[part + 1] += 1;
        }
        let mut sum = 0;
        for begin in &mut self.begins {
            sum += *begin;
            *begin = sum;
        }
    }

    /// The part that a time between the first and the last arrival lies in: a later time never lies
    /// in an earlier part.
    #[inline(always)]
    #[expect(clippy::cast_possible_truncation, reason = "below the number of arrivals")]
    fn part(&self, at: u64) -> usize {
        ((u128::from(at - self.first_ps) * u128::from(self.parts_per_ps)) >> 64) as usize
    }

    /// The first arrival at `at` or later; the number of arrivals if there is none.
    #[inline(always)]
    fn first_from(&self, at: u64) -> usize {
        let place = self.begins[self.part(at.clamp(self.first_ps, self.last_ps))] as usize;
        // They are in order, so those of the next that come before `at` are the first ones.
        let mut before = 0;
        for arrived in &self.arrived[place..place + AHEAD] {
            before += usize::from(*arrived < at);
        }
        if before == AHEAD { self.first_beyond(place + AHEAD, at) } else { place + before }
    }

    /// The same, among the arrivals from `place` on.
    #[cold]
    fn first_beyond(&self, place: usize, at: u64) -> usize {
        place + self.arrived[place..].partition_point(|&arrived| arrived < at)
    }
}
