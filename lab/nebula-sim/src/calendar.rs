//! The event calendar: a tournament tree of integer keys.
//!
//! A simulated core, DRAM bank or generator has at most one pending event. So each such *source*
//! has a leaf of a tree, whose inner nodes hold the smallest key of their four children.
//!
//! ```text
//!                       [ 7·2 ]                       key = time, then source, in one u64
//!      [ 7·2       8·5         9·9        never ]     an update takes log4(sources) minima of four on the way up,
//!    [9·0 never 7·2 8·3] [never 8·5 9·6 9·7] …        without a branch and without a comparison of two fields
//! ```
//!
//! If two events have the same time, the one with the lower source number is first, on every
//! machine.

use nebula_nic::Timestamp;

const NEVER: u64 = u64::MAX;

/// A power of four, at least 4.
const fn leaves_for(sources: usize) -> usize {
    let mut leaves = 4;
    while leaves < sources {
        leaves *= 4;
    }
    leaves
}

/// The pending event of each source, and the earliest of them.
///
/// [`set`](Self::set) and [`clear`](Self::clear) take O(log sources) without branches,
/// [`next`](Self::next) O(1); there is no allocation after construction.
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
    /// Groups of four siblings: the leaves first, then the level above, and so on up to one group.
    groups: Box<[[u64; 4]]>,
    root: u64,
    leaf_groups: usize,
    source_bits: u32,
    latest: Timestamp,
}

impl Calendar {
    /// A calendar for the sources `0..sources`, without any pending event.
    #[must_use]
    pub fn new(sources: usize) -> Self {
        let leaves = leaves_for(sources);
        // 1 + 4 + … + leaves / 4 groups; for 17 to 20 sources five groups of leaves and two above.
        let (groups, leaf_groups) = match sources {
            17..=20 => (7, 5),
            _ => ((leaves - 1) / 3, leaves / 4),
        };
        let groups = vec![[NEVER; 4]; groups].into();
        let source_bits = leaves.trailing_zeros();
        Self { groups, root: NEVER, leaf_groups, source_bits, latest: Self::latest_of(sources) }
    }

    pub(crate) const fn latest_of(sources: usize) -> Timestamp {
        Timestamp::from_ps((NEVER >> leaves_for(sources).trailing_zeros()) - 1)
    }

    /// The latest time that a key can hold; with 1,024 sources about five hours.
    #[must_use]
    #[inline]
    pub fn latest(&self) -> Timestamp {
        self.latest
    }

    /// Sets the time of the event of `source`, capped at [`latest`](Self::latest).
    ///
    /// # Panics
    ///
    /// If there is no such source.
    #[inline]
    pub fn set(&mut self, source: usize, at: Timestamp) {
        self.put(source, (at.min(self.latest).as_ps() << self.source_bits) | source as u64);
    }

    /// Removes the event of `source`.
    ///
    /// # Panics
    ///
    /// If there is no such source.
    #[inline]
    pub fn clear(&mut self, source: usize) {
        self.put(source, NEVER);
    }

    /// The earliest event: its time and its source.
    #[must_use]
    #[inline]
    pub fn next(&self) -> Option<(Timestamp, usize)> {
        let key = self.root;
        (key != NEVER).then(|| (Timestamp::from_ps(key >> self.source_bits), self.source_of(key)))
    }

    /// Picoseconds of the earliest event; if there is none, a time that is never reached.
    #[must_use]
    #[inline]
    pub fn next_ps(&self) -> u64 {
        self.root >> self.source_bits
    }

    #[expect(clippy::cast_possible_truncation, reason = "the low bits hold a source, which is an index")]
    #[inline]
    fn source_of(&self, key: u64) -> usize {
        key as usize & ((1 << self.source_bits) - 1)
    }

    #[inline(always)]
    fn put(&mut self, source: usize, key: u64) {
        assert!(source < 4 * self.leaf_groups, "a calendar has no source beyond those it was made for");
        // Unrolled and without bounds checks for the papers' numbers of cores.
        self.root = if let Ok(groups) = <&mut [[u64; 4]; 5]>::try_from(&mut *self.groups) {
            put_of_16(groups, source, key)
        } else if let Ok(groups) = <&mut [[u64; 4]; 7]>::try_from(&mut *self.groups) {
            put_of_20(groups, source, key)
        } else if let Ok(groups) = <&mut [[u64; 4]; 21]>::try_from(&mut *self.groups) {
            put_of_64(groups, source, key)
        } else {
            put_of_any(&mut self.groups, self.leaf_groups, source, key)
        };
    }
}

/// Sets the key of a source of 16; returns the smallest key of all.
#[inline(always)]
fn put_of_16(groups: &mut [[u64; 4]; 5], source: usize, key: u64) -> u64 {
    let source = source % 16;
    let smallest = put_in(&mut groups[source / 4], source, key);
    put_in(&mut groups[4], source / 4, smallest)
}

/// The same for 20: 16 cores and other sources.
#[inline(always)]
fn put_of_20(groups: &mut [[u64; 4]; 7], source: usize, key: u64) -> u64 {
    let group = source / 4 % 5;
    let smallest = put_in(&mut groups[group], source, key);
    groups[5 + group / 4][group % 4] = smallest;
    let [.., [a, b, c, d], [e, ..]] = *groups;
    a.min(b).min(c.min(d)).min(e)
}

#[inline(always)]
fn put_of_64(groups: &mut [[u64; 4]; 21], source: usize, key: u64) -> u64 {
    let source = source % 64;
    let smallest = put_in(&mut groups[source / 4], source, key);
    let smallest = put_in(&mut groups[16 + source / 16], source / 4, smallest);
    put_in(&mut groups[20], source / 16, smallest)
}

/// Sets one key of a group; returns its smallest one.
#[inline(always)]
fn put_in(group: &mut [u64; 4], place: usize, key: u64) -> u64 {
    group[place % 4] = key;
    group[0].min(group[1]).min(group[2].min(group[3]))
}

#[inline]
fn put_of_any(groups: &mut [[u64; 4]], leaf_groups: usize, source: usize, key: u64) -> u64 {
    let (mut first, mut width, mut place, mut smallest) = (0, leaf_groups, source, key);
    while width > 0 {
        smallest = put_in(&mut groups[first + place / 4], place, smallest);
        first += width;
        width /= 4;
        place /= 4;
    }
    smallest
}

#[cfg(test)]
mod tests {
    use super::*;
    use nebula_workload::Seed;

    #[test]
    fn the_earliest_of_many_comes_first_and_ties_go_by_source() {
        let mut rng = Seed(5).stream("calendar");
        for sources in [1, 2, 3, 16, 17, 19, 20, 21, 60, 64, 65, 1024] {
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
        for sources in [1, 16, 20, 1024] {
            let mut calendar = Calendar::new(sources);
            let latest = calendar.latest();
            calendar.set(sources - 1, latest);
            assert_eq!(calendar.next(), Some((latest, sources - 1)));
        }
    }
}
