//! Waking a thread that sleeps: by a descriptor, and only if it does.

use nebula_nic::Span;
use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, eventfd, poll};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicBool, Ordering, fence};

/// How long an engine or a worker that may sleep polls first.
pub(crate) const POLLED_FOR: Span = Span::from_us(20);

/// Wakes one thread.
///
/// Before it sleeps, the thread says so with [`arm`](Self::arm), looks for work once more, and only then waits. A thread that gives it work
/// does so first and asks then, with [`wake_if_armed`](Self::wake_if_armed): one of the two sees the other.
#[derive(Debug)]
pub(crate) struct Parker {
    fd: OwnedFd,
    is_armed: AtomicBool,
}

impl Parker {
    pub(crate) fn new() -> std::io::Result<Self> {
        let fd = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        Ok(Self { fd, is_armed: AtomicBool::new(false) })
    }

    /// Says that the thread is about to sleep.
    pub(crate) fn arm(&self) {
        self.is_armed.store(true, Ordering::Relaxed);
        // Between this store and the look that follows: pairs with the fence in `wake_if_armed`.
        fence(Ordering::SeqCst);
    }

    /// The thread is awake.
    pub(crate) fn disarm(&self) {
        self.is_armed.store(false, Ordering::Relaxed);
        let _ = rustix::io::read(&self.fd, &mut [0; 8]);
    }

    /// Wakes the thread if it sleeps or is about to.
    #[inline]
    pub(crate) fn wake_if_armed(&self) {
        fence(Ordering::SeqCst);
        if self.is_armed.load(Ordering::Relaxed) {
            self.wake();
        }
    }

    /// Wakes the thread, or has it not sleep the next time.
    pub(crate) fn wake(&self) {
        let _ = rustix::io::write(&self.fd, &1_u64.to_ne_bytes());
    }

    /// Sleeps until rung, or for a second.
    pub(crate) fn wait(&self) {
        let second = Timespec { tv_sec: 1, tv_nsec: 0 };
        let _ = poll(&mut [PollFd::new(&self.fd, PollFlags::IN)], Some(&second));
    }

    pub(crate) fn fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

/// Rests as long as fits a silence of `silence`.
pub(crate) fn rest_after(silence: Span) {
    if silence < Span::from_us(20) {
        std::hint::spin_loop();
    } else if silence < Span::from_ms(5) {
        std::thread::yield_now();
    } else {
        std::thread::sleep(std::time::Duration::from_micros(50));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    #[test]
    fn a_bell_rung_before_the_thread_sleeps_wakes_it_and_then_is_silent() {
        let parker = Arc::new(Parker::new().unwrap());
        parker.wake_if_armed();
        assert!(!is_ringing(&parker), "nobody sleeps");
        parker.arm();
        let waker = parker.clone();
        std::thread::spawn(move || waker.wake_if_armed()).join().unwrap();
        assert!(is_ringing(&parker));
        parker.wait();
        parker.disarm();
        assert!(!is_ringing(&parker));
    }

    fn is_ringing(parker: &Parker) -> bool {
        poll(&mut [PollFd::new(&parker.fd, PollFlags::IN)], Some(&Timespec::default())).unwrap() > 0
    }
}
