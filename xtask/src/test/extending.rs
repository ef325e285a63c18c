//! The step that applies docs/EXTENDING.md verbatim: its recipe for a dispatch policy, applied to a
//! copy of the tree.
//!
//! The first line of a code block says where it goes. `file=PATH` is a new file;
//! `in=PATH before="LINE"` and `in=PATH after="LINE"` insert lines next to one that occurs once in
//! PATH. The copy stays in `target/extending`, and only differences are written again, so that a
//! second run builds little. Dependencies are those of the step `test`.

mod copy;
mod recipe;

use super::Ending;
use crate::area;
use crate::shell::{Failure, Shell, files, run, stdout_of};
use recipe::Recipe;
use std::path::Path;
use std::process::Command;

const PAGE: &str = "docs/EXTENDING.md";
const SECTION: &str = "## A dispatch policy";

pub(super) fn check(shell: &Shell) -> Result<Ending, Failure> {
    let page = files::read(shell.root().join(PAGE))?;
    let recipe = Recipe::read(&page, SECTION)?;
    let policy = recipe.quoted_in("policies! {")?;
    let mut files = copy::read(shell.root())?;
    recipe.apply(&mut files)?;
    let tree = shell.target().join("extending/tree");
    copy::write(&tree, &files)?;
    let crates: Vec<&str> = files.keys().filter_map(|path| area::crate_of(path)).collect();
    let cargo = |args: &[&str]| cargo_in(shell, &tree, &crates, args);
    run(&mut cargo(&["clippy", "-p", "nebula-nic", "--lib", "--", "-D", "warnings"]))?;
    run(&mut cargo(&["test", "-p", "nebula-nic", "--test", "dispatch_conformance"]))?;
    let simulate = ["run", "-q", "-p", "nebula-lab-cli", "--", "simulate", "--policy", policy.as_str(), "--cores", "4"];
    let few = ["--load", "0.5", "--rpcs", "10k", "--replications", "2", "--format", "json"];
    let said = stdout_of(&mut cargo(&[&simulate[..], &few].concat()))?;
    match said.contains(&format!("\"policy\":\"{policy}\"")) {
        true => Ok(Ending::Passed),
        false => Err(Failure::new(format!("`nebula simulate --policy {policy}` has no row of that policy: {said}"))),
    }
}

/// Cargo in the copy. It builds `crates` without optimizing, in a fifth of the time, as they run
/// for a second.
///
/// Cargo identifies a workspace's crates by their path from its root and by their profile. With the
/// same profile it would take a crate of the copy for the repository's. So *every* crate is built
/// without optimizing, unlike any of the repository's. Programs go to a separate folder, as they
/// have a name and no profile.
fn cargo_in(shell: &Shell, tree: &Path, crates: &[&str], args: &[&str]) -> Command {
    let plain =
        crates.iter().flat_map(|name| ["--config".to_owned(), format!("profile.dev.package.{name}.opt-level=0")]);
    let mut command = shell.command("cargo");
    command.args(plain).args(args).current_dir(tree);
    command.env("CARGO_TARGET_DIR", shell.target().join("extending/target"));
    // A cargo before 1.91 ignores it and builds everything again.
    command.env("CARGO_BUILD_BUILD_DIR", shell.target());
    command
}
