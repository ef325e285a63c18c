//! An engine sleeps until one of its clients wakes it, over the client's own socket.
//!
//! First all rings become [quiet](super::hot). A client that then rings its bell reads in the
//! status page, which no client can write, whether the engine sleeps, and if so sends a byte. The
//! engine says that it sleeps, looks at every ring once more, and sleeps.

use super::Rings;
use super::hot::HOT_FOR;
use crate::transport::shm::channel::Channel;
use nebula_nic::NodeId;
use rustix::event::epoll::{self, CreateFlags, Event, EventData, EventFlags};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::{RecvFlags, recv};
use std::mem::MaybeUninit;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::time::Duration;

/// The mark of the listener's messages among the sockets of clients.
const NEWS: u64 = u64::MAX;
/// Sockets that are read after a sleep; further ones end the next sleep at once.
const WOKEN_MAX: usize = 64;

/// The sockets that wake a sleeping engine.
#[derive(Debug, Default)]
pub(super) struct Ears {
    epoll: Option<OwnedFd>,
    /// Clients that cannot wake the engine.
    mute: usize,
}

impl Rings {
    /// Counts a client that has come. It is heard from the first sleep on.
    pub(super) fn listen_to(&mut self, place: usize) {
        let channel = &self.list[place].channel;
        self.ears.mute += usize::from(!channel.has_bell());
        let data = EventData::new_u64(channel.snid().0.into());
        // Without an ear for one, all are made anew.
        self.ears.epoll.take_if(|epoll| epoll::add(epoll, channel.socket(), data, EventFlags::IN).is_err());
    }

    pub(super) fn listen_no_more_to(&mut self, channel: &Channel) {
        self.ears.mute -= usize::from(!channel.has_bell());
        if let Some(epoll) = &self.ears.epoll {
            let _ = epoll::delete(epoll, channel.socket());
        }
    }

    /// Sleeps until a client writes, the listener has news, `parker` is readable, or `timeout` has
    /// passed. Returns `false` if it cannot sleep, or not yet: clients have just been told.
    pub(super) fn sleep(&mut self, timeout: Option<Duration>, parker: BorrowedFd<'_>) -> bool {
        if self.ears.mute > 0 || !self.is_quiet() || self.begin_to_listen().is_none() {
            return false;
        }
        self.events.asleep().arm();
        if !self.events.has_any() && !self.has_any() {
            self.wait_for_sockets(timeout, parker);
        }
        self.events.asleep().disarm();
        self.take_wake_ups();
        true
    }

    /// Whether no ring is looked at any more. Tells clients of rings that are.
    fn is_quiet(&mut self) -> bool {
        let now = self.now;
        for at in (0..self.hot.len()).rev() {
            let place = self.hot[at] as usize;
            let ring = &mut self.list[place];
            if !ring.is_quiet {
                ring.last = now;
                ring.set_quiet(true);
            } else if now - ring.last > HOT_FOR {
                self.leave(place);
            }
        }
        self.hot.is_empty()
    }

    /// The sockets of all clients that are there. Made at the first sleep.
    fn begin_to_listen(&mut self) -> Option<&OwnedFd> {
        if self.ears.epoll.is_none() {
            let epoll = epoll::create(CreateFlags::CLOEXEC).ok()?;
            epoll::add(&epoll, self.events.waker(), EventData::new_u64(NEWS), EventFlags::IN).ok()?;
            for ring in &self.list {
                let data = EventData::new_u64(ring.channel.snid().0.into());
                epoll::add(&epoll, ring.channel.socket(), data, EventFlags::IN).ok()?;
            }
            self.ears.epoll = Some(epoll);
        }
        self.ears.epoll.as_ref()
    }

    fn has_any(&mut self) -> bool {
        let mut has_any = false;
        for place in 0..self.list.len() {
            has_any |= self.heat_if_used(place);
        }
        has_any
    }

    fn wait_for_sockets(&self, timeout: Option<Duration>, parker: BorrowedFd<'_>) {
        let Some(epoll) = &self.ears.epoll else { return };
        let timeout = timeout.and_then(|timeout| Timespec::try_from(timeout).ok());
        let mut fds = [PollFd::new(epoll, PollFlags::IN), PollFd::from_borrowed_fd(parker, PollFlags::IN)];
        // Whatever ended the wait, the engine looks at its rings.
        let _ = poll(&mut fds, timeout.as_ref());
    }

    fn take_wake_ups(&mut self) {
        let Some(epoll) = &self.ears.epoll else { return };
        let mut events = [const { MaybeUninit::<Event>::uninit() }; WOKEN_MAX];
        let Ok((woken, _)) = epoll::wait(epoll, &mut events, Some(&Timespec::default())) else { return };
        for event in woken.iter() {
            match event.data.u64() {
                NEWS => self.events.take_wake_ups(),
                snid => self.take_wake_up(NodeId(u32::try_from(snid).unwrap_or(u32::MAX))),
            }
        }
    }

    /// Looks at the ring of a client that has woken the engine, or has left.
    fn take_wake_up(&mut self, snid: NodeId) {
        let Some(place) = self.place(snid) else { return };
        let mut bytes = [0; 8];
        let socket = self.list[place].channel.socket();
        let got = recv(socket, &mut bytes, RecvFlags::DONTWAIT);
        let has_left = !matches!(got, Ok((_, 1..)) | Err(Errno::AGAIN | Errno::INTR));
        if has_left && let Some(epoll) = &self.ears.epoll {
            // Otherwise it would end each sleep at once, until the listener says that it has left.
            let _ = epoll::delete(epoll, socket);
        }
        self.heat(place);
    }
}
