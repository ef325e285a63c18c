//! Plain fields of protobuf's encoding, which generated code reads and writes: numbers, `bool`, enums, `string` and `bytes` that occur once and
//! whose key is one byte. All other fields are prost's, and prost's also whatever is unusual about a plain one.
//!
//! prost goes through its buffer's trait for each byte, and allocates a field of `bytes` twice. An RPC of a message with three plain fields took
//! eight times the instructions of a handler of bytes.

use nebula_sys::copy::low_bytes;
use nebula_sys::sync::{AtomicU64, Ordering};
use prost::encoding::{DecodeContext, decode_key, decode_varint};
use std::cell::RefCell;
use std::fmt::Debug;
use std::thread::LocalKey;

/// Where a thread keeps a message, so that the next one of its type allocates nothing.
pub type Spare<T> = LocalKey<RefCell<T>>;

/// A message of protobuf's encoding. `nebula-build` implements it; one that is written by hand needs none of its methods.
pub trait Fields: prost::Message + Default + Debug + 'static {
    /// Where this thread keeps one; `None` for those that own nothing.
    #[must_use]
    #[inline(always)]
    fn spare() -> Option<&'static Spare<Self>> {
        None
    }

    /// Reads the field of which `key` is the key and `rest` begins with the value, if it is a plain one. `rest` then begins behind it; `None`
    /// where it holds no such value.
    #[inline(always)]
    fn merge_plain(&mut self, key: u8, rest: &mut &[u8]) -> Option<bool> {
        let _ = (key, rest);
        Some(false)
    }

    /// Appends all fields to `to`; `None` where that has no room for them, or one is not plain.
    #[inline(always)]
    fn put_plain(&self, to: &mut Short<'_>) -> Option<()> {
        let _ = to;
        None
    }
}

/// `google.protobuf.Empty`.
impl Fields for () {}

/// The message that `body` holds; `None` where it holds none.
#[inline(always)]
pub(super) fn decode<T: Fields>(body: &[u8]) -> Option<T> {
    let mut message = T::default();
    merge(&mut message, body)?;
    Some(message)
}

/// Reads the fields that `body` holds into `message`, which has none; `None` where it holds no message.
#[inline(always)]
pub(super) fn merge<T: Fields>(message: &mut T, body: &[u8]) -> Option<()> {
    let mut rest = body;
    while let Some((&key, behind)) = rest.split_first() {
        let mut behind = behind;
        if message.merge_plain(key, &mut behind)? {
            rest = behind;
        } else {
            rest = merge_by_prost(message, rest)?;
        }
    }
    Some(())
}

/// Reads the field that `rest` begins with; what is behind it.
///
/// By value, here and below: what is lent to a function that is called lies in memory everywhere.
#[inline(never)]
fn merge_by_prost<'b, T: Fields>(message: &mut T, mut rest: &'b [u8]) -> Option<&'b [u8]> {
    let (tag, wire_type) = decode_key(&mut rest).ok()?;
    message.merge_field(tag, wire_type, &mut rest, DecodeContext::default()).ok()?;
    Some(rest)
}

/// A message in the words of a slot or of a buffer, as it is written.
///
/// Keys and values are put together in a register, and each word is stored once. In a buffer of bytes, which is copied to its place a word at a time,
/// every load would span several stores, and wait for them: that took a fifth of an RPC.
#[derive(Debug)]
pub struct Short<'a> {
    room: &'a [AtomicU64],
    /// Words stored.
    at: usize,
    /// The word that is being filled, of which `bits` are: fewer than 64.
    word: u64,
    bits: u32,
}

/// Bits of a key, and of each byte of a number.
const BYTE: u32 = 8;
/// Bits of a word.
const WORD: u32 = 64;

impl<'a> Short<'a> {
    #[inline(always)]
    pub(super) const fn new(room: &'a [AtomicU64]) -> Self {
        Self { room, at: 0, word: 0, bits: 0 }
    }

    /// Ends it with `tail`. Its length in bytes; `None` where there is no room.
    #[inline(always)]
    pub(super) fn end_with(mut self, tail: [u8; 4]) -> Option<usize> {
        self.push(u32::from_le_bytes(tail).into(), u32::BITS)?;
        self.end()
    }

    /// Ends it. Its length in bytes; `None` where there is no room.
    #[inline(always)]
    pub(super) fn end(self) -> Option<usize> {
        if self.bits > 0 {
            self.room.get(self.at)?.store(self.word, Ordering::Relaxed);
        }
        Some(self.at * size_of::<u64>() + (self.bits / BYTE) as usize)
    }

    /// Appends the low `bits` bits of `value`, 64 at most, above which it has none.
    #[inline(always)]
    fn push(&mut self, value: u64, bits: u32) -> Option<()> {
        self.word |= value << self.bits;
        let end = self.bits + bits;
        if end >= WORD {
            self.room.get(self.at)?.store(self.word, Ordering::Relaxed);
            self.at += 1;
            // What has not found room: nothing, where the word was empty.
            self.word = value >> 1 >> (WORD - 1 - self.bits);
        }
        self.bits = end % WORD;
        Some(())
    }

    /// Appends a number, unless it is 0; `None` where there is no room.
    #[inline(always)]
    pub fn varint<V: Varint>(&mut self, key: u8, value: V::Value) -> Option<()> {
        match V::to_bits(value) {
            0 => Some(()),
            bits => self.key_and(key, bits),
        }
    }

    /// Appends a number of a fixed size, unless it is 0; `None` where there is no room.
    #[inline(always)]
    pub fn fixed<F: Fixed>(&mut self, key: u8, value: F) -> Option<()> {
        if value == F::default() {
            return Some(());
        }
        self.push(key.into(), BYTE)?;
        self.push(value.to_bits(), F::BITS)
    }

    /// Appends bytes, unless they are none; `None` where there is no room.
    #[inline(always)]
    #[expect(clippy::cast_possible_truncation, reason = "fewer than 8")]
    pub fn bytes(&mut self, key: u8, value: &[u8]) -> Option<()> {
        if value.is_empty() {
            return Some(());
        }
        // Long ones are not begun.
        if value.len() > size_of_val(self.room) {
            return None;
        }
        self.key_and(key, value.len() as u64)?;
        let (words, rest) = value.as_chunks();
        let room = self.room.get(self.at..)?.get(..words.len())?;
        for (to, word) in room.iter().zip(words) {
            let word = u64::from_le_bytes(*word);
            to.store(self.word | word << self.bits, Ordering::Relaxed);
            self.word = word >> 1 >> (WORD - 1 - self.bits);
        }
        self.at += words.len();
        match rest {
            [] => Some(()),
            rest => self.push(low_bytes(rest), BYTE * rest.len() as u32),
        }
    }

    #[inline(always)]
    fn key_and(&mut self, key: u8, bits: u64) -> Option<()> {
        if bits < 0x80 {
            return self.push(u64::from(key) | bits << BYTE, 2 * BYTE);
        }
        self.push(key.into(), BYTE)?;
        let (mut left, mut word, mut filled) = (bits, 0, 0);
        while left >= 0x80 {
            word |= (left & 0x7F | 0x80) << filled;
            (left, filled) = (left >> 7, filled + BYTE);
            if filled == WORD {
                self.push(word, WORD)?;
                (word, filled) = (0, 0);
            }
        }
        self.push(word | left << filled, filled + BYTE)
    }
}

/// A type of protobuf whose values are as long as they have to be.
pub trait Varint {
    /// As Rust has it.
    type Value;
    /// The value, from the number that stands for it.
    fn from_bits(bits: u64) -> Self::Value;
    /// The number that stands for a value.
    fn to_bits(value: Self::Value) -> u64;
}

macro_rules! varints {
    ($($name:ident($value:ty) = $from:expr, $to:expr;)+) => {
        $(
            #[doc = concat!("The type of a field that is `", stringify!($value), "` in Rust, by protobuf's name.")]
            #[derive(Clone, Copy, Debug)]
            pub enum $name {}

            impl Varint for $name {
                type Value = $value;

                #[inline(always)]
                #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, clippy::cast_possible_wrap, reason = "protobuf cuts numbers so")]
                fn from_bits(bits: u64) -> $value {
                    let from: fn(u64) -> $value = $from;
                    from(bits)
                }

                #[inline(always)]
                #[allow(clippy::cast_sign_loss, reason = "protobuf extends the sign")]
                fn to_bits(value: $value) -> u64 {
                    let to: fn($value) -> u64 = $to;
                    to(value)
                }
            }
        )+
    };
}

varints! {
    Bool(bool) = |bits| bits != 0, u64::from;
    Uint32(u32) = |bits| bits as u32, u64::from;
    Uint64(u64) = |bits| bits, |value| value;
    Int32(i32) = |bits| bits as i32, |value| i64::from(value) as u64;
    Int64(i64) = |bits| bits as i64, |value| value as u64;
    Sint32(i32) = |bits| (bits as u32 >> 1) as i32 ^ -((bits as u32 & 1) as i32), |value| u64::from(((value << 1) ^ (value >> 31)) as u32);
    Sint64(i64) = |bits| (bits >> 1) as i64 ^ -((bits & 1) as i64), |value| ((value << 1) ^ (value >> 63)) as u64;
}

/// A type of protobuf whose values have all one size.
pub trait Fixed: Copy + Default + PartialEq {
    /// Its size, in bits.
    const BITS: u32;
    /// Takes it off the front of `rest`; `None` where that is too short.
    fn take(rest: &mut &[u8]) -> Option<Self>;
    /// As it is written: above its size there is nothing.
    fn to_bits(self) -> u64;
}

macro_rules! fixed {
    ($($value:ty: $bits:literal),+) => {
        $(impl Fixed for $value {
            const BITS: u32 = $bits;

            #[inline(always)]
            fn take(rest: &mut &[u8]) -> Option<Self> {
                let (value, behind) = rest.split_first_chunk()?;
                *rest = behind;
                Some(Self::from_le_bytes(*value))
            }

            #[inline(always)]
            fn to_bits(self) -> u64 {
                low_word(&self.to_le_bytes())
            }
        })+
    };
}

/// Up to 8 bytes as a number.
#[inline(always)]
fn low_word(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |word, &byte| word << BYTE | u64::from(byte))
}

fixed!(u32: 32, u64: 64, i32: 32, i64: 64, f32: 32, f64: 64);

/// Takes a number off the front of `rest`; `None` where there is none.
#[inline(always)]
pub fn varint<V: Varint>(rest: &mut &[u8]) -> Option<V::Value> {
    bits(rest).map(V::from_bits)
}

/// Takes a number of a fixed size off the front of `rest`; `None` where there is none.
#[inline(always)]
pub fn fixed<F: Fixed>(rest: &mut &[u8]) -> Option<F> {
    F::take(rest)
}

/// Takes bytes off the front of `rest`; `None` where there are none.
#[inline(always)]
pub fn bytes(rest: &mut &[u8], to: &mut Vec<u8>) -> Option<()> {
    let value = delimited(rest)?;
    // One that has no room yet gets as much as it needs: growing would take as long again.
    if to.capacity() == 0 {
        *to = value.to_vec();
    } else {
        to.clear();
        to.extend_from_slice(value);
    }
    Some(())
}

/// Takes text off the front of `rest`; `None` where there is none.
#[inline(always)]
pub fn string(rest: &mut &[u8], to: &mut String) -> Option<()> {
    let value = str::from_utf8(delimited(rest)?).ok()?;
    if to.capacity() == 0 {
        *to = value.to_owned();
    } else {
        to.clear();
        to.push_str(value);
    }
    Some(())
}

#[inline(always)]
fn bits(rest: &mut &[u8]) -> Option<u64> {
    match rest.split_first()? {
        (&bits @ ..0x80, behind) => {
            *rest = behind;
            Some(bits.into())
        }
        _ => {
            let (bits, behind) = long_bits(rest)?;
            *rest = behind;
            Some(bits)
        }
    }
}

#[inline(never)]
fn long_bits(mut rest: &[u8]) -> Option<(u64, &[u8])> {
    Some((decode_varint(&mut rest).ok()?, rest))
}

#[inline(always)]
fn delimited<'b>(rest: &mut &'b [u8]) -> Option<&'b [u8]> {
    let bytes = usize::try_from(bits(rest)?).ok()?;
    let (value, behind) = rest.split_at_checked(bytes)?;
    *rest = behind;
    Some(value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use nebula_sys::copy::load_bytes;

    /// A field, and protobuf's bytes for it.
    fn any_field(
        u: &mut seeded::arbitrary::Unstructured<'_>,
        to: &mut Short<'_>,
        bytes: &mut Vec<u8>,
    ) -> seeded::arbitrary::Result<Option<()>> {
        let key = u.int_in_range(1..=127)?;
        match u.int_in_range(0..=3)? {
            0 => {
                let value = u.arbitrary::<u64>()? >> u.int_in_range(0..=63)?;
                if value > 0 {
                    bytes.push(key);
                    prost::encoding::encode_varint(value, bytes);
                }
                Ok(to.varint::<Uint64>(key, value))
            }
            1 => {
                let value = u.arbitrary::<u64>()?;
                if value > 0 {
                    bytes.push(key);
                    bytes.extend(value.to_le_bytes());
                }
                Ok(to.fixed(key, value))
            }
            2 => {
                let value = u.arbitrary::<f32>()?;
                // As Rust compares them: -0.0 is 0.0.
                if value != 0.0 {
                    bytes.push(key);
                    bytes.extend(value.to_le_bytes());
                }
                Ok(to.fixed(key, value))
            }
            _ => {
                let value: Vec<u8> = u.arbitrary()?;
                if !value.is_empty() {
                    bytes.push(key);
                    prost::encoding::encode_varint(value.len() as u64, bytes);
                    bytes.extend(&value);
                }
                Ok(to.bytes(key, &value))
            }
        }
    }

    #[test]
    fn whatever_is_put_together_in_words_is_protobufs_or_has_no_room() {
        seeded::seeded(|u| {
            let room: Vec<AtomicU64> = (0..u.int_in_range(0..=12)?).map(|_| AtomicU64::new(u64::MAX)).collect();
            let (mut short, mut bytes, mut fits) = (Short::new(&room), Vec::new(), Some(()));
            for _ in 0..u.int_in_range(0..=5)? {
                fits = fits.and(any_field(u, &mut short, &mut bytes)?);
                if fits.is_none() {
                    assert!(bytes.len() > 8 * room.len(), "{} bytes have room in {}", bytes.len(), 8 * room.len());
                    return Ok(());
                }
            }
            bytes.extend([1, 2, 3, 4]);
            let ended = short.end_with([1, 2, 3, 4]);
            assert_eq!(ended, Some(bytes.len()).filter(|&len| len <= 8 * room.len()));
            if ended.is_some() {
                let mut written = vec![0; bytes.len()];
                load_bytes(&room, &mut written);
                assert_eq!(written, bytes);
            }
            Ok(())
        });
    }
}
