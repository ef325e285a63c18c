//! `cargo xtask tidy --count`: the size of the tree, by area.
//!
//! Lines that are not empty count, in files of Rust, Python and SystemVerilog. Tests are files
//! below `tests/` and `benches/`, files called `tests` or `…_test`, and modules `tests` at the end
//! of a file.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::columns;
use super::tree::Tree;
use crate::area;

const LANGUAGES: &[&str] = &[".rs", ".py", ".sv"];

#[derive(Debug, Default, PartialEq, Eq)]
struct Lines {
    source: usize,
    /// Of the source, lines with only a comment.
    comments: usize,
    tests: usize,
}

pub(super) fn report(tree: &Tree) -> String {
    let mut areas: BTreeMap<&str, Lines> = BTreeMap::new();
    let mut all = Lines::default();
    for (path, text) in tree.files().filter(|(path, _)| LANGUAGES.iter().any(|end| path.ends_with(end))) {
        let folder = path.split_once('/').map_or("", |(folder, _)| folder);
        for lines in [areas.entry(folder).or_default(), &mut all] {
            lines.add(path, text);
        }
    }
    let mut out = format!("{:12}{:>9}{:>10}{:>9}\n", "area", "source", "comments", "tests");
    for (area, Lines { source, comments, tests }) in areas.iter().chain([(&"all", &all)]) {
        let _ = writeln!(out, "{area:12}{source:>9}{comments:>10}{tests:>9}");
    }
    let crates = |areas: [&str; 2]| {
        let manifests = tree.files().filter(|(path, _)| area::crate_of(path).is_some());
        manifests.filter(|(path, _)| areas.iter().any(|area| path.starts_with(&format!("{area}/")))).count()
    };
    let pages: usize = tree.files().filter(|(path, _)| path.ends_with(".md")).map(|(_, text)| text.len()).sum();
    let long: usize = tree.files().map(|(path, text)| columns::long_lines(path, text).len()).sum();
    let _ = writeln!(out, "crates in core and runtime: {}", crates(["core", "runtime"]));
    let _ = writeln!(out, "bytes of Markdown: {pages}");
    let _ = write!(out, "lines of prose and comments over {} columns: {long}", columns::COLUMNS);
    out
}

impl Lines {
    fn add(&mut self, path: &str, text: &str) {
        let mut is_test = is_test(path);
        for line in text.lines().map(str::trim).filter(|line| !line.is_empty()) {
            is_test |= line == "mod tests {";
            if is_test {
                self.tests += 1;
            } else {
                self.source += 1;
                self.comments += usize::from(line.starts_with("//") || line.starts_with('#') && path.ends_with(".py"));
            }
        }
    }
}

fn is_test(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    let stem = name.split('.').next().unwrap_or(name);
    let is_within = path.split('/').any(|folder| matches!(folder, "tests" | "benches" | "testing"));
    is_within || stem == "tests" || stem.starts_with("test_") || stem.ends_with("_test")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_counted_by_what_they_are() {
        let mut lines = Lines::default();
        lines.add("core/a/src/b.rs", "//! A.\n\nfn f() {}\n#[cfg(test)]\nmod tests {\n    fn g() {}\n}\n");
        assert_eq!(lines, Lines { source: 3, comments: 1, tests: 3 });
    }

    #[test]
    fn tests_are_known_by_their_place_or_name() {
        for path in ["core/a/tests/b.rs", "core/a/src/b/tests.rs", "lab/python/tests/test_b.py", "testing/a/src/lib.rs"]
        {
            assert!(is_test(path), "{path}");
        }
        assert!(!is_test("core/a/src/latest.rs") && !is_test("xtask/src/test.rs"));
    }

    #[test]
    fn the_report_has_a_row_an_area_and_one_for_all() {
        let files = [
            ("core/a/Cargo.toml", ""),
            ("core/a/src/lib.rs", "//! A.\n"),
            ("lab/b/src/lib.rs", "b\n"),
            ("A.md", "1234"),
        ];
        let report = report(&Tree::of(&files));
        assert!(report.contains("\ncore                1         1        0\n"), "{report}");
        assert!(report.contains("\nall                 2         1        0\n"), "{report}");
        assert!(report.contains("runtime: 1\nbytes of Markdown: 4\n"), "{report}");
    }
}
