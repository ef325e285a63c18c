//! The steps that are one cargo command over the whole workspace, and tidy.

use super::Ending;
use crate::shell::{Failure, Shell, run};
use crate::tidy;

/// What the program has when it is built with it.
const CLI: &str = "nebula-cli/typed,nebula-cli/replicate";

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
    run(&mut shell.cargo(&["clippy", "--workspace", "--features", CLI, "--all-targets", "--", "-D", "warnings"]))?;
    Ok(Ending::Passed)
}

pub(super) fn test(shell: &Shell) -> Result<Ending, Failure> {
    run(&mut shell.cargo(&["test", "--workspace", "--features", CLI]))?;
    Ok(Ending::Passed)
}

pub(super) fn doc(shell: &Shell) -> Result<Ending, Failure> {
    // The pages of the program `nebula` would overwrite those of the library of that name; it has no public item.
    let doc = ["doc", "--no-deps", "--workspace", "--exclude", "nebula-cli"];
    run(shell.cargo(&doc).env("RUSTDOCFLAGS", "-D warnings"))?;
    Ok(Ending::Passed)
}
