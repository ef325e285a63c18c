//! The rows of figure 2: values of the runs next to the published values.

use super::super::paper::{self, Fig2, Figure};
use super::super::row::{Judgment, Row};
use super::super::wording;
use super::sweep::{At, Limit, Name, Sweep};
use crate::interval::Interval;

/// The rows judged, with the artefact's arrivals, and as notes the values with Poisson arrivals.
pub(super) fn rows(setup: &Fig2, artefact: &Sweep, textbook: &Sweep) -> Vec<Row> {
    let (ours, theirs) = (values(setup, artefact), values(setup, textbook));
    let judged = ours.iter().zip(&theirs).map(|(ours, theirs)| judged(ours, theirs, textbook));
    let notes = theirs.iter().map(|theirs| {
        let figure = figure(theirs.name);
        let id = format!("{}/{}", figure.id, textbook.model.id);
        Row::note(id, format!("{}, {}", figure.what, textbook.model.title), &figure.unit, theirs.value)
    });
    judged.chain(notes).collect()
}

/// A value that only the artefact's arrivals give is not reproducible as published.
fn judged(ours: &Value, theirs: &Value, textbook: &Sweep) -> Row {
    let beside = format!("with {} it is {}", textbook.model.title, theirs.said());
    let why = format!("{}; {beside}", ours.why);
    let by_text = Row::judged(figure(ours.name), theirs.value, (Judgment::Differs, String::new()));
    Row::judged(figure(ours.name), ours.value, (Judgment::Differs, why.clone()))
        .only_if(by_text.judgment() == Judgment::Reproduced, (Judgment::NotReproducibleAsPublished, why))
        .remark(|| beside)
}

pub(super) fn figure(name: &str) -> &'static Figure {
    paper::nebula().figure(&format!("nebula/fig2/{name}"))
}

struct Value {
    name: &'static str,
    value: Interval,
    is_load: bool,
    /// The reason, from the run, why the value may differ from the published one.
    why: String,
}

impl Value {
    fn said(&self) -> String {
        if self.is_load { wording::load(self.value) } else { wording::with_interval(self.value) }
    }
}

fn values(setup: &Fig2, sweep: &Sweep) -> Vec<Value> {
    vec![
        highest(sweep, Name::Rss, "rss/saturation_load"),
        bandwidth(sweep, Name::Rss, "rss/bandwidth"),
        highest(sweep, Name::RpcValet, "rpcvalet/saturation_load"),
        bandwidth(sweep, Name::RpcValet, "rpcvalet/bandwidth"),
        p99(sweep.at(Name::RpcValet, setup.sub_us_load), "rpcvalet/p99_ns"),
        ratio(setup, sweep),
        highest(sweep, Name::Srq, "srq/load_at_slo"),
        p99(sweep.at(Name::Nebula, setup.nebula_load), "nebula/p99_ns"),
        highest(sweep, Name::Nebula, "nebula/near_optimal_load"),
        share(setup, sweep),
    ]
}

fn highest(sweep: &Sweep, of: Name, name: &'static str) -> Value {
    let value = sweep.highest(of).load;
    let limit = match of.limit() {
        Limit::Saturation => "keeps up with what is offered",
        Limit::Slo => "keeps the SLO",
        Limit::NearOptimal => "stays near its lowest p99",
    };
    let why = format!("{} {limit} up to load {}", of.title(), wording::load(value));
    Value { name, value, is_load: true, why }
}

fn bandwidth(sweep: &Sweep, of: Name, name: &'static str) -> Value {
    let highest = sweep.highest(of);
    let why = format!(
        "at load {} {} moves {} GB/s of the {} that the banks can",
        wording::load(highest.load),
        of.title(),
        wording::with_interval(highest.bandwidth),
        wording::number(sweep.model.machine.dram_gb_per_s_max())
    );
    Value { name, value: highest.bandwidth, is_load: false, why }
}

fn p99(at: &At, name: &'static str) -> Value {
    let why = format!("at load {} the p99 is {} ns", at.load, wording::with_interval(at.p99()));
    Value { name, value: at.p99(), is_load: false, why }
}

/// The ratio of the p99s by replication, since both designs have the same arrivals.
fn over(above: &At, below: &At) -> Interval {
    Interval::of(&above.p99_ns.iter().zip(&below.p99_ns).map(|(above, below)| above / below).collect::<Vec<_>>())
}

fn ratio(setup: &Fig2, sweep: &Sweep) -> Value {
    let pair = |load| (sweep.at(Name::Rss, load), sweep.at(Name::RpcValet, load));
    let (rss, rpcvalet) = pair(setup.ratio_load);
    let loads = sweep.curve(Name::Rss).map(|at| at.load);
    let elsewhere =
        loads.map(|load| (load, over(pair(load).0, pair(load).1).value)).filter(|(_, ratio)| ratio.is_finite());
    let (load, most) = elsewhere.fold((0.0, 0.0), |best, next| if next.1 > best.1 { next } else { best });
    let why = format!(
        "at load {} the p99 is {} ns under RSS and {} ns under RPCValet; the ratio is largest at load {load}, {}",
        setup.ratio_load,
        wording::number(rss.p99().value),
        wording::number(rpcvalet.p99().value),
        wording::number(most),
    );
    Value { name: "rss_over_rpcvalet", value: over(rss, rpcvalet), is_load: false, why }
}

fn share(setup: &Fig2, sweep: &Sweep) -> Value {
    let at = sweep.at(Name::Nebula, setup.nebula_load);
    let max = sweep.model.machine.dram_gb_per_s_max();
    let value = at.bandwidth().scaled(1.0 / max);
    let why = format!(
        "at load {} NEBULA moves {} GB/s of the {} that the banks can",
        at.load,
        wording::number(at.bandwidth().value),
        wording::number(max)
    );
    Value { name: "nebula/bandwidth_share", value, is_load: false, why }
}
