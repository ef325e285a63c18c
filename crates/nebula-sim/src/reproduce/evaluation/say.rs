//! The sentences of rows.

use super::super::wording::{number, with_interval};
use super::case::Case;
use super::point::{Highest, Point};
use crate::server::Stage;

/// `RSS keeps the SLO up to 11.6 [11.2, 12.0] MRPS`.
pub(super) fn up_to(case: Case, highest: &Highest) -> String {
    format!("{} keeps the SLO up to {} MRPS", case.design.title(), with_interval(highest.rate()))
}

/// What a case shows at one load.
pub(super) fn shown(case: Case, point: &Point) -> String {
    let nacked = 1.0 - point.accepted().value;
    let nacks = if nacked > 0.0 { format!(", {} % of RPCs are NACKed", number(100.0 * nacked)) } else { String::new() };
    format!(
        "at {} MRPS the p99 of {} is {} ns{nacks}, DRAM moves {} GB/s, {} blocks an RPC, and a core takes {} ns: {}",
        number(point.mrps),
        case.design.title(),
        with_interval(point.p99_ns()),
        number(point.gb_per_s().value),
        number(point.blocks),
        number(point.service_ns().value),
        stages(point),
    )
}

/// Where a core's time goes.
fn stages(point: &Point) -> String {
    let of_core = |stage: &Stage| !matches!(stage, Stage::Receive | Stage::Dispatch | Stage::Queue);
    let named = Stage::ALL.iter().zip(point.stages_ns).filter(|(stage, ns)| of_core(stage) && *ns >= 0.5);
    named.map(|(stage, ns)| format!("{} {ns:.0}", stage.name())).collect::<Vec<_>>().join(", ")
}
