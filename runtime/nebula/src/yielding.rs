//! Waiting for another thread, which may need this core.
//!
//! The duration of a yield shows how the core is shared. If no other thread ran, polling is best.
//! If one ran and gave the core back, the two take turns, and both benefit if each yields soon. If
//! one ran for as long as the scheduler allows, it computes, and a thread that yields to it may get
//! no time.

use nebula_nic::Span;
use nebula_sys::clock::Clock;

/// How long a wait polls before it yields: alone; with a thread that takes turns; with one that
/// computes.
const ALONE: Span = Span::from_us(20);
const IN_TURNS: Span = Span::from_ns(300);
const BESIDE_OTHERS: Span = Span::from_us(200);
/// A thread that takes turns has answered within this time, or has nothing to say.
const TURNS_END: Span = Span::from_us(5);
/// A client that polls on another core asks again within this time.
const POLLED_BESIDE_OTHERS: Span = Span::from_us(2);
/// Once a thread that computes has been found, for how long it is taken to be there still.
const LEARNT_FOR: Span = Span::from_secs(1);
/// A longer yield took two switches: another thread ran.
const SWITCHED: Span = Span::from_ns(1000);
/// A thread that also waits gives the core back within this time.
const GIVEN_BACK: Span = Span::from_ms(1);

/// Yields as often as past yields have proved useful.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Yielding {
    clock: Clock,
    patience: Span,
    yielded_ticks: u64,
}

impl Default for Yielding {
    fn default() -> Self {
        Self::new()
    }
}

impl Yielding {
    pub(crate) fn new() -> Self {
        Self { clock: Clock::new(), patience: ALONE, yielded_ticks: 0 }
    }

    /// Never yields: for waits in which nobody else has to run.
    pub(crate) fn never() -> Self {
        Self { patience: Span::MAX, ..Self::new() }
    }

    #[inline(always)]
    pub(crate) fn takes_turns(&self) -> bool {
        self.patience < ALONE
    }

    /// Whether a thread that has waited for `silence` had better sleep: another shares its core,
    /// and a thread that is woken runs sooner than one that has yielded.
    #[inline]
    pub(crate) fn had_better_sleep(&mut self, silence: Span) -> bool {
        if self.patience == BESIDE_OTHERS && self.elapsed(self.yielded_ticks) >= LEARNT_FOR {
            self.patience = ALONE;
        }
        match self.patience {
            IN_TURNS => silence >= TURNS_END,
            BESIDE_OTHERS => silence >= POLLED_BESIDE_OTHERS,
            _ => false,
        }
    }

    /// Polls or yields once, in a wait that has lasted for `silence`.
    #[inline]
    pub(crate) fn rest(&mut self, silence: Span) {
        if silence < self.patience || self.elapsed(self.yielded_ticks) < self.patience {
            std::hint::spin_loop();
        } else {
            self.yield_now();
        }
    }

    #[inline]
    pub(crate) fn wait_since(&mut self, since_ticks: u64) {
        if self.elapsed(since_ticks.max(self.yielded_ticks)) >= self.patience {
            self.yield_now();
        }
    }

    #[inline]
    pub(crate) fn ticks(&self) -> u64 {
        self.clock.ticks()
    }

    fn elapsed(&self, since_ticks: u64) -> Span {
        Span::from_ps(self.clock.ps(self.clock.ticks().saturating_sub(since_ticks)))
    }

    #[cold]
    fn yield_now(&mut self) {
        let before = self.clock.ticks();
        std::thread::yield_now();
        self.yielded_ticks = self.clock.ticks();
        self.patience = patience_after(Span::from_ps(self.clock.ps(self.yielded_ticks.saturating_sub(before))));
    }
}

fn patience_after(yielded_for: Span) -> Span {
    if yielded_for < SWITCHED {
        ALONE
    } else if yielded_for < GIVEN_BACK {
        IN_TURNS
    } else {
        BESIDE_OTHERS
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_shares_the_core_is_learnt_from_how_long_a_yield_took() {
        assert_eq!(patience_after(Span::from_ns(400)), ALONE);
        assert_eq!(patience_after(Span::from_us(3)), IN_TURNS);
        assert_eq!(patience_after(Span::from_ms(3)), BESIDE_OTHERS);
        assert!(IN_TURNS < ALONE && ALONE < BESIDE_OTHERS);
    }

    #[test]
    fn who_shares_the_core_sleeps_soon_and_who_is_alone_does_not() {
        let mut yielding = Yielding::new();
        assert!(!yielding.had_better_sleep(Span::from_ms(1)));
        yielding.patience = IN_TURNS;
        assert_eq!([2, 5].map(|us| yielding.had_better_sleep(Span::from_us(us))), [false, true]);
        (yielding.patience, yielding.yielded_ticks) = (BESIDE_OTHERS, yielding.ticks());
        assert_eq!([1, 2].map(|us| yielding.had_better_sleep(Span::from_us(us))), [false, true]);
        // What was learnt long ago is learnt again.
        yielding.yielded_ticks = 0;
        assert!(!yielding.had_better_sleep(Span::from_ms(1)));
        assert_eq!(yielding.patience, ALONE);
    }

    #[test]
    fn a_wait_polls_first_and_yields_once_its_patience_is_over() {
        let mut yielding = Yielding::new();
        yielding.rest(Span::ZERO);
        assert_eq!(yielding.yielded_ticks, 0, "it has only begun");
        yielding.rest(ALONE);
        let first = yielding.yielded_ticks;
        assert!(first > 0);
        yielding.patience = Span::MAX;
        yielding.wait_since(0);
        assert_eq!(yielding.yielded_ticks, first, "it has yielded just now");
        yielding.patience = Span::ZERO;
        yielding.wait_since(0);
        assert!(yielding.yielded_ticks > first);
        let mut never = Yielding::never();
        never.wait_since(0);
        never.rest(Span::from_secs(9));
        assert_eq!(never.yielded_ticks, 0);
    }
}
