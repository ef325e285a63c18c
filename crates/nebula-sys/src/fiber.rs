//! Functions that can be suspended: each runs on a stack of its own, and the thread that runs it may put it aside and go on with it later.
//!
//! The switching is the crate `corosensei`'s. Here are the stacks, mapped once and used again and again; the lifetimes, so that a function
//! may borrow what outlives the [`scope`](Stacks::scope) that it runs in; and [`suspend`], which can be called from anywhere below the
//! function and not only where its handle is at hand.
//!
//! ```text
//!   Stacks ──scope──▶ Fibers ──start(seat, f)──▶ f runs … suspend() ──▶ Suspended
//!                            ──resume(seat)────▶ … and goes on      ──▶ Ended, or Panicked
//!                     end of the scope: whoever is still suspended is unwound, its values are dropped
//! ```
//!
//! A stack ends at a page that may not be touched: a function that needs more than its stack ends the process and harms nothing else.

use corosensei::stack::DefaultStack;
use corosensei::{Coroutine, CoroutineResult, Yielder};
use std::cell::Cell;
use std::marker::PhantomData;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr;

type Handle = Yielder<(), ()>;

thread_local! {
    /// The handle of the function that this thread runs in a fiber; it lies on that fiber's stack.
    static RUNNING: Cell<*const Handle> = const { Cell::new(ptr::null()) };
}

/// How a fiber stands after it has run for a while.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// It has called [`suspend`] and waits to be resumed.
    Suspended,
    /// Its function has returned; the seat is free.
    Ended,
    /// Its function has panicked; the seat is free.
    Panicked,
}

/// Stacks for functions that can be suspended, one a seat.
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
    seats: Box<[Seat]>,
}

enum Seat {
    /// Nobody is there; the stack, which is missing only while it is handed over.
    Free(Option<DefaultStack>),
    Taken(Coroutine<(), (), ()>),
}

// SAFETY: only within `scope` is a seat taken, and that borrows the stacks and ends with all seats free. A free seat is a mapping that no
// thread uses.
unsafe impl Send for Stacks {}

impl Stacks {
    /// Maps `seats` stacks of at least `bytes` bytes each, and a page below each that may not be touched.
    ///
    /// # Errors
    ///
    /// The kernel's, when there is no memory for them.
    pub fn try_new(seats: usize, bytes: usize) -> std::io::Result<Self> {
        let seats = (0..seats).map(|_| Ok(Seat::Free(Some(DefaultStack::new(bytes)?))));
        Ok(Self { seats: seats.collect::<std::io::Result<_>>()? })
    }

    /// How many functions can be suspended at once.
    #[must_use]
    pub fn seats(&self) -> usize {
        self.seats.len()
    }

    /// Lets `run` start functions that borrow from outside of it. Those that are suspended as it ends are unwound.
    ///
    /// # Cost
    ///
    /// O(seats), no allocation.
    pub fn scope<'env, R>(&mut self, run: impl FnOnce(&mut Fibers<'_, 'env>) -> R) -> R {
        let mut fibers = Fibers { seats: &mut self.seats, env: PhantomData, thread: PhantomData };
        run(&mut fibers)
    }
}

impl std::fmt::Debug for Stacks {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Stacks").field("seats", &self.seats()).finish()
    }
}

/// The functions that run in one [`scope`](Stacks::scope), each in a seat.
pub struct Fibers<'scope, 'env> {
    seats: &'scope mut [Seat],
    /// Invariant: what a function borrows outlives the scope that it was started in and every other of the same type.
    env: PhantomData<fn(&'env ()) -> &'env ()>,
    /// A fiber stays on its thread.
    thread: PhantomData<*mut ()>,
}

impl<'env> Fibers<'_, 'env> {
    /// Runs `function` in a free seat until it suspends itself or is over.
    ///
    /// # Panics
    ///
    /// If the seat is taken, or there is none of that number.
    ///
    /// # Cost
    ///
    /// Two switches of stacks, some tens of instructions each; no allocation, unless the function panics.
    #[inline]
    pub fn start(&mut self, seat: usize, function: impl FnOnce() + 'env) -> State {
        let Seat::Free(stack) = &mut self.seats[seat] else { panic!("seat {seat} is taken") };
        let stack = stack.take().expect("a free seat has its stack");
        let body = move |handle: &Handle, ()| {
            RUNNING.set(handle);
            function();
        };
        // SAFETY: what `body` borrows is valid for `'env`, which outlives the scope; and the scope drives every function to its end, at the
        // latest in `drop`. `Fibers` can be had by reference alone, so its `drop` cannot be evaded, and can be exchanged only with one
        // of the same `'env`, whose scope the borrows outlive as well.
        let coroutine = unsafe { Coroutine::with_stack_unchecked(stack, body) };
        self.seats[seat] = Seat::Taken(coroutine);
        self.resume(seat)
    }

    /// Goes on with the function in a seat until it suspends itself again or is over.
    ///
    /// # Panics
    ///
    /// If nobody is in that seat.
    #[inline]
    pub fn resume(&mut self, seat: usize) -> State {
        let Seat::Taken(coroutine) = &mut self.seats[seat] else { panic!("nobody is in seat {seat}") };
        let outside = RUNNING.replace(ptr::null());
        // What the function leaves half done when it panics is behind its own borrows, as with any panic that is caught.
        let result = catch_unwind(AssertUnwindSafe(|| coroutine.resume(())));
        RUNNING.set(outside);
        match result {
            // `suspend` takes the handle away while it waits, and puts it back when it goes on.
            Ok(CoroutineResult::Yield(())) => State::Suspended,
            Ok(CoroutineResult::Return(())) => {
                self.leave(seat);
                State::Ended
            }
            Err(_) => {
                self.leave(seat);
                State::Panicked
            }
        }
    }

    /// Unwinds the function in a seat, which drops its values; does nothing if nobody is there.
    ///
    /// To the function this looks like a panic out of [`suspend`]; one that catches it can run on, and not suspend itself again.
    #[cold]
    pub fn cancel(&mut self, seat: usize) {
        if let Seat::Taken(coroutine) = &mut self.seats[seat] {
            let outside = RUNNING.replace(ptr::null());
            // A value that panics as it is dropped has been dropped as far as it can be.
            let _ = catch_unwind(AssertUnwindSafe(|| coroutine.force_unwind()));
            RUNNING.set(outside);
            self.leave(seat);
        }
    }

    /// Keeps the stack of a function that is over.
    #[inline]
    fn leave(&mut self, seat: usize) {
        let taken = std::mem::replace(&mut self.seats[seat], Seat::Free(None));
        if let Seat::Taken(coroutine) = taken {
            self.seats[seat] = Seat::Free(Some(coroutine.into_stack()));
        }
    }
}

impl Drop for Fibers<'_, '_> {
    fn drop(&mut self) {
        (0..self.seats.len()).for_each(|seat| self.cancel(seat));
    }
}

impl std::fmt::Debug for Fibers<'_, '_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let taken = self.seats.iter().filter(|seat| matches!(seat, Seat::Taken(_))).count();
        f.debug_struct("Fibers").field("taken", &taken).finish_non_exhaustive()
    }
}

/// Suspends the function that this thread runs in a fiber, until it is resumed; does nothing where it runs none, nor while a panic
/// unwinds it.
///
/// Anything that the thread holds stays held meanwhile, such as the guard of a lock.
#[inline]
pub fn suspend() {
    // A thread counts its panics: one that is under way would be taken for another function's.
    if std::thread::panicking() {
        return;
    }
    let handle = RUNNING.replace(ptr::null());
    if handle.is_null() {
        return;
    }
    // SAFETY: the handle is that of the function that runs on this very stack, below this call: `RUNNING` is set by the function itself,
    // cleared whenever the thread leaves its stack, and never seen by another thread. So it is alive until the function is over.
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
            for seat in 0..3 {
                let said = &said;
                let state = fibers.start(seat, move || {
                    for step in 0..3 {
                        said.borrow_mut().push((seat, step));
                        suspend();
                    }
                });
                assert_eq!(state, State::Suspended);
            }
            for _ in 0..2 {
                (0..3).for_each(|seat| assert_eq!(fibers.resume(seat), State::Suspended));
            }
            (0..3).for_each(|seat| assert_eq!(fibers.resume(seat), State::Ended));
        });
        let expected: Vec<_> = (0..3).flat_map(|step| (0..3).map(move |seat| (seat, step))).collect();
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
            assert_eq!(fibers.start(1, || ()), State::Ended, "the seat is free");
            assert_eq!(fibers.resume(0), State::Ended);
        });
    }

    #[test]
    fn who_is_suspended_at_the_end_is_unwound_and_drops_its_values() {
        let counted = Rc::new(());
        let mut stacks = Stacks::try_new(2, BYTES).unwrap();
        stacks.scope(|fibers| {
            for seat in 0..2 {
                let held = counted.clone();
                fibers.start(seat, move || {
                    let _held = held;
                    suspend();
                    unreachable!("nobody goes on with it");
                });
            }
            fibers.cancel(0);
            assert_eq!(Rc::strong_count(&counted), 2);
        });
        assert_eq!(Rc::strong_count(&counted), 1);
        stacks.scope(|fibers| assert_eq!(fibers.start(1, || ()), State::Ended, "the seats are free again"));
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
