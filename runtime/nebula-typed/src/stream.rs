//! A stream, as a client reads it: window by window.

use super::channel::Channel;
use super::error::CallError;
use super::message::{Encoding, Message};
use super::method::MethodId;
use super::tasks::AsyncChannel;
use super::window::{self, Opened};
use std::marker::PhantomData;

/// Windows without a reply in a row, beyond which a server is not believed that it gets on.
const EMPTY_MAX: u32 = 64;

/// Where a client is in a stream, of which it holds at most one window.
#[derive(Debug)]
struct Progress<P> {
    id: MethodId,
    body: Vec<u8>,
    key_hash: u32,
    /// The replies of the window; those from `at` on were not read yet.
    window: Vec<u8>,
    at: usize,
    /// Where the next window begins; `None` behind the last one.
    next: Option<Vec<u8>>,
    /// Windows without a reply since the last one with some.
    empty: u32,
    of: PhantomData<fn() -> P>,
}

impl<P: Message> Progress<P> {
    fn new<Q: Message>(id: MethodId, request: &Q) -> Self {
        let (body, key_hash) = (Q::As::write(request, <[u8]>::to_vec), request.key_hash());
        Self { id, body, key_hash, window: Vec::new(), at: 0, next: Some(Vec::new()), empty: 0, of: PhantomData }
    }

    /// Where the window begins that has to be fetched before there is another reply, if there is
    /// one.
    fn needs(&mut self) -> Option<Vec<u8>> {
        if self.at == self.window.len() { self.next.take() } else { None }
    }

    /// A window has come.
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

    /// The next reply of the window; `None` at the stream's end.
    fn read(&mut self) -> Result<Option<P>, CallError> {
        if self.at == self.window.len() {
            return Ok(None);
        }
        let (reply, rest) = window::split_first(&self.window[self.at..]).ok_or(CallError::Malformed)?;
        let reply = P::As::decode(reply).ok_or(CallError::Malformed)?;
        self.at = self.window.len() - rest.len();
        Ok(Some(reply))
    }

    /// The item of an iterator; behind an error there is none.
    fn item(&mut self, read: Result<Option<P>, CallError>) -> Option<Result<P, CallError>> {
        if read.is_err() {
            (self.next, self.at) = (None, self.window.len());
        }
        read.transpose()
    }
}

/// The replies of a method that returns a stream. Each window is fetched when the one before has
/// been read, so that at most one is held.
///
/// After an error it ends.
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

    /// The next reply; `None` at the end, and behind an error. A future that is dropped while a
    /// window is fetched ends the stream.
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
