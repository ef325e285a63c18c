//! The peer process of a Unix socket, and ending together with the parent process.

use rustix::process::{Signal, set_parent_process_death_signal};
use std::os::fd::AsFd;

/// The process at the other end of a Unix socket, as the kernel reports it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Peer {
    /// The user id it connected with.
    pub uid: u32,
    /// Its process id at that time.
    pub pid: i32,
}

/// The process that connected `socket`, as the kernel reports it.
///
/// # Errors
///
/// The kernel's error, when the socket is not a connected Unix socket.
pub fn peer_of(socket: impl AsFd) -> std::io::Result<Peer> {
    let credentials = rustix::net::sockopt::socket_peercred(socket)?;
    Ok(Peer { uid: credentials.uid.as_raw(), pid: credentials.pid.as_raw_nonzero().get() })
}

/// The effective user id of this process.
#[must_use]
pub fn own_uid() -> u32 {
    rustix::process::geteuid().as_raw()
}

/// Asks the kernel to end this process when the thread that started it ends, for any reason.
///
/// # Errors
///
/// The kernel's error, or "already gone" when the parent ended before the call.
pub fn end_with_parent() -> std::io::Result<()> {
    let parent = rustix::process::getppid();
    set_parent_process_death_signal(Some(Signal::KILL))?;
    if rustix::process::getppid() != parent {
        return Err(std::io::Error::other("the parent process is already gone"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::net::UnixStream;

    #[test]
    fn a_socket_pair_is_connected_to_ourselves() {
        let (one, _two) = UnixStream::pair().unwrap();
        let peer = peer_of(&one).unwrap();
        assert_eq!((peer.uid, peer.pid), (own_uid(), i32::try_from(std::process::id()).unwrap()));
    }
}
