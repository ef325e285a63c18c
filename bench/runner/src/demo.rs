//! Whether the demo keeps what it promises: ten runs on a quiet machine, and beside busy loops.
//!
//! Each run chooses its SLO from what this machine can do at that time. The design with a bound
//! must keep it at 0.3 and 0.7 of saturation, and the one without a bound must not keep it at 1.5.

use std::hint::spin_loop;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use serde::Deserialize;

use crate::row::{Bound, Row};
use nebula_shell::{Attempt, Failure, Shell, run, stdout_of};

/// Runs of the demo in each section.
const RUNS: usize = 10;

/// The rows of ten runs beside so many threads that compute all the time, wherever the kernel lets
/// them.
pub(crate) fn rows(shell: &Shell, busy_loops: usize) -> Result<Vec<Row>, Failure> {
    run(&mut shell.cargo(&["build", "--release", "-p", "nebula-cli"]))?;
    let runs = beside(busy_loops, || (0..RUNS).map(|_| demo(shell)).collect::<Result<Vec<_>, _>>())?;
    Ok(judged(&runs))
}

/// One row of the demo, as far as it is judged.
#[derive(Clone, Debug, Deserialize)]
struct Load {
    design: String,
    load: f64,
    simulated: bool,
    slo_ns: f64,
    goodput: f64,
    meets_slo_raw: bool,
}

/// Runs the demo, and prints what it found in one line.
fn demo(shell: &Shell) -> Result<Vec<Load>, Failure> {
    let nebula = shell.target().join("release/nebula");
    let printed = stdout_of(shell.command(nebula).args(["demo", "--no-report", "--format", "json"]))?;
    let loads = printed.lines().map(|line| serde_json::from_str(line).attempt(format!("read the row `{line}`")));
    let loads: Vec<Load> = loads.collect::<Result<_, _>>()?;
    let goodput = |load: &Load| format!("{} {:.3}", load.load, load.goodput);
    let slo_ms = loads.first().map_or(f64::NAN, |load| load.slo_ns / 1e6);
    println!("SLO {slo_ms} ms; goodput {}", loads.iter().map(goodput).collect::<Vec<_>>().join(", "));
    Ok(loads)
}

/// Calls `task` while that many threads compute.
fn beside<T>(busy_loops: usize, task: impl FnOnce() -> T) -> T {
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        for _ in 0..busy_loops {
            scope.spawn(|| {
                while !is_over.load(Ordering::Relaxed) {
                    spin_loop();
                }
            });
        }
        let done = task();
        is_over.store(true, Ordering::Relaxed);
        done
    })
}

fn judged(runs: &[Vec<Load>]) -> Vec<Row> {
    let at = |run: &[Load], is_bounded: bool, load: f64| {
        let is_it = |row: &&Load| row.design.ends_with("NACK") == is_bounded && row.load.to_bits() == load.to_bits();
        run.iter().find(is_it).cloned()
    };
    let keeps = |run: &[Load], is_bounded, load| at(run, is_bounded, load).is_some_and(|row| row.meets_slo_raw);
    let misses = |run: &[Load], is_bounded, load| at(run, is_bounded, load).is_some_and(|row| !row.meets_slo_raw);
    let of_all = |what: &str, is_so: &dyn Fn(&[Load]) -> bool| {
        let count = runs.iter().filter(|run| is_so(run)).count() as f64;
        Row::plain(what, count, "runs").against("runs", count / runs.len().max(1) as f64, Bound::AtLeast(1.0))
    };
    let simulated = runs.iter().filter(|run| run.iter().any(|row| row.simulated)).count() as f64;
    let slo_ms = median(runs.iter().flat_map(|run| run.first()).map(|row| row.slo_ns / 1e6));
    let goodput = |is_bounded| median(runs.iter().filter_map(|run| at(run, is_bounded, 1.5)).map(|row| row.goodput));
    vec![
        of_all("with the bound, the SLO is kept at 0.3 and 0.7 of saturation", &|run| {
            keeps(run, true, 0.3) && keeps(run, true, 0.7)
        }),
        of_all("without the bound, it is not kept at 1.5", &|run| misses(run, false, 1.5)),
        Row::plain("of those, runs in simulated time", simulated, "runs"),
        Row::plain("SLO, median", slo_ms, "ms"),
        Row::plain("goodput at 1.5 with the bound, median", goodput(true), "of offered"),
        Row::plain("goodput at 1.5 without the bound, median", goodput(false), "of offered"),
    ]
}

fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.collect();
    values.sort_unstable_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run_of(bounded_kept: bool, unbounded_kept: bool) -> Vec<Load> {
        let load = |design: &str, load, kept| Load {
            design: design.to_owned(),
            load,
            simulated: false,
            slo_ns: 2e6,
            goodput: if kept { 1.0 } else { 0.25 },
            meets_slo_raw: kept,
        };
        let (bounded, unbounded) = ("jbsq:2 with NACK", "jbsq:2 unbounded");
        let bounded = [(0.3, true), (0.7, bounded_kept), (1.5, false)].map(|(at, kept)| load(bounded, at, kept));
        bounded.into_iter().chain([load(unbounded, 1.5, unbounded_kept)]).collect()
    }

    #[test]
    fn a_run_counts_where_the_bound_keeps_both_loads_and_without_it_the_overload_is_late() {
        let rows = judged(&[run_of(true, false), run_of(false, false), run_of(true, true)]);
        assert_eq!(rows.iter().map(|row| row.value).collect::<Vec<_>>(), [2.0, 2.0, 0.0, 2.0, 0.25, 0.25]);
        assert!(!rows[0].is_kept() && !rows[1].is_kept());
        assert!(judged(&[run_of(true, false)]).iter().all(Row::is_kept));
    }

    #[test]
    fn a_run_without_rows_keeps_nothing() {
        assert_eq!(judged(&[Vec::new()]).iter().take(2).map(|row| row.value).collect::<Vec<_>>(), [0.0, 0.0]);
    }

    #[test]
    fn busy_loops_end_with_the_task() {
        assert_eq!(beside(2, || 7), 7);
    }
}
