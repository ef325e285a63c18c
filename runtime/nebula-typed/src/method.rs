//! The method behind the message of a request, and its extension, if there is one.
//!
//! ```text
//! request    message, in the schema's encoding │ extension x and its length x 2, with bit 31 │ method 4
//! method     bits 0–15 service │ 16–27 method │ 28–30 zero │ 31: there is an extension
//! extension  items: kind 1 │ length 1 │ as many bytes
//! ```
//!
//! | item | kind | bytes |
//! |---|---|---|
//! | trace context | 1 | 25: trace 16, parent 8, flags 1, as in W3C's `traceparent` |
//! | cursor | 2 | up to 32: where a window of a stream begins |
//! | deadline | 3 | 8: until when the client waits, in ticks of the machine's clock |
//!
//! Numbers are little-endian, lengths in bytes. Items of unknown kinds are skipped. The deadline is
//! only for shared memory: over UDP it is in the header, and the item is ignored. Ticks are the
//! time-stamp counter's, or nanoseconds of `CLOCK_MONOTONIC` if that is not invariant. A service's
//! default number is the SipHash-2-4 of its full name under the key 0, modulo 65,535, plus 1.
//!
//! The method stands behind the message, so that the message keeps its alignment in the ring.

use super::trace::TraceContext;

/// The method that a request is for, and its service: the request's last four bytes, little-endian.
///
/// ```text
///   0         n           n+x   n+x+2    n+x+4    n+x+6       n+x+8
///   │ message │ extension │  x  │ service│ method 12 bits│0 0 0 e│     e: there is an extension and its length
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct MethodId(u32);

const METHOD_MAX: u16 = (1 << 12) - 1;
const EXTENDED: u32 = 1 << 31;

impl MethodId {
    /// Its length on the wire.
    pub const BYTES: usize = 4;

    /// A method of a service.
    ///
    /// # Panics
    ///
    /// When the method's number has more than 12 bits.
    #[must_use]
    pub const fn new(service: u16, method: u16) -> Self {
        assert!(method <= METHOD_MAX, "a method's number has 12 bits");
        Self(service as u32 | (method as u32) << 16)
    }

    /// The number of the service.
    #[must_use]
    #[inline(always)]
    #[expect(clippy::cast_possible_truncation, reason = "the low half")]
    pub const fn service(self) -> u16 {
        self.0 as u16
    }

    /// The number of the method within its service.
    #[must_use]
    #[inline(always)]
    pub const fn method(self) -> u16 {
        (self.0 >> 16) as u16 & METHOD_MAX
    }

    /// Its bytes on the wire, little-endian.
    #[must_use]
    #[inline(always)]
    pub const fn to_bytes(self) -> [u8; Self::BYTES] {
        self.0.to_le_bytes()
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Opened<'a> {
    pub(crate) id: MethodId,
    pub(crate) extension: &'a [u8],
    pub(crate) body: &'a [u8],
}

/// The method of a request; `None` if it is too short.
pub(crate) fn id_of(request: &[u8]) -> Option<MethodId> {
    let id = request.last_chunk::<{ MethodId::BYTES }>()?;
    Some(MethodId(u32::from_le_bytes(*id) & !EXTENDED))
}

/// The method and the message of a request without an extension.
#[inline(always)]
pub(crate) fn open_plain(request: &[u8]) -> Option<(MethodId, &[u8])> {
    let (body, id) = request.split_last_chunk::<{ MethodId::BYTES }>()?;
    let id = u32::from_le_bytes(*id);
    (id & EXTENDED == 0).then_some((MethodId(id), body))
}

pub(crate) fn open(request: &[u8]) -> Option<Opened<'_>> {
    let (body, id) = request.split_last_chunk::<{ MethodId::BYTES }>()?;
    let id = u32::from_le_bytes(*id);
    if id & EXTENDED == 0 {
        return Some(Opened { id: MethodId(id), extension: &[], body });
    }
    let (rest, bytes) = body.split_last_chunk::<2>()?;
    let at = rest.len().checked_sub(u16::from_le_bytes(*bytes).into())?;
    let (body, extension) = rest.split_at(at);
    Some(Opened { id: MethodId(id & !EXTENDED), extension, body })
}

/// Kinds of items: a W3C trace context.
const TRACE: u8 = 1;
/// Where the next window of a stream begins.
const CURSOR: u8 = 2;

/// When the client stops waiting, in ticks of the machine's clock. Only over shared memory.
const UNTIL: u8 = 3;

#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Extension<'a> {
    pub(crate) trace: Option<&'a TraceContext>,
    /// Where the next window of a stream begins; empty for none.
    pub(crate) cursor: &'a [u8],
    pub(crate) until_ticks: Option<u64>,
}

/// Appends the method to the message in `frame`, and before it an extension with the given items.
pub(crate) fn end(frame: &mut Vec<u8>, id: MethodId, extension: &Extension<'_>) {
    let (begin, &Extension { trace, cursor, until_ticks }) = (frame.len(), extension);
    if let Some(trace) = trace {
        frame.extend_from_slice(&[TRACE, TraceContext::BYTES]);
        frame.extend_from_slice(&trace.to_bytes());
    }
    if let Some(bytes) = u8::try_from(cursor.len()).ok().filter(|&bytes| bytes > 0) {
        frame.extend_from_slice(&[CURSOR, bytes]);
        frame.extend_from_slice(cursor);
    }
    if let Some(ticks) = until_ticks {
        frame.extend_from_slice(&[UNTIL, 8]);
        frame.extend_from_slice(&ticks.to_le_bytes());
    }
    match u16::try_from(frame.len() - begin) {
        Ok(items) if items > 0 => {
            frame.extend_from_slice(&items.to_le_bytes());
            frame.extend_from_slice(&(id.0 | EXTENDED).to_le_bytes());
        }
        _ => frame.extend_from_slice(&id.to_bytes()),
    }
}

pub(crate) fn trace_in(extension: &[u8]) -> Option<TraceContext> {
    item_in(extension, TRACE).and_then(TraceContext::from_bytes)
}

pub(crate) fn cursor_in(extension: &[u8]) -> &[u8] {
    item_in(extension, CURSOR).unwrap_or_default()
}

pub(crate) fn until_ticks_in(extension: &[u8]) -> Option<u64> {
    Some(u64::from_le_bytes(item_in(extension, UNTIL)?.try_into().ok()?))
}

fn item_in(extension: &[u8], wanted: u8) -> Option<&[u8]> {
    let mut rest = extension;
    while let [kind, bytes, behind @ ..] = rest {
        let (value, next) = behind.split_at_checked((*bytes).into())?;
        if *kind == wanted {
            return Some(value);
        }
        rest = next;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_method_is_what_was_put_in() {
        let id = MethodId::new(0xABCD, 4095);
        assert_eq!((id.service(), id.method()), (0xABCD, 4095));
        let request = [&b"body"[..], &id.to_bytes()].concat();
        assert_eq!(open(&request), Some(Opened { id, extension: &[], body: b"body" }));
        assert_eq!(open_plain(&request), Some((id, &b"body"[..])));
    }

    #[test]
    fn an_extension_is_skipped_where_nobody_asks_for_it() {
        let (id, trace) = (MethodId::new(7, 3), TraceContext::new([1; 16], [2; 8], 1).unwrap());
        let mut frame = b"body".to_vec();
        end(&mut frame, id, &Extension { trace: Some(&trace), cursor: b"next", until_ticks: Some(7 << 40) });
        assert_eq!((open_plain(&frame), id_of(&frame), id_of(&frame[..3])), (None, Some(id), None));
        let opened = open(&frame).unwrap();
        assert_eq!((opened.id, opened.body), (id, &b"body"[..]));
        assert_eq!((trace_in(opened.extension), cursor_in(opened.extension)), (Some(trace), &b"next"[..]));
        assert_eq!(until_ticks_in(opened.extension), Some(7 << 40));
        assert_eq!(until_ticks_in(&[UNTIL, 4, 1, 2, 3, 4]), None, "of another length");
        // Behind an item of a later version.
        assert_eq!(trace_in(&[&[99, 2, 0, 0], opened.extension].concat()), Some(trace));
    }

    #[test]
    fn what_is_cut_short_is_none() {
        let mut frame = Vec::new();
        let trace = TraceContext::new([1; 16], [2; 8], 0);
        end(&mut frame, MethodId::new(7, 3), &Extension { trace: trace.as_ref(), ..Extension::default() });
        for cut in 1..frame.len() {
            assert_eq!(open(&frame[cut..]), None, "{cut}");
        }
        let extension = open(&frame).unwrap().extension;
        for bytes in 0..extension.len() {
            assert_eq!(trace_in(&extension[..bytes]), None, "{bytes}");
        }
    }
}
