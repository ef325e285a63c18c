//! Whether a datagram is what its sender wrote: a check against the network's errors, or a seal against everybody without the key.
//!
//! ```text
//! plain    header with CRC-32C | messages
//! sealed   header, in the clear and authenticated | nonce 24 | messages, encrypted | tag 16
//! ```
//!
//! The seal is XChaCha20-Poly1305 with one key for all. A nonce is 16 random bytes of the sender's run and a counter: the cipher derives
//! a key from the shared one and the random bytes, so that every run of every client has its own, and the server keeps none of them.

use super::frame::{CHECK, FRAME_BYTES, Frame, FrameError};
use crate::config::key::Key;
use chacha20poly1305::aead::{AeadInOut, KeyInit};
use chacha20poly1305::{Tag, XChaCha20Poly1305, XNonce};

/// Bytes of a nonce, of the part of it that is one for a run, and of a tag.
const NONCE_BYTES: usize = 24;
const SALT_BYTES: usize = 16;
const TAG_BYTES: usize = 16;

/// Closes datagrams that go out and opens those that come in.
pub(crate) enum Seal {
    Plain,
    Keyed(Box<Keyed>),
}

pub(crate) struct Keyed {
    cipher: XChaCha20Poly1305,
    salt: [u8; SALT_BYTES],
    counter: u64,
}

impl std::fmt::Debug for Seal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(if self.is_sealed() { "Seal::Keyed(..)" } else { "Seal::Plain" })
    }
}

impl Seal {
    /// With a key, `salt` must be random and of no other run.
    pub(crate) fn new(key: Option<&Key>, salt: [u8; SALT_BYTES]) -> Self {
        match key {
            None => Self::Plain,
            Some(key) => {
                let cipher = XChaCha20Poly1305::new(&key.0.into());
                Self::Keyed(Box::new(Keyed { cipher, salt, counter: 0 }))
            }
        }
    }

    pub(crate) fn is_sealed(&self) -> bool {
        matches!(self, Self::Keyed(_))
    }

    /// Bytes before the messages of a datagram.
    #[inline(always)]
    pub(crate) fn lead_bytes(&self) -> usize {
        if self.is_sealed() { FRAME_BYTES + NONCE_BYTES } else { FRAME_BYTES }
    }

    /// Bytes behind them.
    #[inline(always)]
    pub(crate) fn tail_bytes(&self) -> usize {
        if self.is_sealed() { TAG_BYTES } else { 0 }
    }

    /// Writes the header of a datagram whose messages are in place, [`lead_bytes`](Self::lead_bytes) from its start and
    /// [`tail_bytes`](Self::tail_bytes) from its end, and closes it.
    ///
    /// # Panics
    ///
    /// When the datagram is shorter than that.
    #[inline]
    pub(crate) fn close(&mut self, frame: &Frame, datagram: &mut [u8]) {
        frame.encode(datagram, self.is_sealed());
        match self {
            Self::Plain => {
                let check = crc32c::crc32c(datagram);
                datagram[CHECK].copy_from_slice(&check.to_le_bytes());
            }
            Self::Keyed(keyed) => keyed.close(datagram),
        }
    }

    /// The header and the messages of a datagram that is what its sender wrote.
    #[inline]
    pub(crate) fn open<'d>(&self, datagram: &'d mut [u8]) -> Result<(Frame, &'d [u8]), FrameError> {
        let (frame, is_sealed) = Frame::decode(datagram)?;
        if is_sealed != self.is_sealed() {
            return Err(FrameError::Sealing);
        }
        match self {
            Self::Plain => open_plain(datagram).map(|body| (frame, body)),
            Self::Keyed(keyed) => keyed.open(datagram).map(|body| (frame, body)),
        }
    }
}

#[inline]
fn open_plain(datagram: &mut [u8]) -> Result<&[u8], FrameError> {
    let check = super::frame::word(datagram, CHECK.start);
    datagram[CHECK].fill(0);
    if crc32c::crc32c(datagram) != check {
        return Err(FrameError::Forged);
    }
    Ok(&datagram[FRAME_BYTES..])
}

impl Keyed {
    fn close(&mut self, datagram: &mut [u8]) {
        let mut nonce = [0; NONCE_BYTES];
        nonce[..SALT_BYTES].copy_from_slice(&self.salt);
        nonce[SALT_BYTES..].copy_from_slice(&self.counter.to_le_bytes());
        self.counter += 1;
        let (header, rest) = datagram.split_at_mut(FRAME_BYTES);
        let (at, rest) = rest.split_at_mut(NONCE_BYTES);
        let (messages, tag) = rest.split_at_mut(rest.len() - TAG_BYTES);
        at.copy_from_slice(&nonce);
        let sealed = self.cipher.encrypt_inout_detached(&XNonce::from(nonce), header, messages.into());
        let sealed = sealed.expect("a datagram is shorter than the cipher's bound");
        tag.copy_from_slice(&sealed);
    }

    fn open<'d>(&self, datagram: &'d mut [u8]) -> Result<&'d [u8], FrameError> {
        if datagram.len() < FRAME_BYTES + NONCE_BYTES + TAG_BYTES {
            return Err(FrameError::TooShort);
        }
        let (header, rest) = datagram.split_at_mut(FRAME_BYTES);
        let (nonce, rest) = rest.split_at_mut(NONCE_BYTES);
        let (messages, tag) = rest.split_at_mut(rest.len() - TAG_BYTES);
        let nonce = XNonce::try_from(&*nonce).map_err(|_| FrameError::TooShort)?;
        let tag = Tag::try_from(&*tag).map_err(|_| FrameError::TooShort)?;
        let opened = self.cipher.decrypt_inout_detached(&nonce, header, (&mut *messages).into(), &tag);
        opened.map_err(|_| FrameError::Forged)?;
        Ok(messages)
    }
}

#[cfg(test)]
mod tests {
    use super::super::frame::FrameKind;
    use super::*;
    use nebula_nic::NodeId;

    const FRAME: Frame =
        Frame { kind: FrameKind::Client, incarnation: 3, snid: NodeId(4), datagram_bytes: 1232, word: 5 };

    fn seals(key: u8) -> [Seal; 2] {
        [Seal::Plain, Seal::new(Some(&Key::new([key; 32])), [9; 16])]
    }

    fn datagram(seal: &mut Seal, body: &[u8]) -> Vec<u8> {
        let mut datagram = vec![0; seal.lead_bytes() + body.len() + seal.tail_bytes()];
        datagram[seal.lead_bytes()..][..body.len()].copy_from_slice(body);
        seal.close(&FRAME, &mut datagram);
        datagram
    }

    #[test]
    fn what_was_closed_is_opened_unless_a_bit_is_another() {
        for mut seal in seals(1) {
            let closed = datagram(&mut seal, b"messages of a client");
            assert_eq!(seal.open(&mut closed.clone()), Ok((FRAME, &b"messages of a client"[..])));
            for bit in 0..closed.len() * 8 {
                let mut changed = closed.clone();
                changed[bit / 8] ^= 1 << (bit % 8);
                assert!(seal.open(&mut changed).is_err(), "bit {bit} of {seal:?}");
            }
            for len in 0..closed.len() {
                assert!(seal.open(&mut closed[..len].to_vec()).is_err(), "{len} bytes of {seal:?}");
            }
        }
    }

    #[test]
    fn another_key_opens_nothing_and_plain_is_not_taken_for_sealed() {
        let [mut plain, mut sealed] = seals(1);
        let [_, other] = seals(2);
        let closed = datagram(&mut sealed, b"secret");
        assert_eq!(other.open(&mut closed.clone()), Err(FrameError::Forged));
        assert_eq!(plain.open(&mut closed.clone()), Err(FrameError::Sealing));
        assert_eq!(sealed.open(&mut datagram(&mut plain, b"open")), Err(FrameError::Sealing));
        assert!(!closed.windows(6).any(|window| window == b"secret"), "the messages are encrypted");
    }

    #[test]
    fn no_nonce_is_used_twice() {
        let [_, mut sealed] = seals(1);
        let nonce = |datagram: &[u8]| datagram[FRAME_BYTES..][..NONCE_BYTES].to_vec();
        let (first, second) = (datagram(&mut sealed, b"same"), datagram(&mut sealed, b"same"));
        assert_ne!(nonce(&first), nonce(&second));
        assert_ne!(first[56..], second[56..], "nor does the same text look the same");
    }
}
