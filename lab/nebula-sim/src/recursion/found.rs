//! How many RPCs each arrival finds waiting, where RPCs are not dispatched in the order of arrival.
//!
//! An RPC that waits is found by the arrivals after it, up to the first at or after its dispatch.
//! So each RPC adds one at its arrival and subtracts one at that first arrival, in a running sum.

#[derive(Clone, Debug, Default)]
pub(super) struct Found {
    /// The dispatch times of the RPCs that still wait after the last block.
    waiting: Vec<u64>,
    /// By arrival of the block: how many RPCs left since the arrival before.
    left: Vec<u32>,
    places: Places,
}

impl Found {
    pub(super) fn waiting(&self) -> usize {
        self.waiting.len()
    }

    /// Fills in how many RPCs each arrival of a block finds, given the dispatch time of each;
    /// O(arrivals + RPCs that wait), without a branch per RPC.
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
            // An RPC that does not wait leaves when it arrives, and never counts.
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

/// Finds the place of a time in a block: the time from the first to the last arrival is cut into as
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

/// Arrivals compared at once: 3 of 100 look-ups need more.
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
        // First the number of arrivals in each part, one place further up; then their running sum.
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

    /// The part of a time between the first and the last arrival. It never falls as time grows.
    #[inline(always)]
    #[expect(clippy::cast_possible_truncation, reason = "below the number of arrivals")]
    fn part(&self, at: u64) -> usize {
        ((u128::from(at - self.first_ps) * u128::from(self.parts_per_ps)) >> 64) as usize
    }

    /// The first arrival at `at` or later; the number of arrivals if there is none.
    #[inline(always)]
    fn first_from(&self, at: u64) -> usize {
        let place = self.begins[self.part(at.clamp(self.first_ps, self.last_ps))] as usize;
        // They are in order, so those before `at` are the first ones.
        let mut before = 0;
        for arrived in &self.arrived[place..place + AHEAD] {
            before += usize::from(*arrived < at);
        }
        if before == AHEAD { self.first_beyond(place + AHEAD, at) } else { place + before }
    }

    #[cold]
    fn first_beyond(&self, place: usize, at: u64) -> usize {
        place + self.arrived[place..].partition_point(|&arrived| arrived < at)
    }
}
