//! The commands in README and docs/: the program accepts each of them, and commands shown with
//! output print exactly that output.

#![expect(clippy::unwrap_used, reason = "what cannot go on fails here")]

use std::collections::BTreeMap;
use std::path::Path;

use crate::program::nebula;

const PAGES: [&str; 5] = ["README.md", "docs/GUIDE.md", "docs/LABORATORY.md", "docs/BENCHMARKS.md", "docs/LIMITS.md"];
/// Searches under many systems: half a minute of a release build.
const TOO_LONG: &str = "compare --workload exponential:1us";

/// A command of the program and what the page shows of its output.
#[derive(Debug)]
struct Shown {
    args: Vec<String>,
    output: String,
}

/// The commands of the program in the blocks of a page that are marked as a console.
fn shown_in(text: &str) -> Vec<Shown> {
    let mut shown: Vec<Shown> = Vec::new();
    for block in text.split("```console\n").skip(1) {
        let block = block.split("```").next().unwrap();
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

/// Splits arguments like a shell: at spaces outside single quotes, up to a comment.
fn words(command: &str) -> Vec<String> {
    let quoted = command.split('\'').enumerate();
    let mut words = Vec::new();
    for (index, part) in quoted {
        if index % 2 == 1 {
            words.push(part.to_owned());
            continue;
        }
        let code = part.split(" #").next().unwrap();
        words.extend(code.split_whitespace().map(str::to_owned));
        if code.len() < part.len() {
            break;
        }
    }
    words
}

fn pages() -> Vec<Shown> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    PAGES.iter().flat_map(|page| shown_in(&std::fs::read_to_string(root.join(page)).unwrap())).collect()
}

#[test]
fn every_command_of_the_pages_is_one_that_the_program_takes() {
    let shown = pages();
    assert!(shown.len() > 20, "{shown:?}");
    for Shown { args, .. } in &shown {
        let mut args: Vec<&str> = args.iter().map(String::as_str).collect();
        // What is before it is read first: a wrong flag or value is an error all the same.
        args.push("--help");
        nebula(&args).assert_ok();
    }
}

#[test]
fn a_command_that_the_program_does_not_take_is_noticed() {
    for args in [&["simulate", "--no-such-flag", "--help"][..], &["simulate", "--cores", "many", "--help"]] {
        assert_eq!(nebula(args).code, Some(2), "{args:?}");
    }
}

#[test]
fn every_output_of_the_pages_is_what_the_program_prints() {
    let shown: Vec<Shown> = pages().into_iter().filter(|shown| !shown.output.is_empty()).collect();
    let (long, short): (Vec<_>, Vec<_>) = shown.iter().partition(|shown| shown.args.join(" ").starts_with(TOO_LONG));
    assert_eq!(long.len(), 1, "the one that LABORATORY.md says is only parsed: {long:?}");
    assert!(short.len() >= 4, "{short:?}");
    let mut printed: BTreeMap<&[String], String> = BTreeMap::new();
    for Shown { args, output } in short {
        let words: Vec<&str> = args.iter().map(String::as_str).collect();
        let printed = printed.entry(args).or_insert_with(|| nebula(&words).assert_ok().stdout);
        assert_eq!(printed, output, "{args:?}");
    }
}

#[test]
fn a_page_is_read_as_a_shell_reads_it() {
    let page =
        "```console\n$ nebula size --load 'a b' --x   # why\nrow\n$ cargo xtask bench\nno\n$ nebula doctor\n```\n";
    let shown = shown_in(page);
    assert_eq!(shown[0].args, ["size", "--load", "a b", "--x"]);
    assert_eq!(shown[0].output, "row\n");
    assert_eq!((shown.len(), shown[1].args.len(), shown[1].output.as_str()), (2, 1, ""));
}
