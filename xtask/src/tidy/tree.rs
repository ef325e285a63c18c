//! The text files of the repository, read once.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use crate::shell::{Attempt, Failure};

/// The folders that hold our sources; other folders hold build output or users' own files.
const FOLDERS: &[&str] = &[
    ".cargo",
    ".ci",
    "bench",
    "clients",
    "core",
    "docs",
    "fuzz",
    "hardware",
    "lab",
    "packaging",
    "runtime",
    "services",
    "testing",
    "xtask",
];

/// Text files by path, relative to the root and with `/` between the parts.
pub(super) struct Tree {
    files: BTreeMap<String, String>,
    /// Files that are no text, by path: all that is known of them is that they are there.
    others: BTreeSet<String>,
}

impl Tree {
    pub(super) fn read(root: &Path) -> Result<Self, Failure> {
        let mut tree = Self { files: BTreeMap::new(), others: BTreeSet::new() };
        for entry in root.read_dir().attempt(format!("list {}", root.display()))?.flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            if entry.path().is_file() {
                // In a linked worktree `.git` is a file, which names a folder of this machine.
                if name != ".git" {
                    tree.add(&entry.path(), name)?;
                }
            } else if FOLDERS.contains(&name.as_str()) {
                tree.walk(&entry.path(), &name)?;
            }
        }
        Ok(tree)
    }

    fn walk(&mut self, folder: &Path, prefix: &str) -> Result<(), Failure> {
        for entry in folder.read_dir().attempt(format!("list {}", folder.display()))?.flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            let path = format!("{prefix}/{name}");
            let is_output = matches!(path.as_str(), "fuzz/corpus" | "fuzz/artifacts") || name == "target";
            if entry.path().is_file() {
                self.add(&entry.path(), path)?;
            } else if !is_output {
                self.walk(&entry.path(), &path)?;
            }
        }
        Ok(())
    }

    /// Reads one file; of one that is not UTF-8, and so not text, only the path is kept.
    fn add(&mut self, file: &Path, path: String) -> Result<(), Failure> {
        let bytes = std::fs::read(file).attempt(format!("read {path}"))?;
        match String::from_utf8(bytes) {
            Ok(text) => drop(self.files.insert(path, text)),
            Err(_) => drop(self.others.insert(path)),
        }
        Ok(())
    }

    pub(super) fn text(&self, path: &str) -> Option<&str> {
        self.files.get(path).map(String::as_str)
    }

    pub(super) fn has(&self, path: &str) -> bool {
        self.files.contains_key(path) || self.others.contains(path)
    }

    /// Whether a file is somewhere below `path`; the root is "".
    pub(super) fn has_folder(&self, path: &str) -> bool {
        let prefix = if path.is_empty() { String::new() } else { format!("{path}/") };
        self.files.keys().any(|file| file.starts_with(&prefix))
    }

    /// Every file as (path, text), in the order of their paths.
    pub(super) fn files(&self) -> impl Iterator<Item = (&str, &str)> {
        self.files.iter().map(|(path, text)| (path.as_str(), text.as_str()))
    }

    pub(super) fn rust(&self) -> impl Iterator<Item = (&str, &str)> {
        self.files().filter(|(path, _)| path.ends_with(".rs"))
    }

    /// The tree of a test: files as (path, text).
    #[cfg(test)]
    pub(super) fn of(files: &[(&str, &str)]) -> Self {
        let files = files.iter().map(|&(path, text)| (path.to_owned(), text.to_owned())).collect();
        Self { files, others: BTreeSet::new() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_very_file_is_in_the_tree_and_no_build_output_is() {
        let tree = Tree::read(&Path::new(env!("CARGO_MANIFEST_DIR")).join("..")).expect("the repository can be read");
        assert!(tree.has("xtask/src/tidy/tree.rs"));
        assert!(tree.has("Cargo.toml"));
        assert!(tree.files().all(|(path, _)| !path.contains("target/")));
    }
}
