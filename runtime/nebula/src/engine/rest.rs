//! An engine without work polls, yields or sleeps, by the idle policy.

use super::turn::{Engine, Rest};
use crate::nic::transport::Transport;
use crate::rpc::parking::rest_after;
use nebula_nic::{Span, Timestamp};
use std::time::Duration;

/// The longest sleep, so that a lost wake-up costs little.
const SLEEP_MAX: Duration = Duration::from_secs(1);

impl Rest {
    /// Whether an engine that has found nothing for `silence` sleeps, if it may.
    #[inline]
    fn is_over(&mut self, silence: Span) -> bool {
        let Some(after) = self.sleeps_after else { return false };
        silence >= after || self.yielding.had_better_sleep(silence)
    }
}

impl<T: Transport> Engine<T> {
    #[inline(always)]
    pub(super) fn wake_up(&mut self) {
        if std::mem::take(&mut self.rest.is_armed) {
            self.rest.parker.disarm();
        }
    }

    /// Whether its next rest is a sleep.
    pub(crate) fn is_about_to_sleep(&self) -> bool {
        self.rest.is_armed
    }

    /// Rests after an idle turn, as far as the policy allows. `may_block` allows a sleep that only
    /// packets end.
    #[inline]
    pub(crate) fn rest(&mut self, now: Timestamp, may_block: bool) {
        if self.rest.spins {
            return std::hint::spin_loop();
        }
        if let Some(since) = self.clock.idle_since {
            let silence = now - since;
            let sleeps = may_block && self.rest.is_over(silence);
            if !(sleeps && self.block(now)) {
                rest_after(silence, &mut self.rest.yielding);
            }
            // Time at rest is no gap.
            self.clock.ticks = self.clock.watch.ticks();
            self.clock.started = Timestamp::from_ps(self.clock.watch.at_ps(self.clock.ticks));
            self.pace.has_rested(self.clock.started, &mut self.intake.recorder);
        }
    }

    /// Sleeps until something arrives, after a further look for work. Returns whether it has
    /// rested.
    #[cold]
    fn block(&mut self, now: Timestamp) -> bool {
        if !std::mem::replace(&mut self.rest.is_armed, true) {
            self.rest.parker.arm();
            return true;
        }
        self.publish_status(false);
        let due = self.intake.backend.poll_timeout();
        let timeout = due.map_or(SLEEP_MAX, |due| Duration::from_nanos((due - now).as_ns() + 1).min(SLEEP_MAX));
        let can_wait = self.transport.wait(Some(timeout), self.rest.parker.fd());
        self.rest.parker.disarm();
        self.rest.is_armed = false;
        can_wait
    }
}
