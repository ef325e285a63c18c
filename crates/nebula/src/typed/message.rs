//! Messages, as bytes: the two encodings.

use std::cell::RefCell;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

/// A request or a reply of a typed service. `nebula-build` implements it for the messages of a `.proto`.
pub trait Message: Sized {
    /// How its bytes are laid out: [`Line`] or [`Proto`].
    type As: Encoding<Self>;

    /// The hash of its key, for the policy `key-hash`; 0 where it has none.
    #[inline(always)]
    fn key_hash(&self) -> u32 {
        0
    }
}

/// A way to lay out messages of the type `T`.
pub trait Encoding<T> {
    /// Calls `with` with the message that `body` holds; `None` where it holds none.
    fn read<R>(body: &[u8], with: impl FnOnce(&T) -> R) -> Option<R>;

    /// The message that `body` holds; `None` where it holds none.
    fn decode(body: &[u8]) -> Option<T>;

    /// Calls `put` with `head` and the bytes of `message` behind it.
    fn write<R>(message: &T, head: [u8; 4], put: impl FnOnce(&[u8]) -> R) -> R;
}

/// Little-endian fields one behind the other: read where they lie, and written with one copy. No allocation.
///
/// Messages only grow at their end. What a newer peer has appended is not looked at; what an older one lacks reads as zero.
#[derive(Clone, Copy, Debug)]
pub enum Line {}

/// The layout of a message that [`Line`] encodes.
pub trait LineLayout: FromBytes + IntoBytes + Immutable + KnownLayout + Unaligned + Copy {
    /// Where each field ends, in bytes from the message's first.
    const ENDS: &'static [u32];
}

/// A message with its head in front.
#[derive(IntoBytes, Immutable, Unaligned)]
#[repr(C)]
struct Framed<T> {
    head: [u8; 4],
    message: T,
}

impl<T: LineLayout> Encoding<T> for Line {
    #[inline(always)]
    fn read<R>(body: &[u8], with: impl FnOnce(&T) -> R) -> Option<R> {
        match T::ref_from_prefix(body) {
            Ok((message, _)) => Some(with(message)),
            Err(_) => zero_filled(body).map(|message| with(&message)),
        }
    }

    #[inline(always)]
    fn decode(body: &[u8]) -> Option<T> {
        match T::read_from_prefix(body) {
            Ok((message, _)) => Some(message),
            Err(_) => zero_filled(body),
        }
    }

    #[inline(always)]
    fn write<R>(message: &T, head: [u8; 4], put: impl FnOnce(&[u8]) -> R) -> R {
        put(Framed { head, message: *message }.as_bytes())
    }
}

/// The message of an older peer: what it does not have is zero. `None` where `body` ends within a field.
#[cold]
pub fn zero_filled<T: LineLayout>(body: &[u8]) -> Option<T> {
    let is_whole = body.is_empty() || T::ENDS.iter().any(|&end| end as usize == body.len());
    let mut message = T::new_zeroed();
    // Its length is that of a field's end, which is within the message.
    is_whole.then(|| message.as_mut_bytes().iter_mut().zip(body).for_each(|(to, from)| *to = *from))?;
    Some(message)
}

/// Protobuf's own encoding. Reading allocates what the message owns.
#[derive(Clone, Copy, Debug)]
pub enum Proto {}

thread_local! {
    /// Where messages are encoded, so that writing allocates nothing once it has grown.
    static ENCODED: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

impl<T: prost::Message + Default> Encoding<T> for Proto {
    fn read<R>(body: &[u8], with: impl FnOnce(&T) -> R) -> Option<R> {
        T::decode(body).ok().map(|message| with(&message))
    }

    fn decode(body: &[u8]) -> Option<T> {
        T::decode(body).ok()
    }

    fn write<R>(message: &T, head: [u8; 4], put: impl FnOnce(&[u8]) -> R) -> R {
        // Taken out of its place: `put` may come here again.
        let mut encoded = ENCODED.take();
        encoded.clear();
        encoded.extend_from_slice(&head);
        // An error says that there is no room, and a vector grows.
        message.encode(&mut encoded).unwrap_or_default();
        let result = put(&encoded);
        ENCODED.replace(encoded);
        result
    }
}

/// `google.protobuf.Empty`.
impl Message for () {
    type As = Proto;
}

/// The hash of a key, for the policy `key-hash`: the same on every machine and in every version.
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
        Line::write(message, [1, 2, 3, 4], <[u8]>::to_vec)
    }

    #[test]
    fn a_line_message_is_its_fields_behind_the_head() {
        let written = bytes(&New { id: 0x0102_0304_0506_0708.into(), flags: 9.into(), more: 10.into() });
        assert_eq!(written, [1, 2, 3, 4, 8, 7, 6, 5, 4, 3, 2, 1, 9, 0, 0, 0, 10, 0, 0, 0]);
    }

    #[test]
    fn what_another_version_lacks_is_zero_and_what_it_has_more_is_not_seen() {
        let (old, new) = (Old { id: 7.into() }, New { id: 7.into(), flags: 1.into(), more: 2.into() });
        let zeros = New { id: 7.into(), flags: 0.into(), more: 0.into() };
        assert_eq!(Line::decode(&bytes(&old)[4..]), Some(zeros));
        assert_eq!(Line::read(&bytes(&old)[4..], |read: &New| *read), Some(zeros));
        assert_eq!(Line::decode(&bytes(&new)[4..]), Some(old));
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
        let nested = Proto::write(&text("outer"), [0; 4], |outer| {
            (outer.to_vec(), Proto::write(&text("inner"), [9; 4], <[u8]>::to_vec))
        });
        assert_eq!(nested.0[4..], *b"\x0a\x05outer");
        assert_eq!(<Proto as Encoding<String>>::decode(&nested.1[4..]), Some(text("inner")));
        assert_eq!(<Proto as Encoding<String>>::decode(b"\x0a\x05out"), None);
    }
}
