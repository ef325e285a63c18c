//! The client's end of the ring: which positions are in use, where the next RPC is written, which answers have arrived.

use super::{ConnectError, SubmitError};
use crate::transport::shm::handshake::{self, Hello, VERSION, Welcome};
use crate::transport::shm::listener::dial;
use crate::transport::shm::slot::{Geometry, Mark, SlotHeader, Slots};
use nebula_nic::{Header, Outbound, TransferId};
use nebula_sys::clock::Clock;
use nebula_sys::process::{own_uid, peer_of};
use nebula_sys::shared::{ReadOnlyMemory, SharedMemory};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

/// An RPC in the ring.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pending {
    pub(crate) position: u32,
    pub(crate) tid: TransferId,
    span: u32,
    is_done: bool,
}

/// The RPCs in the ring, in the order of their positions: at most as many as it has slots, so a plain array with a mask.
#[derive(Debug)]
struct PendingQueue {
    entries: Box<[Pending]>,
    head: u32,
    len: u32,
}

impl PendingQueue {
    fn new(slots: u32) -> Self {
        let entry = Pending { position: 0, tid: TransferId(0), span: 0, is_done: false };
        Self { entries: vec![entry; slots.next_power_of_two() as usize].into(), head: 0, len: 0 }
    }

    #[inline(always)]
    fn place(&self, ahead: u32) -> usize {
        self.head.wrapping_add(ahead) as usize & (self.entries.len() - 1)
    }

    #[inline(always)]
    fn get(&self, ahead: u32) -> Option<&Pending> {
        if ahead < self.len { Some(&self.entries[self.place(ahead)]) } else { None }
    }

    #[inline(always)]
    fn get_mut(&mut self, ahead: u32) -> Option<&mut Pending> {
        let place = self.place(ahead);
        if ahead < self.len { Some(&mut self.entries[place]) } else { None }
    }

    #[inline(always)]
    fn push_back(&mut self, pending: Pending) {
        let place = self.place(self.len);
        self.entries[place] = pending;
        self.len += 1;
    }

    #[inline(always)]
    fn pop_front(&mut self) -> Option<Pending> {
        let front = *self.get(0)?;
        self.head = self.head.wrapping_add(1);
        self.len -= 1;
        Some(front)
    }
}

/// Polls without an answer between two looks at the clock. Few, as a caller that yields between polls may wait for milliseconds each.
const POLLS_PER_CLOCK: u32 = 32;
/// Least time between two looks at the socket, against the 0.2 µs that one costs.
const PS_PER_LOOK: u64 = 50_000_000;
/// How far ahead of an answer that has come the next ones are fetched.
const ANSWERS_AHEAD: u32 = 4;
/// Most polls of the oldest slot between two looks at another one.
const ROVE_EVERY_MAX: u32 = 64;
/// Most RPCs that are over and passed by one such look.
const DONE_PASSED_MAX: u32 = 256;

/// The ring, and the socket that says whether the server lives.
#[derive(Debug)]
pub(crate) struct Ring {
    memory: SharedMemory,
    geometry: Geometry,
    socket: OwnedFd,
    next: u32,
    /// In the order of positions; slots come free from the front.
    pending: PendingQueue,
    slots_used: u32,
    /// Looks at the oldest slot since the last answer.
    polls: u32,
    /// Times that nothing was found to do.
    idles: u32,
    /// Which of the pending is looked at next, out of turn.
    rover: u32,
    rove_every: u32,
    is_gone: bool,
    clock: Clock,
    looked_ticks: u64,
    call_timeout: Duration,
}

/// What a server granted.
pub(crate) struct Connected {
    pub(crate) ring: Ring,
    pub(crate) welcome: Welcome,
    pub(crate) status: ReadOnlyMemory,
}

/// How long a server may take to answer a hello.
const ANSWER_WITHIN: Duration = Duration::from_secs(5);

/// Connects to the server of `name` and maps the ring that it grants.
pub(crate) fn connect(name: &str, slots: u32) -> Result<Connected, ConnectError> {
    let system = |cause: std::io::Error| ConnectError::System { endpoint: format!("shm://{name}"), cause };
    let socket = dial(name).map_err(|cause| match cause.kind() {
        std::io::ErrorKind::ConnectionRefused | std::io::ErrorKind::NotFound => {
            ConnectError::NobodyServes { endpoint: format!("shm://{name}") }
        }
        _ => system(cause),
    })?;
    let server = peer_of(&socket).map_err(system)?;
    if server.uid != own_uid() && server.uid != 0 {
        return Err(ConnectError::ServerUserId { name: name.to_owned(), uid: server.uid });
    }
    let unclear = || ConnectError::Handshake { name: name.to_owned() };
    handshake::send(&socket, &Hello { version: VERSION, slots }.encode(), &[]).map_err(|_| unclear())?;
    if !wait_readable(&socket, ANSWER_WITHIN) {
        return Err(unclear());
    }
    let (message, fds) = handshake::receive(&socket).map_err(system)?.ok_or_else(unclear)?;
    let welcome = handshake::decode_answer(&message).ok_or_else(unclear)??;
    let [memory, status] = <[OwnedFd; 2]>::try_from(fds).map_err(|_| unclear())?;
    let memory = SharedMemory::open(memory, welcome.geometry.bytes())?;
    let status = ReadOnlyMemory::open(&status, welcome.status_bytes as usize)?;
    Ok(Connected { ring: Ring::new(memory, welcome.geometry, socket), welcome, status })
}

fn wait_readable(socket: &OwnedFd, within: Duration) -> bool {
    let until = Instant::now() + within;
    loop {
        let left = until.saturating_duration_since(Instant::now());
        let timeout =
            Timespec { tv_sec: i64::try_from(left.as_secs()).unwrap_or(0), tv_nsec: left.subsec_nanos().into() };
        match poll(&mut [PollFd::new(socket, PollFlags::IN)], Some(&timeout)) {
            Ok(ready) => return ready > 0,
            Err(rustix::io::Errno::INTR) => {}
            Err(_) => return false,
        }
    }
}

impl Ring {
    fn new(memory: SharedMemory, geometry: Geometry, socket: OwnedFd) -> Self {
        let pending = PendingQueue::new(geometry.slots);
        Self {
            memory,
            geometry,
            socket,
            next: 0,
            pending,
            slots_used: 0,
            polls: 0,
            idles: 0,
            rover: 0,
            rove_every: 1,
            is_gone: false,
            clock: Clock::new(),
            looked_ticks: 0,
            call_timeout: Duration::from_secs(5),
        }
    }

    #[inline(always)]
    pub(crate) fn geometry(&self) -> Geometry {
        self.geometry
    }

    pub(crate) fn set_call_timeout(&mut self, timeout: Duration) {
        self.call_timeout = timeout;
    }

    pub(crate) fn call_timeout(&self) -> Duration {
        self.call_timeout
    }

    #[inline(always)]
    fn slots(&self) -> Slots<'_> {
        Slots::new(self.memory.words(), self.geometry)
    }

    #[inline(always)]
    pub(crate) fn has_room(&self, span: u32) -> bool {
        self.slots_used + span <= self.geometry.slots && !self.is_gone
    }

    /// Why there is no room.
    #[cold]
    pub(crate) fn refusal(&mut self) -> SubmitError {
        if self.looks_gone() { SubmitError::ServerGone } else { SubmitError::Full }
    }

    /// Puts the packets of an RPC into the next slots; there must be room.
    #[inline(always)]
    pub(crate) fn send(&mut self, packets: Outbound, span: u32, request: &[u8]) {
        let (position, tid) = (self.next, packets.tid());
        let mut rest = request;
        for header in packets {
            let (part, later) = rest.split_at(rest.len().min(self.geometry.mtu_bytes as usize));
            self.send_packet(position, &header, span, part);
            rest = later;
        }
        self.next = position.wrapping_add(span);
        self.slots_used += span;
        self.pending.push_back(Pending { position, tid, span, is_done: false });
    }

    #[inline(always)]
    fn send_packet(&self, position: u32, header: &Header, span: u32, part: &[u8]) {
        let (slots, at) = (self.slots(), position.wrapping_add(header.pkt_idx));
        slots.store(at, part);
        let &Header { pkt_idx, rpc_bytes, key_hash: extra, .. } = header;
        slots.publish(at, SlotHeader { mark: Mark::Request, pkt_idx, span, rpc_bytes, extra });
    }

    /// An RPC whose answer has come, with the answer's header.
    ///
    /// Answers mostly come in the order of the requests, so the oldest slot is looked at. With several workers they do not: so
    /// every now and then another slot is looked at too, the more often the more that finds. A look at a slot that is not answered yet
    /// costs the server a line transfer.
    #[inline(always)]
    pub(crate) fn next_answer(&mut self) -> Option<(Pending, SlotHeader)> {
        let oldest = *self.pending.get(0)?;
        if let Some(header) = self.answer(oldest) {
            self.polls = 0;
            self.slots().prefetch_write(oldest.position);
            self.slots().prefetch_read(oldest.position.wrapping_add(ANSWERS_AHEAD));
            return Some((oldest, header));
        }
        self.polls = self.polls.wrapping_add(1);
        if self.polls.is_multiple_of(self.rove_every) { self.rove() } else { None }
    }

    #[inline(always)]
    fn answer(&self, pending: Pending) -> Option<SlotHeader> {
        self.slots().header(pending.position).filter(|header| header.mark != Mark::Request)
    }

    #[inline(never)]
    fn rove(&mut self) -> Option<(Pending, SlotHeader)> {
        self.rover = self.behind(self.rover);
        // Behind an RPC that takes long, most may be over: those are passed at once, for nobody need look at their slots.
        for _ in 0..DONE_PASSED_MAX {
            if !self.pending.get(self.rover).is_some_and(|pending| pending.is_done) {
                break;
            }
            self.rover = self.behind(self.rover);
        }
        let found = self.pending.get(self.rover).copied().filter(|pending| !pending.is_done);
        let found = found.and_then(|pending| self.answer(pending).map(|header| (pending, header)));
        let every = if found.is_some() { self.rove_every / 4 } else { self.rove_every * 2 };
        self.rove_every = every.clamp(1, ROVE_EVERY_MAX);
        found
    }

    /// The place of the RPC sent after the one at `place`; after the last the first.
    fn behind(&self, place: u32) -> u32 {
        if place + 1 < self.pending.len { place + 1 } else { 0 }
    }

    /// Gives back the slots of an RPC whose answer was taken.
    #[inline(always)]
    pub(crate) fn done(&mut self, answered: Pending) {
        if self.pending.get(0).is_some_and(|oldest| oldest.position == answered.position) {
            self.pop_front();
            while self.pending.get(0).is_some_and(|oldest| oldest.is_done) {
                self.pop_front();
            }
        } else if let Some(pending) = self.pending.get_mut(self.rover) {
            pending.is_done = pending.is_done || pending.position == answered.position;
        }
    }

    #[inline(always)]
    fn pop_front(&mut self) {
        if let Some(oldest) = self.pending.pop_front() {
            self.slots_used -= oldest.span;
            self.rover = self.rover.saturating_sub(1);
        }
    }

    #[inline(always)]
    pub(crate) fn load(&self, position: u32, into: &mut [u8]) {
        self.slots().load(position, into);
    }

    /// Whether the server is gone; asks the kernel only now and then.
    #[inline(always)]
    pub(crate) fn looks_gone(&mut self) -> bool {
        self.idles = self.idles.wrapping_add(1);
        if !self.is_gone && self.idles.is_multiple_of(POLLS_PER_CLOCK) {
            self.look();
        }
        self.is_gone
    }

    #[inline(never)]
    fn look(&mut self) {
        let ticks = self.clock.ticks();
        if self.clock.ps(ticks.wrapping_sub(self.looked_ticks)) >= PS_PER_LOOK {
            self.looked_ticks = ticks;
            self.is_gone = self.has_hung_up();
        }
    }

    fn has_hung_up(&self) -> bool {
        let mut fds = [PollFd::new(&self.socket, PollFlags::IN)];
        // A server sends nothing after its welcome: anything to read is the end.
        matches!(poll(&mut fds, Some(&Timespec::default())), Ok(ready) if ready > 0)
    }
}

/// Waiting for one answer: polls, then lets others run between polls.
pub(crate) struct Idle {
    polls: u32,
    until: Option<Instant>,
    timeout: Duration,
}

impl Idle {
    pub(crate) fn new(timeout: Duration) -> Self {
        Self { polls: 0, until: None, timeout }
    }

    pub(crate) fn reset(&mut self) {
        self.polls = 0;
    }

    /// Whether the time is over; reads the clock only once it has begun to yield.
    pub(crate) fn is_over(&mut self) -> bool {
        if self.polls < 2048 {
            return false;
        }
        let until = *self.until.get_or_insert_with(|| Instant::now() + self.timeout);
        Instant::now() >= until
    }

    #[inline]
    pub(crate) fn pause(&mut self) {
        self.polls = self.polls.saturating_add(1);
        if self.polls < 2048 {
            std::hint::spin_loop();
        } else {
            std::thread::yield_now();
        }
    }
}
