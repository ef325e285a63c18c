//! Regular files: what neither blocks, nor never ends, nor changes when it is opened.

use std::fs::{self, File, Metadata};
use std::io::{Error, ErrorKind, Result};
use std::path::Path;

/// Opens a regular file for reading. Never blocks.
///
/// # Errors
///
/// It cannot be opened, or is a device, pipe, socket or folder.
///
/// # Examples
///
/// ```
/// assert!(nebula_files::open("/proc/self/cmdline".as_ref()).is_ok());
/// # #[cfg(unix)]
/// assert_eq!(nebula_files::open("/dev/zero".as_ref()).unwrap_err().to_string(), "it is no regular file");
/// ```
pub fn open(path: &Path) -> Result<File> {
    // Opening a device may change it, so it is looked at before.
    regular(&fs::metadata(path)?)?;
    let mut options = File::options();
    let file = non_blocking(options.read(true)).open(path)?;
    // Another file may have taken the name meanwhile.
    regular(&file.metadata()?)?;
    Ok(file)
}

pub(super) fn regular(about: &Metadata) -> Result<()> {
    if about.is_file() { Ok(()) } else { Err(refused("it is no regular file")) }
}

pub(super) fn refused(why: &'static str) -> Error {
    Error::new(ErrorKind::InvalidData, why)
}

#[cfg(unix)]
fn non_blocking(options: &mut fs::OpenOptions) -> &mut fs::OpenOptions {
    use std::os::unix::fs::OpenOptionsExt;
    options.custom_flags(rustix::fs::OFlags::NONBLOCK.bits().cast_signed())
}

#[cfg(not(unix))]
fn non_blocking(options: &mut fs::OpenOptions) -> &mut fs::OpenOptions {
    options
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_regular_file_is_refused_at_once() {
        let folder = tempfile::tempdir().unwrap();
        let pipe = folder.path().join("pipe");
        rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Fifo, 0o600.into(), 0).unwrap();
        for other in [folder.path(), &pipe, Path::new("/dev/zero"), Path::new("/dev/null")] {
            assert!(open(other).unwrap_err().to_string().contains("no regular file"), "{}", other.display());
        }
        assert_eq!(open(&folder.path().join("none")).unwrap_err().kind(), ErrorKind::NotFound);
    }
}
