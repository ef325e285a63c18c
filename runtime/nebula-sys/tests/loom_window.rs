//! Reads of shared words under every interleaving with writes: whole objects, and neighbors in one
//! word.
#![cfg(loom)]

use loom::sync::Arc;
use nebula_sys::sync::{AtomicU64, Ordering};
use nebula_sys::window::{compare_swap, load_whole, store, store_whole};

fn words(count: usize) -> Arc<Vec<AtomicU64>> {
    Arc::new((0..count).map(|_| AtomicU64::new(0)).collect())
}

#[test]
fn an_object_of_two_words_is_read_in_one_piece_or_not_at_all() {
    loom::model(|| {
        let there = words(3);
        let writer = {
            let there = there.clone();
            loom::thread::spawn(move || store_whole(&there, 0, 8, &[1; 16]))
        };
        let mut read = [9; 16];
        match load_whole(&there, 0, 8, &mut read) {
            Some(0) => assert_eq!(read, [0; 16]),
            Some(2) => assert_eq!(read, [1; 16]),
            Some(version) => panic!("version {version} was never there"),
            None => {}
        }
        writer.join().unwrap();
        assert_eq!((load_whole(&there, 0, 8, &mut read), read), (Some(2), [1; 16]));
    });
}

#[test]
fn two_writers_of_an_object_take_turns() {
    loom::model(|| {
        let there = words(3);
        let writer = {
            let there = there.clone();
            loom::thread::spawn(move || store_whole(&there, 0, 8, &[1; 16]))
        };
        store_whole(&there, 0, 8, &[2; 16]);
        writer.join().unwrap();
        let mut read = [9; 16];
        assert_eq!(load_whole(&there, 0, 8, &mut read), Some(4));
        assert!(read == [1; 16] || read == [2; 16], "{read:?}");
    });
}

#[test]
fn writes_of_neighboring_bytes_in_one_word_are_both_kept() {
    loom::model(|| {
        let there = words(1);
        let writer = {
            let there = there.clone();
            loom::thread::spawn(move || store(&there, 0, &[1; 3]))
        };
        store(&there, 3, &[2; 5]);
        writer.join().unwrap();
        assert_eq!(there[0].load(Ordering::Relaxed).to_le_bytes(), [1, 1, 1, 2, 2, 2, 2, 2]);
    });
}

#[test]
fn one_of_two_swaps_wins() {
    loom::model(|| {
        let there = words(1);
        let other = {
            let there = there.clone();
            loom::thread::spawn(move || compare_swap(&there, 0, 0, 1))
        };
        let mine = compare_swap(&there, 0, 0, 2);
        let theirs = other.join().unwrap();
        assert!(matches!((mine, theirs), (0, 2) | (1, 0)), "{mine} {theirs}");
    });
}
