//! The rings of all clients of an engine over shared memory, and the engine's place in each.

use super::channel::Channel;
use super::listener::{Event, EventQueue, client_index};
use super::registry::Registry;
use crate::nic::one_sided::OneSided;
use nebula_nic::{NodeId, Timestamp};
use std::os::fd::OwnedFd;
use std::sync::Arc;

/// A client's ring, and the engine's place in it: in one cache line.
#[derive(Debug)]
#[repr(align(64))]
pub(super) struct PeerRing {
    pub(super) channel: Arc<Channel>,
    pub(super) cursor: u32,
    /// Where the next packet is looked for first: at the cursor or at the ring's first slot.
    pub(super) look: u32,
    /// Slots that the latest RPC of one packet spanned: the guess for the next one.
    pub(super) span: u32,
    /// The RPC of several packets that the cursor is inside.
    pub(super) current: Option<Current>,
    pub(super) in_flight: u32,
    pub(super) is_gone: bool,
    /// Whether the client is told to ring.
    pub(super) is_quiet: bool,
    /// How often it was told so.
    pub(super) quiets: u32,
    /// The index in `Rings::hot`, or [`NOWHERE`].
    pub(super) hot_at: u32,
    /// Looks at it since it last had an RPC or its client was told something.
    pub(super) misses: u32,
}

const _: () = assert!(size_of::<PeerRing>() == 64);

#[derive(Clone, Copy, Debug)]
pub(super) struct Current {
    pub(super) base: u32,
    pub(super) span: u32,
    pub(super) rpc_bytes: u32,
    pub(super) packets: u32,
}

/// All clients: a dense list to poll, and each client's index in it.
#[derive(Debug)]
pub(crate) struct Rings {
    pub(super) list: Vec<PeerRing>,
    /// By client index: index into `list`.
    pub(super) places: Box<[u32]>,
    /// Rings looked at in each turn: indices into `list`.
    pub(super) hot: Vec<u32>,
    /// The quiet ring looked at last, and the turns with quiet rings.
    pub(super) rover: usize,
    pub(super) turns: u32,
    /// The time of the latest turn, and when clients were last told of a sleep.
    pub(super) now: Timestamp,
    pub(super) told: Timestamp,
    pub(super) clients_max: u32,
    pub(super) ears: Ears,
    pub(super) violations: u64,
    /// RPCs cancelled before a core got them.
    pub(super) cancelled: u64,
    pub(super) first: usize,
    pub(super) registry: Arc<Registry>,
    pub(super) events: Arc<EventQueue>,
    pub(super) one_sided: OneSided,
}

pub(super) const NOWHERE: u32 = u32::MAX;

/// The sockets that wake a sleeping engine.
#[derive(Debug, Default)]
pub(super) struct Ears {
    pub(super) epoll: Option<OwnedFd>,
    pub(super) knows_parker: bool,
    /// Clients whose bytes are to be taken before the next sleep.
    pub(super) heard: Vec<NodeId>,
    /// Clients that cannot wake the engine.
    pub(super) mute: usize,
}

impl Rings {
    pub(crate) fn new(clients_max: u16, registry: Arc<Registry>, events: Arc<EventQueue>, one_sided: OneSided) -> Self {
        Self {
            list: Vec::new(),
            places: vec![NOWHERE; usize::from(clients_max)].into(),
            hot: Vec::new(),
            rover: 0,
            turns: 0,
            now: Timestamp::ZERO,
            told: Timestamp::ZERO,
            clients_max: clients_max.into(),
            ears: Ears::default(),
            violations: 0,
            cancelled: 0,
            first: 0,
            registry,
            events,
            one_sided,
        }
    }

    pub(super) fn len(&self) -> u32 {
        u32::try_from(self.list.len()).unwrap_or(u32::MAX)
    }

    pub(super) fn place(&self, snid: NodeId) -> Option<usize> {
        let place = *self.places.get(client_index(snid))? as usize;
        (self.list.get(place)?.channel.snid() == snid).then_some(place)
    }

    #[cold]
    pub(super) fn read(&mut self, events: Vec<Event>) -> Vec<NodeId> {
        let mut gone = Vec::new();
        for event in events {
            match event {
                Event::Attach(channel) => self.attach(channel),
                Event::Gone(snid) => gone.push(snid),
            }
        }
        gone
    }

    pub(super) fn attach(&mut self, channel: Arc<Channel>) {
        self.registry.insert(channel.clone());
        self.places[client_index(channel.snid())] = self.len();
        self.list.push(PeerRing {
            channel,
            cursor: 0,
            look: 0,
            span: 1,
            current: None,
            in_flight: 0,
            is_gone: false,
            is_quiet: false,
            quiets: 0,
            hot_at: NOWHERE,
            misses: 0,
        });
        let place = self.list.len() - 1;
        self.heat(place);
        self.listen_to(place);
    }

    #[cold]
    pub(super) fn remove(&mut self, place: usize) {
        self.leave(place);
        let gone = self.list.swap_remove(place);
        let snid = gone.channel.snid();
        self.listen_no_more_to(&gone.channel);
        self.places[client_index(snid)] = NOWHERE;
        if let Some(moved) = self.list.get(place) {
            let now_at = u32::try_from(place).unwrap_or(NOWHERE);
            self.places[client_index(moved.channel.snid())] = now_at;
            if let Some(hot) = self.hot.get_mut(moved.hot_at as usize) {
                *hot = now_at;
            }
        }
        self.registry.remove(snid);
        self.events.retire(snid);
    }
}

impl PeerRing {
    /// RPCs are there: the engine looks at it in every turn.
    #[inline(always)]
    pub(super) fn note_taken(&mut self) {
        self.misses = 0;
        if self.is_quiet {
            self.set_quiet(false);
        }
    }

    /// Tells the client whether it must ring.
    #[cold]
    pub(super) fn set_quiet(&mut self, is_quiet: bool) {
        self.is_quiet = is_quiet;
        self.quiets = self.quiets.wrapping_add(1).max(1);
        self.channel.set_quiet(if is_quiet { self.quiets } else { 0 });
    }

    #[inline(always)]
    pub(super) fn has_request(&self) -> bool {
        self.channel.slots().has_request(self.cursor)
    }

    /// Moves the cursor to the packet that was found at `look`. Returns `false` if there is one at
    /// the cursor before it. A client begins at the ring's first slot again once it has taken all
    /// answers. It writes its positions in order. So if its packet is there, and there is still
    /// none at the cursor, it has skipped the rest of the lap.
    #[inline(always)]
    pub(super) fn begins_at_look(&mut self) -> bool {
        if self.look != self.cursor && self.has_request() {
            return false;
        }
        self.cursor = self.look;
        true
    }

    pub(super) fn goes_on(&mut self) -> bool {
        let goes_on = self.has_request();
        if goes_on {
            self.look = self.cursor;
        }
        goes_on
    }

    pub(super) fn restart(&mut self) -> bool {
        let slots = self.channel.slots();
        let lap = slots.geometry().next_lap(self.cursor);
        if self.current.is_some() || !slots.has_request(lap) {
            return false;
        }
        self.look = lap;
        // Meanwhile it may have written at the cursor.
        self.begins_at_look();
        true
    }
}
