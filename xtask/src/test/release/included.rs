//! Finds files that a source file includes at compile time and its package lacks.

use std::collections::BTreeSet;

use crate::relative::resolved;

const MACROS: &[&str] = &["include_str!(", "include_bytes!("];
/// Such an inclusion names its file from the package's folder instead of the source file's.
const FROM_PACKAGE: &str = "CARGO_MANIFEST_DIR";

/// The inclusions of `file`, with this `code`, that are in the package's `folder` but not among the
/// `packed` files.
///
/// If a macro composes the name, every file below the known part counts as included.
pub(super) fn missing(file: &str, code: &str, packed: &BTreeSet<String>, folder: &BTreeSet<String>) -> Vec<String> {
    let code = without_doc_test_pages(code);
    let mut absent = Vec::new();
    for argument in arguments(&code) {
        let (known, is_whole) = argument.split_once('$').map_or((argument, true), |(known, _)| (known, false));
        let Some(path) = path_of(file, known) else {
            absent.push(format!("{file} includes a file outside its package"));
            continue;
        };
        let below = format!("{path}/");
        let files: Vec<_> = folder.iter().filter(|one| !is_whole && one.starts_with(&below)).collect();
        let lacks = files.iter().any(|one| !packed.contains(*one)) || files.is_empty() && !packed.contains(&path);
        if lacks {
            absent.push(format!("{file} includes {path}, which is not in the package"));
        }
    }
    absent
}

/// Drops attributes after `#[cfg(doctest)]`: only doc tests read those pages, so a package need not
/// have them.
fn without_doc_test_pages(code: &str) -> String {
    let mut is_for_doc_tests = false;
    let kept = code.lines().filter(|line| {
        let line = line.trim_start();
        is_for_doc_tests = line.starts_with("#[cfg(doctest)]") || is_for_doc_tests && line.starts_with("#[");
        !is_for_doc_tests
    });
    kept.collect::<Vec<_>>().join("\n")
}

fn arguments(code: &str) -> impl Iterator<Item = &str> {
    let after = MACROS.iter().flat_map(|name| code.split(name).skip(1));
    after.map(|rest| &rest[..closing(rest)])
}

fn closing(text: &str) -> usize {
    let mut depth = 1;
    for (at, character) in text.char_indices() {
        depth += match character {
            '(' => 1,
            ')' => -1,
            _ => 0,
        };
        if depth == 0 {
            return at;
        }
    }
    text.len()
}

/// The file that an argument names, from the package's folder; `None` outside that folder.
fn path_of(file: &str, argument: &str) -> Option<String> {
    let is_from_package = argument.contains(FROM_PACKAGE);
    let literals = argument.split('"').skip(1).step_by(2).filter(|literal| *literal != FROM_PACKAGE);
    resolved(if is_from_package { "" } else { file }, &literals.collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(code: &str) -> Vec<String> {
        let packed = ["src/a/b.rs", "data/x.toml", "assets/y.bin"].map(str::to_owned);
        let forgotten = ["assets/z.bin"].map(str::to_owned);
        let folder = packed.iter().chain(&forgotten).cloned().collect();
        missing("src/a/b.rs", code, &packed.into(), &folder)
    }

    /// The macro `name` around `argument`, composed here so that this source file seems not to
    /// include it.
    fn including(name: &str, argument: &str) -> String {
        format!("const X: &str = {name}!({argument});")
    }

    /// A literal that leads `steps` folders up, then to `rest`.
    fn up(steps: usize, rest: &str) -> String {
        format!("\"{}{rest}\"", ["..", "/"].concat().repeat(steps))
    }

    #[test]
    fn a_file_of_the_package_is_found_from_the_source_file() {
        assert!(found(&including("include_str", &up(2, "data/x.toml"))).is_empty());
    }

    #[test]
    fn a_file_of_the_package_is_found_from_its_folder() {
        let argument = "concat!(env!(\"CARGO_MANIFEST_DIR\"), \"/assets/y.bin\")";
        assert!(found(&including("include_bytes", argument)).is_empty());
    }

    #[test]
    fn a_name_that_a_macro_makes_stands_for_all_files_below_what_is_known() {
        let below = |folder: &str| {
            let argument = format!("concat!(env!(\"CARGO_MANIFEST_DIR\"), \"/{folder}/\", $name, \".toml\")");
            found(&including("include_str", &argument))
        };
        assert!(below("data").is_empty());
        assert_eq!(below("assets"), ["src/a/b.rs includes assets, which is not in the package"]);
        assert_eq!(below("nowhere").len(), 1);
    }

    #[test]
    fn pages_for_doc_tests_alone_are_not_looked_for() {
        let page = format!("#[doc = {}]", including("include_str", &up(3, "README.md")));
        assert!(found(&format!("#[cfg(doctest)]\n{page}\n{page}\nstruct Pages;")).is_empty());
        assert_eq!(found(&format!("#[cfg(doctest)]\nstruct Pages;\n{page}\nstruct Other;")).len(), 1);
    }

    #[test]
    fn a_file_that_the_package_lacks_is_named() {
        let found = found(&including("include_str", &up(2, "data/z.toml")));
        assert_eq!(found, ["src/a/b.rs includes data/z.toml, which is not in the package"]);
    }

    #[test]
    fn a_file_outside_the_package_is_refused() {
        let found = found(&including("include_str", &up(3, "golden/x.csv")));
        assert_eq!(found, ["src/a/b.rs includes a file outside its package"]);
    }

    #[test]
    fn each_of_several_inclusions_is_looked_at() {
        let two = including("include_str", "\"one\"") + &including("include_bytes", "\"two\"");
        assert_eq!(found(&two).len(), 2);
    }
}
