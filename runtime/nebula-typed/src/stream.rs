//! A stream, as a client reads it: window by window.

use super::channel::Channel;
use super::error::CallError;
use super::message::{Encoding, Message};
use super::method::MethodId;
use super::tasks::AsyncChannel;
use super::window::{self, Opened};
use std::marker::PhantomData;

/// The most windows without a reply in a row, before a client gives up.
const EMPTY_MAX: u32 = 64;

/// A client's place in a stream, with at most one window.
#[derive(Debug)]
struct Progress<P> {
    id: MethodId,
    body: Vec<u8>,
    key_hash: u32,
    /// The replies of the window, read up to `at`.
    window: Vec<u8>,
    at: usize,
    /// Where the next window begins; `None` behind the last one.
    next: Option<Vec<u8>>,
    empty: u32,
    of: PhantomData<fn() -> P>,
}

impl<P: Message> Progress<P> {
    fn new<Q: Message>(id: MethodId, request: &Q) -> Self {
        let (body, key_hash) = (Q::As::write(request, <[u8]>::to_vec), request.key_hash());
        Self { id, body, key_hash, window: Vec::new(), at: 0, next: Some(Vec::new()), empty: 0, of: PhantomData }
    }

    /// Where the window begins that must be fetched for the next reply, if one is left.
    fn needs(&mut self) -> Option<Vec<u8>> {
        if self.at == self.window.len() { self.next.take() } else { None }
    }

    fn take_window(&mut self, window: &[u8]) -> Result<(), CallError> {
        let Opened { replies, next } = window::open(window).ok_or(CallError::Malformed)?;
        self.empty = if replies.is_empty() { self.empty + 1 } else { 0 };
        if self.empty > EMPTY_MAX {
            return Err(CallError::Malformed);
        }
        self.window.clear();
        self.window.extend_from_slice(replies);
        (self.at, self.next) = (0, next.map(<[u8]>::to_vec));
        Ok(())
    }

    fn read(&mut self) -> Result<Option<P>, CallError> {
        if self.at == self.window.len() {
            return Ok(None);
        }
        let (reply, rest) = window::split_first(&self.window[self.at..]).ok_or(CallError::Malformed)?;
        let reply = P::As::decode(reply).ok_or(CallError::Malformed)?;
        self.at = self.window.len() - rest.len();
        Ok(Some(reply))
    }

    /// An iterator's item; after an error there is no other.
    fn item(&mut self, read: Result<Option<P>, CallError>) -> Option<Result<P, CallError>> {
        if read.is_err() {
            (self.next, self.at) = (None, self.window.len());
        }
        read.transpose()
    }
}

/// The replies of a method that returns a stream. Each window is fetched when the previous one was
/// read, so at most one is held. The stream ends after an error.
#[derive(Debug)]
pub struct Stream<'c, P> {
    channel: &'c mut Channel,
    progress: Progress<P>,
}

impl<'c, P: Message> Stream<'c, P> {
    /// The replies of the method `id` to `request`. Generated clients call it.
    pub fn new<Q: Message>(channel: &'c mut Channel, id: MethodId, request: &Q) -> Self {
        Self { channel, progress: Progress::new(id, request) }
    }

    fn read(&mut self) -> Result<Option<P>, CallError> {
        let Self { channel, progress } = self;
        while let Some(cursor) = progress.needs() {
            let window = channel.call_window(progress.id, &progress.body, &cursor, progress.key_hash)?;
            progress.take_window(window)?;
        }
        progress.read()
    }
}

impl<P: Message> Iterator for Stream<'_, P> {
    type Item = Result<P, CallError>;

    fn next(&mut self) -> Option<Self::Item> {
        let read = self.read();
        self.progress.item(read)
    }
}

/// As [`Stream`], for tasks: a loop over [`next`](Self::next).
#[derive(Debug)]
pub struct AsyncStream<'c, P> {
    channel: &'c AsyncChannel,
    progress: Progress<P>,
}

impl<'c, P: Message> AsyncStream<'c, P> {
    /// The replies of the method `id` to `request`. Generated clients call it.
    pub fn new<Q: Message>(channel: &'c AsyncChannel, id: MethodId, request: &Q) -> Self {
        Self { channel, progress: Progress::new(id, request) }
    }

    /// The next reply; `None` at the end, and after an error. Dropping a future that fetches a
    /// window ends the stream.
    pub async fn next(&mut self) -> Option<Result<P, CallError>> {
        let read = self.read().await;
        self.progress.item(read)
    }

    async fn read(&mut self) -> Result<Option<P>, CallError> {
        let Self { channel, progress } = self;
        while let Some(cursor) = progress.needs() {
            let window = channel.call_window(progress.id, &progress.body, &cursor, progress.key_hash).await?;
            progress.take_window(&window)?;
        }
        progress.read()
    }
}
