//! Station 11 on its way out: answers of one turn, packed by client into as few datagrams and system calls as they fit.

use super::frame::{DATAGRAM_BYTES_MAX, Frame, FrameKind};
use super::message::{Message, REPLY_BYTES};
use super::seal::Seal;
use super::train::Train;
use crate::net::{Route, Wire};
use crate::rpc::recipient::Recipient;
use nebula_nic::{Mtu, ReplyAt, Retention, Timestamp, TransferId};

/// Answers for which there is room from the start.
const PARCELS: usize = 1024;

/// What an answer is.
#[derive(Clone, Copy, Debug)]
pub(super) enum Body {
    /// Packets `first + i` of a reply, for each bit `i`.
    Packets {
        tid: TransferId,
        at: ReplyAt,
        first: u32,
        bitmap: u64,
    },
    Message(Message<'static>),
}

/// An answer, and whose it is.
#[derive(Clone, Copy, Debug)]
pub(super) struct Parcel {
    pub(super) recipient: Recipient,
    pub(super) body: Body,
}

#[derive(Debug)]
struct Queued {
    parcel: Parcel,
    /// Its place in the order in which answers were given.
    number: u32,
}

/// The answers that wait for the end of the turn.
#[derive(Debug)]
pub(super) struct Outbox {
    parcels: Vec<Queued>,
    /// Whether they are of several clients.
    is_mixed: bool,
    /// Where in the ring of replies the oldest of theirs begins.
    oldest: u64,
    /// Whole datagrams of the handshake.
    greetings: Vec<(Route, Vec<u8>)>,
    train: Train,
    /// Messaging domain and run of this server.
    server: (u8, u64),
    /// The longest datagram that the wire takes, and the shortest that a packet fits.
    datagram_bytes: (usize, usize),
    mtu: Mtu,
}

impl Outbox {
    pub(super) fn new(seal: &Seal, datagram_bytes_max: usize, server: (u8, u64), mtu: Mtu) -> Self {
        let least = seal.lead_bytes() + REPLY_BYTES + mtu.bytes() as usize + seal.tail_bytes();
        Self {
            parcels: Vec::with_capacity(PARCELS),
            is_mixed: false,
            oldest: u64::MAX,
            greetings: Vec::new(),
            train: Train::new(seal),
            server,
            datagram_bytes: (datagram_bytes_max.max(least), least),
            mtu,
        }
    }

    /// Adds an answer.
    #[inline(always)]
    pub(super) fn push(&mut self, parcel: Parcel) {
        self.is_mixed |= self.parcels.last().is_some_and(|last| last.parcel.recipient.snid != parcel.recipient.snid);
        if let Body::Packets { at, .. } = parcel.body {
            self.oldest = self.oldest.min(at.start);
        }
        #[expect(clippy::cast_possible_truncation, reason = "the answers of a turn")]
        let number = self.parcels.len() as u32;
        self.parcels.push(Queued { parcel, number });
    }

    /// Where in the ring of replies the oldest begins that is still to be sent: nothing may be written over it. `u64::MAX` for none.
    #[inline(always)]
    pub(super) fn oldest(&self) -> u64 {
        self.oldest
    }

    /// Adds a whole datagram.
    #[cold]
    pub(super) fn send_now(&mut self, route: Route, datagram: Vec<u8>) {
        self.greetings.push((route, datagram));
    }

    /// Sends everything. What the network does not take is lost: its client asks again.
    #[inline]
    pub(super) fn flush(&mut self, now: Timestamp, replies: (&Retention, &[u8]), seal: &mut Seal, wire: &mut dyn Wire) {
        if self.parcels.is_empty() && self.greetings.is_empty() {
            return;
        }
        for (route, datagram) in self.greetings.drain(..) {
            let _ = wire.send(route, &datagram, datagram.len());
        }
        if std::mem::take(&mut self.is_mixed) {
            // By number too, so that a client's answers stay in order; a sort that keeps it by itself allocates.
            self.parcels.sort_unstable_by_key(|queued| (queued.parcel.recipient.snid.0, queued.number));
        }
        self.oldest = u64::MAX;
        let Self { parcels, train, server, datagram_bytes: (most, least), mtu, .. } = self;
        let one_client =
            |Queued { parcel: a, .. }: &Queued, Queued { parcel: b, .. }: &Queued| a.recipient == b.recipient;
        for parcels in parcels.chunk_by(one_client) {
            let Recipient { route, cover, snid, datagram_bytes } = parcels[0].parcel.recipient;
            let word = now.as_ps() / 1000;
            let kind = FrameKind::Server;
            let datagram_bytes_max = DATAGRAM_BYTES_MAX;
            let (domain, incarnation) = *server;
            let frame = Frame { kind, domain, incarnation, snid, datagram_bytes: datagram_bytes_max, word, cover };
            let limit = usize::from(datagram_bytes).clamp(*least, *most);
            let mut sending = Sending { train, seal, wire, route, frame, limit };
            sending.train.begin(frame, limit);
            for queued in parcels {
                sending.push_body(&queued.parcel.body, replies, *mtu);
            }
            sending.close();
        }
        parcels.clear();
        let _ = wire.flush();
    }
}

/// One client's answers on their way into datagrams.
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
    fn push_body(&mut self, body: &Body, replies: (&Retention, &[u8]), mtu: Mtu) {
        match body {
            Body::Message(message) => self.push(message),
            &Body::Packets { tid, at, first, bitmap } => {
                let (retention, bytes) = replies;
                let start = retention.reply_offset(at);
                let reply = &bytes[start..start + at.bytes as usize];
                if at.bytes <= mtu.bytes() {
                    if bitmap & 1 != 0 && first == 0 {
                        self.push(&Message::Reply { tid, rpc_bytes: at.bytes, pkt_idx: 0, payload: reply });
                    }
                } else {
                    self.push_packets(tid, reply, (first, bitmap), mtu);
                }
            }
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
            // One message fits an empty train: datagrams are as long as a packet at least.
            let _ = self.train.push(message);
        }
    }

    fn close(&mut self) {
        if let Some((bytes, segment)) = self.train.close(self.seal) {
            let _ = self.wire.send(self.route, bytes, segment);
        }
    }
}
