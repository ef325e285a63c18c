//! A stream, as a client reads it: window by window.

use super::channel::Channel;
use super::error::CallError;
use super::message::{Encoding, Message};
use super::method::MethodId;
use super::window::{self, Opened};
use std::marker::PhantomData;

/// Windows without a reply in a row, beyond which a server is not believed that it gets on.
const EMPTY_MAX: u32 = 64;

/// The replies of a method that returns a stream. Each window is fetched when the one before has been read, so that at most one is held.
///
/// After an error it ends.
#[derive(Debug)]
pub struct Stream<'c, P> {
    channel: &'c mut Channel,
    id: MethodId,
    body: Vec<u8>,
    key_hash: u32,
    /// Replies of the window that were not read yet, from `at` on.
    window: Vec<u8>,
    at: usize,
    /// Where the next window begins; `None` behind the last one.
    next: Option<Vec<u8>>,
    of: PhantomData<fn() -> P>,
}

impl<'c, P: Message> Stream<'c, P> {
    /// The replies of the method `id` to `request`. Generated clients call it.
    pub fn new<Q: Message>(channel: &'c mut Channel, id: MethodId, request: &Q) -> Self {
        let (body, key_hash) = (Q::As::write(request, <[u8]>::to_vec), request.key_hash());
        let next = Some(Vec::new());
        Self { channel, id, body, key_hash, window: Vec::new(), at: 0, next, of: PhantomData }
    }

    /// Fetches windows until one has a reply, or the stream has ended.
    fn fetch(&mut self) -> Result<(), CallError> {
        for _ in 0..EMPTY_MAX {
            let Some(cursor) = self.next.take() else { return Ok(()) };
            let reply = self.channel.call_window(self.id, &self.body, &cursor, self.key_hash)?;
            let Opened { replies, next } = window::open(reply).ok_or(CallError::Malformed)?;
            self.window.clear();
            self.window.extend_from_slice(replies);
            self.at = 0;
            self.next = next.map(<[u8]>::to_vec);
            if !self.window.is_empty() {
                return Ok(());
            }
        }
        Err(CallError::Malformed)
    }

    fn read(&mut self) -> Result<Option<P>, CallError> {
        if self.at == self.window.len() {
            self.fetch()?;
        }
        if self.at == self.window.len() {
            return Ok(None);
        }
        let (reply, rest) = window::split_first(&self.window[self.at..]).ok_or(CallError::Malformed)?;
        let reply = P::As::decode(reply).ok_or(CallError::Malformed)?;
        self.at = self.window.len() - rest.len();
        Ok(Some(reply))
    }
}

impl<P: Message> Iterator for Stream<'_, P> {
    type Item = Result<P, CallError>;

    fn next(&mut self) -> Option<Self::Item> {
        let read = self.read();
        if read.is_err() {
            (self.next, self.at) = (None, self.window.len());
        }
        read.transpose()
    }
}
