//! *When does a second server get an RPC, although the first may still answer?*
//!
//! After a time that most RPCs do not take, and only for a small share of them: if all servers are
//! slow, twice the load would make it worse.
//!
//! Source: Dean and Barroso, "The Tail at Scale" (CACM 2013), hedged requests: a second one after
//! the 95th percentile adds some 5 % of load.

use nebula_nic::time::Span;

/// When a second server gets an RPC.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HedgeConfig {
    /// After the time within which this share of the RPCs has ended: 0.5 to 0.999.
    pub quantile: f64,
    /// Copies are at most this share of the RPCs: above 0, up to 1.
    pub budget: f64,
}

impl Default for HedgeConfig {
    /// After the 95th percentile, for at most one RPC in ten.
    fn default() -> Self {
        Self { quantile: 0.95, budget: 0.1 }
    }
}

/// An invalid [`HedgeConfig`].
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
pub enum HedgeConfigError {
    /// The quantile.
    #[error("a hedge after the share {0} of the RPCs: 0.5 to 0.999 is possible")]
    Quantile(f64),
    /// The budget.
    #[error("a hedge for the share {0} of the RPCs: above 0, up to 1 is possible")]
    Budget(f64),
}

/// RPCs observed before the first copy is sent.
const SEEN_MIN: u32 = 64;
/// The estimate moves by at most 1 / `STEP` of itself.
const STEP: u64 = 16;
/// 1 as a share.
const ONE: u64 = 1 << 16;
/// Copies that may be saved up.
const SAVED_MAX: u64 = 16;

/// Learns how long RPCs take, and decides when to send a second copy of one.
///
/// The estimate of the quantile rises by a share of itself with each RPC that took longer, and
/// falls by a smaller one with each other; both balance at the quantile. O(1), without memory of
/// single RPCs.
#[derive(Clone, Debug)]
pub struct Hedging {
    quantile: u64,
    budget: u64,
    estimate_ps: u64,
    seen: u32,
    /// Copies that may be sent, in shares of [`ONE`].
    saved: u64,
}

impl Hedging {
    /// No RPC observed yet.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "shares of one")]
    pub fn try_new(config: HedgeConfig) -> Result<Self, HedgeConfigError> {
        let HedgeConfig { quantile, budget } = config;
        if !(0.5..=0.999).contains(&quantile) {
            return Err(HedgeConfigError::Quantile(quantile));
        }
        if !(budget > 0.0 && budget <= 1.0) {
            return Err(HedgeConfigError::Budget(budget));
        }
        let share = |part: f64| ((part * ONE as f64) as u64).max(1);
        Ok(Self { quantile: share(quantile), budget: share(budget), estimate_ps: 0, seen: 0, saved: 0 })
    }

    /// Notes that an RPC is sent for the first time; returns the time until a copy may be sent, or
    /// `None` while too little is known.
    pub fn begin(&mut self) -> Option<Span> {
        self.saved = (self.saved + self.budget).min(SAVED_MAX * ONE);
        (self.seen >= SEEN_MIN).then_some(Span::from_ps(self.estimate_ps))
    }

    /// That time is over for an RPC: returns whether a copy is sent.
    pub fn take(&mut self) -> bool {
        let may = self.saved >= ONE;
        if may {
            self.saved -= ONE;
        }
        may
    }

    /// An RPC has been answered this long after it was first sent.
    pub fn answered(&mut self, took: Span) {
        let (took, estimate) = (took.as_ps(), self.estimate_ps);
        self.seen = self.seen.saturating_add(1);
        if self.seen == 1 {
            self.estimate_ps = took.max(STEP * ONE);
            return;
        }
        // Two milliseconds are some 2^31 ps: products with ONE fit.
        let part = |share: u64| (estimate / STEP / ONE).saturating_mul(share) + (estimate / STEP % ONE * share) / ONE;
        self.estimate_ps = if took > estimate {
            estimate.saturating_add(part(self.quantile).max(1))
        } else {
            (estimate - part(ONE - self.quantile)).max(STEP * ONE)
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nebula_nic::hash::Rng;

    fn hedging(quantile: f64, budget: f64) -> Hedging {
        Hedging::try_new(HedgeConfig { quantile, budget }).unwrap()
    }

    #[test]
    fn the_delay_is_the_quantile_of_what_rpcs_take() {
        for quantile in [0.5, 0.9, 0.99] {
            let (mut hedging, mut rng) = (hedging(quantile, 0.1), Rng::new(3));
            let (mut longer, mut delays) = (0_u32, 0.0);
            for round in 0..40_000_u32 {
                // Even between 1 and 101 us.
                let took = Span::from_ns(1000 + u64::from(rng.below(100_000)));
                if round >= 20_000 {
                    let delay = hedging.begin().unwrap();
                    longer += u32::from(took > delay);
                    delays += delay.as_ns_f64() / 20e6;
                }
                hedging.answered(took);
            }
            let share = f64::from(longer) / 20_000.0;
            assert!((share - (1.0 - quantile)).abs() < 0.02, "{share} take longer than the quantile {quantile}");
            assert!((delays - (1.0 + 100.0 * quantile)).abs() < 5.0, "{delays} us for the quantile {quantile}");
        }
    }

    #[test]
    fn copies_keep_the_budget_and_none_is_sent_before_enough_is_known() {
        let mut hedging = hedging(0.9, 0.05);
        for _ in 0..SEEN_MIN {
            assert_eq!(hedging.begin(), None);
            hedging.answered(Span::from_us(10));
        }
        assert!(hedging.begin().is_some());
        let copies = (0..10_000).filter(|_| {
            hedging.begin();
            hedging.take()
        });
        let copies = copies.count();
        assert!((500..=503).contains(&copies), "{copies} copies of 10,000 RPCs");
    }

    #[test]
    fn what_cannot_be_is_said() {
        let fails = |quantile, budget| Hedging::try_new(HedgeConfig { quantile, budget }).unwrap_err();
        assert_eq!(fails(0.2, 0.1), HedgeConfigError::Quantile(0.2));
        assert_eq!(fails(1.0, 0.1), HedgeConfigError::Quantile(1.0));
        assert!(matches!(fails(f64::NAN, 0.1), HedgeConfigError::Quantile(_)));
        assert_eq!(fails(0.9, 0.0), HedgeConfigError::Budget(0.0));
        assert_eq!(fails(0.9, 1.5), HedgeConfigError::Budget(1.5));
    }
}
