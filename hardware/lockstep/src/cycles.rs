//! The cycles of decisions, which only hardware has.

use crate::lockstep::{Failure, Report, Run};
use crate::plan;
use nebula_nic::NackReason;
use std::fmt::Write as _;
use std::path::Path;

/// Of each run for the file of cycles.
const INPUTS: u64 = 2_000_000;

/// The fewest decisions per cycle: of RPCs of one packet below saturation, and under overload.
const BELOW_SATURATION: f64 = 0.95;
const UNDER_OVERLOAD: f64 = 0.9;
/// The most cycles from the cause of a dispatch to the dispatch.
const DISPATCH_CYCLES: u64 = 2;

/// The goal that a run misses.
#[must_use]
pub fn missed(run: &Run, report: &Report) -> Option<String> {
    let least = match run.mix.name {
        "one-packet" => BELOW_SATURATION,
        "mixed" | "buffer-bound" | "queue-bound" => UNDER_OVERLOAD,
        _ => 0.0,
    };
    if report.dispatch_cycles_max > DISPATCH_CYCLES {
        return Some(format!("a dispatch takes {} cycles, not {DISPATCH_CYCLES}", report.dispatch_cycles_max));
    }
    let rate = report.inputs_per_cycle();
    (rate < least).then(|| format!("{rate:.4} inputs a cycle, not {least}"))
}

/// Prints a line for each size and mix, over the policies.
pub fn print(runs: &[Run], reports: &[Result<Report, Failure>]) {
    println!(
        "model        mix           inputs   a cycle (worst)  waits, cycles  dispatch  dispatches  buffer full  other NACKs   drops  refused frees  scrubs  abandoned"
    );
    let pairs: Vec<(&Run, &Report)> =
        runs.iter().zip(reports).filter_map(|(run, report)| Some((run, report.as_ref().ok()?))).collect();
    let mut seen: Vec<(&str, &str)> = Vec::new();
    for (run, _) in &pairs {
        let key = (run.model, run.mix.name);
        if seen.contains(&key) {
            continue;
        }
        seen.push(key);
        let group: Vec<&Report> =
            pairs.iter().filter(|(run, _)| (run.model, run.mix.name) == key).map(|(_, report)| *report).collect();
        let sum = |count: fn(&Report) -> u64| group.iter().map(|report| count(report)).sum::<u64>();
        let worst = group.iter().map(|report| report.inputs_per_cycle()).fold(f64::INFINITY, f64::min);
        let waits = group.iter().map(|report| report.waited_max()).max().unwrap_or(0);
        let dispatch = group.iter().map(|report| report.dispatch_cycles_max).max().unwrap_or(0);
        println!(
            "{:12} {:12} {:8}   {worst:.4}           {waits:13}  {dispatch:8}  {:10}  {:11}  {:11}  {:6}  {:13}  {:6}  {:9}",
            key.0,
            key.1,
            sum(|report| report.inputs),
            sum(|report| report.dispatches),
            sum(|report| report.nacks_for(NackReason::BufferFull)),
            sum(|report| report.nacks.iter().sum::<u64>() - report.nacks_for(NackReason::BufferFull)),
            sum(|report| report.drops),
            sum(|report| report.frees[1]),
            sum(|report| report.scrubs[0]),
            sum(|report| report.abandoned),
        );
    }
}

/// Writes the cycles of each size, policy and mix, for `nebula simulate --nic-cycles`.
///
/// # Errors
///
/// A difference, or a file that cannot be written.
pub fn write(file: &Path) -> Result<(), String> {
    let runs = plan::runs(INPUTS);
    let mut variation_max = [("mixed", 0.0_f64), ("parts", 0.0)];
    let mut text = String::from(
        "# Cycles that the hardware of hardware/rtl took to decide about an input, from the one in which it was offered on, and from there to the\n\
         # dispatch that it made possible. Written by `cargo hw rtl --cycles FILE`; read by `nebula simulate --nic-cycles FILE`.\n",
    );
    for (run, report) in runs.iter().zip(plan::run_all(&runs)) {
        let report = report.map_err(|failure| format!("{} {}: {failure}", run.model, run.config.policy))?;
        if run.mix.pulls || run.model.starts_with("trusted") {
            continue;
        }
        for (mix, most) in &mut variation_max {
            if run.mix.name == *mix {
                *most = most.max(report.variation());
            }
        }
        let _ = writeln!(
            text,
            "\n[[nic]]\ncores = {}\npolicy = \"{}\"\nmix = \"{}\"\ninputs = {}\ninputs_per_cycle = {:.4}\ndispatch_cycles = {}\ndecision_cycles = {:?}",
            run.config.cores,
            run.config.policy,
            run.mix.name,
            report.inputs,
            report.inputs_per_cycle(),
            report.dispatch_cycles_max,
            report
                .waited
                .iter()
                .enumerate()
                .filter(|(_, count)| **count > 0)
                .map(|(cycles, count)| [cycles as u64 + 1, *count])
                .collect::<Vec<_>>(),
        );
    }
    std::fs::write(file, &text).map_err(|error| format!("write {}: {error}", file.display()))?;
    for (mix, most) in variation_max {
        println!("rtl: {mix}: the squared coefficient of variation of a decision's cycles is at most {most:.4}");
    }
    println!("rtl: cycles of {} runs are in {}", text.matches("[[nic]]").count(), file.display());
    Ok(())
}
