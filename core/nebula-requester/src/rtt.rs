//! Round-trip estimation, and the time-out derived from it.

use nebula_nic::time::{Span, Timestamp};

/// Bounds of the time-out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RttConfig {
    /// Shortest time-out: a shorter one would mistake pauses of the machines for losses.
    pub rto_min: Span,
    /// Longest time-out.
    pub rto_max: Span,
    /// Time-out before the first answer.
    pub rto_first: Span,
}

impl Default for RttConfig {
    fn default() -> Self {
        Self { rto_min: Span::from_us(100), rto_max: Span::from_ms(100), rto_first: Span::from_ms(1) }
    }
}

/// The smoothed time from a request to its answer, and its variation.
///
/// Source: RFC 6298 §2, in its units: gains of 1/8 and 1/4, time-out = smoothed + 4 × variation.
///
/// # Examples
///
/// ```
/// use nebula_nic::Span;
/// use nebula_requester::{Rtt, RttConfig};
///
/// let mut rtt = Rtt::new(RttConfig::default());
/// assert_eq!(rtt.rto(), Span::from_ms(1));
/// rtt.sample(Span::from_us(200));
/// assert_eq!((rtt.smoothed(), rtt.rto()), (Some(Span::from_us(200)), Span::from_us(600)));
/// ```
#[derive(Clone, Debug)]
pub struct Rtt {
    config: RttConfig,
    smoothed: Option<Span>,
    variation: Span,
    /// Time-outs since the last sample, each at least a round trip after the previous one.
    doublings: u32,
    backed_off: Timestamp,
}

/// Successive time-outs double the time-out at most this often.
const DOUBLINGS_MAX: u32 = 10;

impl Rtt {
    /// Nothing measured.
    #[must_use]
    pub const fn new(config: RttConfig) -> Self {
        Self { config, smoothed: None, variation: Span::ZERO, doublings: 0, backed_off: Timestamp::ZERO }
    }

    /// Takes a sample: the time of an answer to a request that was sent once. Other answers do not
    /// show which transmission they answer.
    #[inline]
    pub fn sample(&mut self, rtt: Span) {
        self.doublings = 0;
        let Some(smoothed) = self.smoothed else {
            (self.smoothed, self.variation) = (Some(rtt), rtt / 2);
            return;
        };
        let error = if rtt > smoothed { rtt - smoothed } else { smoothed - rtt };
        self.variation = self.variation - self.variation / 4 + error / 4;
        self.smoothed = Some(smoothed - smoothed / 8 + rtt / 8);
    }

    /// A transmission of `sent` was not answered in time. Until the next sample, every time-out is
    /// doubled (RFC 6298 §5.5): all answers may take longer than estimated, and retransmissions
    /// give no sample. Transmissions from before the last such time-out do not double it again.
    pub fn back_off(&mut self, sent: Timestamp, now: Timestamp) {
        if sent >= self.backed_off {
            self.doublings = (self.doublings + 1).min(DOUBLINGS_MAX);
            self.backed_off = now;
        }
    }

    /// The smoothed time; `None` before the first sample.
    #[must_use]
    #[inline]
    pub const fn smoothed(&self) -> Option<Span> {
        self.smoothed
    }

    /// The smoothed deviation of samples from the smoothed time.
    #[must_use]
    #[inline]
    pub const fn variation(&self) -> Span {
        self.variation
    }

    /// How long to wait for an answer.
    #[must_use]
    #[inline]
    pub fn rto(&self) -> Span {
        self.rto_doubled(0)
    }

    /// How long to wait for an answer after `doublings` earlier transmissions.
    #[must_use]
    #[inline]
    pub fn rto_doubled(&self, doublings: u32) -> Span {
        let rto = match self.smoothed {
            None => self.config.rto_first,
            Some(smoothed) => (smoothed + self.variation * 4).max(self.config.rto_min).min(self.config.rto_max),
        };
        let all = (rto * (1 << self.doublings)).min(self.config.rto_max);
        all.max(rto * (1 << doublings))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_out_is_the_mean_and_four_variations_within_its_bounds() {
        let mut rtt = Rtt::new(RttConfig::default());
        for _ in 0..200 {
            rtt.sample(Span::from_us(400));
        }
        assert!(rtt.variation() < Span::from_us(1), "{}", rtt.variation());
        assert!(rtt.rto() < Span::from_us(402), "{}", rtt.rto());
        for _ in 0..200 {
            rtt.sample(Span::from_us(1));
        }
        assert_eq!(rtt.rto(), Span::from_us(100));
        rtt.sample(Span::from_secs(100));
        assert_eq!(rtt.rto(), Span::from_ms(100));
    }

    #[test]
    fn time_outs_in_a_row_double_until_an_answer_is_measured() {
        let mut rtt = Rtt::new(RttConfig::default());
        rtt.sample(Span::from_us(400));
        let (rto, at) = (rtt.rto(), Timestamp::ZERO);
        rtt.back_off(at, at + Span::from_ms(1));
        assert_eq!(rtt.rto(), rto * 2);
        rtt.back_off(at + Span::from_us(900), at + Span::from_ms(2));
        assert_eq!(rtt.rto(), rto * 2, "sent before the last time-out");
        rtt.back_off(at + Span::from_us(1500), at + Span::from_ms(3));
        assert_eq!(rtt.rto(), rto * 4);
        (4..40).for_each(|ms| rtt.back_off(at + Span::from_ms(ms), at + Span::from_ms(ms)));
        assert_eq!(rtt.rto(), Span::from_ms(100));
        rtt.sample(Span::from_us(400));
        assert!(rtt.rto() <= rto);
    }

    #[test]
    fn samples_that_vary_give_a_longer_time_out() {
        let of = |spread: u64| {
            let mut rtt = Rtt::new(RttConfig::default());
            for i in 0..400 {
                rtt.sample(Span::from_us(500 + if i % 2 == 0 { spread } else { 0 } - spread / 2));
            }
            rtt.rto()
        };
        assert!(of(0) < of(20) && of(20) < of(200));
        assert!(of(200) >= Span::from_us(500 + 3 * 100) && of(200) < Span::from_us(500 + 5 * 100), "{}", of(200));
    }
}
