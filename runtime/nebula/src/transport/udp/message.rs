//! The messages of a datagram, one behind another: each has 16 bytes, then what its kind adds.
//!
//! ```text
//! byte  0     1      2..4     4..8  8..12              12..14   14..16  16…
//!       kind  flags  payload  tid   rpc_bytes or code  pkt_idx  0       request: key_hash 4, budget_us 4, stamp_ns 8, payload
//!                                                                       reply: payload    ack, pull: bitmap 8    cancel: stamp_ns 8
//!                                                                       operation: as a request    grant: word: packets
//! ```
//!
//! Kind 0 is padding up to the end. A truncated or unknown message ends the datagram with an error.

use super::frame::{long, short, word};
use nebula_nic::{NodeId, RpcKey, TransferId};

const COMMON_BYTES: usize = 16;
pub(crate) const REQUEST_BYTES: usize = COMMON_BYTES + 16;
pub(crate) const REPLY_BYTES: usize = COMMON_BYTES;
/// Bytes of an acknowledgment, a pull or a cancel.
const LONGER_BYTES: usize = COMMON_BYTES + 8;
pub(crate) const NO_BUDGET: u32 = u32::MAX;

const PADDING: u8 = 0;
const REQUEST: u8 = 1;
const REPLY: u8 = 2;
const NACK: u8 = 3;
const ACK: u8 = 4;
const FAULT: u8 = 5;
const PULL: u8 = 6;
const CANCEL: u8 = 7;
const OPERATION: u8 = 8;
const GRANT: u8 = 9;
/// Flag of a request: an acknowledgment is wanted. Of an acknowledgment: the RPC is complete.
const FLAG: u8 = 1;
/// Flag of a request of several packets: its client waits for grants.
const GRANTS: u8 = 2;

/// The messages that the sender of a request wants besides its answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Wants(u8);

impl Wants {
    #[inline(always)]
    pub(crate) const fn ack_if(is_wanted: bool) -> Self {
        Self(if is_wanted { FLAG } else { 0 })
    }

    #[inline(always)]
    pub(crate) const fn grants_if(self, are_wanted: bool) -> Self {
        Self(if are_wanted { self.0 | GRANTS } else { self.0 })
    }

    #[inline(always)]
    pub(crate) const fn ack(self) -> bool {
        self.0 & FLAG != 0
    }

    #[inline(always)]
    pub(crate) const fn grants(self) -> bool {
        self.0 & GRANTS != 0
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Request<'a> {
    pub(crate) tid: TransferId,
    pub(crate) rpc_bytes: u32,
    pub(crate) pkt_idx: u16,
    pub(crate) wants: Wants,
    pub(crate) key_hash: u32,
    /// From the stamp to the deadline, in microseconds; or [`NO_BUDGET`].
    pub(crate) budget_us: u32,
    /// The server's time of the first transmission, as the client estimates it.
    pub(crate) stamp_ns: u64,
    pub(crate) payload: &'a [u8],
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Message<'a> {
    Request(Request<'a>),
    /// A one-sided operation: laid out as a request of one packet, but no RPC.
    Operation(Request<'a>),
    Reply {
        tid: TransferId,
        rpc_bytes: u32,
        pkt_idx: u16,
        payload: &'a [u8],
    },
    /// Refused; the code is that of a `NackReason`.
    Nack {
        tid: TransferId,
        code: u32,
    },
    /// The server has the whole RPC, or lacks packets from `first_missing` on; bit `i` is set if it
    /// has packet `first_missing + i`.
    Ack {
        tid: TransferId,
        is_whole: bool,
        first_missing: u16,
        bitmap: u64,
    },
    /// Executed without a reply; the code is that of a `Fault`.
    Fault {
        tid: TransferId,
        code: u32,
    },
    /// Asks for packets of a reply: bit `i` is packet `first + i`.
    Pull {
        tid: TransferId,
        first: u16,
        bitmap: u64,
    },
    /// The client may send the first `packets` packets of a request.
    Grant {
        tid: TransferId,
        packets: u32,
    },
    /// The client does not need the answer to the RPC with this number and stamp.
    Cancel {
        tid: TransferId,
        stamp_ns: u64,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct MessageError;

impl Message<'_> {
    #[inline(always)]
    pub(crate) fn len(&self) -> usize {
        match self {
            Self::Request(request) | Self::Operation(request) => REQUEST_BYTES + request.payload.len(),
            Self::Reply { payload, .. } => REPLY_BYTES + payload.len(),
            Self::Ack { .. } | Self::Pull { .. } | Self::Cancel { .. } => LONGER_BYTES,
            Self::Nack { .. } | Self::Fault { .. } | Self::Grant { .. } => COMMON_BYTES,
        }
    }

    /// Writes the message into `out`, which has exactly [`len`](Self::len) bytes.
    #[inline(always)]
    pub(crate) fn encode(&self, out: &mut [u8]) {
        match *self {
            Self::Request(request) => request.encode(false, out),
            Self::Operation(request) => request.encode(true, out),
            Self::Reply { tid, rpc_bytes, pkt_idx, payload } => encode_reply(tid, rpc_bytes, pkt_idx, payload, out),
            Self::Nack { tid, code } => common(out, NACK, false, 0, tid, code, 0),
            Self::Fault { tid, code } => common(out, FAULT, false, 0, tid, code, 0),
            Self::Grant { tid, packets } => common(out, GRANT, false, 0, tid, packets, 0),
            Self::Cancel { tid, stamp_ns } => {
                common(out, CANCEL, false, 0, tid, 0, 0);
                out[16..24].copy_from_slice(&stamp_ns.to_le_bytes());
            }
            Self::Ack { tid, is_whole, first_missing, bitmap } => {
                common(out, ACK, is_whole, 0, tid, 0, first_missing);
                out[16..24].copy_from_slice(&bitmap.to_le_bytes());
            }
            Self::Pull { tid, first, bitmap } => {
                common(out, PULL, false, 0, tid, 0, first);
                out[16..24].copy_from_slice(&bitmap.to_le_bytes());
            }
        }
    }
}

impl Request<'_> {
    #[inline(always)]
    pub(crate) const fn len(&self) -> usize {
        REQUEST_BYTES + self.payload.len()
    }

    /// Writes a request or an operation into `out`, which has exactly [`len`](Self::len) bytes.
    #[inline(always)]
    pub(crate) fn encode(&self, is_operation: bool, out: &mut [u8]) {
        let kind = if is_operation { OPERATION } else { REQUEST };
        let &Self { tid, rpc_bytes, pkt_idx, wants, key_hash, budget_us, stamp_ns, payload } = self;
        let Some((head, behind)) = out.split_first_chunk_mut::<REQUEST_BYTES>() else { return };
        let [first, second] = words(kind, wants.0, payload.len(), tid, rpc_bytes, pkt_idx);
        let third = u64::from(key_hash) | u64::from(budget_us) << 32;
        let words = [first.to_le_bytes(), second.to_le_bytes(), third.to_le_bytes(), stamp_ns.to_le_bytes()];
        head.as_chunks_mut().0.copy_from_slice(&words);
        behind.copy_from_slice(payload);
    }
}

/// Writes a packet of a reply into `out`, which has exactly [`REPLY_BYTES`] more than `payload`.
#[inline(always)]
pub(crate) fn encode_reply(tid: TransferId, rpc_bytes: u32, pkt_idx: u16, payload: &[u8], out: &mut [u8]) {
    let Some((head, behind)) = out.split_first_chunk_mut::<REPLY_BYTES>() else { return };
    let [first, second] = words(REPLY, 0, payload.len(), tid, rpc_bytes, pkt_idx);
    head.as_chunks_mut().0.copy_from_slice(&[first.to_le_bytes(), second.to_le_bytes()]);
    behind.copy_from_slice(payload);
}

#[inline(always)]
const fn words(kind: u8, flags: u8, payload: usize, tid: TransferId, word: u32, pkt_idx: u16) -> [u64; 2] {
    debug_assert!(payload <= u16::MAX as usize);
    let first = kind as u64 | (flags as u64) << 8 | (payload as u64) << 16 | (tid.0 as u64) << 32;
    [first, word as u64 | (pkt_idx as u64) << 32]
}

#[inline(always)]
fn common(out: &mut [u8], kind: u8, flag: bool, payload: usize, tid: TransferId, word: u32, pkt_idx: u16) {
    let [first, second] = words(kind, flag as u8, payload, tid, word, pkt_idx);
    out[..8].copy_from_slice(&first.to_le_bytes());
    out[8..COMMON_BYTES].copy_from_slice(&second.to_le_bytes());
}

/// The messages of a datagram's body, in order; after an error there are no more.
#[derive(Clone, Debug)]
pub(crate) struct Messages<'a> {
    rest: &'a [u8],
}

impl<'a> Messages<'a> {
    pub(crate) fn new(body: &'a [u8]) -> Self {
        Self { rest: body }
    }

    /// Bytes that are left, and the number of requests with `payload_bytes` that fit in them.
    pub(crate) const fn left(&self, payload_bytes: usize) -> (usize, usize) {
        (self.rest.len(), self.rest.len() / (REQUEST_BYTES + payload_bytes))
    }

    #[inline(always)]
    pub(crate) const fn bytes(&self) -> &'a [u8] {
        self.rest
    }

    /// The header of the next message, read as a request's.
    #[inline(always)]
    pub(crate) fn head(&self) -> Option<RequestHead<'a>> {
        self.head_at(0)
    }

    /// As [`head`](Self::head), of the message `bytes` bytes after the next one's beginning.
    #[inline(always)]
    pub(crate) fn head_at(&self, bytes: usize) -> Option<RequestHead<'a>> {
        let rest = self.rest.get(bytes..)?;
        Some(RequestHead { header: rest.first_chunk()?, behind: rest.len() - REQUEST_BYTES })
    }

    /// Skips `bytes` bytes, to the beginning of a message or the end.
    #[inline(always)]
    pub(crate) fn skip_bytes(&mut self, bytes: usize) {
        self.rest = self.rest.get(bytes..).unwrap_or_default();
    }

    #[inline(always)]
    fn read(&mut self) -> Option<Message<'a>> {
        let rest = self.rest;
        let common = rest.get(..COMMON_BYTES)?;
        let payload = usize::from(short(common, 2));
        let (flag, tid) = (common[1] & FLAG != 0, TransferId(word(common, 4)));
        let (rpc_bytes, pkt_idx) = (word(common, 8), short(common, 12));
        let (message, len) = match common[0] {
            kind @ (REQUEST | OPERATION) => {
                let bytes = rest.get(..REQUEST_BYTES + payload)?;
                let request = Request {
                    tid,
                    rpc_bytes,
                    pkt_idx,
                    wants: Wants(common[1]),
                    key_hash: word(bytes, 16),
                    budget_us: word(bytes, 20),
                    stamp_ns: long(bytes, 24),
                    payload: &bytes[REQUEST_BYTES..],
                };
                let message = if kind == REQUEST { Message::Request(request) } else { Message::Operation(request) };
                (message, bytes.len())
            }
            REPLY => {
                let bytes = rest.get(..REPLY_BYTES + payload)?;
                (Message::Reply { tid, rpc_bytes, pkt_idx, payload: &bytes[REPLY_BYTES..] }, bytes.len())
            }
            NACK => (Message::Nack { tid, code: rpc_bytes }, COMMON_BYTES),
            FAULT => (Message::Fault { tid, code: rpc_bytes }, COMMON_BYTES),
            GRANT => (Message::Grant { tid, packets: rpc_bytes }, COMMON_BYTES),
            CANCEL => {
                let stamp_ns = long(rest.get(..LONGER_BYTES)?, 16);
                (Message::Cancel { tid, stamp_ns }, LONGER_BYTES)
            }
            ACK => {
                let bitmap = long(rest.get(..LONGER_BYTES)?, 16);
                (Message::Ack { tid, is_whole: flag, first_missing: pkt_idx, bitmap }, LONGER_BYTES)
            }
            PULL => {
                let bitmap = long(rest.get(..LONGER_BYTES)?, 16);
                (Message::Pull { tid, first: pkt_idx, bitmap }, LONGER_BYTES)
            }
            _ => return None,
        };
        self.rest = &rest[len..];
        Some(message)
    }
}

impl<'a> Iterator for Messages<'a> {
    type Item = Result<Message<'a>, MessageError>;

    #[inline(always)]
    fn next(&mut self) -> Option<Self::Item> {
        if self.rest.first().is_none_or(|&kind| kind == PADDING) {
            return None;
        }
        let read = self.read();
        if read.is_none() {
            self.rest = &[];
        }
        Some(read.ok_or(MessageError))
    }
}

/// A request's header, read word by word: two comparisons check whether it is the expected one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RequestHead<'a> {
    header: &'a [u8; REQUEST_BYTES],
    behind: usize,
}

impl RequestHead<'_> {
    #[inline(always)]
    pub(crate) fn payload_bytes(self) -> u32 {
        short(self.header, 2).into()
    }

    #[inline(always)]
    pub(crate) fn tid(self) -> TransferId {
        TransferId(word(self.header, 4))
    }

    #[inline(always)]
    pub(crate) fn key_hash(self) -> u32 {
        word(self.header, 16)
    }

    #[inline(always)]
    pub(crate) fn stamp_ns(self) -> u64 {
        long(self.header, 24)
    }

    /// Whether it is a complete request of one packet with this number and stamp, and without a
    /// deadline. It may want an acknowledgment: the reply is one.
    #[inline(always)]
    pub(crate) fn is_whole_request(self, tid: TransferId, stamp_ns: u64) -> bool {
        let bytes = self.payload_bytes();
        let first = u64::from(REQUEST) | u64::from(bytes) << 16 | u64::from(tid.0) << 32;
        // The second word holds the length of the whole RPC and the packet's index, 0.
        (long(self.header, 0) & !(u64::from(FLAG) << 8)) == first
            && long(self.header, 8) & 0xFFFF_FFFF_FFFF == u64::from(bytes)
            && word(self.header, 20) == NO_BUDGET
            && self.stamp_ns() == stamp_ns
            && bytes as usize <= self.behind
    }
}

#[inline(always)]
pub(crate) const fn rpc_key(snid: NodeId, tid: TransferId) -> RpcKey {
    RpcKey { snid, tid }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(payload: &[u8]) -> Vec<Message<'_>> {
        let tid = TransferId(0xFFFF_FFF7);
        let request = Request {
            tid,
            rpc_bytes: 5000,
            pkt_idx: 3,
            wants: Wants::ack_if(true).grants_if(true),
            key_hash: 7,
            budget_us: NO_BUDGET,
            stamp_ns: u64::MAX - 1,
            payload,
        };
        vec![
            Message::Request(request),
            Message::Operation(request),
            Message::Reply { tid, rpc_bytes: 70_000, pkt_idx: 64, payload },
            Message::Nack { tid, code: 3 },
            Message::Ack { tid, is_whole: false, first_missing: 9, bitmap: 1 << 63 | 2 },
            Message::Ack { tid, is_whole: true, first_missing: 0, bitmap: 0 },
            Message::Fault { tid, code: 2 },
            Message::Pull { tid, first: 32, bitmap: u64::MAX },
            Message::Cancel { tid, stamp_ns: u64::MAX - 7 },
            Message::Grant { tid, packets: 65_536 },
        ]
    }

    #[test]
    fn messages_survive_the_way_there_in_order_and_padding_ends_them() {
        let payload = [5; 100];
        let sent = all(&payload);
        let mut bytes = Vec::new();
        for message in &sent {
            let at = bytes.len();
            bytes.resize(at + message.len(), 0xEE);
            message.encode(&mut bytes[at..]);
        }
        bytes.extend([0; 40]);
        let read: Vec<_> = Messages::new(&bytes).map(Result::unwrap).collect();
        assert_eq!(read, sent);
    }

    #[test]
    fn a_message_cut_short_is_an_error_and_the_last() {
        let payload = [5; 100];
        for message in all(&payload) {
            let mut bytes = vec![0; message.len()];
            message.encode(&mut bytes);
            for len in 1..bytes.len() {
                assert_eq!(
                    Messages::new(&bytes[..len]).collect::<Vec<_>>(),
                    [Err(MessageError)],
                    "{message:?} at {len}"
                );
            }
        }
        assert_eq!(Messages::new(&[10; 64]).collect::<Vec<_>>(), [Err(MessageError)]);
    }

    #[test]
    fn any_bytes_are_read_without_a_panic_and_come_to_an_end() {
        nebula_testing::seeded(|u| {
            let bytes: Vec<u8> = u.arbitrary()?;
            assert!(Messages::new(&bytes).count() <= bytes.len() / COMMON_BYTES + 1);
            Ok(())
        });
    }
}
