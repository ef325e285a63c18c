//! The pairs in the reply to a SCAN.

/// Bytes in front of each pair.
pub const PAIR_HEADER_BYTES: usize = 4;

/// The header of a pair; `None` without 1 to 255 bytes of key, or if no reply can carry the value.
#[must_use]
#[inline]
pub fn pair_header(key_bytes: usize, value_bytes: usize) -> Option<[u8; PAIR_HEADER_BYTES]> {
    let key = u8::try_from(key_bytes).ok().filter(|&bytes| bytes > 0)?;
    let value = u32::try_from(value_bytes).ok().filter(|&bytes| bytes as usize <= crate::VALUE_BYTES_MAX)?;
    Some((u32::from(key) | value << 8).to_le_bytes())
}

/// A key and its value.
pub type Pair<'a> = (&'a [u8], &'a [u8]);

/// The pairs of a reply's value, in order; `Err` once, at the end, if the bytes are not pairs.
///
/// # Examples
///
/// ```
/// use nebula_kvs::protocol::scan::Pairs;
///
/// let pairs: Result<Vec<_>, _> = Pairs::of(b"\x01\x02\0\0k12").collect();
/// assert_eq!(pairs, Ok(vec![(&b"k"[..], &b"12"[..])]));
/// assert!(Pairs::of(b"\x01\x03\0\0k12").last().is_some_and(|pair| pair.is_err()));
/// ```
#[derive(Clone, Debug)]
pub struct Pairs<'a> {
    left: &'a [u8],
}

/// The bytes are no pairs: a pair announces more bytes than follow, or has no key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{left} bytes of a SCAN's reply are not a pair of key and value")]
pub struct NoPair {
    /// The bytes from the wrong pair on.
    pub left: usize,
}

impl<'a> Pairs<'a> {
    /// Reads the value of a reply.
    #[must_use]
    pub const fn of(value: &'a [u8]) -> Self {
        Self { left: value }
    }

    fn split(&self) -> Option<(Pair<'a>, &'a [u8])> {
        let (header, rest) = self.left.split_first_chunk::<PAIR_HEADER_BYTES>()?;
        let word = u32::from_le_bytes(*header);
        let (key_bytes, value_bytes) = ((word & 0xff) as usize, (word >> 8) as usize);
        let (key, rest) = rest.split_at_checked(key_bytes).filter(|_| key_bytes > 0)?;
        let (value, rest) = rest.split_at_checked(value_bytes)?;
        Some(((key, value), rest))
    }
}

impl<'a> Iterator for Pairs<'a> {
    type Item = Result<Pair<'a>, NoPair>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.left.is_empty() {
            return None;
        }
        let Some((pair, rest)) = self.split() else {
            let left = std::mem::take(&mut self.left).len();
            return Some(Err(NoPair { left }));
        };
        self.left = rest;
        Some(Ok(pair))
    }
}
