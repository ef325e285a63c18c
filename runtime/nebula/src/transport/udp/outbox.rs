//! Station 11 on its way out: packs a turn's answers by client into few datagrams and calls.

use super::frame::{DATAGRAM_BYTES_MAX, Frame, FrameKind};
use super::message::{Message, REPLY_BYTES, encode_reply};
use super::seal::Seal;
use super::train::Train;
use crate::net::{Route, Wire};
use crate::rpc::recipient::Recipient;
use nebula_nic::{Mtu, ReplyAt, Retention, Timestamp, TransferId, UNASKED_PACKETS};

/// The packets of a reply that are sent without a pull, as a bitmap.
pub(super) const UNASKED_BITS: u64 = (1 << UNASKED_PACKETS) - 1;
const PARCELS: usize = 1024;

#[derive(Clone, Copy, Debug)]
pub(super) enum Body {
    /// Packets `first + i` of a reply, for each bit `i`.
    Packets {
        tid: TransferId,
        at: ReplyAt,
        first: u32,
        bitmap: u64,
    },
    /// Packets of a reply that is not in the ring, but from `start` on in [`Outbox::moved`].
    Moved {
        tid: TransferId,
        start: u32,
        bytes: u32,
        first: u32,
        bitmap: u64,
    },
    Message(Message<'static>),
}

#[derive(Debug)]
struct Parcel {
    body: Body,
    to: u32,
    /// Its place in the order of the answers.
    number: u32,
}

/// The answers that leave at the end of the turn.
#[derive(Debug)]
pub(super) struct Outbox {
    parcels: Vec<Parcel>,
    /// The answers' recipients, each at least once.
    recipients: Vec<Recipient>,
    /// Replies that would be overwritten in the ring before they are sent, or were never in it.
    moved: Vec<u8>,
    now: Timestamp,
    /// The index of the recipient whose answers are in the train already, before all parcels.
    in_train: Option<u32>,
    /// Whether that recipient's next answers are parcels.
    is_train_whole: bool,
    latest: u32,
    /// Whether the parcels are of several clients.
    is_mixed: bool,
    /// Where the oldest of the parcels' replies begins in the ring.
    oldest: u64,
    greetings: Vec<(Route, Vec<u8>)>,
    train: Train,
    /// The server's messaging domain and incarnation.
    server: (u8, u64),
    /// The longest datagram that the wire accepts, and the shortest that fits a packet.
    datagram_bytes: (usize, usize),
    mtu: Mtu,
}

impl Outbox {
    pub(super) fn new(seal: &Seal, datagram_bytes_max: usize, server: (u8, u64), mtu: Mtu) -> Self {
        let least = seal.lead_bytes() + REPLY_BYTES + mtu.bytes() as usize + seal.tail_bytes();
        Self {
            parcels: Vec::with_capacity(PARCELS),
            recipients: Vec::with_capacity(PARCELS),
            moved: Vec::new(),
            now: Timestamp::ZERO,
            in_train: None,
            is_train_whole: false,
            latest: 0,
            is_mixed: false,
            oldest: u64::MAX,
            greetings: Vec::new(),
            train: Train::new(seal),
            server,
            datagram_bytes: (datagram_bytes_max.max(least), least),
            mtu,
        }
    }

    #[inline(always)]
    pub(super) fn begin_turn(&mut self, now: Timestamp) {
        self.now = now;
    }

    /// Sets the recipient of the next answers that are [pushed](Self::push).
    #[inline(always)]
    pub(super) fn address(&mut self, recipient: &Recipient) {
        if self.recipients.get(self.latest as usize) != Some(recipient) {
            self.address_another(recipient);
        }
    }

    #[expect(clippy::cast_possible_truncation, reason = "the clients of a turn")]
    fn address_another(&mut self, recipient: &Recipient) {
        match self.in_train {
            Some(to) if self.recipients[to as usize] == *recipient => self.latest = to,
            _ => {
                self.latest = self.recipients.len() as u32;
                self.recipients.push(*recipient);
            }
        }
    }

    /// Adds an answer for the [addressed](Self::address) recipient. Those of the first client of a
    /// turn go into the train at once, while they are in the cache.
    #[inline(always)]
    pub(super) fn push(&mut self, body: Body) {
        let is_in_train = match &body {
            Body::Message(message) => self.has_train() && self.train.push(message),
            Body::Packets { .. } | Body::Moved { .. } => false,
        };
        if !is_in_train {
            self.push_parcel(body);
        }
    }

    /// Adds a reply that lies `at` in the ring, as [`push`](Self::push).
    #[inline(always)]
    pub(super) fn push_reply(&mut self, tid: TransferId, at: ReplyAt, reply: &[u8]) {
        let is_in_train = at.bytes <= self.mtu.bytes()
            && self.has_train()
            && self.train.push_by(REPLY_BYTES + reply.len(), |room| encode_reply(tid, at.bytes, 0, reply, room));
        if !is_in_train {
            self.push_parcel(Body::Packets { tid, at, first: 0, bitmap: UNASKED_BITS });
        }
    }

    /// Adds a reply of one packet that is not remembered, as [`push`](Self::push).
    pub(super) fn push_copy(&mut self, tid: TransferId, reply: &[u8]) {
        #[expect(clippy::cast_possible_truncation, reason = "a reply of one packet")]
        let bytes = reply.len() as u32;
        let is_in_train = self.has_train()
            && self.train.push_by(REPLY_BYTES + reply.len(), |room| encode_reply(tid, bytes, 0, reply, room));
        if !is_in_train && let Ok(start) = u32::try_from(self.moved.len()) {
            self.moved.extend_from_slice(reply);
            self.push_parcel(Body::Moved { tid, start, bytes, first: 0, bitmap: 1 });
        }
    }

    /// Whether the train is the recipient's, and none of its answers is a parcel.
    #[inline(always)]
    fn has_train(&mut self) -> bool {
        if self.in_train.is_none() && self.parcels.is_empty() {
            let (frame, limit) = self.frame(self.now, &self.recipients[self.latest as usize]);
            self.train.begin(frame, limit);
            (self.in_train, self.is_train_whole) = (Some(self.latest), false);
        }
        self.in_train == Some(self.latest) && !self.is_train_whole
    }

    #[expect(clippy::cast_possible_truncation, reason = "the answers of a turn")]
    fn push_parcel(&mut self, body: Body) {
        if let Body::Packets { at, .. } = body {
            self.oldest = self.oldest.min(at.start);
        }
        let (to, number) = (self.latest, self.parcels.len() as u32);
        let before = self.parcels.last().map(|parcel| self.recipients[parcel.to as usize].snid);
        self.is_mixed |= before.is_some_and(|before| before != self.recipients[to as usize].snid);
        self.is_train_whole |= self.in_train == Some(to);
        self.parcels.push(Parcel { body, to, number });
    }

    /// Copies all unsent replies out of their ring `replies`, so that they can be overwritten.
    #[cold]
    pub(super) fn move_replies(&mut self, retention: &Retention, replies: &[u8]) {
        for parcel in &mut self.parcels {
            if let Body::Packets { tid, at, first, bitmap } = parcel.body {
                let from = retention.reply_offset(at);
                let start =
                    u32::try_from(self.moved.len()).expect("a turn has few replies, of a ring's length together");
                self.moved.extend_from_slice(&replies[from..from + at.bytes as usize]);
                parcel.body = Body::Moved { tid, start, bytes: at.bytes, first, bitmap };
            }
        }
        self.oldest = u64::MAX;
    }

    /// The header of datagrams for `recipient`, and their longest length.
    #[inline]
    fn frame(&self, now: Timestamp, recipient: &Recipient) -> (Frame, usize) {
        let &Recipient { cover, snid, datagram_bytes, .. } = recipient;
        let word = now.as_ps() / 1000;
        let kind = FrameKind::Server;
        let (domain, incarnation) = self.server;
        let (most, least) = self.datagram_bytes;
        let limit = usize::from(datagram_bytes).clamp(least, most);
        (Frame { kind, domain, incarnation, snid, datagram_bytes: DATAGRAM_BYTES_MAX, word, cover }, limit)
    }

    /// Where the oldest unsent reply begins in the ring, to be kept; `u64::MAX` for none.
    #[inline(always)]
    pub(super) fn oldest(&self) -> u64 {
        self.oldest
    }

    #[cold]
    pub(super) fn send_now(&mut self, route: Route, datagram: Vec<u8>) {
        self.greetings.push((route, datagram));
    }

    /// Sends everything. If the network takes less, the rest is lost, and the clients ask again.
    #[inline]
    pub(super) fn flush(&mut self, now: Timestamp, replies: (&Retention, &[u8]), seal: &mut Seal, wire: &mut dyn Wire) {
        if self.recipients.is_empty() && self.greetings.is_empty() {
            return;
        }
        for (route, datagram) in self.greetings.drain(..) {
            let _ = wire.send(route, &datagram, datagram.len());
        }
        if let Some(to) = self.in_train.take()
            && let Some((bytes, segment)) = self.train.close(seal)
        {
            let _ = wire.send(self.recipients[to as usize].route, bytes, segment);
        }
        if !self.parcels.is_empty() {
            self.send_parcels(now, replies, seal, wire);
        }
        self.recipients.clear();
        self.oldest = u64::MAX;
        let _ = wire.flush();
    }

    fn send_parcels(&mut self, now: Timestamp, replies: (&Retention, &[u8]), seal: &mut Seal, wire: &mut dyn Wire) {
        let mut parcels = std::mem::take(&mut self.parcels);
        let recipients = &self.recipients;
        if std::mem::take(&mut self.is_mixed) {
            // By number too, because the sort that keeps a client's answers in order allocates.
            parcels.sort_unstable_by_key(|parcel| (recipients[parcel.to as usize].snid.0, parcel.number));
        }
        let one_client =
            |a: &Parcel, b: &Parcel| a.to == b.to || recipients[a.to as usize] == recipients[b.to as usize];
        for parcels in parcels.chunk_by(one_client) {
            let recipient = recipients[parcels[0].to as usize];
            let (frame, limit) = self.frame(now, &recipient);
            let mut sending = Sending { train: &mut self.train, seal, wire, route: recipient.route, frame, limit };
            sending.train.begin(frame, limit);
            for parcel in parcels {
                sending.push_body(&parcel.body, replies, &self.moved, self.mtu);
            }
            sending.close();
        }
        parcels.clear();
        self.parcels = parcels;
        self.moved.clear();
    }
}

struct Sending<'s> {
    train: &'s mut Train,
    seal: &'s mut Seal,
    wire: &'s mut dyn Wire,
    route: Route,
    frame: Frame,
    limit: usize,
}

impl Sending<'_> {
    #[inline(always)]
    fn push_body(&mut self, body: &Body, replies: (&Retention, &[u8]), moved: &[u8], mtu: Mtu) {
        match *body {
            Body::Message(ref message) => self.push(message),
            Body::Packets { tid, at, first, bitmap } => {
                let (retention, bytes) = replies;
                let start = retention.reply_offset(at);
                self.push_reply(tid, &bytes[start..start + at.bytes as usize], (first, bitmap), mtu);
            }
            Body::Moved { tid, start, bytes, first, bitmap } => {
                self.push_reply(tid, &moved[start as usize..][..bytes as usize], (first, bitmap), mtu);
            }
        }
    }

    #[inline(always)]
    fn push_reply(&mut self, tid: TransferId, reply: &[u8], (first, bitmap): (u32, u64), mtu: Mtu) {
        #[expect(clippy::cast_possible_truncation, reason = "a reply's length is a u32")]
        let rpc_bytes = reply.len() as u32;
        if rpc_bytes > mtu.bytes() {
            self.push_packets(tid, reply, (first, bitmap), mtu);
        } else if bitmap & 1 != 0 && first == 0 {
            self.push(&Message::Reply { tid, rpc_bytes, pkt_idx: 0, payload: reply });
        }
    }

    fn push_packets(&mut self, tid: TransferId, reply: &[u8], (first, bitmap): (u32, u64), mtu: Mtu) {
        #[expect(clippy::cast_possible_truncation, reason = "a reply's length is a u32")]
        let rpc_bytes = reply.len() as u32;
        let wanted = (0..64).filter(|bit| bitmap >> bit & 1 != 0).map(|bit| first + bit);
        for pkt_idx in wanted.take_while(|&pkt_idx| pkt_idx < mtu.packets(rpc_bytes)) {
            let from = (pkt_idx * mtu.bytes()) as usize;
            let payload = &reply[from..from + mtu.packet_bytes(rpc_bytes, pkt_idx) as usize];
            let Ok(pkt_idx) = u16::try_from(pkt_idx) else { return };
            self.push(&Message::Reply { tid, rpc_bytes, pkt_idx, payload });
        }
    }

    #[inline(always)]
    fn push(&mut self, message: &Message<'_>) {
        if !self.train.push(message) {
            self.close();
            self.train.begin(self.frame, self.limit);
            // One message fits an empty train: a datagram has room for a packet.
            let _ = self.train.push(message);
        }
    }

    fn close(&mut self) {
        if let Some((bytes, segment)) = self.train.close(self.seal) {
            let _ = self.wire.send(self.route, bytes, segment);
        }
    }
}
