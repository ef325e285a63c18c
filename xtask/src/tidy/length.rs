//! No Rust file exceeds a limit: a longer file holds several things.

use super::Violation;
use super::tree::Tree;

/// Twice the length that a file should have; the median of well-kept code bases is a quarter of it.
const LINES_MAX: usize = 720;

pub(super) fn check(tree: &Tree) -> Vec<Violation> {
    let counted = tree.rust().map(|(path, text)| (path, text.lines().count()));
    let long = counted.filter(|&(_, lines)| lines > LINES_MAX);
    long.map(|(path, lines)| Violation::new(path, 0, format!("has {lines} lines, at most {LINES_MAX} are allowed")))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_line_too_many_is_found() {
        let text = "\n".repeat(LINES_MAX);
        assert!(check(&Tree::of(&[("a.rs", &text)])).is_empty());
        assert_eq!(check(&Tree::of(&[("a.rs", &format!("{text}\n"))])).len(), 1);
    }
}
