//! Tests under every interleaving that no doorbell is lost.
#![cfg(loom)]

use loom::sync::Arc;
use loom::sync::atomic::{AtomicU64, Ordering};
use nebula_sys::doorbells::{Doorbells, words_of};

const CLIENTS: u32 = 2;

fn take(words: &[AtomicU64], rings: &[AtomicU64]) -> u64 {
    let mut taken = 0;
    Doorbells::new(words, CLIENTS).unwrap().take(|client| {
        assert_eq!(rings[client as usize].load(Ordering::Relaxed), 1, "what was written before the ring is seen");
        taken += 1;
    });
    taken
}

#[test]
fn a_client_that_rings_while_doorbells_are_taken_is_found_then_or_the_next_time() {
    loom::model(|| {
        let words: Arc<Vec<AtomicU64>> = Arc::new((0..words_of(CLIENTS)).map(|_| AtomicU64::new(0)).collect());
        let rings = Arc::new([AtomicU64::new(0), AtomicU64::new(0)]);
        let clients = [0_u32, 1].map(|client| {
            let (words, rings) = (words.clone(), rings.clone());
            loom::thread::spawn(move || {
                rings[client as usize].store(1, Ordering::Relaxed);
                Doorbells::new(&words, CLIENTS).unwrap().ring(client);
            })
        });
        let during = take(&words, &rings[..]);
        clients.into_iter().for_each(|client| client.join().unwrap());
        assert_eq!(during + take(&words, &rings[..]), 2, "each ring is taken once");
    });
}
