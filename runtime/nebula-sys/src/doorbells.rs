//! Doorbells: a bit for each client, by which a client whose ring is not looked at says that it has
//! written there. The words are shared by all clients.
//!
//! A bit of a client lies in a word with those of 63 others, and a bit for each such word in a
//! word above: the server learns in one look whether any of 4,096 clients has rung. *Enforced by*
//! `tests/loom_doorbells.rs`: no ring is lost.
//!
//! A client may ring for others, and take their rings away. So the server looks at every ring now
//! and then in any case.

use crate::sync::{AtomicU64, Ordering};

const BITS: u32 = 64;

/// The doorbells of so many clients.
#[derive(Clone, Copy, Debug)]
pub struct Doorbells<'a> {
    /// A bit for each word of `clients`.
    above: &'a [AtomicU64],
    /// A bit for each client.
    clients: &'a [AtomicU64],
}

/// The words that the doorbells of `clients` clients take.
#[must_use]
pub const fn words_of(clients: u32) -> usize {
    let (below, above) = parts(clients);
    below + above
}

const fn parts(clients: u32) -> (usize, usize) {
    let below = clients.div_ceil(BITS);
    (below as usize, below.div_ceil(BITS) as usize)
}

impl<'a> Doorbells<'a> {
    /// The doorbells of `clients` clients in `words`; `None` if there are too few words.
    #[must_use]
    #[inline]
    pub fn new(words: &'a [AtomicU64], clients: u32) -> Option<Self> {
        let (below, above) = parts(clients);
        let (above, rest) = words.split_at_checked(above)?;
        Some(Self { above, clients: rest.get(..below)? })
    }

    /// Rings the doorbell of `client`. Does nothing for a client that has none.
    ///
    /// # Cost
    ///
    /// Two read-modify-writes of lines that other clients write too.
    pub fn ring(self, client: u32) {
        let word = client / BITS;
        if let (Some(own), Some(above)) = (self.clients.get(word as usize), self.above.get((word / BITS) as usize)) {
            // Release: a server that finds the bit sees what the client wrote before.
            own.fetch_or(1 << (client % BITS), Ordering::Release);
            above.fetch_or(1 << (word % BITS), Ordering::Release);
        }
    }

    /// Whether a doorbell may have rung.
    #[must_use]
    #[inline(always)]
    pub fn have_rung(self) -> bool {
        self.above.iter().any(|word| word.load(Ordering::Relaxed) != 0)
    }

    /// Takes all rings, and calls `visit` with each client.
    pub fn take(self, mut visit: impl FnMut(u32)) {
        for (above, at) in self.above.iter().zip((0..).step_by(BITS as usize)) {
            // Acquire: sees the bits below.
            for word in bits(above.swap(0, Ordering::Acquire)).map(|bit| at + bit) {
                if let Some(own) = self.clients.get(word as usize) {
                    bits(own.swap(0, Ordering::Acquire)).for_each(|bit| visit(word * BITS + bit));
                }
            }
        }
    }
}

fn bits(mut word: u64) -> impl Iterator<Item = u32> {
    std::iter::from_fn(move || {
        let bit = (word != 0).then(|| word.trailing_zeros())?;
        word &= word - 1;
        Some(bit)
    })
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn each_ring_is_taken_once_and_of_a_client_without_a_doorbell_none() {
        let words: Vec<AtomicU64> = (0..words_of(5000)).map(|_| AtomicU64::new(0)).collect();
        let doorbells = Doorbells::new(&words, 5000).expect("as many words");
        assert!(Doorbells::new(&words[1..], 5000).is_none() && !doorbells.have_rung());
        for client in [0, 63, 64, 4095, 4096, 4999, 4096, 1 << 20] {
            doorbells.ring(client);
        }
        let mut taken = Vec::new();
        doorbells.take(|client| taken.push(client));
        assert_eq!(taken, [0, 63, 64, 4095, 4096, 4999]);
        assert!(!doorbells.have_rung());
        doorbells.take(|client| panic!("{client} again"));
    }
}
