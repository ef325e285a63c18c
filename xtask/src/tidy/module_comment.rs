//! Every Rust file opens with a comment on its purpose.

use super::Violation;
use super::tree::Tree;

pub(super) fn check(tree: &Tree) -> Vec<Violation> {
    let lacking = tree.rust().filter(|(_, text)| opening(text).is_none());
    lacking.map(|(path, _)| Violation::new(path, 1, "has no module comment (`//! …`) before its first item")).collect()
}

/// The first line of the module comment; attributes of the whole file may precede it.
pub(super) fn opening(text: &str) -> Option<&str> {
    let is_before = |line: &&str| {
        line.is_empty() || line.starts_with("#![") || (line.starts_with("//") && !line.starts_with("//!"))
    };
    let first = text.lines().map(str::trim).find(|line| !is_before(line))?;
    let said = first.strip_prefix("//!")?.trim();
    (!said.is_empty()).then_some(said)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_without_a_module_comment_is_found() {
        for text in ["", "fn f() {}", "/// An item.\nfn f() {}", "//!\n//! late", "use a;\n//! late"] {
            assert_eq!(check(&Tree::of(&[("core/a/src/b.rs", text)])).len(), 1, "{text:?}");
        }
    }

    #[test]
    fn attributes_may_stand_before_it() {
        assert_eq!(opening("#![cfg(loom)]\n\n//! Rings.\n"), Some("Rings."));
        assert!(check(&Tree::of(&[("core/a/src/b.rs", "//! What it is for.\n")])).is_empty());
    }
}
