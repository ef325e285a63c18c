//! What does steering gain? NEBULA's figure 8: no prefetching, software prefetching, and steering.

use super::evaluation::bench::Bench;
use super::evaluation::case::Case;
use super::evaluation::chart::tail_chart;
use super::evaluation::point::mrps;
use super::evaluation::value::{Value, judged};
use super::lab::Lab;
use super::paper::{self, Design, Fig8};
use super::reproduction::{ReproduceError, Reproduction};
use super::row::Row;
use super::wording::{number, with_interval};

pub(super) fn reproduce(lab: &Lab<'_>) -> Result<Reproduction, ReproduceError> {
    compare(&Bench::new(lab))
}

pub(super) fn compare(bench: &Bench<'_>) -> Result<Reproduction, ReproduceError> {
    let setup = &paper::nebula().setup.fig8;
    let (large, small) = (Trio::of(bench, bench.setup.value_bytes), Trio::of(bench, setup.small_value_bytes));
    let unfitted = bench.with_unfitted(&[large.all(), small.all()].concat());
    bench.prepare(&[large.all(), small.all()].concat(), &unfitted, &points(setup, &large, &small))?;
    let mut rows: Vec<Row> = values(bench, setup, &large, &small)?.into_iter().map(judged).collect();
    for trio in [&large, &small] {
        rows.extend(notes(bench, trio)?);
    }
    let lines = |trio: &Trio| trio.all().into_iter().map(|case| (case, Vec::new())).collect();
    let picture =
        |trio: &Trio| tail_chart(bench, &format!("Tail latency and prefetching, {} B", trio.value_bytes), lines(trio));
    Ok(Reproduction { rows, pictures: vec![picture(&large)?, picture(&small)?] })
}

struct Trio {
    value_bytes: u32,
    base: Case,
    swpref: Case,
    nebula: Case,
}

impl Trio {
    fn of(bench: &Bench<'_>, value_bytes: u32) -> Self {
        let case = |design| bench.case(design).values(value_bytes);
        Self { value_bytes, base: case(Design::Base), swpref: case(Design::SwPref), nebula: case(Design::Nebula) }
    }

    fn all(&self) -> [Case; 3] {
        [self.base, self.swpref, self.nebula]
    }
}

fn points(setup: &Fig8, large: &Trio, small: &Trio) -> Vec<(Case, f64)> {
    let gaps = setup.steered.iter().map(|at| at.gap_ns).chain([setup.alike_gap_ns, setup.base_gap_ns]);
    let of_large = gaps.flat_map(|gap_ns| large.all().map(|case| (case, gap_ns)));
    of_large.chain(small.all().map(|case| (case, setup.base_gap_ns))).collect()
}

fn values(bench: &Bench<'_>, setup: &Fig8, large: &Trio, small: &Trio) -> Result<Vec<Value>, ReproduceError> {
    let id = |name: &str| format!("nebula/fig8/{name}");
    let (alike, high) = (setup.alike_gap_ns, setup.base_gap_ns);
    let first = [
        bench.tails(&id("swpref_over_base_p99"), large.swpref, large.base, high),
        bench.tails(&id("swpref_over_base_p99_10"), large.swpref, large.base, alike),
        bench.tails(&id("nebula_over_base_p99_10"), large.nebula, large.base, alike),
        bench.gain(&id("nebula_gain"), large.nebula, large.base),
    ];
    let steered = setup.steered.iter().map(|at| {
        let id = id(&format!("p99_gain_ns_{}", at.id));
        bench.tail_gain(&id, large.base, large.nebula, at.gap_ns)
    });
    let last = [
        queued_at_core(bench, &id("queued_at_core"), large.nebula, high),
        service(bench, &id("64/service_ns"), small.base),
        bench.tails(&id("64/swpref_over_nebula_p99"), small.swpref, small.nebula, high),
        bench.gain(&id("64/nebula_gain"), small.nebula, small.base),
    ];
    first.into_iter().chain(steered).chain(last).collect()
}

fn queued_at_core(bench: &Bench<'_>, id: &str, case: Case, gap_ns: f64) -> Result<Value, ReproduceError> {
    let curve = bench.curve(case)?;
    let shares =
        curve.iter().map(|point| format!("{} at {}", number(point.queued_at_core().value), number(point.mrps)));
    let why = format!(
        "which load is a high one is not printed, {} MRPS is assumed; by load in MRPS the share is {}",
        number(mrps(gap_ns)),
        shares.collect::<Vec<_>>().join(", ")
    );
    Ok(Value { id: id.to_owned(), value: bench.at(case, gap_ns)?.queued_at_core(), why, unfitted: None })
}

fn service(bench: &Bench<'_>, id: &str, case: Case) -> Result<Value, ReproduceError> {
    let alone = bench.alone(case)?;
    let why = format!("alone in the server an RPC takes {} ns", with_interval(alone.service_ns()));
    Ok(Value { id: id.to_owned(), value: alone.service_ns(), why, unfitted: None })
}

/// The highest rates, which the figure shows and the text does not print. Figure 6a's entry has
/// those without fitted parameters for the usual values.
fn notes(bench: &Bench<'_>, trio: &Trio) -> Result<Vec<Row>, ReproduceError> {
    let is_elsewhere = |case: Case| trio.value_bytes == bench.setup.value_bytes && case != trio.swpref;
    let mut rows = Vec::new();
    for case in trio.all() {
        let id = format!("nebula/fig8/{}/{}", trio.value_bytes, case.design.id());
        let what = format!("{}, {} B", case.design.title(), trio.value_bytes);
        let rate = bench.highest(case)?.rate();
        rows.push(Row::note(format!("{id}/rate"), format!("{what}: highest rate at the SLO"), "MRPS", rate));
        if !is_elsewhere(case) {
            rows.extend(bench.unfitted_notes(&id, &what, case)?);
        }
    }
    Ok(rows)
}
