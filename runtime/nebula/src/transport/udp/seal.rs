//! Checks that a datagram is its sender's: by a checksum over a secret, or by a seal with a key.
//!
//! ```text
//! plain    header with CRC-32C | messages
//! sealed   header, in the clear and authenticated | nonce 24 | messages, encrypted | tag 16
//! ```
//!
//! The seal is XChaCha20-Poly1305. A nonce is 16 random bytes of the sender's run and a counter.
//! The cipher derives a key from the shared one and the random bytes, so that every run of every
//! client has its own, and the server stores none of them. The header names the key by its
//! [tag](key_tag), so that a server with many keys tries one.

use super::frame::{CHECK, FRAME_BYTES, Frame, FrameError};
use crate::config::key::{Key, Keys};
use crate::rpc::recipient::KeyId;
use chacha20poly1305::aead::{AeadInOut, KeyInit};
use chacha20poly1305::{Tag, XChaCha20Poly1305, XNonce};
use siphasher::sip::SipHasher24;
use std::hash::Hasher;

/// Bytes of a nonce, of its random part, which is fixed for a run, and of a tag.
const NONCE_BYTES: usize = 24;
const SALT_BYTES: usize = 16;
const TAG_BYTES: usize = 16;

pub(crate) enum Seal {
    Plain,
    Keyed(Box<Keyed>),
}

pub(crate) struct Keyed {
    keys: Vec<Entry>,
    next: u32,
    salt: [u8; SALT_BYTES],
    counter: u64,
}

struct Entry {
    id: KeyId,
    tag: u16,
    owner: u64,
    key: Key,
    cipher: XChaCha20Poly1305,
}

impl std::fmt::Debug for Seal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(if self.is_sealed() { "Seal::Keyed(..)" } else { "Seal::Plain" })
    }
}

/// A key's tag in the header. Two keys may have the same tag; then both are tried.
#[expect(clippy::cast_possible_truncation, reason = "16 bits are wanted")]
fn key_tag(key: &Key) -> u16 {
    let (first, rest) = key.0.split_at(16);
    let mut hasher = SipHasher24::new_with_key(&std::array::from_fn(|i| first[i]));
    hasher.write(rest);
    hasher.finish() as u16
}

/// A number for the keys of one name.
pub(super) fn owner(name: &str) -> u64 {
    let mut hasher = SipHasher24::new_with_key(&[0; 16]);
    hasher.write(name.as_bytes());
    hasher.finish()
}

impl Seal {
    /// With keys, `salt` must be random and of no other run.
    pub(crate) fn new(keys: &Keys, salt: [u8; SALT_BYTES]) -> Self {
        if keys.is_empty() {
            return Self::Plain;
        }
        let mut keyed = Keyed { keys: Vec::new(), next: 0, salt, counter: 0 };
        keyed.set(keys);
        Self::Keyed(Box::new(keyed))
    }

    /// Replaces the keys; those that stay keep their numbers. Does nothing if this side has no
    /// keys, or would have none: whether datagrams are sealed cannot change.
    pub(crate) fn set_keys(&mut self, keys: &Keys) {
        match self {
            Self::Keyed(keyed) if !keys.is_empty() => keyed.set(keys),
            Self::Plain | Self::Keyed(_) => {}
        }
    }

    pub(crate) fn is_sealed(&self) -> bool {
        matches!(self, Self::Keyed(_))
    }

    #[inline]
    pub(crate) fn first(&self) -> KeyId {
        match self {
            Self::Plain => KeyId::default(),
            Self::Keyed(keyed) => keyed.keys[0].id,
        }
    }

    /// The owner of a key: a number for its name, 0 in plain.
    #[inline]
    pub(crate) fn owner(&self, key: KeyId) -> u64 {
        match self {
            Self::Plain => 0,
            Self::Keyed(keyed) => keyed.entry(key).map_or(0, |entry| entry.owner),
        }
    }

    /// The owner of the key that a datagram names; `None` without a key, or for several owners.
    pub(crate) fn claimed_owner(&self, datagram: &[u8]) -> Option<u64> {
        let Self::Keyed(keyed) = self else { return Some(0) };
        let (_, tag) = Frame::decode(datagram).ok()?;
        let mut owners = keyed.keys.iter().filter(|entry| Some(entry.tag) == tag).map(|entry| entry.owner);
        let owner = owners.next()?;
        owners.all(|other| other == owner).then_some(owner)
    }

    /// The first eight bytes behind the header of this side's sealed datagrams, which are constant.
    pub(crate) fn lead(&self) -> Option<u64> {
        match self {
            Self::Plain => None,
            Self::Keyed(keyed) => Some(super::frame::long(&keyed.salt, 0)),
        }
    }

    #[inline(always)]
    pub(crate) fn lead_bytes(&self) -> usize {
        if self.is_sealed() { FRAME_BYTES + NONCE_BYTES } else { FRAME_BYTES }
    }

    #[inline(always)]
    pub(crate) fn tail_bytes(&self) -> usize {
        if self.is_sealed() { TAG_BYTES } else { 0 }
    }

    /// Writes the header of a datagram and closes it as its cover says. The messages are in place,
    /// [`lead_bytes`](Self::lead_bytes) from its start and [`tail_bytes`](Self::tail_bytes) from
    /// its end; panics if it is shorter. Returns `false` if this side no longer has the key: then
    /// the datagram must not be sent.
    #[inline]
    #[must_use]
    pub(crate) fn close(&mut self, frame: &Frame, datagram: &mut [u8]) -> bool {
        match self {
            Self::Plain => {
                frame.encode(datagram, None);
                let check = crc32c::crc32c_append(frame.cover.secret, datagram);
                datagram[CHECK].copy_from_slice(&check.to_le_bytes());
                true
            }
            Self::Keyed(keyed) => keyed.close(frame, datagram),
        }
    }

    /// The header and the messages of a datagram, if they are what its sender wrote. `secret` is
    /// the seed of a plain datagram's check.
    #[inline]
    pub(crate) fn open<'d>(&self, datagram: &'d mut [u8], secret: u32) -> Result<(Frame, &'d [u8]), FrameError> {
        let (frame, tag) = Frame::decode(datagram)?;
        match (self, tag) {
            (Self::Plain, None) => open_plain(datagram, secret).map(|body| (frame, body)),
            (Self::Keyed(keyed), Some(tag)) => keyed.open(frame, tag, datagram),
            _ => Err(FrameError::Sealing),
        }
    }
}

#[inline]
fn open_plain(datagram: &mut [u8], secret: u32) -> Result<&[u8], FrameError> {
    let check = super::frame::word(datagram, CHECK.start);
    datagram[CHECK].fill(0);
    let is_right = crc32c::crc32c_append(secret, datagram) == check;
    // Restored, so that the caller can try another secret.
    datagram[CHECK].copy_from_slice(&check.to_le_bytes());
    if is_right { Ok(&datagram[FRAME_BYTES..]) } else { Err(FrameError::Forged) }
}

impl Keyed {
    fn set(&mut self, keys: &Keys) {
        let mut before = std::mem::take(&mut self.keys);
        for (name, key) in keys.iter() {
            let owner = owner(name);
            let kept = before.iter().position(|entry| entry.owner == owner && entry.key == *key);
            self.keys.push(kept.map_or_else(|| Entry::new(KeyId(self.next), owner, key), |at| before.swap_remove(at)));
            self.next += u32::from(kept.is_none());
        }
    }

    #[inline]
    fn entry(&self, key: KeyId) -> Option<&Entry> {
        self.keys.iter().find(|entry| entry.id == key)
    }

    fn close(&mut self, frame: &Frame, datagram: &mut [u8]) -> bool {
        let Some(entry) = self.keys.iter().find(|entry| entry.id == frame.cover.key) else { return false };
        frame.encode(datagram, Some(entry.tag));
        let mut nonce = [0; NONCE_BYTES];
        nonce[..SALT_BYTES].copy_from_slice(&self.salt);
        nonce[SALT_BYTES..].copy_from_slice(&self.counter.to_le_bytes());
        self.counter += 1;
        let (header, rest) = datagram.split_at_mut(FRAME_BYTES);
        let (at, rest) = rest.split_at_mut(NONCE_BYTES);
        let (messages, tag) = rest.split_at_mut(rest.len() - TAG_BYTES);
        at.copy_from_slice(&nonce);
        let sealed = entry.cipher.encrypt_inout_detached(&XNonce::from(nonce), header, messages.into());
        let sealed = sealed.expect("a datagram is shorter than the cipher's bound");
        tag.copy_from_slice(&sealed);
        true
    }

    /// A datagram that cannot be opened stays unchanged, because the next key may fit.
    fn open<'d>(&self, mut frame: Frame, tag: u16, datagram: &'d mut [u8]) -> Result<(Frame, &'d [u8]), FrameError> {
        if datagram.len() < FRAME_BYTES + NONCE_BYTES + TAG_BYTES {
            return Err(FrameError::TooShort);
        }
        let of_tag = self.keys.iter().filter(|entry| entry.tag == tag);
        let opened = of_tag.into_iter().find(|entry| entry.open(datagram)).ok_or(FrameError::Forged)?;
        frame.cover.key = opened.id;
        let end = datagram.len() - TAG_BYTES;
        Ok((frame, &datagram[FRAME_BYTES + NONCE_BYTES..end]))
    }
}

impl Entry {
    fn new(id: KeyId, owner: u64, key: &Key) -> Self {
        Self { id, tag: key_tag(key), owner, key: key.clone(), cipher: XChaCha20Poly1305::new(&key.0.into()) }
    }

    /// Decrypts a datagram in place if it was sealed with this key. It must have a seal's length.
    fn open(&self, datagram: &mut [u8]) -> bool {
        let (header, rest) = datagram.split_at_mut(FRAME_BYTES);
        let (nonce, rest) = rest.split_at_mut(NONCE_BYTES);
        let (messages, tag) = rest.split_at_mut(rest.len() - TAG_BYTES);
        let (Ok(nonce), Ok(tag)) = (XNonce::try_from(&*nonce), Tag::try_from(&*tag)) else { return false };
        self.cipher.decrypt_inout_detached(&nonce, header, messages.into(), &tag).is_ok()
    }
}

#[cfg(test)]
mod tests {
    use super::super::frame::FrameKind;
    use super::*;
    use crate::rpc::recipient::Cover;
    use nebula_nic::NodeId;

    const FRAME: Frame = Frame {
        kind: FrameKind::Client,
        domain: 0,
        incarnation: 3,
        snid: NodeId(4),
        datagram_bytes: 1232,
        word: 5,
        cover: Cover { secret: 77, key: KeyId(0) },
    };

    fn keyed(key: u8) -> Seal {
        Seal::new(&Key::new([key; 32]).into(), [9; 16])
    }

    fn seals(key: u8) -> [Seal; 2] {
        [Seal::Plain, keyed(key)]
    }

    fn datagram(seal: &mut Seal, body: &[u8]) -> Vec<u8> {
        datagram_of(seal, &FRAME, body).expect("the key is there")
    }

    fn datagram_of(seal: &mut Seal, frame: &Frame, body: &[u8]) -> Option<Vec<u8>> {
        let mut datagram = vec![0; seal.lead_bytes() + body.len() + seal.tail_bytes()];
        datagram[seal.lead_bytes()..][..body.len()].copy_from_slice(body);
        seal.close(frame, &mut datagram).then_some(datagram)
    }

    fn with_key(key: u32) -> Frame {
        Frame { cover: Cover { key: KeyId(key), ..FRAME.cover }, ..FRAME }
    }

    #[test]
    fn what_was_closed_is_opened_unless_a_bit_is_another() {
        for mut seal in seals(1) {
            let closed = datagram(&mut seal, b"messages of a client");
            let (frame, body) = seal.open(&mut closed.clone(), 77).map(|(frame, body)| (frame, body.to_vec())).unwrap();
            assert_eq!((frame.word, frame.cover.key, &body[..]), (5, KeyId(0), &b"messages of a client"[..]));
            for bit in 0..closed.len() * 8 {
                let mut changed = closed.clone();
                changed[bit / 8] ^= 1 << (bit % 8);
                assert!(seal.open(&mut changed, 77).is_err(), "bit {bit} of {seal:?}");
            }
            for len in 0..closed.len() {
                assert!(seal.open(&mut closed[..len].to_vec(), 77).is_err(), "{len} bytes of {seal:?}");
            }
        }
    }

    #[test]
    fn a_plain_datagram_is_taken_by_who_knows_what_its_check_begins_with() {
        let mut closed = datagram(&mut Seal::Plain, b"text");
        for bit in 0..32 {
            assert_eq!(Seal::Plain.open(&mut closed, 77 ^ 1 << bit), Err(FrameError::Forged));
        }
        assert!(Seal::Plain.open(&mut closed, 77).is_ok(), "who was wrong has not changed it");
    }

    #[test]
    fn another_key_opens_nothing_and_plain_is_not_taken_for_sealed() {
        let [mut plain, mut sealed] = seals(1);
        let other = keyed(2);
        let closed = datagram(&mut sealed, b"secret");
        assert_eq!(other.open(&mut closed.clone(), 77), Err(FrameError::Forged));
        assert_eq!(plain.open(&mut closed.clone(), 77), Err(FrameError::Sealing));
        assert_eq!(sealed.open(&mut datagram(&mut plain, b"open"), 77), Err(FrameError::Sealing));
        assert!(!closed.windows(6).any(|window| window == b"secret"), "the messages are encrypted");
    }

    #[test]
    fn no_nonce_is_used_twice() {
        let mut sealed = keyed(1);
        let nonce = |datagram: &[u8]| datagram[FRAME_BYTES..][..NONCE_BYTES].to_vec();
        let (first, second) = (datagram(&mut sealed, b"same"), datagram(&mut sealed, b"same"));
        assert_ne!(nonce(&first), nonce(&second));
        assert_ne!(first[56..], second[56..], "nor does the same text look the same");
    }

    #[test]
    fn any_of_several_keys_opens_and_who_took_one_out_does_not_speak_with_it() {
        let keys = |text: &str| text.parse::<Keys>().unwrap();
        let [a, b, c] = [1, 2, 3].map(|byte| Key::new([byte; 32]).to_hex());
        let mut server = Seal::new(&keys(&format!("ann {a}\nbob {b}")), [5; 16]);
        let mut bob = Seal::new(&keys(&format!("bob {b}")), [6; 16]);
        let (frame, _) = server.open(&mut datagram(&mut bob, b"bob"), 0).map(|(frame, _)| (frame, ())).unwrap();
        assert_eq!(frame.cover.key, KeyId(1));
        assert!(bob.open(&mut datagram_of(&mut server, &with_key(1), b"to bob").unwrap(), 0).is_ok());
        assert_eq!(
            bob.open(&mut datagram_of(&mut server, &with_key(0), b"to ann").unwrap(), 0),
            Err(FrameError::Forged)
        );

        server.set_keys(&keys(&format!("cid {c}\nann {a}")));
        assert_eq!(server.first(), KeyId(2));
        assert_eq!(server.open(&mut datagram(&mut bob, b"bob"), 0), Err(FrameError::Forged), "revoked");
        assert!(datagram_of(&mut server, &with_key(1), b"to bob").is_none());
        assert!(datagram_of(&mut server, &with_key(0), b"to ann").is_some(), "who stays keeps its number");
        server.set_keys(&Keys::default());
        assert!(server.is_sealed() && datagram_of(&mut server, &with_key(0), b"to ann").is_some());
    }

    #[test]
    fn two_keys_of_one_tag_are_both_tried() {
        let tagged = |key: u64| {
            let mut bytes = [0; 32];
            bytes[..8].copy_from_slice(&key.to_le_bytes());
            Key::new(bytes)
        };
        let first = tagged(0);
        let second = (1..1 << 20).map(tagged).find(|key| key_tag(key) == key_tag(&first)).unwrap();
        let keys: Keys = format!("one {}\ntwo {}", first.to_hex(), second.to_hex()).parse().unwrap();
        let server = Seal::new(&keys, [5; 16]);
        for (id, key) in [(0, first), (1, second)] {
            let mut client = Seal::new(&key.into(), [6; 16]);
            let mut closed = datagram(&mut client, b"text");
            let (frame, body) = server.open(&mut closed, 0).unwrap();
            assert_eq!((frame.cover.key, body), (KeyId(id), &b"text"[..]));
        }
    }
}
