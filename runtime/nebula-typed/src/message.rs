//! Messages, as bytes: the two encodings.
//!
//! Protobuf's, and the line encoding: the fields in the order of their numbers, without gaps.
//! Numbers and enums take 4 or 8 bytes, little-endian (`sint` without zigzag). `bool` takes one
//! byte; any but 0 is true. `bytes` with `(nebula.len)` are as they are; `string` with it is its
//! length in 2 bytes and all its room; a message is in its place. A message may end behind any of
//! its fields: missing fields are zero. Bytes behind the last known field are skipped.

use super::fields::{self, Fields, Short, Spare};
use nebula_sys::copy::{load_bytes, store_bytes_and};
use nebula_sys::sync::AtomicU64;
use std::fmt::Debug;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

/// A request or a reply of a typed service; `nebula-build` implements it for a `.proto`.
pub trait Message: Sized {
    /// Its encoding: [`Line`] or [`Proto`].
    type As: Encoding<Self>;

    /// The hash of its key, for the policy `key-hash`; 0 without a key.
    #[inline(always)]
    fn key_hash(&self) -> u32 {
        0
    }
}

/// The memory for a message that cannot be read in place.
pub type Place<T> = <<T as Message>::As as Encoding<T>>::Place;

/// An encoding of messages of the type `T`.
pub trait Encoding<T> {
    /// The memory for a message that cannot be read in place; it is reused.
    type Place: Default + Debug;

    /// Calls `with` with a place for `bytes` bytes, which this thread may have used before.
    fn with_place<R>(bytes: usize, with: impl FnOnce(&mut Self::Place) -> R) -> R;

    /// The message in `body`, read in place or decoded into `place`; `None` if there is none.
    fn read<'b>(body: &'b [u8], place: &'b mut Self::Place) -> Option<&'b T>;

    /// As [`read`](Self::read), but gives the message to `with`.
    fn take<R>(body: &[u8], with: impl FnOnce(T) -> R, otherwise: impl FnOnce() -> R) -> R;

    /// The message in `body`; `None` if there is none.
    #[inline(always)]
    fn decode(body: &[u8]) -> Option<T> {
        Self::take(body, Some, || None)
    }

    /// The bytes of `message`, if they lie in it as they are sent. Inlined, with what its caller
    /// does with them.
    #[inline(always)]
    fn in_place(message: &T) -> Option<&[u8]> {
        let _ = message;
        None
    }

    /// Writes `message` into `room`, and `tail` behind it. Returns the length of both in bytes;
    /// `None` if it does not fit, or must be written by [`write`](Self::write).
    fn put(message: &T, tail: [u8; 4], room: &[AtomicU64]) -> Option<usize>;

    /// Calls `put` with the bytes of `message`.
    fn write<R>(message: &T, put: impl FnOnce(&[u8]) -> R) -> R;
}

/// Little-endian fields one behind the other: read in place, written with one copy.
///
/// Messages only grow at their end. Fields appended by a newer peer are ignored; those that an
/// older one lacks are zero.
#[derive(Clone, Copy, Debug)]
pub enum Line {}

/// The layout of a message in the encoding [`Line`].
pub trait LineLayout: FromBytes + IntoBytes + Immutable + KnownLayout + Unaligned + Copy + Debug {
    /// The end of each field, in bytes from the message's first.
    const ENDS: &'static [u32];
}

impl<T: LineLayout> Encoding<T> for Line {
    type Place = Option<T>;

    #[inline(always)]
    fn with_place<R>(_: usize, with: impl FnOnce(&mut Option<T>) -> R) -> R {
        with(&mut None)
    }

    #[inline(always)]
    fn read<'b>(body: &'b [u8], place: &'b mut Option<T>) -> Option<&'b T> {
        match body.get(..size_of::<T>()).map(T::ref_from_bytes) {
            Some(Ok(message)) => Some(message),
            _ => fill(body, place),
        }
    }

    #[inline(always)]
    fn take<R>(body: &[u8], with: impl FnOnce(T) -> R, otherwise: impl FnOnce() -> R) -> R {
        match Self::read(body, &mut None) {
            Some(message) => with(*message),
            None => otherwise(),
        }
    }

    #[inline(always)]
    fn in_place(message: &T) -> Option<&[u8]> {
        Some(message.as_bytes())
    }

    #[inline(always)]
    fn put(message: &T, tail: [u8; 4], room: &[AtomicU64]) -> Option<usize> {
        let bytes = size_of::<T>() + tail.len();
        (bytes <= size_of_val(room)).then(|| store_bytes_and(room, message.as_bytes(), tail))?;
        Some(bytes)
    }

    #[inline(always)]
    fn write<R>(message: &T, put: impl FnOnce(&[u8]) -> R) -> R {
        put(message.as_bytes())
    }
}

/// The message of an older peer, with zeros for the fields that it lacks. `None` if `body` ends
/// within a field.
#[cold]
pub fn zero_filled<T: LineLayout>(body: &[u8]) -> Option<T> {
    let is_whole = body.is_empty() || T::ENDS.iter().any(|&end| end as usize == body.len());
    let mut message = T::new_zeroed();
    // `body` has the length of a field's end, which is within the message.
    is_whole.then(|| message.as_mut_bytes().iter_mut().zip(body).for_each(|(to, from)| *to = *from))?;
    Some(message)
}

#[cold]
fn fill<'b, T: LineLayout>(body: &[u8], place: &'b mut Option<T>) -> Option<&'b T> {
    *place = zero_filled(body);
    place.as_ref()
}

/// Protobuf's own encoding. Reading allocates the message's memory, unless its place has had a
/// message with as much.
#[derive(Clone, Copy, Debug)]
pub enum Proto {}

/// The longest message that is encoded on the stack, if it does not go straight into a ring.
const SHORT_BYTES_MAX: usize = 256;

/// Places are kept only for messages up to this length: a thread keeps one for each type.
const KEPT_BYTES_MAX: usize = 64 << 10;

impl<T: Fields> Encoding<T> for Proto {
    type Place = T;

    #[inline(always)]
    fn with_place<R>(bytes: usize, with: impl FnOnce(&mut T) -> R) -> R {
        match T::spare().filter(|_| bytes <= KEPT_BYTES_MAX) {
            Some(spare) => with_spare(spare, with),
            None => with(&mut T::default()),
        }
    }

    #[inline(always)]
    fn read<'b>(body: &'b [u8], place: &'b mut T) -> Option<&'b T> {
        fields::read(place, body)?;
        Some(place)
    }

    // Nothing of protobuf is inlined into a service's dispatch or a client's poll, because that
    // would slow down methods of the line encoding.
    #[inline(never)]
    fn take<R>(body: &[u8], with: impl FnOnce(T) -> R, otherwise: impl FnOnce() -> R) -> R {
        match fields::decode(body) {
            Some(message) => with(message),
            None => otherwise(),
        }
    }

    #[inline(always)]
    fn put(message: &T, tail: [u8; 4], room: &[AtomicU64]) -> Option<usize> {
        let bytes = put_in(message, tail, Short::roomy(room));
        if bytes.is_some() { bytes } else { put_to_the_end(message, tail, room) }
    }

    #[inline(never)]
    fn write<R>(message: &T, put: impl FnOnce(&[u8]) -> R) -> R {
        let room = [const { AtomicU64::new(0) }; SHORT_BYTES_MAX / size_of::<u64>()];
        let mut short = Short::new(&room);
        match message.put_plain(&mut short).map(|()| short.end()) {
            Some(bytes) => {
                let mut written = [0; SHORT_BYTES_MAX];
                load_bytes(&room, &mut written[..bytes]);
                put(&written[..bytes])
            }
            None => write_by_prost(message, put),
        }
    }
}

#[inline(always)]
fn put_in<T: Fields>(message: &T, tail: [u8; 4], mut short: Short<'_>) -> Option<usize> {
    message.put_plain(&mut short)?;
    short.end_with(tail)
}

#[cold]
#[inline(never)]
fn put_to_the_end<T: Fields>(message: &T, tail: [u8; 4], room: &[AtomicU64]) -> Option<usize> {
    put_in(message, tail, Short::new(room))
}

/// Calls `with` with the thread's kept message, or with a new one if that is in use, because a
/// handler reads another message of its type.
#[inline(always)]
fn with_spare<T: Fields, R>(spare: &'static Spare<T>, with: impl FnOnce(&mut T) -> R) -> R {
    spare.with(|spare| match spare.try_borrow_mut() {
        Ok(mut place) => with(&mut place),
        Err(_) => with_new(with),
    })
}

#[cold]
fn with_new<T: Default, R>(with: impl FnOnce(&mut T) -> R) -> R {
    with(&mut T::default())
}

#[inline(never)]
fn write_by_prost<T: Fields, R>(message: &T, put: impl FnOnce(&[u8]) -> R) -> R {
    let mut room = [0; SHORT_BYTES_MAX];
    match room.get_mut(..message.encoded_len()) {
        Some(mut short) => {
            message.encode_raw(&mut short);
            put(&room[..message.encoded_len()])
        }
        None => put(&message.encode_to_vec()),
    }
}

/// `google.protobuf.Empty`.
impl Message for () {
    type As = Proto;
}

/// The hash of a key for the policy `key-hash`, the same on every machine and in every version.
///
/// # Cost
///
/// Two multiplications for a key of up to 16 bytes.
#[must_use]
#[inline]
#[expect(clippy::cast_possible_truncation, reason = "all bits of the hash are alike")]
pub fn key_hash(key: &[u8]) -> u32 {
    rapidhash::v3::rapidhash_v3(key) as u32
}

#[cfg(test)]
mod tests {
    use super::*;
    use zerocopy::little_endian::{U32, U64};

    #[derive(Clone, Copy, Debug, PartialEq, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
    #[repr(C)]
    struct Old {
        id: U64,
    }

    #[derive(Clone, Copy, Debug, PartialEq, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
    #[repr(C)]
    struct New {
        id: U64,
        flags: U32,
        more: U32,
    }

    impl LineLayout for Old {
        const ENDS: &'static [u32] = &[8];
    }

    impl LineLayout for New {
        const ENDS: &'static [u32] = &[8, 12, 16];
    }

    fn bytes<T: LineLayout>(message: &T) -> Vec<u8> {
        Line::write(message, <[u8]>::to_vec)
    }

    #[test]
    fn a_line_message_is_its_fields() {
        let written = bytes(&New { id: 0x0102_0304_0506_0708.into(), flags: 9.into(), more: 10.into() });
        assert_eq!(written, [8, 7, 6, 5, 4, 3, 2, 1, 9, 0, 0, 0, 10, 0, 0, 0]);
    }

    #[test]
    fn what_another_version_lacks_is_zero_and_what_it_has_more_is_not_seen() {
        let (old, new) = (Old { id: 7.into() }, New { id: 7.into(), flags: 1.into(), more: 2.into() });
        let zeros = New { id: 7.into(), flags: 0.into(), more: 0.into() };
        assert_eq!(Line::decode(&bytes(&old)), Some(zeros));
        assert_eq!(Line::read(&bytes(&old), &mut Some(new)), Some(&zeros), "not what was in the place before");
        assert_eq!(Line::decode(&bytes(&new)), Some(old));
        assert_eq!(Line::decode(&[]), Some(Old { id: 0.into() }));
    }

    #[test]
    fn what_ends_within_a_field_is_no_message() {
        for len in [1, 7, 9, 11, 13, 15] {
            assert_eq!(<Line as Encoding<New>>::decode(&[0; 16][..len]), None, "{len}");
        }
    }

    #[test]
    fn a_message_of_protobuf_is_written_within_the_writing_of_another() {
        let text = |text: &str| text.to_string();
        let nested =
            Proto::write(&text("outer"), |outer| (outer.to_vec(), Proto::write(&text("inner"), <[u8]>::to_vec)));
        assert_eq!(nested.0[..], *b"\x0a\x05outer");
        assert_eq!(<Proto as Encoding<String>>::decode(&nested.1), Some(text("inner")));
        assert_eq!(<Proto as Encoding<String>>::decode(b"\x0a\x05out"), None);
    }
}
