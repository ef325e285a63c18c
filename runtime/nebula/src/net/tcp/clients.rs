//! The connections of a server: which to read, which to send to, which to close.

use super::link::{End, Link};
use crate::net::sockets::{News, Sockets};
use crate::net::wire::Route;
use nebula_nic::places::{Place, Places, PlacesConfig, prefix};
use nebula_nic::{Span, Timestamp};
use rustix::net::sockopt;
use std::collections::{HashMap, VecDeque};
use std::hash::BuildHasher;
use std::net::TcpStream;
use std::time::Duration;

/// Bytes kept of large incomplete frames, over all connections.
const KEPT_MAX: usize = 64 << 20;
/// An incomplete frame up to this length is always kept: the number of connections is bounded.
const SMALL_BYTES: usize = 4 << 10;
/// The most bytes that wait for one peer, and for all together.
const UNSENT_EACH_MAX: usize = 1 << 20;
const UNSENT_MAX: usize = 256 << 20;
/// After so long a silence the kernel probes the peer.
const SILENCE: Duration = Duration::from_secs(60);

#[derive(Debug)]
pub(super) struct Client {
    pub(super) link: Link,
    pub(super) route: Route,
    is_listed: bool,
    is_dirty: bool,
    /// Reads nothing more; closes after its output has been offered once more.
    has_ended: bool,
}

#[derive(Debug)]
pub(super) struct Clients {
    clients: Vec<Option<Box<Client>>>,
    places: Places,
    by_route: HashMap<Route, u32>,
    ready: VecDeque<u32>,
    dirty: Vec<u32>,
    ended: Vec<u32>,
    kept: usize,
    unsent: usize,
    now: Timestamp,
    /// Connections closed because of their peer's violation.
    pub(super) violations: u64,
}

impl Clients {
    pub(super) fn new(most: u32) -> Self {
        Self {
            clients: Vec::new(),
            places: Places::new(PlacesConfig::of_clients(most)),
            by_route: HashMap::new(),
            ready: VecDeque::new(),
            dirty: Vec::new(),
            ended: Vec::new(),
            kept: 0,
            unsent: 0,
            now: Timestamp::ZERO,
            violations: 0,
        }
    }

    /// Adds a connection; returns it if there is no place. With `has_several` local addresses,
    /// answers come from the one that the peer connected to.
    pub(super) fn add(&mut self, sockets: &Sockets, stream: TcpStream, has_several: bool) -> Result<(), TcpStream> {
        let Ok(route) = route_of(&stream, has_several) else { return Ok(()) };
        let [source, ..] = self.by_route.hasher().hash_one(prefix(route.peer.ip())).to_le_bytes();
        let Some(Place { id, evicts }) = self.places.arrive(self.now, source) else { return Err(stream) };
        evicts.into_iter().for_each(|evicted| self.forget(evicted));
        if sockets.watch(&stream, id).is_err() {
            self.places.leave(id);
            return Ok(());
        }
        // If the kernel cannot do this, a peer that left silently keeps its place longer.
        let _ = sockopt::set_socket_keepalive(&stream, true);
        let _ = sockopt::set_tcp_keepidle(&stream, SILENCE);
        self.by_route.insert(route, id);
        let client = Client {
            link: Link::new(stream, UNSENT_EACH_MAX),
            route,
            is_listed: false,
            is_dirty: false,
            has_ended: false,
        };
        let place = id as usize;
        if self.clients.len() <= place {
            self.clients.resize_with(place + 1, || None);
        }
        self.clients[place] = Some(Box::new(client));
        Ok(())
    }

    /// Closes connections that have not proved themselves in time. Returns whether some have time
    /// left.
    pub(super) fn begin_turn(&mut self, now: Timestamp) -> bool {
        self.now = now;
        while let Some(late) = self.places.poll_overdue(now) {
            self.forget(late);
        }
        self.places.unproven() > 0
    }

    /// The time until a connection may be overdue.
    pub(super) fn next_overdue(&self) -> Option<Span> {
        self.places.next_overdue().map(|at| at.since(self.now))
    }

    /// The peer is an accepted client.
    pub(super) fn prove(&mut self, peer: &Route) {
        if let Some(&id) = self.by_route.get(peer)
            && !self.places.prove(id)
        {
            self.end(id, End::Closed);
        }
    }

    fn get(&mut self, id: u32) -> Option<&mut Client> {
        self.clients.get_mut(id as usize)?.as_deref_mut()
    }

    pub(super) fn wake(&mut self, News { id, may_read, has_ended, may_send }: News) {
        let Some(Client { link, .. }) = self.get(id) else { return };
        link.may_read |= may_read || has_ended;
        link.has_ended |= has_ended;
        let waits = may_send && link.unsent() > 0;
        if waits {
            self.mark_dirty(id);
        }
        self.list(id);
    }

    fn list(&mut self, id: u32) {
        if let Some(client) = self.get(id)
            && !client.has_ended
            && client.link.is_ready()
            && !std::mem::replace(&mut client.is_listed, true)
        {
            self.ready.push_back(id);
        }
    }

    fn mark_dirty(&mut self, id: u32) {
        if let Some(client) = self.get(id)
            && !std::mem::replace(&mut client.is_dirty, true)
        {
            self.dirty.push(id);
        }
    }

    pub(super) fn ready(&self) -> usize {
        self.ready.len()
    }

    /// Whether there is work without a new event.
    pub(super) fn has_more(&self) -> bool {
        !self.ready.is_empty() || !self.ended.is_empty()
    }

    /// Lets `receive` take frames of the next connection. Returns its result, or 0 without one.
    pub(super) fn read_next(&mut self, receive: impl FnOnce(&mut Client) -> Result<usize, End>) -> usize {
        let Some(id) = self.ready.pop_front() else { return 0 };
        let Some(client) = self.get(id) else { return 0 };
        client.is_listed = false;
        let kept = client.link.kept();
        let received = receive(client);
        let keeps = client.link.kept();
        self.kept = self.kept - kept + keeps;
        match received {
            Ok(_) if keeps > SMALL_BYTES && self.kept > KEPT_MAX => self.end(id, End::Bad),
            Ok(_) => self.list(id),
            Err(end) => self.end(id, end),
        }
        received.unwrap_or(0)
    }

    /// Queues datagrams for a peer. They are lost if it is gone or too many bytes wait.
    pub(super) fn queue(&mut self, to: &Route, bytes: &[u8], segment: usize) {
        let Some(&id) = self.by_route.get(to) else { return };
        if self.unsent > UNSENT_MAX {
            return;
        }
        let Some(Client { link, .. }) = self.get(id) else { return };
        let before = link.unsent();
        link.queue(bytes, segment);
        let more = link.unsent() - before;
        self.unsent += more;
        self.mark_dirty(id);
    }

    pub(super) fn send(&mut self) {
        while let Some(id) = self.dirty.pop() {
            let Some(client) = self.get(id) else { continue };
            client.is_dirty = false;
            let before = client.link.unsent();
            let sent = client.link.send();
            let left = client.link.unsent();
            self.unsent = self.unsent - before + left;
            match sent {
                Ok(()) => self.list(id),
                Err(end) => self.end(id, end),
            }
        }
    }

    /// Closes connections that have ended, after their output was offered to the kernel.
    pub(super) fn close_ended(&mut self) {
        while let Some(id) = self.ended.pop() {
            // Its place may be another's.
            if self.get(id).is_some_and(|client| client.has_ended) {
                self.places.leave(id);
                self.forget(id);
            }
        }
    }

    pub(super) fn hang_up(&mut self, peer: &Route) {
        if let Some(&id) = self.by_route.get(peer) {
            // The caller has counted the violation.
            self.end(id, End::Closed);
        }
    }

    fn end(&mut self, id: u32, end: End) {
        if let Some(client) = self.get(id).filter(|client| !client.has_ended) {
            client.has_ended = true;
            self.violations += u64::from(end.is_violation());
            self.ended.push(id);
        }
    }

    /// Closes a connection whose place is free.
    fn forget(&mut self, id: u32) {
        let Some(client) = self.clients.get_mut(id as usize).and_then(Option::take) else { return };
        self.kept -= client.link.kept();
        self.unsent -= client.link.unsent();
        // The same peer may have connected again.
        if self.by_route.get(&client.route) == Some(&id) {
            self.by_route.remove(&client.route);
        }
    }
}

fn route_of(stream: &TcpStream, has_several: bool) -> std::io::Result<Route> {
    let local = if has_several { Some(stream.local_addr()?.ip()) } else { None };
    Ok(Route { peer: stream.peer_addr()?, local })
}
