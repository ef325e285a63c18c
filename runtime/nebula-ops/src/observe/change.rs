//! The change between two snapshots.

use super::snapshot::{NackedBy, Snapshot};
use super::times::Times;

/// Rates, utilization and latencies of the time between two snapshots.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Change {
    pub seconds: f64,
    pub offered_rps: f64,
    pub served_rps: f64,
    pub nacked_rps: f64,
    /// RPCs refused, by cause.
    pub nacked_by: NackedBy,
    /// Of each core, from 0 to 1: first the engines with separate cores, then the workers.
    pub utilization: Vec<(String, f64)>,
    pub latency: Times,
    pub waiting: Times,
    pub service: Times,
    /// The share of lookups that found an item; `None` without lookups.
    pub hit_share: Option<f64>,
}

impl Change {
    /// From `before` to `now`. If the server has restarted in between, the change since its start.
    pub fn between(before: &Snapshot, now: &Snapshot) -> Self {
        let has_restarted = now.uptime_s < before.uptime_s || now.offered < before.offered;
        let (nothing, seconds) = (Snapshot::default(), now.at_ns.saturating_sub(before.at_ns) as f64 / 1e9);
        let (before, seconds) = if has_restarted { (&nothing, now.uptime_s) } else { (before, seconds) };
        let per_s = |count: u64| if seconds > 0.0 { count as f64 / seconds } else { 0.0 };
        Self {
            seconds,
            offered_rps: per_s(now.offered.saturating_sub(before.offered)),
            served_rps: per_s(now.served.saturating_sub(before.served)),
            nacked_rps: per_s(now.nacked.saturating_sub(before.nacked)),
            nacked_by: now.nacked_by.since(before.nacked_by),
            utilization: utilization(before, now, seconds),
            latency: now.latency.since(&before.latency),
            waiting: now.waiting.since(&before.waiting),
            service: now.service.since(&before.service),
            hit_share: hit_share(before, now),
        }
    }

    /// The share of offered RPCs that were refused.
    pub fn nack_share(&self) -> f64 {
        if self.offered_rps > 0.0 { self.nacked_rps / self.offered_rps } else { 0.0 }
    }

    /// The mean over all workers.
    pub fn utilization_mean(&self) -> f64 {
        let workers = self.utilization.iter().filter(|(name, _)| name.starts_with("worker"));
        let (sum, count) = workers.fold((0.0, 0.0), |(sum, count), (_, share)| (sum + share, count + 1.0));
        if count > 0.0 { sum / count } else { 0.0 }
    }
}

impl NackedBy {
    fn since(self, before: Self) -> Self {
        Self {
            queue_bound: self.queue_bound.saturating_sub(before.queue_bound),
            buffer_full: self.buffer_full.saturating_sub(before.buffer_full),
            reassembler_full: self.reassembler_full.saturating_sub(before.reassembler_full),
            too_large: self.too_large.saturating_sub(before.too_large),
            stale: self.stale.saturating_sub(before.stale),
            expired: self.expired.saturating_sub(before.expired),
        }
    }
}

fn utilization(before: &Snapshot, now: &Snapshot, seconds: f64) -> Vec<(String, f64)> {
    let share = |busy_ns: u64| if seconds > 0.0 { (busy_ns as f64 / 1e9 / seconds).min(1.0) } else { 0.0 };
    let engines = now.engine_busy_ns.saturating_sub(before.engine_busy_ns);
    let each = share(engines / now.engines.max(1));
    if now.is_inline {
        // An inline worker is busy in each turn that does something.
        return (0..now.workers).map(|worker| (format!("worker {worker}"), each)).collect();
    }
    let busy_before = |worker: u16| before.cores.get(usize::from(worker)).map_or(0, |core| core.busy_ns);
    let workers = now.cores.iter().map(|core| {
        let busy = core.busy_ns.saturating_sub(busy_before(core.worker));
        (format!("worker {}", core.worker), share(busy))
    });
    let engines = (0..now.engines).map(|engine| (format!("engine {engine}"), each));
    engines.chain(workers).collect()
}

fn hit_share(before: &Snapshot, now: &Snapshot) -> Option<f64> {
    let (now, before) = (now.store?, before.store.unwrap_or_default());
    let (hits, misses) = (now.hits.saturating_sub(before.hits), now.misses.saturating_sub(before.misses));
    (hits + misses > 0).then(|| hits as f64 / (hits + misses) as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::observe::Core;

    fn snapshot(at_s: u64, served: u64, busy_ns: u64) -> Snapshot {
        Snapshot {
            at_ns: at_s * 1_000_000_000,
            uptime_s: at_s as f64,
            offered: served + served / 4,
            nacked: served / 4,
            served,
            workers: 1,
            engines: 1,
            cores: vec![Core { busy_ns, ..Core::default() }],
            engine_busy_ns: busy_ns / 2,
            ..Snapshot::default()
        }
    }

    #[test]
    fn rates_are_those_of_the_time_between() {
        let change = Change::between(&snapshot(10, 1000, 0), &snapshot(12, 3000, 1_000_000_000));
        assert_eq!((change.served_rps, change.offered_rps, change.nack_share()), (1000.0, 1250.0, 0.2));
        assert_eq!(change.utilization, [("engine 0".to_owned(), 0.25), ("worker 0".to_owned(), 0.5)]);
        assert_eq!(change.utilization_mean(), 0.5);
    }

    #[test]
    fn a_server_that_has_begun_again_is_looked_at_from_its_beginning() {
        let change = Change::between(&snapshot(100, 9000, 0), &snapshot(2, 400, 0));
        assert_eq!((change.seconds, change.served_rps), (2.0, 200.0));
    }
}
