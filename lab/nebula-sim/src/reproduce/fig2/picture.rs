//! The two charts of figure 2, with the points that the paper's text gives.

use super::super::paper::Fig2;
use super::super::picture::{Curve, Measure, Picture, Point};
use super::rows::figure;
use super::sweep::{At, Name, Sweep};
use crate::interval::Interval;

pub(super) fn pictures(setup: &Fig2, sweep: &Sweep) -> [Picture; 2] {
    let (title, x) = (sweep.model.title, Measure::Load);
    let curves = |of: fn(&At) -> Interval, published: &dyn Fn(Name) -> Vec<(f64, f64)>| {
        let points = |name| sweep.curve(name).map(|at| Point { at: at.load, value: of(at) }).collect();
        let curve =
            |name: Name| Curve { name: name.title().to_owned(), points: points(name), published: published(name) };
        Name::ALL.map(curve).into()
    };
    [
        Picture {
            title: format!("Tail latency, {title}"),
            x,
            y: Measure::TailNs,
            slo: Some(setup.slo_ns),
            curves: curves(At::p99, &|name| tails(setup, name)),
        },
        Picture {
            title: format!("DRAM bandwidth, {title}"),
            x,
            y: Measure::GbPerS,
            slo: None,
            curves: curves(At::bandwidth, &|name| bandwidths(sweep, name)),
        },
    ]
}

fn tails(setup: &Fig2, name: Name) -> Vec<(f64, f64)> {
    match name {
        Name::Srq => vec![(figure("srq/load_at_slo").value, setup.slo_ns)],
        Name::RpcValet => vec![(setup.sub_us_load, figure("rpcvalet/p99_ns").value)],
        Name::Rss | Name::Nebula => Vec::new(),
    }
}

fn bandwidths(sweep: &Sweep, name: Name) -> Vec<(f64, f64)> {
    let at = |load: &str, bandwidth: &str| vec![(figure(load).value, figure(bandwidth).value)];
    match name {
        Name::Rss => at("rss/saturation_load", "rss/bandwidth"),
        Name::RpcValet => at("rpcvalet/saturation_load", "rpcvalet/bandwidth"),
        Name::Srq => Vec::new(),
        Name::Nebula => {
            let share = figure("nebula/bandwidth_share").value;
            vec![(figure("nebula/near_optimal_load").value, share * sweep.model.machine.dram_gb_per_s_max())]
        }
    }
}
