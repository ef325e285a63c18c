//! Plain fields of protobuf's encoding for generated code: numbers, `bool`, enums, `string` and
//! `bytes` that occur once and whose key is one byte. prost reads and writes all other fields, and
//! unusual encodings of plain ones.
//!
//! prost calls its buffer's trait for each byte, and allocates a field of `bytes` twice: an RPC
//! with three plain fields took eight times the instructions of a handler of bytes.

use nebula_sys::copy::{store_bytes_at, store_bytes_within, store_low_bytes_at, store_word_at};
use nebula_sys::sync::AtomicU64;
use prost::encoding::{DecodeContext, decode_key, decode_varint};
use std::cell::RefCell;
use std::fmt::Debug;
use std::thread::LocalKey;

/// A thread's kept message, so that the next one of its type allocates nothing.
pub type Spare<T> = LocalKey<RefCell<T>>;

/// A message of protobuf's encoding. `nebula-build` implements it; a message written by hand needs
/// none of its methods.
pub trait Fields: prost::Message + Default + Debug + 'static {
    /// Where this thread keeps one; `None` for messages that own no memory.
    #[must_use]
    #[inline(always)]
    fn spare() -> Option<&'static Spare<Self>> {
        None
    }

    /// Empties the fields that are not plain. [`read_in_order`](Self::read_in_order) sets the plain
    /// ones anyway: bytes of the same length as before are only copied if they were not emptied.
    #[inline(always)]
    fn clear_others(&mut self) {
        self.clear();
    }

    /// Reads the plain fields at the beginning of `rest`, each at most once and in the order of
    /// their numbers, and empties the missing ones. `rest` then begins behind them. `None` if a
    /// value is invalid.
    #[inline(always)]
    fn read_in_order(&mut self, rest: &mut &[u8]) -> Option<()> {
        let _ = rest;
        Some(())
    }

    /// Reads the value at the beginning of `rest` if `key` is that of a plain field. `rest` then
    /// begins behind it. `None` if the value is invalid.
    #[inline(always)]
    fn merge_plain(&mut self, key: u8, rest: &mut &[u8]) -> Option<bool> {
        let _ = (key, rest);
        Some(false)
    }

    /// Appends all fields to `to`; `None` if they do not fit, or one is not plain.
    #[inline(always)]
    fn put_plain(&self, to: &mut Short<'_>) -> Option<()> {
        let _ = to;
        None
    }
}

/// `google.protobuf.Empty`.
impl Fields for () {}

/// Decodes `body`; `None` if it is no message.
#[inline(always)]
pub(super) fn decode<T: Fields>(body: &[u8]) -> Option<T> {
    let mut message = T::default();
    read_empty(&mut message, body)?;
    Some(message)
}

/// Decodes `body` into `message`, whatever that was; `None` if it is no message.
#[inline(always)]
pub(super) fn read<T: Fields>(message: &mut T, body: &[u8]) -> Option<()> {
    message.clear_others();
    read_empty(message, body)
}

/// As [`read`], if the fields that are not plain are empty.
#[inline(always)]
fn read_empty<T: Fields>(message: &mut T, body: &[u8]) -> Option<()> {
    let mut rest = body;
    // Without a jump by the key, so the branch predictor knows the next field.
    message.read_in_order(&mut rest)?;
    if rest.is_empty() { Some(()) } else { merge_rest(message, rest) }
}

#[inline(never)]
fn merge_rest<T: Fields>(message: &mut T, mut rest: &[u8]) -> Option<()> {
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

/// Reads the first field of `rest`; returns the rest. By value, because a variable borrowed by a
/// function that is not inlined lies in memory everywhere.
#[inline(never)]
fn merge_by_prost<'b, T: Fields>(message: &mut T, mut rest: &'b [u8]) -> Option<&'b [u8]> {
    let (tag, wire_type) = decode_key(&mut rest).ok()?;
    message.merge_field(tag, wire_type, &mut rest, DecodeContext::default()).ok()?;
    Some(rest)
}

/// A message as it is written into the words of a slot or of a buffer.
///
/// Each part is one store of 8 bytes, and the next part overwrites what it stored too much. The
/// alternatives are slower: a buffer of bytes is copied to its place word by word, so every load
/// would span several stores and wait for them, which took a fifth of an RPC; built in a register,
/// each part would wait for the one before.
#[derive(Debug)]
pub struct Short<'a> {
    room: &'a [AtomicU64],
    at: usize,
    /// Whether the last 7 bytes of the room are used too, which takes longer; a constant.
    to_the_end: bool,
}

const BYTE: u32 = 8;
const WORD: usize = size_of::<u64>();

impl<'a> Short<'a> {
    #[inline(always)]
    pub(super) const fn new(room: &'a [AtomicU64]) -> Self {
        Self { room, at: 0, to_the_end: true }
    }

    /// As [`new`](Self::new), but a part that begins in the last 7 bytes has no room, so that
    /// nothing is called for it.
    #[inline(always)]
    pub(super) const fn roomy(room: &'a [AtomicU64]) -> Self {
        Self { room, at: 0, to_the_end: false }
    }

    #[inline(always)]
    pub(super) fn end_with(mut self, tail: [u8; 4]) -> Option<usize> {
        self.push(u32::from_le_bytes(tail).into(), tail.len())?;
        Some(self.at)
    }

    #[inline(always)]
    pub(super) const fn end(self) -> usize {
        self.at
    }

    #[inline(always)]
    fn push(&mut self, value: u64, bytes: usize) -> Option<()> {
        self.at = match store_word_at(self.room, self.at, value) {
            true => self.at + bytes,
            false if self.to_the_end => push_last(self.room, self.at, value, bytes)?,
            false => return None,
        };
        Some(())
    }

    /// Appends a number, unless it is 0; `None` without room.
    #[inline(always)]
    pub fn varint<V: Varint>(&mut self, key: u8, value: V::Value) -> Option<()> {
        match V::to_bits(value) {
            0 => Some(()),
            bits => self.key_and(key, bits),
        }
    }

    /// Appends a number of fixed size, unless it is 0; `None` without room.
    #[inline(always)]
    pub fn fixed<F: Fixed>(&mut self, key: u8, value: F) -> Option<()> {
        if value == F::default() {
            return Some(());
        }
        self.push(key.into(), 1)?;
        self.push(value.to_bits(), F::BYTES)
    }

    /// Appends bytes, unless there are none; `None` without room.
    #[inline(always)]
    pub fn bytes(&mut self, key: u8, value: &[u8]) -> Option<()> {
        if value.is_empty() {
            return Some(());
        }
        // Does not begin bytes that cannot fit.
        if value.len() > size_of_val(self.room) {
            return None;
        }
        self.key_and(key, value.len() as u64)?;
        let is_stored = match self.to_the_end {
            true => store_bytes_at(self.room, self.at, value),
            false => store_bytes_within(self.room, self.at, value),
        };
        is_stored.then_some(())?;
        self.at += value.len();
        Some(())
    }

    #[inline(always)]
    fn key_and(&mut self, key: u8, bits: u64) -> Option<()> {
        if bits < 0x80 {
            return self.push(u64::from(key) | bits << BYTE, 2);
        }
        self.at = push_long(self.room, self.at, key, bits)?;
        Some(())
    }
}

// By value, as above: these two take and return numbers.

/// As [`Short::push`], if the room ends within a word; returns the value's end.
#[cold]
fn push_last(room: &[AtomicU64], at: usize, value: u64, bytes: usize) -> Option<usize> {
    store_low_bytes_at(room, at, value, bytes).then_some(at + bytes)
}

/// As [`Short::key_and`], of a number of several bytes; returns its end.
#[inline(never)]
fn push_long(room: &[AtomicU64], at: usize, key: u8, bits: u64) -> Option<usize> {
    let mut short = Short { room, at, to_the_end: true };
    short.push(key.into(), 1)?;
    let (mut left, mut word, mut filled) = (bits, 0, 0);
    while left >= 0x80 {
        word |= (left & 0x7F | 0x80) << (BYTE * filled);
        (left, filled) = (left >> 7, filled + 1);
        if filled == 8 {
            short.push(word, WORD)?;
            (word, filled) = (0, 0);
        }
    }
    short.push(word | left << (BYTE * filled), filled as usize + 1)?;
    Some(short.at)
}

/// A type of protobuf with values of variable length.
pub trait Varint {
    /// The type in Rust.
    type Value;
    /// The value of an encoded number.
    fn from_bits(bits: u64) -> Self::Value;
    /// The number that encodes a value.
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

/// A type of protobuf with values of one length.
pub trait Fixed: Copy + Default + PartialEq {
    /// That length.
    const BYTES: usize;
    /// Takes a value off the front of `rest`; `None` if that is too short.
    fn take(rest: &mut &[u8]) -> Option<Self>;
    /// The value's bytes, in the low end of the word.
    fn to_bits(self) -> u64;
}

macro_rules! fixed {
    ($($value:ty),+) => {
        $(impl Fixed for $value {
            const BYTES: usize = size_of::<$value>();

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

#[inline(always)]
fn low_word(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |word, &byte| word << BYTE | u64::from(byte))
}

fixed!(u32, u64, i32, i64, f32, f64);

/// Takes a number off the front of `rest`; `None` if it is invalid.
#[inline(always)]
pub fn varint<V: Varint>(rest: &mut &[u8]) -> Option<V::Value> {
    bits(rest).map(V::from_bits)
}

/// Takes a number of fixed size off the front of `rest`; `None` if that is too short.
#[inline(always)]
pub fn fixed<F: Fixed>(rest: &mut &[u8]) -> Option<F> {
    F::take(rest)
}

/// Takes bytes off the front of `rest`; `None` if they are invalid.
#[inline(always)]
pub fn bytes(rest: &mut &[u8], to: &mut Vec<u8>) -> Option<()> {
    let value = delimited(rest)?;
    // The first value gets exactly its room; one as long as the one before is only copied.
    if to.len() == value.len() {
        to.copy_from_slice(value);
    } else if to.capacity() == 0 {
        *to = value.to_vec();
    } else {
        to.clear();
        to.extend_from_slice(value);
    }
    Some(())
}

/// Takes text off the front of `rest`; `None` if it is invalid.
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

/// Takes the number with this key off the front of `rest` into `to`, which becomes 0 if there is
/// none; `None` if the value is invalid.
#[inline(always)]
pub fn varint_if<V: Varint>(key: u8, rest: &mut &[u8], to: &mut V::Value) -> Option<()> {
    match *rest {
        [first, bits @ ..0x80, behind @ ..] if *first == key => {
            *to = V::from_bits((*bits).into());
            *rest = behind;
        }
        [first, behind @ ..] if *first == key => {
            let (bits, behind) = long_bits(behind)?;
            *to = V::from_bits(bits);
            *rest = behind;
        }
        _ => *to = V::from_bits(0),
    }
    Some(())
}

/// Takes the number of fixed size with this key off the front of `rest` into `to`, which becomes 0
/// if there is none; `None` if it is too short.
#[inline(always)]
pub fn fixed_if<F: Fixed>(key: u8, rest: &mut &[u8], to: &mut F) -> Option<()> {
    if let Some((&first, behind)) = rest.split_first()
        && first == key
    {
        *rest = behind;
        *to = fixed(rest)?;
    } else {
        *to = F::default();
    }
    Some(())
}

/// Takes the bytes with this key off the front of `rest` into `to`, which becomes empty if there
/// are none; `None` if they are invalid.
#[inline(always)]
pub fn bytes_if(key: u8, rest: &mut &[u8], to: &mut Vec<u8>) -> Option<()> {
    if let Some((&first, behind)) = rest.split_first()
        && first == key
    {
        *rest = behind;
        bytes(rest, to)?;
    } else {
        to.clear();
    }
    Some(())
}

/// Takes the text with this key off the front of `rest` into `to`, which becomes empty if there is
/// none; `None` if it is invalid.
#[inline(always)]
pub fn string_if(key: u8, rest: &mut &[u8], to: &mut String) -> Option<()> {
    if let Some((&first, behind)) = rest.split_first()
        && first == key
    {
        *rest = behind;
        string(rest, to)?;
    } else {
        to.clear();
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
    use prost::Message as _;

    /// A field, and protobuf's bytes for it.
    fn any_field(
        u: &mut nebula_testing::arbitrary::Unstructured<'_>,
        to: &mut Short<'_>,
        bytes: &mut Vec<u8>,
    ) -> nebula_testing::arbitrary::Result<Option<()>> {
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
                // Equal in Rust, so protobuf leaves out -0.0 too.
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

    /// A message of one plain field.
    #[derive(Clone, PartialEq, prost::Message)]
    struct Plain {
        #[prost(bytes = "vec", tag = "1")]
        value: Vec<u8>,
    }

    impl Fields for Plain {
        fn clear_others(&mut self) {}

        fn read_in_order(&mut self, rest: &mut &[u8]) -> Option<()> {
            bytes_if(10, rest, &mut self.value)
        }
    }

    #[test]
    fn nothing_of_the_message_before_is_left_in_a_place() {
        let mut place = Plain::default();
        for value in [&b"abc"[..], b"de", b"", b"fghi", b"jklm", b""] {
            let body = Plain { value: value.to_vec() }.encode_to_vec();
            assert_eq!(read(&mut place, &body), Some(()));
            assert_eq!(place.value, value);
        }
        assert_eq!(read(&mut place, &[10, 9, 1]), None, "nine bytes, of which one is there");
    }

    #[test]
    fn one_that_is_roomy_stores_the_same_or_says_that_there_is_no_room() {
        for (words, len) in (0..8).flat_map(|words| (0..70).map(move |len| (words, len))) {
            let value = vec![7; len];
            let store = |new: fn(&'static [AtomicU64]) -> Short<'static>| {
                let room: &'static [AtomicU64] = Vec::leak((0..words).map(|_| AtomicU64::new(u64::MAX)).collect());
                let mut short = new(room);
                let bytes = short.bytes(10, &value).and_then(|()| short.end_with([1, 2, 3, 4]))?;
                let mut written = vec![0; bytes];
                load_bytes(room, &mut written);
                Some(written)
            };
            let (exact, roomy) = (store(Short::new), store(Short::roomy));
            assert!(roomy == exact || roomy.is_none(), "{len} bytes in {words} words");
            let has_room = len + 14 <= 8 * words;
            assert!(roomy.is_some() || !has_room, "{len} bytes have room in {words} words");
        }
    }

    #[test]
    fn whatever_is_put_together_in_words_is_protobufs_or_has_no_room() {
        nebula_testing::seeded(|u| {
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
