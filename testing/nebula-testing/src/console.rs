//! The commands that a page of documentation shows, and their output.

use std::collections::BTreeMap;
use std::path::Path;

use crate::program::run;

const PAGES: [&str; 5] = ["README.md", "docs/GUIDE.md", "docs/LABORATORY.md", "docs/BENCHMARKS.md", "docs/LIMITS.md"];
/// The commands of the program `nebula-lab`.
const LABORATORY: [&str; 6] = ["compare", "reproduce", "simulate", "size", "sweep", "thresholds"];

/// A command of the program and what the page shows of its output.
#[derive(Debug)]
pub struct Shown {
    /// Its arguments.
    pub args: Vec<String>,
    /// The output; empty where none is shown.
    pub output: String,
}

/// The commands of the program in the blocks of a page that are marked as a console.
#[must_use]
pub fn shown_in(text: &str) -> Vec<Shown> {
    let mut shown: Vec<Shown> = Vec::new();
    for block in text.split("```console\n").skip(1) {
        let block = block.split("```").next().unwrap_or_default();
        let mut is_ours = false;
        for line in block.lines() {
            if let Some(command) = line.strip_prefix("$ ") {
                let command = command.strip_prefix("nebula ").or(command.strip_prefix("cargo run --release -- "));
                is_ours = command.is_some();
                shown.extend(command.map(|command| Shown { args: words(command), output: String::new() }));
            } else if let Some(last) = shown.last_mut().filter(|_| is_ours) {
                last.output.push_str(line);
                last.output.push('\n');
            }
        }
    }
    shown
}

/// The commands of the project's pages that `nebula-lab` runs, or those that `nebula` runs itself.
///
/// # Panics
///
/// If a page is missing.
#[must_use]
pub fn shown_of(is_laboratory: bool) -> Vec<Shown> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let all = PAGES.iter().flat_map(|page| shown_in(&std::fs::read_to_string(root.join(page)).expect("a page")));
    let is_of = |shown: &Shown| shown.args.first().is_some_and(|first| LABORATORY.contains(&first.as_str()));
    all.filter(|shown| is_of(shown) == is_laboratory).collect()
}

/// Asserts that the program accepts each command, without running it.
///
/// # Panics
///
/// If it does not.
#[track_caller]
pub fn assert_taken(program: &str, shown: &[Shown]) {
    assert!(shown.len() > 8, "{shown:?}");
    for Shown { args, .. } in shown {
        let mut args: Vec<&str> = args.iter().map(String::as_str).collect();
        // The program reads everything before it first, so a wrong flag or value is still an error.
        args.push("--help");
        run(program, &args).assert_ok();
    }
}

/// Asserts that each command prints exactly what is shown.
///
/// # Panics
///
/// If it does not.
#[track_caller]
pub fn assert_printed<'s>(program: &str, shown: impl IntoIterator<Item = &'s Shown>) {
    let mut printed: BTreeMap<&[String], String> = BTreeMap::new();
    for Shown { args, output } in shown {
        let words: Vec<&str> = args.iter().map(String::as_str).collect();
        let printed = printed.entry(args).or_insert_with(|| run(program, &words).assert_ok().stdout);
        assert_eq!(printed, output, "{args:?}");
    }
}

/// Splits arguments like a shell: at spaces outside single quotes, up to a comment.
fn words(command: &str) -> Vec<String> {
    let quoted = command.split('\'').enumerate();
    let mut words = Vec::new();
    for (index, part) in quoted {
        if index % 2 == 1 {
            words.push(part.to_owned());
            continue;
        }
        let code = part.split(" #").next().unwrap_or_default();
        words.extend(code.split_whitespace().map(str::to_owned));
        if code.len() < part.len() {
            break;
        }
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_is_read_as_a_shell_reads_it() {
        let page =
            "```console\n$ nebula size --load 'a b' --x   # why\nrow\n$ cargo xtask bench\nno\n$ nebula doctor\n```\n";
        let shown = shown_in(page);
        assert_eq!(shown[0].args, ["size", "--load", "a b", "--x"]);
        assert_eq!(shown[0].output, "row\n");
        assert_eq!((shown.len(), shown[1].args.len(), shown[1].output.as_str()), (2, 1, ""));
    }
}
