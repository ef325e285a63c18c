//! Replies that any thread sends after the handler has returned.
//!
//! The RPC stays with its worker, and keeps its slots and the core's credit. Only the reply
//! travels: any thread writes it into a buffer and puts that into the worker's mailbox; the worker
//! publishes it and gives slots and credit back. So the worker still does all the accounting.

use super::answer::Asker;
use super::cancel::ShareRing;
use super::fault::Fault;
use nebula_nic::{NackReason, NodeId};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::Thread;

/// The reply to an RPC, to be sent from any thread, also after the handler has returned.
///
/// Until then the RPC keeps its slots of the receive buffer and its worker's credit, unless its
/// buffer was [freed](crate::Rpc::free). Dropping it ends the RPC with
/// [`Fault::Unanswered`](crate::Fault::Unanswered).
///
/// # Examples
///
/// ```
/// use nebula::{Client, Reply, Server, ServerConfig};
///
/// let name = format!("shm://doc-later-{}", std::process::id());
/// let config = ServerConfig::default().later_max(16);
/// let server = Server::bind(&name).config(config).serve(|request: &[u8], reply: &mut Reply| {
///     let request = request.to_vec();
///     let later = reply.later().expect("later_max is set");
///     std::thread::spawn(move || later.answer(&request));
/// })?;
/// assert_eq!(Client::connect(&name)?.call(b"hello")?, b"hello");
/// server.stop();
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
#[must_use = "dropping it ends the RPC without a reply"]
pub struct LaterReply {
    mailbox: Arc<Mailbox>,
    rpc: u64,
    reply: Vec<u8>,
    capacity: u32,
    asker: Option<Asker>,
    thread: Thread,
    is_sent: bool,
}

/// Why a reply cannot be given later.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LaterError {
    /// The server is not configured for later replies.
    #[error(
        "this server's handlers reply at once: set ServerConfig::later_max to how many RPCs of a worker may wait for their replies"
    )]
    NotConfigured,
    /// The reply was taken already.
    #[error("the reply to this RPC was taken for later already")]
    Taken,
}

impl LaterReply {
    /// Appends `bytes`.
    pub fn write(&mut self, bytes: &[u8]) {
        self.reply.extend_from_slice(bytes);
    }

    /// The bytes written so far.
    #[must_use]
    pub fn written(&self) -> &[u8] {
        &self.reply
    }

    /// Room for the reply, in bytes. A longer reply becomes
    /// [`Fault::ReplyTooLarge`](crate::Fault::ReplyTooLarge).
    #[must_use]
    pub fn capacity(&self) -> usize {
        self.capacity as usize
    }

    /// Whether the client has stopped waiting, as
    /// [`Reply::is_cancelled`](crate::Reply::is_cancelled), and at its cost. The reply must be sent
    /// or dropped all the same.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.asker.as_ref().is_some_and(Asker::is_cancelled)
    }

    /// Sends the written bytes, and wakes the worker. Does nothing after the server has stopped.
    ///
    /// # Cost
    ///
    /// A lock shared with the worker, for a few instructions; a system call if the worker sleeps.
    pub fn send(mut self) {
        let reply = std::mem::take(&mut self.reply);
        self.put(End::Reply(reply));
    }

    /// Sends `reply` without a copy, if nothing was written.
    pub(crate) fn send_all(mut self, reply: Vec<u8>) {
        self.put(End::Reply(reply));
    }

    pub(crate) fn rpc(&self) -> u64 {
        self.rpc
    }

    pub(crate) fn into_sent(mut self) {
        self.is_sent = true;
    }

    pub(crate) fn asker(&self) -> Option<Asker> {
        self.asker.clone()
    }

    pub(crate) fn capacity_bytes(&self) -> u32 {
        self.capacity
    }

    /// Sends the written bytes followed by `reply`.
    pub fn answer(mut self, reply: &[u8]) {
        self.write(reply);
        self.send();
    }

    /// Refuses the RPC: its client gets a NACK, as from [`Reply::refuse`](crate::Reply::refuse).
    /// The handler must not have executed any of it.
    pub fn refuse(self) {
        self.nack(NackReason::BY_SERVICE);
    }

    pub(crate) fn nack(mut self, reason: NackReason) {
        self.put(End::Nack(reason));
    }

    pub(crate) fn fail(mut self, fault: Fault) {
        self.put(End::Fault(fault));
    }

    fn put(&mut self, end: End) {
        self.is_sent = true;
        self.mailbox.put(Ended { rpc: self.rpc, end });
        self.thread.unpark();
    }
}

impl Drop for LaterReply {
    fn drop(&mut self) {
        if !self.is_sent {
            self.put(End::Fault(Fault::Unanswered));
        }
    }
}

#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) rpc: u64,
    pub(crate) end: End,
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) enum End {
    Reply(Vec<u8>),
    Fault(Fault),
    Nack(NackReason),
}

#[derive(Debug, Default)]
struct Mailbox {
    has_any: AtomicBool,
    ended: Mutex<Vec<Ended>>,
    is_closed: AtomicBool,
}

impl Mailbox {
    fn put(&self, ended: Ended) {
        if !self.is_closed.load(Ordering::Relaxed) {
            self.ended.lock().unwrap_or_else(PoisonError::into_inner).push(ended);
            self.has_any.store(true, Ordering::Release);
        }
    }
}

/// The RPC in service, whose reply can be taken for later.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MayWait<'a> {
    pub(crate) laters: &'a Laters,
    pub(crate) client: NodeId,
    /// The ring for the reply, if it goes into one.
    pub(crate) ring: Option<&'a dyn ShareRing>,
}

/// A worker's side: the reply that the RPC in service may take, and those that were sent.
#[derive(Debug, Default)]
pub(crate) struct Laters {
    mailbox: Arc<Mailbox>,
    /// The number of the RPC in service, among those that could be answered later.
    rpc: AtomicU64,
    is_taken: AtomicBool,
    /// The RPC's reply, if another thread had taken it and passed it on.
    given: Option<Mutex<Option<LaterReply>>>,
}

impl Laters {
    /// For a thread that serves only the RPC that `later` is the reply to.
    pub(crate) fn of(later: LaterReply) -> Self {
        Self { given: Some(Mutex::new(Some(later))), ..Self::default() }
    }

    pub(crate) fn is_of(&self, later: &LaterReply) -> bool {
        Arc::ptr_eq(&self.mailbox, &later.mailbox)
    }

    /// The reply passed to [`of`](Self::of), unless the handler has taken it.
    pub(crate) fn into_given(self) -> Option<LaterReply> {
        self.given?.into_inner().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn take(&self, capacity: u32, asker: impl FnOnce() -> Option<Asker>) -> Result<LaterReply, LaterError> {
        // Relaxed: only the handler and the worker that called it use the flag.
        if self.is_taken.swap(true, Ordering::Relaxed) {
            return Err(LaterError::Taken);
        }
        if let Some(given) = &self.given {
            return given.lock().unwrap_or_else(PoisonError::into_inner).take().ok_or(LaterError::Taken);
        }
        Ok(LaterReply {
            mailbox: self.mailbox.clone(),
            rpc: self.rpc.load(Ordering::Relaxed),
            reply: Vec::new(),
            capacity,
            asker: asker(),
            thread: std::thread::current(),
            is_sent: false,
        })
    }

    /// The number of the RPC in service if its reply was taken; then the next one has another.
    #[inline(always)]
    pub(crate) fn taken(&self) -> Option<u64> {
        if !self.is_taken.load(Ordering::Relaxed) {
            return None;
        }
        self.is_taken.store(false, Ordering::Relaxed);
        Some(self.rpc.fetch_add(1, Ordering::Relaxed))
    }

    #[inline(always)]
    pub(crate) fn ended(&self) -> Option<Vec<Ended>> {
        if !self.mailbox.has_any.load(Ordering::Relaxed) || !self.mailbox.has_any.swap(false, Ordering::Acquire) {
            return None;
        }
        Some(std::mem::take(&mut *self.mailbox.ended.lock().unwrap_or_else(PoisonError::into_inner)))
    }

    pub(crate) fn close(&self) {
        self.mailbox.is_closed.store(true, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reply_is_taken_once_and_comes_back_once_under_its_number() {
        let laters = Laters::default();
        assert!(laters.taken().is_none() && laters.ended().is_none());
        let (first, again) = (laters.take(8, || None).unwrap(), laters.take(8, || None));
        assert_eq!(again.unwrap_err(), LaterError::Taken);
        assert_eq!((laters.taken(), laters.taken()), (Some(0), None));
        let second = laters.take(8, || None).unwrap();
        assert_eq!(laters.taken(), Some(1));
        std::thread::spawn(move || second.answer(b"2")).join().unwrap();
        drop(first);
        let ended: Vec<_> = laters.ended().unwrap().into_iter().map(|ended| (ended.rpc, ended.end)).collect();
        assert_eq!(ended, [(1, End::Reply(b"2".to_vec())), (0, End::Fault(Fault::Unanswered))]);
        assert!(laters.ended().is_none());
        let late = laters.take(8, || None).unwrap();
        laters.close();
        late.send();
        assert!(laters.ended().is_none());
    }
}
