//! `cargo xtask tidy`: rules of the tree that no compiler knows.
//!
//! Each rule is a function from the [`Tree`] (all text files, read once) to its violations, in a
//! module with tests that show it failing. To add one: a file under `tidy/` and a line in
//! [`RULES`].

mod areas;
mod clock;
mod code;
mod columns;
mod count;
mod cycle;
mod departure;
mod figures;
mod floors;
mod ignored;
mod imports;
mod length;
mod links;
mod mirror;
mod module_comment;
mod name;
mod outside;
mod plain_english;
mod readme;
mod reasons;
mod station;
mod steps;
mod test_programs;
mod tree;
mod unsafe_code;

use std::fmt;

use crate::shell::{Failure, Shell};
use tree::Tree;

/// Arguments of `cargo xtask tidy`.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Rewrite generated parts: docs/data/departures.tsv, the figures in README.
    #[arg(long)]
    bless: bool,
    /// Print how large the tree is, by area, and check nothing.
    #[arg(long, conflicts_with = "bless")]
    count: bool,
}

#[derive(Debug, PartialEq, Eq)]
struct Violation {
    path: String,
    /// Counted from 1; 0 for the whole file.
    line: usize,
    what: String,
}

impl Violation {
    fn new(path: &str, line: usize, what: impl Into<String>) -> Self {
        Self { path: path.to_owned(), line, what: what.into() }
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            0 => write!(f, "{}: {}", self.path, self.what),
            line => write!(f, "{}:{line}: {}", self.path, self.what),
        }
    }
}

struct Rule {
    name: &'static str,
    check: fn(&Tree) -> Vec<Violation>,
}

const RULES: &[Rule] = &[
    Rule { name: "every .rs file opens with a module comment", check: module_comment::check },
    Rule { name: "the stations of one RPC follow each other", check: station::check },
    Rule { name: "the two worlds ask for the same decisions", check: mirror::check },
    Rule { name: "the core alone decides why an RPC is refused", check: reasons::check },
    Rule { name: "departures are listed in docs/data/departures.tsv", check: departure::check },
    Rule { name: "nebula-sys, and the allocator of tests, alone are unsafe", check: unsafe_code::check },
    Rule { name: "crates import only what their area may", check: areas::check },
    Rule { name: "files do not import each other in circles", check: cycle::check },
    Rule { name: "commands import no commands, and floors no higher ones", check: floors::check },
    Rule { name: "files stay short", check: length::check },
    Rule { name: "comments and prose end at column 100", check: columns::check },
    Rule { name: "modules are named for what they hold", check: name::check },
    Rule { name: "README is short, and tables of numbers say what measured them", check: readme::check },
    Rule { name: "README's figures are the benchmarks'", check: figures::check },
    Rule { name: "links between pages resolve, and the book has every page", check: links::check },
    Rule { name: "CONTRIBUTING lists the steps of `cargo xtask test`", check: steps::check },
    Rule { name: "nothing points outside the repository", check: outside::check },
    Rule { name: "no test is switched off", check: ignored::check },
    Rule { name: "every test file is in a test program", check: test_programs::check },
    Rule { name: "tests neither sleep nor read the time", check: clock::check },
    Rule { name: "prose is plain English", check: plain_english::check },
];

pub(crate) fn run(shell: &Shell, args: &Args) -> Result<(), Failure> {
    if args.count {
        println!("{}", count::report(&Tree::read(shell.root())?));
        return Ok(());
    }
    if args.bless {
        let tree = Tree::read(shell.root())?;
        departure::bless(shell, &tree)?;
        figures::bless(shell, &tree)?;
    }
    check(shell)
}

pub(crate) fn check(shell: &Shell) -> Result<(), Failure> {
    let tree = Tree::read(shell.root())?;
    let mut violations = 0;
    for rule in RULES {
        let found = (rule.check)(&tree);
        println!("tidy: {}: {}", rule.name, if found.is_empty() { "ok" } else { "broken" });
        found.iter().for_each(|violation| println!("  {violation}"));
        violations += found.len();
    }
    if violations == 0 { Ok(()) } else { Err(Failure::new(format!("tidy found {violations} places to fix"))) }
}
