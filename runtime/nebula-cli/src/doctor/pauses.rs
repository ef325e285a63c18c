//! Checks of the pauses of the cores.

use nebula_nic::Span;

use super::finding::Finding;
use crate::hiccup::{CoreHiccups, p99_floor};
use nebula_ui::output::{Value, units};

pub(super) fn findings(cores: &[CoreHiccups]) -> Vec<Finding> {
    cores.iter().map(of_core).chain(std::iter::once(of_floor(p99_floor(cores)))).collect()
}

/// A core that loses a larger share is unfit for microsecond latency. An idle machine loses some
/// tenths of a percent to its timer.
const SHARE_LOST_MAX: f64 = 0.03;
const LONG_GAPS_PER_S_MAX: f64 = 50.0;

fn of_core(hiccups: &CoreHiccups) -> Finding {
    let summary = &hiccups.summary;
    let classes = summary.per_second_above;
    let counts = classes.map(|(bound, per_s)| format!("{per_s:.0} > {}", units::span(bound))).join(", ");
    let measured = format!(
        "gaps per second: {counts}; {} of the time lost, longest {}",
        units::percent(summary.share_lost),
        units::span(summary.longest),
    );
    let long_per_s = classes[3].1;
    let names = ["above_1us", "above_3us", "above_10us", "above_30us", "above_100us"];
    let per_s = names.into_iter().zip(classes).map(|(name, (_, per_s))| (name, Value::from(per_s)));
    Finding::new(format!("hiccups core {}", hiccups.core), measured)
        .value("gaps_per_s", Value::object(per_s))
        .value("share_lost", summary.share_lost)
        .value("longest_ns", summary.longest.as_ns())
        .advise_unless(
            summary.share_lost <= SHARE_LOST_MAX && long_per_s <= LONG_GAPS_PER_S_MAX,
            "other work runs on this core: stop it, or isolate the core (isolcpus, nohz_full, cpusets; for a virtual machine, dedicated cores)",
        )
}

/// An SLO should be at least ten times the floor; below that, the machine decides whether it is
/// met.
const FLOOR_MAX: Span = Span::from_us(10);

fn of_floor(floor: Span) -> Finding {
    let measured = match floor {
        Span::ZERO => "none: fewer than 1 % of RPCs meet a gap".to_owned(),
        floor => format!("{} for any software on these cores", units::span(floor)),
    };
    Finding::new("p99 floor", measured).value("p99_floor_ns", floor.as_ns()).advise_unless(
        floor <= FLOOR_MAX,
        "choose an SLO of at least ten times this, or stop other work on these cores",
    )
}
