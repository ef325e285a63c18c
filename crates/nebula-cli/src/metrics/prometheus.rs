//! `/metrics`: a snapshot in Prometheus' text format, by its own library. Units are seconds and bytes, as its conventions have it.

use std::fmt;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric, NoLabelSet, prometheus_text};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::registry::Registry;

use crate::observe::{Snapshot, Times};

/// Where the buckets of a histogram end, in seconds: three a decade.
const ENDS_S: [f64; 25] = [
    1e-7, 2e-7, 5e-7, 1e-6, 2e-6, 5e-6, 1e-5, 2e-5, 5e-5, 1e-4, 2e-4, 5e-4, 1e-3, 2e-3, 5e-3, 1e-2, 2e-2, 5e-2, 0.1,
    0.2, 0.5, 1.0, 2.0, 5.0, 10.0,
];

/// The text of all metrics.
///
/// # Errors
///
/// As the library says; writing to memory does not fail.
pub(super) fn text(snapshot: &Snapshot) -> Result<String, fmt::Error> {
    let mut registry = Registry::with_prefix("nebula");
    registry.register_collector(Box::new(Metrics(snapshot.clone())));
    let mut text = String::new();
    prometheus_text::encode(&mut text, &registry)?;
    Ok(text)
}

#[derive(Debug)]
struct Metrics(Snapshot);

impl Collector for Metrics {
    fn encode(&self, encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let mut into = Into { encoder };
        let Self(now) = self;
        rpcs(&mut into, now)?;
        room(&mut into, now)?;
        cores(&mut into, now)?;
        times(&mut into, now)?;
        store(&mut into, now)?;
        pool(&mut into, now)
    }
}

fn rpcs(into: &mut Into<'_>, now: &Snapshot) -> fmt::Result {
    into.counter("rpcs_offered", "RPCs that clients asked for", now.offered)?;
    into.counter("rpcs_served", "RPCs that are over, with their slots given back", now.served)?;
    into.counters("rpcs_nacked", "RPCs refused, by cause", "cause", &now.nacked_by.named())?;
    into.counter("rpcs_abandoned", "RPCs whose packets did not all come in time", now.abandoned)?;
    into.counter("rpcs_unanswered", "Requests neither served nor refused for lack of time", now.unanswered)?;
    into.counter("rpcs_cancelled", "RPCs cancelled by their clients before a core began them", now.cancelled)?;
    into.counter("rpcs_stolen", "RPCs served by another worker than the one they were given to", now.stolen)?;
    into.counter("rpcs_steered", "RPCs whose payload was fetched before their core began them", now.steered)?;
    into.counter("packets_dropped", "Packets ignored", now.dropped_packets)?;
    into.counter("violations", "Violations of the protocol", now.violations)
}

fn room(into: &mut Into<'_>, now: &Snapshot) -> fmt::Result {
    into.gauge("queue_depth", "RPCs that wait for a core", now.queue_depth as f64)?;
    into.gauge(
        "queue_depth_recent",
        "The most RPCs that waited at the end of a turn, of the last 1 to 2 s",
        now.queue_depth_recent as f64,
    )?;
    into.gauge("queue_bound", "RPCs waiting at which the next one is refused", now.queue_bound as f64)?;
    into.gauge("receive_buffer_bytes", "Size of the receive buffer", now.buffer_bytes as f64)?;
    into.gauge("receive_buffer_used_bytes", "Of it, held by RPCs", now.buffer_bytes_used as f64)?;
    into.gauge(
        "receive_buffer_used_recent_bytes",
        "The most of it held, of the last 1 to 2 s",
        now.buffer_bytes_used_recent as f64,
    )?;
    into.gauge(
        "reassembler_entries",
        "RPCs of several packets that may be incomplete at once",
        now.reassembler_entries as f64,
    )?;
    into.gauge(
        "reassembler_entries_used",
        "RPCs of several packets that are incomplete",
        now.reassembler_entries_used as f64,
    )?;
    into.gauge("clients", "Clients connected; over udp:// let in so far", now.clients as f64)?;
    into.gauge(
        "draining",
        "1 once the server takes nothing in any more",
        f64::from(u8::from(now.state == "draining")),
    )?;
    into.gauge("uptime_seconds", "Since the server began", now.uptime_s)?;
    into.gauge("slo_seconds", "The latency that the server is to keep", now.slo_ns as f64 / 1e9)
}

fn cores(into: &mut Into<'_>, now: &Snapshot) -> fmt::Result {
    into.gauge("workers", "Workers", now.workers as f64)?;
    into.gauge("engines", "Engines", now.engines as f64)?;
    let names: Vec<String> = now.cores.iter().map(|core| core.worker.to_string()).collect();
    let served: Vec<_> = names.iter().zip(&now.cores).map(|(name, core)| (name.as_str(), core.served)).collect();
    into.counters("worker_rpcs_served", "RPCs served by each worker, as of its latest sample", "worker", &served)?;
    let busy: Vec<_> =
        names.iter().zip(&now.cores).map(|(name, core)| (name.as_str(), seconds(core.busy_ns))).collect();
    into.counters("worker_busy_seconds", "Time that each worker's handlers took, by its samples", "worker", &busy)?;
    into.counter("engine_busy_seconds", "Time of all engines' turns that did something", seconds(now.engine_busy_ns))?;
    into.counter("darc_plans", "Under darc: plans of which cores are reserved", now.darc_plans)?;
    into.gauge("darc_groups", "Under darc: groups of types in the last plan", now.darc_groups as f64)
}

fn times(into: &mut Into<'_>, now: &Snapshot) -> fmt::Result {
    into.histogram("latency_seconds", "From an RPC's arrival to its end, of one RPC in 64", &now.latency)?;
    into.histogram("waiting_seconds", "From an RPC's arrival to its beginning, of the same RPCs", &now.waiting)?;
    into.histogram("service_seconds", "From an RPC's beginning to its end, of the same RPCs", &now.service)
}

fn store(into: &mut Into<'_>, now: &Snapshot) -> fmt::Result {
    let Some(store) = now.store else { return Ok(()) };
    into.counter("store_hits", "Lookups that found an item", store.hits)?;
    into.counter("store_misses", "Lookups that found none", store.misses)?;
    into.counter("store_sets", "Items stored", store.sets)?;
    into.counter("store_deletes", "Items deleted", store.deletes)?;
    into.counter("store_evictions", "Items that made room for others", store.evictions)?;
    into.counter("store_expired", "Items whose time was over", store.expired)?;
    into.gauge("store_items", "Items in the store", store.items as f64)?;
    into.gauge("store_used_bytes", "Memory of the store in use", store.bytes_used as f64)?;
    into.gauge("store_bytes", "Memory of the store", store.bytes_max as f64)
}

fn pool(into: &mut Into<'_>, now: &Snapshot) -> fmt::Result {
    let Some(pool) = now.pool else { return Ok(()) };
    into.gauge("pool_threads", "Threads of the pool", f64::from(pool.threads))?;
    into.gauge("pool_rpcs", "RPCs that wait or run in the pool", f64::from(pool.held))?;
    into.gauge("pool_bound", "RPCs that the pool takes on at once", f64::from(pool.bound))?;
    into.counter("pool_rpcs_served", "RPCs that the pool has served", pool.served)?;
    into.counter("pool_rpcs_refused", "RPCs that the pool has refused", pool.refused)
}

fn seconds(ns: u64) -> f64 {
    ns as f64 / 1e9
}

/// The encoder, with one call a metric.
struct Into<'a> {
    encoder: DescriptorEncoder<'a>,
}

impl Into<'_> {
    fn gauge(&mut self, name: &str, help: &str, value: f64) -> fmt::Result {
        let metric = self.encoder.encode_descriptor(name, help, None, MetricType::Gauge)?;
        ConstGauge::new(value).encode(metric)
    }

    fn counter<N: Number>(&mut self, name: &str, help: &str, value: N) -> fmt::Result {
        let metric = self.encoder.encode_descriptor(name, help, None, MetricType::Counter)?;
        value.encode(metric)
    }

    /// A counter for each value of a label.
    fn counters<N: Number>(&mut self, name: &str, help: &str, label: &str, values: &[(&str, N)]) -> fmt::Result {
        let mut metric = self.encoder.encode_descriptor(name, help, None, MetricType::Counter)?;
        values.iter().try_for_each(|&(of, value)| value.encode(metric.encode_family(&[(label, of)])?))
    }

    fn histogram(&mut self, name: &str, help: &str, times: &Times) -> fmt::Result {
        let mut metric = self.encoder.encode_descriptor(name, help, None, MetricType::Histogram)?;
        metric.encode_histogram::<NoLabelSet>(times.sum_ns / 1e9, times.samples, &buckets(times), None)
    }
}

/// What a counter may count in.
trait Number: Copy {
    fn encode(self, metric: prometheus_client::encoding::MetricEncoder<'_>) -> fmt::Result;
}

impl Number for u64 {
    fn encode(self, metric: prometheus_client::encoding::MetricEncoder<'_>) -> fmt::Result {
        ConstCounter::new(self).encode(metric)
    }
}

impl Number for f64 {
    fn encode(self, metric: prometheus_client::encoding::MetricEncoder<'_>) -> fmt::Result {
        ConstCounter::new(self).encode(metric)
    }
}

/// The samples by the buckets that they end in; what is beyond the last is in none.
fn buckets(times: &Times) -> Vec<(f64, u64)> {
    let mut left = times.buckets.iter().peekable();
    ENDS_S
        .iter()
        .map(|&end| {
            let mut count = 0;
            while let Some(&(_, more)) = left.next_if(|(ns, _)| *ns / 1e9 <= end) {
                count += more;
            }
            (end, count)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::observe::{Core, NackedBy, Pool, StoreSnapshot};

    fn snapshot() -> Snapshot {
        Snapshot {
            offered: 12,
            served: 10,
            nacked_by: NackedBy { queue_bound: 2, ..NackedBy::default() },
            cores: vec![Core { worker: 0, busy_ns: 1_500_000_000, served: 10, ..Core::default() }],
            latency: Times { samples: 3, sum_ns: 1600.0, buckets: vec![(90.0, 1), (1500.0, 1), (20e9, 1)] },
            store: Some(StoreSnapshot { hits: 7, ..StoreSnapshot::default() }),
            pool: Some(Pool { threads: 1, ..Pool::default() }),
            state: "serving".to_owned(),
            ..Snapshot::default()
        }
    }

    #[test]
    fn counters_gauges_and_histograms_are_lines_with_their_units() {
        let text = text(&snapshot()).unwrap();
        for line in [
            "nebula_rpcs_offered_total 12",
            "nebula_rpcs_nacked_total{cause=\"queue_bound\"} 2",
            "nebula_worker_busy_seconds_total{worker=\"0\"} 1.5",
            "nebula_latency_seconds_bucket{le=\"1e-07\"} 1",
            "nebula_latency_seconds_bucket{le=\"2e-06\"} 2",
            "nebula_latency_seconds_bucket{le=\"+Inf\"} 3",
            "nebula_latency_seconds_count 3",
            "nebula_store_hits_total 7",
            "# TYPE nebula_queue_depth gauge",
        ] {
            assert!(text.lines().any(|found| found == line), "{line} is not in:\n{text}");
        }
    }

    /// Names of metrics in an expression: words that begin as ours do.
    fn names(text: &str) -> impl Iterator<Item = &str> {
        let words = text.split(|letter: char| !(letter.is_ascii_alphanumeric() || letter == '_'));
        words.filter(|word| word.starts_with("nebula_"))
    }

    #[test]
    fn every_metric_that_the_dashboard_names_exists() {
        let text = text(&snapshot()).unwrap();
        // Read when the test runs: the package of this crate does not have it.
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../packaging/grafana/nebula.json");
        let dashboard: serde_json::Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
        let mut expressions = Vec::new();
        let mut left = vec![&dashboard];
        while let Some(value) = left.pop() {
            match value {
                serde_json::Value::Object(fields) => {
                    expressions.extend(fields.get("expr").and_then(|expr| expr.as_str()));
                    left.extend(fields.values());
                }
                serde_json::Value::Array(values) => left.extend(values),
                _ => {}
            }
        }
        assert!(expressions.len() > 10, "{} expressions", expressions.len());
        for name in expressions.iter().flat_map(|expression| names(expression)) {
            let is_there = text.lines().any(|line| line.split(['{', ' ']).next() == Some(name));
            assert!(is_there, "{name} is not at /metrics");
        }
    }
}
