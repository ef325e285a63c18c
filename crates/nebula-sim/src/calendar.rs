//! What happens next? A tournament of integer keys.
//!
//! A simulated core, a DRAM bank or a generator has at most one event to come: the end of what it does. So the events need no
//! general heap: each *source* has a leaf of a binary tree, and each inner node holds the smaller key of its two children.
//!
//! ```text
//!              [ 7·2 ]            key = time, then source, in one u64
//!         [ 9·0 ]   [ 7·2 ]       an update takes log2(sources) minima on the way up,
//!      [9·0] [never] [7·2] [8·3]  without a branch and without a comparison of two fields
//! ```
//!
//! Of two events at one time the one of the lower source comes first, on every machine.

use nebula_nic::Timestamp;

/// The key of a source that has nothing to come.
const NEVER: u64 = u64::MAX;

/// The next event of each source, and the earliest of them.
///
/// # Cost
///
/// [`set`](Self::set) and [`clear`](Self::clear) O(log sources) without branches, [`next`](Self::next) O(1); no allocation after
/// construction.
///
/// # Examples
///
/// ```
/// use nebula_nic::Timestamp;
/// use nebula_sim::Calendar;
///
/// let mut calendar = Calendar::new(3);
/// calendar.set(0, Timestamp::from_ps(9));
/// calendar.set(2, Timestamp::from_ps(7));
/// assert_eq!(calendar.next(), Some((Timestamp::from_ps(7), 2)));
/// calendar.clear(2);
/// assert_eq!(calendar.next(), Some((Timestamp::from_ps(9), 0)));
/// ```
#[derive(Clone, Debug)]
pub struct Calendar {
    /// The root at 1, the children of `i` at `2i` and `2i + 1`, the leaves from `leaves` on.
    keys: Box<[u64]>,
    leaves: usize,
    source_bits: u32,
}

impl Calendar {
    /// A calendar for the sources below `sources`, none of which has an event to come.
    #[must_use]
    pub fn new(sources: usize) -> Self {
        let leaves = sources.max(2).next_power_of_two();
        Self { keys: vec![NEVER; 2 * leaves].into(), leaves, source_bits: leaves.trailing_zeros() }
    }

    /// The latest time that a key has room for; with 1,024 sources about five hours.
    #[must_use]
    pub fn latest(&self) -> Timestamp {
        Timestamp::from_ps((NEVER >> self.source_bits) - 1)
    }

    /// Sets when the event of `source` comes; beyond [`latest`](Self::latest) it never comes.
    ///
    /// # Panics
    ///
    /// If there is no such source.
    #[inline]
    pub fn set(&mut self, source: usize, at: Timestamp) {
        debug_assert!(at <= self.latest(), "beyond what a key has room for");
        self.put(source, (at.as_ps() << self.source_bits) | source as u64);
    }

    /// Takes the event of `source` away.
    ///
    /// # Panics
    ///
    /// If there is no such source.
    #[inline]
    pub fn clear(&mut self, source: usize) {
        self.put(source, NEVER);
    }

    /// The earliest event: when, and whose.
    #[must_use]
    #[inline]
    pub fn next(&self) -> Option<(Timestamp, usize)> {
        let key = self.keys[1];
        (key != NEVER).then(|| (Timestamp::from_ps(key >> self.source_bits), self.source_of(key)))
    }

    /// When the earliest event comes, or a time that never does.
    #[must_use]
    #[inline]
    pub fn next_ps(&self) -> u64 {
        self.keys[1] >> self.source_bits
    }

    #[expect(clippy::cast_possible_truncation, reason = "the low bits hold a source, which is an index")]
    #[inline]
    fn source_of(&self, key: u64) -> usize {
        key as usize & (self.leaves - 1)
    }

    #[inline]
    fn put(&mut self, source: usize, key: u64) {
        let keys = &mut self.keys[..2 * self.leaves];
        let mut node = self.leaves + source;
        keys[node] = key;
        let mut smaller = key;
        while node > 1 {
            smaller = smaller.min(keys[node ^ 1]);
            node >>= 1;
            keys[node] = smaller;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nebula_workload::Seed;

    #[test]
    fn the_earliest_of_many_comes_first_and_ties_go_by_source() {
        let mut rng = Seed(5).stream("calendar");
        for sources in [1, 2, 3, 16, 60, 64, 65, 1024] {
            let mut calendar = Calendar::new(sources);
            let mut model: Vec<Option<u64>> = vec![None; sources];
            for _ in 0..20_000 {
                let source = usize::try_from(rng.below(sources as u64)).unwrap();
                let at = rng.below(50);
                model[source] = (at > 5).then_some(at);
                match model[source] {
                    Some(at) => calendar.set(source, Timestamp::from_ps(at)),
                    None => calendar.clear(source),
                }
                let expected = (0..sources).filter_map(|source| Some((model[source]?, source))).min();
                let next = calendar.next().map(|(at, source)| (at.as_ps(), source));
                assert_eq!(next, expected);
                assert!(next.is_none_or(|(at, _)| at == calendar.next_ps()));
            }
        }
    }

    #[test]
    fn the_latest_time_has_room_for_every_source() {
        for sources in [1, 16, 1024] {
            let mut calendar = Calendar::new(sources);
            let latest = calendar.latest();
            calendar.set(sources - 1, latest);
            assert_eq!(calendar.next(), Some((latest, sources - 1)));
        }
    }
}
