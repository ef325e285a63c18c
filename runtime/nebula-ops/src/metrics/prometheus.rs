//! `/metrics`: a snapshot in Prometheus' text format, with seconds and bytes by its conventions.

use std::fmt;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric, NoLabelSet, prometheus_text};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::registry::Registry;

use crate::observe::{Snapshot, Times};

/// The upper bounds of a histogram's buckets, in seconds: three a decade.
const ENDS_S: [f64; 25] = [
    1e-7, 2e-7, 5e-7, 1e-6, 2e-6, 5e-6, 1e-5, 2e-5, 5e-5, 1e-4, 2e-4, 5e-4, 1e-3, 2e-3, 5e-3, 1e-2, 2e-2, 5e-2, 0.1,
    0.2, 0.5, 1.0, 2.0, 5.0, 10.0,
];

/// The text of all metrics. With several servers each has the label `endpoint`.
pub(super) fn text(servers: Vec<Snapshot>) -> Result<String, fmt::Error> {
    let mut registry = Registry::with_prefix("nebula");
    registry.register_collector(Box::new(Metrics(servers)));
    let mut text = String::new();
    prometheus_text::encode(&mut text, &registry)?;
    Ok(text)
}

#[derive(Debug)]
struct Metrics(Vec<Snapshot>);

impl Collector for Metrics {
    fn encode(&self, encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let mut into = Into { encoder, servers: &self.0 };
        rpcs(&mut into)?;
        room(&mut into)?;
        cores(&mut into)?;
        times(&mut into)?;
        store(&mut into)?;
        pool(&mut into)?;
        packets(&mut into)
    }
}

fn rpcs(into: &mut Into<'_, '_>) -> fmt::Result {
    into.counter("rpcs_offered", "RPCs that clients asked for", |now| Some(now.offered))?;
    into.counter("rpcs_served", "RPCs that are over, with their slots given back", |now| Some(now.served))?;
    into.counters("rpcs_nacked", "RPCs refused, by cause", "cause", |now| {
        now.nacked_by.named().map(|(cause, count)| (cause.to_owned(), count)).into()
    })?;
    into.counter("rpcs_abandoned", "RPCs whose packets did not all come in time", |now| Some(now.abandoned))?;
    into.counter("rpcs_unanswered", "Requests neither served nor refused for lack of time", |now| {
        Some(now.unanswered)
    })?;
    into.counter("rpcs_cancelled", "RPCs cancelled by their clients before a core began them", |now| {
        Some(now.cancelled)
    })?;
    into.counter("rpcs_stolen", "RPCs served by another worker than the one they were given to", |now| {
        Some(now.stolen)
    })?;
    into.counter("rpcs_steered", "RPCs whose payload was fetched before their core began them", |now| {
        Some(now.steered)
    })?;
    into.counter("rpcs_migrated", "RPCs that another group of workers took over", |now| Some(now.migrated))?;
    into.counters(
        "migrations",
        "Decisions of a group to hand RPCs over, by the pattern of the queues",
        "pattern",
        |now| {
            let counts =
                [("hill", now.migrations_hill), ("valley", now.migrations_valley), ("pairing", now.migrations_pairing)];
            counts.map(|(pattern, count)| (pattern.to_owned(), count)).into()
        },
    )?;
    into.counter("one_sided_operations", "One-sided operations that engines carried out", |now| Some(now.one_sided))?;
    into.counter("one_sided_refused", "One-sided operations that engines refused", |now| Some(now.one_sided_refused))?;
    into.counter("packets_dropped", "Packets ignored", |now| Some(now.dropped_packets))?;
    into.counter("violations", "Violations of the protocol", |now| Some(now.violations))
}

fn room(into: &mut Into<'_, '_>) -> fmt::Result {
    into.gauge("queue_depth", "RPCs that wait for a core", |now| Some(now.queue_depth as f64))?;
    into.gauge("queue_depth_recent", "The most RPCs that waited at the end of a turn, of the last 1 to 2 s", |now| {
        Some(now.queue_depth_recent as f64)
    })?;
    into.gauge("queue_bound", "RPCs waiting at which the next one is refused", |now| Some(now.queue_bound as f64))?;
    into.gauge("receive_buffer_bytes", "Size of the receive buffer", |now| Some(now.buffer_bytes as f64))?;
    into.gauge("receive_buffer_used_bytes", "Of it, held by RPCs", |now| Some(now.buffer_bytes_used as f64))?;
    into.gauge("receive_buffer_used_recent_bytes", "The most of it held, of the last 1 to 2 s", |now| {
        Some(now.buffer_bytes_used_recent as f64)
    })?;
    into.gauge("reassembler_entries", "RPCs of several packets that may be incomplete at once", |now| {
        Some(now.reassembler_entries as f64)
    })?;
    into.gauge("reassembler_entries_used", "RPCs of several packets that are incomplete", |now| {
        Some(now.reassembler_entries_used as f64)
    })?;
    into.gauge("clients", "Clients connected; over udp:// and tcp:// let in so far", |now| Some(now.clients as f64))?;
    into.gauge("draining", "1 once the server takes nothing in any more", |now| {
        Some(f64::from(u8::from(now.state == "draining")))
    })?;
    into.gauge("uptime_seconds", "Since the server began", |now| Some(now.uptime_s))?;
    into.gauge("slo_seconds", "The latency that the server is to keep", |now| Some(now.slo_ns as f64 / 1e9))
}

fn cores(into: &mut Into<'_, '_>) -> fmt::Result {
    into.gauge("workers", "Workers", |now| Some(now.workers as f64))?;
    into.gauge("engines", "Engines", |now| Some(now.engines as f64))?;
    let served = |now: &Snapshot| now.cores.iter().map(|core| (core.worker.to_string(), core.served)).collect();
    into.counters("worker_rpcs_served", "RPCs served by each worker, as of its latest sample", "worker", served)?;
    let busy = |now: &Snapshot| now.cores.iter().map(|core| (core.worker.to_string(), seconds(core.busy_ns))).collect();
    into.counters("worker_busy_seconds", "Time that each worker's handlers took, by its samples", "worker", busy)?;
    let engines = |now: &Snapshot| Some(seconds(now.engine_busy_ns));
    into.counter("engine_busy_seconds", "Time of all engines' turns that did something", engines)?;
    into.counter("darc_plans", "Under darc: plans of which cores are reserved", |now| Some(now.darc_plans))?;
    into.gauge("darc_groups", "Under darc: groups of types in the last plan", |now| Some(now.darc_groups as f64))
}

fn times(into: &mut Into<'_, '_>) -> fmt::Result {
    into.histogram("latency_seconds", "From an RPC's arrival to its end, of one RPC in 64", |now| &now.latency)?;
    into.histogram("waiting_seconds", "From an RPC's arrival to its beginning, of the same RPCs", |now| &now.waiting)?;
    into.histogram("service_seconds", "From an RPC's beginning to its end, of the same RPCs", |now| &now.service)
}

fn store(into: &mut Into<'_, '_>) -> fmt::Result {
    let of = |now: &Snapshot| now.store;
    into.counter("store_hits", "Lookups that found an item", |now| Some(of(now)?.hits))?;
    into.counter("store_misses", "Lookups that found none", |now| Some(of(now)?.misses))?;
    into.counter("store_sets", "Items stored", |now| Some(of(now)?.sets))?;
    into.counter("store_deletes", "Items deleted", |now| Some(of(now)?.deletes))?;
    into.counter("store_evictions", "Items that made room for others", |now| Some(of(now)?.evictions))?;
    into.counter("store_expired", "Items whose time was over", |now| Some(of(now)?.expired))?;
    into.gauge("store_items", "Items in the store", |now| Some(of(now)?.items as f64))?;
    into.gauge("store_used_bytes", "Memory of the store in use", |now| Some(of(now)?.bytes_used as f64))?;
    into.gauge("store_bytes", "Memory of the store", |now| Some(of(now)?.bytes_max as f64))
}

fn pool(into: &mut Into<'_, '_>) -> fmt::Result {
    let of = |now: &Snapshot| now.pool;
    into.gauge("pool_threads", "Threads of the pool", |now| Some(f64::from(of(now)?.threads)))?;
    into.gauge("pool_rpcs", "RPCs that wait or run in the pool", |now| Some(f64::from(of(now)?.held)))?;
    into.gauge("pool_bound", "RPCs that the pool takes on at once", |now| Some(f64::from(of(now)?.bound)))?;
    into.counter("pool_rpcs_served", "RPCs that the pool has served", |now| Some(of(now)?.served))?;
    into.counter("pool_rpcs_refused", "RPCs that the pool has refused", |now| Some(of(now)?.refused))
}

fn packets(into: &mut Into<'_, '_>) -> fmt::Result {
    if into.servers.iter().all(|now| now.packets.is_none()) {
        return Ok(());
    }
    let of = |now: &Snapshot| now.packets.unwrap_or_default();
    let sides = |[inside, outside]: [u64; 2]| vec![("inside".to_owned(), inside), ("outside".to_owned(), outside)];
    into.counters("through_packets_received", "Packets that came, by side", "side", |now| sides(of(now).received))?;
    into.counters("through_packets_sent", "Packets that left, by side", "side", |now| sides(of(now).sent))?;
    into.counters("through_packets_dropped", "Packets that came and did not leave, by cause", "cause", |now| {
        let packets = of(now);
        let causes = [
            ("functions", packets.dropped),
            ("refused", packets.refused),
            ("no_neighbor", packets.no_neighbor),
            ("no_room", packets.no_room),
            ("too_long", packets.too_long),
            ("failed", packets.failed),
        ];
        causes.map(|(cause, count)| (cause.to_owned(), count)).into()
    })?;
    into.counter("through_packets_lost", "Frames that were not taken: too long, or no room", |now| {
        now.packets.map(|packets| packets.lost)
    })
}

fn seconds(ns: u64) -> f64 {
    ns as f64 / 1e9
}

/// The encoder, with one call a metric. A metric omits the servers that lack it, and is left out if
/// all do.
struct Into<'e, 's> {
    encoder: DescriptorEncoder<'e>,
    servers: &'s [Snapshot],
}

type Labels<'s> = Vec<(&'static str, &'s str)>;

impl<'s> Into<'_, 's> {
    fn labeled(&self) -> impl Iterator<Item = (Labels<'s>, &'s Snapshot)> + use<'s> {
        let is_named = self.servers.len() > 1;
        self.servers.iter().map(move |now| {
            let label = is_named.then_some(("endpoint", now.endpoint.as_str()));
            (label.into_iter().collect(), now)
        })
    }

    fn gauge(&mut self, name: &str, help: &str, value: impl Fn(&Snapshot) -> Option<f64>) -> fmt::Result {
        let values: Vec<_> = self.labeled().filter_map(|(labels, now)| Some((labels, value(now)?))).collect();
        if values.is_empty() {
            return Ok(());
        }
        let mut metric = self.encoder.encode_descriptor(name, help, None, MetricType::Gauge)?;
        values.into_iter().try_for_each(|(labels, value)| ConstGauge::new(value).encode(metric.encode_family(&labels)?))
    }

    fn counter<N: Number>(&mut self, name: &str, help: &str, value: impl Fn(&Snapshot) -> Option<N>) -> fmt::Result {
        let values: Vec<_> = self.labeled().filter_map(|(labels, now)| Some((labels, value(now)?))).collect();
        if values.is_empty() {
            return Ok(());
        }
        let mut metric = self.encoder.encode_descriptor(name, help, None, MetricType::Counter)?;
        values.into_iter().try_for_each(|(labels, value)| value.encode(metric.encode_family(&labels)?))
    }

    /// A counter for each value of a label.
    fn counters<N: Number>(
        &mut self,
        name: &str,
        help: &str,
        label: &'static str,
        values: impl Fn(&Snapshot) -> Vec<(String, N)>,
    ) -> fmt::Result {
        let servers = self.labeled();
        let mut metric = self.encoder.encode_descriptor(name, help, None, MetricType::Counter)?;
        for (labels, now) in servers {
            for (of, value) in values(now) {
                let labels: Labels<'_> = labels.iter().copied().chain([(label, of.as_str())]).collect();
                value.encode(metric.encode_family(&labels)?)?;
            }
        }
        Ok(())
    }

    fn histogram(&mut self, name: &str, help: &str, of: impl Fn(&Snapshot) -> &Times) -> fmt::Result {
        let servers = self.labeled();
        let mut metric = self.encoder.encode_descriptor(name, help, None, MetricType::Histogram)?;
        for (labels, now) in servers {
            let times = of(now);
            let mut one = metric.encode_family(&labels)?;
            one.encode_histogram::<NoLabelSet>(times.sum_ns / 1e9, times.samples, &buckets(times), None)?;
        }
        Ok(())
    }
}

/// The types of a counter's value.
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

/// The samples by the buckets that they end in; samples beyond the last bucket are in none.
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
        let text = text(vec![snapshot()]).unwrap();
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

    #[test]
    fn several_servers_are_told_apart_and_each_metric_is_described_once() {
        let named = |endpoint: &str| Snapshot { endpoint: endpoint.to_owned(), ..snapshot() };
        let text = text(vec![named("shm://kv"), Snapshot { store: None, ..named("tcp://127.0.0.1:1") }]).unwrap();
        for line in [
            "nebula_rpcs_offered_total{endpoint=\"shm://kv\"} 12",
            "nebula_rpcs_offered_total{endpoint=\"tcp://127.0.0.1:1\"} 12",
            "nebula_rpcs_nacked_total{endpoint=\"shm://kv\",cause=\"queue_bound\"} 2",
            "nebula_latency_seconds_count{endpoint=\"tcp://127.0.0.1:1\"} 3",
            "nebula_store_hits_total{endpoint=\"shm://kv\"} 7",
        ] {
            assert!(text.lines().any(|found| found == line), "{line} is not in:\n{text}");
        }
        let described = |line: &&str| line.starts_with("# TYPE nebula_rpcs_offered");
        assert_eq!(text.lines().filter(described).count(), 1);
        assert!(!text.contains("nebula_store_hits_total{endpoint=\"tcp"), "a server without a store");
    }

    fn names(text: &str) -> impl Iterator<Item = &str> {
        let words = text.split(|letter: char| !(letter.is_ascii_alphanumeric() || letter == '_'));
        words.filter(|word| word.starts_with("nebula_"))
    }

    #[test]
    fn every_metric_that_the_dashboard_names_exists() {
        let text = text(vec![snapshot()]).unwrap();
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
