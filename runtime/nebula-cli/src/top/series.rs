//! A figure over time, as a line of small bars.

use std::collections::VecDeque;

/// More than a terminal has columns.
const KEPT: usize = 512;
const BARS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

#[derive(Debug, Default)]
pub(super) struct Series {
    values: VecDeque<f64>,
}

impl Series {
    pub(super) fn push(&mut self, value: f64) {
        if self.values.len() == KEPT {
            self.values.pop_front();
        }
        self.values.push_back(value);
    }

    pub(super) fn highest(&self, columns: usize) -> f64 {
        self.latest(columns).fold(0.0, f64::max)
    }

    fn latest(&self, columns: usize) -> impl Iterator<Item = f64> + '_ {
        self.values.iter().skip(self.values.len().saturating_sub(columns)).copied()
    }

    /// The latest `columns` values, each as high as its share of `top`; right-aligned.
    pub(super) fn bars(&self, columns: usize, top: f64) -> String {
        let bars: String = self.latest(columns).map(|value| bar(value, top)).collect();
        let missing = columns.saturating_sub(self.values.len());
        format!("{}{bars}", " ".repeat(missing))
    }
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "an index below the number of bars")]
fn bar(value: f64, top: f64) -> char {
    if value <= 0.0 || top <= 0.0 {
        return if value > 0.0 { BARS[0] } else { ' ' };
    }
    BARS[((value / top * BARS.len() as f64).ceil() as usize).clamp(1, BARS.len()) - 1]
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "at most the number of columns")]
pub(super) fn gauge(share: f64, columns: usize) -> String {
    let full = (share.clamp(0.0, 1.0) * columns as f64).round() as usize;
    format!("{}{}", "█".repeat(full), "░".repeat(columns - full))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_are_as_high_as_their_values_and_the_latest_is_rightmost() {
        let mut series = Series::default();
        [0.0, 1.0, 4.0, 8.0].into_iter().for_each(|value| series.push(value));
        assert_eq!(series.bars(6, 8.0), "   ▁▄█");
        assert_eq!(series.bars(2, 8.0), "▄█");
        assert_eq!(series.highest(2), 8.0);
    }

    #[test]
    fn a_gauge_is_full_by_its_share() {
        assert_eq!([gauge(0.0, 4), gauge(0.5, 4), gauge(2.0, 4)], ["░░░░", "██░░", "████"]);
    }
}
