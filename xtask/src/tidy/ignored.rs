//! A test that is switched off checks nothing: assert what is true today, or delete it.
//!
//! A test that Miri cannot run may be excluded from Miri only: `cfg_attr(miri, ignore = "…")`.

use super::Violation;
use super::code::code_of;
use super::tree::Tree;

pub(super) fn check(tree: &Tree) -> Vec<Violation> {
    tree.rust().flat_map(|(path, text)| file(path, text)).collect()
}

fn file(path: &str, text: &str) -> Vec<Violation> {
    let code = code_of(text);
    let ignored = code.lines().zip(1..).filter(|(line, _)| line.contains("#[ignore"));
    ignored.map(|(_, number)| Violation::new(path, number, "a test is switched off with `#[ignore]`")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_test_switched_off_is_found() {
        let off = [("a.rs", "#[test]\n#[ignore = \"slow\"]\nfn f() {}")];
        assert_eq!(check(&Tree::of(&off)), [Violation::new("a.rs", 2, "a test is switched off with `#[ignore]`")]);
    }

    #[test]
    fn leaving_a_test_out_of_miri_is_not_switching_it_off() {
        let miri = [("a.rs", "// #[ignore]\n#[cfg_attr(miri, ignore = \"mmap\")]\nfn f() {}")];
        assert!(check(&Tree::of(&miri)).is_empty());
    }
}
