//! The single-producer single-consumer ring between two threads of one process: a core's completion
//! queue, and the return path of freed slots to the engine.
//!
//! ```text
//!   producer's lines              shared lines                consumer's lines
//!   tail (own), head (cached)     tail ──Release/Acquire──▶   head (own), tail (cached)
//!                                 head ◀──Release/Acquire──
//!   slots[tail & mask] = value  ───────────────────────────▶  value = slots[head & mask]
//! ```
//!
//! Each side keeps its own index in a plain field and a cached copy of the other's, and reads the
//! shared line only when the copy says full or empty. Otherwise only the value's own line moves
//! between the cores.

use crate::sync::{Arc, AtomicU64, Ordering};
use crossbeam_utils::CachePadded;
use std::mem::MaybeUninit;

#[cfg(not(loom))]
pub(crate) mod cell {
    /// loom's cell has the same interface: closures receive a raw pointer.
    #[derive(Debug)]
    pub(crate) struct UnsafeCell<T>(std::cell::UnsafeCell<T>);

    impl<T> UnsafeCell<T> {
        pub(crate) fn new(value: T) -> Self {
            Self(std::cell::UnsafeCell::new(value))
        }

        #[inline(always)]
        pub(crate) fn with<R>(&self, f: impl FnOnce(*const T) -> R) -> R {
            f(self.0.get())
        }

        #[inline(always)]
        pub(crate) fn with_mut<R>(&self, f: impl FnOnce(*mut T) -> R) -> R {
            f(self.0.get())
        }
    }
}
#[cfg(not(loom))]
use cell::UnsafeCell;
#[cfg(loom)]
use loom::cell::UnsafeCell;

struct Ring<T> {
    tail: CachePadded<AtomicU64>,
    head: CachePadded<AtomicU64>,
    slots: Box<[UnsafeCell<MaybeUninit<T>>]>,
}

// SAFETY: at any time either the producer or the consumer may access a slot, never both: the
// indices hand it over with Release and Acquire.
unsafe impl<T: Send> Send for Ring<T> {}
// SAFETY: as above; the two ends are separate values that cannot be cloned.
unsafe impl<T: Send> Sync for Ring<T> {}

impl<T> Ring<T> {
    #[inline(always)]
    fn slot(&self, index: u64) -> &UnsafeCell<MaybeUninit<T>> {
        // The mask keeps the index below the length (a power of two), even if `usize` has 32 bits.
        #[expect(clippy::cast_possible_truncation, reason = "masked just after")]
        &self.slots[index as usize & (self.slots.len() - 1)]
    }
}

impl<T> Drop for Ring<T> {
    fn drop(&mut self) {
        let (mut head, tail) = (self.head.load(Ordering::Relaxed), self.tail.load(Ordering::Relaxed));
        while head != tail {
            // SAFETY: both ends are gone, and slots between head and tail hold values that were
            // never taken.
            self.slot(head).with_mut(|slot| unsafe { (*slot).assume_init_drop() });
            head = head.wrapping_add(1);
        }
    }
}

/// The end that pushes.
pub struct Producer<T> {
    ring: Arc<Ring<T>>,
    tail: u64,
    head_cached: u64,
}

/// The end that pops.
pub struct Consumer<T> {
    ring: Arc<Ring<T>>,
    head: u64,
    tail_cached: u64,
}

/// Creates a ring of at least `capacity` entries, rounded up to a power of two; returns its ends.
///
/// # Examples
///
/// ```
/// let (mut push, mut pop) = nebula_sys::spsc::ring(2);
/// assert_eq!(push.try_push(1), Ok(()));
/// assert_eq!(pop.try_pop(), Some(1));
/// assert_eq!(pop.try_pop(), None);
/// ```
#[must_use]
pub fn ring<T: Send>(capacity: usize) -> (Producer<T>, Consumer<T>) {
    let capacity = capacity.max(1).next_power_of_two();
    let ring = Arc::new(Ring {
        tail: CachePadded::new(AtomicU64::new(0)),
        head: CachePadded::new(AtomicU64::new(0)),
        slots: (0..capacity).map(|_| UnsafeCell::new(MaybeUninit::uninit())).collect(),
    });
    (Producer { ring: ring.clone(), tail: 0, head_cached: 0 }, Consumer { ring, head: 0, tail_cached: 0 })
}

impl<T: Send> Producer<T> {
    /// Appends `value`. [Staged](Self::try_stage) values become visible with it.
    ///
    /// # Errors
    ///
    /// The value itself, when the ring is full.
    ///
    /// # Cost
    ///
    /// O(1), no allocation; one cache-line transfer when the ring looked full.
    #[inline]
    pub fn try_push(&mut self, value: T) -> Result<(), T> {
        self.try_stage(value)?;
        self.publish();
        Ok(())
    }

    /// Appends `value` invisibly. The next [`publish`](Self::publish) shows all staged values
    /// together, for one transfer of the index's line.
    ///
    /// # Errors
    ///
    /// The value itself, when the ring is full, staged values included.
    ///
    /// # Cost
    ///
    /// As [`try_push`](Self::try_push).
    #[inline]
    pub fn try_stage(&mut self, value: T) -> Result<(), T> {
        if self.tail - self.head_cached == self.ring.slots.len() as u64 {
            // Acquire: pairs with the Release in `try_pop`; the consumer has moved the value.
            self.head_cached = self.ring.head.load(Ordering::Acquire);
            if self.tail - self.head_cached == self.ring.slots.len() as u64 {
                return Err(value);
            }
        }
        // SAFETY: the slot lies outside head..tail, so the consumer does not touch it until
        // `publish` moves the shared tail past it.
        self.ring.slot(self.tail).with_mut(|slot| unsafe { (*slot).write(value) });
        self.tail += 1;
        Ok(())
    }

    /// Makes staged values visible to the other end.
    #[inline]
    pub fn publish(&mut self) {
        // Release: pairs with the Acquire in `try_pop`; the values are written before.
        self.ring.tail.store(self.tail, Ordering::Release);
    }
}

impl<T> Drop for Producer<T> {
    /// Staged values stay in the ring, which drops them unless the other end takes them.
    fn drop(&mut self) {
        // Release: as in `publish`.
        self.ring.tail.store(self.tail, Ordering::Release);
    }
}

impl<T: Send> Consumer<T> {
    /// Whether the ring is empty now.
    #[inline]
    #[must_use]
    pub fn is_empty(&self) -> bool {
        // Acquire: as in `try_pop`.
        self.head == self.tail_cached && self.head == self.ring.tail.load(Ordering::Acquire)
    }

    /// Takes the oldest value, or `None` when the ring is empty.
    ///
    /// # Cost
    ///
    /// O(1), no allocation; one cache-line transfer when the ring looked empty.
    #[inline]
    pub fn try_pop(&mut self) -> Option<T> {
        if self.head == self.tail_cached {
            // Acquire: pairs with the Release in `publish`.
            self.tail_cached = self.ring.tail.load(Ordering::Acquire);
            if self.head == self.tail_cached {
                return None;
            }
        }
        // SAFETY: the slot lies within head..tail: the producer filled it and does not touch it
        // until `head` is published below.
        let value = self.ring.slot(self.head).with(|slot| unsafe { (*slot).assume_init_read() });
        self.head += 1;
        // Release: pairs with the Acquire in `try_stage`; the value was moved out.
        self.ring.head.store(self.head, Ordering::Release);
        Some(value)
    }
}

impl<T> std::fmt::Debug for Producer<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Producer").field("tail", &self.tail).finish_non_exhaustive()
    }
}

impl<T> std::fmt::Debug for Consumer<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Consumer").field("head", &self.head).finish_non_exhaustive()
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use arbitrary::Arbitrary;
    use std::collections::VecDeque;

    #[derive(Arbitrary, Debug)]
    enum Op {
        Push(u8),
        Stage(u8),
        Publish,
        Pop,
    }

    #[test]
    fn a_ring_is_a_bounded_queue() {
        nebula_testing::seeded(|u| {
            let capacity = 1 << u.int_in_range(0..=3)?;
            let (mut push, mut pop) = ring(capacity);
            let (mut model, mut staged) = (VecDeque::new(), VecDeque::new());
            for op in u.arbitrary_iter::<Op>()?.take(200) {
                let is_full = model.len() + staged.len() == capacity;
                match op? {
                    Op::Push(value) | Op::Stage(value) if is_full => {
                        assert_eq!((push.try_push(value), push.try_stage(value)), (Err(value), Err(value)));
                    }
                    Op::Push(value) => {
                        model.append(&mut staged);
                        model.push_back(value);
                        assert_eq!(push.try_push(value), Ok(()));
                    }
                    Op::Stage(value) => {
                        staged.push_back(value);
                        assert_eq!(push.try_stage(value), Ok(()));
                    }
                    Op::Publish => {
                        model.append(&mut staged);
                        push.publish();
                    }
                    Op::Pop => assert_eq!(pop.try_pop(), model.pop_front()),
                }
                assert_eq!(pop.is_empty(), model.is_empty());
            }
            Ok(())
        });
    }

    #[test]
    fn values_left_behind_are_dropped_once() {
        let counted = std::sync::Arc::new(());
        let (mut push, mut pop) = ring(4);
        for _ in 0..3 {
            push.try_push(counted.clone()).unwrap();
        }
        drop(pop.try_pop());
        push.try_stage(counted.clone()).unwrap();
        assert_eq!(std::sync::Arc::strong_count(&counted), 4);
        drop((push, pop));
        assert_eq!(std::sync::Arc::strong_count(&counted), 1);
    }

    #[test]
    fn two_threads_pass_every_value_in_order() {
        // On one core, the threads switch each time the ring is full.
        for (capacity, count) in [(8, 10_000), (256, 200_000)] {
            pass_in_order(capacity, if cfg!(miri) { 200 } else { count });
        }
    }

    fn pass_in_order(capacity: usize, count: usize) {
        let (mut push, mut pop) = ring(capacity);
        let sender = std::thread::spawn(move || {
            for value in 0..count {
                while push.try_push(value).is_err() {
                    std::thread::yield_now();
                }
            }
        });
        for expected in 0..count {
            let value = loop {
                match pop.try_pop() {
                    Some(value) => break value,
                    None => std::thread::yield_now(),
                }
            };
            assert_eq!(value, expected);
        }
        sender.join().expect("the sender ends");
    }
}
