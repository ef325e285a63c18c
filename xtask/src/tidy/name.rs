//! A module is named for its content; some names fit anything.

use super::Violation;
use super::code::wrong_lines;
use super::tree::Tree;

const BANNED: &[&str] = &["common", "helper", "helpers", "misc", "type", "types", "util", "utils"];

pub(super) fn check(tree: &Tree) -> Vec<Violation> {
    tree.rust().flat_map(|(path, text)| file(path).into_iter().chain(inline(path, text))).collect()
}

fn file(path: &str) -> Option<Violation> {
    let what = path.split('/').find_map(|part| vague(part.trim_end_matches(".rs")))?;
    Some(Violation::new(path, 0, what))
}

fn inline(path: &str, text: &str) -> Vec<Violation> {
    wrong_lines(path, text, |line| vague(inline_module(line)?))
}

fn inline_module(line: &str) -> Option<&str> {
    let (head, name) = line.split_once("mod ")?;
    let name = name.trim().strip_suffix('{')?.trim();
    (head.trim().is_empty() || head.trim().starts_with("pub")).then_some(name)
}

fn vague(name: &str) -> Option<String> {
    BANNED.contains(&name).then(|| format!("a module named `{name}` could hold anything; name what it holds"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(path: &str, text: &str) -> usize {
        check(&Tree::of(&[(path, text)])).len()
    }

    #[test]
    fn files_and_folders_with_such_names_are_found() {
        assert_eq!(found("core/a/src/util.rs", ""), 1);
        assert_eq!(found("core/a/tests/common/mod.rs", ""), 1);
        assert_eq!(found("core/a/src/utility_curve.rs", ""), 0);
    }

    #[test]
    fn inline_modules_with_such_names_are_found() {
        assert_eq!(found("core/a/src/b.rs", "pub(crate) mod helpers {\n}"), 1);
        assert_eq!(found("core/a/src/b.rs", "// mod helpers {\nmod help_text {\n}"), 0);
    }
}
