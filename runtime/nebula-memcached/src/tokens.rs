//! A line and its words.

use memchr::memchr;

/// The first line of `bytes` without its end, and its length with it; `None` without an end.
#[inline]
pub(crate) fn line(bytes: &[u8]) -> Option<(&[u8], usize)> {
    let end = memchr(b'\n', bytes)?;
    let line = &bytes[..end];
    Some((line.strip_suffix(b"\r").unwrap_or(line), end + 1))
}

/// The words of a line, separated by blanks, up to a zero byte.
#[derive(Clone, Copy, Debug)]
pub struct Tokens<'a> {
    left: &'a [u8],
}

impl<'a> Tokens<'a> {
    pub(crate) fn new(line: &'a [u8]) -> Self {
        Self { left: line }
    }

    pub(crate) fn count_up_to(self, most: usize) -> usize {
        self.take(most).count()
    }

    pub(crate) fn last_one(self) -> Option<&'a [u8]> {
        self.last()
    }
}

impl<'a> Iterator for Tokens<'a> {
    type Item = &'a [u8];

    #[inline]
    fn next(&mut self) -> Option<&'a [u8]> {
        let begin = self.left.iter().position(|&byte| byte != b' ')?;
        let left = &self.left[begin..];
        let bytes = left.iter().position(|&byte| byte == b' ' || byte == 0).unwrap_or(left.len());
        let (token, behind) = left.split_at(bytes);
        self.left = if behind.first() == Some(&0) { &[] } else { behind };
        (!token.is_empty()).then_some(token)
    }
}

/// An unsigned number, as C's `strtoull` reads it: a plus is allowed, a minus is not. `None` for
/// another word, or more than 64 bits.
#[inline]
pub(crate) fn unsigned(token: &[u8]) -> Option<u64> {
    let digits = token.strip_prefix(b"+").unwrap_or(token);
    if digits.is_empty() {
        return None;
    }
    digits.iter().try_fold(0_u64, |number, &digit| {
        let digit = digit.wrapping_sub(b'0');
        if digit > 9 { None } else { number.checked_mul(10)?.checked_add(digit.into()) }
    })
}

/// A signed number of 64 bits, truncated to 32, as memcached reads an `int`.
#[inline]
#[expect(clippy::cast_possible_truncation, reason = "what memcached does, and clients may rely on")]
pub(crate) fn signed(token: &[u8]) -> Option<i32> {
    match token.strip_prefix(b"-") {
        Some(digits) if digits.first() != Some(&b'+') => {
            let number = unsigned(digits).filter(|&number| number <= 1 << 63)?;
            Some((number as i64).wrapping_neg() as i32)
        }
        Some(_) => None,
        None => Some(i64::try_from(unsigned(token)?).ok()? as i32),
    }
}

/// An unsigned number truncated to 32 bits, as memcached reads flags.
#[inline]
#[expect(clippy::cast_possible_truncation, reason = "what memcached does, and clients may rely on")]
pub(crate) fn flags(token: &[u8]) -> Option<u32> {
    unsigned(token).map(|number| number as u32)
}
