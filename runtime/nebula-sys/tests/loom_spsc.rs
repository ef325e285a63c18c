//! Tests the ring under every interleaving of its two ends.
#![cfg(loom)]

use nebula_sys::spsc::ring;

fn check(capacity: usize, count: u32) {
    loom::model(move || {
        let (mut push, mut pop) = ring(capacity);
        let sender = loom::thread::spawn(move || {
            let mut value = 0;
            while value < count {
                match push.try_push(value) {
                    Ok(()) => value += 1,
                    Err(_) => loom::thread::yield_now(),
                }
            }
        });
        let mut expected = 0;
        while expected < count {
            match pop.try_pop() {
                Some(value) => {
                    assert_eq!(value, expected);
                    expected += 1;
                }
                None => loom::thread::yield_now(),
            }
        }
        sender.join().unwrap();
        assert_eq!(pop.try_pop(), None);
    });
}

#[test]
fn three_values_through_two_entries() {
    check(2, 3);
}

#[test]
fn three_values_through_one_entry() {
    check(1, 3);
}

#[test]
fn values_of_one_message_are_seen_together() {
    loom::model(|| {
        let (mut push, mut pop) = ring(2);
        let sender = loom::thread::spawn(move || {
            push.try_stage(1).expect("room");
            push.try_stage(2).expect("room");
            push.publish();
        });
        if pop.try_pop().is_some() {
            assert_eq!(pop.try_pop(), Some(2), "both, or neither");
        }
        sender.join().unwrap();
    });
}

#[test]
fn values_left_in_the_ring_are_dropped_once() {
    loom::model(|| {
        let counted = std::sync::Arc::new(());
        let (mut push, mut pop) = ring(2);
        let sent = counted.clone();
        let sender = loom::thread::spawn(move || {
            let _ = push.try_push(sent.clone());
            let _ = push.try_push(sent);
        });
        drop(pop.try_pop());
        drop(pop);
        sender.join().unwrap();
        assert_eq!(std::sync::Arc::strong_count(&counted), 1);
    });
}
