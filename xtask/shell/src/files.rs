//! Files and folders: what fails says which.

use std::path::{Path, PathBuf};

use super::{Attempt, Failure};

/// The text of a file.
pub fn read(file: impl AsRef<Path>) -> Result<String, Failure> {
    let file = file.as_ref();
    std::fs::read_to_string(file).attempt(format!("read {}", file.display()))
}

/// Writes a whole file, in a folder that is made where it is missing.
pub fn write(file: impl AsRef<Path>, text: impl AsRef<[u8]>) -> Result<(), Failure> {
    let file = file.as_ref();
    file.parent().map_or(Ok(()), make)?;
    std::fs::write(file, text).attempt(format!("write {}", file.display()))
}

/// Makes a folder, and those around it.
pub fn make(folder: impl AsRef<Path>) -> Result<(), Failure> {
    let folder = folder.as_ref();
    std::fs::create_dir_all(folder).attempt(format!("make the folder {}", folder.display()))
}

/// Removes a folder with all that is in it, if it is there.
pub fn remove(folder: impl AsRef<Path>) -> Result<(), Failure> {
    let folder = folder.as_ref();
    let gone = if folder.exists() { std::fs::remove_dir_all(folder) } else { Ok(()) };
    gone.attempt(format!("remove {}", folder.display()))
}

/// Makes a folder that is empty.
pub fn empty(folder: impl AsRef<Path>) -> Result<(), Failure> {
    remove(folder.as_ref())?;
    make(folder)
}

/// What a folder has, by path.
pub fn list(folder: impl AsRef<Path>) -> Result<Vec<PathBuf>, Failure> {
    let folder = folder.as_ref();
    let entries = folder.read_dir().attempt(format!("list {}", folder.display()))?;
    let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    paths.sort_unstable();
    Ok(paths)
}

/// Copies a file, or a folder with all that is in it.
pub fn copy(from: impl AsRef<Path>, to: impl AsRef<Path>) -> Result<(), Failure> {
    let (from, to) = (from.as_ref(), to.as_ref());
    if from.is_dir() {
        make(to)?;
        let within = |path: &PathBuf| copy(path, to.join(path.file_name().unwrap_or_default()));
        return list(from)?.iter().try_for_each(within);
    }
    to.parent().map_or(Ok(()), make)?;
    std::fs::copy(from, to).map(drop).attempt(format!("copy {} to {}", from.display(), to.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_copied_is_there_with_its_folders_and_what_is_emptied_is_not() {
        let folder = std::env::temp_dir().join(format!("nebula-shell-{}", std::process::id()));
        write(folder.join("a/b/c"), "d").expect("it can be written");
        copy(folder.join("a"), folder.join("e")).expect("it can be copied");
        assert_eq!(read(folder.join("e/b/c")).expect("it is there"), "d");
        empty(folder.join("e")).expect("it can be emptied");
        assert_eq!(list(folder.join("e")).expect("it is a folder").len(), 0);
        remove(&folder).and_then(|()| remove(&folder)).expect("what is gone is removed");
        assert!(read(&folder).is_err_and(|failure| failure.to_string().contains("nebula-shell-")));
    }
}
