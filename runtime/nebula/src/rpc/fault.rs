//! Why an RPC that has begun gets no reply.

use super::numbered::numbered;

numbered! {
    /// Why an RPC that has begun gets no reply.
    #[derive(thiserror::Error)]
    #[non_exhaustive]
    pub enum Fault: u32 {
        /// The reply is larger than the room that the client provisioned for it. The handler has
        /// run.
        #[error("the reply is larger than the room that the client provisioned: connect with a larger reply_bytes_max")]
        ReplyTooLarge = 1,
        /// The handler panicked. The server goes on.
        #[error("the handler panicked: the server's standard error says where")]
        HandlerPanicked = 2,
        /// The worker dropped the RPC without a reply.
        #[error("the server dropped the RPC without a reply")]
        Unanswered = 3,
    }
}

impl Fault {
    pub(crate) const fn code(self) -> u32 {
        self as u32
    }

    pub(crate) fn from_code(code: u32) -> Self {
        Self::from_number(code).unwrap_or(Self::Unanswered)
    }
}
