//! Answers in memcached's words, and numbers as text.

/// Unknown command.
pub const ERROR: &[u8] = b"ERROR\r\n";
/// Unreadable line.
pub const BAD_LINE: &[u8] = b"CLIENT_ERROR bad command line format\r\n";
/// `stats cachedump` without a class or a number.
pub const BAD_DUMP: &[u8] = b"CLIENT_ERROR bad command line\r\n";
/// A class that no server has.
pub const BAD_CLASS: &[u8] = b"CLIENT_ERROR Illegal slab id\r\n";
/// A `delete` with more than a key.
pub const BAD_DELETE: &[u8] = b"CLIENT_ERROR bad command line format.  Usage: delete <key> [noreply]\r\n";
/// A value that does not end where it should.
pub const BAD_DATA: &[u8] = b"CLIENT_ERROR bad data chunk\r\n";
/// An expiry that is no number.
pub const BAD_EXPTIME: &[u8] = b"CLIENT_ERROR invalid exptime argument\r\n";
/// An increment that is no number.
pub const BAD_DELTA: &[u8] = b"CLIENT_ERROR invalid numeric delta argument\r\n";
/// A value that is no number.
pub const NO_NUMBER: &[u8] = b"CLIENT_ERROR cannot increment or decrement non-numeric value\r\n";
/// A key that is no base64.
pub const BAD_BASE64: &[u8] = b"CLIENT_ERROR error decoding key\r\n";
/// A flag that the meta command does not have.
pub const BAD_FLAG: &[u8] = b"CLIENT_ERROR invalid flag\r\n";
/// A flag twice in a meta command.
pub const TWICE: &[u8] = b"CLIENT_ERROR duplicate flag\r\n";
/// Either, of `md` and `ma`.
pub const BAD_OR_TWICE: &[u8] = b"CLIENT_ERROR invalid or duplicate flag\r\n";
/// An unreadable word of a meta command's flag.
pub const BAD_TOKEN: &[u8] = b"CLIENT_ERROR bad token in command line format\r\n";
/// An opaque that is too long.
pub const LONG_OPAQUE: &[u8] = b"CLIENT_ERROR opaque token too long\r\n";
/// A mode that `ms` does not have.
pub const BAD_SET_MODE: &[u8] = b"CLIENT_ERROR invalid mode for ms M token\r\n";
/// A mode that `ma` does not have.
pub const BAD_NUMBER_MODE: &[u8] = b"CLIENT_ERROR invalid mode for ma M token\r\n";
/// A mode that is not one character.
pub const LONG_MODE: &[u8] = b"CLIENT_ERROR incorrect length for M token\r\n";
/// An item that is too long.
pub const TOO_LARGE: &[u8] = b"SERVER_ERROR object too large for cache\r\n";
/// No memory for an item.
pub const NO_MEMORY: &[u8] = b"SERVER_ERROR out of memory storing object\r\n";
/// No memory for an answer.
pub const NO_MEMORY_TO_ANSWER: &[u8] = b"SERVER_ERROR out of memory writing get response\r\n";
/// Refused, without effect.
pub const BUSY: &[u8] = b"SERVER_ERROR busy\r\n";
/// The server failed.
pub const FAILED: &[u8] = b"SERVER_ERROR internal error\r\n";
/// No room for another connection.
pub const CROWDED: &[u8] = b"ERROR Too many open connections\r\n";
/// Stored.
pub const STORED: &[u8] = b"STORED\r\n";
/// Not stored: the condition does not hold.
pub const NOT_STORED: &[u8] = b"NOT_STORED\r\n";
/// Not stored: the item has changed.
pub const EXISTS: &[u8] = b"EXISTS\r\n";
/// No such item.
pub const NOT_FOUND: &[u8] = b"NOT_FOUND\r\n";
/// Deleted.
pub const DELETED: &[u8] = b"DELETED\r\n";
/// The item has its new expiry.
pub const TOUCHED: &[u8] = b"TOUCHED\r\n";
/// Done.
pub const OK: &[u8] = b"OK\r\n";
/// The counters are 0.
pub const RESET: &[u8] = b"RESET\r\n";
/// The end of the values.
pub const END: &[u8] = b"END\r\n";
/// The answer to `mn`.
pub const META_NOOP: &[u8] = b"MN\r\n";
/// The longest decimal number of 64 bits.
pub const DIGITS_MAX: usize = 20;

/// Writes `number` in decimal to the end of `room`, and returns its digits.
///
/// ```
/// use nebula_memcached::answer::{DIGITS_MAX, decimal};
/// assert_eq!(decimal(1024, &mut [0; DIGITS_MAX]), b"1024");
/// assert_eq!(decimal(0, &mut [0; DIGITS_MAX]), b"0");
/// ```
#[must_use]
#[inline]
pub fn decimal(mut number: u64, room: &mut [u8; DIGITS_MAX]) -> &[u8] {
    let mut at = DIGITS_MAX;
    loop {
        at -= 1;
        room[at] = b'0' + u8::try_from(number % 10).unwrap_or(0);
        number /= 10;
        if number == 0 || at == 0 {
            return &room[at..];
        }
    }
}
