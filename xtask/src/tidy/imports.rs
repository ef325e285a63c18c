//! The imports between files of a crate: a file imports another when its code names a path into
//! that file's module.
//!
//! A path counts in a `use` and in full, in macros too, but not in a module `tests` within a file.

use std::collections::{BTreeMap, BTreeSet};

use petgraph::algo::tarjan_scc;
use petgraph::graph::{DiGraph, NodeIndex};

use super::code::tokens;
use super::tree::Tree;

pub(super) struct Imports {
    /// By the path of a file, in the order of paths.
    pub(super) of: BTreeMap<String, BTreeSet<String>>,
    /// Of the files' paths, with `/` at the end.
    prefix: String,
}

impl Imports {
    pub(super) fn of(tree: &Tree, sources: &str) -> Self {
        let prefix = format!("{sources}/");
        let files: Vec<(&str, &str)> = tree.rust().filter(|(path, _)| path.starts_with(&prefix)).collect();
        let modules: Modules<'_> = files.iter().map(|&(path, _)| (module_of(path, &prefix), path)).collect();
        let imported = |path: &str, text: &str| {
            let own = module_of(path, &prefix);
            let named = paths(&tokens(text)).into_iter().filter_map(|named| absolute(&own, &named, &modules));
            named.map(|module| file_of(&module, &modules).to_owned()).filter(|file| file != path).collect()
        };
        let of = files.iter().map(|&(path, text)| (path.to_owned(), imported(path, text))).collect();
        Self { of, prefix }
    }

    /// Sets of several files of which each reaches each by imports, the longest first.
    pub(super) fn cycles(&self) -> Vec<Vec<String>> {
        let mut graph = DiGraph::<&str, ()>::new();
        let nodes: BTreeMap<&str, _> = self.of.keys().map(|file| (file.as_str(), graph.add_node(file))).collect();
        for (file, others) in &self.of {
            let others = others.iter().filter_map(|other| nodes.get(other.as_str()));
            graph.extend_with_edges(others.map(|other| (nodes[file.as_str()], *other)));
        }
        let cycles = tarjan_scc(&graph).into_iter().filter(|cycle| cycle.len() > 1);
        let named =
            |cycle: Vec<NodeIndex>| cycle.into_iter().map(|node| graph[node].to_owned()).collect::<BTreeSet<_>>();
        let mut cycles: Vec<Vec<String>> = cycles.map(|cycle| named(cycle).into_iter().collect()).collect();
        cycles.sort_by_key(|cycle| (std::cmp::Reverse(cycle.len()), cycle[0].clone()));
        cycles
    }

    /// The first part of a file's module: `load` of `load.rs` and of `load/args.rs`; "" of the
    /// crate's root.
    pub(super) fn top(&self, file: &str) -> String {
        module_of(file, &self.prefix).into_iter().next().unwrap_or_default()
    }
}

type Modules<'a> = BTreeMap<Vec<String>, &'a str>;

/// The module of a file: `a::b` of `a/b.rs` and of `a/b/mod.rs`; empty for `main.rs` and `lib.rs`.
fn module_of(path: &str, prefix: &str) -> Vec<String> {
    let within = path.strip_prefix(prefix).unwrap_or(path).trim_end_matches(".rs");
    let parts = within.split('/').filter(|part| !matches!(*part, "main" | "lib" | "mod"));
    parts.map(str::to_owned).collect()
}

/// The file that has a module, or the nearest one around it.
fn file_of<'a>(module: &[String], modules: &Modules<'a>) -> &'a str {
    let lengths = (0..=module.len()).rev();
    lengths.filter_map(|length| modules.get(&module[..length]).copied()).next().unwrap_or("")
}

/// A path from the crate's root; `None` for other crates, or no module.
fn absolute(own: &[String], named: &[String], modules: &Modules<'_>) -> Option<Vec<String>> {
    let mut base = own.to_vec();
    let rest = match named.first()?.as_str() {
        "crate" => {
            base.clear();
            &named[1..]
        }
        "self" => &named[1..],
        "super" => {
            let ups = named.iter().take_while(|part| *part == "super").count();
            base.truncate(own.len().saturating_sub(ups));
            &named[ups..]
        }
        child => {
            base.push(child.to_owned());
            modules.contains_key(&base).then_some(())?;
            &named[1..]
        }
    };
    base.extend(rest.iter().cloned());
    Some(base)
}

/// All paths that code names, with groups expanded: `a::{b, c::d}` is `a::b` and `a::c::d`.
fn paths(tokens: &[&str]) -> Vec<Vec<String>> {
    let (mut found, mut at) = (Vec::new(), 0);
    while at < tokens.len() {
        at = match &tokens[at..] {
            // `pub(in super::super)` imports nothing.
            ["(", "in", rest @ ..] => at + 2 + rest.iter().position(|token| *token == ")").unwrap_or(rest.len()),
            [word, ":", ":", ..] if is_word(word) => follow(tokens, at + 3, &[(*word).to_owned()], &mut found),
            _ => at + 1,
        };
    }
    found
}

fn is_word(token: &str) -> bool {
    token.starts_with(|letter: char| letter.is_alphabetic() || letter == '_')
}

/// Reads on after `head::`, and collects each path; returns where it ends.
fn follow(tokens: &[&str], at: usize, head: &[String], found: &mut Vec<Vec<String>>) -> usize {
    let path = |word: &str| [head, &[word.to_owned()]].concat();
    match tokens.get(at..).unwrap_or_default() {
        ["{", ..] => members(tokens, at + 1, head, found),
        [word, ":", ":", ..] if is_word(word) => follow(tokens, at + 3, &path(word), found),
        [word, ..] if is_word(word) => {
            found.push(path(word));
            at + 1
        }
        _ => {
            found.push(head.to_vec());
            at
        }
    }
}

/// Reads the members of a group of imports up to behind its brace.
fn members(tokens: &[&str], begin: usize, head: &[String], found: &mut Vec<Vec<String>>) -> usize {
    let mut at = begin;
    while at < tokens.len() {
        at = match tokens[at] {
            "}" => return at + 1,
            // The other name is no path.
            "as" => at + 2,
            "*" => {
                found.push(head.to_vec());
                at + 1
            }
            word if is_word(word) => follow(tokens, at, head, found),
            _ => at + 1,
        };
    }
    at
}

#[cfg(test)]
mod tests {
    use super::*;

    fn imports(files: &[(&str, &str)]) -> Imports {
        let files: Vec<_> = files.iter().map(|(path, text)| (format!("core/x/src/{path}"), *text)).collect();
        let files: Vec<_> = files.iter().map(|(path, text)| (path.as_str(), *text)).collect();
        Imports::of(&Tree::of(&files), "core/x/src")
    }

    fn longest(files: &[(&str, &str)]) -> usize {
        imports(files).cycles().first().map_or(1, Vec::len)
    }

    #[test]
    fn paths_are_written_out() {
        let of = |code: &str| paths(&tokens(code)).iter().map(|path| path.join("::")).collect::<Vec<_>>();
        assert_eq!(of("use crate::{a, b::{c, d as e}, f};"), ["crate::a", "crate::b::c", "crate::b::d", "crate::f"]);
        assert_eq!(of("let x = super::a::B::<u8>::new(c::d());"), ["super::a::B", "c::d"]);
        assert_eq!(of("pub use a::*; pub use b::{*}; mod b;"), ["a", "b"]);
        assert_eq!(of("pub(in crate::a) fn f() -> b::C { g!(c::D) }"), ["b::C", "c::D"]);
        assert_eq!(of("// a::b\n/// c::d\nconst A: &str = \"e::f\";"), Vec::<String>::new());
    }

    #[test]
    fn a_chain_that_closes_is_a_cycle() {
        let three =
            [("a.rs", "use crate::b::B;"), ("b.rs", "fn f() { super::c::g() }"), ("c.rs", "use super::{a::A};")];
        assert_eq!(longest(&three), 3);
        assert_eq!(longest(&[three[0], three[1], ("c.rs", "// crate::a\nconst A: &str = \"crate::a\";")]), 1);
        assert_eq!(longest(&[("a.rs", "mod b; use b::B;"), ("a/b.rs", "use super::A;")]), 2);
    }

    #[test]
    fn what_tests_import_does_not_count() {
        let files = [("a.rs", "mod b; use b::B;"), ("a/b.rs", "#[cfg(test)]\nmod tests {\n    use super::*;\n}")];
        assert_eq!(longest(&files), 1);
        assert_eq!(longest(&[files[0], ("a/b.rs", "mod tests { } use super::A;")]), 2, "what follows them counts");
    }

    #[test]
    fn a_path_ends_at_the_nearest_file() {
        let files =
            [("main.rs", "mod a;"), ("a.rs", "pub struct A;"), ("b/c.rs", "use crate::a::A::X; use std::a::B;")];
        let of_c: Vec<String> = imports(&files).of["core/x/src/b/c.rs"].iter().cloned().collect();
        assert_eq!(of_c, ["core/x/src/a.rs"]);
    }
}
