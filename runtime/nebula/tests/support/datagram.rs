//! Datagrams of `udp://` by hand, after docs/PROTOCOL.md. This is a second copy of the format, so
//! that a mistake in the first one shows.

/// The protocol's version.
pub(crate) const VERSION: u8 = 2;
/// Kinds of datagrams.
pub(crate) const HELLO: u8 = 1;
pub(crate) const WELCOME: u8 = 2;
pub(crate) const REFUSAL: u8 = 3;
pub(crate) const CLIENT: u8 = 4;
pub(crate) const SERVER: u8 = 5;
/// Kinds of messages.
pub(crate) const REQUEST: u8 = 1;
pub(crate) const REPLY: u8 = 2;
pub(crate) const NACK: u8 = 3;
pub(crate) const ACK: u8 = 4;
pub(crate) const FAULT: u8 = 5;
pub(crate) const PULL: u8 = 6;
pub(crate) const CANCEL: u8 = 7;
pub(crate) const GRANT: u8 = 9;

pub(crate) const FRAME_BYTES: usize = 32;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Frame {
    pub(crate) kind: u8,
    pub(crate) incarnation: u64,
    pub(crate) snid: u32,
    pub(crate) word: u64,
    /// The start value of the check. For the server's frames to an admitted client, it is the XOR
    /// of the halves of the client's token.
    pub(crate) secret: u32,
}

/// The start value of the check of frames to the client with that token.
pub(crate) fn secret_of(token: u64) -> u32 {
    word(&token.to_le_bytes(), 0) ^ word(&token.to_le_bytes(), 4)
}

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

pub(crate) fn datagram(frame: Frame, body: &[u8]) -> Vec<u8> {
    let mut bytes = vec![0; FRAME_BYTES];
    (bytes[0], bytes[1]) = (VERSION, frame.kind);
    bytes[8..16].copy_from_slice(&frame.incarnation.to_le_bytes());
    bytes[16..20].copy_from_slice(&frame.snid.to_le_bytes());
    bytes[20..22].copy_from_slice(&16_384_u16.to_le_bytes());
    bytes[24..32].copy_from_slice(&frame.word.to_le_bytes());
    bytes.extend_from_slice(body);
    check(&mut bytes, frame.secret);
    bytes
}

pub(crate) fn check(datagram: &mut [u8], secret: u32) {
    datagram[4..8].fill(0);
    let check = crc32c::crc32c_append(secret, datagram);
    datagram[4..8].copy_from_slice(&check.to_le_bytes());
}

pub(crate) fn read(datagram: &[u8]) -> (Frame, Vec<u8>) {
    let mut copy = datagram.to_vec();
    check(&mut copy, 0);
    assert!(copy == datagram && datagram[0] == VERSION && datagram[2] == 0, "version, flags, check");
    let frame = Frame {
        kind: datagram[1],
        incarnation: long(datagram, 8),
        snid: word(datagram, 16),
        word: long(datagram, 24),
        secret: 0,
    };
    (frame, datagram[FRAME_BYTES..].to_vec())
}

pub(crate) fn word(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes"))
}

pub(crate) fn long(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight bytes"))
}

fn short(bytes: &[u8], at: usize) -> u16 {
    u16::from_le_bytes(bytes[at..at + 2].try_into().expect("two bytes"))
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
        let mut bytes = vec![self.kind, u8::from(self.flag)];
        bytes.extend(u16::try_from(self.payload.len()).expect("short").to_le_bytes());
        bytes.extend(self.tid.to_le_bytes());
        bytes.extend(self.word.to_le_bytes());
        bytes.extend(self.pkt_idx.to_le_bytes());
        bytes.extend([0; 2]);
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
