//! Free space between the items of a [`Mode::Store`](crate::Mode::Store): runs of granules of
//! deleted, expired and moved items.
//!
//! ```text
//! word 0   an item without key            so that no lookup finds one here
//! word 1   1 + position of the next run of its class; 0: none
//! word 2   granules
//! ```
//! Runs are in lists by size, in their own memory: each size up to 64 granules has its own, longer
//! ones share one up to twice the size. A run is one granule, or even-aligned and of an even
//! number, as items are. Neighbors are joined only when neither lists nor tail have room, and
//! enough was freed to be worth the walk; then a run that ends at the tail goes back to it.
//!
//! **Invariant:** no lookup finds an item in a run. A writer frees a run only while it holds the
//! item's bucket and has removed its entry. **Invariant:** a thread that takes a run writes into it
//! after the version of that bucket has moved, and every reader that sees one of these words sees
//! the version too: the lock on the lists passes from the one thread to the other, and a fence
//! comes before the words. So a reader that began with the old entry finds its bucket changed, and
//! does not take the new item for the old.

use crate::backoff::Backoff;
use crate::index_of::index_of;
use crate::item::{self, GRANULE_WORDS};
use nebula_sys::sync::{AtomicBool, AtomicU64, Ordering, fence};

/// Lists of runs of 1, 2, 4, … 64 granules.
const EXACT: usize = 33;
/// And of runs up to 2⁴³ granules.
const CLASSES: usize = EXACT + 42;
/// Runs that are looked at for a long enough one, in a list of several sizes.
const TRIES: usize = 16;

const NEXT: usize = 1;
const GRANULES: usize = 2;
const _: () = assert!(GRANULES < GRANULE_WORDS);

pub(crate) struct Runs {
    is_held: AtomicBool,
    /// Granules in all runs: shows whether a search is worth it.
    granules: AtomicU64,
    /// Runs in all lists, and runs freed since neighbors were last joined.
    runs: AtomicU64,
    freed: AtomicU64,
    /// For each class, 1 + the position of its first run.
    heads: Vec<AtomicU64>,
}

fn class_of(granules: u64) -> usize {
    let lines = index_of(granules / 2);
    if lines < EXACT { lines } else { EXACT + lines.ilog2() as usize - EXACT.ilog2() as usize }
}

impl Runs {
    pub(crate) fn new(is_used: bool) -> Self {
        let zero = || AtomicU64::new(0);
        let classes = if is_used { CLASSES } else { 0 };
        let heads = (0..classes).map(|_| zero()).collect();
        Self { is_held: AtomicBool::new(false), granules: zero(), runs: zero(), freed: zero(), heads }
    }

    #[inline]
    pub(crate) fn granules(&self) -> u64 {
        self.granules.load(Ordering::Relaxed)
    }

    /// The right to the lists in `words`, the words of the log.
    pub(crate) fn hold<'a>(&'a self, words: &'a [AtomicU64]) -> HeldRuns<'a> {
        let mut backoff = Backoff::default();
        // Acquire: pairs with the Release of `HeldRuns::drop`.
        while self.is_held.compare_exchange_weak(false, true, Ordering::Acquire, Ordering::Relaxed).is_err() {
            backoff.wait();
        }
        HeldRuns { runs: self, words }
    }
}

pub(crate) struct HeldRuns<'a> {
    runs: &'a Runs,
    words: &'a [AtomicU64],
}

impl HeldRuns<'_> {
    fn word(&self, position: u64, at: usize) -> &AtomicU64 {
        &self.words[index_of(position) * GRANULE_WORDS + at]
    }

    fn length(&self, position: u64) -> u64 {
        self.word(position, GRANULES).load(Ordering::Relaxed)
    }

    /// Adds a run whose entry the caller has removed; splits it where it begins or ends in a line.
    pub(crate) fn free(&self, mut position: u64, mut granules: u64) {
        if granules > 1 && position % 2 == 1 {
            self.push(position, 1);
            (position, granules) = (position + 1, granules - 1);
        }
        if granules > 1 && granules % 2 == 1 {
            granules -= 1;
            self.push(position + granules, 1);
        }
        if granules > 0 {
            self.push(position, granules);
        }
    }

    fn push(&self, position: u64, granules: u64) {
        let head = &self.runs.heads[class_of(granules)];
        item::write_gap(&self.words[index_of(position) * GRANULE_WORDS..]);
        self.word(position, NEXT).store(head.load(Ordering::Relaxed), Ordering::Relaxed);
        self.word(position, GRANULES).store(granules, Ordering::Relaxed);
        head.store(position + 1, Ordering::Relaxed);
        self.runs.granules.fetch_add(granules, Ordering::Relaxed);
        self.runs.runs.fetch_add(1, Ordering::Relaxed);
        self.runs.freed.fetch_add(1, Ordering::Relaxed);
    }

    /// Takes a run of exactly `granules`, or the beginning of a longer one.
    pub(crate) fn take(&self, granules: u64) -> Option<u64> {
        let first = class_of(granules);
        let position = (first..CLASSES).find_map(|class| self.unlink(class, granules))?;
        let length = self.length(position);
        self.runs.granules.fetch_sub(length, Ordering::Relaxed);
        self.runs.runs.fetch_sub(1, Ordering::Relaxed);
        if length > granules {
            self.free(position + granules, length - granules);
        }
        // Release fence: the second invariant.
        fence(Ordering::Release);
        Some(position)
    }

    /// Removes the first run of at least `granules` from a list.
    fn unlink(&self, class: usize, granules: u64) -> Option<u64> {
        let mut link = &self.runs.heads[class];
        for _ in 0..TRIES {
            let position = link.load(Ordering::Relaxed).checked_sub(1)?;
            let next = self.word(position, NEXT);
            if self.length(position) >= granules {
                link.store(next.load(Ordering::Relaxed), Ordering::Relaxed);
                return Some(position);
            }
            link = next;
        }
        None
    }

    /// Whether enough was freed since the last time.
    pub(crate) fn is_worth_joining(&self) -> bool {
        let [freed, runs] = [&self.runs.freed, &self.runs.runs].map(|count| count.load(Ordering::Relaxed));
        freed > 0 && freed >= runs / 8
    }

    /// Joins neighbors, sorting all runs, and returns the run that ends at `tail`, if there is one,
    /// without keeping it in a list.
    pub(crate) fn join(&self, tail: u64) -> Option<u64> {
        let mut runs = self.empty();
        runs.sort_unstable();
        let mut at_tail = None;
        let mut joined: Option<(u64, u64)> = None;
        for (position, granules) in runs {
            match &mut joined {
                Some((begin, length)) if *begin + *length == position => *length += granules,
                _ => {
                    if let Some((begin, length)) = joined.replace((position, granules)) {
                        self.free(begin, length);
                    }
                }
            }
        }
        match joined {
            Some((begin, length)) if begin + length == tail => at_tail = Some(begin),
            Some((begin, length)) => self.free(begin, length),
            None => {}
        }
        self.runs.freed.store(0, Ordering::Relaxed);
        at_tail
    }

    fn empty(&self) -> Vec<(u64, u64)> {
        let mut runs = Vec::new();
        for head in &self.runs.heads {
            let mut link = head.swap(0, Ordering::Relaxed);
            while let Some(position) = link.checked_sub(1) {
                runs.push((position, self.length(position)));
                link = self.word(position, NEXT).load(Ordering::Relaxed);
            }
        }
        self.runs.granules.store(0, Ordering::Relaxed);
        self.runs.runs.store(0, Ordering::Relaxed);
        runs
    }
}

impl Drop for HeldRuns<'_> {
    fn drop(&mut self) {
        // Release: pairs with the Acquire of `Runs::hold`.
        self.runs.is_held.store(false, Ordering::Release);
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    fn words(granules: usize) -> Vec<AtomicU64> {
        (0..granules * GRANULE_WORDS).map(|_| AtomicU64::new(0)).collect()
    }

    #[test]
    fn each_size_has_one_list_and_longer_ones_later_lists() {
        let classes: Vec<_> = [1, 2, 4, 62, 64, 66, 126, 128, 130, 256].map(class_of).into();
        assert_eq!(classes, [0, 1, 2, 31, 32, 33, 33, 34, 34, 35]);
        assert!(class_of(1 << 43) < CLASSES, "the longest log");
        assert!((1..500).all(|lines| class_of(lines * 2) <= class_of(lines * 2 + 2)));
    }

    #[test]
    fn a_run_is_taken_once_and_its_rest_stays() {
        let (runs, words) = (Runs::new(true), words(64));
        let held = runs.hold(&words);
        held.free(0, 10);
        assert_eq!([1, 2, 4, 1].map(|granules| held.take(granules)), [Some(0), Some(2), Some(4), Some(1)]);
        assert_eq!((held.take(4), held.take(2), held.take(1)), (None, Some(8), None));
        assert_eq!(runs.granules(), 0);
    }

    #[test]
    fn neighbors_are_joined_whatever_the_order_they_were_freed_in() {
        let (runs, words) = (Runs::new(true), words(64));
        let held = runs.hold(&words);
        for position in [7, 4, 6, 5, 20, 3] {
            held.free(position, 1);
        }
        assert_eq!((held.take(4), held.join(40)), (None, None));
        assert_eq!([4, 1, 1, 1].map(|granules| held.take(granules)), [Some(4), Some(20), Some(3), None]);
        held.free(30, 10);
        assert_eq!(held.join(40), Some(30));
        assert_eq!(held.take(1), None);
    }
}
