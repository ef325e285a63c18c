//! A new file in the place of an old one: written beside it, then renamed.

use std::fs::{self, File};
use std::io::{ErrorKind, Result};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use crate::regular::regular;

/// When a file is to be on the disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sync {
    /// Before [`replace`] returns, under its name.
    Now,
    /// When the kernel writes it: a crash of the machine may lose it or damage it.
    Later,
}

/// Writes a file by `write`, and gives it the name `path` when it is complete: until then, and
/// after an error, an old file of that name stays. Only this user can open it.
///
/// # Errors
///
/// That of `write`; another file could not be created beside it; `path` is no regular file, which
/// stays then.
///
/// # Examples
///
/// ```
/// use nebula_files::{Sync, replace};
/// use std::{io::Write, path::Path};
///
/// let path = std::env::temp_dir().join(format!("nebula-files-{}", std::process::id()));
/// replace(&path, Sync::Now, |mut file| file.write_all(b"whole"))?;
/// assert_eq!(std::fs::read(&path)?, b"whole");
/// assert!(replace(Path::new("/dev/null"), Sync::Now, |_| Ok::<(), std::io::Error>(())).is_err());
/// # std::fs::remove_file(&path)?;
/// # Ok::<(), std::io::Error>(())
/// ```
pub fn replace<T, E>(
    path: &Path,
    sync: Sync,
    write: impl FnOnce(&File) -> std::result::Result<T, E>,
) -> std::result::Result<T, E>
where
    E: From<std::io::Error>,
{
    let path = place(path)?;
    let beside = Beside::new(&path);
    let file = beside.create()?;
    let written = write(&file)?;
    if sync == Sync::Now {
        file.sync_all()?;
    }
    fs::rename(&beside.0, &path)?;
    if sync == Sync::Now {
        // The name is in the folder.
        File::open(folder(&path))?.sync_all()?;
    }
    Ok(written)
}

/// Checks whether [`replace`] could write this file, without writing it.
///
/// # Errors
///
/// As `replace`.
pub fn check_place(path: &Path) -> Result<()> {
    Beside::new(&place(path)?).create().map(drop)
}

/// The file behind links, which stay.
fn place(path: &Path) -> Result<PathBuf> {
    match fs::canonicalize(path) {
        Ok(path) => regular(&fs::symlink_metadata(&path)?).map(|()| path),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(path.to_owned()),
        Err(error) => Err(error),
    }
}

fn folder(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// A name that no other process or thread writes. Its file, if it has one still, is removed with
/// it.
struct Beside(PathBuf);

impl Beside {
    fn new(path: &Path) -> Self {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let mut name = path.as_os_str().to_owned();
        name.push(format!(".{}-{number}.unfinished", std::process::id()));
        Self(name.into())
    }

    fn create(&self) -> Result<File> {
        let mut options = File::options();
        own(&mut options).write(true).create_new(true).open(&self.0)
    }
}

impl Drop for Beside {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

#[cfg(unix)]
fn own(options: &mut fs::OpenOptions) -> &mut fs::OpenOptions {
    std::os::unix::fs::OpenOptionsExt::mode(options, 0o600)
}

#[cfg(not(unix))]
fn own(options: &mut fs::OpenOptions) -> &mut fs::OpenOptions {
    options
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use std::io::{Error, Write};

    fn names(folder: &Path) -> Vec<String> {
        let files = fs::read_dir(folder).expect("the folder");
        let name = |file: Result<fs::DirEntry>| file.expect("a file").file_name().to_string_lossy().into_owned();
        let mut names: Vec<_> = files.map(name).collect();
        names.sort();
        names
    }

    #[test]
    fn a_file_is_replaced_as_a_whole_or_not_at_all() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        check_place(&path).unwrap();
        assert!(names(folder.path()).is_empty());
        replace(&path, Sync::Now, |mut file| file.write_all(b"one")).unwrap();
        let failed =
            replace(&path, Sync::Later, |mut file| file.write_all(b"two").and(Err::<(), _>(Error::other("full"))));
        assert_eq!(failed.unwrap_err().to_string(), "full");
        assert_eq!((fs::read(&path).unwrap(), names(folder.path())), (b"one".to_vec(), vec!["file".to_owned()]));
    }

    #[test]
    fn a_link_stays_and_what_is_no_regular_file_stays() {
        let folder = tempfile::tempdir().unwrap();
        let (path, link) = (folder.path().join("file"), folder.path().join("link"));
        fs::write(&path, "old").unwrap();
        std::os::unix::fs::symlink(&path, &link).unwrap();
        replace(&link, Sync::Now, |mut file| file.write_all(b"new")).unwrap();
        assert!(link.is_symlink() && fs::read(&path).unwrap() == b"new");
        let pipe = folder.path().join("pipe");
        rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Fifo, 0o600.into(), 0).unwrap();
        for other in [folder.path(), &pipe, Path::new("/dev/null")] {
            assert!(check_place(other).is_err() && replace(other, Sync::Now, |_| Ok::<(), Error>(())).is_err());
        }
        assert!(std::os::unix::fs::FileTypeExt::is_fifo(&fs::metadata(&pipe).unwrap().file_type()));
        assert_eq!(names(folder.path()), ["file", "link", "pipe"]);
    }
}
