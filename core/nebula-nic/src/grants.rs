//! The receiver's side of Homa: *which messages may go on, and how far?*
//!
//! ```text
//! packets ─▶ messages: how much of each is missing ─▶ the shortest of each sender, the shortest of those first
//!            granted = received + what a round trip carries                  │
//! grants  ◀───────────────── as many messages at once as it overcommits ─────┘
//! ```
//!
//! The first packets of a message come unasked. All others the receiver grants: so no more is on
//! the way to it than one round trip carries for each message that it has granted, and short
//! messages do not wait for long ones. It grants to several messages at once, since a sender may
//! have nothing to send at the moment: overcommitment.
//!
//! A message that was granted packets and sends none is passed over, so that who does not send
//! keeps nobody from sending. A message that waits long asks, and each time it goes on by a packet
//! at least, whatever is shorter.
//!
//! Departs: packets are counted, not bytes, and there are no priorities in the network.

use crate::id::RpcKey;
use crate::time::{Span, Timestamp};
use alloc::vec::Vec;

/// Bounds of [`Grants`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GrantsConfig {
    /// Packets of a message that come unasked.
    pub unscheduled: u32,
    /// Packets of a message that are granted and have not come, at most: what a round trip carries.
    pub ahead: u32,
    /// Messages that are granted something at once. 1 grants to the shortest alone.
    pub overcommitment: u32,
    /// Incomplete messages that are known. A packet of a further one is not
    /// [noted](Grants::handle_packet), and its message is granted nothing.
    pub messages_max: u32,
    /// A message of which nothing has come for so long, although it was granted something, is
    /// passed over until something comes.
    pub patience: Span,
}

impl Default for GrantsConfig {
    /// Four messages at once: what more are granted waits in switches, which here know no
    /// priorities.
    fn default() -> Self {
        Self { unscheduled: 8, ahead: 8, overcommitment: 4, messages_max: 256, patience: Span::from_ms(1) }
    }
}

/// A message may be sent up to here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Grant {
    /// The message.
    pub rpc: RpcKey,
    /// Packets granted, from the first on.
    pub packets: u32,
}

/// What has come of a message.
#[derive(Clone, Copy, Debug)]
struct Message {
    rpc: RpcKey,
    packets: u32,
    received: u32,
    granted: u32,
    /// Its place in the order of first packets.
    number: u64,
    /// The last packet, or the last grant after that.
    since: Timestamp,
}

impl Message {
    /// The shortest first; of two the one that came first.
    fn order(&self) -> (u32, u64) {
        (self.packets - self.received, self.number)
    }

    /// Whether it was granted something and has sent nothing for longer than `patience`.
    fn is_silent(&self, now: Timestamp, patience: Span) -> bool {
        self.granted > self.received && now > self.since + patience
    }
}

/// Grants of one receiver.
///
/// Tell it of every packet that is new, [`forget`](Self::forget) messages that are given up, and
/// drain [`poll_grant`](Self::poll_grant) after that. Times must not decrease.
///
/// # Cost
///
/// A packet O(messages); a grant O(messages × overcommitment). No allocation.
///
/// # Source
///
/// Homa, SIGCOMM 2018, §3.3 and §3.5: shortest remaining first, one message a sender, and
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
    /// Places of those that are granted something, in their order.
    chosen: Vec<usize>,
    next: u64,
}

impl Grants {
    /// Nothing has come.
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

    /// A packet of a message of `packets` packets has come that had not come before. Whether the
    /// message is known, or was until now.
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
    /// come. It is granted a packet more at least, unless what it was granted is still to come.
    ///
    /// One that is not known is from now on, if there is room. Else it goes on by a packet each
    /// time it asks.
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

    /// Of the messages that are passed over because they were granted packets and sent none, the
    /// one of which nothing has come for longest: where there is no room for another message, it is
    /// the one to forget.
    ///
    /// # Cost
    ///
    /// O(messages).
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

    /// The next grant: of the messages that are granted something at once, the shortest whose bound
    /// has moved.
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

    /// Chooses whom to grant: of those that are not granted to their end, the shortest of each
    /// sender, and of those the shortest.
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
