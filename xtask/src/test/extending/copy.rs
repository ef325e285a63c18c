//! The part of the tree that a build of the workspace needs, in memory and in another folder.

use crate::shell::{Attempt, Failure};
use std::collections::BTreeMap;
use std::path::Path;

/// Files by their path from the root.
pub(super) type Files = BTreeMap<String, Vec<u8>>;

/// The folders that the workspace is built from, beside the files at the root.
const FOLDERS: &[&str] = &["core", "runtime", "lab", "services", "testing", "bench", "xtask", "docs"];

/// Reads what a build of the workspace needs.
pub(super) fn read(root: &Path) -> Result<Files, Failure> {
    let mut files = Files::new();
    for entry in root.read_dir().attempt(format!("list {}", root.display()))?.flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        if entry.path().is_file() && name != ".git" {
            files.insert(name, std::fs::read(entry.path()).attempt(format!("read {}", entry.path().display()))?);
        } else if FOLDERS.contains(&name.as_str()) {
            walk(&entry.path(), &name, &mut files)?;
        }
    }
    Ok(files)
}

fn walk(folder: &Path, prefix: &str, files: &mut Files) -> Result<(), Failure> {
    for entry in folder.read_dir().attempt(format!("list {}", folder.display()))?.flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let path = format!("{prefix}/{name}");
        if entry.path().is_file() {
            files.insert(path, std::fs::read(entry.path()).attempt(format!("read {}", entry.path().display()))?);
        } else if name != "target" {
            walk(&entry.path(), &path, files)?;
        }
    }
    Ok(())
}

/// Makes `folder` hold just these files. What is the same already keeps its time, so that cargo
/// builds only what has changed.
pub(super) fn write(folder: &Path, files: &Files) -> Result<(), Failure> {
    std::fs::create_dir_all(folder).attempt(format!("make {}", folder.display()))?;
    for path in read(folder)?.keys().filter(|path| !files.contains_key(*path)) {
        std::fs::remove_file(folder.join(path)).attempt(format!("remove {path}"))?;
    }
    for (path, bytes) in files {
        let file = folder.join(path);
        if std::fs::read(&file).is_ok_and(|found| found == *bytes) {
            continue;
        }
        let parent = file.parent().unwrap_or(folder);
        std::fs::create_dir_all(parent).attempt(format!("make {}", parent.display()))?;
        std::fs::write(&file, bytes).attempt(format!("write {}", file.display()))?;
    }
    Ok(())
}
