//! Plain fields of protobuf's encoding, which generated code reads and writes: numbers, `bool`, enums, `string` and `bytes` that occur once and
//! whose key is one byte. All other fields are prost's, and prost's also whatever is unusual about a plain one.
//!
//! prost goes through its buffer's trait for each byte, and allocates a field of `bytes` twice. An RPC of a message with three plain fields took
//! eight times the instructions of a handler of bytes.

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
    fn put_plain(&self, to: &mut Short) -> Option<()> {
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

/// A message of up to [`Short::BYTES_MAX`] bytes, as it is written.
#[derive(Debug)]
pub struct Short {
    bytes: [u8; Self::BYTES_MAX],
    at: usize,
}

/// Bytes of the longest number.
const VARINT_BYTES_MAX: usize = 10;

impl Short {
    /// It lies on the stack.
    pub const BYTES_MAX: usize = 256;

    #[inline(always)]
    pub(super) const fn new() -> Self {
        Self { bytes: [0; Self::BYTES_MAX], at: 0 }
    }

    /// What has been written.
    #[inline(always)]
    pub(super) fn written(&self) -> &[u8] {
        &self.bytes[..self.at]
    }

    /// Makes it the encoding of `message`, whatever its fields, if that is not too long.
    pub(super) fn put_by_prost<T: Fields>(&mut self, message: &T) -> Option<()> {
        let bytes = message.encoded_len();
        message.encode_raw(&mut self.bytes.get_mut(..bytes)?);
        self.at = bytes;
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
        let room = self.bytes.get_mut(self.at..)?.get_mut(..1 + size_of::<F>())?;
        room[0] = key;
        value.put(&mut room[1..]);
        self.at += room.len();
        Some(())
    }

    /// Appends bytes, unless they are none; `None` where there is no room.
    #[inline(always)]
    pub fn bytes(&mut self, key: u8, value: &[u8]) -> Option<()> {
        if value.is_empty() {
            return Some(());
        }
        self.key_and(key, value.len() as u64)?;
        let end = self.at.checked_add(value.len())?;
        self.bytes.get_mut(self.at..end)?.copy_from_slice(value);
        self.at = end;
        Some(())
    }

    #[inline(always)]
    #[expect(clippy::cast_possible_truncation, reason = "seven bits at a time")]
    fn key_and(&mut self, key: u8, bits: u64) -> Option<()> {
        let room: &mut [u8; 1 + VARINT_BYTES_MAX] = self.bytes.get_mut(self.at..)?.first_chunk_mut()?;
        room[0] = key;
        let (mut left, mut last) = (bits, 1);
        while left >= 0x80 {
            room[last] = left as u8 | 0x80;
            left >>= 7;
            last += 1;
        }
        room[last] = left as u8;
        self.at += last + 1;
        Some(())
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
    /// Takes it off the front of `rest`; `None` where that is too short.
    fn take(rest: &mut &[u8]) -> Option<Self>;
    /// Writes it over `room`, which has its size.
    fn put(self, room: &mut [u8]);
}

macro_rules! fixed {
    ($($value:ty),+) => {
        $(impl Fixed for $value {
            #[inline(always)]
            fn take(rest: &mut &[u8]) -> Option<Self> {
                let (value, behind) = rest.split_first_chunk()?;
                *rest = behind;
                Some(Self::from_le_bytes(*value))
            }

            #[inline(always)]
            fn put(self, room: &mut [u8]) {
                room.copy_from_slice(&self.to_le_bytes());
            }
        })+
    };
}

fixed!(u32, u64, i32, i64, f32, f64);

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
