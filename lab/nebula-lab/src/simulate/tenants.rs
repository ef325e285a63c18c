//! `nebula simulate --tenants`: messaging domains that share cores by weight, a row each.

use nebula_sim::study::{Row, Value, text, units};
use nebula_sim::{OfTenant, Tenants};

use super::question::Question;
use crate::words::shipped_or_file;
use crate::{Answer, Failure, Progress, Workers};

pub(super) fn ask(args: &Question, given: &str, workers: &Workers, progress: &dyn Progress) -> Result<Answer, Failure> {
    let (_, tenants) = shipped_or_file("--tenants", given, Tenants::shipped(), Tenants::source, Tenants::parse)?;
    let effort = args.effort.effort();
    effort.validate()?;
    progress.expect(u64::from(effort.replications));
    let found = workers.install(|| tenants.estimate(&effort, &|| progress.step()))?;
    let rows: Vec<Row> = found.tenants.iter().map(|found| row(&tenants, found)).collect();
    Ok(Answer { rows, ..Answer::default() })
}

/// The fields are described in docs/LABORATORY.md.
fn row(tenants: &Tenants, found: &OfTenant) -> Row {
    let OfTenant { tenant, .. } = found;
    let (p50, p99, mean) = (found.p50_ps.scaled(1e-3), found.p99_ps.scaled(1e-3), found.mean_ps.scaled(1e-3));
    let latency = Value::object([
        ("mean", text::digits(mean.value).into()),
        ("p50", text::digits(p50.value).into()),
        ("p99", text::digits(p99.value).into()),
    ]);
    let bound = tenant.queue_bound.map_or(Value::Null, |bound| u64::from(bound.get()).into());
    Row::new()
        .field("tenant", tenant.name.clone())
        .field("cores", u64::from(tenants.cores.get()))
        .field("weight", u64::from(tenant.weight.get()))
        .field("load", tenant.load)
        .field("service", tenant.service.to_string())
        .field("arrivals", tenant.arrivals.to_string())
        .field("queue_bound", bound)
        .field("offered_mrps", text::digits(found.offered_rps.value * 1e-6))
        .field("throughput_mrps", text::digits(found.served_rps.value * 1e-6))
        .field("throughput_mrps_ci", text::ends(found.served_rps.scaled(1e-6)))
        .field("nacked", text::digits(found.nacked.value))
        .field("nacked_ci", text::ends(found.nacked))
        .field("slo_ns", tenant.slo.as_ns_f64())
        .field("meets_slo", found.met.name())
        .field("latency_ns", latency)
        .field("latency_ns_mean_ci", text::ends(mean))
        .field("latency_ns_p50_ci", text::ends(p50))
        .field("latency_ns_p99_ci", text::ends(p99))
        .field("fair_share", text::digits(found.fair_share))
        .field("share", text::digits(found.share.value))
        .field("share_ci", text::ends(found.share))
        .field("busy", text::digits(found.busy.value))
        .field("busy_ci", text::ends(found.busy))
        .word("tenant", tenant.name.clone())
        .shown("weight", tenant.weight.to_string())
        .shown("load", text::load(tenant.load))
        .shown("p50", text::with_half(p50, text::time))
        .shown("p99", text::with_half(p99, text::time))
        .shown("SLO", units::span(tenant.slo))
        .word("meets SLO", found.met.name())
        .shown("NACKed", text::with_half(found.nacked, units::percent))
        .shown("share of\ncores", text::with_half(found.share, units::percent))
        .shown("by\nweight", units::percent(found.fair_share))
        .shown("cores\nbusy", text::with_half(found.busy, units::percent))
}
