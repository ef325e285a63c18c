//! An engine sleeps until one of its clients wakes it, over the client's own socket.
//!
//! First all rings become [quiet](super::hot). A client that then rings its doorbell reads in the
//! status page, which no client can write, whether the engine sleeps, and if so sends a byte. The
//! engine says that it sleeps, looks at every ring once more, and sleeps.

use super::ring_list::Rings;
use crate::transport::shm::channel::Channel;
use nebula_nic::{NodeId, Span};
use rustix::event::Timespec;
use rustix::event::epoll::{self, CreateFlags, Event, EventData, EventFlags};
use rustix::io::Errno;
use rustix::net::{RecvFlags, recv};
use std::mem::MaybeUninit;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::time::Duration;

/// Marks among the sockets of clients: the listener's messages, and what others wake the engine by.
const NEWS: u64 = u64::MAX;
const PARKER: u64 = u64::MAX - 1;
/// For how long rings are looked at after their clients were told to ring: see [`hot`](super::hot).
const STILL_FOR: Span = Span::from_us(5);
/// Sockets that are read after a sleep; further ones end the next sleep at once.
const WOKEN_MAX: usize = 64;

impl Rings {
    /// Counts a client that has come. It is heard from the first sleep on.
    pub(super) fn listen_to(&mut self, place: usize) {
        let channel = &self.list[place].channel;
        self.ears.mute += usize::from(!channel.has_doorbell());
        let data = EventData::new_u64(channel.snid().0.into());
        // Without an ear for one, all are made again.
        self.ears.epoll.take_if(|epoll| epoll::add(epoll, channel.socket(), data, EventFlags::IN).is_err());
    }

    pub(super) fn listen_no_more_to(&mut self, channel: &Channel) {
        self.ears.mute -= usize::from(!channel.has_doorbell());
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
        self.take_wake_ups();
        self.events.asleep().arm();
        if !self.events.has_any() && !self.has_any() {
            self.wait_for_sockets(timeout, parker);
        }
        self.events.asleep().disarm();
        true
    }

    /// Whether no ring is looked at any more. Tells clients of rings that are, and looks there for
    /// a moment more.
    fn is_quiet(&mut self) -> bool {
        for &place in &self.hot {
            let ring = &mut self.list[place as usize];
            if !ring.is_quiet {
                ring.set_quiet(true);
                self.told = self.now;
            }
        }
        if self.now - self.told > STILL_FOR {
            (0..self.hot.len()).rev().for_each(|at| self.leave(self.hot[at] as usize));
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
            (self.ears.epoll, self.ears.knows_parker) = (Some(epoll), false);
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

    fn wait_for_sockets(&mut self, timeout: Option<Duration>, parker: BorrowedFd<'_>) {
        let Some(epoll) = &self.ears.epoll else { return };
        if !self.ears.knows_parker {
            let added = epoll::add(epoll, parker, EventData::new_u64(PARKER), EventFlags::IN);
            self.ears.knows_parker = added.is_ok();
        }
        let timeout = timeout.and_then(|timeout| Timespec::try_from(timeout).ok());
        let mut events = [const { MaybeUninit::<Event>::uninit() }; WOKEN_MAX];
        // Whatever ended the wait, the engine looks at its rings.
        let Ok((woken, _)) = epoll::wait(epoll, &mut events, timeout.as_ref()) else { return };
        for event in woken.iter() {
            match event.data.u64() {
                NEWS => self.events.take_wake_ups(),
                PARKER => {}
                snid => self.hear(NodeId(u32::try_from(snid).unwrap_or(u32::MAX))),
            }
        }
    }

    /// Looks at the ring of a client that has woken the engine, or has left.
    fn hear(&mut self, snid: NodeId) {
        if let Some(place) = self.place(snid) {
            self.heat(place);
            self.ears.heard.push(snid);
        }
    }

    /// Takes the bytes of clients that have woken the engine, which would end the next sleep.
    fn take_wake_ups(&mut self) {
        while let Some(snid) = self.ears.heard.pop() {
            let Some(place) = self.place(snid) else { continue };
            let socket = self.list[place].channel.socket();
            let got = recv(socket, &mut [0; 8], RecvFlags::DONTWAIT);
            let has_left = !matches!(got, Ok((_, 1..)) | Err(Errno::AGAIN | Errno::INTR));
            if has_left && let Some(epoll) = &self.ears.epoll {
                // The listener will say so. Until then it must not end each sleep at once.
                let _ = epoll::delete(epoll, socket);
            }
        }
    }
}
