//! A window of a stream: as many replies as fit into one, and the cursor of the next window.
//!
//! ```text
//!   length 4 bytes │ reply │ length │ reply │ … │ cursor │ its length 1 byte │ 1: more follows; else 0
//! ```
//!
//! The last window has no cursor.
//!
//! The server keeps nothing between two windows: the client sends the cursor. So a stream outlives
//! a restart and costs no memory, and each window is an RPC that may be refused.

use super::message::{Encoding, Message};
use super::status::{self, Status};
use nebula::Reply;
use std::marker::PhantomData;

/// The longest cursor, in bytes.
pub const CURSOR_BYTES_MAX: usize = 32;

const FOOTER_BYTES: usize = CURSOR_BYTES_MAX + 2 + status::END_BYTES;

/// A handler appends a stream's replies to it, as many as fit, beginning at
/// [`cursor`](Self::cursor).
///
/// ```no_run
/// # use nebula_typed::{Message, Status, Window};
/// fn list<T: Message>(items: &[T], window: &mut Window<'_, '_, T>) -> Result<(), Status> {
///     for at in window.index().. {
///         let Some(item) = usize::try_from(at).ok().and_then(|at| items.get(at)) else { break };
///         if !window.push(item) {
///             window.resume_at_index(at); // it comes first in the next window
///             break;
///         }
///     }
///     Ok(())
/// }
/// ```
#[derive(Debug)]
pub struct Window<'a, 'r, T> {
    reply: &'a mut Reply<'r>,
    cursor: &'a [u8],
    next: Option<([u8; CURSOR_BYTES_MAX], u8)>,
    replies: u32,
    too_large: Option<usize>,
    of: PhantomData<fn(&T)>,
}

impl<'a, 'r, T: Message> Window<'a, 'r, T> {
    pub(crate) const fn new(cursor: &'a [u8], reply: &'a mut Reply<'r>) -> Self {
        Self { reply, cursor, next: None, replies: 0, too_large: None, of: PhantomData }
    }

    /// Where this window begins: the previous handler's [`resume_at`](Self::resume_at); empty for
    /// the first window. The client sends it, so it may be any bytes.
    #[must_use]
    pub const fn cursor(&self) -> &'a [u8] {
        self.cursor
    }

    /// The cursor as [`resume_at_index`](Self::resume_at_index) made it; 0 for the first window and
    /// for any other cursor.
    #[must_use]
    pub fn index(&self) -> u64 {
        self.cursor.try_into().map_or(0, u64::from_le_bytes)
    }

    /// Appends `reply`; `false` if it does not fit.
    #[must_use]
    pub fn push(&mut self, reply: &T) -> bool {
        T::As::write(reply, |bytes| {
            let room = self.reply.capacity().saturating_sub(self.reply.len() + FOOTER_BYTES);
            let Some(length) = u32::try_from(bytes.len()).ok().filter(|_| size_of::<u32>() + bytes.len() <= room)
            else {
                self.too_large = (self.replies == 0).then_some(bytes.len());
                return false;
            };
            self.reply.write(&length.to_le_bytes());
            self.reply.write(bytes);
            self.replies += 1;
            true
        })
    }

    /// Continues the stream at `cursor`: the handler is called with it when the client asks.
    /// Without this call the stream ends with this window.
    ///
    /// # Panics
    ///
    /// When the cursor is empty or has more than [`CURSOR_BYTES_MAX`] bytes.
    pub fn resume_at(&mut self, cursor: &[u8]) {
        assert!(!cursor.is_empty() && cursor.len() <= CURSOR_BYTES_MAX, "a cursor has 1 to {CURSOR_BYTES_MAX} bytes");
        let mut bytes = [0; CURSOR_BYTES_MAX];
        bytes[..cursor.len()].copy_from_slice(cursor);
        self.next = u8::try_from(cursor.len()).ok().map(|length| (bytes, length));
    }

    /// As [`resume_at`](Self::resume_at), for a stream whose place is a number.
    pub fn resume_at_index(&mut self, index: u64) {
        self.resume_at(&index.to_le_bytes());
    }

    pub(crate) fn close(self) -> Result<(), Status> {
        if let Some(bytes) = self.too_large {
            let room = self.reply.capacity().saturating_sub(FOOTER_BYTES + size_of::<u32>());
            return Err(Status::resource_exhausted(format!(
                "a reply of the stream has {bytes} bytes, and there is room for {room}: set reply_bytes_max"
            )));
        }
        let (cursor, length) =
            self.next.as_ref().map_or((&[][..], 0), |(bytes, length)| (&bytes[..(*length).into()], *length));
        self.reply.write(cursor);
        self.reply.write(&[length, u8::from(length > 0)]);
        self.reply.write(&status::OK);
        Ok(())
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Opened<'a> {
    /// The replies, each behind its length.
    pub(crate) replies: &'a [u8],
    pub(crate) next: Option<&'a [u8]>,
}

pub(crate) fn open(window: &[u8]) -> Option<Opened<'_>> {
    let (rest, [length, more]) = window.split_last_chunk()?;
    let (replies, cursor) = rest.split_at_checked(rest.len().checked_sub((*length).into())?)?;
    let is_whole = *more == u8::from(*length > 0) && cursor.len() <= CURSOR_BYTES_MAX;
    is_whole.then_some(Opened { replies, next: (!cursor.is_empty()).then_some(cursor) })
}

/// The first of a window's replies, and the rest; `None` if it is invalid.
pub(crate) fn split_first(replies: &[u8]) -> Option<(&[u8], &[u8])> {
    let (length, rest) = replies.split_first_chunk()?;
    rest.split_at_checked(u32::from_le_bytes(*length).try_into().ok()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    impl Message for String {
        type As = crate::Proto;
    }

    impl crate::fields::Fields for String {}

    /// A window with what `fill` puts into `capacity` bytes.
    fn window(cursor: &[u8], capacity: u32, fill: impl FnOnce(&mut Window<'_, '_, String>)) -> Result<Vec<u8>, Status> {
        let mut closed = Ok(());
        let mut bytes = nebula::hooks::replied(capacity, |reply| {
            let mut window = Window::new(cursor, reply);
            fill(&mut window);
            closed = window.close();
        });
        closed?;
        bytes.truncate(bytes.len() - status::END_BYTES);
        Ok(bytes)
    }

    #[test]
    fn a_window_has_what_fits_and_says_where_the_next_begins() {
        let bytes = window(&[], 70, |window| {
            assert_eq!((window.index(), window.cursor()), (0, &[][..]));
            let pushed = (0..9).take_while(|_| window.push(&"abc".into())).count();
            assert_eq!(pushed, 3, "of nine bytes each beside a footer of 38");
            window.resume_at_index(3);
        });
        let bytes = bytes.unwrap();
        let Opened { mut replies, next } = open(&bytes).unwrap();
        assert_eq!(next, Some(&3_u64.to_le_bytes()[..]));
        for _ in 0..3 {
            let (first, rest) = split_first(replies).unwrap();
            assert_eq!(first, b"\x0a\x03abc");
            replies = rest;
        }
        assert!(replies.is_empty());
        window(next.unwrap(), 70, |window| assert_eq!(window.index(), 3)).unwrap();
    }

    #[test]
    fn the_last_window_says_so_and_one_that_nothing_fits_is_an_error() {
        assert_eq!(open(&window(&[], 70, |_| {}).unwrap()), Some(Opened { replies: &[], next: None }));
        let error = window(&[], 70, |window| assert!(!window.push(&"a".repeat(40)))).unwrap_err();
        assert_eq!(
            error.message(),
            "a reply of the stream has 42 bytes, and there is room for 28: set reply_bytes_max"
        );
    }

    #[test]
    fn bytes_that_are_no_window_are_none() {
        for bytes in [&[][..], &[0], &[0, 1], &[1, 1], &[b'x', 1, 0], &[33, 1]] {
            assert_eq!(open(bytes), None, "{bytes:?}");
        }
        assert_eq!(open(&[&[7; 33][..], &[33, 1]].concat()), None, "no cursor is that long");
        for bytes in [&[][..], &[1, 0, 0], &[1, 0, 0, 0], &[0xFF; 5]] {
            assert_eq!(split_first(bytes), None, "{bytes:?}");
        }
    }
}
