//! Fibers: functions that can be suspended. Each runs on its own stack, and its thread may suspend
//! it and resume it later.
//!
//! The crate `corosensei` switches the stacks. This module adds a pool of stacks, which are mapped
//! once and reused; lifetimes, so that a function may borrow what outlives its
//! [`scope`](Stacks::scope); and [`suspend`], which works anywhere in the call chain below the
//! function, without its handle.
//!
//! ```text
//!   Stacks ──scope──▶ Fibers ──start(slot, f)──▶ f runs … suspend() ──▶ Suspended
//!                            ──resume(slot)────▶ … and goes on      ──▶ Ended, or Panicked
//!                     end of the scope: fibers still suspended are unwound; their values are dropped
//! ```
//!
//! Each stack ends at a guard page, so an overflow ends the process and corrupts nothing.

use corosensei::stack::DefaultStack;
use corosensei::{Coroutine, CoroutineResult, Yielder};
use std::cell::Cell;
use std::marker::PhantomData;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr;

type Handle = Yielder<(), ()>;

thread_local! {
    /// The handle of this thread's running fiber; it lies on that fiber's stack.
    static RUNNING: Cell<*const Handle> = const { Cell::new(ptr::null()) };
}

/// A fiber's state after it has run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// It has called [`suspend`] and waits to be resumed.
    Suspended,
    /// Its function has returned; the slot is free.
    Ended,
    /// Its function has panicked; the slot is free.
    Panicked,
}

/// Stacks for fibers. Each occupies a slot, numbered from 0.
///
/// # Examples
///
/// ```
/// use nebula_sys::fiber::{self, Stacks, State};
/// use std::cell::Cell;
///
/// let steps = Cell::new(0);
/// Stacks::try_new(1, 64 * 1024)?.scope(|fibers| {
///     let state = fibers.start(0, || {
///         steps.set(1);
///         fiber::suspend();
///         steps.set(2);
///     });
///     assert_eq!((state, steps.get()), (State::Suspended, 1));
///     assert_eq!((fibers.resume(0), steps.get()), (State::Ended, 2));
/// });
/// # Ok::<(), std::io::Error>(())
/// ```
pub struct Stacks {
    slots: Box<[Slot]>,
}

enum Slot {
    /// No fiber; the stack, `None` only while it is handed over.
    Free(Option<DefaultStack>),
    Taken(Coroutine<(), (), ()>),
}

// SAFETY: a slot is occupied only within `scope`, which borrows the stacks and frees all slots
// before it returns. A free slot is a mapping that no thread uses.
unsafe impl Send for Stacks {}

impl Stacks {
    /// Maps `slots` stacks of at least `bytes` bytes each, with a guard page below each.
    ///
    /// # Errors
    ///
    /// The kernel's error, when it has no memory for them.
    pub fn try_new(slots: usize, bytes: usize) -> std::io::Result<Self> {
        let slots = (0..slots).map(|_| Ok(Slot::Free(Some(DefaultStack::new(bytes)?))));
        Ok(Self { slots: slots.collect::<std::io::Result<_>>()? })
    }

    /// How many fibers can exist at once.
    #[must_use]
    pub fn slots(&self) -> usize {
        self.slots.len()
    }

    /// Lets `run` start functions that borrow from outside the scope. At its end, suspended fibers
    /// are unwound.
    ///
    /// # Cost
    ///
    /// O(slots), no allocation.
    pub fn scope<'env, R>(&mut self, run: impl FnOnce(&mut Fibers<'_, 'env>) -> R) -> R {
        let mut fibers = Fibers { slots: &mut self.slots, env: PhantomData, thread: PhantomData };
        run(&mut fibers)
    }
}

impl std::fmt::Debug for Stacks {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Stacks").field("slots", &self.slots()).finish()
    }
}

/// The fibers of one [`scope`](Stacks::scope), each in a slot.
pub struct Fibers<'scope, 'env> {
    slots: &'scope mut [Slot],
    /// Invariant in `'env`: a function's borrows outlive its scope and other such `Fibers`.
    env: PhantomData<fn(&'env ()) -> &'env ()>,
    /// A fiber stays on its thread.
    thread: PhantomData<*mut ()>,
}

impl<'env> Fibers<'_, 'env> {
    /// Runs `function` in a free slot until it suspends itself or ends.
    ///
    /// # Panics
    ///
    /// If the slot is occupied, or out of range.
    ///
    /// # Cost
    ///
    /// Two stack switches of some tens of instructions each; allocates only if the function panics.
    #[inline]
    pub fn start(&mut self, slot: usize, function: impl FnOnce() + 'env) -> State {
        let Slot::Free(stack) = &mut self.slots[slot] else { panic!("fiber slot {slot} is occupied") };
        let stack = stack.take().expect("a free slot has its stack");
        let body = move |handle: &Handle, ()| {
            RUNNING.set(handle);
            function();
        };
        // SAFETY: what `body` borrows is valid for `'env`, which outlives the scope, and the scope
        // runs or unwinds every function, at the latest in `drop`. Callers get `Fibers` only by
        // reference, so they cannot skip its `drop`; they can swap it only for one with the same
        // `'env`, which the borrows also outlive.
        let coroutine = unsafe { Coroutine::with_stack_unchecked(stack, body) };
        self.slots[slot] = Slot::Taken(coroutine);
        self.resume(slot)
    }

    /// Resumes the fiber in a slot until it suspends itself again or ends.
    ///
    /// # Panics
    ///
    /// If the slot is free.
    #[inline]
    pub fn resume(&mut self, slot: usize) -> State {
        let Slot::Taken(coroutine) = &mut self.slots[slot] else { panic!("fiber slot {slot} is free") };
        let outside = RUNNING.replace(ptr::null());
        // As after any caught panic, inconsistent state is behind the function's own borrows.
        let result = catch_unwind(AssertUnwindSafe(|| coroutine.resume(())));
        RUNNING.set(outside);
        match result {
            // `suspend` clears the handle while the fiber waits, and restores it afterwards.
            Ok(CoroutineResult::Yield(())) => State::Suspended,
            Ok(CoroutineResult::Return(())) => {
                self.leave(slot);
                State::Ended
            }
            Err(_) => {
                self.leave(slot);
                State::Panicked
            }
        }
    }

    /// Unwinds the fiber in a slot, which drops its values; does nothing if the slot is free.
    ///
    /// The function sees this as a panic from [`suspend`]. A function that catches it can continue,
    /// but cannot suspend itself again.
    #[cold]
    pub fn cancel(&mut self, slot: usize) {
        if let Slot::Taken(coroutine) = &mut self.slots[slot] {
            let outside = RUNNING.replace(ptr::null());
            let _ = catch_unwind(AssertUnwindSafe(|| coroutine.force_unwind()));
            RUNNING.set(outside);
            self.leave(slot);
        }
    }

    /// Frees a slot whose fiber has ended, and keeps its stack.
    #[inline]
    fn leave(&mut self, slot: usize) {
        let taken = std::mem::replace(&mut self.slots[slot], Slot::Free(None));
        if let Slot::Taken(coroutine) = taken {
            self.slots[slot] = Slot::Free(Some(coroutine.into_stack()));
        }
    }
}

impl Drop for Fibers<'_, '_> {
    fn drop(&mut self) {
        (0..self.slots.len()).for_each(|slot| self.cancel(slot));
    }
}

impl std::fmt::Debug for Fibers<'_, '_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let taken = self.slots.iter().filter(|slot| matches!(slot, Slot::Taken(_))).count();
        f.debug_struct("Fibers").field("taken", &taken).finish_non_exhaustive()
    }
}

/// Suspends this thread's running fiber until it is resumed. Does nothing outside a fiber, or while
/// a panic unwinds. Resources of the thread, such as a lock's guard, stay held meanwhile.
#[inline]
pub fn suspend() {
    // Panics are counted per thread: this one would be attributed to another fiber.
    if std::thread::panicking() {
        return;
    }
    let handle = RUNNING.replace(ptr::null());
    if handle.is_null() {
        return;
    }
    // SAFETY: the handle belongs to the fiber on whose stack this call runs: the fiber itself sets
    // `RUNNING`, which is cleared whenever the thread leaves that stack and which other threads
    // never see. So the handle is alive until the function ends.
    let handle = unsafe { &*handle };
    handle.suspend(());
    RUNNING.set(handle);
}

#[cfg(all(test, not(miri)))]
mod tests {
    use super::*;
    use std::cell::RefCell;
    use std::rc::Rc;

    const BYTES: usize = 64 * 1024;

    #[test]
    fn functions_take_turns_as_they_are_resumed() {
        let said = RefCell::new(Vec::new());
        let mut stacks = Stacks::try_new(3, BYTES).unwrap();
        stacks.scope(|fibers| {
            for slot in 0..3 {
                let said = &said;
                let state = fibers.start(slot, move || {
                    for step in 0..3 {
                        said.borrow_mut().push((slot, step));
                        suspend();
                    }
                });
                assert_eq!(state, State::Suspended);
            }
            for _ in 0..2 {
                (0..3).for_each(|slot| assert_eq!(fibers.resume(slot), State::Suspended));
            }
            (0..3).for_each(|slot| assert_eq!(fibers.resume(slot), State::Ended));
        });
        let expected: Vec<_> = (0..3).flat_map(|step| (0..3).map(move |slot| (slot, step))).collect();
        assert_eq!(*said.borrow(), expected);
    }

    #[test]
    fn a_panic_ends_its_function_alone() {
        let mut stacks = Stacks::try_new(2, BYTES).unwrap();
        stacks.scope(|fibers| {
            assert_eq!(fibers.start(0, suspend), State::Suspended);
            let panics = || {
                suspend();
                std::panic::resume_unwind(Box::new("as planned"));
            };
            assert_eq!(fibers.start(1, panics), State::Suspended);
            assert_eq!(fibers.resume(1), State::Panicked);
            assert_eq!(fibers.start(1, || ()), State::Ended, "the slot is free");
            assert_eq!(fibers.resume(0), State::Ended);
        });
    }

    #[test]
    fn a_fiber_suspended_at_the_end_is_unwound_and_drops_its_values() {
        let counted = Rc::new(());
        let mut stacks = Stacks::try_new(2, BYTES).unwrap();
        stacks.scope(|fibers| {
            for slot in 0..2 {
                let held = counted.clone();
                fibers.start(slot, move || {
                    let _held = held;
                    suspend();
                    unreachable!("it is never resumed");
                });
            }
            fibers.cancel(0);
            assert_eq!(Rc::strong_count(&counted), 2);
        });
        assert_eq!(Rc::strong_count(&counted), 1);
        stacks.scope(|fibers| assert_eq!(fibers.start(1, || ()), State::Ended, "the slots are free again"));
    }

    #[test]
    fn a_function_that_catches_its_unwinding_runs_to_its_end() {
        let reached = Cell::new(false);
        Stacks::try_new(1, BYTES).unwrap().scope(|fibers| {
            fibers.start(0, || {
                let _ = catch_unwind(suspend);
                suspend();
                reached.set(true);
            });
        });
        assert!(reached.get());
    }

    #[test]
    fn fibers_within_a_fiber_leave_it_suspendable() {
        let mut stacks = Stacks::try_new(1, BYTES).unwrap();
        stacks.scope(|fibers| {
            let state = fibers.start(0, || {
                let mut inner = Stacks::try_new(1, BYTES).unwrap();
                inner.scope(|fibers| assert_eq!(fibers.start(0, suspend), State::Suspended));
                suspend();
            });
            assert_eq!(state, State::Suspended);
            assert_eq!(fibers.resume(0), State::Ended);
        });
    }

    #[test]
    fn a_value_that_is_dropped_by_a_panic_suspends_nothing() {
        struct Suspends;
        impl Drop for Suspends {
            fn drop(&mut self) {
                suspend();
            }
        }
        Stacks::try_new(1, BYTES).unwrap().scope(|fibers| {
            let panics = || {
                let _suspends = Suspends;
                std::panic::resume_unwind(Box::new("as planned"));
            };
            assert_eq!(fibers.start(0, panics), State::Panicked);
        });
    }

    #[test]
    fn outside_of_a_fiber_nothing_is_suspended() {
        suspend();
    }
}
