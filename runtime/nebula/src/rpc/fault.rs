//! Why an RPC that has begun gets no reply.

/// Why an RPC that has begun gets no reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Fault {
    /// The reply is larger than the room that the client provisioned for it. The handler has run.
    #[error("the reply is larger than the room that the client provisioned: connect with a larger reply_bytes_max")]
    ReplyTooLarge,
    /// The handler panicked. The server goes on.
    #[error("the handler panicked: the server's standard error says where")]
    HandlerPanicked,
    /// The worker dropped the RPC without a reply.
    #[error("the server dropped the RPC without a reply")]
    Unanswered,
}

impl Fault {
    pub(crate) const fn code(self) -> u32 {
        match self {
            Fault::ReplyTooLarge => 1,
            Fault::HandlerPanicked => 2,
            Fault::Unanswered => 3,
        }
    }

    pub(crate) const fn from_code(code: u32) -> Self {
        match code {
            1 => Fault::ReplyTooLarge,
            2 => Fault::HandlerPanicked,
            _ => Fault::Unanswered,
        }
    }
}
