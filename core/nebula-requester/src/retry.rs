//! The decision after a NACK: the RPC ends, is tried again later, or goes to another server.

use super::config::RequesterConfigError;
use super::table::{Entry, State};
use nebula_nic::hash::Rng;
use nebula_nic::time::Span;
use nebula_nic::verdict::NackReason;

/// The policy after a NACK. An RPC that [cannot pass](NackReason::may_pass) is never tried again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RetryPolicy {
    /// The RPC ends.
    #[default]
    GiveUp,
    /// The same server gets it again after a delay that grows with each NACK.
    BackOff {
        /// The longest delay after the first NACK; the delay is drawn from its upper half.
        first: Span,
        /// The factor by which the delay grows with each further NACK.
        factor: u32,
        /// Tries in all, the first included.
        attempts: u32,
        /// Seed of the draw, so that clients refused together do not retry together.
        seed: u64,
    },
    /// The next server gets it at once.
    AnotherServer {
        /// Servers to rotate through, numbered from 0.
        servers: u16,
        /// Tries in all, the first included.
        attempts: u32,
    },
}

impl RetryPolicy {
    pub(super) const fn validate(&self) -> Result<(), RequesterConfigError> {
        match *self {
            Self::BackOff { attempts: 0, .. } | Self::AnotherServer { attempts: 0, .. } => {
                Err(RequesterConfigError::Attempts)
            }
            Self::AnotherServer { servers: 0, .. } => Err(RequesterConfigError::Servers),
            _ => Ok(()),
        }
    }
}

pub(super) enum Next {
    GiveUp,
    After(Span),
    AnotherServer(u16),
}

#[derive(Clone, Debug)]
pub(super) struct Retries {
    policy: RetryPolicy,
    rng: Rng,
}

impl Retries {
    pub(super) const fn new(policy: RetryPolicy) -> Self {
        let seed = if let RetryPolicy::BackOff { seed, .. } = policy { seed } else { 0 };
        Self { policy, rng: Rng::new(seed) }
    }

    #[inline]
    pub(super) const fn first_delay(&self) -> Span {
        if let RetryPolicy::BackOff { first, .. } = self.policy { first } else { Span::ZERO }
    }

    /// Counts the refused try and decides.
    pub(super) fn next(&mut self, entry: &mut Entry, reason: Option<NackReason>) -> Next {
        if !reason.is_some_and(NackReason::may_pass) {
            return Next::GiveUp;
        }
        entry.refusals += 1;
        match self.policy {
            RetryPolicy::BackOff { attempts, factor, .. } if entry.refusals < attempts => {
                let delay = upper_half(entry.delay, self.rng.next() >> 32);
                entry.delay = entry.delay * u64::from(factor);
                entry.state = State::BackOff;
                Next::After(delay)
            }
            RetryPolicy::AnotherServer { attempts, servers } if entry.refusals < attempts => {
                let next = entry.call.server.saturating_add(1);
                entry.call.server = if next < servers { next } else { 0 };
                Next::AnotherServer(entry.call.server)
            }
            _ => Next::GiveUp,
        }
    }
}

/// A span between half of `delay` and all of it, by a draw of 32 bits.
pub(super) fn upper_half(delay: Span, draw: u64) -> Span {
    let half = delay.as_ps() / 2;
    let share = (half >> 32) * draw + (((half & u64::from(u32::MAX)) * draw) >> 32);
    delay - Span::from_ps(share)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wait_lies_in_the_upper_half() {
        for delay in [Span::ZERO, Span::from_ps(1), Span::from_us(10), Span::MAX] {
            for draw in [0, 1, 1 << 31, u64::from(u32::MAX)] {
                let wait = upper_half(delay, draw);
                assert!(wait <= delay && wait >= delay / 2, "{wait} of {delay}");
            }
        }
    }
}
