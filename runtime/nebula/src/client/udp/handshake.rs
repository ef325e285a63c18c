//! The client's handshake: it sends hellos until a welcome arrives, and again when the server seems
//! to be gone.

use crate::client::error::Hint;
use crate::rpc::recipient::{Cover, KeyId};
use crate::transport::udp::frame::{Frame, FrameKind};
use crate::transport::udp::handshake::{Hello, Reason, Refused, Welcome};
use nebula_nic::{Mtu, NodeId, Span, Timestamp};
use siphasher::sip::SipHasher24;
use std::hash::Hasher;

/// Between two hellos, first and longest.
const PAUSE_FIRST: Span = Span::from_ms(20);
const PAUSE_MAX: Span = Span::from_secs(1);
/// After a welcome the client has no doubts for so many times its round trip, within these limits:
/// an attacker who replays old frames slows the client down by a ninth at most.
const TRUST_TIMES: u64 = 8;
const TRUST_MIN: Span = Span::from_ms(20);
const TRUST_MAX: Span = Span::from_secs(1);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Admitted {
    pub(super) domain: u8,
    pub(super) incarnation: u64,
    pub(super) snid: NodeId,
    token: u64,
    pub(super) datagram_bytes: u16,
    pub(super) rpc_bytes_max: u32,
    /// 0 if the server does not announce it.
    pub(super) reply_bytes_max: u32,
    /// Packets that it takes before a grant; 0 if it grants none.
    pub(super) unscheduled_packets: u32,
    pub(super) mtu: Mtu,
    pub(super) slo: Span,
}

impl Admitted {
    /// The header of this client's frames: its longest datagram, and the key that seals them.
    #[inline]
    pub(super) fn frame(&self, datagram_bytes: u16, key: KeyId) -> Frame {
        let &Self { domain, incarnation, snid, token: word, .. } = self;
        let cover = Cover { secret: 0, key };
        Frame { kind: FrameKind::Client, domain, incarnation, snid, datagram_bytes, word, cover }
    }

    /// Start value of the check of the server's frames to this client.
    #[inline]
    pub(super) fn secret(&self) -> u32 {
        Cover::of_token(self.token, KeyId::default()).secret
    }

    /// Whether a frame or a refusal belongs to this grant.
    #[inline]
    pub(super) fn is_of(&self, incarnation: u64, snid: NodeId) -> bool {
        self.incarnation == incarnation && self.snid == snid
    }
}

#[derive(Clone, Copy, Debug)]
struct Asking {
    since: Timestamp,
    said: Timestamp,
    next: Timestamp,
    pause: Span,
    echo: u64,
    hellos: u32,
}

#[derive(Debug)]
pub(super) struct Handshake {
    domain: u8,
    admitted: Option<Admitted>,
    asking: Option<Asking>,
    secret: [u8; 16],
    asked: u64,
    /// The client has no doubts until then, after a welcome.
    trusted_until: Timestamp,
    pub(super) hint: Hint,
}

impl Handshake {
    pub(super) fn new(now: Timestamp, secret: [u8; 16], domain: u8) -> Self {
        let mut handshake = Self {
            domain,
            admitted: None,
            asking: None,
            secret,
            asked: 0,
            trusted_until: Timestamp::ZERO,
            hint: Hint::Nothing,
        };
        handshake.ask(now);
        handshake
    }

    #[inline]
    pub(super) fn open(&self) -> Option<&Admitted> {
        if self.asking.is_none() { self.admitted.as_ref() } else { None }
    }

    #[inline]
    pub(super) fn admitted(&self) -> Option<&Admitted> {
        self.admitted.as_ref()
    }

    #[inline]
    pub(super) fn is_asking(&self) -> bool {
        self.asking.is_some()
    }

    pub(super) fn ask(&mut self, now: Timestamp) {
        self.asked += 1;
        let mut hasher = SipHasher24::new_with_key(&self.secret);
        hasher.write_u64(self.asked);
        self.asking =
            Some(Asking { since: now, said: now, next: now, pause: PAUSE_FIRST, echo: hasher.finish(), hellos: 0 });
    }

    pub(super) fn asked_for(&self, now: Timestamp) -> Span {
        self.asking.map_or(Span::ZERO, |asking| now - asking.since)
    }

    pub(super) fn ask_on(&mut self, now: Timestamp) {
        if let Some(asking) = &mut self.asking {
            (asking.since, asking.hellos) = (now, 0);
        }
    }

    pub(super) fn hellos(&self) -> u32 {
        self.asking.map_or(0, |asking| asking.hellos)
    }

    pub(super) fn poll_timeout(&self) -> Option<Timestamp> {
        self.asking.map(|asking| asking.next)
    }

    pub(super) fn poll_hello(&mut self, now: Timestamp, datagram_bytes: u16) -> Option<Hello> {
        let (snid, token) = self.admitted.map_or((NodeId(0), 0), |admitted| (admitted.snid, admitted.token));
        let asking = self.asking.as_mut().filter(|asking| asking.next <= now)?;
        (asking.said, asking.next) = (now, now + asking.pause);
        asking.pause = (asking.pause * 2).min(PAUSE_MAX);
        asking.hellos += 1;
        Some(Hello { domain: self.domain, echo: asking.echo, snid, token, datagram_bytes })
    }

    /// Takes a welcome that answers the hello. Returns the grant before it.
    pub(super) fn handle_welcome(&mut self, now: Timestamp, welcome: &Welcome) -> Option<Option<Admitted>> {
        let mtu = Mtu::try_new(welcome.mtu_bytes).ok()?;
        let asking = self.asking.filter(|asking| asking.echo == welcome.echo && self.domain == welcome.domain)?;
        self.asking = None;
        self.trusted_until = now + ((now - asking.said) * TRUST_TIMES).clamp(TRUST_MIN, TRUST_MAX);
        self.hint = Hint::Nothing;
        let &Welcome { domain, incarnation, snid, token, datagram_bytes, rpc_bytes_max, reply_bytes_max, slo, .. } =
            welcome;
        let unscheduled_packets = welcome.unscheduled_packets;
        let admitted = Admitted {
            domain,
            incarnation,
            snid,
            token,
            datagram_bytes,
            rpc_bytes_max,
            reply_bytes_max,
            unscheduled_packets,
            mtu,
            slo,
        };
        Some(self.admitted.replace(admitted))
    }

    /// Such a refusal may be old or forged. It only makes the client ask whether the server is the
    /// same.
    pub(super) fn handle_refusal(&mut self, now: Timestamp, refused: &Refused) {
        if self.admitted.is_some_and(|admitted| admitted.is_of(refused.incarnation, refused.snid)) {
            self.doubt(now);
        }
    }

    /// Asks whether the grant is still valid, unless the server has just confirmed it.
    pub(super) fn doubt(&mut self, now: Timestamp) {
        if self.asking.is_none() && now >= self.trusted_until {
            self.ask(now);
        }
    }

    /// Asks on a new connection after a broken one; a little later, if the server has just
    /// answered.
    pub(super) fn ask_again(&mut self, now: Timestamp) {
        if self.asking.is_some() {
            return;
        }
        self.ask(now);
        if let Some(asking) = self.asking.as_mut().filter(|_| now < self.trusted_until) {
            asking.next = now + PAUSE_FIRST;
        }
    }

    /// Takes the refusal of a hello that the server could not open. It repeats the first bytes of
    /// the hello's body: `lead` if that is sealed.
    pub(super) fn handle_unopened(&mut self, refused: &Refused, lead: Option<u64>) {
        if self.asking.is_some_and(|asking| refused.echo == lead.unwrap_or(asking.echo)) {
            self.note(refused.reason);
        }
    }

    pub(super) fn note(&mut self, reason: Reason) {
        self.hint = match reason {
            Reason::Version => Hint::Version,
            Reason::KeyWanted => Hint::KeyWanted,
            Reason::NoKey => Hint::NoKey,
            Reason::Domain => Hint::Domain,
            Reason::Incarnation | Reason::Token => self.hint,
        };
    }
}
