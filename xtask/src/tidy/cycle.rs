//! Files that import each other can only be understood together. A ratchet for each crate.

use std::collections::BTreeSet;

use super::Violation;
use super::imports::Imports;
use super::tree::Tree;
use crate::area;

/// A module and its submodule may import each other; more files may not.
const FILES_MAX: usize = 2;

/// The most files of a cycle in these crates; 1 means no cycle. A number may only fall.
const LONGEST: &[(&str, usize)] = &[("nebula", 1)];

pub(super) fn check(tree: &Tree) -> Vec<Violation> {
    against(tree, LONGEST)
}

fn against(tree: &Tree, limits: &[(&str, usize)]) -> Vec<Violation> {
    let sources = sources(tree);
    let known = |krate: &str| sources.iter().any(|sources| name_of(sources) == krate);
    let gone = limits.iter().filter(|(krate, _)| !known(krate));
    let gone = gone.map(|(krate, _)| Violation::new("xtask/src/tidy/cycle.rs", 0, format!("no crate is `{krate}`")));
    gone.chain(sources.iter().flat_map(|sources| of_crate(tree, sources, limits))).collect()
}

/// Cycles longer than a crate's limit, or a limit higher than its longest cycle.
fn of_crate(tree: &Tree, sources: &str, limits: &[(&str, usize)]) -> Vec<Violation> {
    let name = name_of(sources);
    let listed = limits.iter().find(|(krate, _)| *krate == name).map(|(_, limit)| *limit);
    let limit = listed.unwrap_or(FILES_MAX);
    let cycles = Imports::of(tree, sources).cycles();
    let longest = cycles.first().map_or(1, Vec::len);
    if listed.is_some_and(|listed| listed > longest) {
        let what = format!("its longest cycle has {longest} files: lower {limit} to that in xtask/src/tidy/cycle.rs");
        return vec![Violation::new(sources, 0, what)];
    }
    cycles.iter().filter(|cycle| cycle.len() > limit).map(|cycle| too_long(cycle, limit)).collect()
}

fn too_long(cycle: &[String], limit: usize) -> Violation {
    let what = format!("{} files import each other, {limit} at most may: {}", cycle.len(), cycle.join(", "));
    Violation::new(&cycle[0], 0, what)
}

fn sources(tree: &Tree) -> BTreeSet<String> {
    let folders = tree.rust().filter_map(|(path, _)| path.split_once("/src/")).map(|(folder, _)| folder);
    folders.filter(|folder| area::holds(folder)).map(|folder| format!("{folder}/src")).collect()
}

fn name_of(sources: &str) -> &str {
    sources.rsplit('/').nth(1).unwrap_or(sources)
}

#[cfg(test)]
mod tests {
    use super::*;

    const THREE: [(&str, &str); 4] = [
        ("core/x/src/a.rs", "use crate::b::B;"),
        ("core/x/src/b.rs", "fn f() { super::c::g() }"),
        ("core/x/src/c.rs", "use super::{a::A};"),
        ("core/y/src/lib.rs", ""),
    ];

    fn found(files: &[(&str, &str)], limits: &[(&str, usize)]) -> Vec<String> {
        against(&Tree::of(files), limits).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_cycle_above_the_limit_is_found_with_its_files() {
        let said = found(&THREE, &[]);
        assert!(said.len() == 1 && said[0].contains("3 files import each other, 2 at most may"), "{said:?}");
        assert!(said[0].ends_with("core/x/src/a.rs, core/x/src/b.rs, core/x/src/c.rs"), "{said:?}");
        assert_eq!(found(&THREE[1..], &[]), Vec::<String>::new());
    }

    #[test]
    fn a_listed_number_holds_and_may_only_fall() {
        assert_eq!(found(&THREE, &[("x", 3)]), Vec::<String>::new());
        assert!(found(&THREE, &[("x", 4)])[0].contains("lower 4 to that"));
        assert!(found(&THREE, &[("x", 2)])[0].contains("3 files import each other"));
    }

    #[test]
    fn where_one_at_most_is_allowed_a_pair_is_found() {
        let pair = [("core/x/src/a.rs", "mod b; use b::B;"), ("core/x/src/a/b.rs", "use super::A;")];
        assert_eq!(found(&pair, &[]), Vec::<String>::new());
        assert_eq!(found(&pair, &[("x", 1)]).len(), 1);
    }

    #[test]
    fn a_limit_of_a_crate_that_is_gone_is_found() {
        assert_eq!(found(&THREE[3..], &[("z", 2)]).len(), 1);
    }
}
