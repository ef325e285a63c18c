//! Items for `nebula-typed` only, which may change in any version: encoding in place, both halves
//! of a poll, and the caller of a request.

use std::sync::Arc;

use nebula_nic::Span;
use nebula_sys::sync::AtomicU64;

use crate::client::{AsyncClient, Client, Completion, Ticket};
use crate::config::client::Options;
use crate::rpc::answer::Answer;
use crate::rpc::reply::Reply;

pub use crate::client::{AskOne, Glance, Greeting};
pub use crate::rpc::answer::Caller;
pub use crate::rpc::cancel::Cancel;
pub use crate::rpc::slot::Asked;

/// The bytes of a reply that `write` writes, with room for `capacity` bytes: for tests without a
/// server.
pub fn replied(capacity: u32, write: impl FnOnce(&mut Reply<'_>)) -> Vec<u8> {
    let mut answer = Answer::new(capacity);
    let mut reply = Reply::buffered(&mut answer);
    write(&mut reply);
    reply.publish();
    let mut bytes = vec![0; answer.reply_bytes() as usize];
    answer.copy_reply(&mut bytes);
    bytes
}

/// The parts of [`Client::submit`] and [`Client::poll`], and greetings of servers.
#[expect(missing_docs, reason = "each is that of the client")]
pub trait ClientHooks {
    fn submit_and(&mut self, request: &[u8], tail: [u8; 4], key_hash: u32) -> Option<Ticket>;
    fn submit_whole(&mut self, key_hash: u32, put: impl FnOnce(&[AtomicU64]) -> Option<usize>) -> Option<Ticket>;
    fn glance(&mut self) -> Glance;
    fn taken(&self, bytes: u32) -> &[u8];
    fn poll_otherwise(&mut self) -> Option<Completion<'_>>;
    fn bind_to_server(&mut self);
    fn waits_for(&self, options: &Options) -> Option<Span>;
    fn greet(&mut self, greeting: Arc<Greeting>) -> bool;
}

impl ClientHooks for Client {
    #[inline(always)]
    fn submit_and(&mut self, request: &[u8], tail: [u8; 4], key_hash: u32) -> Option<Ticket> {
        self.submit_and(request, tail, key_hash)
    }

    #[inline(always)]
    fn submit_whole(&mut self, key_hash: u32, put: impl FnOnce(&[AtomicU64]) -> Option<usize>) -> Option<Ticket> {
        self.submit_whole(key_hash, put)
    }

    #[inline(always)]
    fn glance(&mut self) -> Glance {
        self.glance()
    }

    #[inline(always)]
    fn taken(&self, bytes: u32) -> &[u8] {
        self.taken(bytes)
    }

    fn poll_otherwise(&mut self) -> Option<Completion<'_>> {
        self.poll_otherwise()
    }

    fn bind_to_server(&mut self) {
        self.bind_to_server();
    }

    fn waits_for(&self, options: &Options) -> Option<Span> {
        self.waits_for(options)
    }

    fn greet(&mut self, greeting: Arc<Greeting>) -> bool {
        self.greet(greeting)
    }
}

/// The same for the asynchronous client.
#[expect(missing_docs, reason = "each is that of the client")]
pub trait AsyncClientHooks {
    fn bind_to_server(&self);
    fn greet(&self, greeting: Arc<Greeting>) -> bool;
    fn waits_for(&self, options: &Options) -> Option<Span>;
    fn is_timed(&self) -> bool;
    fn has_several_servers(&self) -> bool;
}

impl AsyncClientHooks for AsyncClient {
    fn bind_to_server(&self) {
        self.bind_to_server();
    }

    fn greet(&self, greeting: Arc<Greeting>) -> bool {
        self.greet(greeting)
    }

    fn waits_for(&self, options: &Options) -> Option<Span> {
        self.waits_for(options)
    }

    fn is_timed(&self) -> bool {
        self.is_timed()
    }

    fn has_several_servers(&self) -> bool {
        self.has_several_servers()
    }
}

/// The place of a reply, and its caller.
#[expect(missing_docs, reason = "each is that of the reply")]
pub trait ReplyHooks<'a> {
    fn asked(&self) -> Option<Asked<'a>>;
    fn write_and(&mut self, bytes: &[u8], tail: [u8; 4]);
    fn write_whole(&mut self, put: impl FnOnce(&[AtomicU64]) -> Option<usize>) -> bool;
    fn is_untouched(&self) -> bool;
    fn has_no_caller(&self) -> bool;
    fn take_caller(&mut self) -> Option<Caller>;
    fn give_back(&mut self, caller: Caller);
}

impl<'a> ReplyHooks<'a> for Reply<'a> {
    #[inline(always)]
    fn asked(&self) -> Option<Asked<'a>> {
        self.asked()
    }

    #[inline(always)]
    fn write_and(&mut self, bytes: &[u8], tail: [u8; 4]) {
        self.write_and(bytes, tail);
    }

    #[inline(always)]
    fn write_whole(&mut self, put: impl FnOnce(&[AtomicU64]) -> Option<usize>) -> bool {
        self.write_whole(put)
    }

    #[inline(always)]
    fn is_untouched(&self) -> bool {
        self.is_untouched()
    }

    #[inline(always)]
    fn has_no_caller(&self) -> bool {
        self.has_no_caller()
    }

    #[inline(always)]
    fn take_caller(&mut self) -> Option<Caller> {
        self.take_caller()
    }

    #[cold]
    fn give_back(&mut self, caller: Caller) {
        self.give_back(caller);
    }
}
