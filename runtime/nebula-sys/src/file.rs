//! Files whose memory outlives a process: created at full length, and locked by one process.
//!
//! A process maps them with [`WordRegion::of_file`](crate::mem::WordRegion::of_file). On tmpfs or
//! hugetlbfs they are memory that stays until the machine is restarted.

use rustix::fs::{FallocateFlags, FlockOperation, MemfdFlags, fallocate, flock, memfd_create};
use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// Creates `path`, which must not exist, with `bytes` reserved bytes of zeros, so that a lack of
/// room is an error here and does not end the process later. Only this user can open it. It is
/// locked as by [`open_alone`].
///
/// # Errors
///
/// The kernel's error. If the bytes cannot be reserved, the file is removed again.
pub fn create_alone(path: &Path, bytes: u64) -> io::Result<File> {
    let file = OpenOptions::new().read(true).write(true).create_new(true).mode(0o600).open(path)?;
    let reserved = lock(&file).and_then(|()| Ok(fallocate(&file, FallocateFlags::empty(), 0, bytes)?));
    match reserved {
        Ok(()) => Ok(file),
        Err(error) => {
            let _ = std::fs::remove_file(path);
            Err(error)
        }
    }
}

/// Opens a file for reading and writing, and locks it against other calls of this function. The
/// lock ends with the last copy of the descriptor, however the process ends.
///
/// # Errors
///
/// [`io::ErrorKind::WouldBlock`] if another process has the lock; otherwise the kernel's error.
pub fn open_alone(path: &Path) -> io::Result<File> {
    let file = OpenOptions::new().read(true).write(true).open(path)?;
    lock(&file)?;
    Ok(file)
}

/// Creates a file of `bytes` zeros without a name.
///
/// # Errors
///
/// The kernel's error.
pub fn try_create_anonymous(bytes: u64) -> io::Result<File> {
    let file = File::from(memfd_create("nebula", MemfdFlags::CLOEXEC)?);
    file.set_len(bytes)?;
    Ok(file)
}

/// The kernel's id of the time since the machine was last started.
///
/// # Errors
///
/// The kernel's error, if `/proc` is not mounted.
pub fn boot_id() -> io::Result<String> {
    Ok(std::fs::read_to_string("/proc/sys/kernel/random/boot_id")?.trim().to_owned())
}

fn lock(file: &File) -> io::Result<()> {
    Ok(flock(file, FlockOperation::NonBlockingLockExclusive)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_one_openers_at_a_time_and_cannot_be_created_twice() {
        let path = std::env::temp_dir().join(format!("nebula-sys-alone-{}", std::process::id()));
        let file = create_alone(&path, 10_000).unwrap();
        assert_eq!(file.metadata().unwrap().len(), 10_000);
        assert_eq!(open_alone(&path).unwrap_err().kind(), io::ErrorKind::WouldBlock);
        assert_eq!(create_alone(&path, 1).unwrap_err().kind(), io::ErrorKind::AlreadyExists);
        drop(file);
        assert!(open_alone(&path).is_ok());
        std::fs::remove_file(&path).unwrap();
    }

    #[test]
    fn what_cannot_be_reserved_leaves_no_file() {
        let path = std::env::temp_dir().join(format!("nebula-sys-too-large-{}", std::process::id()));
        assert!(create_alone(&path, 1 << 60).is_err());
        assert!(!path.exists());
    }

    #[test]
    fn the_machine_was_started_once() {
        assert_eq!(boot_id().unwrap(), boot_id().unwrap());
        assert_eq!(boot_id().unwrap().len(), 36);
    }
}
