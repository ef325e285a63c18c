//! The listener of a `shm://` server: one thread that accepts clients and notices when they leave.
//! It never touches an RPC.
//!
//! It sleeps in `poll` on the listening socket and on the sockets of clients, before and after
//! their hello. A socket that closes, however its process ended, becomes a control message to the
//! engine.

use super::channel::{Channel, shared_bytes};
use super::handshake::{self, Answer, Hello, Mappable, Refusal, Welcome};
use crate::config::tenant::{TENANT_MASK, TENANT_SHIFT};
use crate::nic::one_sided::id_of;
use crate::rpc::region::Registered;
use crate::rpc::slot::{Geometry, SLOTS_MAX};
use crate::status::{Asleep, Layout, StatusReader};
use nebula_nic::places::{Place, Places, PlacesConfig};
use nebula_nic::{Choose, Header, NodeId, Rss, Span, Timestamp};
use nebula_sys::doorbells::words_of;
use nebula_sys::process::{own_uid, uid_of_peer};
use nebula_sys::shared::{ReadOnlyMemory, SharedMemory};
use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, eventfd, poll};
use rustix::net::{
    AddressFamily, SocketAddrUnix, SocketFlags, SocketType, accept_with, bind, connect, listen, socket_with,
};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::PoisonError;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

/// Clients at once that have sent nothing so far. For the next one, the user with most of them
/// loses the oldest.
const GREETING_MAX: u32 = 64;

const OBSERVERS_MAX: usize = 64;

/// The most regions that a client maps: their messages fit the socket's buffer.
const MAPPED_MAX: usize = 64;

#[derive(Debug)]
pub(crate) enum Event {
    Attach(Arc<Channel>),
    Gone(NodeId),
}

/// Control messages from the listener to the engine, ids that the engine no longer uses, and what
/// the listener hands out for the engine: the doorbells of its clients.
#[derive(Debug)]
pub(crate) struct EventQueue {
    has_events: AtomicBool,
    events: Mutex<Vec<Event>>,
    retired: Mutex<Vec<NodeId>>,
    waker: OwnedFd,
    doorbells: SharedMemory,
    asleep: Asleep,
}

impl EventQueue {
    fn try_new(clients_max: u16, asleep: Asleep) -> std::io::Result<Self> {
        let bytes = (8 * words_of(clients_max.into())).next_multiple_of(64);
        let doorbells = SharedMemory::create("nebula-doorbells", bytes).map_err(std::io::Error::other)?;
        Ok(Self {
            has_events: AtomicBool::new(false),
            events: Mutex::default(),
            retired: Mutex::default(),
            waker: eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?,
            doorbells,
            asleep,
        })
    }

    fn post(&self, event: Event) {
        self.events.lock().unwrap_or_else(PoisonError::into_inner).push(event);
        self.has_events.store(true, Ordering::Release);
        wake(&self.waker);
    }

    /// Whether there are control messages. Call it after [`Asleep::arm`].
    pub(crate) fn has_any(&self) -> bool {
        self.has_events.load(Ordering::Acquire)
    }

    /// It is readable while control messages may be there.
    pub(crate) fn waker(&self) -> BorrowedFd<'_> {
        self.waker.as_fd()
    }

    pub(crate) fn take_wake_ups(&self) {
        let _ = rustix::io::read(&self.waker, &mut [0_u8; 8]);
    }

    pub(crate) fn doorbells(&self) -> &SharedMemory {
        &self.doorbells
    }

    pub(crate) fn asleep(&self) -> &Asleep {
        &self.asleep
    }

    /// Takes the control messages, if there are any: one load of a line that hardly ever changes.
    #[inline(always)]
    pub(crate) fn collect(&self) -> Option<Vec<Event>> {
        if !self.has_events.load(Ordering::Relaxed) || !self.has_events.swap(false, Ordering::Acquire) {
            return None;
        }
        Some(std::mem::take(&mut *self.events.lock().unwrap_or_else(PoisonError::into_inner)))
    }

    pub(crate) fn retire(&self, snid: NodeId) {
        self.retired.lock().unwrap_or_else(PoisonError::into_inner).push(snid);
    }

    fn take_retired(&self) -> Vec<NodeId> {
        std::mem::take(&mut *self.retired.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// The most memory of a ring whose length the server chooses: 1,024 slots with the default MTU.
/// Only used pages exist, and short messages use only the slots' heads, which are 128 KiB of those:
/// a longer ring would leave the core's cache on every lap.
const CHOSEN_BYTES: u64 = 8 << 20;

/// How clients are assigned to engines, for good.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Spread {
    /// In turn: Dagger's static flows.
    InTurn,
    /// By a hash of the client's number, as a NIC does: Altocumulus' groups.
    Hashed,
}

/// The listener grants these to every client.
#[derive(Clone, Debug)]
pub(crate) struct Terms {
    pub(crate) domain: u8,
    pub(crate) mtu_bytes: u32,
    pub(crate) rpc_bytes_max: u32,
    /// The service's longest reply; 0 if unknown.
    pub(crate) reply_bytes_max: u32,
    pub(crate) slo_ps: u64,
    pub(crate) clients_max: u16,
    pub(crate) rings_bytes_max: u64,
    /// RPCs that may wait until the service time is measured; 0 if any number may.
    pub(crate) queue_bound: u32,
    pub(crate) engines: u16,
    pub(crate) spread: Spread,
    /// User ids that may connect, besides the server's.
    pub(crate) allowed_uids: Vec<u32>,
    /// User ids of the tenants from 1 on.
    pub(crate) tenants: Vec<u32>,
    pub(crate) regions: Vec<Registered>,
}

impl Terms {
    /// The tenant of a user: 0 for users without a weight. `None` if the server has no tenants.
    fn tenant(&self, uid: u32) -> Option<u32> {
        let place = self.tenants.iter().position(|tenant| *tenant == uid).map_or(0, |at| at + 1);
        u32::try_from(place).ok().filter(|_| !self.tenants.is_empty())
    }
}

/// The address of an endpoint's socket. It is abstract: no file, and gone with the process.
fn address(name: &str) -> std::io::Result<SocketAddrUnix> {
    Ok(SocketAddrUnix::new_abstract_name(format!("nebula/1/{name}").as_bytes())?)
}

fn socket() -> std::io::Result<OwnedFd> {
    Ok(socket_with(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)?)
}

pub(crate) fn dial(name: &str) -> std::io::Result<OwnedFd> {
    let socket = socket()?;
    connect(&socket, &address(name)?)?;
    Ok(socket)
}

/// Clients by index, each with a generation that distinguishes earlier ones of the index.
#[derive(Debug)]
struct ClientIds {
    generations: Vec<u16>,
    free: Vec<u16>,
    /// The memory of each client's ring, and of all rings, in bytes.
    ring_bytes: Vec<u64>,
    rings_bytes: u64,
}

impl ClientIds {
    fn new(ids: u16) -> Self {
        let count = usize::from(ids);
        Self { generations: vec![0; count], free: (0..ids).rev().collect(), ring_bytes: vec![0; count], rings_bytes: 0 }
    }

    fn take_ring(&mut self, snid: NodeId, bytes: u64, bytes_max: u64) -> bool {
        let has_room = self.rings_bytes.saturating_add(bytes) <= bytes_max;
        if has_room {
            self.ring_bytes[client_index(snid)] = bytes;
            self.rings_bytes += bytes;
        }
        has_room
    }

    /// A number for a client of this tenant. If there are tenants, the highest bits are the tenant.
    fn take(&mut self, tenant: Option<u32>) -> Option<NodeId> {
        let index = self.free.pop()?;
        let number = u32::from(self.generations[usize::from(index)]) << 16 | u32::from(index);
        Some(NodeId(tenant.map_or(number, |tenant| number & !TENANT_MASK | tenant << TENANT_SHIFT)))
    }

    fn give_back(&mut self, snid: NodeId) {
        #[expect(clippy::cast_possible_truncation, reason = "the low half is the index")]
        let index = snid.0 as u16;
        self.rings_bytes -= std::mem::take(&mut self.ring_bytes[usize::from(index)]);
        let generation = &mut self.generations[usize::from(index)];
        *generation = generation.wrapping_add(1);
        self.free.push(index);
    }
}

#[inline(always)]
pub(crate) fn client_index(snid: NodeId) -> usize {
    (snid.0 & 0xFFFF) as usize
}

/// The slots to grant: those requested or, if the client takes more, up to twice as many as the
/// RPCs that may wait, so that the server sees those that it is to refuse. `bytes_max` is the
/// client's part of the memory for all rings.
fn slots_granted(hello: Hello, waiting: u64, mtu_bytes: u32, bytes_max: u64) -> u32 {
    let wanted = waiting.saturating_mul(2);
    let most = hello.slots_max.min(SLOTS_MAX);
    let bytes_max = bytes_max.min(CHOSEN_BYTES);
    let fits = |slots| shared_bytes(Geometry::new(slots, mtu_bytes)) as u64 <= bytes_max;
    let mut slots = hello.slots;
    while u64::from(slots) < wanted && slots <= most / 2 && fits(2 * slots) {
        slots *= 2;
    }
    slots
}

/// The listener, which runs on its own thread.
pub(crate) struct Listener {
    listening: Option<OwnedFd>,
    drains: Arc<AtomicBool>,
    waker: Arc<OwnedFd>,
    terms: Terms,
    status: Arc<SharedMemory>,
    /// Its counters; `None` if the page cannot be mapped again.
    present: Option<StatusReader>,
    queues: Box<[Arc<EventQueue>]>,
    rss: Rss,
    ids: ClientIds,
    /// Connected, without a hello so far, each with its place.
    greeting: Vec<(OwnedFd, u32)>,
    places: Places,
    began: Instant,
    /// With what is news from each: of a client with a doorbell, which may wake its engine, only
    /// its end.
    served: Vec<(Arc<OwnedFd>, NodeId, PollFlags)>,
    observers: Vec<OwnedFd>,
}

impl Listener {
    pub(crate) fn open(
        name: &str,
        terms: Terms,
        (status, layout): (Arc<SharedMemory>, Layout),
    ) -> std::io::Result<Self> {
        let listening = socket()?;
        bind(&listening, &address(name)?)?;
        listen(&listening, 128)?;
        let waker = Arc::new(eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?);
        let ids = ClientIds::new(terms.clients_max);
        let queue = |engine: u16| {
            let asleep = Asleep::new(status.clone(), layout, engine.into());
            EventQueue::try_new(terms.clients_max, asleep).map(Arc::new)
        };
        let queues = (0..terms.engines).map(queue).collect::<std::io::Result<_>>()?;
        let rss = Rss::new(terms.engines, 0);
        let (listening, drains) = (Some(listening), Arc::default());
        let page = ReadOnlyMemory::open(status.fd(), status.bytes()).ok();
        let present = page.map(|page| StatusReader::new(page, status.bytes()));
        Ok(Self {
            listening,
            drains,
            waker,
            terms,
            status,
            present,
            queues,
            rss,
            ids,
            greeting: Vec::new(),
            places: Places::new(PlacesConfig::of_handshakes(GREETING_MAX)),
            began: Instant::now(),
            served: Vec::new(),
            observers: Vec::new(),
        })
    }

    /// Sets a flag: once `drains` is set, the listener accepts no client.
    pub(crate) fn until(self, drains: Arc<AtomicBool>) -> Self {
        Self { drains, ..self }
    }

    pub(crate) fn queues(&self) -> &[Arc<EventQueue>] {
        &self.queues
    }

    fn post(&mut self, snid: NodeId, event: Event) {
        self.queue_of(snid).post(event);
    }

    /// The queue of the client's engine.
    fn queue_of(&mut self, snid: NodeId) -> &Arc<EventQueue> {
        let engine = match self.terms.spread {
            Spread::InTurn => client_index(snid) % self.queues.len(),
            Spread::Hashed => self.rss.choose(&Header { snid, ..Header::default() }).index(),
        };
        &self.queues[engine]
    }

    fn take_back_ids(&mut self) {
        for snid in self.queues.iter().flat_map(|queue| queue.take_retired()) {
            self.ids.give_back(snid);
        }
    }

    pub(crate) fn waker(&self) -> Arc<OwnedFd> {
        self.waker.clone()
    }

    pub(crate) fn run(mut self, stop: &AtomicBool) {
        while !stop.load(Ordering::Acquire) {
            let (ready, timed_out) = self.wait();
            self.take_back_ids();
            if self.drains.load(Ordering::Acquire) {
                self.close();
            }
            if !timed_out {
                self.attend(&ready);
            }
            let now = self.now();
            while let Some(late) = self.places.poll_overdue(now) {
                self.dismiss(late);
            }
        }
    }

    fn now(&self) -> Timestamp {
        Timestamp::ZERO + Span::from(self.began.elapsed())
    }

    fn dismiss(&mut self, place: u32) {
        self.greeting.retain(|(_, held)| *held != place);
    }

    fn accept(&mut self) {
        let Some(listening) = &self.listening else { return };
        let Ok(socket) = accept_with(listening, SocketFlags::CLOEXEC | SocketFlags::NONBLOCK) else { return };
        // A user is a source.
        let [source, ..] = uid_of_peer(&socket).unwrap_or(0).to_le_bytes();
        let Some(Place { id, evicts }) = self.places.arrive(self.now(), source) else { return };
        evicts.into_iter().for_each(|evicted| self.dismiss(evicted));
        self.greeting.push((socket, id));
    }

    /// Accepts no client from here on: another server may take the endpoint.
    #[cold]
    fn close(&mut self) {
        if self.listening.take().is_some() {
            self.greeting.drain(..).for_each(|(_, place)| self.places.leave(place));
        }
    }

    /// Sleeps until a socket is readable. The flags are for the listening socket, clients in the
    /// handshake, clients served and observers.
    fn wait(&self) -> (Vec<bool>, bool) {
        let mut fds = vec![PollFd::new(&*self.waker, PollFlags::IN)];
        // Without a listening socket the waker takes its place, so that the others keep theirs.
        fds.push(PollFd::new(self.listening.as_ref().unwrap_or(&self.waker), PollFlags::IN));
        fds.extend(self.greeting.iter().map(|(socket, _)| PollFd::new(socket, PollFlags::IN)));
        fds.extend(self.served.iter().map(|(socket, _, news)| PollFd::new(&**socket, *news)));
        fds.extend(self.observers.iter().map(|socket| PollFd::new(socket, PollFlags::IN)));
        // Wakes often while a silent client may have to be dropped; otherwise for retired ids.
        let seconds = if self.greeting.is_empty() { 30 } else { 1 };
        let woken = poll(&mut fds, Some(&Timespec { tv_sec: seconds, tv_nsec: 0 }));
        if fds[0].revents().contains(PollFlags::IN) {
            // Otherwise the next wait would end at once.
            let _ = rustix::io::read(&*self.waker, &mut [0_u8; 8]);
        }
        (fds[1..].iter().map(|fd| !fd.revents().is_empty()).collect(), woken == Ok(0))
    }

    fn attend(&mut self, ready: &[bool]) {
        let (ready_now, observers) = ready.split_at(ready.len() - self.observers.len());
        let (greeting, served) = ready_now[1..].split_at(ready_now.len() - 1 - self.served.len());
        // Observers send nothing: a readable socket has closed.
        let mut gone = observers.iter();
        self.observers.retain(|_| !gone.next().copied().unwrap_or(false));
        // From the back, because `swap_remove` moves the last one.
        for index in (0..served.len()).rev().filter(|&i| served[i]) {
            let (_, snid, _) = self.served.swap_remove(index);
            self.post(snid, Event::Gone(snid));
        }
        for index in (0..self.greeting.len()).rev().filter(|&i| greeting[i]) {
            let (socket, place) = self.greeting.swap_remove(index);
            self.places.leave(place);
            self.greet(socket);
        }
        if ready[0] {
            self.accept();
        }
    }

    /// Receives a client's hello and answers it. Disconnects a client that sends something else.
    fn greet(&mut self, socket: OwnedFd) {
        let Ok(Some((message, _))) = handshake::receive(&socket) else { return };
        let Some(hello) = Hello::decode(&message) else { return };
        match self.admit(&socket, hello) {
            Err(refusal) => drop(handshake::send(&socket, &handshake::encode_answer(Err(refusal)), &[])),
            Ok(welcome) if hello.observes => self.welcome_observer(socket, welcome),
            Ok(welcome) => self.welcome(socket, welcome, hello),
        }
    }

    fn admit(&mut self, socket: &OwnedFd, hello: Hello) -> Answer {
        hello.check(self.terms.domain)?;
        let uid = uid_of_peer(socket).map_err(|_| Refusal::UserId)?;
        if uid != own_uid() && !self.terms.allowed_uids.contains(&uid) {
            return Err(Refusal::UserId);
        }
        self.take_back_ids();
        let snid = match hello.observes {
            true if self.observers.len() < OBSERVERS_MAX => NodeId(0),
            true => return Err(Refusal::TooManyClients),
            false => self.ids.take(self.terms.tenant(uid)).ok_or(Refusal::TooManyClients)?,
        };
        let rings = hello.has_doorbell && !hello.observes;
        let asleep_word = self.queue_of(snid).asleep().word();
        Ok(Welcome {
            snid: snid.0,
            geometry: Geometry::new(self.slots_for(hello), self.terms.mtu_bytes),
            rpc_bytes_max: self.terms.rpc_bytes_max,
            reply_bytes_max: self.terms.reply_bytes_max,
            status_bytes: u32::try_from(self.status.bytes()).unwrap_or(0),
            slo_ps: self.terms.slo_ps,
            cancels: true,
            regions: if hello.maps { u32::try_from(self.mappable().count()).unwrap_or(0) } else { 0 },
            doorbells: if rings { self.terms.clients_max.into() } else { 0 },
            asleep_word: u32::try_from(asleep_word).unwrap_or(0),
        })
    }

    /// Slots by the present bound, which engines write to the status page.
    fn slots_for(&self, hello: Hello) -> u32 {
        let Terms { mtu_bytes, clients_max, rings_bytes_max, queue_bound, .. } = self.terms;
        let present = self.present.as_ref().map_or(0, |status| status.read().queue_bound);
        let waiting = if present == 0 { queue_bound.into() } else { present };
        let waiting = if queue_bound == 0 { 0 } else { waiting };
        slots_granted(hello, waiting, mtu_bytes, rings_bytes_max / u64::from(clients_max.max(1)))
    }

    fn mappable(&self) -> impl Iterator<Item = (Mappable, &SharedMemory)> {
        let regions = self.terms.regions.iter().enumerate().filter(|(_, registered)| !registered.is_revoked());
        let mappable = regions.filter_map(|(nth, registered)| {
            let (memory, may_write) = registered.mapped()?;
            Some((Mappable { region: id_of(nth), bytes: memory.bytes() as u64, may_write }, memory))
        });
        mappable.take(MAPPED_MAX)
    }

    fn share_regions(&self, socket: &OwnedFd, count: u32) -> std::io::Result<()> {
        for (mappable, memory) in self.mappable().take(count as usize) {
            handshake::send(socket, &mappable.encode(), &[memory.fd()])?;
        }
        Ok(())
    }

    /// Shares the status page. Nothing reads the ring that goes with it.
    fn welcome_observer(&mut self, socket: OwnedFd, welcome: Welcome) {
        let sent = match SharedMemory::create("nebula-ring", shared_bytes(welcome.geometry)) {
            Ok(memory) => {
                handshake::send(&socket, &handshake::encode_answer(Ok(welcome)), &[memory.fd(), self.status.fd()])
            }
            Err(_) => return drop(handshake::send(&socket, &handshake::encode_answer(Err(Refusal::NoMemory)), &[])),
        };
        if sent.is_ok() {
            self.observers.push(socket);
        }
    }

    fn welcome(&mut self, socket: OwnedFd, welcome: Welcome, hello: Hello) {
        let snid = NodeId(welcome.snid);
        let bytes = shared_bytes(welcome.geometry);
        let has_room = self.ids.take_ring(snid, bytes as u64, self.terms.rings_bytes_max);
        let memory = has_room.then(|| SharedMemory::create("nebula-ring", bytes).ok()).flatten();
        let Some(mut memory) = memory else {
            self.ids.give_back(snid);
            drop(handshake::send(&socket, &handshake::encode_answer(Err(Refusal::NoMemory)), &[]));
            return;
        };
        let answer = handshake::encode_answer(Ok(welcome));
        let queue = self.queue_of(snid).clone();
        let fds = [memory.fd(), self.status.fd(), queue.doorbells().fd()];
        let fds = if welcome.doorbells > 0 { &fds[..] } else { &fds[..2] };
        let sent = handshake::send(&socket, &answer, fds);
        if sent.is_err() || self.share_regions(&socket, welcome.regions).is_err() {
            return self.ids.give_back(snid);
        }
        // The server keeps one descriptor for each client: the socket.
        memory.close_fd();
        let socket = Arc::new(socket);
        let channel = Channel::new(snid, welcome.geometry, memory, socket.clone(), hello);
        self.post(snid, Event::Attach(Arc::new(channel)));
        let news = if hello.has_doorbell { PollFlags::empty() } else { PollFlags::IN };
        self.served.push((socket, snid, news));
    }
}

pub(crate) fn wake(waker: &OwnedFd) {
    let _ = rustix::io::write(waker.as_fd(), &1_u64.to_ne_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_s_number_says_whose_it_is_where_there_are_tenants() {
        let mut ids = ClientIds::new(2);
        ids.generations[0] = 0xFFFF;
        assert_eq!(ids.take(None), Some(NodeId(0xFFFF_0000)));
        ids.give_back(NodeId(0xFFFF_0000));
        ids.generations[0] = 0xFFFF;
        assert_eq!(ids.take(Some(3)), Some(NodeId(0x3FFF_0000)));
    }

    #[test]
    fn rings_that_would_take_too_much_together_are_refused_until_one_goes() {
        let mut ids = ClientIds::new(3);
        let clients = [(); 3].map(|()| ids.take(None).expect("an id"));
        assert!(ids.take_ring(clients[0], 600, 1000) && !ids.take_ring(clients[1], 600, 1000));
        assert!(ids.take_ring(clients[1], 400, 1000));
        ids.give_back(clients[0]);
        assert!(ids.take_ring(clients[2], 600, 1000));
    }

    #[test]
    fn a_user_without_a_weight_is_of_the_tenant_of_all_others() {
        let terms = |tenants| Terms {
            domain: 0,
            mtu_bytes: 64,
            rpc_bytes_max: 64,
            reply_bytes_max: 0,
            slo_ps: 0,
            clients_max: 1,
            rings_bytes_max: u64::MAX,
            queue_bound: 0,
            engines: 1,
            spread: Spread::InTurn,
            allowed_uids: Vec::new(),
            tenants,
            regions: Vec::new(),
        };
        let several = terms(vec![1000, 1007]);
        assert_eq!([1000, 1007, 0].map(|uid| several.tenant(uid)), [Some(1), Some(2), Some(0)]);
        assert_eq!(terms(Vec::new()).tenant(1000), None);
    }

    #[test]
    fn a_ring_holds_twice_what_may_wait_as_far_as_client_and_memory_allow() {
        let hello = |slots, slots_max| Hello {
            version: handshake::VERSION,
            slots,
            slots_max,
            sleeps: false,
            domain: 0,
            observes: false,
            maps: false,
            has_doorbell: false,
        };
        let granted = |hello, waiting| slots_granted(hello, waiting, 112, u64::MAX);
        assert_eq!([0, 128, 129, 1000].map(|bound| granted(hello(256, 65_536), bound)), [256, 256, 512, 2048]);
        assert_eq!([0, 256, 700].map(|slots_max| granted(hello(256, slots_max), 9000)), [256, 256, 512]);
        assert_eq!(granted(hello(8192, 8192), 2), 8192, "never fewer than requested");
        assert_eq!(granted(hello(256, u32::MAX), u64::MAX), 32_768, "8 MiB, with the words behind the slots");
        assert_eq!(slots_granted(hello(256, u32::MAX), 9000, 4144, u64::MAX), 1024, "8 MiB of longer slots");
        assert_eq!(slots_granted(hello(256, u32::MAX), 9000, 112, 100_000), 512, "its part of all rings");
    }
}
