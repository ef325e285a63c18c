//! Messages of `udp://` as a server sends them and reads them, for a scripted server.

use super::udp_raw::{common, long, short, word};

/// Kinds of messages.
pub(crate) const REQUEST: u8 = 1;
pub(crate) const REPLY: u8 = 2;
pub(crate) const NACK: u8 = 3;
pub(crate) const ACK: u8 = 4;
pub(crate) const FAULT: u8 = 5;
pub(crate) const PULL: u8 = 6;
pub(crate) const CANCEL: u8 = 7;
pub(crate) const GRANT: u8 = 9;

/// A message in a datagram.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Message {
    pub(crate) kind: u8,
    pub(crate) flag: bool,
    /// In a request: the client waits for grants.
    pub(crate) wants_grants: bool,
    pub(crate) tid: u32,
    /// `rpc_bytes` or a code.
    pub(crate) word: u32,
    pub(crate) pkt_idx: u16,
    /// In a request.
    pub(crate) key_hash: u32,
    pub(crate) budget_us: u32,
    pub(crate) stamp_ns: u64,
    /// In an acknowledgment or a pull.
    pub(crate) bitmap: u64,
    pub(crate) payload: Vec<u8>,
}

impl Message {
    pub(crate) fn reply(tid: u32, reply: &[u8], pkt_idx: u16, mtu: usize) -> Self {
        let from = usize::from(pkt_idx) * mtu;
        let payload = reply[from..reply.len().min(from + mtu)].to_vec();
        let word = u32::try_from(reply.len()).expect("short");
        Self { kind: REPLY, tid, word, pkt_idx, payload, ..Self::default() }
    }

    pub(crate) fn nack(tid: u32, code: u32) -> Self {
        Self { kind: NACK, tid, word: code, ..Self::default() }
    }

    pub(crate) fn grant(tid: u32, packets: u32) -> Self {
        Self { kind: GRANT, tid, word: packets, ..Self::default() }
    }

    pub(crate) fn ack_whole(tid: u32) -> Self {
        Self { kind: ACK, tid, flag: true, ..Self::default() }
    }

    pub(crate) fn encode(&self) -> Vec<u8> {
        let payload_bytes = u16::try_from(self.payload.len()).expect("short");
        let mut bytes = common(self.kind, self.flag, payload_bytes, self.tid, self.word, self.pkt_idx);
        if [ACK, PULL].contains(&self.kind) {
            bytes.extend(self.bitmap.to_le_bytes());
        }
        bytes.extend_from_slice(&self.payload);
        bytes
    }

    pub(crate) fn read_all(mut body: &[u8]) -> Vec<Self> {
        let mut messages = Vec::new();
        while body.first().is_some_and(|&kind| kind != 0) {
            let payload = usize::from(short(body, 2));
            assert!(body[1] <= 3, "flags that nobody knows");
            let mut message = Self {
                kind: body[0],
                flag: body[1] & 1 == 1,
                wants_grants: body[1] & 2 == 2,
                tid: word(body, 4),
                word: word(body, 8),
                pkt_idx: short(body, 12),
                ..Self::default()
            };
            let len;
            match message.kind {
                REQUEST => {
                    (message.key_hash, message.budget_us) = (word(body, 16), word(body, 20));
                    message.stamp_ns = long(body, 24);
                    message.payload = body[32..32 + payload].to_vec();
                    len = 32 + payload;
                }
                PULL => {
                    message.bitmap = long(body, 16);
                    len = 24;
                }
                CANCEL => {
                    message.stamp_ns = long(body, 16);
                    len = 24;
                }
                kind => panic!("a client sends no message of kind {kind}"),
            }
            messages.push(message);
            body = &body[len..];
        }
        messages
    }
}
