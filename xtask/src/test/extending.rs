//! The step that applies docs/EXTENDING.md verbatim: its recipe for a dispatch policy, applied to a copy of the tree.
//!
//! The recipe's code blocks say in their first line where they go: `file=PATH` is a new file, `in=PATH before="LINE"` and
//! `in=PATH after="LINE"` are lines beside one that stands in PATH just once. The copy stays in `target/extending`, and only what
//! differs is written again, so that a second run builds little.

mod copy;
mod recipe;

use super::Ending;
use crate::shell::{Attempt, Failure, Shell, run, stdout_of};
use recipe::Recipe;
use std::path::Path;
use std::process::Command;

/// The page, and the section with the recipe.
const PAGE: &str = "docs/EXTENDING.md";
const SECTION: &str = "## A dispatch policy";
/// Crates that the step builds without optimizing.
const PLAIN: &[&str] = &["nebula-cli", "nebula", "nebula-sim", "nebula-memsys"];

pub(super) fn check(shell: &Shell) -> Result<Ending, Failure> {
    let page = std::fs::read_to_string(shell.root().join(PAGE)).attempt(format!("read {PAGE}"))?;
    let recipe = Recipe::read(&page, SECTION)?;
    let policy = recipe.quoted_in("policies! {")?;
    let mut files = copy::read(shell.root())?;
    recipe.apply(&mut files)?;
    let tree = shell.target().join("extending/tree");
    copy::write(&tree, &files)?;
    let cargo = |args: &[&str]| cargo_in(shell, &tree, args);
    run(&mut cargo(&["clippy", "-p", "nebula-nic", "--lib", "--", "-D", "warnings"]))?;
    run(&mut cargo(&["test", "-p", "nebula-nic", "--test", "dispatch_conformance"]))?;
    let simulate = ["run", "-q", "-p", "nebula-cli", "--", "simulate", "--policy", policy.as_str(), "--cores", "4"];
    let few = ["--load", "0.5", "--rpcs", "10k", "--replications", "2", "--format", "json"];
    let said = stdout_of(&mut cargo(&[&simulate[..], &few].concat()))?;
    match said.contains(&format!("\"policy\":\"{policy}\"")) {
        true => Ok(Ending::Passed),
        false => Err(Failure::new(format!("`nebula simulate --policy {policy}` has no row of that policy: {said}"))),
    }
}

/// Cargo in the copy, with a separate target folder: cargo knows a workspace's crates by their path from its root, so in the
/// repository's folder it would take what was built from the copy for the repository's.
fn cargo_in(shell: &Shell, tree: &Path, args: &[&str]) -> Command {
    // What is big and run for a second is built without optimizing, in a fifth of the time.
    let plain =
        PLAIN.iter().flat_map(|name| ["--config".to_owned(), format!("profile.dev.package.{name}.opt-level=0")]);
    let mut command = shell.command("cargo");
    command.args(plain).args(args).current_dir(tree);
    let target = shell.target().join("extending/target");
    command.env("CARGO_TARGET_DIR", &target).env("CARGO_BUILD_BUILD_DIR", &target);
    command
}
