//! Items for `nebula-typed` only, as are the hidden methods of clients and replies. They may change
//! in any version.

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
