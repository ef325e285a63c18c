//! A disabled test checks nothing: assert what is true today, or delete it.
//!
//! Disabled are tests that are ignored, and tests that no configuration compiles. A test that Miri
//! cannot run may be excluded from Miri only: `cfg_attr(miri, ignore = "…")`.

use super::Violation;
use super::code::wrong_lines;
use super::tree::Tree;

pub(super) fn check(tree: &Tree) -> Vec<Violation> {
    let off = |line: &str| Some(format!("a test is switched off with `{}`", switch(line)?));
    tree.rust().flat_map(|(path, text)| wrong_lines(path, text, off)).collect()
}

/// The part of a line that disables the next item on every machine.
fn switch(line: &str) -> Option<&'static str> {
    let dense: String = line.chars().filter(|c| !c.is_whitespace()).collect();
    let never = ["cfg(any())", "cfg(false)", "cfg(not(all()))", "cfg(FALSE)"];
    let is_never =
        |never: &&str| dense.contains(*never) || dense.contains(&format!("cfg_attr{}", &never[3..never.len() - 1]));
    match dense.contains("#[ignore") {
        true => Some("#[ignore]"),
        false => never.into_iter().find(is_never),
    }
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
    fn a_test_that_is_never_compiled_is_found() {
        for (line, switch) in [
            ("#[cfg(any())]", "cfg(any())"),
            ("#![cfg( any ( ) )]", "cfg(any())"),
            ("#[cfg(false)]", "cfg(false)"),
            ("#[cfg_attr(not(all()), test)]", "cfg(not(all()))"),
        ] {
            let off = [("a.rs", format!("{line}\n#[test]\nfn f() {{}}"))];
            let off = off.each_ref().map(|(path, text)| (*path, &text[..]));
            let what = format!("a test is switched off with `{switch}`");
            assert_eq!(check(&Tree::of(&off)), [Violation::new("a.rs", 1, what)]);
        }
        assert!(check(&Tree::of(&[("a.rs", "#[cfg(any(unix, loom))]\nfn f() {}")])).is_empty());
    }

    #[test]
    fn leaving_a_test_out_of_miri_is_not_switching_it_off() {
        let miri = [("a.rs", "// #[ignore]\n#[cfg_attr(miri, ignore = \"mmap\")]\nfn f() {}")];
        assert!(check(&Tree::of(&miri)).is_empty());
    }
}
