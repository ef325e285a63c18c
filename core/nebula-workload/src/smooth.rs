//! (e^t - 1) / t and ln(1 + t) / t, continuous and accurate at t = 0.

pub(crate) fn expm1_ratio(t: f64) -> f64 {
    if t.abs() > SERIES_BELOW { libm::expm1(t) / t } else { 1.0 + t / 2.0 }
}

pub(crate) fn log1p_ratio(t: f64) -> f64 {
    if t.abs() > SERIES_BELOW { libm::log1p(t) / t } else { 1.0 - t / 2.0 }
}

/// The terms left out of the series, t²/6 and t²/3, are below the resolution of an `f64` here.
const SERIES_BELOW: f64 = 1e-8;
