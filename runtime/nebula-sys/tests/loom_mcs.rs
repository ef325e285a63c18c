//! Tests the queue lock under every interleaving of its waiters.
#![cfg(loom)]

use nebula_sys::mcs::lock;

/// `waiters` threads take the lock `turns` times each; loom's cell panics when two access the value
/// at once. `preemptions` bounds how many threads are interrupted where they need not wait; without
/// a bound, all interleavings are explored.
fn check(waiters: usize, turns: u32, preemptions: Option<usize>) {
    let mut model = loom::model::Builder::new();
    (model.preemption_bound, model.max_branches) = (preemptions, 20_000);
    model.check(move || {
        let mut waiters: Vec<_> = lock(0_u32, waiters).into_iter().collect();
        let mut own = waiters.pop().unwrap();
        let expected = turns * (u32::try_from(waiters.len()).unwrap() + 1);
        let others: Vec<_> = waiters
            .into_iter()
            .map(|mut waiter| {
                loom::thread::spawn(move || {
                    for _ in 0..turns {
                        waiter.with(|count| *count += 1);
                    }
                })
            })
            .collect();
        for _ in 0..turns {
            own.with(|count| *count += 1);
        }
        for other in others {
            other.join().unwrap();
        }
        assert_eq!(own.with(|count| *count), expected);
    });
}

#[test]
fn two_waiters_go_in_twice() {
    check(2, 2, None);
}

#[test]
fn three_waiters_go_in_once() {
    check(3, 1, Some(2));
}
