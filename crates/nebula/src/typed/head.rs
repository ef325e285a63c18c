//! What stands in front of a request: which method of which service is meant, and whether an extension follows.

use super::trace::TraceContext;

/// The first four bytes of a request, little-endian.
///
/// ```text
///   0        2      2¾       3⅞ 4
///   │service │method│0 0 0│e│   service 16 bits, method 12 bits, three bits of zero, e: an extension follows
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Head(u32);

/// The largest number of a method.
const METHOD_MAX: u16 = (1 << 12) - 1;
const EXTENDED: u32 = 1 << 31;

impl Head {
    /// Its length, in bytes.
    pub const BYTES: usize = 4;

    /// The head of a request for a method of a service.
    ///
    /// # Panics
    ///
    /// When the method's number has more than 12 bits.
    #[must_use]
    pub const fn new(service: u16, method: u16) -> Self {
        assert!(method <= METHOD_MAX, "a method's number has 12 bits");
        Self(service as u32 | (method as u32) << 16)
    }

    /// The service's number.
    #[must_use]
    #[inline(always)]
    #[expect(clippy::cast_possible_truncation, reason = "the low half")]
    pub const fn service(self) -> u16 {
        self.0 as u16
    }

    /// The method's number.
    #[must_use]
    #[inline(always)]
    pub const fn method(self) -> u16 {
        (self.0 >> 16) as u16 & METHOD_MAX
    }

    /// As it goes over the wire.
    #[must_use]
    #[inline(always)]
    pub const fn to_bytes(self) -> [u8; Self::BYTES] {
        self.0.to_le_bytes()
    }
}

/// A request, taken apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Opened<'a> {
    pub(crate) head: Head,
    pub(crate) extension: &'a [u8],
    pub(crate) body: &'a [u8],
}

/// Takes a request apart; `None` where it is too short for what it says.
#[inline(always)]
pub(crate) fn open(request: &[u8]) -> Option<Opened<'_>> {
    let (head, body) = request.split_first_chunk::<{ Head::BYTES }>()?;
    let head = u32::from_le_bytes(*head);
    if head & EXTENDED != 0 {
        return open_extended(head & !EXTENDED, body);
    }
    Some(Opened { head: Head(head), extension: &[], body })
}

#[cold]
fn open_extended(head: u32, rest: &[u8]) -> Option<Opened<'_>> {
    let (bytes, rest) = rest.split_first_chunk::<2>()?;
    let (extension, body) = rest.split_at_checked(u16::from_le_bytes(*bytes).into())?;
    Some(Opened { head: Head(head), extension, body })
}

/// An item of the extension: a W3C trace context.
const TRACE: u8 = 1;

/// Begins in `frame` a request whose extension has a trace context.
pub(crate) fn begin_extended(frame: &mut Vec<u8>, head: Head, trace: &TraceContext) {
    let trace = trace.to_bytes();
    frame.clear();
    frame.extend_from_slice(&(head.0 | EXTENDED).to_le_bytes());
    let items = 2 + u16::from(TraceContext::BYTES);
    frame.extend_from_slice(&items.to_le_bytes());
    frame.extend_from_slice(&[TRACE, TraceContext::BYTES]);
    frame.extend_from_slice(&trace);
}

/// The trace context among the items of an extension. Items of kinds that this version does not know are skipped.
pub(crate) fn trace_in(extension: &[u8]) -> Option<TraceContext> {
    let mut rest = extension;
    while let [kind, bytes, behind @ ..] = rest {
        let (value, next) = behind.split_at_checked((*bytes).into())?;
        if *kind == TRACE {
            return TraceContext::from_bytes(value);
        }
        rest = next;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_head_is_what_was_put_in() {
        let head = Head::new(0xABCD, 4095);
        assert_eq!((head.service(), head.method()), (0xABCD, 4095));
        let request = [&head.to_bytes()[..], b"body"].concat();
        assert_eq!(open(&request), Some(Opened { head, extension: &[], body: b"body" }));
    }

    #[test]
    fn an_extension_is_skipped_by_whoever_does_not_want_it() {
        let (head, trace) = (Head::new(7, 3), TraceContext::new([1; 16], [2; 8], 1).unwrap());
        let mut frame = b"what an earlier request has left".to_vec();
        begin_extended(&mut frame, head, &trace);
        frame.extend_from_slice(b"body");
        let opened = open(&frame).unwrap();
        assert_eq!((opened.head, opened.body), (head, &b"body"[..]));
        assert_eq!(trace_in(opened.extension), Some(trace));
        // Behind an item of a later version.
        assert_eq!(trace_in(&[&[99, 2, 0, 0], opened.extension].concat()), Some(trace));
    }

    #[test]
    fn what_is_cut_short_is_none() {
        let mut frame = Vec::new();
        begin_extended(&mut frame, Head::new(7, 3), &TraceContext::new([1; 16], [2; 8], 0).unwrap());
        for bytes in 0..frame.len() {
            assert_eq!(open(&frame[..bytes]), None, "{bytes}");
        }
        let extension = &frame[6..];
        for bytes in 0..extension.len() {
            assert_eq!(trace_in(&extension[..bytes]), None, "{bytes}");
        }
    }
}
