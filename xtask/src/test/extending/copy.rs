//! The part of the tree that a build of the workspace needs, in memory and in another folder.

use std::path::Path;

use crate::shell::{Attempt, Failure, files};
use crate::sources::{self, Files};

/// In addition to the files at the root.
const FOLDERS: &[&str] = &["core", "runtime", "lab", "services", "testing", "bench", "fuzz", "xtask", "docs"];

pub(super) fn read(root: &Path) -> Result<Files, Failure> {
    sources::read(root, FOLDERS)
}

/// Makes `folder` hold exactly these files. Unchanged ones keep their time, so that cargo builds
/// only changes.
pub(super) fn write(folder: &Path, sources: &Files) -> Result<(), Failure> {
    files::make(folder)?;
    for path in read(folder)?.keys().filter(|path| !sources.contains_key(*path)) {
        std::fs::remove_file(folder.join(path)).attempt(format!("remove {path}"))?;
    }
    for (path, bytes) in sources {
        let file = folder.join(path);
        if !std::fs::read(&file).is_ok_and(|found| found == *bytes) {
            files::write(&file, bytes)?;
        }
    }
    Ok(())
}
