//! Where a request ends in a stream of bytes.

use crate::answer;
use crate::request::{Request, Verb, value_bytes};
use crate::tokens::{Tokens, line};

/// A longer line without an end is invalid, unless it asks for keys.
const LINE_BYTES_MAX: usize = 2048;
/// Blanks before a command that asks for keys.
const BLANKS_MAX: usize = 100;
/// The first bytes of a request in memcached's binary protocol, and of a TLS client's hello.
const BINARY_REQUEST: u8 = 0x80;
const TLS_HANDSHAKE: u8 = 0x16;
const TLS_VERSION: u8 = 3;
/// Of `HTTP/1.1`.
const HTTP_VERSION_BYTES: usize = 8;
/// The line end behind a value.
const END_BYTES: usize = 2;

/// The beginning of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Framed {
    /// A part of a request, of unknown rest until there are `bytes_min` bytes.
    Incomplete {
        /// Bytes from the beginning of the request.
        bytes_min: usize,
    },
    /// A complete request for [`Request::parse`](crate::request::Request::parse). The `discard`
    /// bytes behind it, a value that is too long, must be skipped.
    Request {
        /// Bytes of the request.
        bytes: usize,
        /// Bytes behind it.
        discard: usize,
    },
    /// The client closes the connection.
    Quit,
    /// No request, and the begin of the next one is unknown, or another protocol. The answer is
    /// sent and the connection closed.
    Broken(&'static [u8]),
}

/// Finds the request that `bytes` begin with, of at most `request_bytes_max` bytes. A longer value
/// is skipped.
///
/// # Cost
///
/// A search for the end of the line, and the words of a line that stores a value.
#[must_use]
#[inline]
pub fn next(bytes: &[u8], request_bytes_max: usize) -> Framed {
    let Some((text, line_bytes)) = line(bytes) else { return without_end(bytes, request_bytes_max) };
    if line_bytes > request_bytes_max {
        return Framed::Broken(answer::NO_MEMORY_TO_ANSWER);
    }
    // The most frequent request needs no other look.
    if text.starts_with(b"get ") {
        return Framed::Request { bytes: line_bytes, discard: 0 };
    }
    if is_foreign(bytes) {
        return Framed::Broken(b"");
    }
    let mut tokens = Tokens::new(text);
    let command = tokens.next().unwrap_or_default();
    if command == b"quit" {
        return Framed::Quit;
    }
    let value = match Verb::of(command) {
        Some(verb) => value_bytes(verb, Tokens::new(text)),
        None if command == b"ms" => crate::meta::value_bytes(Tokens::new(text)),
        None => None,
    };
    let Some(value) = value else {
        let is_http = is_http(text);
        return if is_http { Framed::Broken(b"") } else { Framed::Request { bytes: line_bytes, discard: 0 } };
    };
    let whole = line_bytes + value + END_BYTES;
    if whole > request_bytes_max {
        Framed::Request { bytes: line_bytes, discard: value + END_BYTES }
    } else if bytes.len() < whole {
        Framed::Incomplete { bytes_min: whole }
    } else {
        Framed::Request { bytes: whole, discard: 0 }
    }
}

/// Whether another protocol begins here: memcached's binary protocol, TLS, or HTTP with a path. No
/// command has capitals.
#[inline]
fn is_foreign(bytes: &[u8]) -> bool {
    match bytes {
        [b'a'..=b'z', ..] => false,
        [BINARY_REQUEST, ..] | [TLS_HANDSHAKE, TLS_VERSION, ..] => true,
        _ => {
            let method = bytes.iter().take_while(|byte| byte.is_ascii_uppercase()).count();
            method > 0 && bytes[method..].starts_with(b" /")
        }
    }
}

/// Whether a line is no command and ends with a version of HTTP.
#[inline]
fn is_http(line: &[u8]) -> bool {
    let version = line.len().checked_sub(HTTP_VERSION_BYTES).map(|at| &line[at..]);
    version.is_some_and(|version| version.starts_with(b"HTTP/"))
        && matches!(Request::parse(line), Request::Refused { answer: answer::ERROR, .. })
}

#[cold]
fn without_end(bytes: &[u8], request_bytes_max: usize) -> Framed {
    if is_foreign(bytes) {
        return Framed::Broken(b"");
    }
    if bytes.len() > request_bytes_max {
        return Framed::Broken(answer::NO_MEMORY_TO_ANSWER);
    }
    let blanks = bytes.iter().take_while(|&&byte| byte == b' ').count();
    let asks_for_keys = bytes[blanks..].starts_with(b"get ") || bytes[blanks..].starts_with(b"gets ");
    if bytes.len() > LINE_BYTES_MAX && (blanks > BLANKS_MAX || !asks_for_keys) {
        return Framed::Broken(b"");
    }
    Framed::Incomplete { bytes_min: bytes.len() + 1 }
}
