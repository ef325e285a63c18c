//! The rows of the demo, for tables, JSON and CSV.

use nebula_workload::Latency;

use super::service::Kind;
use crate::report::finding::{Point, Sweep};
use nebula_ui::output::{Row, Value};

pub(super) const FIELDS: &str = "Fields of a row (JSON, CSV); shares are 0 to 1, and of all offered RPCs:
  design, load            the design, and the offered load as a share of saturation
  simulated               whether the row is simulated, as the machine is too busy to measure
  slo_ns, goodput         the SLO, and the share answered within it
  meets_slo_raw           whether goodput is at least 0.99
  offered_rps, served_rps, saturation_rps          RPCs per second
  nack_share              NACKed by the server, without those of nack_share_generator_late
  generator_late          sent more than slo/10 late by the load generator itself
  nack_share_generator_late                        of those, NACKed by the server
  client_full_share       not sent: the client had no room for longer than the SLO
  unanswered_share        no reply and no NACK, client_full_share among them
  latency_ns_p50, latency_ns_p99                   of all RPCs; null is infinite
  latency_ns_p99_answered, answered_in_time_share  of the answered RPCs only
  latency_ns_p99_gaps_excluded, share_kept, meets_slo_gaps_excluded
                          without RPCs that met a pause of the machine; the share left
  machine_share_lost      the share of time that pauses took from the clients";

pub(super) fn row(kind: Kind, point: &Point, found: &Sweep) -> Row {
    let finite = |latency: Latency| latency.finite().map_or(Value::Null, |span| Value::from(span.as_ns()));
    let excluded = point.p99_gaps_excluded;
    let meets_excluded = excluded.map_or(Value::Null, |p99| Value::from(p99 <= Latency::Finite(found.slo)));
    let row = Row::new()
        .field("design", kind.name())
        .field("load", point.load)
        .field("simulated", found.simulated.is_some())
        .field("saturation_rps", found.saturation_rps)
        .field("offered_rps", point.offered_rps)
        .field("served_rps", point.served_rps)
        .field("goodput", point.goodput)
        .field("nack_share", point.nack_share)
        .field("nack_share_generator_late", point.nacked_late_share)
        .field("generator_late", point.generator_late)
        .field("client_full_share", point.client_full_share)
        .field("unanswered_share", point.unanswered_share)
        .field("latency_ns_p50", finite(point.raw.p50))
        .field("latency_ns_p99", finite(point.raw.p99))
        .field("latency_ns_p99_gaps_excluded", excluded.map_or(Value::Null, finite))
        .field("share_kept", point.share_kept.map_or(Value::Null, Value::from))
        .field("machine_share_lost", point.share_lost)
        .field("latency_ns_p99_answered", point.raw.p99_answered.map_or(Value::Null, |span| Value::from(span.as_ns())))
        .field("answered_in_time_share", point.raw.answered_in_time.map_or(Value::Null, Value::from))
        .field("slo_ns", found.slo.as_ns())
        .field("meets_slo_raw", point.keeps())
        .field("meets_slo_gaps_excluded", meets_excluded)
        .word("design", kind.name());
    point.shown().into_iter().fold(row, |row, (heading, text)| row.shown(heading, text))
}
