//! The place for a handler's reply.

use super::message::{Encoding, Message};
use super::status::{self, Status};
use nebula::LaterReply;
use nebula::Reply;
use std::marker::PhantomData;

/// The place for a reply of the type `T`, which is written once.
#[derive(Debug)]
pub struct Slot<'a, 'r, T> {
    reply: &'a mut Reply<'r>,
    of: PhantomData<fn(&T)>,
}

impl<'a, 'r, T: Message> Slot<'a, 'r, T> {
    /// The place in `reply`. Generated code and tests call it.
    #[inline(always)]
    pub fn new(reply: &'a mut Reply<'r>) -> Self {
        Self { reply, of: PhantomData }
    }

    /// Makes `message` the reply: a message of fixed size with one copy, straight into the client's
    /// ring over shared memory.
    ///
    /// # Errors
    ///
    /// None: the result lets a handler end with it. A reply beyond its client's room becomes
    /// [`Fault::ReplyTooLarge`](nebula::Fault::ReplyTooLarge) there.
    #[inline(always)]
    pub fn write(self, message: &T) -> Result<(), Status> {
        match T::As::in_place(message) {
            Some(bytes) => self.reply.write_and(bytes, status::OK),
            None if self.reply.write_whole(|room| T::As::put(message, status::OK, room)) => {}
            None => T::As::write(message, |bytes| self.reply.write_and(bytes, status::OK)),
        }
        Ok(())
    }

    /// Refuses the RPC: its client gets a NACK, as if the queue had been full, and may try another
    /// server. The handler must not have executed any of it.
    ///
    /// # Errors
    ///
    /// None, as [`write`](Self::write).
    #[cold]
    pub fn refuse(self) -> Result<(), Status> {
        self.reply.refuse();
        Ok(())
    }

    /// Takes the place out of the handler, which then returns `Ok(())`. The reply is given later,
    /// from any thread or task.
    ///
    /// # Errors
    ///
    /// [`Code::Internal`](super::Code::Internal): the server is not configured for it
    /// ([`later_max`](nebula::ServerConfig::later_max)).
    pub fn later(self) -> Result<LaterSlot<T>, Status> {
        let reply = self.reply.later().map_err(|error| Status::internal(error.to_string()))?;
        Ok(LaterSlot { reply, of: PhantomData })
    }
}

/// The place for a reply that is given after the handler has returned. Dropping it ends the RPC
/// with [`Fault::Unanswered`](nebula::Fault::Unanswered).
#[derive(Debug)]
#[must_use = "dropping it ends the RPC without a reply"]
pub struct LaterSlot<T> {
    reply: LaterReply,
    of: PhantomData<fn(&T)>,
}

impl<T: Message> LaterSlot<T> {
    /// Makes `message` the reply.
    pub fn write(mut self, message: &T) {
        T::As::write(message, |bytes| self.reply.write(bytes));
        self.reply.answer(&status::OK);
    }

    /// Ends the RPC with `status`.
    pub fn fail(self, status: &Status) {
        let bytes = status.to_bytes(self.reply.capacity());
        self.reply.answer(&bytes);
    }

    /// Refuses the RPC, as [`Slot::refuse`].
    pub fn refuse(self) {
        self.reply.refuse();
    }

    /// Replies with the message of `result`, or ends the RPC with its status.
    pub fn end(self, result: Result<T, Status>) {
        match result {
            Ok(message) => self.write(&message),
            Err(status) => self.fail(&status),
        }
    }
}
