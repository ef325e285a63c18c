//! Nothing points outside the repository: no path of a particular machine, no relative path to a
//! missing file.

use super::Violation;
use super::tree::Tree;
use crate::relative::resolved;

/// Folders at the root of a file system that hold users' files.
const MACHINE_FOLDERS: &[&str] = &["home", "mnt", "root", "Users", "work"];

pub(super) fn check(tree: &Tree) -> Vec<Violation> {
    tree.files().flat_map(|(path, text)| file(tree, path, text)).collect()
}

fn file(tree: &Tree, path: &str, text: &str) -> Vec<Violation> {
    let is_outside = |word: &&str| is_of_one_machine(word) || is_dangling(tree, path, word);
    let found = text.lines().zip(1..).filter_map(|(line, number)| Some((words(line).find(is_outside)?, number)));
    found.map(|(word, number)| Violation::new(path, number, format!("`{word}` is not in the repository"))).collect()
}

fn words(line: &str) -> impl Iterator<Item = &str> {
    let words = line.split(|c: char| !(c.is_alphanumeric() || "/._-".contains(c)));
    words.map(|word| word.strip_suffix('.').filter(|rest| !rest.ends_with('.')).unwrap_or(word))
}

fn is_of_one_machine(word: &str) -> bool {
    let folder = word.strip_prefix('/').and_then(|rest| rest.split_once('/'));
    folder.is_some_and(|(folder, _)| MACHINE_FOLDERS.contains(&folder))
}

/// Whether a relative path from the file's folder leads to nothing in the tree.
fn is_dangling(tree: &Tree, path: &str, word: &str) -> bool {
    word.starts_with("../") && !resolved(path, word).is_some_and(|to| tree.has(&to) || tree.has_folder(&to))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(path: &str, text: &str) -> usize {
        check(&Tree::of(&[(path, text), ("core/a/src/c.rs", "")])).len()
    }

    /// `steps` folders up, then `rest`.
    fn up(steps: usize, rest: &str) -> String {
        format!("see [x]({}{rest}).", ["..", "/"].concat().repeat(steps))
    }

    #[test]
    fn a_relative_path_that_leaves_the_root_is_found() {
        assert_eq!(found("README.md", &up(1, "x.md")), 1);
        assert_eq!(found("docs/MODEL.md", &up(2, "x.md")), 1);
    }

    #[test]
    fn a_relative_path_to_nothing_is_found() {
        assert_eq!(found("docs/MODEL.md", &up(1, "core/a/src/d.rs")), 1);
        assert_eq!(found("docs/MODEL.md", &up(1, "core/a/src/c.rs")), 0);
        assert_eq!(found("core/a/tests/b.rs", &up(1, "src")), 0);
    }

    #[test]
    fn a_path_of_one_machine_is_found() {
        for folder in MACHINE_FOLDERS {
            assert_eq!(found("a.rs", &format!("let p = \"/{folder}/me/x\";")), 1, "{folder}");
        }
        assert_eq!(found("a.rs", "std/home/x /dev/shm/x homework/x"), 0);
    }
}
