//! The steps that are one cargo command over the whole workspace, and tidy.

use super::Ending;
use crate::shell::{Failure, Shell, run};
use crate::tidy;

/// The feature of the program that all its tests are built with, and that beside the one that takes
/// minutes to build.
const CLI: &str = "nebula-cli/typed";
const CLI_WHOLE: &str = "nebula-cli/typed,nebula-cli/replicate";
/// The crate of that one.
const REPLICATION: &str = "nebula-replication";

pub(super) fn fmt(shell: &Shell) -> Result<Ending, Failure> {
    for manifest in shell.manifests() {
        run(&mut shell.cargo(&["fmt", "--manifest-path", manifest, "--all", "--check"]))?;
    }
    Ok(Ending::Passed)
}

pub(super) fn tidy(shell: &Shell) -> Result<Ending, Failure> {
    tidy::check(shell)?;
    Ok(Ending::Passed)
}

pub(super) fn clippy(shell: &Shell) -> Result<Ending, Failure> {
    run(&mut shell.cargo(&[
        "clippy",
        "--workspace",
        "--features",
        CLI_WHOLE,
        "--all-targets",
        "--",
        "-D",
        "warnings",
    ]))?;
    Ok(Ending::Passed)
}

pub(super) fn test(shell: &Shell) -> Result<Ending, Failure> {
    run(&mut shell.cargo(&["test", "--workspace", "--exclude", REPLICATION, "--features", CLI]))?;
    Ok(Ending::Passed)
}

pub(super) fn replication(shell: &Shell) -> Result<Ending, Failure> {
    run(&mut shell.cargo(&["test", "-p", REPLICATION]))?;
    run(&mut shell.cargo(&["test", "-p", "nebula-cli", "--features", CLI_WHOLE, "--test", "all", "replicas::"]))?;
    Ok(Ending::Passed)
}

pub(super) fn doc(shell: &Shell) -> Result<Ending, Failure> {
    // The pages of the program `nebula` would overwrite those of the library of that name; it has
    // no public item.
    let doc = ["doc", "--no-deps", "--workspace", "--exclude", "nebula-cli"];
    run(shell.cargo(&doc).env("RUSTDOCFLAGS", "-D warnings"))?;
    Ok(Ending::Passed)
}
