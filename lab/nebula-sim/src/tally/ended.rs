//! Figures that follow from the RPCs that ended, shared by both levels.

use super::distribution::Distribution;

pub(crate) trait Ended {
    fn latency(&self) -> &Distribution;
    fn accepted(&self) -> f64;
    fn nacks(&self) -> u64;
    fn served_rps(&self) -> f64;
}

/// Methods of a tally with `latency`, `served` and `window`; `$not_served` ended without service.
macro_rules! counted {
    ($tally:ty, not_served: $not_served:ident, nacks: $nacks:ident) => {
        impl $tally {
            /// RPCs that ended, served or not.
            #[must_use]
            #[inline]
            pub const fn ended(&self) -> u64 {
                self.served + self.$not_served
            }

            /// The share of RPCs that were served.
            #[must_use]
            pub fn accepted(&self) -> f64 {
                if self.ended() == 0 { 0.0 } else { self.served as f64 / self.ended() as f64 }
            }

            /// The latency in ps that a share `share` of *all* RPCs keeps; a NACK is infinite.
            #[must_use]
            pub fn latency_with_nacks(&self, share: f64) -> f64 {
                self.latency.quantile_of_all(share, self.accepted())
            }

            /// RPCs that arrived per second.
            #[must_use]
            pub fn offered_rps(&self) -> f64 {
                self.ended() as f64 / self.window.as_secs_f64()
            }
        }

        impl $crate::tally::ended::Ended for $tally {
            fn latency(&self) -> &$crate::tally::distribution::Distribution {
                &self.latency
            }

            fn accepted(&self) -> f64 {
                self.accepted()
            }

            fn nacks(&self) -> u64 {
                self.$nacks
            }

            fn served_rps(&self) -> f64 {
                self.served_rps()
            }
        }
    };
}
pub(crate) use counted;
