//! Wakes a thread by a descriptor, if it sleeps.

use crate::yielding::Yielding;
use nebula_nic::Span;
use nebula_sys::wake::WakeFlag;
use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, eventfd, poll};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

/// How long an engine or a worker that may sleep polls before: long enough for a yield, which shows
/// whether its core is shared.
pub(crate) const POLLED_FOR: Span = Span::from_us(25);

/// Wakes one thread. Before it sleeps, the thread calls [`arm`](Self::arm), looks for work once
/// more, and only then waits. A thread that brings work calls
/// [`wake_if_armed`](Self::wake_if_armed) after that. So one of the two always sees the other.
#[derive(Debug)]
pub(crate) struct Parker {
    fd: OwnedFd,
    flag: WakeFlag,
}

impl Parker {
    pub(crate) fn new() -> std::io::Result<Self> {
        let fd = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        Ok(Self { fd, flag: WakeFlag::new() })
    }

    /// Whether [`wake_if_armed`](Self::wake_if_armed) costs next to nothing while nobody sleeps.
    pub(crate) fn is_cheap_to_ask(&self) -> bool {
        self.flag.is_cheap_to_ask()
    }

    pub(crate) fn arm(&self) {
        self.flag.arm();
    }

    pub(crate) fn disarm(&self) {
        self.flag.disarm();
        let _ = rustix::io::read(&self.fd, &mut [0; 8]);
    }

    #[inline]
    pub(crate) fn wake_if_armed(&self) {
        if self.flag.is_armed() {
            self.wake();
        }
    }

    pub(crate) fn wake(&self) {
        let _ = rustix::io::write(&self.fd, &1_u64.to_ne_bytes());
    }

    /// Sleeps until woken, or for ten seconds.
    pub(crate) fn wait(&self) {
        let most = Timespec { tv_sec: 10, tv_nsec: 0 };
        let _ = poll(&mut [PollFd::new(&self.fd, PollFlags::IN)], Some(&most));
    }

    pub(crate) fn fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

pub(crate) fn rest_after(silence: Span, yielding: &mut Yielding) {
    if silence < Span::from_ms(5) {
        yielding.rest(silence);
    } else {
        // Not `sleep`: a later reply unparks its worker.
        std::thread::park_timeout(std::time::Duration::from_micros(50));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    #[test]
    fn one_that_is_woken_before_it_sleeps_does_not_and_sleeps_the_next_time() {
        let parker = Arc::new(Parker::new().unwrap());
        parker.wake_if_armed();
        assert!(!is_readable(&parker), "nobody sleeps");
        parker.arm();
        let waker = parker.clone();
        std::thread::spawn(move || waker.wake_if_armed()).join().unwrap();
        assert!(is_readable(&parker));
        parker.wait();
        parker.disarm();
        assert!(!is_readable(&parker));
    }

    fn is_readable(parker: &Parker) -> bool {
        poll(&mut [PollFd::new(&parker.fd, PollFlags::IN)], Some(&Timespec::default())).unwrap() > 0
    }
}
