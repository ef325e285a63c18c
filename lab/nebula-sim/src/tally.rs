//! The measurements of a run: RPCs after the warm-up, their latencies and the queues they found.
//!
//! Memory does not grow with the number of RPCs. Sums are whole picoseconds, so any order of adding
//! gives the same bytes.

pub(crate) mod core_time;
pub(crate) mod distribution;
pub(crate) mod ended;
pub(crate) mod host;
pub(crate) mod migrations;
mod light;
pub(crate) mod of_tier;
mod of_type;
pub(crate) mod over_time;
pub(crate) mod overheads;
pub(crate) mod sections;

pub use core_time::CoreTime;
pub use distribution::Distribution;
pub(crate) use ended::{Ended, counted};
pub use host::HostTraffic;
pub use light::LightFlows;
pub use migrations::Migrations;
pub use of_tier::OfTier;
pub use of_type::OfType;
pub use over_time::{OverTime, SLOTS, Slot};
pub use overheads::Overheads;

use nebula_nic::{Span, Timestamp};
use nebula_workload::{ServiceTime, TypeId};

/// How often each queue depth was found, exact. Memory depends on the deepest queue only.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Depths {
    counts: Vec<u64>,
}

impl Depths {
    #[inline]
    pub(crate) fn record(&mut self, depth: u32) {
        match self.counts.get_mut(depth as usize) {
            Some(count) => *count += 1,
            None => self.record_deeper(depth),
        }
    }

    #[cold]
    fn record_deeper(&mut self, depth: u32) {
        self.counts.resize((depth as usize + 1).next_power_of_two(), 0);
        self.counts[depth as usize] = 1;
    }

    pub(crate) fn add(&mut self, other: &Self) {
        self.counts.resize(self.counts.len().max(other.counts.len()), 0);
        self.counts.iter_mut().zip(&other.counts).for_each(|(count, more)| *count += more);
    }

    /// How many depths were recorded.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// The mean depth, exact; 0 without any.
    #[must_use]
    pub fn mean(&self) -> f64 {
        let sum: u128 = (0..).zip(&self.counts).map(|(depth, &count): (u128, _)| depth * u128::from(count)).sum();
        if sum == 0 { 0.0 } else { sum as f64 / self.count() as f64 }
    }

    /// The depth that a share `share` of all does not exceed, exact; 0 without any.
    #[must_use]
    pub fn quantile(&self, share: f64) -> f64 {
        let wanted = share * self.count() as f64;
        let mut below = 0;
        let reaches = |&count: &u64| {
            below += count;
            below as f64 >= wanted
        };
        self.counts.iter().position(reaches).unwrap_or(0) as f64
    }

    /// The share that exceeds `depth`, exact.
    #[must_use]
    pub fn share_above(&self, depth: u32) -> f64 {
        let above: u64 = self.counts.iter().skip(depth as usize + 1).sum();
        if above == 0 { 0.0 } else { above as f64 / self.count() as f64 }
    }
}

/// The measurements of the RPCs in a run's measured window.
#[derive(Clone, Debug, PartialEq)]
pub struct Tally {
    /// Picoseconds from the intended send time until the buffer was freed, of RPCs served.
    pub latency: Distribution,
    /// Of RPCs served, picoseconds from arrival until a core began.
    pub queued: Distribution,
    /// RPCs that an arrival found waiting at the server, without those dispatched to a core.
    pub queue_depth: Depths,
    /// RPCs that were served.
    pub served: u64,
    /// RPCs that their client abandoned after a NACK.
    pub given_up: u64,
    /// NACKs, over all attempts.
    pub nacks: u64,
    /// Length of the window, from its first arrival to its last.
    pub window: Span,
    /// Core time spent on RPCs that ended in the window, in picoseconds.
    pub busy_ps: u128,
    /// Core time of those RPCs in addition to their service.
    pub overheads: Overheads,
    /// Core time of each run's busiest core on RPCs that ended in the window, in picoseconds; 0
    /// unless flows, keys or speeds make cores differ.
    pub hottest_ps: u128,
    /// Migrations between groups of cores.
    pub migrations: Migrations,
    /// Lines between cores and NIC, with a host interface.
    pub host: HostTraffic,
    /// Measurements of each type's RPCs, by [`TypeId`]; empty unless the service times are a mix.
    pub by_type: Vec<OfType>,
    /// RPCs by send time within the period; `None` unless the load changes over time.
    pub over_time: Option<OverTime>,
    /// RPCs of the flows that send fewer than the mean; `None` without such flows or refusals.
    pub light: Option<LightFlows>,
    /// Results of each tier's calls; empty unless calls have parts, copies, deadlines or tiers.
    pub by_tier: Vec<OfTier>,
    /// The busy time of each core; empty where cores do not differ.
    by_core_ps: Vec<u64>,
    opened: Option<Timestamp>,
}

impl Tally {
    pub(crate) fn new() -> Self {
        let [latency, queued] = std::array::from_fn(|_| Distribution::new());
        let queue_depth = Depths::default();
        let (window, opened) = (Span::ZERO, None);
        Self {
            latency,
            queued,
            queue_depth,
            served: 0,
            given_up: 0,
            nacks: 0,
            window,
            busy_ps: 0,
            overheads: Overheads::ZERO,
            hottest_ps: 0,
            migrations: Migrations::default(),
            host: HostTraffic::default(),
            by_type: Vec::new(),
            by_tier: Vec::new(),
            by_core_ps: Vec::new(),
            over_time: None,
            light: None,
            opened,
        }
    }

    pub(crate) fn of(service: &ServiceTime) -> Self {
        let types = service.types().len();
        let of_each = if types > 1 { types } else { 0 };
        Self { by_type: vec![OfType::default(); of_each], ..Self::new() }
    }

    pub(crate) fn by_core(mut self, cores: usize) -> Self {
        self.by_core_ps = vec![0; cores];
        self
    }

    pub(crate) fn over_time(mut self, period: Option<Span>) -> Self {
        self.over_time = period.map(OverTime::new);
        self
    }

    /// Counts the RPCs of the flows from `first` on separately.
    pub(crate) fn light_from(mut self, first: Option<u32>) -> Self {
        self.light = first.map(LightFlows::from);
        self
    }

    /// The busiest core's share of busy time; 0 unless flows, keys or speeds make cores differ.
    #[must_use]
    pub fn hottest(&self) -> f64 {
        if self.window == Span::ZERO { 0.0 } else { self.hottest_ps as f64 / self.window.as_ps() as f64 }
    }

    /// Latency over service time of a mix's served RPCs, in thousandths; else empty.
    #[must_use]
    pub fn slowdown(&self) -> Distribution {
        let mut all = Distribution::new();
        self.by_type.iter().for_each(|of_type| all.add(&of_type.slowdown));
        all
    }

    /// RPCs served per second.
    #[must_use]
    pub fn served_rps(&self) -> f64 {
        self.served as f64 / self.window.as_secs_f64()
    }

    #[inline]
    pub(crate) fn note_served(&mut self, latency_ps: u64, queued_ps: u64, service_ps: u64, overheads: Overheads) {
        self.served += 1;
        self.latency.record(latency_ps);
        self.queued.record(queued_ps);
        self.busy_ps += u128::from(service_ps);
        if overheads != Overheads::ZERO {
            self.overheads += overheads;
        }
    }

    #[inline]
    pub(crate) fn note_type(&mut self, kind: TypeId, latency_ps: u64, service_ps: u64) {
        if let Some(of_type) = self.by_type.get_mut(usize::from(kind.0)) {
            of_type.record(latency_ps, service_ps);
        }
    }

    #[inline]
    pub(crate) fn note_core(&mut self, core: Option<usize>, busy_ps: u64) {
        if let Some(sum) = core.and_then(|core| self.by_core_ps.get_mut(core)) {
            *sum += busy_ps;
        }
    }

    /// Counts an RPC that was sent at `sent`; without a latency, its client gave up.
    #[inline]
    pub(crate) fn note_sent(&mut self, sent: Timestamp, latency_ps: Option<u64>) {
        if let Some(over_time) = &mut self.over_time {
            over_time.note(sent, latency_ps);
        }
    }

    #[inline]
    pub(crate) fn note_flow(&mut self, flow: u32, is_served: bool) {
        if let Some(light) = &mut self.light {
            light.note(flow, is_served);
        }
    }

    pub(crate) fn close(&mut self) {
        self.hottest_ps = self.by_core_ps.iter().copied().max().unwrap_or(0).into();
    }

    #[inline]
    pub(crate) fn note_arrival(&mut self, now: Timestamp) {
        let opened = *self.opened.get_or_insert(now);
        self.window = now - opened;
    }

    pub(crate) fn add(&mut self, other: &Self) {
        self.latency.add(&other.latency);
        self.queued.add(&other.queued);
        self.queue_depth.add(&other.queue_depth);
        self.served += other.served;
        self.given_up += other.given_up;
        self.nacks += other.nacks;
        self.window += other.window;
        self.busy_ps += other.busy_ps;
        self.overheads += other.overheads;
        self.hottest_ps += other.hottest_ps;
        match (&mut self.over_time, &other.over_time) {
            (Some(over_time), Some(more)) => over_time.add(more),
            (over_time @ None, more) => over_time.clone_from(more),
            _ => {}
        }
        match (&mut self.light, &other.light) {
            (Some(light), Some(more)) => light.add(more),
            (light @ None, more) => *light = *more,
            _ => {}
        }
        self.migrations += other.migrations;
        self.host += other.host;
        self.by_type.resize(self.by_type.len().max(other.by_type.len()), OfType::default());
        self.by_type.iter_mut().zip(&other.by_type).for_each(|(of_type, more)| of_type.add(more));
        self.by_tier.resize(self.by_tier.len().max(other.by_tier.len()), OfTier::default());
        self.by_tier.iter_mut().zip(&other.by_tier).for_each(|(of_tier, more)| of_tier.add(more));
    }
}

counted!(Tally, not_served: given_up, nacks: nacks);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_nack_counts_as_infinite_latency() {
        let mut tally = Tally::new();
        for latency in 1..=99 {
            tally.latency.record(latency);
        }
        (tally.served, tally.given_up) = (99, 1);
        assert_eq!(tally.latency_with_nacks(0.99), 99.0);
        assert_eq!(tally.latency_with_nacks(0.98), 98.0);
        tally.given_up = 2;
        assert_eq!(tally.latency_with_nacks(0.99), f64::INFINITY);
    }

    #[test]
    fn depths_are_exact() {
        let mut depths = Depths::default();
        assert_eq!((depths.mean(), depths.quantile(0.99), depths.count()), (0.0, 0.0, 0));
        for depth in (0..100).chain([5000]) {
            depths.record(depth);
        }
        let mut both = Depths::default();
        both.record(7);
        both.add(&depths);
        assert_eq!((both.count(), both.mean()), (102, (4950.0 + 5007.0) / 102.0));
        assert_eq!((depths.quantile(0.5), depths.quantile(1.0), depths.share_above(99)), (50.0, 5000.0, 1.0 / 101.0));
    }
}
