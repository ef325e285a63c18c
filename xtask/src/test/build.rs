//! The steps that are one cargo command over the whole workspace, and tidy.

use super::{Ending, passed};
use crate::area;
use crate::shell::{Failure, Shell, run};
use crate::tidy;

/// The feature of the program for all its tests; and with the feature that takes minutes to build.
const CLI: &str = "nebula-cli/typed";
const CLI_WHOLE: &str = "nebula-cli/typed,nebula-cli/replicate";
/// The crate of the latter feature.
const REPLICATION: &str = "nebula-replication";
/// The project's commands, two of which run programs of other workspaces.
const COMMANDS: [&str; 6] = ["-p", "xtask", "-p", "nebula-bench-runner", "-p", "nebula-fuzz-runner"];

pub(super) fn fmt(shell: &Shell) -> Result<Ending, Failure> {
    for manifest in shell.manifests() {
        // Of this workspace also what it depends on beside it; with the others that would be all
        // of it once more each.
        let beside = (manifest == "Cargo.toml").then_some("--all");
        let folder = shell.root().join(manifest).with_file_name("");
        run(shell.cargo(&["fmt", "--check"]).args(beside).current_dir(folder))?;
    }
    Ok(Ending::Passed)
}

pub(super) fn tidy(shell: &Shell) -> Result<Ending, Failure> {
    tidy::check(shell)?;
    Ok(Ending::Passed)
}

pub(super) fn clippy(shell: &Shell) -> Result<Ending, Failure> {
    // Packages of other workspaces are not linted with this one.
    for packages in [&["--workspace", "--features", CLI_WHOLE][..], &COMMANDS] {
        run(shell.cargo(&["clippy"]).args(packages).args(["--all-targets", "--", "-D", "warnings"]))?;
    }
    Ok(Ending::Passed)
}

/// The areas whose tests come first. The program `nebula` comes later, because its tests start
/// programs of other areas.
const FIRST: &[&str] = &["core", "runtime"];
const PROGRAM: &str = "nebula-cli";

fn first(shell: &Shell) -> impl Iterator<Item = String> {
    area::crates_of(shell.root(), FIRST).into_iter().filter(|name| name != PROGRAM)
}

pub(super) fn test(shell: &Shell) -> Result<Ending, Failure> {
    passed(shell.cargo(&["test"]).args(first(shell).flat_map(|name| ["-p".to_owned(), name])))
}

pub(super) fn others(shell: &Shell) -> Result<Ending, Failure> {
    let mut test =
        shell.cargo(&["test", "--workspace", "--exclude", REPLICATION, "--exclude", PROGRAM, "--exclude", "xtask"]);
    run(test.args(first(shell).flat_map(|name| ["--exclude".to_owned(), name])))?;
    run(shell.cargo(&["test"]).args(COMMANDS))?;
    passed(&mut shell.cargo(&["test", "-p", PROGRAM, "--features", CLI, "--bins", "--tests"]))
}

/// Tests of `nebula` that do more if a variable is set, with the variable and its value.
const LONGER: &[(&str, &[&str], &str, &str)] = &[
    ("all", &["udp_million::"], "NEBULA_CALLS", "500000"),
    ("counted", &["udp_network::"], "NEBULA_SEEDS", "1000"),
    ("all", &["udp_failover::"], "NEBULA_SEEDS", "40"),
    ("all", &["end_to_end::"], "NEBULA_OPERATIONS", "1000000"),
];

pub(super) fn longer(shell: &Shell) -> Result<Ending, Failure> {
    for (program, filters, variable, value) in LONGER {
        let mut test = shell.cargo(&["test", "-p", "nebula", "--test", program, "--"]);
        run(test.args(*filters).env(variable, value))?;
    }
    Ok(Ending::Passed)
}

pub(super) fn replication(shell: &Shell) -> Result<Ending, Failure> {
    run(&mut shell.cargo(&["test", "-p", REPLICATION]))?;
    passed(&mut shell.cargo(&["test", "-p", "nebula-cli", "--features", CLI_WHOLE, "--test", "all", "replicas::"]))
}

pub(super) fn doc(shell: &Shell) -> Result<Ending, Failure> {
    // The pages of the program `nebula` would overwrite those of the library of that name; it has
    // no public item.
    let doc = ["doc", "--no-deps", "--workspace", "--exclude", "nebula-cli", "--exclude", "nebula-lab-cli"];
    passed(shell.cargo(&doc).env("RUSTDOCFLAGS", "-D warnings"))
}
