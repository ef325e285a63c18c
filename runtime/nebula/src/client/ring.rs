//! The client's end of the ring: positions in use, where the next RPC is written, which answers
//! have arrived.

use super::doorbell::Doorbell;
use crate::client::error::{ConnectError, SubmitError};
use crate::config::client::ClientConfig;
use crate::rpc::slot::{Geometry, HEADER_WORDS, Mark, SlotHeader, Slots, first_word, is_request, publish_whole};
use crate::transport::shm::channel::{quiet_word, shared_bytes, sleep_word};
use crate::transport::shm::handshake::{self, Hello, Mappable, VERSION, Welcome};
use crate::transport::shm::listener::dial;
use crate::yielding::Yielding;
use nebula_nic::TransferId;
use nebula_sys::clock::Clock;
use nebula_sys::copy::store_bytes;
use nebula_sys::lines::RingMemory;
use nebula_sys::places::Places;
use nebula_sys::process::{own_uid, uid_of_peer};
use nebula_sys::shared::{ReadOnlyMemory, SharedMemory};
use nebula_sys::sync::{AtomicU64, Ordering};
use nebula_sys::wake::SleepWord;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::net::{RecvFlags, recv};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::{Duration, Instant};

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u16)]
pub(crate) enum State {
    /// In the ring only.
    #[default]
    Sent,
    /// The requester has it too, for its deadline or a repetition.
    Tracked,
    Forsaken,
    Over,
}

#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Entry {
    pub(crate) token: u64,
    /// Its number, if the requester gave it one.
    pub(crate) tid: TransferId,
    pub(crate) span: u16,
    pub(crate) state: State,
}

/// Result of one look at the oldest RPC.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Next {
    /// A reply in one slot to a [`State::Sent`] RPC; it was taken.
    Reply { token: u64, bytes: u32 },
    /// It is not answered.
    Pending,
    /// The ring is empty.
    Empty,
    /// Another answer.
    Other,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Answered {
    pub(crate) position: u32,
    pub(crate) entry: Entry,
    pub(crate) header: SlotHeader,
}

/// Polls between two looks at the clock. Few, as a caller that yields may wait milliseconds for
/// each.
const POLLS_PER_CLOCK: u32 = 8;
/// Least time between two looks at the socket, which cost 0.2 µs each.
const PS_PER_LOOK: u64 = 50_000_000;
/// Wake-ups taken off the socket at once: more than it holds.
const WAKE_UPS_MAX: u32 = 1024;
/// Most polls of the oldest slot between two looks at another one.
const ROVE_EVERY_MAX: u32 = 64;
const OVER_PASSED_MAX: u32 = 256;

/// The ring, and the socket that shows whether the server lives.
///
/// It is also the table of outstanding RPCs: from position `oldest` to `next`, in the order sent.
#[derive(Debug)]
pub(crate) struct Ring {
    memory: RingMemory,
    geometry: Geometry,
    socket: OwnedFd,
    next: u32,
    /// The oldest RPC whose slots are not free; `next` if there is none.
    oldest: u32,
    /// Slots that may be in use before `entries` must grow; zero once the server is gone.
    room: u32,
    /// As many as have been needed: most clients of a long ring never fill it.
    entries: Places<Entry>,
    /// Entries from `oldest` on that are over.
    over: u32,
    polls: u32,
    idles: u32,
    rover: u32,
    rove_every: u32,
    is_gone: bool,
    may_sleep: bool,
    /// Whether the server reads the mark of a cancelled RPC.
    tells_cancels: bool,
    clock: Clock,
    looked_ticks: u64,
    /// The oldest RPC at the last look without an answer, and since when it is the oldest.
    waited_for: u32,
    waited_ticks: u64,
    yielding: Yielding,
    doorbell: Option<Doorbell>,
    /// The server's last word that it does not look here, for which the doorbell has rung.
    rung_for: u64,
}

pub(crate) struct Connected {
    pub(crate) ring: Ring,
    pub(crate) welcome: Welcome,
    pub(crate) status: ReadOnlyMemory,
    pub(crate) regions: Vec<(Mappable, OwnedFd)>,
}

/// The RPCs that a new client has entries for: 1 KiB of them.
const ENTRIES_FIRST: u32 = 64;
/// The longest reply that a new client has memory for: many clients get no longer one.
pub(crate) const REPLY_BYTES_FIRST: u32 = 512;
const ANSWER_WITHIN: Duration = Duration::from_secs(5);

/// Maps the ring that the server `name` grants. The server wakes a client that may sleep.
pub(crate) fn connect(name: &str, config: &ClientConfig, may_sleep: bool) -> Result<Connected, ConnectError> {
    let &ClientConfig { slots, slots_max, domain, one_sided: maps, .. } = config;
    let (version, sleeps, observes, has_doorbell) = (VERSION, may_sleep, false, true);
    // Operations have a place for each slot.
    let slots_max = if maps { 0 } else { slots_max };
    connect_saying(name, Hello { version, slots, slots_max, sleeps, domain, observes, maps, has_doorbell })
}

pub(crate) fn connect_saying(name: &str, hello: Hello) -> Result<Connected, ConnectError> {
    let may_sleep = hello.sleeps;
    let system = |cause: std::io::Error| ConnectError::System { endpoint: format!("shm://{name}"), cause };
    let socket = dial(name).map_err(|cause| match cause.kind() {
        std::io::ErrorKind::ConnectionRefused | std::io::ErrorKind::NotFound => {
            ConnectError::NobodyServes { endpoint: format!("shm://{name}") }
        }
        _ => system(cause),
    })?;
    let uid = uid_of_peer(&socket).map_err(system)?;
    if uid != own_uid() && uid != 0 {
        return Err(ConnectError::ServerUserId { name: name.to_owned(), uid });
    }
    let unclear = || ConnectError::Handshake { name: name.to_owned() };
    handshake::send(&socket, &hello.encode(), &[]).map_err(|_| unclear())?;
    if !wait_readable(&socket, ANSWER_WITHIN) {
        return Err(unclear());
    }
    let (message, fds) = handshake::receive(&socket).map_err(system)?.ok_or_else(unclear)?;
    let welcome = handshake::decode_answer(&message).ok_or_else(unclear)??;
    let mut fds = fds.into_iter();
    let (Some(memory), Some(status)) = (fds.next(), fds.next()) else { return Err(unclear()) };
    let mut memory = SharedMemory::open(memory, shared_bytes(welcome.geometry))?;
    let doorbells = fds.next().filter(|_| welcome.doorbells > 0);
    let doorbell = doorbells.map(|doorbells| Doorbell::open(&welcome, doorbells, &status)).transpose()?;
    let status = ReadOnlyMemory::open(&status, welcome.status_bytes as usize)?;
    // The socket is the only descriptor that a client keeps.
    memory.close_fd();
    let regions =
        (0..welcome.regions).map(|_| receive_region(&socket).ok_or_else(unclear)).collect::<Result<_, _>>()?;
    let ring = Ring::new(memory, welcome.geometry, socket, may_sleep);
    let ring = Ring { tells_cancels: welcome.cancels, doorbell, ..ring };
    Ok(Connected { ring, welcome, status, regions })
}

fn receive_region(socket: &OwnedFd) -> Option<(Mappable, OwnedFd)> {
    if !wait_readable(socket, ANSWER_WITHIN) {
        return None;
    }
    let (message, fds) = handshake::receive(socket).ok()??;
    let [memory] = <[OwnedFd; 1]>::try_from(fds).ok()?;
    Some((Mappable::decode(&message)?, memory))
}

fn wait_readable(socket: &OwnedFd, within: Duration) -> bool {
    let until = Instant::now() + within;
    loop {
        let left = until.saturating_duration_since(Instant::now());
        let timeout = Timespec::try_from(left).unwrap_or_default();
        match poll(&mut [PollFd::new(socket, PollFlags::IN)], Some(&timeout)) {
            Ok(ready) => return ready > 0,
            Err(rustix::io::Errno::INTR) => {}
            Err(_) => return false,
        }
    }
}

impl Ring {
    fn new(memory: SharedMemory, geometry: Geometry, socket: OwnedFd, may_sleep: bool) -> Self {
        Self {
            memory: geometry.of(memory),
            geometry,
            socket,
            next: 0,
            oldest: 0,
            room: geometry.slots.min(ENTRIES_FIRST),
            entries: Places::new(geometry.slots.min(ENTRIES_FIRST)),
            over: 0,
            polls: 0,
            idles: 0,
            rover: 0,
            rove_every: 1,
            is_gone: false,
            may_sleep,
            tells_cancels: false,
            clock: Clock::new(),
            looked_ticks: 0,
            waited_for: 0,
            waited_ticks: 0,
            yielding: Yielding::new(),
            doorbell: None,
            rung_for: 0,
        }
    }

    #[inline(always)]
    pub(crate) fn geometry(&self) -> Geometry {
        self.geometry
    }

    #[inline(always)]
    fn slots(&self) -> Slots<'_> {
        Slots::of(&self.memory, self.geometry)
    }

    #[inline(always)]
    pub(crate) fn has_room(&self, span: u32) -> bool {
        self.next.wrapping_sub(self.oldest) + span <= self.room
    }

    /// As [`has_room`](Self::has_room), with entries for as many slots as the ring has.
    pub(crate) fn make_room(&mut self, span: u32) -> bool {
        self.has_room(span) || self.grow(span)
    }

    #[cold]
    fn grow(&mut self, span: u32) -> bool {
        let in_use = self.next.wrapping_sub(self.oldest);
        let needed = in_use.saturating_add(span);
        if self.is_gone || needed > self.geometry.slots {
            return false;
        }
        let mut entries = Places::new(needed.next_power_of_two());
        for position in (0..in_use).map(|ahead| self.oldest.wrapping_add(ahead)) {
            *entries.at_mut(position) = *self.entries.at(position);
        }
        self.entries = entries;
        self.room = self.entries.count();
        true
    }

    #[inline(always)]
    fn entry(&mut self, position: u32) -> &mut Entry {
        self.entries.at_mut(position)
    }

    #[cold]
    pub(crate) fn refusal(&mut self) -> SubmitError {
        if self.looks_gone() { SubmitError::ServerGone } else { SubmitError::Full }
    }

    /// Where the next RPC goes.
    ///
    /// An empty ring starts again at its first slot: with few RPCs outstanding both sides touch few
    /// lines, however long the ring is.
    #[inline(always)]
    fn place(&mut self) -> u32 {
        if self.next == self.oldest && self.next & (self.geometry.slots - 1) != 0 {
            self.next = self.geometry.next_lap(self.next);
            self.oldest = self.next;
        }
        self.next
    }

    #[inline(always)]
    fn begin(&mut self, entry: Entry) -> u32 {
        let position = self.place();
        *self.entry(position) = entry;
        self.next = position.wrapping_add(entry.span.into());
        position
    }

    /// Rings after a request was written, if the server does not look at this ring by itself.
    #[inline(always)]
    fn announce(&mut self) {
        let quiet = quiet_word(&self.memory).load(Ordering::Relaxed);
        if quiet != 0 {
            self.ring_doorbell(quiet);
        }
    }

    /// Rings once, although further requests may follow before the server has heard it.
    #[cold]
    fn ring_doorbell(&mut self, quiet: u64) {
        if let Some(doorbell) = self.doorbell.as_ref().filter(|_| quiet != self.rung_for) {
            self.rung_for = quiet;
            doorbell.ring(&self.socket);
        }
    }

    /// Sends an RPC of one packet that lies in the first line of its slot, which must be free.
    #[inline(always)]
    pub(crate) fn send_line(&mut self, token: u64, sizes: u64, request: &[u8]) {
        let position = self.begin(Entry { token, tid: TransferId(0), span: 1, state: State::Sent });
        let line = self.slots().line(position);
        store_bytes(&line[HEADER_WORDS..], request);
        publish_whole(line, first_word(Mark::Request, position, 1), sizes);
        self.announce();
    }

    /// Sends an RPC of one packet in one slot, which must be free.
    #[inline(always)]
    pub(crate) fn send_whole(&mut self, token: u64, sizes: u64, request: &[u8]) {
        let position = self.begin(Entry { token, tid: TransferId(0), span: 1, state: State::Sent });
        let slots = self.slots();
        slots.store(position, request);
        publish_whole(slots.line(position), first_word(Mark::Request, position, 1), sizes);
        self.announce();
    }

    /// As [`send_whole`](Self::send_whole), into the words that lie in one piece; `put` returns the
    /// sizes of what it wrote, or `None` to send nothing.
    #[inline(always)]
    pub(crate) fn send_put(&mut self, token: u64, put: impl FnOnce(&[AtomicU64]) -> Option<u64>) -> Option<()> {
        let position = self.place();
        let sizes = put(self.slots().front(position))?;
        self.begin(Entry { token, tid: TransferId(0), span: 1, state: State::Sent });
        publish_whole(self.slots().line(position), first_word(Mark::Request, position, 1), sizes);
        self.announce();
        Some(())
    }

    /// Sends an RPC in `entry.span` slots, which must be free, in as many packets as it needs.
    pub(crate) fn send(&mut self, entry: Entry, request: &[u8], key_hash: u32) {
        let position = self.begin(entry);
        #[expect(clippy::cast_possible_truncation, reason = "the length was compared with a u32")]
        let rpc_bytes = request.len() as u32;
        let packets = self.geometry.packets(rpc_bytes);
        let slots = self.slots();
        let mut parts = request.chunks(self.geometry.mtu_bytes as usize);
        for pkt_idx in 0..packets {
            let at = position.wrapping_add(pkt_idx);
            slots.store(at, parts.next().unwrap_or_default());
            let span = entry.span.into();
            slots.publish(at, SlotHeader { mark: Mark::Request, pkt_idx, span, rpc_bytes, extra: key_hash });
        }
        self.announce();
    }

    pub(crate) fn send_operation(&mut self, token: u64, message: &[u8]) {
        let position = self.begin(Entry { token, tid: TransferId(0), span: 1, state: State::Sent });
        #[expect(clippy::cast_possible_truncation, reason = "a block and what says where")]
        let rpc_bytes = message.len() as u32;
        let slots = self.slots();
        slots.store(position, message);
        slots.publish(position, SlotHeader { mark: Mark::Operation, pkt_idx: 0, span: 1, rpc_bytes, extra: 0 });
        self.announce();
    }

    /// Copies a reply of at most `most` bytes in the oldest slot to `into`, which has room for some
    /// bytes more, and frees the slot.
    #[inline(always)]
    pub(crate) fn take_oldest(&mut self, into: &mut [u8], most: u32) -> Next {
        let position = self.oldest;
        if position == self.next {
            return Next::Empty;
        }
        let slots = self.slots();
        let line = slots.line(position);
        // Acquire: pairs with the Release of the worker that publishes the reply.
        let first = line[0].load(Ordering::Acquire);
        if first != first_word(Mark::Reply, position, 1) {
            return if is_request(first, position) { Next::Pending } else { Next::Other };
        }
        #[expect(clippy::cast_possible_truncation, reason = "the low half")]
        let bytes = line[1].load(Ordering::Relaxed) as u32;
        let Entry { token, span, state, .. } = *self.entries.at(position);
        if state != State::Sent || bytes > most {
            return Next::Other;
        }
        slots.load_whole(line, position, into, bytes as usize);
        self.oldest = position.wrapping_add(span.into());
        if self.over > 0 {
            self.free_over();
        }
        Next::Reply { token, bytes }
    }

    #[inline(always)]
    pub(crate) fn rove_every(&self) -> u32 {
        self.rove_every
    }

    /// Returns an RPC whose answer has come.
    ///
    /// Answers mostly come in the order of the requests, so this looks at the oldest slot. Several
    /// workers reorder answers, so it sometimes looks at another slot, more often the more that
    /// finds. A look at an unanswered slot costs the server a line transfer.
    #[inline]
    pub(crate) fn next_answer(&mut self) -> Option<Answered> {
        if self.oldest == self.next {
            return None;
        }
        if let Some(answered) = self.answer(self.oldest) {
            self.polls = 0;
            return Some(answered);
        }
        self.polls = self.polls.wrapping_add(1);
        if self.polls.is_multiple_of(self.rove_every) { self.rove() } else { None }
    }

    #[inline(always)]
    fn answer(&mut self, position: u32) -> Option<Answered> {
        let header = self.slots().header(position)?;
        if matches!(header.mark, Mark::Request | Mark::Cancelled | Mark::Operation) {
            return None;
        }
        Some(Answered { position, entry: *self.entry(position), header })
    }

    #[inline(never)]
    fn rove(&mut self) -> Option<Answered> {
        self.rover = self.behind(self.rover);
        // Behind a long RPC most may be over: they are skipped without a look at their slots.
        for _ in 0..OVER_PASSED_MAX {
            if self.entry(self.rover).state != State::Over {
                break;
            }
            self.rover = self.behind(self.rover);
        }
        let is_over = self.entry(self.rover).state == State::Over;
        let found = if is_over { None } else { self.answer(self.rover) };
        let every = if found.is_some() { self.rove_every / 4 } else { self.rove_every * 2 };
        self.rove_every = every.clamp(1, ROVE_EVERY_MAX);
        found
    }

    /// The RPC sent after the one at `position`; the oldest after the last one and after a freed
    /// one.
    fn behind(&mut self, position: u32) -> u32 {
        let outstanding = self.next.wrapping_sub(self.oldest);
        let ahead = position.wrapping_sub(self.oldest);
        let behind = if ahead < outstanding { ahead + u32::from(self.entry(position).span) } else { 0 };
        if behind < outstanding { self.oldest.wrapping_add(behind) } else { self.oldest }
    }

    /// Frees the slots of the RPC at `position`, whose answer was taken.
    #[inline(always)]
    pub(crate) fn end(&mut self, position: u32) {
        self.entry(position).state = State::Over;
        self.over += 1;
        self.free_over();
    }

    #[inline]
    fn free_over(&mut self) {
        while self.over > 0 {
            let Entry { state, span, .. } = *self.entry(self.oldest);
            if state != State::Over {
                break;
            }
            self.oldest = self.oldest.wrapping_add(span.into());
            self.over -= 1;
        }
    }

    /// Marks this RPC as cancelled, if the server reads that and has not answered.
    pub(crate) fn cancel(&self, token: u64) {
        let mut position = self.oldest;
        while self.tells_cancels && position != self.next {
            let entry = *self.entries.at(position);
            if entry.token == token && entry.state != State::Over {
                self.slots().cancel(position, entry.span.into());
                return;
            }
            position = position.wrapping_add(entry.span.into());
        }
    }

    /// Calls `visit` with the RPCs in the ring, the oldest first, until it returns `false`.
    pub(crate) fn visit(&mut self, mut visit: impl FnMut(&mut Entry) -> bool) {
        let mut position = self.oldest;
        while position != self.next {
            let next = position.wrapping_add(self.entry(position).span.into());
            if !visit(self.entry(position)) {
                return;
            }
            position = next;
        }
    }

    #[inline(always)]
    pub(crate) fn load(&self, position: u32, into: &mut [u8]) {
        self.slots().load(position, into);
    }

    #[inline(always)]
    pub(crate) fn looks_gone(&mut self) -> bool {
        self.idles = self.idles.wrapping_add(1);
        if !self.is_gone && (self.idles.is_multiple_of(POLLS_PER_CLOCK) || self.yielding.takes_turns()) {
            self.look();
        }
        self.is_gone
    }

    pub(crate) fn is_gone_by_now(&mut self) -> bool {
        self.ask();
        self.is_gone
    }

    #[inline(never)]
    fn look(&mut self) {
        let ticks = self.clock.ticks();
        if self.clock.ps(ticks.wrapping_sub(self.looked_ticks)) >= PS_PER_LOOK {
            self.looked_ticks = ticks;
            self.ask();
        }
        if self.waited_for != self.oldest {
            (self.waited_for, self.waited_ticks) = (self.oldest, ticks);
        } else if self.oldest != self.next {
            self.yielding.wait_since(self.waited_ticks);
        }
    }

    fn ask(&mut self) {
        // A server sends nothing after its welcome, so anything to read is the end. Only a client
        // that may sleep gets wake-ups, which stay for the sleeping thread.
        let watched = if self.may_sleep { PollFlags::empty() } else { PollFlags::IN };
        let mut fds = [PollFd::new(&self.socket, watched)];
        self.is_gone = matches!(poll(&mut fds, Some(&Timespec::default())), Ok(ready) if ready > 0);
        self.room = if self.is_gone { 0 } else { self.entries.count() };
    }

    /// Takes the server's wake-ups off the socket. Returns whether the server is gone.
    pub(crate) fn take_wake_ups(&mut self) -> bool {
        for _ in 0..WAKE_UPS_MAX {
            match recv(&self.socket, &mut [0; 8], RecvFlags::DONTWAIT) {
                Ok((_, bytes)) if bytes > 0 => {}
                Err(rustix::io::Errno::INTR) => {}
                _ => break,
            }
        }
        self.ask();
        self.is_gone
    }

    /// Sleeps until the server has answered, is gone, or `timeout` is over. Only for a ring that
    /// [may](connect).
    pub(crate) fn sleep(&mut self, timeout: Duration) {
        self.set_armed(true);
        if !self.has_answer() {
            let mut fds = [PollFd::new(&self.socket, PollFlags::IN)];
            // A signal ends the wait early.
            let _ = poll(&mut fds, Some(&Timespec::try_from(timeout).unwrap_or_default()));
        }
        self.set_armed(false);
        self.take_wake_ups();
    }

    pub(crate) fn may_sleep(&self) -> bool {
        self.may_sleep
    }

    /// Whether any RPC has been answered. Looks at each.
    pub(crate) fn has_answer(&mut self) -> bool {
        let mut position = self.oldest;
        self.next_answer_from(&mut position).is_some()
    }

    pub(crate) fn socket(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }

    /// Asks for a wake-up at the next answer, or for none. A caller that asks for one must look at
    /// all slots afterwards.
    pub(crate) fn set_armed(&self, is_armed: bool) {
        if self.may_sleep {
            let word = SleepWord::new(sleep_word(&self.memory));
            if is_armed { word.arm() } else { word.disarm() }
        }
    }

    pub(crate) fn oldest(&self) -> u32 {
        self.oldest
    }

    /// Returns an answer from `position` on and moves `position` behind it. Looks at each RPC.
    pub(crate) fn next_answer_from(&mut self, position: &mut u32) -> Option<Answered> {
        while position.wrapping_sub(self.oldest) < self.next.wrapping_sub(self.oldest) {
            let entry = *self.entry(*position);
            let found = if entry.state == State::Over { None } else { self.answer(*position) };
            *position = position.wrapping_add(entry.span.into());
            if found.is_some() {
                return found;
            }
        }
        None
    }
}

/// Counts the polls and the time of a wait for one answer. The ring yields the core meanwhile.
pub(crate) struct Idle {
    polls: u32,
    until: Option<Instant>,
    timeout: Duration,
}

impl Idle {
    pub(crate) fn new(timeout: Duration) -> Self {
        Self { polls: 0, until: None, timeout }
    }

    /// Whether the time is over. Reads the clock only after many polls.
    pub(crate) fn is_over(&mut self) -> bool {
        self.left().is_some_and(|left| left.is_zero())
    }

    /// The rest of the time, once the wait has lasted for many polls.
    pub(crate) fn left(&mut self) -> Option<Duration> {
        if self.polls < 2048 {
            return None;
        }
        let now = Instant::now();
        let until = *self.until.get_or_insert(now + self.timeout);
        Some(until.saturating_duration_since(now))
    }

    #[inline]
    pub(crate) fn pause(&mut self) {
        self.polls = self.polls.saturating_add(1);
        std::hint::spin_loop();
    }
}
