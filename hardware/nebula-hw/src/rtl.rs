//! `nebula-hw rtl`: compares the NIC in hardware with its state machines.
//!
//! The RTL of `hardware/rtl` is linted, compiled with Debian's Verilator, and fed the inputs of the
//! state machines in lockstep; see hardware/README.md. Without Verilator this says so and succeeds.

use std::path::PathBuf;
use std::process::{Command, Stdio};

use nebula_shell::{Attempt, Failure, Shell, run as run_command};

mod mutants;

/// Arguments of `nebula-hw rtl`.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// How many inputs, over all modules, policies, sizes and mixes.
    #[arg(long, value_name = "N", default_value_t = 10_000_000)]
    inputs: u64,
    /// Write the cycles that decisions took, for `nebula simulate --nic-cycles`.
    #[arg(long, value_name = "FILE")]
    cycles: Option<PathBuf>,
    /// Replay a log that `nebula serve --decision-log` has written; may be given again.
    #[arg(long, value_name = "FILE")]
    replay: Vec<PathBuf>,
    /// Write what the hardware decides about the last of those logs, for
    /// `nebula explain --hardware`.
    #[arg(long, value_name = "FILE", requires = "replay")]
    write: Option<PathBuf>,
    /// Break the RTL in each of the ways of hardware/mutants.txt instead, and see whether the
    /// lockstep notices.
    #[arg(long, conflicts_with_all = ["cycles", "replay"])]
    mutants: bool,
    /// Every so many mutants alone, from the first.
    #[arg(long, value_name = "N", default_value_t = 1, requires = "mutants", value_parser = clap::value_parser!(u32).range(1..))]
    every: u32,
}

pub(crate) fn run(shell: &Shell, args: &Args) -> Result<(), Failure> {
    if !shell.has("verilator", &["--version"]) {
        println!("rtl: SKIPPED: no Verilator (apt-get install --no-install-recommends verilator)");
        return Ok(());
    }
    lint(shell)?;
    if args.mutants {
        return mutants::run(shell, args.every as usize);
    }
    let manifest = "hardware/Cargo.toml";
    run_command(&mut shell.cargo(&[
        "build",
        "--release",
        "--locked",
        "--manifest-path",
        manifest,
        "-p",
        "nebula-rtl",
    ]))?;
    let program = target(shell).join("release/nebula-rtl");
    run_command(shell.command(&program).args(["check", &args.inputs.to_string()]))?;
    for log in &args.replay {
        run_command(shell.command(&program).arg("replay").arg(from_here(log)?))?;
    }
    if let (Some(file), Some(log)) = (&args.write, args.replay.last()) {
        run_command(shell.command(&program).arg("record").arg(from_here(log)?).arg(from_here(file)?))?;
    }
    match &args.cycles {
        Some(file) => run_command(shell.command(&program).arg("cycles").arg(from_here(file)?)),
        None => Ok(()),
    }
}

fn target(shell: &Shell) -> PathBuf {
    match std::env::var_os("CARGO_TARGET_DIR") {
        Some(_) => shell.target().to_owned(),
        None => shell.root().join("hardware/target"),
    }
}

fn from_here(path: &std::path::Path) -> Result<PathBuf, Failure> {
    Ok(std::env::current_dir().attempt("find the current folder")?.join(path))
}

/// Each module alone, with all warnings.
fn lint(shell: &Shell) -> Result<(), Failure> {
    let folder = shell.root().join("hardware/rtl");
    let mut modules = Vec::new();
    for entry in std::fs::read_dir(&folder).attempt("read hardware/rtl")? {
        let path = entry.attempt("read hardware/rtl")?.path();
        if path.extension().is_some_and(|extension| extension == "sv") {
            modules.push(path);
        }
    }
    modules.sort();
    for module in &modules {
        lint_command(shell, &folder, module)?;
    }
    println!("rtl: `verilator --lint-only -Wall` finds nothing in {} modules", modules.len());
    Ok(())
}

fn lint_command(shell: &Shell, folder: &std::path::Path, module: &std::path::Path) -> Result<(), Failure> {
    let mut command: Command = shell.command("verilator");
    let status = command.args(["--lint-only", "-Wall", "-y"]).arg(folder).arg(module).stdout(Stdio::inherit()).status();
    let status = status.attempt("start verilator")?;
    if status.success() { Ok(()) } else { Err(Failure::new(format!("verilator warns of {}", module.display()))) }
}
