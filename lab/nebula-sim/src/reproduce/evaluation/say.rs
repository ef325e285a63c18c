//! The sentences in the reasons of rows.

use super::super::wording::{number, with_interval};
use super::point::{Highest, Point};
use crate::blocks::Stage;

/// `RSS keeps the SLO up to 11.6 [11.2, 12.0] MRPS`.
pub(super) fn up_to(title: &str, highest: &Highest) -> String {
    format!("{title} keeps the SLO up to {} MRPS", with_interval(highest.rate()))
}

pub(super) fn shown(title: &str, point: &Point) -> String {
    format!(
        "at {} MRPS the p99 of {title} is {}, DRAM moves {} GB/s, {} blocks an RPC, and a core takes {} ns: {}",
        number(point.mrps),
        tail(point),
        number(point.gb_per_s().value),
        number(point.blocks),
        number(point.service_ns().value),
        stages(point),
    )
}

pub(super) fn served(title: &str, point: &Point) -> String {
    format!("the p99 of {title} is {}, and a core takes {} ns", tail(point), number(point.service_ns().value))
}

/// A p99, and the share of NACKs, which may have made it infinite.
fn tail(point: &Point) -> String {
    let nacked = 1.0 - point.accepted().value;
    let nacks = if nacked > 0.0 { format!(", {} % of RPCs are NACKed", number(100.0 * nacked)) } else { String::new() };
    format!("{} ns{nacks}", with_interval(point.p99_ns()))
}

fn stages(point: &Point) -> String {
    let of_core = |stage: &Stage| !matches!(stage, Stage::Link | Stage::Receive | Stage::Dispatch | Stage::Queue);
    let named = Stage::ALL.iter().zip(point.stages_ns).filter(|(stage, ns)| of_core(stage) && *ns >= 0.5);
    named.map(|(stage, ns)| format!("{} {ns:.0}", stage.name())).collect::<Vec<_>>().join(", ")
}
