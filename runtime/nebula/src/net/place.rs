//! The file of a listening Unix socket: created where nobody listens, removed by the last holder.

use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, bind, socket_with};
use std::fs::{self, Metadata, Permissions};
use std::io::{ErrorKind, Result};
use std::os::fd::OwnedFd;
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};

/// As in memcached: nobody but the server's user connects.
const MODE: u32 = 0o700;

#[derive(Debug)]
pub(crate) struct Place {
    path: PathBuf,
    /// Device and inode: a later server's file of the same name stays.
    file: (u64, u64),
}

impl Place {
    /// Binds a socket to `path`, in place of a file that an ended server has left. Other files, and
    /// those of servers that live, stay: the address is in use.
    pub(crate) fn bind(path: &Path) -> Result<(OwnedFd, Self)> {
        match fs::symlink_metadata(path) {
            Ok(found) if found.file_type().is_socket() && is_left(path) => fs::remove_file(path)?,
            Ok(_) => return Err(ErrorKind::AddrInUse.into()),
            Err(_) => {}
        }
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let socket = socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
        bind(&socket, &SocketAddrUnix::new(path)?)?;
        // Before it listens.
        fs::set_permissions(path, Permissions::from_mode(MODE))?;
        Ok((socket, Self { path: path.to_owned(), file: file(&fs::symlink_metadata(path)?) }))
    }
}

/// Whether nobody listens there.
fn is_left(path: &Path) -> bool {
    UnixStream::connect(path).is_err_and(|error| error.kind() == ErrorKind::ConnectionRefused)
}

fn file(metadata: &Metadata) -> (u64, u64) {
    (metadata.dev(), metadata.ino())
}

impl Drop for Place {
    fn drop(&mut self) {
        if fs::symlink_metadata(&self.path).is_ok_and(|found| file(&found) == self.file) {
            let _ = fs::remove_file(&self.path);
        }
    }
}
