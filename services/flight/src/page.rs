//! The page of services that call each other: which of them call which, what a call takes, and how
//! much load all of them carry.

mod graph;

use std::collections::BTreeMap;

use nebula_nic::Span;

use nebula_ui::output::units;
use nebula_ui::report::chart::{Axis, Bound, Chart, Dot, Line, Stroke, Unit, log_ticks, look, round_ticks, sample};
use nebula_ui::report::page::{Figure, Page, Table};

/// What was seen of the calls from one tier to another under one load.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Calls {
    pub(crate) replied: u64,
    pub(crate) refused: u64,
    pub(crate) failed: u64,
    pub(crate) p50: Span,
    pub(crate) p99: Span,
}

impl Calls {
    /// The share that was refused; none of no calls.
    pub(crate) fn refused_share(&self) -> f64 {
        self.refused as f64 / (self.replied + self.refused + self.failed).max(1) as f64
    }
}

/// One load, and what came of it.
#[derive(Clone, Debug)]
pub(crate) struct Load {
    /// How the tiers were configured.
    pub(crate) threads: String,
    pub(crate) offered_rps: f64,
    pub(crate) replied_rps: f64,
    pub(crate) refused: u64,
    pub(crate) failed: u64,
    /// None where more than that share had no reply.
    pub(crate) p50: Option<Span>,
    pub(crate) p99: Option<Span>,
    pub(crate) meets_slo: bool,
    /// By caller and callee.
    pub(crate) calls: BTreeMap<(String, String), Calls>,
}

/// All that was measured.
#[derive(Clone, Debug)]
pub(crate) struct Tiers {
    pub(crate) slo: Span,
    /// The configurations, in the order in which they were measured.
    pub(crate) threads: Vec<String>,
    pub(crate) loads: Vec<Load>,
    /// By configuration, the highest rate that met the SLO.
    pub(crate) highest_rps: BTreeMap<String, Option<f64>>,
    pub(crate) verdict: String,
}

impl Tiers {
    /// The last load at the highest rate that was found to meet the SLO.
    pub(crate) fn highest(&self, threads: &str) -> Option<&Load> {
        let highest = (*self.highest_rps.get(threads)?)?;
        let is_it = |load: &&Load| load.threads == threads && load.meets_slo && load.offered_rps <= highest;
        self.loads.iter().filter(is_it).max_by(|a, b| a.offered_rps.total_cmp(&b.offered_rps))
    }
}

/// The page.
pub(crate) fn render(tiers: &Tiers, footer: &str) -> String {
    let drawing = |threads: &String| {
        let load = tiers.highest(threads)?;
        let heading = format!("{} threads at {} RPC/s", threads, units::rate(load.offered_rps));
        let caption = "What a call of each tier took and how often it was refused, as its busiest caller has seen it.";
        Some((heading.clone(), graph::to_svg(load, threads, &heading), caption.to_owned()))
    };
    let drawings: Vec<_> = tiers.threads.iter().filter_map(drawing).collect();
    let machine =
        format!("Flight registration in eight tiers, a process each; SLO {} on the p99.", units::span(tiers.slo));
    Page::new("Flight registration in eight tiers", &tiers.verdict, &machine)
        .drawings(&drawings)
        .charts(&[p99_figure(tiers)])
        .table(&loads_table(tiers))
        .remarks("How to read this", &remarks())
        .finish(footer)
}

fn remarks() -> Vec<String> {
    [
        "dispatch: each handler runs where its RPC arrives, and waits there for what it calls. worker: what takes long runs in a pool, and \
         what calls others replies when they have.",
        "An RPC that was refused by any tier counts as infinite latency at the client, as does one that failed. A refusal is a NACK: nothing was done.",
        "Flights wait for a database, which is no tier; all other tiers compute next to nothing. All processes share the cores of this machine with the clients.",
        "Published for the original on its hardware, second hand: 17 times the load for 1.8 times the latency.",
    ]
    .map(str::to_owned)
    .into()
}

fn p99_figure(tiers: &Tiers) -> Figure {
    let log_us = |span: Span| (span.as_ns().max(1) as f64 / 1e3).log10();
    let line = |(index, threads): (usize, &String)| {
        let (color, marker) = look(index);
        let of = tiers.loads.iter().filter(|load| load.threads == *threads);
        let dot = |load: &Load| Some(Dot::at(load.offered_rps, log_us(load.p99?)).hollow(!load.meets_slo));
        Line { color, marker: Some(marker), stroke: Stroke::None, dots: of.filter_map(dot).collect() }
    };
    let lines: Vec<Line> = tiers.threads.iter().enumerate().map(line).collect();
    let heights = lines.iter().flat_map(|line| &line.dots).map(|dot| dot.y).chain([log_us(tiers.slo)]);
    let (low, high) = heights.fold((2.0, 4.0), |(low, high): (f64, f64), y| (low.min(y), high.max(y)));
    let to = tiers.loads.iter().map(|load| load.offered_rps).fold(1.0, f64::max) * 1.05;
    let in_words = |load: &Load| {
        let met = if load.meets_slo { "met" } else { "missed" };
        format!("{} {} {met}", load.threads, units::rate(load.offered_rps))
    };
    let legend = |(index, threads): (usize, &String)| {
        let (color, marker) = look(index);
        (sample(color, Some(marker), Stroke::None, false), format!("{threads} threads"))
    };
    let label = |us: f64| units::span(Span::from_ps(whole(us * 1e6)));
    let chart = Chart {
        title: "Loads that were tried".to_owned(),
        description: tiers.loads.iter().map(in_words).collect::<Vec<_>>().join("; "),
        x: Axis {
            label: "offered, RPC/s".to_owned(),
            from: 0.0,
            to,
            unit: Unit::Rate,
            ticks: round_ticks(to, units::rate),
        },
        y: Axis {
            label: "p99".to_owned(),
            from: low.floor(),
            to: high.ceil(),
            unit: Unit::LogTime,
            ticks: log_ticks(decade(low.floor()), decade(high.ceil()), label),
        },
        lines,
        bound: Some(Bound { y: log_us(tiers.slo), label: format!("SLO {}", units::span(tiers.slo)) }),
    };
    let caption = "Loads of which over 1 % had no reply have no p99 and are not drawn: the table has them.";
    Figure { chart, legend: tiers.threads.iter().enumerate().map(legend).collect(), caption: caption.to_owned() }
}

fn loads_table(tiers: &Tiers) -> Table {
    let or_infinite = |span: Option<Span>| span.map_or("∞".to_owned(), units::span);
    let row = |load: &Load| {
        vec![
            load.threads.clone(),
            units::rate(load.offered_rps),
            units::rate(load.replied_rps),
            load.refused.to_string(),
            load.failed.to_string(),
            or_infinite(load.p50),
            or_infinite(load.p99),
            if load.meets_slo { "met" } else { "missed" }.to_owned(),
        ]
    };
    let headings = ["threads", "offered, RPC/s", "replied, RPC/s", "refused", "failed", "p50", "p99", "SLO"];
    Table {
        caption: "Every load, in the order in which they were offered.".to_owned(),
        headings: headings.map(str::to_owned).into(),
        rows: tiers.loads.iter().map(row).collect(),
    }
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a time on an axis")]
fn whole(ps: f64) -> u64 {
    ps.round() as u64
}

#[expect(clippy::cast_possible_truncation, reason = "a power of ten on an axis")]
fn decade(log: f64) -> i32 {
    log as i32
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tiers() -> Tiers {
        let call = |from: &str, to: &str| {
            ((from.to_owned(), to.to_owned()), Calls { replied: 9, refused: 1, ..Calls::default() })
        };
        let load = |offered_rps, meets_slo: bool| Load {
            threads: "worker".into(),
            offered_rps,
            replied_rps: offered_rps,
            refused: 0,
            failed: 0,
            p50: Some(Span::from_us(300)),
            p99: meets_slo.then_some(Span::from_us(900)),
            meets_slo,
            calls: [call("clients", "staff"), call("staff", "airport")].into(),
        };
        Tiers {
            slo: Span::from_ms(5),
            threads: vec!["dispatch".into(), "worker".into()],
            // One of 600 met it by chance.
            loads: vec![load(200.0, true), load(400.0, true), load(600.0, true), load(800.0, false)],
            highest_rps: [("dispatch".into(), None), ("worker".into(), Some(400.0))].into(),
            verdict: "<verdict>".into(),
        }
    }

    #[test]
    fn the_page_draws_the_highest_load_that_met_the_slo_and_lists_all() {
        let page = render(&tiers(), "footer");
        assert!(page.contains("worker threads at 400 RPC/s") && !page.contains("dispatch threads at"));
        assert_eq!(page.matches("<tr><th scope=\"row\">worker</th>").count(), 4);
        assert!(page.contains("&lt;verdict&gt;") && page.contains("10 % refused"), "{page}");
    }
}
