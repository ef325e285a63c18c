//! Only `nebula-sys` contains `unsafe`; every other crate forbids it, so that the compiler enforces
//! the rule. One file of `hardware/` calls C++.
//!
//! A test that counts allocations needs a global allocator, and `GlobalAlloc` is an unsafe trait.
//! The module that implements it may contain `unsafe` too; its crate is a dev-dependency only.

use super::Violation;
use super::code::{has_word, wrong_lines};
use super::tree::Tree;

const UNSAFE_CRATE: &str = "runtime/nebula-sys/";
/// Calls the C++ of the NIC in hardware, in a separate workspace and in no product.
const UNSAFE_FILE: &str = "hardware/lockstep/src/model.rs";
const ALLOCATOR: &str = "testing/nebula-testing/src/allocations.rs";
const ALLOCATORS_CRATE: &str = "nebula-testing";
/// The roots of those files' crates deny unsafe code, from which a module can be exempt.
const DENY: &str = "#![deny(unsafe_code)]";
const DENYING_ROOTS: [&str; 2] = ["hardware/lockstep/src/lib.rs", "testing/nebula-testing/src/lib.rs"];
const FORBID: &str = "#![forbid(unsafe_code)]";

pub(super) fn check(tree: &Tree) -> Vec<Violation> {
    let elsewhere =
        tree.rust().filter(|(path, _)| !path.starts_with(UNSAFE_CRATE) && ![UNSAFE_FILE, ALLOCATOR].contains(path));
    let code = elsewhere.flat_map(|(path, text)| not_forbidden(path, text).into_iter().chain(uses(path, text)));
    let manifests = tree.files().filter(|(path, _)| path.ends_with("Cargo.toml"));
    code.chain(manifests.flat_map(|(path, text)| dependencies(path, text))).collect()
}

/// A manifest that makes the allocator a dependency of code that is not a test.
fn dependencies(path: &str, manifest: &str) -> Vec<Violation> {
    let mut is_product = false;
    let mut found = Vec::new();
    for (line, number) in manifest.lines().zip(1..) {
        if line.starts_with('[') {
            let is_exempt = line.contains("dev-dependencies") || line == "[workspace.dependencies]";
            is_product = line.contains("dependencies") && !is_exempt;
        }
        if is_product && has_word(line, ALLOCATORS_CRATE) {
            found.push(Violation::new(
                path,
                number,
                format!("`{ALLOCATORS_CRATE}` is for tests: make it a dev-dependency"),
            ));
        }
    }
    found
}

/// A crate's root file must forbid unsafe code, except in fuzz targets, whose macro generates some.
fn not_forbidden(path: &str, text: &str) -> Option<Violation> {
    let is_root = path.ends_with("/src/lib.rs") || path.ends_with("/src/main.rs");
    let expected = if DENYING_ROOTS.contains(&path) { DENY } else { FORBID };
    let is_lacking = is_root && !text.lines().any(|line| line == expected);
    is_lacking.then(|| Violation::new(path, 0, format!("does not say `{expected}`")))
}

fn uses(path: &str, text: &str) -> Vec<Violation> {
    wrong_lines(path, text, |line| has_word(line, "unsafe").then(|| "`unsafe` outside nebula-sys".to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(path: &str, text: &str) -> usize {
        check(&Tree::of(&[(path, text)])).len()
    }

    #[test]
    fn unsafe_outside_its_crate_is_found() {
        let text = "//! unsafe\nfn f() { unsafe { g() } }";
        assert_eq!(found("runtime/nebula/src/engine.rs", text), 1);
        assert_eq!(found("runtime/nebula-sys/src/ring.rs", text), 0);
        assert_eq!(found("hardware/lockstep/src/model.rs", text), 0);
        assert_eq!(found("hardware/lockstep/src/rtl.rs", text), 1);
        assert_eq!(found("hardware/lockstep/src/lib.rs", "#![deny(unsafe_code)]"), 0);
        assert_eq!(found("runtime/nebula/src/engine.rs", "// unsafe\nfn f() -> &str { \"unsafe\" }"), 0);
    }

    #[test]
    fn one_module_alone_may_implement_an_allocator() {
        let text = "unsafe impl GlobalAlloc for Counting {\n    unsafe fn alloc(&self) {}\n}";
        assert_eq!(found(ALLOCATOR, text), 0);
        assert_eq!(found("testing/nebula-testing/src/seeded.rs", text), 2);
        assert_eq!(found("core/nebula-nic/tests/no_allocation.rs", text), 2);
    }

    #[test]
    fn the_allocator_is_a_dependency_of_tests_only() {
        let manifest =
            |section: &str| found("core/a/Cargo.toml", &format!("[{section}]\nnebula-testing.workspace = true\n"));
        assert_eq!(manifest("dev-dependencies"), 0);
        assert_eq!(manifest("workspace.dependencies"), 0);
        assert_eq!(manifest("dependencies"), 1);
        assert_eq!(manifest("target.\"cfg(unix)\".build-dependencies"), 1);
        assert_eq!(found("core/a/Cargo.toml", "[dependencies.nebula-testing]\npath = \"b\"\n"), 1);
        let renamed =
            "[dependencies]\nb = { path = \"c\", package = \"nebula-testing\" }\n\n[features]\nnebula-testing = []\n";
        assert_eq!(found("core/a/Cargo.toml", renamed), 1);
    }

    #[test]
    fn a_crate_that_does_not_forbid_it_is_found() {
        assert_eq!(found("runtime/nebula/src/lib.rs", "//! Serves."), 1);
        assert_eq!(found("runtime/nebula/src/lib.rs", "//! Serves.\n#![forbid(unsafe_code)]\n"), 0);
    }
}
