//! What a load that changes does over its period, and how long it takes to recover from its peak.

use super::outcome::PS_PER_NS;
use crate::load::Profile;
use crate::tally;
use nebula_nic::{Span, Timestamp};

/// The results over one period, from all periods and replications together.
#[derive(Clone, Debug, PartialEq)]
pub struct OverTime {
    /// Its parts, equally long, in order.
    pub slots: Vec<Slot>,
    /// The highest p99 of a part in nanoseconds.
    pub peak_p99: f64,
    /// Time from the end of the highest load until the p99 is within the SLO again, in nanoseconds: to the length of a part. `None` if it is
    /// not within it before the next peak.
    pub recovery: Option<f64>,
}

/// A part of the period.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Slot {
    /// When it begins within the period, in nanoseconds.
    pub at: f64,
    /// The load at its middle.
    pub load: f64,
    /// The p99 of the RPCs that were sent in it, in nanoseconds, to a hundredth; a NACK counts as infinite.
    pub p99: f64,
}

impl OverTime {
    pub(super) fn of(profile: &Profile, tally: &tally::OverTime, slo: Span) -> Self {
        let count = tally.slots().len();
        let width = profile.period().as_ns_f64() / count as f64;
        let middle = |index: usize| profile.period().as_ps() * (2 * index as u64 + 1) / (2 * count as u64);
        let slot = |(index, slot): (usize, &tally::Slot)| Slot {
            at: width * index as f64,
            load: profile.at(Timestamp::from_ps(middle(index))),
            p99: slot.p99_ps() / PS_PER_NS,
        };
        let slots: Vec<Slot> = tally.slots().iter().enumerate().map(slot).collect();
        let peak_p99 = slots.iter().map(|slot| slot.p99).fold(0.0, f64::max);
        let peak_end = profile.peak_end().as_ns_f64();
        // The first part that begins after the peak; at the end of the period the next one begins.
        let first = slots.iter().position(|slot| slot.at + width / 1e6 >= peak_end).unwrap_or(0);
        let late = (0..count).position(|after| slots[(first + after) % count].p99 <= slo.as_ns_f64());
        let begin = if first == 0 { profile.period().as_ns_f64() } else { slots[first].at };
        let recovery = late.map(|late| if late == 0 { 0.0 } else { begin + width * late as f64 - peak_end });
        Self { slots, peak_p99, recovery }
    }
}
