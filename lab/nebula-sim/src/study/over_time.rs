//! Results over the period of a changing load, and how long it takes to recover from its peak.

use super::outcome::PS_PER_NS;
use crate::experiment::ByRun;
use crate::interval::Interval;
use crate::load::Profile;
use crate::tally;
use nebula_nic::{Span, Timestamp};
use nebula_ui::text::time;

/// Results over one period, from all periods and replications together.
#[derive(Clone, Debug, PartialEq)]
pub struct OverTime {
    /// Its parts, equally long, in order.
    pub slots: Vec<Slot>,
    /// The highest p99 of a part in nanoseconds; its ends are the highest ends of the parts.
    pub peak_p99: Interval,
    /// Nanoseconds from the end of the highest load until the p99 is within the SLO, to the length
    /// of a part; infinite if not before the next peak. Its interval ends at the first part whose
    /// p99 may be within the SLO, and the first whose p99 certainly is.
    pub recovery: Interval,
}

/// A part of the period.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Slot {
    /// Its begin within the period, in nanoseconds.
    pub at: f64,
    /// The load at its middle.
    pub load: f64,
    /// The p99 of the RPCs sent in it, in nanoseconds, to a hundredth; a NACK counts as infinite.
    pub p99: Interval,
}

impl OverTime {
    pub(super) fn of(profile: &Profile, tally: &tally::OverTime, by_run: &ByRun, slo: Span) -> Self {
        let count = tally.slots().len();
        let width = profile.period().as_ns_f64() / count as f64;
        let middle = |index: usize| profile.period().as_ps() * (2 * index as u64 + 1) / (2 * count as u64);
        let slot = |(index, slot): (usize, &tally::Slot)| Slot {
            at: width * index as f64,
            load: profile.at(Timestamp::from_ps(middle(index))),
            p99: by_run.slot_p99(index, slot.p99_ps()).scaled(1.0 / PS_PER_NS),
        };
        let slots: Vec<Slot> = tally.slots().iter().enumerate().map(slot).collect();
        let both = |of: fn(&Interval) -> f64| -> (f64, f64) {
            let highest = slots.iter().map(|slot| of(&slot.p99)).fold(0.0, f64::max);
            (highest, recovery(&slots, of, profile, slo))
        };
        let [value, lo, hi] = [both(|p99| p99.value), both(|p99| p99.lo), both(|p99| p99.hi)];
        Self {
            slots,
            peak_p99: Interval { value: value.0, lo: lo.0, hi: hi.0 },
            recovery: Interval { value: value.1, lo: lo.1, hi: hi.1 },
        }
    }
}

impl OverTime {
    /// The recovery for a table: its ends if they differ; `none` if not before the next peak.
    #[must_use]
    pub fn recovery_in_words(&self) -> String {
        let words = |ns: f64| if ns.is_finite() { time(ns) } else { "none".to_owned() };
        let Interval { value, lo, hi } = self.recovery;
        let ends = if lo < hi { format!(" [{}, {}]", words(lo), words(hi)) } else { String::new() };
        format!("{}{ends}", words(value))
    }
}

/// Nanoseconds from the peak's end until a figure of the p99 is within the SLO, or infinite.
fn recovery(slots: &[Slot], of: impl Fn(&Interval) -> f64, profile: &Profile, slo: Span) -> f64 {
    let count = slots.len();
    let width = profile.period().as_ns_f64() / count as f64;
    let peak_end = profile.peak_end().as_ns_f64();
    // The first part after the peak; the period's end is the begin of the next.
    let first = slots.iter().position(|slot| slot.at + width / 1e6 >= peak_end).unwrap_or(0);
    let late = (0..count).position(|after| of(&slots[(first + after) % count].p99) <= slo.as_ns_f64());
    let begin = if first == 0 { profile.period().as_ns_f64() } else { slots[first].at };
    late.map_or(f64::INFINITY, |late| if late == 0 { 0.0 } else { begin + width * late as f64 - peak_end })
}
