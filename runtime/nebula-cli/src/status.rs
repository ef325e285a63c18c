//! `nebula status`: the counters of a running server, once. The exit code is a health check.

use std::time::Duration;

use nebula_nic::Span;

use crate::flags::Format;
use nebula_ops::observe::{Change, Place, Snapshot, Source, Times, shown};
use nebula_ui::output::{self, Failure, Row, Value, units};
use nebula_ui::signal;

const EXAMPLES: &str = "Examples:
  nebula status shm://kv                                  one row: state, load, latency, queue, buffer
  nebula status shm://kv --format json                    one line of JSON
  nebula status http://192.0.2.7:9464                     a server started with --metrics, on any machine
  nebula status shm://kv --interval 0ns > /dev/null && echo healthy

Exit codes: 0 the server takes RPCs; 1 nobody serves there, or the server is draining or does not answer; 2 invalid input. Rates, utilization and latencies are those of the interval; latencies are of one RPC in 64, from the server's receipt to the end of its service.";

/// Show the counters of a running server; the exit code says whether it takes RPCs
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// The server: shm://NAME, or http://ADDRESS:PORT of its --metrics
    endpoint: Place,
    /// Time that rates and latencies are measured over; with 0ns, since the server began
    #[arg(long, default_value = "200ms")]
    interval: Span,
    /// Output format
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    signal::catch()?;
    let mut source = Source::connect(&args.endpoint)?;
    let first = source.snapshot()?;
    let (before, now) = if args.interval == Span::ZERO {
        (Snapshot::default(), first)
    } else {
        signal::sleep(Duration::from_nanos(args.interval.as_ns()))?;
        (first, source.snapshot()?)
    };
    output::print(args.format, &[row(&now, &change(&before, &now))])?;
    verdict(&now)
}

/// The change since `before`, or since the server's start if that is no snapshot.
fn change(before: &Snapshot, now: &Snapshot) -> Change {
    if before.at_ns > 0 {
        return Change::between(before, now);
    }
    let began_ns = (now.uptime_s * 1e9).round();
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "an uptime in nanoseconds")]
    let at_ns = now.at_ns.saturating_sub(began_ns as u64);
    Change::between(&Snapshot { at_ns, ..Snapshot::default() }, now)
}

fn verdict(now: &Snapshot) -> Result<(), Failure> {
    match now.state.as_str() {
        "serving" => Ok(()),
        state => Err(Failure::fault(format!("{} is {state}: it takes no RPCs", now.endpoint))),
    }
}

fn row(now: &Snapshot, change: &Change) -> Row {
    with_shown(with_counters(with_rates(Row::new(), now, change), now), now, change)
}

fn with_rates(row: Row, now: &Snapshot, change: &Change) -> Row {
    let cores =
        change.utilization.iter().map(|(name, share)| (name.replace(' ', "_"), Value::from(rounded(*share, 1e4))));
    row.field("endpoint", now.endpoint.as_str())
        .field("state", now.state.as_str())
        .field("uptime_s", rounded(now.uptime_s, 1e3))
        .field("interval_s", rounded(change.seconds, 1e3))
        .field("offered_rps", rounded(change.offered_rps, 10.0))
        .field("served_rps", rounded(change.served_rps, 10.0))
        .field("nacked_rps", rounded(change.nacked_rps, 10.0))
        .field("nack_share", rounded(change.nack_share(), 1e6))
        .field("utilization", rounded(change.utilization_mean(), 1e4))
        .field("cores", Value::object(cores))
        .field("latency_ns", times(&change.latency))
        .field("waiting_ns", times(&change.waiting))
        .field("service_ns", times(&change.service))
        .field("hit_share", change.hit_share.map(|share| rounded(share, 1e4)))
}

fn with_counters(row: Row, now: &Snapshot) -> Row {
    let causes = now.nacked_by.named().map(|(cause, count)| (cause, Value::from(count)));
    row.field("offered", now.offered)
        .field("served", now.served)
        .field("nacked", now.nacked)
        .field("nacked_by", Value::object(causes))
        .field("abandoned", now.abandoned)
        .field("unanswered", now.unanswered)
        .field("violations", now.violations)
        .field("migrated", now.migrated)
        .field("migrations_hill", now.migrations_hill)
        .field("migrations_valley", now.migrations_valley)
        .field("migrations_pairing", now.migrations_pairing)
        .field("one_sided", now.one_sided)
        .field("one_sided_refused", now.one_sided_refused)
        .field("clients", now.clients)
        .field("workers", now.workers)
        .field("queue_depth", now.queue_depth)
        .field("queue_depth_recent", now.queue_depth_recent)
        .field("queue_depth_max", now.queue_depth_max)
        .field("queue_bound", now.queue_bound)
        .field("buffer_bytes", now.buffer_bytes)
        .field("buffer_bytes_used", now.buffer_bytes_used)
        .field("buffer_bytes_used_recent", now.buffer_bytes_used_recent)
        .field("reassembler_entries", now.reassembler_entries)
        .field("reassembler_entries_used", now.reassembler_entries_used)
        .field("slo_ns", now.slo_ns)
        .field("store_items", now.store.map(|store| store.items))
        .field("store_evictions", now.store.map(|store| store.evictions))
}

fn with_shown(row: Row, now: &Snapshot, change: &Change) -> Row {
    row.word("state", now.state.as_str())
        .shown("offered", units::rate(change.offered_rps))
        .shown("served", units::rate(change.served_rps))
        .shown("NACKed", units::percent(change.nack_share()))
        .shown("p50", shown(change.latency.quantile_ns(0.5)))
        .shown("p99", shown(change.latency.quantile_ns(0.99)))
        .shown("service", shown(change.service.mean_ns()))
        .shown("busy", units::percent(change.utilization_mean()))
        .shown("queue", format!("{} of {}", now.queue_depth, now.queue_bound))
        .shown("buffer", format!("{} of {}", units::bytes(now.buffer_bytes_used), units::bytes(now.buffer_bytes)))
        .shown("clients", now.clients.to_string())
}

/// `null` without samples.
fn times(times: &Times) -> Value {
    let at = |share| Value::from(times.quantile_ns(share).map(|ns| rounded(ns, 10.0)));
    Value::object([
        ("mean", times.mean_ns().map(|ns| rounded(ns, 10.0)).into()),
        ("p50", at(0.5)),
        ("p90", at(0.9)),
        ("p99", at(0.99)),
        ("p999", at(0.999)),
        ("samples", times.samples.into()),
    ])
}

fn rounded(number: f64, to: f64) -> f64 {
    (number * to).round() / to
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn only_a_server_that_takes_rpcs_is_healthy() {
        for (state, is_well) in [("serving", true), ("draining", false), ("starting", false)] {
            let snapshot = Snapshot { state: state.to_owned(), ..Snapshot::default() };
            assert_eq!(verdict(&snapshot).is_ok(), is_well, "{state}");
        }
    }

    #[test]
    fn the_table_of_fields_lists_those_that_are_printed() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/data/fields-status.tsv");
        let table = std::fs::read_to_string(path).expect("the table");
        // Fields of an object stand in braces behind its name.
        let names = table.lines().skip(1).filter_map(|line| line.split('\t').next());
        let without_objects = names.flat_map(|names| names.split('}')).filter_map(|part| part.split('{').next());
        let listed: BTreeSet<_> =
            without_objects.flat_map(|part| part.split(", ")).filter(|name| !name.is_empty()).collect();
        let printed = row(&Snapshot::default(), &Change::default());
        let printed: BTreeSet<_> = printed.fields().iter().map(|(name, _)| name.as_ref()).collect();
        assert_eq!(listed, printed);
    }

    #[test]
    fn without_an_interval_the_whole_life_counts() {
        let now = Snapshot { at_ns: 50_000_000_000, uptime_s: 10.0, served: 1000, ..Snapshot::default() };
        let change = change(&Snapshot::default(), &now);
        assert_eq!((change.seconds, change.served_rps), (10.0, 100.0));
    }
}
