//! A listening TCP or Unix socket, and the events of all its connections by one system call.

use super::place::Place;
use rustix::event::epoll::{self, CreateFlags, Event, EventData, EventFlags};
use rustix::net::{
    AddressFamily, SocketFlags, SocketType, accept_with, bind, getsockname, listen, socket_with, sockopt,
};
use std::fs::File;
use std::io::{ErrorKind, Result, Write};
use std::mem::MaybeUninit;
use std::net::{SocketAddr, TcpStream};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

const BACKLOG: i32 = 4096;
const EVENTS: usize = 256;
const ACCEPTED_PER_TURN: usize = 64;
/// Event numbers that no connection has.
const LISTENER: u64 = u64::MAX;
const PARKER: u64 = u64::MAX - 1;

#[derive(Clone, Copy, Debug)]
pub(crate) struct News {
    pub(crate) id: u32,
    pub(crate) may_read: bool,
    pub(crate) has_ended: bool,
    pub(crate) may_send: bool,
}

/// A listening socket and, if it has one, its file, which all engines of a server hold.
#[derive(Debug)]
struct Listener {
    socket: OwnedFd,
    _place: Option<Arc<Place>>,
}

impl Listener {
    /// A Unix socket behaves like a TCP socket but for options of TCP.
    fn accept(&self) -> Result<TcpStream> {
        Ok(TcpStream::from(accept_with(&self.socket, SocketFlags::CLOEXEC | SocketFlags::NONBLOCK)?))
    }
}

#[derive(Debug)]
pub(crate) struct Sockets {
    /// `None` after [`stop_listening`](Self::stop_listening): the address is then free.
    listener: Option<Listener>,
    epoll: OwnedFd,
    /// Events that were received and not processed.
    events: Vec<(u64, EventFlags)>,
    may_accept: bool,
    knows_parker: bool,
    /// Closed if the process has no descriptor left, so that a client can be accepted and refused.
    reserve: Option<File>,
}

impl Sockets {
    /// Listens at `address`; if `shared`, other sockets may listen there too.
    pub(crate) fn listen(address: SocketAddr, shared: bool) -> Result<Self> {
        let family = if address.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
        let socket = socket_with(family, SocketType::STREAM, SocketFlags::CLOEXEC | SocketFlags::NONBLOCK, None)?;
        sockopt::set_socket_reuseaddr(&socket, true)?;
        if shared {
            sockopt::set_socket_reuseport(&socket, true)?;
        }
        bind(&socket, &address)?;
        listen(&socket, BACKLOG)?;
        Self::over(Listener { socket, _place: None })
    }

    /// Several engines that accept from one socket at `path`.
    pub(crate) fn listen_at(path: &Path, engines: u16) -> Result<Vec<Self>> {
        let (socket, place) = Place::bind(path)?;
        listen(&socket, BACKLOG)?;
        let place = Some(Arc::new(place));
        (0..engines).map(|_| Self::over(Listener { socket: socket.try_clone()?, _place: place.clone() })).collect()
    }

    fn over(listener: Listener) -> Result<Self> {
        let epoll = epoll::create(CreateFlags::CLOEXEC)?;
        epoll::add(&epoll, &listener.socket, EventData::new_u64(LISTENER), EventFlags::IN)?;
        Ok(Self {
            listener: Some(listener),
            epoll,
            events: Vec::with_capacity(EVENTS),
            may_accept: false,
            knows_parker: false,
            reserve: File::open("/dev/null").ok(),
        })
    }

    /// Several sockets that listen at `address`; the kernel chooses one for each connection.
    pub(crate) fn listen_group(address: SocketAddr, sockets: u16) -> Result<Vec<Self>> {
        let only = Self::listen(address, false)?;
        if sockets == 1 {
            return Ok(vec![only]);
        }
        // A shared address may belong to another process. Binding it unshared first finds that out.
        let local = only.local()?;
        drop(only);
        (0..sockets).map(|_| Self::listen(local, true)).collect()
    }

    pub(crate) fn local(&self) -> Result<SocketAddr> {
        let Some(listener) = &self.listener else { return Err(ErrorKind::NotConnected.into()) };
        Ok(SocketAddr::try_from(getsockname(&listener.socket)?)?)
    }

    /// Reports events to `visit`, at most some hundred.
    pub(crate) fn look(&mut self, mut visit: impl FnMut(News)) {
        self.take_events(Some(Duration::ZERO));
        self.tell(&mut visit);
    }

    /// Waits for an event or the eventfd `parker`, always the same one. `look` reports events.
    pub(crate) fn wait(&mut self, timeout: Option<Duration>, parker: Option<BorrowedFd<'_>>) {
        if let Some(parker) = parker.filter(|_| !self.knows_parker) {
            let added = epoll::add(&self.epoll, parker, EventData::new_u64(PARKER), EventFlags::IN);
            self.knows_parker = added.is_ok();
        }
        self.take_events(timeout);
    }

    fn take_events(&mut self, timeout: Option<Duration>) {
        if !self.events.is_empty() {
            return;
        }
        let timeout = timeout.and_then(|timeout| timeout.try_into().ok());
        let mut events = [const { MaybeUninit::<Event>::uninit() }; EVENTS];
        // An interrupted wait has no events.
        if let Ok((told, _)) = epoll::wait(&self.epoll, &mut events, timeout.as_ref()) {
            self.events.extend(told.iter().map(|&Event { flags, data }| (data.u64(), flags)));
        }
    }

    fn tell(&mut self, visit: &mut impl FnMut(News)) {
        for (number, flags) in self.events.drain(..) {
            match number {
                LISTENER => self.may_accept = true,
                PARKER => {}
                id => visit(News {
                    id: u32::try_from(id).unwrap_or(u32::MAX),
                    may_read: flags.contains(EventFlags::IN),
                    has_ended: flags.intersects(EventFlags::RDHUP | EventFlags::HUP | EventFlags::ERR),
                    may_send: flags.contains(EventFlags::OUT),
                }),
            }
        }
    }

    /// Passes new connections, at most some dozens, to `add`, which returns those that it has no
    /// place for. Clients without a place or a descriptor get the answer `crowded`.
    pub(crate) fn accept(
        &mut self,
        crowded: &[u8],
        mut add: impl FnMut(&Self, TcpStream) -> std::result::Result<(), TcpStream>,
    ) {
        if !std::mem::take(&mut self.may_accept) {
            return;
        }
        for _ in 0..ACCEPTED_PER_TURN {
            let Some(listener) = &self.listener else { return };
            match listener.accept() {
                Ok(stream) => {
                    if let Err(stream) = add(self, stream) {
                        tell(&stream, crowded);
                    }
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => return,
                Err(_) if self.reserve.is_some() => self.turn_one_away(crowded),
                Err(_) => return,
            }
        }
    }

    /// No descriptor is left, or the client has left: uses the reserve to answer the client.
    #[cold]
    fn turn_one_away(&mut self, crowded: &[u8]) {
        self.reserve = None;
        if let Some(Ok(stream)) = self.listener.as_ref().map(Listener::accept) {
            tell(&stream, crowded);
        }
        self.reserve = File::open("/dev/null").ok();
    }

    /// Stops listening. The kernel closes connections that wait to be accepted.
    pub(crate) fn stop_listening(&mut self) {
        self.listener = None;
    }

    /// Reports the events of `stream` from now on, under the number `id`.
    pub(crate) fn watch(&self, stream: &TcpStream, id: u32) -> Result<()> {
        stream.set_nonblocking(true)?;
        // A Unix socket delays nothing and has no such option.
        let _ = stream.set_nodelay(true);
        // Edge-triggered: no system call is needed between two requests.
        let events = EventFlags::IN | EventFlags::OUT | EventFlags::RDHUP | EventFlags::ET;
        Ok(epoll::add(&self.epoll, stream.as_fd(), EventData::new_u64(id.into()), events)?)
    }
}

fn tell(mut stream: &TcpStream, answer: &[u8]) {
    let _ = stream.set_nonblocking(true).and_then(|()| stream.write(answer));
}
