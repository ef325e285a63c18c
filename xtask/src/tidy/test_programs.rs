//! Every test file of a crate that lists its test programs belongs to one of them: cargo does not
//! look for others.

use super::Violation;
use super::code::code_of;
use super::tree::Tree;

pub(super) fn check(tree: &Tree) -> Vec<Violation> {
    let manifests = tree.files().filter(|(path, _)| path.ends_with("/Cargo.toml"));
    let listing = manifests.filter(|(_, text)| text.lines().any(|line| line == "autotests = false"));
    listing.flat_map(|(path, text)| package(tree, path.trim_end_matches("Cargo.toml"), text)).collect()
}

/// Test files and folders of the package in `folder` that no program has.
fn package(tree: &Tree, folder: &str, manifest: &str) -> Vec<Violation> {
    let tests = format!("{folder}tests/");
    let within = tree.rust().filter_map(|(path, _)| path.strip_prefix(&tests));
    let names = within.filter_map(|file| file.strip_suffix("/main.rs").or_else(|| file.strip_suffix(".rs")));
    let names = names.filter(|name| !name.contains('/'));
    let lost = names.filter(|name| !is_program(manifest, name) && !is_in_another(tree, &tests, manifest, name));
    let violation = |name| {
        let what = format!("no test program has `{name}`: add it to tests/all.rs, or to Cargo.toml as one");
        Violation::new(&format!("{tests}{name}.rs"), 0, what)
    };
    lost.map(violation).collect()
}

fn is_program(manifest: &str, name: &str) -> bool {
    let name = format!("name = \"{name}\"");
    manifest.split("[[test]]\n").skip(1).any(|program| program.lines().next() == Some(&name))
}

/// Whether another program of the package has it as a module.
fn is_in_another(tree: &Tree, tests: &str, manifest: &str, name: &str) -> bool {
    let module = format!("mod {name};");
    let programs = manifest.split("[[test]]\n").skip(1).filter_map(|program| program.lines().next());
    let mut programs = programs.filter_map(|line| line.strip_prefix("name = \"")?.strip_suffix('"'));
    programs.any(|program| {
        let code = code_of(tree.text(&format!("{tests}{program}.rs")).unwrap_or_default());
        code.lines().any(|line| line == module)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const MANIFEST: &str =
        "[package]\nname = \"c\"\nautotests = false\n\n[[test]]\nname = \"all\"\n\n[[test]]\nname = \"b\"\n";

    fn found(manifest: &str, more: &str) -> Vec<String> {
        let files = [
            ("core/a/Cargo.toml", manifest),
            ("core/a/tests/all.rs", "mod d;\n// mod c;\nmod support;\n"),
            ("core/a/tests/b.rs", ""),
            ("core/a/tests/d.rs", ""),
            ("core/a/tests/support/mod.rs", ""),
            (more, ""),
        ];
        check(&Tree::of(&files)).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn files_of_a_program_pass() {
        assert!(found(MANIFEST, "core/a/tests/support/watch.rs").is_empty());
    }

    #[test]
    fn a_file_and_a_folder_of_no_program_are_found() {
        let said = found(MANIFEST, "core/a/tests/c.rs");
        let expected = "core/a/tests/c.rs: no test program has `c`: add it to tests/all.rs, or to Cargo.toml as one";
        assert_eq!(said, [expected]);
        assert_eq!(found(MANIFEST, "core/a/tests/c/main.rs").len(), 1);
    }

    #[test]
    fn where_cargo_looks_for_programs_none_is_lost() {
        assert!(found("[package]\nname = \"a\"\n", "core/a/tests/c.rs").is_empty());
    }
}
