//! Numbers in decimal digits as values, and additions to them: memcached's `incr` and `decr`.

use super::Store;
use super::put::Put;
use super::set::SetError;
use crate::hash::KeyHash;
use crate::probe::Probe;
use nebula_sys::copy;
use std::io::Write;

/// The addition to a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Delta {
    /// Added, modulo 2⁶⁴.
    Up(u64),
    /// Subtracted; at least zero remains.
    Down(u64),
}

/// The outcome of [`add_to_number`](Store::add_to_number).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NumberOutcome {
    /// Stored.
    Stored {
        /// The sum.
        number: u64,
        /// The item's CAS number.
        cas: u64,
    },
    /// There is no item.
    NotFound,
    /// The value is no number in decimal digits below 2⁶⁴.
    NotANumber,
    /// The item has another CAS number.
    Exists,
}

/// More bytes than any number with spaces around it that a client would store.
const BYTES_MAX: usize = 1 << 10;

impl<P: Probe> Store<P> {
    /// Adds to the number in `key`'s value, in decimal digits; with `cas`, only if the item has
    /// that CAS number. Flags and expiry stay.
    ///
    /// As in memcached, a sum with fewer digits than the value has bytes is followed by spaces, so
    /// that the value keeps its length. Cost: that of a [`put`](Self::put).
    ///
    /// # Errors
    ///
    /// [`SetError::Full`] if the sum needs room and there is none.
    pub fn add_to_number(
        &self,
        hash: KeyHash,
        key: &[u8],
        delta: Delta,
        cas: Option<u64>,
        now: u32,
    ) -> Result<NumberOutcome, SetError> {
        self.note_time(now);
        let mut held = self.hold(hash);
        let Some(located) = self.locate_live(&held, hash, key, now) else { return Ok(NumberOutcome::NotFound) };
        let before = located.stamped.meta;
        if cas.is_some_and(|cas| cas != before.cas) {
            return Ok(NumberOutcome::Exists);
        }
        let mut text = [b' '; BYTES_MAX];
        let (value, value_bytes) = located.value();
        let Some(old) = text.get_mut(..value_bytes) else { return Ok(NumberOutcome::NotANumber) };
        copy::load_bytes(value, old);
        let Some(number) = number_of(old) else { return Ok(NumberOutcome::NotANumber) };
        let number = match delta {
            Delta::Up(by) => number.wrapping_add(by),
            Delta::Down(by) => number.saturating_sub(by),
        };
        old.fill(b' ');
        let mut rest = &mut text[..];
        // Twenty digits have room.
        let _ = write!(rest, "{number}");
        let digits = BYTES_MAX - rest.len();
        let value = &text[..digits.max(value_bytes)];
        let stamped = self.stamp(&Put { flags: before.flags, expires: before.expires, now, ..Put::default() });
        self.store_extended(&mut held, Some(located), hash, key, value, &stamped)?;
        Ok(NumberOutcome::Stored { number, cas: stamped.meta.cas })
    }
}

/// The number that `text` begins with: digits after spaces, then nothing or a space.
fn number_of(text: &[u8]) -> Option<u64> {
    let text = text.trim_ascii_start();
    let text = text.strip_prefix(b"+").unwrap_or(text);
    let end = text.iter().position(|byte| !byte.is_ascii_digit()).unwrap_or(text.len());
    let (digits, rest) = text.split_at(end);
    let ends = rest.first().is_none_or(|byte| byte.is_ascii_whitespace() || *byte == 0x0B);
    std::str::from_utf8(digits).ok().filter(|_| ends)?.parse().ok()
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn only_digits_below_2_64_are_a_number() {
        let good =
            [("0", 0), ("007", 7), (" 5", 5), ("+5", 5), ("5 ", 5), ("5 x", 5), ("18446744073709551615", u64::MAX)];
        for (text, number) in good {
            assert_eq!(number_of(text.as_bytes()), Some(number), "{text:?}");
        }
        for text in ["", " ", "x", "5x", "-5", "18446744073709551616", "5.", "++5"] {
            assert_eq!(number_of(text.as_bytes()), None, "{text:?}");
        }
    }
}
