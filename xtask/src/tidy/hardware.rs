//! docs/HARDWARE.md and its pictures are those that hardware/synth/results.json gives.

use super::Violation;
use super::tree::Tree;
use crate::shell::{Failure, Shell};
use crate::synth;

pub(super) fn check(tree: &Tree) -> Vec<Violation> {
    let broken = |path: &str, what: String| Violation::new(path, 0, what);
    match synth::stale(|path| tree.text(path)) {
        Ok(stale) => stale
            .into_iter()
            .map(|path| {
                broken(path, "is not what hardware/synth/results.json gives: run `cargo xtask tidy --bless`".to_owned())
            })
            .collect(),
        Err(failure) => vec![broken(synth::PAGES[0], failure.to_string())],
    }
}

/// Writes the page and its pictures again.
pub(super) fn bless(shell: &Shell, tree: &Tree) -> Result<(), Failure> {
    synth::bless(shell, |path| tree.text(path))
}

#[cfg(test)]
mod tests {
    use super::*;

    const RESULTS: &str = "hardware/synth/results.json";

    #[test]
    fn a_tree_without_results_needs_no_page() {
        assert_eq!(check(&Tree::of(&[("README.md", "# A\n")])), []);
    }

    #[test]
    fn results_without_their_page_are_found() {
        let violations = check(&Tree::of(&[(RESULTS, r#"{"tools": [], "rows": []}"#)]));
        assert!(violations[0].what.contains("missing"), "{violations:?}");
    }

    #[test]
    fn results_that_are_no_json_are_found() {
        assert_eq!(check(&Tree::of(&[(RESULTS, "{"), (synth::PAGES[0], "# H\n")])).len(), 1);
    }
}
