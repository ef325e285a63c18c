//! The receiver's side of Homa: *which messages may continue, and how far?*
//!
//! ```text
//! packets ─▶ messages: how much of each is missing ─▶ the shortest of each sender, the shortest of those first
//!            granted = received + what a round trip carries                  │
//! grants  ◀───────────────── as many messages at once as it overcommits ─────┘
//! ```
//!
//! A sender sends the first packets of a message unasked; the receiver grants all others. So at
//! most one round trip's packets of each granted message are on the way, and short messages do not
//! wait for long ones. The receiver grants to several messages at once (overcommitment), since a
//! sender may have nothing to send at the moment.
//!
//! A message that was granted packets and sends none is passed over, so that it does not keep
//! others from sending. The sender of a message that waits long asks, and each time gets at least
//! one more packet granted, even if shorter messages wait.
//!
//! Departs: packets are counted, not bytes, and there are no priorities in the network.

use crate::id::RpcKey;
use crate::time::{Span, Timestamp};
use alloc::vec::Vec;

/// Bounds of [`Grants`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GrantsConfig {
    /// Packets of a message that may be sent unasked.
    pub unscheduled: u32,
    /// Packets of a message granted and not arrived, at most: as many as a round trip carries.
    pub ahead: u32,
    /// Messages with grants at once. 1: only the shortest.
    pub overcommitment: u32,
    /// Incomplete messages that are known. The packets of others are not
    /// [noted](Grants::handle_packet), and they get no grants.
    pub messages_max: u32,
    /// A message with grants that is silent for longer is passed over until something arrives.
    pub patience: Span,
}

impl Default for GrantsConfig {
    /// Four messages at once: more would wait in switches, which here have no priorities.
    fn default() -> Self {
        Self { unscheduled: 8, ahead: 8, overcommitment: 4, messages_max: 256, patience: Span::from_ms(1) }
    }
}

/// How far a message may be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Grant {
    /// The message.
    pub rpc: RpcKey,
    /// Packets granted, counted from the first.
    pub packets: u32,
}

#[derive(Clone, Copy, Debug)]
struct Message {
    rpc: RpcKey,
    packets: u32,
    received: u32,
    granted: u32,
    /// Its place in the order of first packets.
    number: u64,
    /// The time of the last packet, or of the last grant after it.
    since: Timestamp,
}

impl Message {
    /// The shortest first; of equal ones the older.
    fn order(&self) -> (u32, u64) {
        (self.packets - self.received, self.number)
    }

    /// Whether it has grants and has sent nothing for longer than `patience`.
    fn is_silent(&self, now: Timestamp, patience: Span) -> bool {
        self.granted > self.received && now > self.since + patience
    }
}

/// Grants of one receiver.
///
/// Report every new packet, [`forget`](Self::forget) messages that are given up, and drain
/// [`poll_grant`](Self::poll_grant) after each. Times must not decrease. Cost: a packet
/// O(messages); a grant O(messages × overcommitment). No allocation.
///
/// Source: Homa, SIGCOMM 2018, §3.3 and §3.5: shortest remaining first, one message a sender, and
/// overcommitment.
///
/// # Examples
///
/// ```
/// use nebula_nic::{Grant, Grants, GrantsConfig, NodeId, RpcKey, Timestamp, TransferId};
///
/// let config = GrantsConfig { unscheduled: 1, ahead: 4, overcommitment: 1, ..GrantsConfig::default() };
/// let now = Timestamp::ZERO;
/// let mut grants = Grants::new(config);
/// let [long, short] = [1, 2].map(|node| RpcKey { snid: NodeId(node), tid: TransferId(0) });
/// grants.handle_packet(now, long, 100);
/// grants.handle_packet(now, short, 3);
/// assert_eq!(grants.poll_grant(now), Some(Grant { rpc: short, packets: 3 }));
/// assert_eq!(grants.poll_grant(now), Some(Grant { rpc: long, packets: 5 }), "all of the short one is granted");
/// assert_eq!(grants.poll_grant(now), None);
/// ```
#[derive(Clone, Debug)]
pub struct Grants {
    config: GrantsConfig,
    messages: Vec<Message>,
    /// The places in `messages` of those that get grants, in their order.
    chosen: Vec<usize>,
    next: u64,
}

impl Grants {
    /// No message has arrived.
    #[must_use]
    pub fn new(config: GrantsConfig) -> Self {
        let config = GrantsConfig { overcommitment: config.overcommitment.max(1), ..config };
        Self {
            config,
            messages: Vec::with_capacity(config.messages_max as usize),
            chosen: Vec::with_capacity(config.overcommitment.min(config.messages_max) as usize),
            next: 0,
        }
    }

    /// A new packet of a message of `packets` packets has arrived. Returns whether the message is
    /// known, or was until this packet.
    pub fn handle_packet(&mut self, now: Timestamp, rpc: RpcKey, packets: u32) -> bool {
        let Some(place) = self.place(rpc).or_else(|| self.begin(now, rpc, packets)) else { return false };
        let message = &mut self.messages[place];
        message.received += 1;
        message.since = now;
        if message.received >= message.packets {
            self.messages.swap_remove(place);
        }
        true
    }

    /// The sender of a message of `packets` packets asks how far it may go; `received` of them have
    /// arrived. It gets at least one more packet, unless granted ones are still to come.
    ///
    /// An unknown message becomes known if there is room; otherwise it advances by a packet with
    /// each ask.
    pub fn handle_ask(&mut self, now: Timestamp, rpc: RpcKey, packets: u32, received: u32) -> Grant {
        let Some(place) = self.place(rpc).or_else(|| self.begin(now, rpc, packets)) else {
            return Grant { rpc, packets: packets.min(self.config.unscheduled.max(received.saturating_add(1))) };
        };
        let message = &mut self.messages[place];
        message.received = message.received.max(received.min(packets.saturating_sub(1)));
        if message.granted <= message.received {
            (message.granted, message.since) = (message.received + 1, now);
        }
        Grant { rpc, packets: message.granted }
    }

    /// The message is given up.
    pub fn forget(&mut self, rpc: RpcKey) {
        if let Some(place) = self.place(rpc) {
            self.messages.swap_remove(place);
        }
    }

    /// Of the messages that are passed over, the one that has been silent longest: forget it to
    /// make room for another. Cost: O(messages).
    #[must_use]
    pub fn silent(&self, now: Timestamp) -> Option<RpcKey> {
        let silent = self.messages.iter().filter(|message| message.is_silent(now, self.config.patience));
        silent.min_by_key(|message| (message.since, message.number)).map(|message| message.rpc)
    }

    /// Incomplete messages.
    #[must_use]
    pub fn messages(&self) -> usize {
        self.messages.len()
    }

    /// The next grant: to the shortest of the chosen messages whose bound has moved.
    pub fn poll_grant(&mut self, now: Timestamp) -> Option<Grant> {
        self.choose(now);
        let ahead = self.config.ahead;
        let target = |message: &Message| message.packets.min(message.received.saturating_add(ahead));
        let place = self.chosen.iter().copied().find(|&place| {
            let message = &self.messages[place];
            target(message) > message.granted
        })?;
        let message = &mut self.messages[place];
        (message.granted, message.since) = (target(message), now);
        Some(Grant { rpc: message.rpc, packets: message.granted })
    }

    fn place(&self, rpc: RpcKey) -> Option<usize> {
        self.messages.iter().position(|message| message.rpc == rpc)
    }

    fn begin(&mut self, now: Timestamp, rpc: RpcKey, packets: u32) -> Option<usize> {
        if packets == 0 || self.messages.len() >= self.config.messages_max as usize {
            return None;
        }
        let granted = self.config.unscheduled.min(packets);
        self.messages.push(Message { rpc, packets, received: 0, granted, number: self.next, since: now });
        self.next += 1;
        Some(self.messages.len() - 1)
    }

    /// Chooses the messages that get grants: each sender's shortest, and of those the shortest.
    fn choose(&mut self, now: Timestamp) {
        let Self { config, messages, chosen, .. } = self;
        chosen.clear();
        while chosen.len() < config.overcommitment as usize {
            let is_open = |place: usize| {
                let message = &messages[place];
                let has_sender = chosen.iter().any(|&other| messages[other].rpc.snid == message.rpc.snid);
                message.granted < message.packets && !message.is_silent(now, config.patience) && !has_sender
            };
            let open = (0..messages.len()).filter(|&place| is_open(place));
            let Some(shortest) = open.min_by_key(|&place| messages[place].order()) else { return };
            chosen.push(shortest);
        }
    }
}
