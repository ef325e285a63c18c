//! *Which messaging domain has a core next?* Weighted deficit round robin: each domain in turn may
//! use the time that its weight earned.
//!
//! A domain that uses more than it has pays that back before it is served again, so that shares
//! hold however long turns are. The other domains get what an idle one does not use; it saves
//! nothing up, and on its return waits for at most one turn of each other.
//!
//! Source: Shreedhar and Varghese, "Efficient Fair Queueing using Deficit Round Robin" (SIGCOMM
//! 1995), with time in place of bytes.

use crate::time::Span;
use alloc::boxed::Box;
use core::num::NonZeroU16;

/// The earnings of a domain of weight 1 in a round, unless set otherwise.
pub const QUANTUM: Span = Span::from_us(2);

/// The most that a domain has to pay back: longer turns are not its fault alone.
const DEBT_MAX_PS: i64 = 10_000_000_000;

#[derive(Clone, Copy, Debug)]
struct Account {
    weight: u16,
    /// The time that it may use, in picoseconds; below zero, the time that it has to pay back.
    balance_ps: i64,
}

/// Decides which domain a core is lent to.
///
/// # Examples
///
/// ```
/// use nebula_nic::{Lending, Span};
/// use std::num::NonZeroU16;
///
/// let weights = [1, 3].map(|weight| NonZeroU16::new(weight).unwrap());
/// let mut lending = Lending::new(&weights, Span::from_us(2));
/// let mut used = [Span::ZERO; 2];
/// for _ in 0..10_000 {
///     let domain = lending.pick();
///     // Each always has work: a turn of the one takes 1 us, and one of the other 5 us.
///     let took = Span::from_us([1, 5][domain]);
///     lending.used(domain, took, true);
///     used[domain] = used[domain] + took;
/// }
/// let share = used[1].as_ns_f64() / (used[0] + used[1]).as_ns_f64();
/// assert!((share - 0.75).abs() < 0.01);
/// ```
#[derive(Clone, Debug)]
pub struct Lending {
    accounts: Box<[Account]>,
    at: usize,
    quantum_ps: i64,
}

impl Lending {
    /// Domains of these weights, each with a round's earnings: `quantum` a round for weight 1.
    ///
    /// # Panics
    ///
    /// If there is no domain, or `quantum` is zero.
    #[must_use]
    pub fn new(weights: &[NonZeroU16], quantum: Span) -> Self {
        assert!(!weights.is_empty() && quantum > Span::ZERO, "a core is lent to nobody, or for no time");
        let quantum_ps = i64::try_from(quantum.as_ps()).unwrap_or(i64::MAX);
        let account = |weight: &NonZeroU16| Account { weight: weight.get(), balance_ps: quantum_ps };
        Self { accounts: weights.iter().map(account).collect(), at: 0, quantum_ps }
    }

    /// The domain that has the core now, by its place in the weights. Report its turn with
    /// [`used`](Self::used). Cost: a look at each domain that has to pay back, for each round that
    /// this takes.
    pub fn pick(&mut self) -> usize {
        loop {
            let account = &mut self.accounts[self.at];
            if account.balance_ps > 0 {
                return self.at;
            }
            self.pass();
        }
    }

    /// Reports a turn of `domain` and whether it found work: if not, it loses what is left.
    pub fn used(&mut self, domain: usize, time: Span, had_work: bool) {
        let Some(account) = self.accounts.get_mut(domain) else { return };
        let used = i64::try_from(time.as_ps()).unwrap_or(i64::MAX);
        account.balance_ps = account.balance_ps.saturating_sub(used).max(-DEBT_MAX_PS);
        if !had_work {
            account.balance_ps = account.balance_ps.min(0);
            if self.at == domain {
                self.pass();
            }
        }
    }

    /// The next domain earns its share of a round, and saves no more than one.
    fn pass(&mut self) {
        self.at = (self.at + 1) % self.accounts.len();
        let account = &mut self.accounts[self.at];
        let earned = self.quantum_ps.saturating_mul(account.weight.into());
        account.balance_ps = account.balance_ps.saturating_add(earned).min(earned);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hash::Rng;
    use alloc::vec;
    use alloc::vec::Vec;

    fn lending(weights: &[u16]) -> Lending {
        let weights: Vec<_> = weights.iter().map(|&weight| NonZeroU16::new(weight).unwrap()).collect();
        Lending::new(&weights, QUANTUM)
    }

    /// Shares of the time, over `turns` turns of `length` picoseconds, of which each domain has
    /// work in `busy` of 100.
    fn shares(weights: &[u16], busy: &[u32], turns: usize, length: impl Fn(usize, &mut Rng) -> u64) -> Vec<f64> {
        let (mut lending, mut rng, mut used) = (lending(weights), Rng::new(5), vec![0; weights.len()]);
        for _ in 0..turns {
            let domain = lending.pick();
            let had_work = rng.below(100) < busy[domain];
            let took = if had_work { length(domain, &mut rng) } else { 50_000 };
            lending.used(domain, Span::from_ps(took), had_work);
            if had_work {
                used[domain] += took;
            }
        }
        let all: u64 = used.iter().sum();
        used.iter().map(|&used| used as f64 / all as f64).collect()
    }

    #[test]
    fn weights_hold_within_two_parts_of_a_hundred_whatever_turns_take() {
        for weights in [&[1, 1][..], &[1, 3], &[5, 1, 2], &[1, 10, 100]] {
            let all: f64 = weights.iter().map(|&weight| f64::from(weight)).sum();
            let busy = vec![100; weights.len()];
            // The turns of one domain are ten times as long, and each is drawn.
            let shares = shares(weights, &busy, 400_000, |domain, rng| {
                u64::from(rng.below(1_000_000)) * if domain == 0 { 20 } else { 2 } + 1
            });
            for (share, &weight) in shares.iter().zip(weights) {
                let fair = f64::from(weight) / all;
                assert!((share - fair).abs() <= 0.02 * fair, "{shares:?} for {weights:?}");
            }
        }
    }

    #[test]
    fn what_an_idle_domain_does_not_use_is_the_others_and_it_saves_nothing_up() {
        let shares = shares(&[1, 1, 2], &[100, 0, 100], 100_000, |_, _| 1_000_000);
        assert!((shares[0] - 1.0 / 3.0).abs() < 0.01 && shares[1] == 0.0, "{shares:?}");
        let mut lending = lending(&[1, 1]);
        for _ in 0..100_000 {
            let domain = lending.pick();
            lending.used(domain, Span::from_us(1), domain == 0);
        }
        // Now it has work too: it gets its share, and nothing of what it left to the other one.
        let mut in_a_row = 0;
        for _ in 0..100 {
            let domain = lending.pick();
            lending.used(domain, Span::from_us(1), true);
            in_a_row = if domain == 1 { in_a_row + 1 } else { 0 };
            assert!(in_a_row <= 3, "it makes up for what it did not want");
        }
    }

    #[test]
    fn a_long_turn_is_paid_back() {
        let mut lending = lending(&[1, 1]);
        assert_eq!(lending.pick(), 0);
        lending.used(0, Span::from_ms(1), true);
        let turns = (0..10_000).take_while(|_| {
            let domain = lending.pick();
            lending.used(domain, Span::from_us(1), true);
            domain == 1
        });
        assert!((995..=1005).contains(&turns.count()));
    }
}
