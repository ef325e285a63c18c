//! The parts of a simulation that its intervals are made of.

use crate::interval::Interval;
use crate::interval::quantile::{Tail, above, quantile};
use crate::interval::ratio::Ratio;
use crate::tally::distribution::Distribution;
use crate::tally::sections::Section;
use nebula_nic::Span;
use std::cmp::Ordering::Greater;

#[derive(Clone, Debug, Default)]
pub(crate) struct Parts(Vec<Section>);

/// Most parts that are kept; beyond, neighbors are merged.
const PARTS_MAX: usize = 160;

impl Parts {
    pub(crate) fn extend(&mut self, sections: impl IntoIterator<Item = Section>) {
        self.0.extend(sections);
        if self.0.len() > PARTS_MAX {
            let pair = |pair: &[Section]| pair.iter().skip(1).fold(pair[0].clone(), |both, one| both.with(one));
            self.0 = self.0.chunks(2).map(pair).collect();
        }
    }

    /// The latencies by part: of all RPCs, with NACKs as infinite, or of those served.
    fn tails(&self, of_all: bool) -> Vec<Tail<'_>> {
        let infinite = |part: &Section| if of_all { part.ended - part.served } else { 0 };
        self.0.iter().map(|part| Tail { cells: &part.latency, infinite: infinite(part) }).collect()
    }

    /// The latency in picoseconds that a share `share` of the RPCs served does not exceed.
    pub(crate) fn quantile(&self, share: f64) -> Option<Interval> {
        (!self.0.is_empty()).then(|| quantile(&self.tails(false), share))
    }

    /// The same of slowdowns, in thousandths.
    pub(crate) fn slowdown(&self, share: f64) -> Option<Interval> {
        let tails: Vec<Tail<'_>> = self.0.iter().map(|part| Tail { cells: &part.slowdown, infinite: 0 }).collect();
        (!tails.is_empty()).then(|| quantile(&tails, share))
    }

    pub(crate) fn mean(&self, value: f64) -> Interval {
        self.ratio(value, |part| (part.latency_ps, part.served as f64))
    }

    pub(crate) fn accepted(&self, value: f64) -> Interval {
        let refused = self.ratio(1.0 - value, |part| ((part.ended - part.served) as f64, part.ended as f64));
        Interval { value, lo: (1.0 - refused.hi).max(0.0), hi: 1.0 - refused.lo }
    }

    pub(crate) fn served_rps(&self, value: f64) -> Interval {
        self.ratio(value, |part| (part.served as f64, part.window_ps as f64 / 1e12))
    }

    fn ratio(&self, value: f64, of_part: impl Fn(&Section) -> (f64, f64)) -> Interval {
        let parts: Vec<(f64, f64)> = self.0.iter().map(of_part).collect();
        let found = if parts.is_empty() { Interval::unknown(value) } else { Ratio::of(&parts).interval() };
        // A window also has the gaps between its parts, so `value` may be outside.
        Interval { value, lo: found.lo.min(value), hi: found.hi.max(value) }
    }

    /// The share of all RPCs that are later than `slo`, with a NACK counted as infinite.
    pub(crate) fn late(&self, slo: Span) -> Ratio {
        above(&self.tails(true), Distribution::cell_of(Distribution::highest_within(slo.as_ps())))
    }

    /// Whether the share of RPCs beyond the p99, in picoseconds, is known at all.
    pub(crate) fn is_tail_seen(&self, p99_ps: f64) -> bool {
        /// Standard error over the share.
        const ERROR_MAX: f64 = 0.5;
        if !p99_ps.is_finite() || self.0.is_empty() {
            return true;
        }
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a latency")]
        let beyond = above(&self.tails(true), Distribution::cell_of(p99_ps as u64));
        // Where no RPC is later, there is no error either.
        beyond.error.partial_cmp(&ERROR_MAX) != Some(Greater)
    }
}
