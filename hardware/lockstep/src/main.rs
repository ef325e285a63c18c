//! Compares the hardware with the state machines; `cargo hw rtl` calls this.
//!
//! | command | |
//! |---|---|
//! | `check N` | all modules, all policies, sizes and mixes, N inputs or more in all; the inputs of the fuzz target; the recorded logs |
//! | `replay LOG` | the log of a server |
//! | `record LOG FILE` | writes what the hardware decides about it, for `nebula explain` |
//! | `cycles FILE` | writes how many cycles decisions take |

#![forbid(unsafe_code)]

use nebula_rtl::lockstep::Failure;
use nebula_rtl::{cycles, fuzz, model, modules, plan, replay};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

fn folder(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).expect("a package two folders below the root").join(path)
}

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let ended = match *words {
        ["check", inputs] => inputs.parse().map_err(|_| format!("not a number of inputs: {inputs}")).and_then(check),
        ["replay", log] => replay_log(Path::new(log)),
        ["record", log, file] => record_log(Path::new(log), Path::new(file)),
        ["cycles", file] => cycles::write(Path::new(file)),
        _ => Err("commands: check N, replay LOG, record LOG FILE, cycles FILE".to_owned()),
    };
    match ended {
        Ok(()) => ExitCode::SUCCESS,
        Err(what) => {
            println!("rtl: {what}");
            ExitCode::FAILURE
        }
    }
}

fn check(inputs: u64) -> Result<(), String> {
    let in_modules = check_modules(inputs / 100)?;
    let in_backends = check_backends(inputs)?;
    let tried = match model::names().any(|name| name.starts_with("backend")) {
        true => fuzz::check(&folder("fuzz/seeds/backend_packets"), 1 + inputs / 5_000, 7)?,
        false => fuzz::Tried::default(),
    };
    println!("rtl: {} inputs of the fuzz target to {} servers agree", tried.inputs, tried.servers);
    check_logs()?;
    let all = in_modules + in_backends + tried.inputs;
    println!("rtl: 0 differences in {all} inputs: {in_modules} to modules, {in_backends} to back ends");
    Ok(())
}

/// Compares each module with its state machine, with three different seeds of the registers.
fn check_modules(inputs: u64) -> Result<u64, String> {
    let mut count = 0;
    for name in modules::names() {
        for x_seed in plan::X_SEEDS {
            modules::check(name, inputs, x_seed, x_seed).map_err(|what| format!("{name}: {what}"))?;
            count += inputs;
        }
    }
    println!("rtl: {count} inputs to {} modules agree, each alone", modules::names().count());
    Ok(count)
}

fn check_backends(inputs: u64) -> Result<u64, String> {
    let runs = plan::runs(inputs);
    let reports = plan::run_all(&runs);
    let mut count = 0;
    let mut wrong = Vec::new();
    for (run, report) in runs.iter().zip(&reports) {
        let name =
            format!("{} {} {}, seeds {} and {}", run.model, run.config.policy, run.mix.name, run.seed, run.x_seed);
        match report {
            Ok(report) => {
                count += report.inputs;
                wrong.extend(cycles::missed(run, report).map(|what| format!("{name}: {what}")));
            }
            Err(Failure::Unsupported(what)) => wrong.push(format!("{name}: {what}")),
            Err(Failure::Mismatch(what)) => wrong.push(format!("{name}: {what}")),
        }
    }
    cycles::print(&runs, &reports);
    match wrong.first() {
        None => Ok(count),
        Some(first) => Err(format!("{} of {} runs fail; the first: {first}", wrong.len(), runs.len())),
    }
}

/// Replays the logs in `hardware/logs`, if a back end as large as those servers was compiled.
fn check_logs() -> Result<(), String> {
    if !model::names().any(|name| name == "backend256") {
        println!("rtl: without backend256 no log is replayed");
        return Ok(());
    }
    let entries = std::fs::read_dir(folder("hardware/logs")).map_err(|error| format!("hardware/logs: {error}"))?;
    let mut logs: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    logs.sort();
    logs.iter()
        .filter(|log| log.extension().is_some_and(|extension| extension == "log"))
        .try_for_each(|log| replay_log(log))
}

fn replay_log(log: &Path) -> Result<(), String> {
    let text = std::fs::read_to_string(log).map_err(|error| format!("{}: {error}", log.display()))?;
    let (lines, cycles) = replay::replay(&text, 1).map_err(|what| format!("{}: {what}", log.display()))?;
    println!("rtl: {}: {lines} lines agree, in {cycles} cycles", log.display());
    // The hardware's log for `nebula explain`.
    let recorded = log.with_extension("rtl");
    match std::fs::read_to_string(&recorded) {
        Ok(last) if last != replay::record(&text, 1)? => {
            Err(format!("{} is not what the hardware decides: write it again with `record`", recorded.display()))
        }
        _ => Ok(()),
    }
}

fn record_log(log: &Path, file: &Path) -> Result<(), String> {
    let text = std::fs::read_to_string(log).map_err(|error| format!("{}: {error}", log.display()))?;
    let record = replay::record(&text, 1).map_err(|what| format!("{}: {what}", log.display()))?;
    std::fs::write(file, record).map_err(|error| format!("write {}: {error}", file.display()))
}
