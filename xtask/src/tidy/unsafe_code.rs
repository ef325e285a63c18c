//! Only `nebula-sys` contains `unsafe`, and every other crate forbids it, so that the compiler enforces the rule.
//!
//! A test that counts allocations has to implement `GlobalAlloc`, which is an unsafe trait: files under `tests/` that
//! do so are allowed.

use super::Violation;
use super::code::{code_of, has_word};
use super::tree::Tree;

const UNSAFE_CRATE: &str = "crates/nebula-sys/";
const FORBID: &str = "#![forbid(unsafe_code)]";

pub(super) fn check(tree: &Tree) -> Vec<Violation> {
    let elsewhere = tree.rust().filter(|(path, _)| !path.starts_with(UNSAFE_CRATE));
    elsewhere.flat_map(|(path, text)| not_forbidden(path, text).into_iter().chain(uses(path, text))).collect()
}

/// A crate's root file must forbid unsafe code, except in fuzz targets, whose macro generates some.
fn not_forbidden(path: &str, text: &str) -> Option<Violation> {
    let is_root = path.ends_with("/src/lib.rs") || path.ends_with("/src/main.rs");
    let is_lacking = is_root && !text.lines().any(|line| line == FORBID);
    is_lacking.then(|| Violation::new(path, 0, format!("does not say `{FORBID}`")))
}

fn uses(path: &str, text: &str) -> Vec<Violation> {
    let code = code_of(text);
    if path.contains("/tests/") && code.contains("unsafe impl GlobalAlloc for") {
        return Vec::new();
    }
    let lines = code.lines().zip(1..).filter(|(line, _)| has_word(line, "unsafe"));
    lines.map(|(_, number)| Violation::new(path, number, "`unsafe` outside nebula-sys")).collect()
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
        assert_eq!(found("crates/nebula/src/engine.rs", text), 1);
        assert_eq!(found("crates/nebula-sys/src/ring.rs", text), 0);
        assert_eq!(found("crates/nebula/src/engine.rs", "// unsafe\nfn f() -> &str { \"unsafe\" }"), 0);
    }

    #[test]
    fn only_a_test_may_implement_an_allocator() {
        let text = "unsafe impl GlobalAlloc for Counting {\n    unsafe fn alloc(&self) {}\n}";
        assert_eq!(found("crates/nebula-nic/tests/no_allocation.rs", text), 0);
        assert_eq!(found("crates/nebula-nic/src/backend.rs", text), 2);
    }

    #[test]
    fn a_crate_that_does_not_forbid_it_is_found() {
        assert_eq!(found("crates/nebula/src/lib.rs", "//! Serves."), 1);
        assert_eq!(found("crates/nebula/src/lib.rs", "//! Serves.\n#![forbid(unsafe_code)]\n"), 0);
    }
}
