//! How much DRAM bandwidth does each design use? NEBULA's figure 6b: separate or shared buffers.

use super::evaluation::bench::Bench;
use super::evaluation::case::Case;
use super::evaluation::chart::{Published, bandwidth_chart};
use super::evaluation::point::mrps;
use super::evaluation::value::{Value, judged};
use super::lab::Lab;
use super::paper::{self, AtLoad, Design, Fig6a};
use super::reproduction::{ReproduceError, Reproduction};
use super::row::Row;

pub(super) fn reproduce(lab: &Lab<'_>) -> Result<Reproduction, ReproduceError> {
    compare(&Bench::new(lab))
}

pub(super) fn compare(bench: &Bench<'_>) -> Result<Reproduction, ReproduceError> {
    let setup = &paper::nebula().setup.fig6a;
    let designs = designs(setup);
    let cases: Vec<Case> = designs.iter().map(|at| bench.case(at.design)).collect();
    let points: Vec<(Case, f64)> = designs.iter().map(|at| (bench.case(at.design), at.gap_ns)).collect();
    let unfitted: Vec<(Case, f64)> = points.iter().map(|&(case, gap_ns)| (case.unfitted(), gap_ns)).collect();
    bench.prepare(&cases, &[], &[points, unfitted].concat())?;
    let mut rows: Vec<Row> =
        designs.iter().map(|at| value(bench, at).map(judged)).collect::<Result<_, ReproduceError>>()?;
    for at in &designs {
        rows.push(unfitted_note(bench, at)?);
    }
    let lines = designs.iter().map(|at| (bench.case(at.design), published(bench, at))).collect();
    Ok(Reproduction { rows, pictures: vec![bandwidth_chart(bench, "DRAM bandwidth, 512 B, half GETs", lines)?] })
}

/// The figure's designs: without NEBULA, since steering does not change the bytes moved.
fn designs(setup: &Fig6a) -> Vec<AtLoad> {
    setup.designs.iter().copied().filter(|at| at.design != Design::Nebula).collect()
}

/// The id of a design's figure: the paper prints a share for `SRQ_emu`, and else the bandwidth.
fn id(design: Design) -> String {
    let what = if design == Design::Srq { "bandwidth_share" } else { "bandwidth" };
    format!("nebula/fig6b/{}/{what}", design.id())
}

fn value(bench: &Bench<'_>, at: &AtLoad) -> Result<Value, ReproduceError> {
    let value = bench.bandwidth(&id(at.design), bench.case(at.design), at.gap_ns)?;
    let scale = if at.design == Design::Srq { 1.0 / bench.dram_gb_per_s_max() } else { 1.0 };
    let unfitted = bench.at(bench.case(at.design).unfitted(), at.gap_ns)?.gb_per_s().scaled(scale);
    Ok(Value { value: value.value.scaled(scale), unfitted: Some(unfitted), ..value })
}

fn unfitted_note(bench: &Bench<'_>, at: &AtLoad) -> Result<Row, ReproduceError> {
    let id = format!("nebula/fig6b/{}/bandwidth/unfitted", at.design.id());
    let value = bench.bandwidth(&id, bench.case(at.design).unfitted(), at.gap_ns)?;
    let what = format!("{}: DRAM bandwidth at the printed load, nothing fitted", at.design.title());
    Ok(Row::note(id, what, "GB/s", value.value))
}

fn published(bench: &Bench<'_>, at: &AtLoad) -> Published {
    let printed = paper::nebula().figure(&id(at.design)).value;
    let gb_per_s = if at.design == Design::Srq { printed * bench.dram_gb_per_s_max() } else { printed };
    vec![(mrps(at.gap_ns), gb_per_s)]
}
