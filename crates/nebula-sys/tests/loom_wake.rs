//! Tests under every interleaving that no work is left beside a thread that sleeps.
#![cfg(loom)]

use loom::sync::Arc;
use loom::sync::atomic::{AtomicBool, Ordering};
use nebula_sys::spsc::ring;
use nebula_sys::wake::WakeFlag;

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
