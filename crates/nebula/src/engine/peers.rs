//! The clients of a server, as the engine knows them: who has come, where each ring was read up to, who is gone.

use super::Engine;
use crate::transport::shm::channel::Channel;
use crate::transport::shm::listener::{Letter, Mailbox, seat};
use nebula_nic::{NodeId, RpcKey, Timestamp};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// A client's ring, and where the engine stands in it.
#[derive(Debug)]
pub(super) struct PeerRing {
    pub(super) channel: Arc<Channel>,
    /// Position of the next packet.
    pub(super) cursor: u32,
    /// The RPC of several packets that the cursor is inside of.
    pub(super) current: Option<Current>,
    /// RPCs taken in and not freed.
    pub(super) in_flight: u32,
    pub(super) is_gone: bool,
}

/// An RPC of several packets, some of which have come.
#[derive(Clone, Copy, Debug)]
pub(super) struct Current {
    pub(super) base: u32,
    pub(super) span: u32,
    pub(super) rpc_bytes: u32,
    pub(super) packets: u32,
}

/// All clients: a dense list to poll, and where each one stands in it.
#[derive(Debug)]
pub(super) struct Rings {
    pub(super) list: Vec<PeerRing>,
    /// By seat: index into `list`.
    places: Box<[u32]>,
    violations: u64,
}

const NOWHERE: u32 = u32::MAX;

impl Rings {
    pub(super) fn new(clients_max: u16) -> Self {
        Self { list: Vec::new(), places: vec![NOWHERE; usize::from(clients_max)].into(), violations: 0 }
    }

    pub(super) fn clients(&self) -> u32 {
        u32::try_from(self.list.len()).unwrap_or(u32::MAX)
    }

    pub(super) fn violations(&self) -> u64 {
        self.violations
    }

    fn place(&self, snid: NodeId) -> Option<usize> {
        let place = *self.places.get(seat(snid))? as usize;
        (self.list.get(place)?.channel.snid() == snid).then_some(place)
    }

    fn attach(&mut self, channel: Arc<Channel>) {
        self.places[seat(channel.snid())] = self.clients();
        self.list.push(PeerRing { channel, cursor: 0, current: None, in_flight: 0, is_gone: false });
    }

    /// Counts an RPC of `snid` as over; the last one of a client that is gone takes the ring along.
    #[inline(always)]
    pub(super) fn ended(&mut self, snid: NodeId, registry: &Registry, mailbox: &Mailbox) {
        if let Some(place) = self.place(snid) {
            let ring = &mut self.list[place];
            ring.in_flight -= 1;
            if ring.is_gone && ring.in_flight == 0 {
                self.remove(place, registry, mailbox);
            }
        }
    }

    #[cold]
    fn remove(&mut self, place: usize, registry: &Registry, mailbox: &Mailbox) {
        let gone = self.list.swap_remove(place);
        let snid = gone.channel.snid();
        self.places[seat(snid)] = NOWHERE;
        if let Some(moved) = self.list.get(place) {
            self.places[seat(moved.channel.snid())] = u32::try_from(place).unwrap_or(NOWHERE);
        }
        registry.remove(snid);
        mailbox.retire(snid);
    }

    /// An RPC that never became whole: its client is told, unless it is gone, and the cursor goes on behind it.
    pub(super) fn abandon(&mut self, rpc: RpcKey) {
        let Some(place) = self.place(rpc.snid) else { return };
        let ring = &mut self.list[place];
        ring.in_flight -= 1;
        if let Some(current) = ring.current.filter(|current| current.base == rpc.tid.0) {
            ring.cursor = current.base.wrapping_add(current.span);
            ring.current = None;
            ring.channel.nack(current.base, nebula_nic::NackReason::ReassemblerFull);
        }
    }

    /// Cuts off a client whose ring makes no sense. What it has in flight runs on.
    #[cold]
    pub(super) fn cut_off(&mut self, place: usize) {
        self.violations += 1;
        let ring = &mut self.list[place];
        ring.is_gone = true;
        ring.channel.disconnect();
    }
}

impl Engine {
    /// Acts on what the door has seen.
    #[cold]
    pub(super) fn read_letters(&mut self, now: Timestamp, letters: Vec<Letter>) {
        for letter in letters {
            match letter {
                Letter::Attach(channel) => {
                    self.registry.insert(channel.clone());
                    self.rings.attach(channel);
                }
                Letter::Gone(snid) => self.forget(now, snid),
            }
        }
        self.has_news = true;
    }

    /// Forgets a client: what is not whole is dropped, what is whole runs on, the ring stays until the last of it is done.
    fn forget(&mut self, now: Timestamp, snid: NodeId) {
        self.backend.handle_peer_gone(now, snid);
        if let Some(recorder) = &mut self.recorder {
            recorder.peer_gone(now, snid);
        }
        self.drop_abandoned();
        let Some(place) = self.rings.place(snid) else { return };
        let ring = &mut self.rings.list[place];
        ring.is_gone = true;
        if ring.in_flight == 0 {
            self.rings.remove(place, &self.registry, &self.mailbox);
        }
    }
}

/// The rings that workers may be writing replies into.
#[derive(Debug, Default)]
pub(crate) struct Registry {
    channels: Mutex<Vec<Arc<Channel>>>,
    /// Goes up when a client leaves.
    departures: AtomicU64,
}

impl Registry {
    fn insert(&self, channel: Arc<Channel>) {
        self.channels.lock().unwrap_or_else(PoisonError::into_inner).push(channel);
    }

    fn remove(&self, snid: NodeId) {
        self.channels.lock().unwrap_or_else(PoisonError::into_inner).retain(|channel| channel.snid() != snid);
        self.departures.fetch_add(1, Ordering::Release);
    }

    fn find(&self, snid: NodeId) -> Option<Arc<Channel>> {
        let channels = self.channels.lock().unwrap_or_else(PoisonError::into_inner);
        channels.iter().find(|channel| channel.snid() == snid).cloned()
    }

    /// Cuts every connection: the server ends.
    pub(crate) fn disconnect_all(&self) {
        for channel in &*self.channels.lock().unwrap_or_else(PoisonError::into_inner) {
            channel.disconnect();
        }
    }
}

/// A worker's own copies of the registry's entries: the lock is taken once a client, not once an RPC.
#[derive(Debug)]
pub(crate) struct ChannelCache {
    registry: Arc<Registry>,
    by_seat: Vec<Option<Arc<Channel>>>,
    departures: u64,
}

impl ChannelCache {
    /// A cache with room for all clients, so that a worker's first RPC of one allocates nothing.
    pub(crate) fn new(registry: Arc<Registry>, clients_max: u16) -> Self {
        Self { registry, by_seat: Vec::with_capacity(usize::from(clients_max)), departures: 0 }
    }

    /// The ring of `snid`, which has an RPC in flight, so that the engine keeps the ring.
    #[inline(always)]
    pub(crate) fn channel(&mut self, snid: NodeId) -> Option<&Channel> {
        let is_known = matches!(self.by_seat.get(seat(snid)), Some(Some(channel)) if channel.snid() == snid);
        if !is_known {
            self.fill(snid)?;
        }
        self.by_seat[seat(snid)].as_deref()
    }

    /// As [`channel`](Self::channel), to be kept while the RPC lasts.
    #[inline]
    pub(crate) fn shared(&mut self, snid: NodeId) -> Option<Arc<Channel>> {
        self.channel(snid)?;
        self.by_seat[seat(snid)].clone()
    }

    #[cold]
    fn fill(&mut self, snid: NodeId) -> Option<()> {
        let channel = self.registry.find(snid)?;
        if self.by_seat.len() <= seat(snid) {
            self.by_seat.resize(seat(snid) + 1, None);
        }
        self.by_seat[seat(snid)] = Some(channel);
        Some(())
    }

    /// Lets go of rings whose clients have left; for idle moments.
    #[inline]
    pub(crate) fn tidy(&mut self) {
        let departures = self.registry.departures.load(Ordering::Acquire);
        if departures != self.departures {
            self.departures = departures;
            self.by_seat.clear();
        }
    }
}
