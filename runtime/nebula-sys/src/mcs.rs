//! The queue lock of Mellor-Crummey and Scott (MCS): first come, first served; each waiter spins on
//! its own cache line.
//!
//! ```text
//!   tail ──────────────────────────────────────────┐
//!                                                  ▼
//!   node 2 (holds the lock) ──next──▶ node 0 ──next──▶ node 3
//!                                     waits on its     waits on its
//!                                     own line         own line
//! ```
//!
//! A waiter swaps itself in as the tail and stores its number in its predecessor's node. The
//! predecessor, when done, clears the flag in its successor's node. So a hand-off costs one
//! cache-line transfer, however many threads wait, and the lock is fair.
//!
//! Waiters are created with the lock: their nodes belong to it and outlive every wait.

use crate::sync::{Arc, AtomicBool, AtomicU32, Ordering, spin_loop, thread};
use crossbeam_utils::CachePadded;

#[cfg(not(loom))]
use crate::spsc::cell::UnsafeCell;
#[cfg(loom)]
use loom::cell::UnsafeCell;

const NOBODY: u32 = u32::MAX;
/// How often a waiter polls its flag before it yields its core, which the lock's holder may need.
const LOOKS: u32 = 1000;

struct Node {
    next: AtomicU32,
    is_waiting: AtomicBool,
}

struct Lock<T> {
    tail: CachePadded<AtomicU32>,
    nodes: Box<[CachePadded<Node>]>,
    value: UnsafeCell<T>,
}

// SAFETY: only the waiter that holds the lock accesses the value: holders hand it over with Release
// and Acquire.
unsafe impl<T: Send> Sync for Lock<T> {}

/// One of the threads that share a value behind the lock. It cannot be cloned, so a node has one
/// user at a time.
///
/// # Examples
///
/// ```
/// let mut waiters = nebula_sys::mcs::lock(0, 2).into_iter();
/// let (mut one, mut other) = (waiters.next().unwrap(), waiters.next().unwrap());
/// let counting = std::thread::spawn(move || (0..1000).for_each(|_| other.with(|count| *count += 1)));
/// (0..1000).for_each(|_| one.with(|count| *count += 1));
/// counting.join().unwrap();
/// assert_eq!(one.with(|count| *count), 2000);
/// ```
pub struct Waiter<T> {
    lock: Arc<Lock<T>>,
    number: u32,
}

/// Puts `value` behind a lock that `waiters` waiters share; the last one drops it.
///
/// # Panics
///
/// If there are 2^32 - 1 waiters or more.
#[must_use]
pub fn lock<T: Send>(value: T, waiters: usize) -> Vec<Waiter<T>> {
    let count = u32::try_from(waiters).ok().filter(|&count| count < NOBODY).expect("waiters are numbered in 32 bits");
    let node = |_| CachePadded::new(Node { next: AtomicU32::new(NOBODY), is_waiting: AtomicBool::new(false) });
    let lock = Arc::new(Lock {
        tail: CachePadded::new(AtomicU32::new(NOBODY)),
        nodes: (0..count).map(node).collect(),
        value: UnsafeCell::new(value),
    });
    (0..count).map(|number| Waiter { lock: lock.clone(), number }).collect()
}

impl<T: Send> Waiter<T> {
    /// Waits for the lock, visits the value, and releases the lock, even if `visit` panics.
    ///
    /// # Cost
    ///
    /// No allocation. Two atomic exchanges without contention; with contention, one cache-line
    /// transfer per hand-off. A thread that waits long yields its core to other threads.
    #[inline]
    pub fn with<R>(&mut self, visit: impl FnOnce(&mut T) -> R) -> R {
        self.wait();
        let _held = Held { lock: &self.lock, number: self.number };
        // SAFETY: this waiter holds the lock until `_held` is dropped, after the call; no other
        // thread accesses the value.
        self.lock.value.with_mut(|value| visit(unsafe { &mut *value }))
    }

    #[inline]
    fn wait(&mut self) {
        let own = self.lock.node(self.number);
        own.next.store(NOBODY, Ordering::Relaxed);
        own.is_waiting.store(true, Ordering::Relaxed);
        // Acquire: pairs with the Release of a holder that found no successor. Release: the
        // successor sees the node's fields.
        let before = self.lock.tail.swap(self.number, Ordering::AcqRel);
        if before == NOBODY {
            return;
        }
        // Release: pairs with the Acquire in `Held::drop`; the node was set before.
        self.lock.node(before).next.store(self.number, Ordering::Release);
        let mut looks = 0;
        // Acquire: pairs with the Release in `Held::drop`; the holder's writes are visible.
        while own.is_waiting.load(Ordering::Acquire) {
            pause(&mut looks);
        }
    }
}

impl<T> Lock<T> {
    #[inline]
    fn node(&self, number: u32) -> &Node {
        &self.nodes[number as usize]
    }
}

/// The lock, held; dropping it passes the lock on.
struct Held<'a, T> {
    lock: &'a Lock<T>,
    number: u32,
}

impl<T> Drop for Held<'_, T> {
    #[inline]
    fn drop(&mut self) {
        let own = self.lock.node(self.number);
        let mut next = own.next.load(Ordering::Acquire);
        if next == NOBODY {
            let tail = &self.lock.tail;
            // Release: pairs with the Acquire of the next waiter, which finds the queue empty.
            if tail.compare_exchange(self.number, NOBODY, Ordering::Release, Ordering::Relaxed).is_ok() {
                return;
            }
            // A successor has swapped the tail and will store its number soon.
            let mut looks = 0;
            while next == NOBODY {
                pause(&mut looks);
                next = own.next.load(Ordering::Acquire);
            }
        }
        // Release: pairs with the Acquire in `wait`; the successor sees the value.
        self.lock.node(next).is_waiting.store(false, Ordering::Release);
    }
}

#[inline]
fn pause(looks: &mut u32) {
    *looks += 1;
    if cfg!(loom) || looks.is_multiple_of(LOOKS) {
        thread::yield_now();
    } else {
        spin_loop();
    }
}

impl<T> std::fmt::Debug for Waiter<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Waiter").field("number", &self.number).finish_non_exhaustive()
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use std::panic::{AssertUnwindSafe, catch_unwind};

    const THREADS: usize = 3;

    #[test]
    fn no_thread_sees_the_value_while_another_changes_it() {
        let rounds = if cfg!(miri) { 50 } else { 20_000 };
        // The two halves are equal whenever no thread holds the lock.
        let threads: Vec<_> = lock((0_u64, 0_u64), THREADS)
            .into_iter()
            .map(|mut waiter| {
                std::thread::spawn(move || {
                    for _ in 0..rounds {
                        waiter.with(|(left, right)| {
                            assert_eq!(left, right);
                            *left += 1;
                            std::hint::spin_loop();
                            *right += 1;
                        });
                    }
                    waiter
                })
            })
            .collect();
        let mut waiters: Vec<_> = threads.into_iter().map(|thread| thread.join().expect("a waiter ends")).collect();
        assert_eq!(waiters[0].with(|value| *value), (THREADS as u64 * rounds, THREADS as u64 * rounds));
    }

    #[test]
    fn waiters_get_the_lock_in_order_of_arrival() {
        let mut waiters = lock(Vec::new(), THREADS + 1);
        let mut holder = waiters.pop().expect("the last one");
        let line = holder.lock.clone();
        std::thread::scope(|scope| {
            holder.with(|_| {
                let mut tail = line.tail.load(Ordering::Acquire);
                // The highest number first; each waiter starts when the one before is queued.
                for mut waiter in waiters.into_iter().rev() {
                    scope.spawn(move || {
                        let number = waiter.number;
                        waiter.with(|order: &mut Vec<u32>| order.push(number));
                    });
                    let before = tail;
                    while tail == before {
                        std::thread::yield_now();
                        tail = line.tail.load(Ordering::Acquire);
                    }
                }
            });
        });
        assert_eq!(holder.with(std::mem::take), [2, 1, 0]);
    }

    #[test]
    fn a_holder_that_comes_back_queues_behind_other_waiters() {
        let mut waiters = lock(0_u64, 2);
        let (mut other, mut holder) = (waiters.pop().expect("two"), waiters.pop().expect("two"));
        let line = holder.lock.clone();
        std::thread::scope(|scope| {
            holder.with(|_| {
                scope.spawn(move || other.with(|turns| *turns += 100));
                while line.tail.load(Ordering::Acquire) == 0 {
                    std::thread::yield_now();
                }
            });
            // The other waiter joined the queue before this one came back.
            assert_eq!(holder.with(|turns| *turns), 100);
        });
    }

    #[test]
    fn a_panic_while_holding_releases_the_lock() {
        let mut waiters = lock(7, 2);
        let panicked = catch_unwind(AssertUnwindSafe(|| waiters[0].with(|_| panic!("inside"))));
        assert!(panicked.is_err());
        assert_eq!(waiters[1].with(|value| *value), 7);
    }

    #[test]
    fn the_value_is_dropped_with_the_last_waiter() {
        let counted = std::sync::Arc::new(());
        let mut waiters = lock(counted.clone(), 2);
        waiters.pop();
        assert_eq!(std::sync::Arc::strong_count(&counted), 2);
        drop(waiters);
        assert_eq!(std::sync::Arc::strong_count(&counted), 1);
    }
}
