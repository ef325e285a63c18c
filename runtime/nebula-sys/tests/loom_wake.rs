//! Tests under every interleaving that no work is left beside a thread that sleeps.
#![cfg(loom)]

use loom::sync::Arc;
use loom::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use nebula_sys::spsc::ring;
use nebula_sys::wake::{SleepWord, WakeFlag};

#[test]
fn who_gives_work_wakes_a_thread_that_has_not_seen_it() {
    loom::model(|| {
        let (mut push, mut pop) = ring(1);
        let (flag, woken) = (Arc::new(WakeFlag::new()), Arc::new(AtomicBool::new(false)));
        let giver = {
            let (flag, woken) = (flag.clone(), woken.clone());
            loom::thread::spawn(move || {
                push.try_push(7).unwrap();
                if flag.is_armed() {
                    woken.store(true, Ordering::Release);
                }
                push
            })
        };
        flag.arm();
        let has_seen = pop.try_pop() == Some(7);
        giver.join().unwrap();
        assert!(has_seen || woken.load(Ordering::Acquire), "the thread sleeps beside its work");
    });
}

/// The answer of worker `at`, which then wakes the client if that sleeps.
fn answer(at: usize, answers: &[AtomicU64], word: &AtomicU64, wakes: &AtomicUsize) {
    answers[at].store(1, Ordering::Release);
    if SleepWord::new(word).take() {
        wakes.fetch_add(1, Ordering::AcqRel);
    }
}

fn seen(answers: &[AtomicU64]) -> usize {
    answers.iter().filter(|answer| answer.load(Ordering::Acquire) == 1).count()
}

#[test]
fn of_two_workers_one_wakes_a_client_that_has_not_seen_both_answers() {
    loom::model(|| {
        let shared = Arc::new(([AtomicU64::new(0), AtomicU64::new(0)], AtomicU64::new(0), AtomicUsize::new(0)));
        let workers = [0, 1].map(|at| {
            let shared = shared.clone();
            loom::thread::spawn(move || answer(at, &shared.0, &shared.1, &shared.2))
        });
        SleepWord::new(&shared.1).arm();
        let seen = seen(&shared.0);
        workers.into_iter().for_each(|worker| worker.join().unwrap());
        let wakes = shared.2.load(Ordering::Acquire);
        assert!(seen == 2 || wakes == 1, "{seen} seen, {wakes} wake-ups");
        assert!(wakes <= 1, "it has slept once");
    });
}

#[test]
fn a_client_that_was_woken_and_sleeps_again_is_woken_again() {
    loom::model(|| {
        let shared = Arc::new(([AtomicU64::new(0), AtomicU64::new(0)], AtomicU64::new(0), AtomicUsize::new(0)));
        let worker = {
            let shared = shared.clone();
            loom::thread::spawn(move || [0, 1].into_iter().for_each(|at| answer(at, &shared.0, &shared.1, &shared.2)))
        };
        let (mut has_seen, mut woken) = (0, 0);
        while has_seen < 2 {
            SleepWord::new(&shared.1).arm();
            has_seen = seen(&shared.0);
            // Sleeping, in a model: it goes on where it was woken since.
            let wakes = shared.2.load(Ordering::Acquire);
            if wakes == woken {
                break;
            }
            woken = wakes;
        }
        worker.join().unwrap();
        let wakes = shared.2.load(Ordering::Acquire);
        assert!(has_seen == 2 || wakes > woken, "{has_seen} seen, {wakes} wake-ups, {woken} known");
    });
}
