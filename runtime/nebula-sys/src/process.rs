//! The user of a Unix socket's peer, how often a thread was preempted, and ending together with the
//! parent process.

use rustix::process::{Signal, set_parent_process_death_signal};
use std::os::fd::{AsFd, AsRawFd};

#[expect(clippy::cast_possible_truncation, reason = "12")]
const CREDENTIALS_BYTES: libc::socklen_t = size_of::<libc::ucred>() as libc::socklen_t;

/// No user, as the kernel writes it.
const NOBODY: u32 = u32::MAX;

/// The user id of the process that connected `socket`, as the kernel reports it in this process's
/// user namespace: 65,534 if it has none there.
///
/// The process id that the kernel reports beside it is left out: it is 0 for a process of another
/// PID namespace, which `rustix` takes for impossible.
///
/// # Errors
///
/// The kernel's error, if the socket is not a Unix socket; [`NotConnected`] if it has no peer.
///
/// [`NotConnected`]: std::io::ErrorKind::NotConnected
pub fn uid_of_peer(socket: impl AsFd) -> std::io::Result<u32> {
    let mut credentials = libc::ucred { pid: 0, uid: NOBODY, gid: NOBODY };
    let mut bytes = CREDENTIALS_BYTES;
    let fd = socket.as_fd().as_raw_fd();
    // SAFETY: the kernel writes at most `bytes` bytes into the credentials, of which any bytes are
    // valid, and the length of what it wrote into `bytes`. Both live until it returns.
    let failed = unsafe {
        libc::getsockopt(fd, libc::SOL_SOCKET, libc::SO_PEERCRED, (&raw mut credentials).cast(), &raw mut bytes)
    };
    if failed != 0 {
        return Err(std::io::Error::last_os_error());
    }
    // A socket without a peer has the user -1.
    if credentials.uid == NOBODY { Err(std::io::ErrorKind::NotConnected.into()) } else { Ok(credentials.uid) }
}

/// The effective user id of this process.
#[must_use]
pub fn own_uid() -> u32 {
    rustix::process::geteuid().as_raw()
}

/// How often the kernel has taken this thread's core away from it; 0 if it cannot say.
///
/// # Cost
///
/// A system call.
#[must_use]
pub fn preemptions() -> u64 {
    let mut usage = std::mem::MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: the kernel writes a whole `rusage`, of which any bytes are valid; zeroed before.
    let usage = unsafe {
        libc::getrusage(libc::RUSAGE_THREAD, usage.as_mut_ptr());
        usage.assume_init()
    };
    usage.ru_nivcsw.unsigned_abs()
}

/// The time that this process has used so far, in its own code and in the kernel's.
///
/// # Cost
///
/// A system call.
#[must_use]
pub fn time_used() -> [std::time::Duration; 2] {
    let mut usage = std::mem::MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: the kernel writes a whole `rusage`, of which any bytes are valid; zeroed before.
    let usage = unsafe {
        libc::getrusage(libc::RUSAGE_SELF, usage.as_mut_ptr());
        usage.assume_init()
    };
    [usage.ru_utime, usage.ru_stime].map(|time| {
        let micros = u64::try_from(time.tv_sec * 1_000_000 + time.tv_usec).unwrap_or(0);
        std::time::Duration::from_micros(micros)
    })
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
        assert_eq!(uid_of_peer(&one).unwrap(), own_uid());
    }

    #[test]
    fn a_process_that_computes_has_used_time() {
        let [before, _] = time_used();
        while time_used()[0] == before {
            std::hint::spin_loop();
        }
    }

    #[test]
    fn a_thread_that_shares_its_core_with_another_is_preempted() {
        let core = crate::affinity::allowed_cores()[0];
        let is_over = std::sync::atomic::AtomicBool::new(false);
        let relaxed = std::sync::atomic::Ordering::Relaxed;
        std::thread::scope(|scope| {
            scope.spawn(|| {
                crate::affinity::pin_to(core).unwrap();
                while !is_over.load(relaxed) {
                    std::hint::spin_loop();
                }
            });
            let preempted = scope.spawn(|| {
                crate::affinity::pin_to(core).unwrap();
                let before = preemptions();
                // Some seconds at most; a thread has the core for milliseconds.
                let preempted = (0..1_000_000).any(|_| {
                    (0..1000).for_each(|_| std::hint::spin_loop());
                    preemptions() > before
                });
                is_over.store(true, relaxed);
                preempted
            });
            assert!(preempted.join().unwrap());
        });
    }

    #[test]
    fn a_socket_without_a_peer_has_no_user() {
        let alone = std::os::unix::net::UnixDatagram::unbound().unwrap();
        assert_eq!(uid_of_peer(&alone).unwrap_err().kind(), std::io::ErrorKind::NotConnected);
        assert!(uid_of_peer(std::fs::File::open("/dev/null").unwrap()).is_err());
    }
}
