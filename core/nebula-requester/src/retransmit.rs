//! Loss detection and retransmission: which RPCs are unanswered, when they count as lost, and how
//! much may be in flight.
//!
//! ```text
//! sent ──▶ in flight ──answered──▶ over                     lists by how often sent: each in the order of sending,
//!            │   ▲  └──acked──▶ in the server ──long──┐     so the first of a list is the first to be overdue
//!        overdue └───── sent again ◀── overdue ◀──────┘
//! ```
//!
//! An RPC is identified by its place, the low bits of its number. It counts as lost in two cases:
//! its time-out, which doubles with each transmission, has passed; or something sent later, by more
//! than the reordering margin, has been answered, which detects most losses within a round trip. An
//! RPC that the server has acknowledged is not lost, however long it takes; the client asks about
//! it from time to time.

use super::flow::{Flow, FlowControl, FlowKind, Progress};
use super::rtt::{Rtt, RttConfig};
use super::window::WindowConfig;
use alloc::boxed::Box;
use alloc::vec;
use nebula_nic::time::{Span, Timestamp};

/// Bounds of a [`Retransmit`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RetransmitConfig {
    /// RPCs: places are below this.
    pub places: u32,
    /// Transmissions of one RPC without any answer.
    pub transmissions_max: u32,
    /// Bounds of the time-out.
    pub rtt: RttConfig,
    /// The flow control.
    pub flow: FlowKind,
    /// Bounds of the window, if the flow control is a window.
    pub window: WindowConfig,
    /// Nothing is lost or overtaken on the way, as in a stream: an answer to something sent later
    /// does not indicate a loss, only time-outs do.
    pub is_lossless: bool,
}

impl RetransmitConfig {
    /// The default bounds, for places below `places`.
    #[must_use]
    pub fn new(places: u32) -> Self {
        let (rtt, window) = (RttConfig::default(), WindowConfig::default());
        Self { places, transmissions_max: 12, rtt, flow: FlowKind::Window, window, is_lossless: false }
    }
}

/// The action for an RPC that was not answered in time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Overdue {
    /// Send it again, and call [`Retransmit::sent`].
    Lost {
        /// Which RPC.
        place: u32,
    },
    /// It was sent as often as allowed.
    GaveUp {
        /// Which RPC.
        place: u32,
    },
}

/// Minimum of the reordering margin: a server's time for one batch.
const MARGIN_MIN: Span = Span::from_us(20);
/// How often the margin may be doubled because answers were late, not lost.
const PATIENCE_MAX: u32 = 5;
/// Answers after which the margin is halved again.
const PATIENCE_ANSWERS: u32 = 1024;
/// The longest time-out, however often it doubles.
const WAIT_MAX: Span = Span::from_secs(1);
/// The initial time until the client asks about an RPC that the server has acknowledged.
const ACKED_WAIT_MIN: Span = Span::from_ms(10);
/// Lists of RPCs in flight, one for each doubling of the time-out, and of acknowledged RPCs, one
/// for each doubling there.
const FLIGHT_LISTS: u32 = 14;
const ACKED_LISTS: u32 = 8;
const LISTS: usize = (FLIGHT_LISTS + ACKED_LISTS) as usize;
const NONE: u32 = u32::MAX;

const _: () = assert!(LISTS <= 32, "one bit of a word for each list");

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    #[default]
    Idle,
    /// Sent, in the list of the entry.
    Listed,
    /// Overdue: the caller must send it again.
    Overdue,
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    /// When it was sent, or acknowledged.
    since: Timestamp,
    older: u32,
    newer: u32,
    packets: u32,
    /// Transmissions since the last answer.
    transmissions: u32,
    state: State,
    list: u8,
    acks: u8,
    /// Declared lost before its time-out, perhaps wrongly.
    is_early: bool,
    /// The next answer gives a sample of the round-trip time.
    is_measured: bool,
}

#[derive(Clone, Copy, Debug)]
struct List {
    oldest: u32,
    newest: u32,
}

/// The retransmission of a client's RPCs, its round-trip estimate, and its window.
///
/// Call [`sent`](Self::sent) for each transmission and one of [`answered`](Self::answered),
/// [`acked`](Self::acked), [`refused`](Self::refused) or [`ended`](Self::ended) for its outcome.
/// Drain [`poll_overdue`](Self::poll_overdue) after answers and at
/// [`poll_timeout`](Self::poll_timeout). Times must not decrease. Cost: O(1) for each call,
/// whatever is in flight. No allocation.
///
/// # Panics
///
/// Every method with a `place` panics if there is no such place.
///
/// # Examples
///
/// ```
/// use nebula_nic::Timestamp;
/// use nebula_requester::{Overdue, Retransmit, RetransmitConfig};
///
/// let at_us = |us: u64| Timestamp::from_ps(us * 1_000_000);
/// let mut flights = Retransmit::new(RetransmitConfig::new(8));
/// flights.sent(at_us(0), 3, 1);
/// assert_eq!((flights.in_flight(), flights.poll_timeout()), (1, Some(at_us(1000))));
/// assert_eq!(flights.poll_overdue(at_us(1000)), Some(Overdue::Lost { place: 3 }));
/// flights.sent(at_us(1000), 3, 1);
/// assert_eq!(flights.poll_timeout(), Some(at_us(3000)), "twice as long");
/// flights.answered(at_us(1100), 3);
/// assert_eq!((flights.in_flight(), flights.poll_timeout()), (0, None));
/// ```
#[derive(Clone, Debug)]
pub struct Retransmit {
    entries: Box<[Entry]>,
    lists: [List; LISTS],
    /// One bit per non-empty list.
    listed: u32,
    rtt: Rtt,
    flow: Flow,
    paced_until: Timestamp,
    in_flight: u32,
    /// The most in flight since as many were answered.
    in_flight_max: u32,
    answered: u32,
    transmissions_max: u32,
    is_lossless: bool,
    /// When the latest answered transmission was sent.
    answered_sent: Timestamp,
    patience: u32,
    patience_answers: u32,
    /// The last time-out, and whether any answer has arrived since.
    timed_out: Option<Timestamp>,
    is_heard: bool,
}

impl Retransmit {
    /// Nothing sent.
    #[must_use]
    pub fn new(config: RetransmitConfig) -> Self {
        let entry = Entry {
            since: Timestamp::ZERO,
            older: NONE,
            newer: NONE,
            packets: 0,
            transmissions: 0,
            state: State::Idle,
            list: 0,
            acks: 0,
            is_early: false,
            is_measured: false,
        };
        Self {
            entries: vec![entry; config.places as usize].into(),
            lists: [List { oldest: NONE, newest: NONE }; LISTS],
            listed: 0,
            rtt: Rtt::new(config.rtt),
            flow: Flow::new(config.flow, config.window),
            paced_until: Timestamp::ZERO,
            in_flight: 0,
            in_flight_max: 0,
            answered: 0,
            transmissions_max: config.transmissions_max.max(1),
            is_lossless: config.is_lossless,
            answered_sent: Timestamp::ZERO,
            patience: 0,
            patience_answers: 0,
            timed_out: None,
            is_heard: false,
        }
    }

    /// Packets in flight, neither answered nor lost.
    #[must_use]
    #[inline]
    pub const fn in_flight(&self) -> u32 {
        self.in_flight
    }

    /// Packets that may be sent, of all RPCs together.
    #[must_use]
    #[inline]
    pub fn room(&self, now: Timestamp) -> u32 {
        if now < self.paced_until { 0 } else { self.flow.room_of_all(self.in_flight) }
    }

    /// Packets of `message` that may be sent.
    #[must_use]
    #[inline]
    pub fn room_of(&self, now: Timestamp, message: Progress) -> u32 {
        if now < self.paced_until { 0 } else { self.flow.room(self.in_flight, message) }
    }

    /// The earliest time of the next transmission, if the window is below a packet a round trip.
    #[must_use]
    pub const fn paced_until(&self) -> Timestamp {
        self.paced_until
    }

    /// The flow control.
    #[must_use]
    #[inline]
    pub const fn flow(&self) -> &Flow {
        &self.flow
    }

    /// Sets the packets of a message that the receiver takes before it has granted any.
    pub fn set_unscheduled(&mut self, packets: u32) {
        self.flow.set_unscheduled(packets);
    }

    /// The round-trip estimate.
    #[must_use]
    pub const fn rtt(&self) -> &Rtt {
        &self.rtt
    }

    /// Whether something is awaited for the RPC at `place`, with a time-out if it does not come.
    #[must_use]
    pub fn is_awaited(&self, place: u32) -> bool {
        self.entries[place as usize].state == State::Listed
    }

    /// `packets` of the RPC at `place` were sent, or requested, and an answer is expected; its
    /// earlier packets are no longer in flight.
    #[inline]
    pub fn sent(&mut self, now: Timestamp, place: u32, packets: u32) {
        self.unlist(place);
        let entry = &mut self.entries[place as usize];
        entry.since = now;
        entry.packets = packets;
        entry.is_measured = entry.transmissions == 0 && entry.acks == 0;
        // Several packets take longer, and give no comparable sample: they go into the second list.
        let doublings = entry.transmissions + u32::from(packets > 1);
        entry.transmissions += 1;
        self.in_flight += packets;
        self.in_flight_max = self.in_flight_max.max(self.in_flight);
        if let Some(pace) = self.flow.pace(self.rtt.smoothed().unwrap_or_else(|| self.rtt.rto())) {
            self.paced_until = now + pace;
        }
        self.list(place, doublings.min(FLIGHT_LISTS - 1));
    }

    /// Like [`sent`](Self::sent), for `packets` that arrive without a request after one that has
    /// arrived: they give no sample of the round trip.
    pub fn expects(&mut self, now: Timestamp, place: u32, packets: u32) {
        self.sent(now, place, packets);
        self.entries[place as usize].is_measured = false;
    }

    /// The server has acknowledged the RPC at `place`: no longer in flight, its answer is awaited.
    pub fn acked(&mut self, now: Timestamp, place: u32) {
        let Entry { state, packets, is_early, acks, .. } = self.entries[place as usize];
        if state == State::Idle {
            return;
        }
        if is_early {
            self.be_patient(packets);
        }
        self.is_heard = true;
        self.unlist(place);
        let entry = &mut self.entries[place as usize];
        (entry.since, entry.packets, entry.transmissions, entry.is_early) = (now, 0, 1, false);
        entry.acks = acks.saturating_add(1);
        self.list(place, FLIGHT_LISTS + u32::from(acks).min(ACKED_LISTS - 1));
    }

    /// All packets sent for the RPC at `place` have arrived, and the receiver allows no more for
    /// now. The client asks after a time-out, which doubles each time, unless the receiver
    /// [grants](nebula_nic::grants) something before.
    pub fn waits(&mut self, now: Timestamp, place: u32) {
        self.is_heard = true;
        self.unlist(place);
        let entry = &mut self.entries[place as usize];
        let acks = entry.acks;
        (entry.since, entry.packets, entry.transmissions, entry.is_early) = (now, 0, 1, false);
        (entry.acks, entry.is_measured) = (acks.saturating_add(1), false);
        self.list(place, (1 + u32::from(acks)).min(FLIGHT_LISTS - 1));
    }

    /// One of several packets for the RPC at `place` has arrived; the rest may take as long again.
    pub fn arrived(&mut self, now: Timestamp, place: u32) {
        let Entry { packets, state, list, .. } = self.entries[place as usize];
        if state != State::Listed || packets == 0 {
            return;
        }
        self.is_heard = true;
        self.measure(now, place);
        self.grow(1);
        self.unlist(place);
        let entry = &mut self.entries[place as usize];
        (entry.since, entry.packets) = (now, packets - 1);
        self.in_flight += packets - 1;
        self.list(place, list.into());
    }

    /// The packets sent for the RPC at `place` are answered; more may be sent.
    #[inline]
    pub fn answered(&mut self, now: Timestamp, place: u32) {
        let Entry { packets, state, .. } = self.entries[place as usize];
        if state == State::Idle {
            return;
        }
        self.is_heard = true;
        self.measure(now, place);
        if packets > 0 {
            self.grow(packets);
        }
        self.calm_down();
        self.ended(place);
    }

    /// Takes a sample from an answer to something sent once; other answers do not show which
    /// transmission they answer.
    #[inline]
    fn measure(&mut self, now: Timestamp, place: u32) {
        let entry = &mut self.entries[place as usize];
        if core::mem::take(&mut entry.is_measured) && entry.state == State::Listed {
            self.rtt.sample(now - entry.since);
            self.answered_sent = self.answered_sent.max(entry.since);
        }
    }

    /// The RPC at `place` was refused for lack of room.
    pub fn refused(&mut self, now: Timestamp, place: u32) {
        let Entry { since, state, .. } = self.entries[place as usize];
        if state != State::Idle {
            self.is_heard = true;
            self.flow.refused(now, since);
            self.ended(place);
        }
    }

    /// Nothing more is expected for the RPC at `place`.
    #[inline]
    pub fn ended(&mut self, place: u32) {
        self.unlist(place);
        let entry = &mut self.entries[place as usize];
        (entry.state, entry.packets, entry.transmissions, entry.acks) = (State::Idle, 0, 0, 0);
        entry.is_early = false;
    }

    /// The latest time at which to call [`poll_overdue`](Self::poll_overdue).
    #[must_use]
    pub fn poll_timeout(&self) -> Option<Timestamp> {
        let due = |list: u32| self.head(list).map(|place| self.entries[place].since + self.wait(list));
        bits(self.listed).filter_map(due).min()
    }

    /// The next RPC that was not answered in time. If it is in flight, it counts as lost.
    #[inline]
    pub fn poll_overdue(&mut self, now: Timestamp) -> Option<Overdue> {
        if self.listed == 0 {
            return None;
        }
        if !self.is_lossless
            && let Some(place) = self.overtaken()
        {
            self.entries[place as usize].is_early = true;
            return Some(self.take(place));
        }
        let (list, place) = bits(self.listed).find_map(|list| {
            let place = self.head(list)?;
            (self.entries[place].since + self.wait(list) <= now).then_some((list, place))
        })?;
        let place = u32::try_from(place).unwrap_or(NONE);
        let Entry { since, packets, acks, .. } = self.entries[place as usize];
        // Nothing was on the way for one that waits for the receiver.
        let is_waiting = acks > 0 && packets == 0;
        if list < FLIGHT_LISTS && !is_waiting {
            self.time_out(now, since);
            self.rtt.back_off(since, now);
        }
        Some(self.take(place))
    }

    /// The oldest RPC sent once, if something sent sufficiently later has been answered.
    #[inline]
    fn overtaken(&self) -> Option<u32> {
        let place = self.lists[0].oldest;
        let entry = self.entries.get(place as usize)?;
        (entry.since < self.answered_sent && entry.since + self.margin() < self.answered_sent).then_some(place)
    }

    /// How much later something must be sent for its answer to mark earlier transmissions as lost.
    fn margin(&self) -> Span {
        let quarter = self.rtt.smoothed().unwrap_or(Span::ZERO) / 4;
        quarter.max(self.rtt.variation() * 2).max(MARGIN_MIN) * (1 << self.patience)
    }

    /// Lets the window grow by the answer to `packets`, if it was used in the last round trip.
    #[inline]
    fn grow(&mut self, packets: u32) {
        self.flow.answered(packets, self.in_flight_max);
        self.answered += packets;
        if self.answered >= self.in_flight_max {
            (self.in_flight_max, self.answered) = (self.in_flight, 0);
        }
    }

    fn time_out(&mut self, now: Timestamp, sent: Timestamp) {
        if self.timed_out.is_some_and(|at| sent >= at) && !self.is_heard {
            self.flow.silence();
        }
        (self.timed_out, self.is_heard) = (Some(now), false);
    }

    fn take(&mut self, place: u32) -> Overdue {
        let Entry { since, packets, transmissions, .. } = self.entries[place as usize];
        if packets > 0 {
            self.flow.lost(packets, since);
        }
        self.unlist(place);
        if transmissions >= self.transmissions_max {
            self.ended(place);
            return Overdue::GaveUp { place };
        }
        Overdue::Lost { place }
    }

    /// An RPC declared lost was in the server: answers vary more than assumed.
    fn be_patient(&mut self, packets: u32) {
        self.flow.found(packets);
        self.patience = (self.patience + 1).min(PATIENCE_MAX);
        self.patience_answers = 0;
    }

    #[inline]
    fn calm_down(&mut self) {
        if self.patience > 0 {
            self.patience_answers += 1;
            if self.patience_answers == PATIENCE_ANSWERS {
                (self.patience, self.patience_answers) = (self.patience - 1, 0);
            }
        }
    }

    #[inline]
    fn wait(&self, list: u32) -> Span {
        let wait = if list < FLIGHT_LISTS {
            self.rtt.rto_doubled(list)
        } else {
            ACKED_WAIT_MIN.max(self.rtt.rto() * 2) * (1 << (list - FLIGHT_LISTS))
        };
        wait.min(WAIT_MAX)
    }

    #[inline]
    fn head(&self, list: u32) -> Option<usize> {
        Some(self.lists[list as usize].oldest as usize).filter(|&place| place < self.entries.len())
    }

    #[inline]
    fn list(&mut self, place: u32, list: u32) {
        let ends = &mut self.lists[list as usize];
        let older = core::mem::replace(&mut ends.newest, place);
        match older {
            NONE => ends.oldest = place,
            _ => self.entries[older as usize].newer = place,
        }
        self.listed |= 1 << list;
        let entry = &mut self.entries[place as usize];
        (entry.older, entry.newer, entry.state) = (older, NONE, State::Listed);
        entry.list = u8::try_from(list).unwrap_or(0);
    }

    /// Removes the entry from its list, and its packets from those in flight.
    #[inline]
    fn unlist(&mut self, place: u32) {
        let Entry { older, newer, packets, state, list, .. } = self.entries[place as usize];
        if state != State::Listed {
            return;
        }
        self.entries[place as usize].state = State::Overdue;
        self.in_flight -= packets;
        match older {
            NONE => self.lists[usize::from(list)].oldest = newer,
            _ => self.entries[older as usize].newer = newer,
        }
        match newer {
            NONE => self.lists[usize::from(list)].newest = older,
            _ => self.entries[newer as usize].older = older,
        }
        if older == NONE && newer == NONE {
            self.listed &= !(1 << list);
        }
    }
}

/// The bits that are set, the lowest first.
#[inline]
fn bits(mut word: u32) -> impl Iterator<Item = u32> {
    core::iter::from_fn(move || {
        let bit = (word != 0).then(|| word.trailing_zeros())?;
        word &= word - 1;
        Some(bit)
    })
}
