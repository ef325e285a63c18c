//! Accepts clients without keeping state for them: hello, welcome, refusal, and address tokens.
//!
//! ```text
//! client ─ Hello: echo, filled up to 128 bytes ───▶ server     not longer than the hello, so that a forged source is worth nothing
//!        ◀─ Welcome: echo, token, sizes, SLO ─────
//!        ─ frames with incarnation, snid, token ──▶            a token is right for one address, one client, one run of the server
//!        ◀─ Refusal: echo ───────────────────────             ends nothing: the client asks again, and believes a welcome with its new echo
//! ```

use super::frame::{FRAME_BYTES, Frame, FrameKind, long, word};
use super::seal::Seal;
use crate::rpc::numbered::numbered;
use crate::rpc::recipient::{Cover, KeyId};
use nebula_nic::{NodeId, Span};
use siphasher::sip::SipHasher24;
use siphasher::sip128::{Hasher128, SipHasher24 as SipHasher128};
use std::hash::Hasher;
use std::net::{IpAddr, SocketAddr};

/// Bytes of a hello without its seal: a welcome is shorter.
pub(crate) const HELLO_BYTES: usize = 128;
const WELCOME_BODY_BYTES: usize = 40;
const REFUSAL_BODY_BYTES: usize = 16;
/// The bytes that a refusal repeats: the echo of a plain hello, or the nonce of a sealed datagram.
const ECHO_AT: usize = FRAME_BYTES;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Hello {
    pub(crate) domain: u8,
    /// Random; the answer repeats it.
    pub(crate) echo: u64,
    /// The client's number and token so far, to keep them; zeros at first.
    pub(crate) snid: NodeId,
    pub(crate) token: u64,
    pub(crate) datagram_bytes: u16,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Welcome {
    pub(crate) domain: u8,
    pub(crate) echo: u64,
    pub(crate) incarnation: u64,
    pub(crate) snid: NodeId,
    pub(crate) token: u64,
    /// The longest datagram that the server accepts.
    pub(crate) datagram_bytes: u16,
    /// The server's time as it answered.
    pub(crate) time_ns: u64,
    pub(crate) rpc_bytes_max: u32,
    /// The service's longest reply, in bytes; 0 if unknown.
    pub(crate) reply_bytes_max: u32,
    /// Packets of a message that the client may send before a grant; 0 if the server grants none.
    pub(crate) unscheduled_packets: u32,
    pub(crate) mtu_bytes: u32,
    pub(crate) slo: Span,
}

numbered! {
    pub(crate) enum Reason: u32 {
        Version = 1,
        /// The frame is for another run of the server.
        Incarnation = 2,
        /// The token does not belong to this address.
        Token = 3,
        /// The server accepts sealed datagrams only.
        KeyWanted = 4,
        NoKey = 5,
        /// The server serves another messaging domain.
        Domain = 6,
    }
}

impl Reason {
    /// Whether the refused datagram was opened. Then the refusal is closed as other frames to that
    /// client are; otherwise it is plain.
    pub(crate) const fn is_of_opened(self) -> bool {
        matches!(self, Self::Incarnation | Self::Token)
    }
}

/// A refusal. Its `echo` is what the refused datagram has at [`ECHO_AT`], and incarnation and snid
/// are those of its header, so that the client recognizes the answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Refused {
    pub(crate) reason: Reason,
    pub(crate) echo: u64,
    pub(crate) incarnation: u64,
    pub(crate) snid: NodeId,
}

impl Hello {
    /// The whole datagram, sealed with the first key.
    pub(crate) fn datagram(&self, seal: &mut Seal) -> Option<Vec<u8>> {
        let Self { domain, echo, snid, token, datagram_bytes } = *self;
        let cover = Cover { secret: 0, key: seal.first() };
        let frame = Frame { kind: FrameKind::Hello, domain, incarnation: 0, snid, datagram_bytes, word: token, cover };
        let mut body = [0; HELLO_BYTES - FRAME_BYTES];
        body[..8].copy_from_slice(&echo.to_le_bytes());
        closed(seal, &frame, &body)
    }

    pub(crate) fn read(frame: &Frame, body: &[u8]) -> Option<Self> {
        let is_one = frame.kind == FrameKind::Hello && body.len() >= HELLO_BYTES - FRAME_BYTES;
        let Frame { domain, snid, datagram_bytes, word: token, .. } = *frame;
        is_one.then(|| Self { domain, echo: long(body, 0), snid, token, datagram_bytes })
    }
}

impl Welcome {
    /// The whole datagram, sealed with the hello's `key`.
    pub(crate) fn datagram(&self, seal: &mut Seal, key: KeyId) -> Option<Vec<u8>> {
        let &Self { domain, incarnation, snid, datagram_bytes, time_ns: word, .. } = self;
        let cover = Cover { secret: 0, key };
        let frame = Frame { kind: FrameKind::Welcome, domain, incarnation, snid, datagram_bytes, word, cover };
        let mut body = [0; WELCOME_BODY_BYTES];
        body[..8].copy_from_slice(&self.echo.to_le_bytes());
        body[8..16].copy_from_slice(&self.token.to_le_bytes());
        body[16..20].copy_from_slice(&self.rpc_bytes_max.to_le_bytes());
        body[20..24].copy_from_slice(&self.mtu_bytes.to_le_bytes());
        body[24..32].copy_from_slice(&self.slo.as_ps().to_le_bytes());
        body[32..36].copy_from_slice(&self.reply_bytes_max.to_le_bytes());
        body[36..40].copy_from_slice(&self.unscheduled_packets.to_le_bytes());
        closed(seal, &frame, &body)
    }

    /// `None` also if the payload of packets is no positive multiple of 64 below 64 KiB.
    pub(crate) fn read(frame: &Frame, body: &[u8]) -> Option<Self> {
        if frame.kind != FrameKind::Welcome || body.len() < WELCOME_BODY_BYTES {
            return None;
        }
        let Frame { domain, incarnation, snid, datagram_bytes, word: time_ns, .. } = *frame;
        let (echo, token, slo) = (long(body, 0), long(body, 8), Span::from_ps(long(body, 24)));
        let (rpc_bytes_max, mtu_bytes, reply_bytes_max) = (word(body, 16), word(body, 20), word(body, 32));
        let is_sound = mtu_bytes > 0 && mtu_bytes.is_multiple_of(64) && mtu_bytes < 1 << 16;
        is_sound.then_some(Self {
            domain,
            echo,
            incarnation,
            snid,
            token,
            datagram_bytes,
            time_ns,
            rpc_bytes_max,
            reply_bytes_max,
            unscheduled_packets: word(body, 36),
            mtu_bytes,
            slo,
        })
    }
}

/// The bytes that a refusal of `datagram` repeats; 0 if it is too short.
#[inline]
pub(crate) fn echo_of(datagram: &[u8]) -> u64 {
    if datagram.len() < ECHO_AT + 8 { 0 } else { long(datagram, ECHO_AT) }
}

impl Refused {
    pub(crate) fn datagram(&self, seal: &mut Seal, cover: Cover) -> Option<Vec<u8>> {
        let Self { reason, echo, incarnation, snid } = *self;
        let domain = 0;
        let frame = Frame { kind: FrameKind::Refusal, domain, incarnation, snid, datagram_bytes: 0, word: 0, cover };
        let mut body = [0; REFUSAL_BODY_BYTES];
        body[..4].copy_from_slice(&(reason as u32).to_le_bytes());
        body[8..16].copy_from_slice(&echo.to_le_bytes());
        closed(seal, &frame, &body)
    }

    pub(crate) fn of_another_version(datagram: &[u8]) -> Option<Self> {
        let body = datagram.get(FRAME_BYTES..FRAME_BYTES + REFUSAL_BODY_BYTES)?;
        Some(Self { reason: Reason::Version, echo: long(body, 8), incarnation: 0, snid: NodeId(0) })
    }

    pub(crate) fn read(frame: &Frame, body: &[u8]) -> Option<Self> {
        if frame.kind != FrameKind::Refusal || body.len() < REFUSAL_BODY_BYTES {
            return None;
        }
        let reason = Reason::from_number(word(body, 0))?;
        Some(Self { reason, echo: long(body, 8), incarnation: frame.incarnation, snid: frame.snid })
    }
}

pub(crate) fn closed(seal: &mut Seal, frame: &Frame, body: &[u8]) -> Option<Vec<u8>> {
    let lead = seal.lead_bytes();
    let mut datagram = vec![0; lead + body.len() + seal.tail_bytes()];
    datagram[lead..][..body.len()].copy_from_slice(body);
    seal.close(frame, &mut datagram).then_some(datagram)
}

pub(crate) fn reason_of(datagram: &[u8]) -> Option<Reason> {
    let body = datagram.get(FRAME_BYTES..FRAME_BYTES + 4)?;
    Reason::from_number(word(body, 0))
}

/// 16 secret bytes for use number `what`, from random bytes that have no other use. The secret of
/// one use says nothing about the others.
pub(crate) fn derived(entropy: &[u8; 32], what: u64) -> u128 {
    let (key, rest) = entropy.split_at(16);
    let mut hasher = SipHasher128::new_with_key(&std::array::from_fn(|i| key[i]));
    hasher.write(rest);
    hasher.write_u64(what);
    hasher.finish128().as_u128()
}

/// Eight of them, not all of them 0.
#[expect(clippy::cast_possible_truncation, reason = "half of the bytes are wanted")]
pub(crate) fn half(derived: u128) -> u64 {
    (derived as u64).max(1)
}

/// Makes and checks tokens with one secret for each run and no state for a client. A token's upper
/// half is the client's **session**; the lower half is valid for one address. So the server
/// recognizes a client whose address has changed, and remembers its RPCs by the session.
#[derive(Clone)]
pub(crate) struct Tokens {
    secret: [u8; 16],
}

impl std::fmt::Debug for Tokens {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Tokens(..)")
    }
}

/// Hashed first, so that the two kinds of input never have the same hash input.
const SESSION: u8 = 1;
const ADDRESS: u8 = 2;

impl Tokens {
    pub(crate) fn new(secret: [u8; 16]) -> Self {
        Self { secret }
    }

    /// The session of client `snid` with a key of `owner`; never 0.
    #[inline]
    #[expect(clippy::cast_possible_truncation, reason = "half of the bits are wanted")]
    pub(crate) fn session(&self, snid: NodeId, owner: u64) -> u32 {
        let mut hasher = SipHasher24::new_with_key(&self.secret);
        hasher.write_u8(SESSION);
        hasher.write_u64(owner);
        hasher.write_u32(snid.0);
        (hasher.finish() as u32).max(1)
    }

    /// The token of client `snid` at `address` in its session; never 0.
    #[inline]
    pub(crate) fn of(&self, address: SocketAddr, snid: NodeId, session: u32) -> u64 {
        let mut hasher = SipHasher24::new_with_key(&self.secret);
        hasher.write_u8(ADDRESS);
        match address.ip() {
            IpAddr::V4(ip) => hasher.write_u32(ip.to_bits()),
            IpAddr::V6(ip) => hasher.write_u128(ip.to_bits()),
        }
        hasher.write_u64(u64::from(address.port()) << 32 | u64::from(snid.0));
        u64::from(session) << 32 | hasher.finish() >> 32
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::key::Key;

    const WELCOME: Welcome = Welcome {
        domain: 5,
        echo: 1,
        incarnation: 2,
        snid: NodeId(3),
        token: 4,
        datagram_bytes: 1232,
        time_ns: 5,
        rpc_bytes_max: 1 << 20,
        reply_bytes_max: 70_000,
        unscheduled_packets: 8,
        mtu_bytes: 1088,
        slo: Span::from_us(100),
    };

    fn seals() -> [Seal; 2] {
        [Seal::Plain, Seal::new(&Key::new([1; 32]).into(), [2; 16])]
    }

    #[test]
    fn a_handshake_survives_the_way_there() {
        let hello = Hello { domain: 5, echo: 9, snid: NodeId(8), token: 7, datagram_bytes: 16_384 };
        let refused = Refused { reason: Reason::Token, echo: 9, incarnation: 1, snid: NodeId(8) };
        for mut seal in seals() {
            let key = seal.first();
            let said = [
                hello.datagram(&mut seal),
                WELCOME.datagram(&mut seal, key),
                refused.datagram(&mut seal, Cover { secret: 0, key }),
            ];
            let mut said = said.map(Option::unwrap);
            let [first, second, third] = said.each_mut().map(|datagram| seal.open(datagram, 0).unwrap());
            assert_eq!(Hello::read(&first.0, first.1), Some(hello));
            assert_eq!(Welcome::read(&second.0, second.1), Some(WELCOME));
            assert_eq!(Refused::read(&third.0, third.1), Some(refused));
        }
    }

    #[test]
    fn no_answer_is_longer_than_what_it_answers() {
        let hello = Hello { domain: 5, echo: 9, snid: NodeId(0), token: 0, datagram_bytes: 1232 };
        let refused = Refused { reason: Reason::Incarnation, echo: 9, incarnation: 1, snid: NodeId(8) };
        for mut seal in seals() {
            let (key, cover) = (seal.first(), Cover::default());
            assert!(WELCOME.datagram(&mut seal, key).unwrap().len() <= hello.datagram(&mut seal).unwrap().len());
            // A client's shortest frame has one message of 16 bytes.
            assert!(refused.datagram(&mut seal, cover).unwrap().len() <= seal.lead_bytes() + 16 + seal.tail_bytes());
        }
    }

    #[test]
    fn a_token_is_of_one_address_one_client_and_one_run() {
        let tokens = Tokens::new([1; 16]);
        let address: SocketAddr = "127.0.0.1:7400".parse().unwrap();
        let session = tokens.session(NodeId(1), 0);
        let token = tokens.of(address, NodeId(1), session);
        let others = ["127.0.0.1:7401", "127.0.0.2:7400", "[::1]:7400"].map(|other| other.parse().unwrap());
        for other in others {
            let elsewhere = tokens.of(other, NodeId(1), session);
            assert!(elsewhere != token && elsewhere >> 32 == token >> 32, "the session stays");
        }
        assert_ne!(tokens.of(address, NodeId(2), session), token);
        assert_ne!(Tokens::new([2; 16]).of(address, NodeId(1), session), token);
        let sessions =
            [tokens.session(NodeId(2), 0), tokens.session(NodeId(1), 7), Tokens::new([2; 16]).session(NodeId(1), 0)];
        assert!(!sessions.contains(&session), "of one client, one owner of keys, one run");
    }
}
