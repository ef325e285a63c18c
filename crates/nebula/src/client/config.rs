//! What a client can be told.

use crate::transport::shm::slot::Geometry;
use nebula_nic::{Mtu, NodeId, RequesterConfig, RetryPolicy, Span};
use std::time::Duration;

/// Everything that a client can be told.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ClientConfig {
    /// Slots of the ring, a power of two: the RPCs that can be outstanding, while each fits one slot.
    pub slots: u32,
    /// Room for the longest reply, in bytes; one slot's payload when `None`. The client provisions it for every RPC.
    pub reply_bytes_max: Option<u32>,
    /// What follows a NACK.
    pub retry: RetryPolicy,
    /// How long an RPC may take, all tries together; [`Span::MAX`] for as long as the server lives. Costs a clock read an RPC.
    pub deadline: Span,
    /// How long [`Client::call`](crate::Client::call) waits for a server that lives and does not answer.
    pub call_timeout: Duration,
}

impl Default for ClientConfig {
    fn default() -> Self {
        Self {
            slots: 256,
            reply_bytes_max: None,
            retry: RetryPolicy::GiveUp,
            deadline: Span::MAX,
            call_timeout: Duration::from_secs(5),
        }
    }
}

impl ClientConfig {
    /// Sets the slots of the ring.
    #[must_use]
    pub fn slots(mut self, slots: u32) -> Self {
        self.slots = slots;
        self
    }

    /// Sets the room for the longest reply.
    #[must_use]
    pub fn reply_bytes_max(mut self, bytes: u32) -> Self {
        self.reply_bytes_max = Some(bytes);
        self
    }

    /// Sets what follows a NACK. Anything but giving up keeps a copy of each request until it is answered.
    #[must_use]
    pub fn retry(mut self, retry: RetryPolicy) -> Self {
        self.retry = retry;
        self
    }

    /// Sets how long an RPC may take.
    #[must_use]
    pub fn deadline(mut self, deadline: Span) -> Self {
        self.deadline = deadline;
        self
    }

    /// Sets how long a call waits.
    #[must_use]
    pub fn call_timeout(mut self, timeout: Duration) -> Self {
        self.call_timeout = timeout;
        self
    }

    pub(crate) fn keeps_requests(&self) -> bool {
        self.retry != RetryPolicy::GiveUp
    }

    /// Servers among which the retry policy chooses.
    pub(crate) fn servers(&self) -> u16 {
        match self.retry {
            RetryPolicy::AnotherServer { servers, .. } => servers,
            RetryPolicy::GiveUp | RetryPolicy::BackOff { .. } => 1,
        }
    }

    pub(crate) fn is_timed(&self) -> bool {
        self.deadline != Span::MAX || self.keeps_requests()
    }

    pub(crate) fn requester(&self, snid: NodeId, geometry: Geometry, reply_bytes_max: u32) -> RequesterConfig {
        RequesterConfig::new(snid, geometry.slots)
            .mtu(Mtu::try_new(geometry.mtu_bytes).unwrap_or(Mtu::MIN))
            .reply_bytes_max(reply_bytes_max)
            .deadline(self.deadline)
            .retry(self.retry)
    }
}
