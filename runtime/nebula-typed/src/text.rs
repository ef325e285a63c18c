//! Field types of line messages besides plain numbers. Any bytes are valid for them.

use super::status::Status;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned, little_endian::U16};

/// A `bool`, in one byte: any but 0 is `true`.
#[derive(Clone, Copy, Default, Eq, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(transparent)]
pub struct Bool(u8);

impl Bool {
    /// Its value.
    #[must_use]
    #[inline(always)]
    pub const fn get(self) -> bool {
        self.0 != 0
    }
}

impl From<bool> for Bool {
    #[inline(always)]
    fn from(value: bool) -> Self {
        Self(value.into())
    }
}

impl PartialEq for Bool {
    fn eq(&self, other: &Self) -> bool {
        self.get() == other.get()
    }
}

impl std::fmt::Debug for Bool {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.get().fmt(f)
    }
}

/// A `string` of at most `N` bytes: its length in two bytes, then its bytes.
///
/// ```
/// use nebula_typed::Text;
///
/// let name: Text<8> = "tea".try_into()?;
/// assert_eq!(name.as_str(), Some("tea"));
/// assert!(Text::<2>::try_from("tea").is_err());
/// # Ok::<(), nebula_typed::Status>(())
/// ```
#[derive(Clone, Copy, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub struct Text<const N: usize> {
    len: U16,
    bytes: [u8; N],
}

impl<const N: usize> Text<N> {
    /// The text; `None` if the peer wrote invalid UTF-8, or a length beyond the room.
    #[must_use]
    pub fn as_str(&self) -> Option<&str> {
        std::str::from_utf8(self.bytes.get(..self.len.get().into())?).ok()
    }
}

impl<const N: usize> Default for Text<N> {
    fn default() -> Self {
        Self { len: U16::ZERO, bytes: [0; N] }
    }
}

impl<const N: usize> TryFrom<&str> for Text<N> {
    type Error = Status;

    /// The text, if it has at most `N` bytes; else the status `INVALID_ARGUMENT`.
    fn try_from(text: &str) -> Result<Self, Self::Error> {
        let mut bytes = [0; N];
        let (Some(room), Ok(len)) = (bytes.get_mut(..text.len()), u16::try_from(text.len())) else {
            return Err(Status::invalid_argument(format!(
                "a text of {} bytes, where there is room for {N}",
                text.len()
            )));
        };
        room.copy_from_slice(text.as_bytes());
        Ok(Self { len: len.into(), bytes })
    }
}

impl<const N: usize> PartialEq for Text<N> {
    fn eq(&self, other: &Self) -> bool {
        self.as_str() == other.as_str()
    }
}

impl<const N: usize> Eq for Text<N> {}

impl<const N: usize> std::fmt::Debug for Text<N> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.as_str().fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_that_a_peer_made_up_is_none() {
        let of = |bytes: [u8; 6]| Text::<4>::read_from_bytes(&bytes).unwrap();
        assert_eq!(of([2, 0, b'h', b'i', b'x', b'x']).as_str(), Some("hi"));
        assert_eq!(of([5, 0, b'h', b'i', b'x', b'x']).as_str(), None);
        assert_eq!(of([255, 255, b'h', b'i', b'x', b'x']).as_str(), None);
        assert_eq!(of([2, 0, 0xFF, 0xFE, 0, 0]).as_str(), None);
        assert_eq!(
            of([2, 0, b'h', b'i', 1, 2]),
            of([2, 0, b'h', b'i', 3, 4]),
            "what is behind the end is no part of it"
        );
    }

    #[test]
    fn any_byte_but_zero_is_true() {
        let of = |byte: u8| Bool::read_from_bytes(&[byte]).unwrap();
        assert_eq!((of(0).get(), of(1).get(), of(200).get()), (false, true, true));
        assert_eq!(of(1), of(200));
    }
}
