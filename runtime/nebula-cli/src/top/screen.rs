//! The picture of `nebula top`: lines of text for a terminal of some width.

use super::series::{Series, gauge};
use nebula_ops::observe::{Change, Snapshot, shown};
use nebula_ui::output::units;

const NAME: usize = 12;
const VALUE: usize = 22;
/// The fewest columns for figures over time.
const BARS_MIN: usize = 10;
/// Each has a line; of more cores, the busiest are shown.
const CORES_MAX: usize = 16;

#[derive(Debug, Default)]
pub(super) struct Screen {
    now: Option<(Snapshot, Change)>,
    offered: Series,
    served: Series,
    nacked: Series,
    p50: Series,
    p99: Series,
    queue: Series,
    buffer: Series,
    reassembler: Series,
    hits: Series,
}

impl Screen {
    /// Adds a snapshot. The first one shows no change.
    pub(super) fn add(&mut self, now: &Snapshot, last: Option<&Snapshot>) {
        let Some(change) = super::change(now, last) else {
            self.now = Some((now.clone(), Change::default()));
            return;
        };
        self.offered.push(change.offered_rps);
        self.served.push(change.served_rps);
        self.nacked.push(change.nacked_rps);
        self.p50.push(change.latency.quantile_ns(0.5).unwrap_or(0.0));
        self.p99.push(change.latency.quantile_ns(0.99).unwrap_or(0.0));
        self.queue.push(now.queue_depth_recent as f64);
        self.buffer.push(now.buffer_bytes_used_recent as f64);
        self.reassembler.push(now.reassembler_entries_used as f64);
        self.hits.push(change.hit_share.unwrap_or(0.0));
        self.now = Some((now.clone(), change));
    }

    /// The lines, at most `columns` wide; `missing` says why there is no newer snapshot.
    pub(super) fn lines(&self, columns: usize, missing: Option<&str>) -> Vec<String> {
        let mut lines = match &self.now {
            None => vec!["no snapshot yet".to_owned()],
            Some((now, change)) => self.picture(now, change, columns),
        };
        if let Some(missing) = missing {
            lines.insert(1, format!("no answer: {missing}"));
        }
        lines.iter().map(|line| line.chars().take(columns.max(1)).collect()).collect()
    }

    fn picture(&self, now: &Snapshot, change: &Change, columns: usize) -> Vec<String> {
        let mut lines = vec![title(now), String::new()];
        let wide = columns.saturating_sub(NAME + VALUE + 2).max(BARS_MIN);
        let line = |name: &str, value: String, series: &Series, top: f64| figure(name, &value, &series.bars(wide, top));
        let load = self.offered.highest(wide);
        lines.push(line("offered", format!("{} RPC/s", units::rate(change.offered_rps)), &self.offered, load));
        lines.push(line("served", format!("{} RPC/s", units::rate(change.served_rps)), &self.served, load));
        let nacked = format!("{} RPC/s  {}", units::rate(change.nacked_rps), units::percent(change.nack_share()));
        lines.push(line("NACKed", nacked, &self.nacked, load));
        lines.extend(causes(change));
        lines.push(String::new());
        let latest = self.p99.highest(wide);
        lines.push(line("p50", shown(change.latency.quantile_ns(0.5)), &self.p50, latest));
        lines.push(line("p99", shown(change.latency.quantile_ns(0.99)), &self.p99, latest));
        let tail = [0.9, 0.999].map(|share| shown(change.latency.quantile_ns(share)));
        let service = shown(change.service.mean_ns());
        lines.push(format!(
            "{:NAME$} p90 {}   p99.9 {}   service {service}   SLO {}",
            "",
            tail[0],
            tail[1],
            shown(Some(now.slo_ns as f64))
        ));
        lines.push(String::new());
        let queue = format!("{} of {}", now.queue_depth_recent, bound(now.queue_bound));
        lines.push(line("queue", queue, &self.queue, top(now.queue_bound, &self.queue, wide)));
        let buffer = format!("{} of {}", units::bytes(now.buffer_bytes_used_recent), units::bytes(now.buffer_bytes));
        lines.push(line("buffer", buffer, &self.buffer, now.buffer_bytes as f64));
        let reassembler = format!("{} of {}", now.reassembler_entries_used, now.reassembler_entries);
        lines.push(line("reassembler", reassembler, &self.reassembler, now.reassembler_entries as f64));
        if let Some(store) = now.store {
            let hits = change.hit_share.map_or("–".to_owned(), units::percent);
            lines.push(line(
                "store hits",
                format!("{hits}  {} items", units::rate(store.items as f64)),
                &self.hits,
                1.0,
            ));
        }
        lines.push(String::new());
        lines.extend(cores(change, wide));
        lines
    }
}

fn title(now: &Snapshot) -> String {
    let clients = if now.clients == 1 { "client" } else { "clients" };
    format!("{}  {}  for {}  {} {clients}", now.endpoint, now.state, duration(now.uptime_s), now.clients)
}

fn duration(seconds: f64) -> String {
    match seconds {
        s if s < 120.0 => format!("{s:.0} s"),
        s if s < 7200.0 => format!("{:.0} min", s / 60.0),
        s => format!("{:.1} h", s / 3600.0),
    }
}

fn figure(name: &str, value: &str, bars: &str) -> String {
    format!("{name:NAME$} {value:VALUE$} {bars}")
}

fn causes(change: &Change) -> Option<String> {
    let causes = change.nacked_by.named().into_iter().filter(|(_, count)| *count > 0);
    let causes: Vec<String> = causes.map(|(cause, count)| format!("{} {count}", cause.replace('_', "-"))).collect();
    (!causes.is_empty()).then(|| format!("{:NAME$} {}", "", causes.join("   ")))
}

/// Without a bound the server reports the largest number.
fn bound(bound: u64) -> String {
    if bound >= u64::from(u32::MAX) { "∞".to_owned() } else { bound.to_string() }
}

fn top(bound: u64, series: &Series, columns: usize) -> f64 {
    if bound >= u64::from(u32::MAX) { series.highest(columns) } else { bound as f64 }
}

fn cores(change: &Change, columns: usize) -> Vec<String> {
    let mut cores: Vec<&(String, f64)> = change.utilization.iter().collect();
    let left_out = cores.len().saturating_sub(CORES_MAX);
    if left_out > 0 {
        cores.sort_by(|one, other| other.1.total_cmp(&one.1));
        cores.truncate(CORES_MAX);
    }
    let mut lines: Vec<String> = cores
        .iter()
        .map(|(name, share)| figure(name, &units::percent(*share), &gauge(*share, columns.min(50))))
        .collect();
    if left_out > 0 {
        lines.push(format!("{left_out} less busy ones are not shown"));
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use nebula_ops::observe::{Core, NackedBy, Times};

    fn at(second: u64) -> Snapshot {
        Snapshot {
            endpoint: "shm://kv".to_owned(),
            state: "serving".to_owned(),
            at_ns: second * 1_000_000_000,
            uptime_s: second as f64,
            offered: second * 1200,
            served: second * 1000,
            nacked: second * 200,
            nacked_by: NackedBy { queue_bound: second * 200, ..NackedBy::default() },
            queue_depth_recent: 5,
            queue_bound: 10,
            buffer_bytes: 4096,
            buffer_bytes_used_recent: 1024,
            slo_ns: 100_000,
            workers: 1,
            engines: 1,
            cores: vec![Core { busy_ns: second * 500_000_000, ..Core::default() }],
            latency: Times { samples: second, sum_ns: 2000.0, buckets: vec![(2000.0, second)] },
            ..Snapshot::default()
        }
    }

    #[test]
    fn a_picture_has_load_latency_room_and_cores_over_time() {
        let mut screen = Screen::default();
        for second in 1..5 {
            screen.add(&at(second + 1), Some(&at(second)));
        }
        let picture = screen.lines(100, None).join("\n");
        for shown in [
            "shm://kv  serving",
            "1.2k RPC/s",
            "16.7 %",
            "queue-bound 200",
            "████",
            "5 of 10",
            "1 KiB of 4 KiB",
            "worker 0",
            "50 %",
        ] {
            assert!(picture.contains(shown), "{shown} is not in:\n{picture}");
        }
    }

    #[test]
    fn no_line_is_wider_than_the_terminal_and_a_server_that_is_gone_is_told() {
        let mut screen = Screen::default();
        screen.add(&at(2), Some(&at(1)));
        let lines = screen.lines(40, Some("nobody serves shm://kv"));
        assert!(lines.iter().all(|line| line.chars().count() <= 40), "{lines:?}");
        assert!(lines[1].starts_with("no answer: nobody serves"), "{lines:?}");
        assert_eq!(Screen::default().lines(80, None), ["no snapshot yet"]);
    }
}
