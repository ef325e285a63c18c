//! Commands of the program do not import each other, and floors of the runtime do not import higher
//! ones.

use std::collections::BTreeSet;

use super::Violation;
use super::imports::Imports;
use super::tree::Tree;

const PROGRAM: &str = "runtime/nebula-cli/src";

/// `cli` imports other modules too, which are no commands.
const COMMANDS: &[&str] = &[
    "completions",
    "demo",
    "doctor",
    "echo",
    "explain",
    "keygen",
    "kv",
    "load",
    "man",
    "replicas",
    "service_times",
    "status",
    "top",
];

const RUNTIME: &str = "runtime/nebula/src";

/// From the lowest. Each imports itself and lower ones.
const FLOORS: &[&str] = &[
    "yielding",
    "net",
    "endpoint",
    "rpc",
    "config",
    "status",
    "nic",
    "transport",
    "engine",
    "ways",
    "worker",
    "server",
    "domains",
    "client",
    "node",
    "hooks",
];

pub(super) fn check(tree: &Tree) -> Vec<Violation> {
    let mut violations = of_commands(&Imports::of(tree, PROGRAM));
    violations.extend(of_floors(&Imports::of(tree, RUNTIME)));
    violations
}

/// Commands that import another command, and pages that import any.
fn of_commands(imports: &Imports) -> Vec<Violation> {
    let of_file = |(file, others): (&String, &BTreeSet<String>)| {
        let own = imports.top(file);
        let is_bound = own == "report" || COMMANDS.contains(&own.as_str());
        let wrong = others.iter().filter(|_| is_bound).map(|other| imports.top(other));
        let wrong: BTreeSet<String> =
            wrong.filter(|other| *other != own && COMMANDS.contains(&other.as_str())).collect();
        let violation = |other: String| {
            let what = format!("imports the command `{other}`: what both need is a module that is no command");
            Violation::new(file, 0, what)
        };
        wrong.into_iter().map(violation).collect::<Vec<_>>()
    };
    imports.of.iter().flat_map(of_file).collect()
}

/// Files that import a higher floor than their own, or are on none.
fn of_floors(imports: &Imports) -> Vec<Violation> {
    let floor = |file: &str| FLOORS.iter().position(|floor| *floor == imports.top(file));
    let mut violations = Vec::new();
    // The crate's root re-exports from all floors.
    for (file, others) in imports.of.iter().filter(|(file, _)| !imports.top(file).is_empty()) {
        let Some(own) = floor(file) else {
            violations.push(Violation::new(file, 0, "is on no floor: give it a place among FLOORS"));
            continue;
        };
        for other in others.iter().filter(|other| floor(other).is_some_and(|other| other > own)) {
            violations.push(Violation::new(file, 0, format!("imports a higher floor: {other}")));
        }
    }
    violations
}

#[cfg(test)]
mod tests {
    use super::super::code::code_of;
    use super::*;

    fn found(sources: &str, files: &[(&str, &str)]) -> usize {
        let files: Vec<_> = files.iter().map(|(path, text)| (format!("{sources}/{path}"), *text)).collect();
        check(&Tree::of(&files.iter().map(|(path, text)| (path.as_str(), *text)).collect::<Vec<_>>())).len()
    }

    #[test]
    fn in_the_runtime_no_floor_imports_a_higher_one() {
        let found = |files: &[(&str, &str)]| found(RUNTIME, files);
        let low = ("rpc/reply.rs", "use crate::net::Wire;");
        assert_eq!(found(&[low, ("net.rs", ""), ("engine/turn.rs", "use crate::rpc::reply::Reply;")]), 0);
        assert_eq!(found(&[("rpc/reply.rs", "use crate::engine::turn::Engine;"), ("engine/turn.rs", "")]), 1);
        assert_eq!(found(&[("cellar.rs", "")]), 1, "on no floor");
        assert_eq!(found(&[("lib.rs", "pub use client::Client;"), ("client.rs", "")]), 0);
    }

    #[test]
    fn every_floor_is_a_module_of_the_runtime() {
        let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let tree = Tree::read(&root).expect("the repository can be read");
        for floor in FLOORS {
            assert!(tree.has(&format!("{RUNTIME}/{floor}.rs")), "{floor} is no file: take it out of FLOORS");
        }
    }

    #[test]
    fn a_command_that_imports_a_command_is_found_and_what_both_share_is_not() {
        let found = |path: &str, text: &str| {
            let files =
                [(path, text), ("load.rs", ""), ("load/args.rs", ""), ("drive.rs", ""), ("cli.rs", "use crate::load;")];
            found(PROGRAM, &files)
        };
        assert_eq!(found("demo/service.rs", "use crate::load::args::Args;"), 1);
        assert_eq!(found("report/load.rs", "use crate::{drive, load};"), 1);
        assert_eq!(found("demo/service.rs", "use crate::drive::Plan;"), 0);
        assert_eq!(found("load/rows.rs", "use super::args::Args;"), 0);
    }

    #[test]
    fn every_command_of_the_program_is_in_the_list() {
        let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let tree = Tree::read(&root).expect("the repository can be read");
        let cli = code_of(tree.text(&format!("{PROGRAM}/cli.rs")).expect("the program has its command line"));
        let runs = cli.lines().filter_map(|line| line.split_once("=> ")?.1.split_once("::run"));
        let mut commands: Vec<&str> = runs.map(|(module, _)| module.trim()).collect();
        commands.sort_unstable();
        // A command may have several functions, as `load` has.
        commands.dedup();
        assert_eq!(commands, COMMANDS);
    }
}
