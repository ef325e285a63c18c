//! Where a handler writes its reply.

use super::message::{Encoding, Message};
use super::status::{self, Status};
use crate::rpc::reply::Reply;
use std::marker::PhantomData;

/// The place of a reply of the type `T`. It is written once.
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

    /// Makes `message` the reply: with one copy for a message of fixed size, straight into the client's ring over shared memory.
    ///
    /// # Errors
    ///
    /// None; so that a handler can end with it. A reply that its client has no room for is
    /// [`Fault::ReplyTooLarge`](crate::Fault::ReplyTooLarge) there.
    #[inline(always)]
    pub fn write(self, message: &T) -> Result<(), Status> {
        T::As::write(message, |bytes| self.reply.write_and(bytes, status::OK));
        Ok(())
    }
}
