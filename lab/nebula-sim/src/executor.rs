//! Where points and replications run: in parallel on threads, or sequentially.
//!
//! The replications and search steps of a point run on the [`Executor`] that runs the point.
//! Results are in the order of the items, so they do not depend on the executor.

use std::cell::Cell;
#[cfg(feature = "rayon")]
use std::sync::{Mutex, PoisonError};

#[cfg(feature = "rayon")]
use rayon::prelude::*;

#[cfg(feature = "rayon")]
use crate::error::SimError;

/// Runs the same work for many items.
///
/// # Examples
///
/// An executor for a target without threads that counts its items:
///
/// ```
/// use nebula_sim::study::{Executor, OneThread};
/// use std::sync::atomic::{AtomicUsize, Ordering};
///
/// struct Counted(AtomicUsize);
///
/// impl Executor for Counted {
///     fn map<'a, T: Sync, R: Send>(&self, items: &'a [T], work: impl Fn(&'a T) -> R + Sync) -> Vec<R> {
///         self.0.fetch_add(items.len(), Ordering::Relaxed);
///         OneThread.map(items, work)
///     }
/// }
///
/// let counted = Counted(AtomicUsize::new(0));
/// assert_eq!(counted.map(&[1, 2, 3], |item| item * item), [1, 4, 9]);
/// assert_eq!(counted.0.into_inner(), 3);
/// ```
pub trait Executor: Sync {
    /// The results of `work` for each item, in the order of the items.
    fn map<'a, T: Sync, R: Send>(&self, items: &'a [T], work: impl Fn(&'a T) -> R + Sync) -> Vec<R>;
}

/// Runs everything on the calling thread: for targets without threads, and for tests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OneThread;

thread_local! {
    /// Whether this thread is inside [`OneThread`]: its work must then stay on it.
    static IS_ALONE: Cell<bool> = const { Cell::new(false) };
}

/// Restores the previous value of [`IS_ALONE`], also when the work panics.
struct Alone(bool);

impl Drop for Alone {
    fn drop(&mut self) {
        IS_ALONE.set(self.0);
    }
}

impl Executor for OneThread {
    fn map<'a, T: Sync, R: Send>(&self, items: &'a [T], work: impl Fn(&'a T) -> R + Sync) -> Vec<R> {
        let _restored = Alone(IS_ALONE.replace(true));
        items.iter().map(work).collect()
    }
}

/// A rayon thread pool.
#[cfg(feature = "rayon")]
#[derive(Debug)]
pub struct Threads(rayon::ThreadPool);

#[cfg(feature = "rayon")]
impl Threads {
    /// A pool of `count` threads, or one per core.
    ///
    /// # Errors
    ///
    /// [`SimError::Threads`] if the operating system refuses to start threads.
    pub fn try_new(count: Option<u16>) -> Result<Self, SimError> {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(count.unwrap_or(0).into()).build();
        pool.map(Self).map_err(|error| SimError::Threads { reason: error.to_string() })
    }

    /// Runs `work` on these threads; its replications run in parallel.
    pub fn install<R: Send>(&self, work: impl FnOnce() -> R + Send) -> R {
        self.0.install(work)
    }
}

#[cfg(feature = "rayon")]
impl Executor for Threads {
    fn map<'a, T: Sync, R: Send>(&self, items: &'a [T], work: impl Fn(&'a T) -> R + Sync) -> Vec<R> {
        self.0.install(|| side_by_side(items, &work))
    }
}

/// The results of `work` for each item, on this thread's pool. rayon's code, an eighth of the
/// crate's, is compiled once for indices rather than for each kind of work.
#[cfg(feature = "rayon")]
fn side_by_side<'a, T: Sync, R: Send>(items: &'a [T], work: &(impl Fn(&'a T) -> R + Sync)) -> Vec<R> {
    let results: Vec<Mutex<Option<R>>> = items.iter().map(|_| Mutex::new(None)).collect();
    let keep = |index: usize| {
        let result = work(&items[index]);
        *results[index].lock().unwrap_or_else(PoisonError::into_inner) = Some(result);
    };
    for_each_index(items.len(), &keep);
    let of_slot = |slot: Mutex<Option<R>>| slot.into_inner().unwrap_or_else(PoisonError::into_inner);
    let results: Vec<R> = results.into_iter().filter_map(of_slot).collect();
    assert_eq!(results.len(), items.len(), "each index was worked on once");
    results
}

#[cfg(feature = "rayon")]
fn for_each_index(count: usize, work: &(dyn Fn(usize) + Sync)) {
    // After a panic, with which a caller's `progress` may stop a run, no further item begins.
    (0..count).into_par_iter().panic_fuse().for_each(work);
}

/// The results of `work` for each item on this thread's executor, or the first failed item's error.
pub(crate) fn try_each<'a, T: Sync, R: Send, E: Send>(
    items: &'a [T],
    work: impl Fn(&'a T) -> Result<R, E> + Sync,
) -> Result<Vec<R>, E> {
    each(items, work).into_iter().collect()
}

#[cfg(feature = "rayon")]
fn each<'a, T: Sync, R: Send>(items: &'a [T], work: impl Fn(&'a T) -> R + Sync) -> Vec<R> {
    if IS_ALONE.get() { OneThread.map(items, work) } else { side_by_side(items, &work) }
}

#[cfg(not(feature = "rayon"))]
fn each<'a, T: Sync, R: Send>(items: &'a [T], work: impl Fn(&'a T) -> R + Sync) -> Vec<R> {
    OneThread.map(items, work)
}

pub(crate) fn replications(indices: std::ops::Range<u32>) -> Vec<u32> {
    indices.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::thread;

    #[test]
    fn within_one_thread_nothing_is_spread_over_others() {
        let here = thread::current().id();
        let ids = OneThread
            .map(&[0; 4], |_| try_each(&[0; 64], |_| Ok::<_, ()>(thread::current().id())).expect("nothing fails here"));
        assert!(ids.iter().flatten().all(|&id| id == here));
    }

    #[test]
    fn of_several_failures_the_first_in_order_is_told() {
        let items: Vec<u32> = replications(0..100);
        assert_eq!(try_each(&items, |&item| if item % 7 == 6 { Err(item) } else { Ok(item) }), Err(6));
        assert_eq!(try_each(&items, |&item| Ok::<_, ()>(item)), Ok(items));
    }

    #[cfg(feature = "rayon")]
    #[test]
    fn results_stand_in_the_order_of_the_items_on_any_number_of_threads() {
        let items: Vec<u32> = replications(0..1000);
        for count in [1, 3] {
            let threads = Threads::try_new(Some(count)).expect("a few threads");
            assert_eq!(threads.map(&items, |&item| item), items);
            let other = thread::current().id();
            assert!(threads.map(&items, |_| thread::current().id()).iter().all(|&id| id != other));
        }
    }
}
