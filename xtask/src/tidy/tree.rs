//! The text files of the repository, read once.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use crate::shell::Failure;
use crate::sources;

/// The folders of our sources; others hold build output or users' files.
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

/// By path, relative to the root and with `/` between the parts.
pub(super) struct Tree {
    files: BTreeMap<String, String>,
    /// The paths of files that are no text.
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

    pub(super) fn files(&self) -> impl Iterator<Item = (&str, &str)> {
        self.files.iter().map(|(path, text)| (path.as_str(), text.as_str()))
    }

    pub(super) fn rust(&self) -> impl Iterator<Item = (&str, &str)> {
        self.files().filter(|(path, _)| path.ends_with(".rs"))
    }

    #[cfg(test)]
    pub(super) fn of(files: &[(&str, &str)]) -> Self {
        let files = files.iter().map(|&(path, text)| (path.to_owned(), text.to_owned())).collect();
        Self { files, others: BTreeSet::new() }
    }
}
