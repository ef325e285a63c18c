//! Files that import each other, commands that import commands, and floors that import higher ones.
//!
//! A file imports another when its code names a path into that file's module, in a `use` or in full; its own tests do not count. Files of
//! which each leads to each by a chain of imports are a cycle: to understand one, one has to read all of them.

use std::collections::{BTreeMap, BTreeSet};

use super::Violation;
use super::code::code_of;
use super::tree::Tree;
use crate::area;

/// The program: the crate whose commands grew together once.
const PROGRAM: &str = "runtime/nebula-cli/src";

/// A module and the one that it is made of may import each other; more files may not.
const CYCLE_MAX: usize = 2;

/// The modules of the program that are commands: what `cli` imports beside these is no command.
const COMMANDS: &[&str] = &[
    "compare",
    "completions",
    "demo",
    "doctor",
    "echo",
    "explain",
    "incast",
    "keygen",
    "kv",
    "load",
    "man",
    "nf",
    "ordered",
    "replicas",
    "reproduce",
    "simulate",
    "size",
    "status",
    "sweep",
    "thresholds",
    "top",
];

/// The runtime, in which no two files import each other.
const RUNTIME: &str = "runtime/nebula/src";

/// Its floors, the lowest first. Each imports itself and lower ones.
const FLOORS: &[&str] = &[
    "rebuilt",
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
    let mut violations = of_program(&Imports::of(tree, PROGRAM));
    let runtime = Imports::of(tree, RUNTIME);
    violations.extend(runtime.cycles().iter().map(|cycle| told(cycle, 1)));
    violations.extend(runtime.of_floors());
    violations
}

fn of_program(imports: &Imports) -> Vec<Violation> {
    let mut violations: Vec<Violation> =
        imports.cycles().iter().filter(|cycle| cycle.len() > CYCLE_MAX).map(|cycle| told(cycle, CYCLE_MAX)).collect();
    violations.extend(imports.of_commands());
    violations
}

fn told(cycle: &[String], most: usize) -> Violation {
    let what = format!("{} files import each other, {most} at most may: {}", cycle.len(), cycle.join(", "));
    Violation::new(&cycle[0], 0, what)
}

/// The files in the longest cycle of each crate, in one line.
pub(super) fn counted(tree: &Tree) -> String {
    let sources = tree.rust().filter_map(|(path, _)| path.split_once("/src/")).map(|(of, _)| of);
    let crates: BTreeSet<&str> = sources.filter(|of| area::holds(of)).collect();
    let of = |name: &&str| {
        format!("{} {}", name.rsplit_once('/').map_or(*name, |(_, last)| last), longest(tree, &format!("{name}/src")))
    };
    format!("files of the longest cycle of imports: {}", crates.iter().map(of).collect::<Vec<_>>().join(", "))
}

/// The files in the longest cycle of a crate's sources; 1 where no file imports one that imports it.
fn longest(tree: &Tree, sources: &str) -> usize {
    Imports::of(tree, sources).cycles().iter().map(Vec::len).max().unwrap_or(1)
}

/// Which files of a crate name which others.
struct Imports {
    /// By the path of a file, in the order of paths.
    of: BTreeMap<String, BTreeSet<String>>,
    /// Below which the files are.
    sources: String,
}

impl Imports {
    fn of(tree: &Tree, sources: &str) -> Self {
        let prefix = format!("{sources}/");
        let files: Vec<(&str, &str)> = tree.rust().filter(|(path, _)| path.starts_with(&prefix)).collect();
        let modules: BTreeMap<Vec<String>, &str> =
            files.iter().map(|&(path, _)| (module_of(path, &prefix), path)).collect();
        let imported = |path: &str, text: &str| {
            let own = module_of(path, &prefix);
            let named =
                paths(without_tests(&code_of(text))).into_iter().filter_map(|named| absolute(&own, &named, &modules));
            let files = named.map(|module| file_of(&module, &modules).to_owned());
            files.filter(|file| file != path).collect()
        };
        let of = files.iter().map(|&(path, text)| (path.to_owned(), imported(path, text))).collect();
        Self { of, sources: sources.to_owned() }
    }

    /// Sets of more than one file of which each leads to each, the longest first.
    fn cycles(&self) -> Vec<Vec<String>> {
        let reached: BTreeMap<&str, BTreeSet<&str>> =
            self.of.keys().map(|file| (file.as_str(), self.reached_from(file))).collect();
        let mut cycles = BTreeSet::new();
        for (file, from_here) in &reached {
            let cycle: Vec<String> =
                from_here.iter().filter(|other| reached[*other].contains(file)).map(ToString::to_string).collect();
            if cycle.len() > 1 {
                cycles.insert(cycle);
            }
        }
        let mut cycles: Vec<_> = cycles.into_iter().collect();
        cycles.sort_by_key(|cycle| std::cmp::Reverse(cycle.len()));
        cycles
    }

    /// All files that a chain of imports from `file` leads to.
    fn reached_from(&self, file: &str) -> BTreeSet<&str> {
        let mut reached = BTreeSet::new();
        let mut open = vec![file];
        while let Some(next) = open.pop() {
            let fresh = self.of.get(next).into_iter().flatten().filter(|other| reached.insert(other.as_str()));
            open.extend(fresh.map(String::as_str).collect::<Vec<_>>());
        }
        reached
    }

    /// Commands that import another command, and pages that import any.
    fn of_commands(&self) -> Vec<Violation> {
        let of_file = |(file, others): (&String, &BTreeSet<String>)| {
            let own = self.top(file);
            let is_bound = own == "report" || COMMANDS.contains(&own.as_str());
            let wrong = others.iter().filter(|_| is_bound).map(|other| self.top(other));
            let wrong: BTreeSet<String> =
                wrong.filter(|other| *other != own && COMMANDS.contains(&other.as_str())).collect();
            let told = |other: String| {
                let what = format!("imports the command `{other}`: what both need is a module that is no command");
                Violation::new(file, 0, what)
            };
            wrong.into_iter().map(told).collect::<Vec<_>>()
        };
        self.of.iter().flat_map(of_file).collect()
    }

    /// Files that import a higher floor than their own, or are on none.
    fn of_floors(&self) -> Vec<Violation> {
        let floor = |file: &str| FLOORS.iter().position(|floor| *floor == self.top(file));
        let mut violations = Vec::new();
        for (file, others) in &self.of {
            // The crate's root names what it shows.
            if self.top(file).is_empty() {
                continue;
            }
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

    /// The first part of a file's module: `load` of `load.rs` and of `load/args.rs`.
    fn top(&self, file: &str) -> String {
        module_of(file, &format!("{}/", self.sources)).into_iter().next().unwrap_or_default()
    }
}

/// Code up to the tests at its end, in which `super` is the file itself.
fn without_tests(code: &str) -> &str {
    code.find("mod tests {").map_or(code, |tests| &code[..tests])
}

/// The module that a file is: `a::b` of `a/b.rs` and of `a/b/mod.rs`; nothing of `main.rs` and `lib.rs`.
fn module_of(path: &str, prefix: &str) -> Vec<String> {
    let within = path.strip_prefix(prefix).unwrap_or(path).trim_end_matches(".rs");
    let parts = within.split('/').filter(|part| !matches!(*part, "main" | "lib" | "mod"));
    parts.map(str::to_owned).collect()
}

/// The file that has a module, or the nearest one around it.
fn file_of<'a>(module: &[String], modules: &BTreeMap<Vec<String>, &'a str>) -> &'a str {
    let lengths = (0..=module.len()).rev();
    lengths.filter_map(|length| modules.get(&module[..length]).copied()).next().unwrap_or("")
}

/// A path as the crate's root has it; `None` for what is of another crate, or of no module.
fn absolute(own: &[String], named: &[String], modules: &BTreeMap<Vec<String>, &str>) -> Option<Vec<String>> {
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

/// All paths that code names, with groups written out: `a::{b, c::d}` is `a::b` and `a::c::d`. Declarations of modules are none.
fn paths(code: &str) -> Vec<Vec<String>> {
    let mut found = Vec::new();
    let mut rest = code;
    while let Some(at) = rest.find("::") {
        let begin = rest[..at].rfind(|c: char| !is_word(c)).map_or(0, |before| before + 1);
        let (head, is_visibility) = (&rest[begin..at], rest[..begin].ends_with("(in "));
        rest = &rest[at + 2..];
        if !head.is_empty() {
            let before = found.len();
            rest = &rest[follow(rest, &[head.to_owned()], &mut found)..];
            // `pub(in super::super)` says who may import, and imports nothing.
            found.truncate(if is_visibility { before } else { found.len() });
        }
    }
    found
}

fn is_word(letter: char) -> bool {
    letter.is_alphanumeric() || letter == '_'
}

/// Reads what follows `head::`, and notes each path; how many bytes that was.
fn follow(text: &str, head: &[String], found: &mut Vec<Vec<String>>) -> usize {
    if let Some(group) = text.strip_prefix('{') {
        return 1 + members(group, head, found);
    }
    let word: String = text.chars().take_while(|&letter| is_word(letter)).collect();
    let path: Vec<String> = head.iter().cloned().chain((!word.is_empty()).then(|| word.clone())).collect();
    match text[word.len()..].strip_prefix("::") {
        Some(after) if !word.is_empty() => word.len() + 2 + follow(after, &path, found),
        _ => {
            found.push(path);
            word.len()
        }
    }
}

/// Reads the members of a group up to behind its brace.
fn members(text: &str, head: &[String], found: &mut Vec<Vec<String>>) -> usize {
    let mut at = 0;
    loop {
        let rest = &text[at..];
        match rest.chars().next() {
            None => return at,
            Some('}') => return at + 1,
            // Another name is no path.
            Some('a') if rest.starts_with("as ") => at += 3 + rest[3..].chars().take_while(|&c| is_word(c)).count(),
            Some(letter) if is_word(letter) => at += follow(rest, head, found),
            Some(letter) => at += letter.len_utf8(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree(files: &[(&str, &str)]) -> Tree {
        let files: Vec<(String, &str)> =
            files.iter().map(|&(path, text)| (format!("{PROGRAM}/{path}"), text)).collect();
        Tree::of(&files.iter().map(|(path, text)| (path.as_str(), *text)).collect::<Vec<_>>())
    }

    fn cycle(files: &[(&str, &str)]) -> usize {
        longest(&tree(files), PROGRAM)
    }

    #[test]
    fn paths_are_written_out() {
        let of = |code: &str| paths(code).iter().map(|path| path.join("::")).collect::<Vec<_>>();
        assert_eq!(of("use crate::{a, b::{c, d as e}, f};"), ["crate::a", "crate::b::c", "crate::b::d", "crate::f"]);
        assert_eq!(
            of("let x = super::a::B::<u8>::new(c::d());"),
            ["super::a::B::", "c::d"].map(|p| p.trim_end_matches("::"))
        );
        assert_eq!(of("pub use a::*; mod b;"), ["a"]);
        assert_eq!(of("pub(in crate::a) fn f() -> b::C {}"), ["b::C"]);
    }

    #[test]
    fn a_chain_of_three_that_closes_is_found_and_a_pair_is_let_pass() {
        let three =
            [("a.rs", "use crate::b::B;"), ("b.rs", "fn f() { super::c::g() }"), ("c.rs", "use super::{a::A};")];
        assert_eq!((cycle(&three), check(&tree(&three)).len()), (3, 1));
        let open = [three[0], three[1], ("c.rs", "// crate::a\nconst A: &str = \"crate::a\";")];
        assert_eq!((cycle(&open), check(&tree(&open)).len()), (1, 0));
        let pair = [("a.rs", "mod b; use b::B;"), ("a/b.rs", "use super::A;")];
        assert_eq!((cycle(&pair), check(&tree(&pair)).len()), (2, 0));
    }

    #[test]
    fn in_the_runtime_no_two_files_import_each_other_and_no_floor_a_higher_one() {
        let found = |files: &[(&str, &str)]| {
            let files: Vec<_> = files.iter().map(|(path, text)| (format!("{RUNTIME}/{path}"), *text)).collect();
            let files: Vec<_> = files.iter().map(|(path, text)| (path.as_str(), *text)).collect();
            check(&Tree::of(&files)).len()
        };
        let low = ("rpc/reply.rs", "use crate::net::Wire;");
        assert_eq!(found(&[low, ("net.rs", ""), ("engine/turn.rs", "use crate::rpc::reply::Reply;")]), 0);
        assert_eq!(found(&[("rpc/reply.rs", "use crate::engine::turn::Engine;"), ("engine/turn.rs", "")]), 1);
        assert_eq!(found(&[("engine.rs", "use turn::Engine;"), ("engine/turn.rs", "use super::TURN;")]), 1);
        assert_eq!(found(&[("cellar.rs", "")]), 1, "on no floor");
        assert_eq!(found(&[("lib.rs", "pub use client::Client;"), ("client.rs", "")]), 0);
    }

    #[test]
    fn what_tests_import_does_not_count() {
        let files = [("a.rs", "mod b; use b::B;"), ("a/b.rs", "#[cfg(test)]\nmod tests {\n    use super::*;\n}")];
        assert_eq!(cycle(&files), 1);
    }

    #[test]
    fn each_crate_is_counted() {
        let of = |path, text| (path, text);
        let files = [
            of("core/x/src/a.rs", "use crate::b;"),
            of("core/x/src/b.rs", "use super::a;"),
            of("core/y/src/lib.rs", ""),
        ];
        assert_eq!(counted(&Tree::of(&files)), "files of the longest cycle of imports: x 2, y 1");
    }

    #[test]
    fn a_path_ends_at_the_nearest_file() {
        let files =
            [("main.rs", "mod a;"), ("a.rs", "pub struct A;"), ("b/c.rs", "use crate::a::A::X; use std::a::B;")];
        let imports = Imports::of(&tree(&files), PROGRAM);
        let of_c: Vec<&String> = imports.of[&format!("{PROGRAM}/b/c.rs")].iter().collect();
        assert_eq!(of_c, [&format!("{PROGRAM}/a.rs")]);
    }

    #[test]
    fn a_command_that_imports_a_command_is_found_and_what_both_share_is_not() {
        let found = |path: &str, text: &str| {
            let files =
                [(path, text), ("load.rs", ""), ("load/args.rs", ""), ("drive.rs", ""), ("cli.rs", "use crate::load;")];
            check(&tree(&files)).len()
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
        // One that has several runs, as `load` has.
        commands.dedup();
        assert_eq!(commands, COMMANDS);
    }
}
