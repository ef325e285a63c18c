//! Zipf's law in constant time and space, by rejection-inversion.
//!
//! The shares are p(k) ∝ h(k) with h(x) = x^-θ, for k = 1..=n. Their sum is drawn as a histogram
//! whose bar k is one wide and h(k) high, from k - ½ to k + ½, and compared with the curve h over
//! the same interval, whose area is known: H(x) = ∫₁ˣ h. Since h is convex, the curve's area over a
//! bar is at least the bar's.
//!
//! ```text
//! u  uniform over the area under the curve, first bar cut to its own share exactly
//! x  = H⁻¹(u);  k = x rounded
//! accept k if u falls in the last h(k) of the curve's area over bar k        (certain if k - x <= s)
//! otherwise draw again
//! ```
//!
//! The law is exact for every θ > 0, θ = 1 included, since H and H⁻¹ are written so that they are
//! continuous at the logarithm. Popular generators that precompute the sum of all shares work only
//! for θ < 1 and are approximate from the third key on.
//
// Source: W. Hörmann, G. Derflinger, "Rejection-inversion to generate variates from monotone
// discrete distributions", ACM TOMACS 6(3), 1996.

use crate::rng::Rng;
use crate::smooth::{expm1_ratio, log1p_ratio};

#[derive(Clone, Debug)]
pub(crate) struct Zipf {
    count: f64,
    theta: f64,
    /// H(3/2) - h(1): the area to the left is cut off, so that key 1 has exactly its share.
    area_first: f64,
    /// H(n + 1/2).
    area_last: f64,
    /// Draws this close below their key need no test.
    certain: f64,
}

impl Zipf {
    pub(crate) fn new(count: u64, theta: f64) -> Self {
        let mut zipf = Self { count: count as f64, theta, area_first: 0.0, area_last: 0.0, certain: 0.0 };
        zipf.area_first = zipf.area(1.5) - 1.0;
        zipf.area_last = zipf.area(zipf.count + 0.5);
        zipf.certain = 2.0 - zipf.inverse_area(zipf.area(2.5) - zipf.height(2.0));
        zipf
    }

    /// Draws a rank in `1..=count`.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "whole and in 1..=count")]
    pub(crate) fn draw(&self, rng: &mut Rng) -> u64 {
        loop {
            let u = self.area_last + rng.unit() * (self.area_first - self.area_last);
            let x = self.inverse_area(u);
            let k = libm::floor(x + 0.5).clamp(1.0, self.count);
            if k - x <= self.certain || u >= self.area(k + 0.5) - self.height(k) {
                return k as u64;
            }
        }
    }

    fn height(&self, x: f64) -> f64 {
        libm::exp(-self.theta * libm::log(x))
    }

    /// H(x) = (x^(1-θ) - 1) / (1 - θ), and ln x where θ = 1.
    fn area(&self, x: f64) -> f64 {
        let log_x = libm::log(x);
        log_x * expm1_ratio((1.0 - self.theta) * log_x)
    }

    /// H⁻¹(y) = (1 + (1 - θ) y)^(1 / (1 - θ)), and e^y where θ = 1.
    fn inverse_area(&self, y: f64) -> f64 {
        // Rounding may move the left end of the area beyond the pole of the logarithm.
        let t = ((1.0 - self.theta) * y).max(-1.0);
        libm::exp(y * log1p_ratio(t))
    }
}
