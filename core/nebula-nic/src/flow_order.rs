//! Packets that a server forwards: *may this one leave, or is an earlier one of its flow still
//! being served?*
//!
//! ```text
//! arrival ─▶ the last of its flow            flow 7:  3 ─▶ 5 ─▶ 6      5 has been served: it waits for 3
//! end     ─▶ over; the first that are over leave, in the order of their arrivals
//! ```
//!
//! A policy such as JBSQ gives the packets of one flow to several cores, which may finish a later
//! one first. Here it waits for those before it, so that a flow is served by all cores and yet
//! leaves in its order. Flows are distinguished by a hash: those with equal hashes share one order.

use alloc::boxed::Box;
use alloc::vec;

/// The place of a packet that is being served.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Ticket(pub u32);

impl Ticket {
    /// The index in an array with a place for each packet.
    #[must_use]
    #[inline]
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

const NONE: u32 = u32::MAX;

#[derive(Clone, Copy, Debug)]
struct Entry {
    /// The next packet of the flow, or the next free place.
    next: u32,
    flow: u32,
    state: State,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Free,
    Served,
    Over,
}

#[derive(Clone, Copy, Debug)]
struct Flow {
    first: u32,
    last: u32,
}

/// Keeps the order of flows through a server that serves their packets in any order.
///
/// After each [`handle_end`](Self::handle_end), call [`poll`](Self::poll) until `None`: packets
/// leave in the order that it returns. O(1) a packet, and no allocation after construction.
///
/// # Examples
///
/// ```
/// use nebula_nic::FlowOrder;
///
/// let mut order = FlowOrder::new(64, 16);
/// let [first, second] = [(); 2].map(|()| order.handle_arrival(7).unwrap());
/// let other = order.handle_arrival(8).unwrap();
/// order.handle_end(second);
/// assert_eq!(order.poll(), None, "the first is still being served");
/// order.handle_end(other);
/// assert_eq!(order.poll(), Some(other), "another flow does not wait for it");
/// order.handle_end(first);
/// assert_eq!([order.poll(), order.poll(), order.poll()], [Some(first), Some(second), None]);
/// ```
#[derive(Clone, Debug)]
pub struct FlowOrder {
    entries: Box<[Entry]>,
    free: u32,
    inside: u32,
    /// By the low bits of the flow's hash.
    flows: Box<[Flow]>,
    /// The flow whose first packet may have ended.
    due: u32,
}

impl FlowOrder {
    /// An order for `packets_max` packets at once, and `flows` flows, rounded up to a power of two.
    ///
    /// # Panics
    ///
    /// If `packets_max` is `u32::MAX`, or `flows` is 0 or more than 2^31.
    #[must_use]
    pub fn new(packets_max: u32, flows: u32) -> Self {
        assert!(packets_max < NONE, "{packets_max} packets are too many");
        assert!((1..=1 << 31).contains(&flows), "{flows} orders of flows are not possible");
        let place = |next| Entry { next, flow: 0, state: State::Free };
        let entries = (1..packets_max).map(place).chain((packets_max > 0).then(|| place(NONE))).collect();
        Self {
            entries,
            free: if packets_max > 0 { 0 } else { NONE },
            inside: 0,
            flows: vec![Flow { first: NONE, last: NONE }; flows.next_power_of_two() as usize].into(),
            due: 0,
        }
    }

    /// A packet of the flow with this hash has arrived. `None` if `packets_max` packets are inside:
    /// then its order is not kept.
    #[inline]
    pub fn handle_arrival(&mut self, flow_hash: u32) -> Option<Ticket> {
        let place = self.free;
        let entry = self.entries.get_mut(place as usize)?;
        self.free = entry.next;
        #[expect(clippy::cast_possible_truncation, reason = "at most 2^31 flows")]
        let flow = flow_hash & (self.flows.len() - 1) as u32;
        *entry = Entry { next: NONE, flow, state: State::Served };
        self.inside += 1;
        let Flow { first, last } = &mut self.flows[flow as usize];
        if *first == NONE {
            *first = place;
        } else {
            self.entries[*last as usize].next = place;
        }
        *last = place;
        Some(Ticket(place))
    }

    /// A packet has been served or dropped. `false`, without effect, if it was not being served.
    #[inline]
    pub fn handle_end(&mut self, ticket: Ticket) -> bool {
        let entry = self.entries.get_mut(ticket.index()).filter(|entry| entry.state == State::Served);
        if let Some(entry) = entry {
            entry.state = State::Over;
            self.due = entry.flow;
            return true;
        }
        false
    }

    /// The next packet that leaves: the first of its flow, if it has ended.
    #[inline]
    pub fn poll(&mut self) -> Option<Ticket> {
        let flow = &mut self.flows[self.due as usize];
        let place = flow.first;
        let entry = self.entries.get_mut(place as usize).filter(|entry| entry.state == State::Over)?;
        flow.first = entry.next;
        (entry.next, entry.state) = (self.free, State::Free);
        self.free = place;
        self.inside -= 1;
        Some(Ticket(place))
    }

    /// Packets that have come and not left.
    #[must_use]
    pub const fn inside(&self) -> u32 {
        self.inside
    }
}
