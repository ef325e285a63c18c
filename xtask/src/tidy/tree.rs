//! The text files of the repository, read once.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use crate::shell::Failure;
use crate::sources;

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
        for (path, bytes) in sources::read(root, FOLDERS)? {
            match String::from_utf8(bytes) {
                Ok(text) => drop(tree.files.insert(path, text)),
                Err(_) => drop(tree.others.insert(path)),
            }
        }
        Ok(tree)
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
