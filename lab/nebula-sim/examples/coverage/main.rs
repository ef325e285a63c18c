//! How often the intervals of the laboratory hold the exact value: many runs of systems whose
//! latency is known.
//!
//! ```text
//! coverage [RUNS [ROW]]         runs of each system at each load, 1,000 unless given; of the rows with this in their name and load
//! ```
//!
//! `cargo xtask coverage` runs it, and keeps its rows in docs/data/coverage.tsv.

mod exact;

use exact::Exact;
use nebula_sim::study::{Executor, Threads};
use nebula_sim::{Effort, Load, SimError, System, estimate};
use nebula_workload::Seed;
use std::io::Write;

type Failure = Box<dyn std::error::Error>;

/// A system at a load, and its latency in mean service times of 1 µs.
struct Case {
    name: &'static str,
    load: String,
    system: System,
    offered: Load,
    exact: Exact,
}

/// The seeds of the runs. The constants of the laboratory's intervals were chosen with other seeds:
/// those of 0xC07E4, and the first ones.
const SEEDS: u64 = 0x000C_07E5;

/// Of so many runs that all are unsettled, the others are not made.
const FIRST: usize = 20;

fn main() -> Result<(), Failure> {
    let runs: usize = std::env::args().nth(1).map_or(Ok(1_000), |runs| runs.parse())?;
    let only = std::env::args().nth(2);
    let threads = Threads::try_new(None)?;
    let mut out = std::io::stdout();
    writeln!(out, "system\tload\tmean_us\tp99_us\truns\tunsettled\tmean_held\tp99_held\tp99_half")?;
    for case in cases()? {
        let at_load = format!("{} at {}", case.name, case.load);
        if only.as_ref().is_none_or(|only| at_load.contains(only)) {
            writeln!(out, "{}", row(&case, runs, &threads)?)?;
        }
    }
    Ok(())
}

/// What a run of a case shows.
#[derive(Clone, Copy)]
struct Shown {
    is_settled: bool,
    holds_mean: bool,
    holds_p99: bool,
    half: f64,
}

fn row(case: &Case, runs: usize, threads: &Threads) -> Result<String, SimError> {
    let (mean, p99, system, offered) = (case.exact.mean, case.exact.p99(), &case.system, &case.offered);
    let one = |&run: &usize| -> Result<Shown, SimError> {
        let effort = Effort::default().seed(Seed(run as u64).replica(SEEDS));
        let shown = estimate(system, offered, &effort, &|| ())?;
        let (found_mean, found_p99) = (shown.mean(), shown.p99());
        Ok(Shown {
            is_settled: shown.is_settled,
            holds_mean: found_mean.contains(mean * 1e6),
            holds_p99: found_p99.contains(p99 * 1e6),
            half: found_p99.relative(),
        })
    };
    let make = |from: usize, to: usize| -> Result<Vec<Shown>, SimError> {
        threads.map(&(from..to).collect::<Vec<_>>(), one).into_iter().collect()
    };
    let mut all = make(0, FIRST.min(runs))?;
    if all.iter().any(|shown| shown.is_settled) {
        all.extend(make(all.len(), runs)?);
    }
    let settled: Vec<Shown> = all.iter().copied().filter(|shown| shown.is_settled).collect();
    let of = |holds: fn(&Shown) -> bool| match settled.is_empty() {
        true => String::new(),
        false => format!("{:.3}", settled.iter().filter(|shown| holds(shown)).count() as f64 / settled.len() as f64),
    };
    let half = settled.iter().map(|shown| shown.half).sum::<f64>() / settled.len().max(1) as f64;
    let half = if settled.is_empty() { String::new() } else { format!("{half:.3}") };
    let unsettled = 1.0 - settled.len() as f64 / all.len() as f64;
    Ok(format!(
        "{}\t{}\t{mean:.3}\t{p99:.2}\t{}\t{unsettled:.2}\t{}\t{}\t{half}",
        case.name,
        case.load,
        all.len(),
        of(|shown| shown.holds_mean),
        of(|shown| shown.holds_p99),
    ))
}

fn cases() -> Result<Vec<Case>, Failure> {
    let mut cases = Vec::new();
    let mut add = |name, policy: &str, cores, service: &str, loads: &[f64], exact: &dyn Fn(f64) -> Exact| {
        for &load in loads {
            let (system, offered) = (System::new(policy.parse()?, cores), Load::open(service.parse()?, load));
            cases.push(Case { name, load: load.to_string(), system, offered, exact: exact(load) });
        }
        Ok::<(), Failure>(())
    };
    let exp = "exp:1us";
    add("M/M/1", "single-queue", 1, exp, &[0.5, 0.9, 0.999], &|load| exact::mmk(1, load))?;
    add("M/M/4", "single-queue", 4, exp, &[0.8, 0.95], &|load| exact::mmk(4, load))?;
    add("M/M/16", "single-queue", 16, exp, &[0.5, 0.9, 0.95, 0.999], &|load| exact::mmk(16, load))?;
    add("M/M/64", "single-queue", 64, exp, &[0.8, 0.95, 0.995], &|load| exact::mmk(64, load))?;
    add("JBSQ(2), 4 cores", "jbsq:2", 4, exp, &[0.8, 0.95], &|load| exact::jbsq2(4, load))?;
    add("JBSQ(2), 16 cores", "jbsq:2", 16, exp, &[0.5, 0.9, 0.999], &|load| exact::jbsq2(16, load))?;
    add("random, 16 cores", "random", 16, exp, &[0.8, 0.999], &|load| exact::mmk(1, load))?;
    add("rss, 4 cores", "rss", 4, exp, &[0.5, 0.9], &|load| exact::mmk(1, load))?;
    add("round-robin, 4 cores", "round-robin", 4, exp, &[0.8, 0.9], &|load| exact::in_turn(4, load))?;
    add("M/D/1", "single-queue", 1, "fixed:1us", &[0.5, 0.9], &|load| {
        exact::mg1(0.0, load, |time| time.min(1.0), |time| f64::from(u8::from(time < 1.0)))
    })?;
    add("M/U/1", "single-queue", 1, "uniform:0ns-2us", &[0.8, 0.95], &|load| {
        let until = |time: f64| time.min(2.0) - time.min(2.0).powi(2) / 4.0;
        exact::mg1(1.0 / 3.0, load, until, |time| 1.0 - time.clamp(0.0, 2.0) / 2.0)
    })?;
    let bimodal = "bimodal:500ns@0.9,5500ns@0.1";
    add("M/G/1, bimodal", "jbsq:2", 1, bimodal, &[0.5, 0.9], &|load| {
        let until = |time: f64| 0.9 * time.min(0.5) + 0.1 * time.min(5.5);
        let longer = |time: f64| 0.9 * f64::from(u8::from(time < 0.5)) + 0.1 * f64::from(u8::from(time < 5.5));
        exact::mg1(2.25, load, until, longer)
    })?;
    let open = |load| -> Result<Load, Failure> { Ok(Load::open(exp.parse()?, load)) };
    cases.push(Case {
        name: "M/M/16/36",
        load: "0.95".to_owned(),
        system: System::new("single-queue".parse()?, 16).queue_bound(20),
        offered: open(0.95)?,
        exact: exact::bounded(16, 20, 0.95),
    });
    cases.push(Case {
        name: "4 clients of 2 cores",
        load: "closed".to_owned(),
        system: System::new("single-queue".parse()?, 2),
        offered: Load::closed(exp.parse()?, 4, Some("exp:1us".parse()?)),
        exact: exact::closed(2, 4, 1.0),
    });
    Ok(cases)
}
