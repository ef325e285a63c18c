//! The messages of a datagram: one behind another, each 16 bytes and what its kind adds.
//!
//! ```text
//! byte  0     1      2..4     4..8  8..12              12..14   14..16  16…
//!       kind  flags  payload  tid   rpc_bytes or code  pkt_idx  0       request: key_hash 4, budget_us 4, stamp_ns 8, payload
//!                                                                       reply: payload    ack, pull: bitmap 8    cancel: stamp_ns 8
//! ```
//!
//! Kind 0 is padding up to the end. Reading takes any bytes: a message that is cut short or unknown ends the datagram with an error.

use super::frame::{long, short, word};
use nebula_nic::{NodeId, RpcKey, TransferId};

/// Bytes that every message has.
const COMMON_BYTES: usize = 16;
/// Bytes of a request before its payload.
pub(crate) const REQUEST_BYTES: usize = COMMON_BYTES + 16;
/// Bytes of a reply before its payload.
pub(crate) const REPLY_BYTES: usize = COMMON_BYTES;
/// Bytes of an acknowledgment, a pull or a cancel.
const LONGER_BYTES: usize = COMMON_BYTES + 8;
/// No deadline.
pub(crate) const NO_BUDGET: u32 = u32::MAX;

const PADDING: u8 = 0;
const REQUEST: u8 = 1;
const REPLY: u8 = 2;
const NACK: u8 = 3;
const ACK: u8 = 4;
const FAULT: u8 = 5;
const PULL: u8 = 6;
const CANCEL: u8 = 7;
/// Flag of a request: an acknowledgment is wanted. Flag of an acknowledgment: the RPC is whole.
const FLAG: u8 = 1;

/// One packet of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Request<'a> {
    pub(crate) tid: TransferId,
    pub(crate) rpc_bytes: u32,
    pub(crate) pkt_idx: u16,
    pub(crate) wants_ack: bool,
    pub(crate) key_hash: u32,
    /// From the stamp to the deadline, in microseconds; [`NO_BUDGET`] for none.
    pub(crate) budget_us: u32,
    /// The server's time of the first transmission, as the client reckons it.
    pub(crate) stamp_ns: u64,
    pub(crate) payload: &'a [u8],
}

/// One message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Message<'a> {
    Request(Request<'a>),
    Reply {
        tid: TransferId,
        rpc_bytes: u32,
        pkt_idx: u16,
        payload: &'a [u8],
    },
    /// Refused; the code is a `NackReason`'s.
    Nack {
        tid: TransferId,
        code: u32,
    },
    /// In the server: whole, or with packets missing from `first_missing` on; bit `i` says that packet `first_missing + i` has come.
    Ack {
        tid: TransferId,
        is_whole: bool,
        first_missing: u16,
        bitmap: u64,
    },
    /// Executed without a reply; the code is a `Fault`'s.
    Fault {
        tid: TransferId,
        code: u32,
    },
    /// Packets of a reply are wanted: bit `i` is packet `first + i`.
    Pull {
        tid: TransferId,
        first: u16,
        bitmap: u64,
    },
    /// The answer to the RPC of that number and stamp is not needed any more.
    Cancel {
        tid: TransferId,
        stamp_ns: u64,
    },
}

/// Bytes that are no message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct MessageError;

impl Message<'_> {
    /// Bytes on the wire.
    #[inline(always)]
    pub(crate) fn len(&self) -> usize {
        match self {
            Self::Request(request) => REQUEST_BYTES + request.payload.len(),
            Self::Reply { payload, .. } => REPLY_BYTES + payload.len(),
            Self::Ack { .. } | Self::Pull { .. } | Self::Cancel { .. } => LONGER_BYTES,
            Self::Nack { .. } | Self::Fault { .. } => COMMON_BYTES,
        }
    }

    /// Writes the message into `out`, which has exactly [`len`](Self::len) bytes.
    #[inline(always)]
    pub(crate) fn encode(&self, out: &mut [u8]) {
        match *self {
            Self::Request(Request { tid, rpc_bytes, pkt_idx, wants_ack, key_hash, budget_us, stamp_ns, payload }) => {
                common(out, REQUEST, wants_ack, payload.len(), tid, rpc_bytes, pkt_idx);
                out[16..20].copy_from_slice(&key_hash.to_le_bytes());
                out[20..24].copy_from_slice(&budget_us.to_le_bytes());
                out[24..32].copy_from_slice(&stamp_ns.to_le_bytes());
                out[REQUEST_BYTES..].copy_from_slice(payload);
            }
            Self::Reply { tid, rpc_bytes, pkt_idx, payload } => {
                common(out, REPLY, false, payload.len(), tid, rpc_bytes, pkt_idx);
                out[REPLY_BYTES..].copy_from_slice(payload);
            }
            Self::Nack { tid, code } => common(out, NACK, false, 0, tid, code, 0),
            Self::Fault { tid, code } => common(out, FAULT, false, 0, tid, code, 0),
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

#[inline(always)]
fn common(out: &mut [u8], kind: u8, flag: bool, payload: usize, tid: TransferId, word: u32, pkt_idx: u16) {
    debug_assert!(payload <= usize::from(u16::MAX));
    #[expect(clippy::cast_possible_truncation, reason = "a payload fits its datagram, which fits 16 bits")]
    let payload = (payload as u16).to_le_bytes();
    let mut bytes = [0; COMMON_BYTES];
    bytes[0] = kind;
    bytes[1] = if flag { FLAG } else { 0 };
    bytes[2..4].copy_from_slice(&payload);
    bytes[4..8].copy_from_slice(&tid.0.to_le_bytes());
    bytes[8..12].copy_from_slice(&word.to_le_bytes());
    bytes[12..14].copy_from_slice(&pkt_idx.to_le_bytes());
    out[..COMMON_BYTES].copy_from_slice(&bytes);
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

    /// Bytes that are left, and how many requests with `payload_bytes` they may be.
    pub(crate) const fn left(&self, payload_bytes: usize) -> (usize, usize) {
        (self.rest.len(), self.rest.len() / (REQUEST_BYTES + payload_bytes))
    }

    #[inline(always)]
    fn read(&mut self) -> Option<Message<'a>> {
        let rest = self.rest;
        let common = rest.get(..COMMON_BYTES)?;
        let payload = usize::from(short(common, 2));
        let (flag, tid) = (common[1] & FLAG != 0, TransferId(word(common, 4)));
        let (rpc_bytes, pkt_idx) = (word(common, 8), short(common, 12));
        let (message, len) = match common[0] {
            REQUEST => {
                let bytes = rest.get(..REQUEST_BYTES + payload)?;
                let request = Request {
                    tid,
                    rpc_bytes,
                    pkt_idx,
                    wants_ack: flag,
                    key_hash: word(bytes, 16),
                    budget_us: word(bytes, 20),
                    stamp_ns: long(bytes, 24),
                    payload: &bytes[REQUEST_BYTES..],
                };
                (Message::Request(request), bytes.len())
            }
            REPLY => {
                let bytes = rest.get(..REPLY_BYTES + payload)?;
                (Message::Reply { tid, rpc_bytes, pkt_idx, payload: &bytes[REPLY_BYTES..] }, bytes.len())
            }
            NACK => (Message::Nack { tid, code: rpc_bytes }, COMMON_BYTES),
            FAULT => (Message::Fault { tid, code: rpc_bytes }, COMMON_BYTES),
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

/// The name of a client's RPC.
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
            wants_ack: true,
            key_hash: 7,
            budget_us: NO_BUDGET,
            stamp_ns: u64::MAX - 1,
            payload,
        };
        vec![
            Message::Request(request),
            Message::Reply { tid, rpc_bytes: 70_000, pkt_idx: 64, payload },
            Message::Nack { tid, code: 3 },
            Message::Ack { tid, is_whole: false, first_missing: 9, bitmap: 1 << 63 | 2 },
            Message::Ack { tid, is_whole: true, first_missing: 0, bitmap: 0 },
            Message::Fault { tid, code: 2 },
            Message::Pull { tid, first: 32, bitmap: u64::MAX },
            Message::Cancel { tid, stamp_ns: u64::MAX - 7 },
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
        assert_eq!(Messages::new(&[8; 64]).collect::<Vec<_>>(), [Err(MessageError)]);
    }

    #[test]
    fn any_bytes_are_read_without_a_panic_and_come_to_an_end() {
        seeded::seeded(|u| {
            let bytes: Vec<u8> = u.arbitrary()?;
            assert!(Messages::new(&bytes).count() <= bytes.len() / COMMON_BYTES + 1);
            Ok(())
        });
    }
}
