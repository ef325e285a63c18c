//! Stops a server from elsewhere.

use crate::rpc::parking::Parker;
use crate::transport::shm::listener::wake;
use rustix::event::{EventfdFlags, PollFd, PollFlags, eventfd, poll};
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Stops a server, from any thread or from a signal handler.
#[derive(Clone, Debug)]
pub struct Stopper {
    stop: Arc<AtomicBool>,
    parkers: Vec<Arc<Parker>>,
    /// Descriptors that wake the listener and a caller of `join`.
    wakers: Vec<Arc<OwnedFd>>,
}

impl Stopper {
    /// Stops the server: its threads end, and [`join`](crate::RunningServer::join) returns.
    ///
    /// # Cost
    ///
    /// A system call for each of its threads that may sleep, no lock and no allocation.
    pub fn stop(&self) {
        // Release: a thread that sees it sees what the caller has done before.
        self.stop.store(true, Ordering::Release);
        self.parkers.iter().for_each(|parker| parker.wake());
        self.wakers.iter().for_each(|waker| wake(waker));
    }

    /// Whether the server was stopped.
    #[must_use]
    pub fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Acquire)
    }
}

/// The server's own part of its stop: it makes [`Stopper`]s and waits for one.
#[derive(Debug)]
pub(super) struct Stop {
    pub(super) flag: Arc<AtomicBool>,
    stopped: Arc<OwnedFd>,
    pub(super) listener: Option<Arc<OwnedFd>>,
    pub(super) parkers: Vec<Arc<Parker>>,
}

impl Stop {
    pub(super) fn try_new(listener: Option<Arc<OwnedFd>>) -> std::io::Result<Self> {
        let stopped = Arc::new(eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?);
        Ok(Self { flag: Arc::default(), stopped, listener, parkers: Vec::new() })
    }

    pub(super) fn stopper(&self) -> Stopper {
        let wakers = self.listener.iter().chain([&self.stopped]).cloned().collect();
        Stopper { stop: self.flag.clone(), parkers: self.parkers.clone(), wakers }
    }

    /// Sleeps until the server is stopped.
    pub(super) fn wait(&self) {
        while !self.flag.load(Ordering::Acquire) {
            let _ = poll(&mut [PollFd::new(&*self.stopped, PollFlags::IN)], None);
        }
    }
}
