//! Datagrams by hand, for clients that break the protocol.
//!
//! The protocol's tables are written a second time on purpose: a change of the protocol without a
//! new version fails here. The crate's own encoding is not used, not even its check.

use chacha20poly1305::aead::{AeadInOut, KeyInit};
use chacha20poly1305::{Tag, XChaCha20Poly1305, XNonce};
use siphasher::sip::SipHasher24;
use std::hash::Hasher;
use std::net::SocketAddr;
use std::sync::LazyLock;

/// The protocol's version.
pub(crate) const VERSION: u8 = 2;
pub(crate) const HELLO: u8 = 1;
pub(crate) const WELCOME: u8 = 2;
pub(crate) const REFUSAL: u8 = 3;
pub(crate) const CLIENT: u8 = 4;
pub(crate) const SERVER: u8 = 5;
pub(crate) const MTU: usize = 1088;
/// No deadline.
pub(crate) const NO_BUDGET: u32 = u32::MAX;
/// Longer than any test, in microseconds. A request with a deadline is not served at once: it waits
/// until its datagram has been read.
pub(crate) const BUDGET_US: u32 = 1_000_000;
pub(crate) const QUEUE_BOUND: u32 = 3;
pub(crate) const TOO_LARGE: u32 = 4;
pub(crate) const STALE: u32 = 5;
pub(crate) const EXPIRED: u32 = 6;
pub(crate) const INCOMPLETE: u32 = 7;
pub(crate) const CANCELLED: u32 = 8;
pub(crate) const BY_VERSION: u32 = 1;
pub(crate) const BY_INCARNATION: u32 = 2;
pub(crate) const BY_TOKEN: u32 = 3;
pub(crate) const KEY_WANTED: u32 = 4;
pub(crate) const NO_KEY: u32 = 5;

/// CRC-32C started from `secret`, byte by byte.
pub(crate) fn crc32c(secret: u32, bytes: &[u8]) -> u32 {
    static TABLE: LazyLock<Vec<u32>> = LazyLock::new(|| {
        let bit = |crc: u32, _| (crc >> 1) ^ if crc & 1 == 1 { 0x82F6_3B78 } else { 0 };
        (0..256).map(|byte| (0..8).fold(byte, bit)).collect()
    });
    !bytes.iter().fold(!secret, |crc, byte| (crc >> 8) ^ TABLE[usize::from(crc.to_le_bytes()[0] ^ byte)])
}

/// The start value of the check of a server's frame to the client with `token`.
pub(crate) fn secret_of(token: u64) -> u32 {
    u32::try_from(token & 0xFFFF_FFFF).expect("32 bits") ^ u32::try_from(token >> 32).expect("32 bits")
}

/// A key's tag in the header.
fn key_tag(key: [u8; 32]) -> u16 {
    let mut hasher = SipHasher24::new_with_key(key[..16].try_into().expect("16 bytes"));
    hasher.write(&key[16..]);
    u16::try_from(hasher.finish() & 0xFFFF).expect("16 bits")
}

/// The 32 bytes before the messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Header {
    pub(crate) version: u8,
    pub(crate) kind: u8,
    pub(crate) incarnation: u64,
    pub(crate) snid: u32,
    pub(crate) datagram_bytes: u16,
    /// Token or time.
    pub(crate) word: u64,
}

impl Header {
    fn bytes(&self, key: Option<[u8; 32]>) -> Vec<u8> {
        let mut bytes = vec![self.version, self.kind, u8::from(key.is_some()), 0, 0, 0, 0, 0];
        bytes.extend(self.incarnation.to_le_bytes());
        bytes.extend(self.snid.to_le_bytes());
        bytes.extend(self.datagram_bytes.to_le_bytes());
        bytes.extend(key.map_or(0, key_tag).to_le_bytes());
        bytes.extend(self.word.to_le_bytes());
        bytes
    }

    /// A client's plain datagram.
    pub(crate) fn plain(&self, body: &[u8]) -> Vec<u8> {
        self.plain_with(0, body)
    }

    /// A plain datagram whose check starts from `secret`.
    pub(crate) fn plain_with(&self, secret: u32, body: &[u8]) -> Vec<u8> {
        let mut datagram = self.bytes(None);
        datagram.extend(body);
        checked_with(secret, datagram)
    }

    /// A sealed datagram; `nonce` must differ each time.
    pub(crate) fn sealed(&self, body: &[u8], key: [u8; 32], nonce: u64) -> Vec<u8> {
        let header = self.bytes(Some(key));
        let mut at = [7; 24];
        at[16..].copy_from_slice(&nonce.to_le_bytes());
        let mut text = body.to_vec();
        let cipher = XChaCha20Poly1305::new(&key.into());
        let sealing = cipher.encrypt_inout_detached(&XNonce::from(at), &header, text.as_mut_slice().into());
        let tag = sealing.expect("short enough");
        [&header, &at[..], &text, &tag[..]].concat()
    }
}

/// The same datagram with its right check.
pub(crate) fn checked(datagram: Vec<u8>) -> Vec<u8> {
    checked_with(0, datagram)
}

pub(crate) fn checked_with(secret: u32, mut datagram: Vec<u8>) -> Vec<u8> {
    datagram[4..8].fill(0);
    let check = crc32c(secret, &datagram);
    datagram[4..8].copy_from_slice(&check.to_le_bytes());
    datagram
}

/// Header and messages of a received datagram: opened with `key` if it is sealed, otherwise checked
/// with `secret`.
pub(crate) fn opened(datagram: &[u8], key: Option<[u8; 32]>, secret: u32) -> (Header, Vec<u8>) {
    let header = Header {
        version: datagram[0],
        kind: datagram[1],
        incarnation: long(datagram, 8),
        snid: word(datagram, 16),
        datagram_bytes: short(datagram, 20),
        word: long(datagram, 24),
    };
    let tag = if datagram[2] == 0 { 0 } else { key_tag(key.expect("a key for a sealed datagram")) };
    assert_eq!((header.version, datagram[3], short(datagram, 22)), (VERSION, 0, tag), "{header:?}");
    if datagram[2] == 0 {
        assert_eq!(checked_with(secret, datagram.to_vec()), datagram, "the check is that of the datagram");
        return (header, datagram[32..].to_vec());
    }
    let text = unsealed(datagram, key.expect("a key for a sealed datagram"));
    (header, text.expect("sealed with the key"))
}

/// The text of a sealed datagram; `None` if it was not sealed with the key.
pub(crate) fn unsealed(datagram: &[u8], key: [u8; 32]) -> Option<Vec<u8>> {
    let end = datagram.len().checked_sub(16).filter(|&end| end >= 56)?;
    let (nonce, tag) = (XNonce::try_from(&datagram[32..56]).ok()?, Tag::try_from(&datagram[end..]).ok()?);
    let mut text = datagram[56..end].to_vec();
    let cipher = XChaCha20Poly1305::new(&key.into());
    let opening = cipher.decrypt_inout_detached(&nonce, &datagram[..32], text.as_mut_slice().into(), &tag);
    opening.ok().map(|()| text)
}

pub(crate) fn short(bytes: &[u8], at: usize) -> u16 {
    u16::from_le_bytes(bytes[at..at + 2].try_into().expect("two bytes"))
}

pub(crate) fn word(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes"))
}

pub(crate) fn long(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight bytes"))
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Packet<'p> {
    pub(crate) tid: u32,
    pub(crate) rpc_bytes: u32,
    pub(crate) pkt_idx: u16,
    pub(crate) wants_ack: bool,
    pub(crate) wants_grants: bool,
    pub(crate) budget_us: u32,
    pub(crate) stamp_ns: u64,
    pub(crate) payload: &'p [u8],
}

impl<'p> Packet<'p> {
    /// An RPC of one packet.
    pub(crate) fn whole(tid: u32, stamp_ns: u64, payload: &'p [u8]) -> Self {
        let rpc_bytes = u32::try_from(payload.len()).expect("short");
        Self {
            tid,
            rpc_bytes,
            pkt_idx: 0,
            wants_ack: false,
            wants_grants: false,
            budget_us: NO_BUDGET,
            stamp_ns,
            payload,
        }
    }

    /// Packet `pkt_idx` of an RPC of several.
    pub(crate) fn part(tid: u32, stamp_ns: u64, rpc: &'p [u8], pkt_idx: u16) -> Self {
        let from = usize::from(pkt_idx) * MTU;
        let payload = &rpc[from..rpc.len().min(from + MTU)];
        Self { pkt_idx, rpc_bytes: u32::try_from(rpc.len()).expect("short"), ..Self::whole(tid, stamp_ns, payload) }
    }

    pub(crate) fn bytes(&self) -> Vec<u8> {
        let payload_bytes = u16::try_from(self.payload.len()).expect("short");
        let mut bytes = common(1, self.wants_ack, payload_bytes, self.tid, self.rpc_bytes, self.pkt_idx);
        bytes[1] |= u8::from(self.wants_grants) << 1;
        bytes.extend(7_u32.to_le_bytes());
        bytes.extend(self.budget_us.to_le_bytes());
        bytes.extend(self.stamp_ns.to_le_bytes());
        bytes.extend(self.payload);
        bytes
    }
}

pub(crate) fn common(kind: u8, flag: bool, payload_bytes: u16, tid: u32, word: u32, pkt_idx: u16) -> Vec<u8> {
    let mut bytes = vec![kind, u8::from(flag)];
    bytes.extend(payload_bytes.to_le_bytes());
    bytes.extend(tid.to_le_bytes());
    bytes.extend(word.to_le_bytes());
    bytes.extend(pkt_idx.to_le_bytes());
    bytes.extend([0, 0]);
    bytes
}

/// Asks for packets of a reply: bit `i` stands for packet `first + i`.
pub(crate) fn pull(tid: u32, first: u16, bitmap: u64) -> Vec<u8> {
    let mut bytes = common(6, false, 0, tid, 0, first);
    bytes.extend(bitmap.to_le_bytes());
    bytes
}

/// The requests in a client's frame: transfer id, and the payload's range in `body`. Ends where a
/// server stops reading: at padding, a message that is cut short, or an unknown kind.
pub(crate) fn request_payloads(body: &[u8]) -> Vec<(u32, std::ops::Range<usize>)> {
    let (mut requests, mut at) = (Vec::new(), 0);
    while let Some(message) = body.get(at..).filter(|rest| rest.len() >= 16) {
        let payload_bytes = usize::from(short(message, 2));
        let len = match message[0] {
            1 => 32 + payload_bytes,
            2 => 16 + payload_bytes,
            3 | 5 => 16,
            4 | 6 | 7 => 24,
            _ => break,
        };
        if message.len() < len {
            break;
        }
        if message[0] == 1 {
            requests.push((word(message, 4), at + 32..at + len));
        }
        at += len;
    }
    requests
}

/// Cancels the RPC of that number and stamp.
pub(crate) fn cancel(tid: u32, stamp_ns: u64) -> Vec<u8> {
    let mut bytes = common(7, false, 0, tid, 0, 0);
    bytes.extend(stamp_ns.to_le_bytes());
    bytes
}

/// A server's message about an RPC.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    Reply { tid: u32, rpc_bytes: u32, pkt_idx: u16, payload: Vec<u8> },
    Nack { tid: u32, reason: u32 },
    Ack { tid: u32, is_whole: bool, first_missing: u16, bitmap: u64 },
    Fault { tid: u32, code: u32 },
    Grant { tid: u32, packets: u32 },
}

pub(crate) fn answers(mut body: &[u8]) -> Vec<Answer> {
    let mut answers = Vec::new();
    while body.first().is_some_and(|&kind| kind != 0) {
        let (tid, rpc_bytes, pkt_idx) = (word(body, 4), word(body, 8), short(body, 12));
        let (answer, len) = match body[0] {
            2 => {
                let len = 16 + usize::from(short(body, 2));
                (Answer::Reply { tid, rpc_bytes, pkt_idx, payload: body[16..len].to_vec() }, len)
            }
            3 => (Answer::Nack { tid, reason: rpc_bytes }, 16),
            4 => {
                let (is_whole, first_missing, bitmap) = (body[1] == 1, pkt_idx, long(body, 16));
                (Answer::Ack { tid, is_whole, first_missing, bitmap }, 24)
            }
            5 => (Answer::Fault { tid, code: rpc_bytes }, 16),
            9 => (Answer::Grant { tid, packets: rpc_bytes }, 16),
            kind => panic!("a server says {kind}"),
        };
        answers.push(answer);
        body = &body[len..];
    }
    assert!(body.iter().all(|&byte| byte == 0), "padding is zeros");
    answers
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Welcome {
    pub(crate) incarnation: u64,
    pub(crate) snid: u32,
    pub(crate) token: u64,
    pub(crate) time_ns: u64,
    pub(crate) rpc_bytes_max: u32,
    pub(crate) mtu_bytes: u32,
    pub(crate) slo_ps: u64,
    pub(crate) reply_bytes_max: u32,
    pub(crate) echo: u64,
}

impl Welcome {
    pub(crate) fn read(datagram: &[u8], key: Option<[u8; 32]>) -> Self {
        let (header, body) = opened(datagram, key, 0);
        assert_eq!((header.kind, body.len()), (WELCOME, 40), "{header:?}");
        Self {
            incarnation: header.incarnation,
            snid: header.snid,
            time_ns: header.word,
            echo: long(&body, 0),
            token: long(&body, 8),
            rpc_bytes_max: word(&body, 16),
            mtu_bytes: word(&body, 20),
            slo_ps: long(&body, 24),
            reply_bytes_max: word(&body, 32),
        }
    }
}

/// The reason of the refusal of `refused`, some of whose bytes it repeats. If the server could open
/// that, the check starts from its token.
pub(crate) fn refusal_of(refused: &[u8], datagram: &[u8], key: Option<[u8; 32]>) -> u32 {
    let is_opened = matches!(word(datagram, 32), BY_INCARNATION | BY_TOKEN) || datagram[2] == 1;
    let (header, body) = opened(datagram, key, if is_opened { secret_of(long(refused, 24)) } else { 0 });
    assert_eq!((header.kind, body.len()), (REFUSAL, 16), "{header:?}");
    assert_eq!(long(&body, 8), if refused.len() < 40 { 0 } else { long(refused, 32) }, "what is refused is repeated");
    word(&body, 0)
}

/// A client that knows only the tables.
#[derive(Clone, Debug)]
pub(crate) struct RawClient {
    pub(crate) address: SocketAddr,
    pub(crate) key: Option<[u8; 32]>,
    pub(crate) incarnation: u64,
    pub(crate) snid: u32,
    pub(crate) token: u64,
    /// Datagrams sealed so far.
    pub(crate) sealed: u64,
}

impl RawClient {
    /// A client before its handshake.
    pub(crate) fn new(address: SocketAddr, key: Option<[u8; 32]>) -> Self {
        // Nonces tell apart clients that share a key.
        let sealed = u64::from(address.port()) << 32;
        Self { address, key, incarnation: 0, snid: 0, token: 0, sealed }
    }

    fn datagram(&mut self, header: &Header, body: &[u8]) -> Vec<u8> {
        self.sealed += 1;
        match self.key {
            Some(key) => header.sealed(body, key, self.sealed),
            None => header.plain(body),
        }
    }

    pub(crate) fn hello(&mut self, echo: u64) -> Vec<u8> {
        let &mut Self { snid, token, .. } = self;
        let header = Header { version: VERSION, kind: HELLO, incarnation: 0, snid, datagram_bytes: 1232, word: token };
        let mut body = vec![0; 96];
        body[..8].copy_from_slice(&echo.to_le_bytes());
        self.datagram(&header, &body)
    }

    pub(crate) fn enter(&mut self, welcome: &Welcome) {
        (self.incarnation, self.snid, self.token) = (welcome.incarnation, welcome.snid, welcome.token);
    }

    pub(crate) fn header(&self) -> Header {
        let &Self { incarnation, snid, token: word, .. } = self;
        Header { version: VERSION, kind: CLIENT, incarnation, snid, datagram_bytes: 1232, word }
    }

    pub(crate) fn frame(&mut self, messages: &[u8]) -> Vec<u8> {
        let header = self.header();
        self.datagram(&header, messages)
    }

    /// The answers in a server's datagram, which must be for this client.
    pub(crate) fn read(&self, datagram: &[u8]) -> Vec<Answer> {
        let (header, body) = opened(datagram, self.key, secret_of(self.token));
        assert_eq!((header.kind, header.incarnation, header.snid), (SERVER, self.incarnation, self.snid));
        answers(&body)
    }
}
