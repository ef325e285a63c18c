//! The end of an RPC without a reply, as its handler declares it.
//!
//! ```text
//! reply      message, or text and details of a status │ code 2 │ text_bytes 2
//! ```
//!
//! `code` is 0 for a message, else gRPC's number. `text_bytes` is 0 for a message; otherwise it is
//! the length of the text, in UTF-8, which the details follow. Numbers are little-endian.

use nebula::Reply;
use std::borrow::Cow;
use std::fmt::{Display, Formatter};

/// Defines the codes, and for each a constructor of its status.
macro_rules! codes {
    ($($(#[doc = $what:literal])+ $variant:ident = $number:literal, $name:literal, $function:ident;)+) => {
        /// The kind of an error, with gRPC's names and numbers.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[non_exhaustive]
        #[repr(u16)]
        pub enum Code {
            $($(#[doc = $what])+ $variant = $number,)+
        }

        impl Code {
            /// The code of that number; [`Code::Unknown`] if this version does not know it.
            #[must_use]
            pub const fn from_number(number: u16) -> Self {
                match number {
                    $($number => Self::$variant,)+
                    _ => Self::Unknown,
                }
            }

            /// Its name in capitals, as gRPC writes it.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)+
                }
            }
        }

        impl Status {
            $(
                $(#[doc = $what])+
                #[must_use]
                pub fn $function(message: impl Into<Cow<'static, str>>) -> Self {
                    Self::new(Code::$variant, message)
                }
            )+
        }

        #[cfg(test)]
        const ALL: &[Code] = &[$(Code::$variant),+];
    };
}

codes! {
    /// The caller has given up.
    Cancelled = 1, "CANCELLED", cancelled;
    /// No other code fits.
    Unknown = 2, "UNKNOWN", unknown;
    /// The request is wrong, whatever the state of the server.
    InvalidArgument = 3, "INVALID_ARGUMENT", invalid_argument;
    /// The deadline has passed.
    DeadlineExceeded = 4, "DEADLINE_EXCEEDED", deadline_exceeded;
    /// The requested entity does not exist.
    NotFound = 5, "NOT_FOUND", not_found;
    /// The entity to create exists already.
    AlreadyExists = 6, "ALREADY_EXISTS", already_exists;
    /// The caller may not do this.
    PermissionDenied = 7, "PERMISSION_DENIED", permission_denied;
    /// Something is used up, such as a quota.
    ResourceExhausted = 8, "RESOURCE_EXHAUSTED", resource_exhausted;
    /// The state of the server does not allow it; trying again does not help before that changes.
    FailedPrecondition = 9, "FAILED_PRECONDITION", failed_precondition;
    /// It conflicted with another operation; all of it may be tried again.
    Aborted = 10, "ABORTED", aborted;
    /// It reaches beyond the end of something.
    OutOfRange = 11, "OUT_OF_RANGE", out_of_range;
    /// The server has no such service or method.
    Unimplemented = 12, "UNIMPLEMENTED", unimplemented;
    /// The server is broken.
    Internal = 13, "INTERNAL", internal;
    /// The service cannot answer now; trying again may help.
    Unavailable = 14, "UNAVAILABLE", unavailable;
    /// Data is lost for good.
    DataLoss = 15, "DATA_LOSS", data_loss;
    /// The caller has not said who it is.
    Unauthenticated = 16, "UNAUTHENTICATED", unauthenticated;
}

/// The end of an RPC without a reply: a code, a message for people, and bytes for programs.
///
/// ```
/// use nebula_typed::{Code, Status};
///
/// let status = Status::not_found("no item 7").with_details(vec![7]);
/// assert_eq!(status.code(), Code::NotFound);
/// assert_eq!(status.to_string(), "NOT_FOUND: no item 7");
/// ```
///
/// # Cost
///
/// A literal message without details allocates nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Status {
    code: Code,
    message: Cow<'static, str>,
    details: Vec<u8>,
}

impl Status {
    /// A status.
    #[must_use]
    pub fn new(code: Code, message: impl Into<Cow<'static, str>>) -> Self {
        Self { code, message: message.into(), details: Vec::new() }
    }

    /// Adds bytes for programs, whose format the service defines.
    #[must_use]
    pub fn with_details(mut self, details: impl Into<Vec<u8>>) -> Self {
        self.details = details.into();
        self
    }

    /// The kind of the error.
    #[must_use]
    pub const fn code(&self) -> Code {
        self.code
    }

    /// The message, for people.
    #[must_use]
    pub fn message(&self) -> &str {
        &self.message
    }

    /// Bytes for programs.
    #[must_use]
    pub fn details(&self) -> &[u8] {
        &self.details
    }

    #[cold]
    pub(crate) fn reply(&self, reply: &mut Reply<'_>) {
        reply.clear();
        reply.write(&self.to_bytes(reply.capacity()));
    }

    /// Its bytes as a reply of at most `capacity` bytes. Cuts the message at a character's end, and
    /// leaves out details that do not fit.
    pub(crate) fn to_bytes(&self, capacity: usize) -> Vec<u8> {
        let room = capacity.saturating_sub(END_BYTES);
        let most = room.min(u16::MAX.into()).min(self.message.len());
        let message = (0..=most).rev().find(|&at| self.message.is_char_boundary(at)).unwrap_or(0);
        let message = &self.message.as_bytes()[..message];
        let details =
            Some(&self.details[..]).filter(|details| details.len() <= room - message.len()).unwrap_or_default();
        let message_bytes = u16::try_from(message.len()).unwrap_or(u16::MAX);
        let end = u32::from(self.code as u16) | u32::from(message_bytes) << 16;
        [message, details, &end.to_le_bytes()].concat()
    }
}

/// Bytes behind a reply: the code, 0 for a message; then the length of the status's message.
pub(crate) const END_BYTES: usize = 4;
pub(crate) const OK: [u8; END_BYTES] = [0; END_BYTES];

#[inline(always)]
pub(crate) fn open_message(reply: &[u8]) -> Option<&[u8]> {
    let (body, end) = reply.split_last_chunk()?;
    (u32::from_le_bytes(*end) == u32::from_le_bytes(OK)).then_some(body)
}

/// A reply's message or status; `None` if it is no reply of a typed service.
pub(crate) fn open(reply: &[u8]) -> Option<Result<&[u8], Status>> {
    match reply.split_last_chunk()? {
        (body, &OK) => Some(Ok(body)),
        (rest, end) => open_status(rest, *end).map(Err),
    }
}

#[cold]
fn open_status(rest: &[u8], [c0, c1, m0, m1]: [u8; END_BYTES]) -> Option<Status> {
    let code = u16::from_le_bytes([c0, c1]);
    let (message, details) = rest.split_at_checked(u16::from_le_bytes([m0, m1]).into())?;
    let message = String::from_utf8_lossy(message).into_owned();
    (code != 0).then(|| Status::new(Code::from_number(code), message).with_details(details.to_vec()))
}

impl Display for Status {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {}", self.code.name(), self.message)
    }
}

impl std::error::Error for Status {}

#[cfg(test)]
mod tests {
    use super::*;

    fn replied(status: &Status, capacity: u32) -> Vec<u8> {
        nebula::hooks::replied(capacity, |reply| {
            reply.write(b"what the handler had written before it failed");
            status.reply(reply);
        })
    }

    #[test]
    fn a_status_arrives_as_it_was_sent() {
        for &code in ALL {
            let status = Status::new(code, "what happened").with_details(vec![1, 2, 3]);
            assert_eq!(open(&replied(&status, 100)), Some(Err(status)));
        }
    }

    #[test]
    fn what_has_no_room_is_cut() {
        let status = Status::not_found("gr\u{fc}n").with_details(vec![1, 2]);
        let cut = |capacity| open(&replied(&status, capacity)).unwrap().unwrap_err();
        assert_eq!((cut(11).message(), cut(11).details()), ("gr\u{fc}n", &[1, 2][..]));
        assert_eq!((cut(10).message(), cut(10).details()), ("gr\u{fc}n", &[][..]));
        assert_eq!((cut(7).message(), cut(7).code()), ("gr", Code::NotFound));
        assert_eq!(cut(4).message(), "");
    }

    #[test]
    fn bytes_that_are_no_reply_are_none() {
        assert_eq!(open(b""), None);
        assert_eq!(open(&[0, 0, 0]), None);
        assert_eq!(open(&[b'x', 5, 0, 2, 0]), None, "its message is cut");
        assert_eq!(open(&[b'x', 0, 0, 1, 0]), None, "no code");
        assert_eq!(open(&[7, 0, 0, 0, 0]), Some(Ok(&[7][..])));
        assert_eq!(open_message(&[7, 0, 0, 0, 0]), Some(&[7][..]));
        assert_eq!((open_message(&[7, 5, 0, 0, 0]), open_message(&[0, 0, 0])), (None, None));
        assert_eq!(open(&[99, 0, 0, 0]).unwrap().unwrap_err().code(), Code::Unknown);
    }
}
