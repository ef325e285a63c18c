//! Waiting for another thread, which may need the core that the wait is spent on.
//!
//! A thread that yields learns from how long that took who shares its core. Where no other thread
//! ran, the core is this one's and polling is best. Where one ran and gave the core back, the two
//! take turns, and both get on sooner the sooner each gives way. Where one ran for as long as the
//! scheduler lets it, it computes, and a thread that yields to it often gets no time at all.

use nebula_nic::Span;
use nebula_sys::clock::Clock;

/// How long a wait polls before it yields: with the core to itself; where two threads take turns,
/// which costs each of them a switch; and beside one that computes.
const ALONE: Span = Span::from_us(20);
const IN_TURNS: Span = Span::from_ns(300);
const BESIDE_OTHERS: Span = Span::from_us(200);
/// A yield that nobody used takes less than this; one in which another thread ran takes more, for
/// two switches.
const SWITCHED: Span = Span::from_ns(1000);
/// One that waits for something too has given the core back within this time.
const GIVEN_BACK: Span = Span::from_ms(1);

/// Yields, as often as past yields say that it serves.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Yielding {
    clock: Clock,
    patience: Span,
    /// When it yielded last.
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

    /// Whether the last yield said that another thread takes turns with this one.
    #[inline(always)]
    pub(crate) fn takes_turns(&self) -> bool {
        self.patience < ALONE
    }

    /// Spends a moment of a wait that has lasted for `silence`: polls on, or yields.
    #[inline]
    pub(crate) fn rest(&mut self, silence: Span) {
        if silence < self.patience || self.elapsed(self.yielded_ticks) < self.patience {
            std::hint::spin_loop();
        } else {
            self.yield_now();
        }
    }

    /// Yields if the wait that began at `since_ticks` has lasted long enough.
    #[inline]
    pub(crate) fn wait_since(&mut self, since_ticks: u64) {
        if self.elapsed(since_ticks.max(self.yielded_ticks)) >= self.patience {
            self.yield_now();
        }
    }

    /// The time, as waits count it.
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

/// How long to poll after a yield that took so long.
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
    }
}
