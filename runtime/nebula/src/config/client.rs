//! The configuration of a client, and the options of one RPC.

use crate::config::key::{Key, Keys};
use crate::rpc::slot::{Geometry, SLOTS_MAX};
use derive_setters::Setters;
use nebula_nic::{Mtu, NodeId, Span};
use nebula_requester::{Balance, FlowKind, HedgeConfig, RequesterConfig, RetryPolicy};
use std::sync::Arc;

/// The configuration of a client.
///
/// Each field has a setter of the same name, which takes the value of an optional field. Times are
/// [`Span`]s; the setters take [`std::time::Duration`] too.
#[derive(Clone, Debug, Setters)]
#[setters(strip_option)]
#[non_exhaustive]
pub struct ClientConfig {
    /// RPCs that can be outstanding, a power of two from 2 to 65,536. Over shared memory these are
    /// the slots of the ring, and an RPC of several packets takes several. Default: 256, and more
    /// up to [`slots_max`](Self::slots_max). The setter sets both.
    #[setters(skip)]
    pub slots: u32,
    /// Over shared memory, to one server: the most slots that the server may grant instead, so that
    /// twice the RPCs that its SLO lets wait have room. Then the server sees and refuses what is
    /// beyond, and nothing waits at this client. It grants no more than fit 8 MiB. Default: 65,536;
    /// no more than `slots` means exactly those.
    pub slots_max: u32,
    /// Room for the longest reply, in bytes. Over shared memory the client provisions it in the
    /// ring for every RPC; `None`, the default, is the payload of as many slots as the server
    /// announces ([`ServerConfig::reply_bytes_max`](crate::ServerConfig)), or, if it announces
    /// nothing, of the slots of the request: an echo of any length fits. Over UDP it is only a
    /// bound, and `None` is 1 MiB.
    pub reply_bytes_max: Option<u32>,
    /// The reaction to a NACK. Default: none, the RPC ends. With several servers each gets the RPC
    /// once first: see [`Failover`](nebula_requester::Failover::new). With one server
    /// [`RetryPolicy::AnotherServer`] has no effect. Any policy but giving up keeps a copy of each
    /// request until it is answered.
    pub retry: RetryPolicy,
    /// How long an RPC may take, all tries together. Any but the default, [`Span::MAX`] for no
    /// limit, costs a clock read for each RPC.
    #[setters(into)]
    pub deadline: Span,
    /// How long [`Client::call`](crate::Client::call) waits for an answer, and a connection over
    /// UDP for the server's first one. Default: 5 s.
    #[setters(into)]
    pub call_timeout: Span,
    /// How [`Client::call`](crate::Client::call) waits. Default: it polls.
    pub wait: Wait,
    /// UDP: keys that the server has too. Every datagram is encrypted and authenticated with the
    /// first; answers under any of them are accepted. Default: none.
    pub keys: Keys,
    /// UDP: whether to connect to another machine without a key. Then anyone on the path can read
    /// and forge RPCs. Default: `false`.
    pub insecure: bool,
    /// UDP: how often an RPC is sent without any answer before it ends; each wait is twice the one
    /// before. Default: 12.
    pub transmissions_max: u32,
    /// UDP and TCP: the bound on packets of requests and replies in flight. `window`, the default,
    /// follows answers, refusals and losses. `homa` sends the first packets of a long request, then
    /// what the server grants, the shortest requests first; it needs a server that grants
    /// ([`ConnectError::NoGrants`](crate::ConnectError)). `none` sends everything at once: for
    /// links without loss, such as TCP's; over UDP the server's buffers overflow instead, and
    /// refused or lost packets have used the network for nothing. Over shared memory the ring is
    /// the bound.
    pub flow: FlowKind,
    /// UDP: the longest datagram, in bytes. `None`, the default, is 1,232, and over the loopback
    /// network up to 16 KiB.
    pub datagram_bytes: Option<u16>,
    /// The messaging domain of the server: one that serves another refuses this client. Default: 0.
    pub domain: u8,
    /// Whether the client makes [one-sided operations](crate::Client::read), on one server. Over
    /// shared memory it then maps the regions that the server permits. Default: `false`.
    pub one_sided: bool,
    /// Several servers: how the server of an RPC is chosen. Default: power of two choices.
    pub balance: Balance,
    /// Several servers: the client's zone. Servers of [other zones](crate::Listed::zone) are far:
    /// they get RPCs only while no near one has room. Default: none, and no server is far.
    #[setters(into)]
    pub zone: Option<String>,
    /// Several servers: when a second server gets an RPC although the first may still answer; only
    /// for [idempotent](Options::idempotent) RPCs. Default: never.
    pub hedge: Option<HedgeConfig>,
    /// Several servers: a question to each from time to time. Default: none.
    pub health: Option<HealthCheck>,
}

/// A question to each server. One that is not well gets no RPCs until it is again; one where an RPC
/// was lost is asked first.
#[derive(Clone, Debug)]
pub struct HealthCheck {
    pub(crate) every: Span,
    pub(crate) request: Arc<[u8]>,
    pub(crate) is_well: fn(&[u8]) -> bool,
}

impl HealthCheck {
    /// Sends `request` to each server at this interval while its client is used; `is_well` reads
    /// the reply. A server that has not answered is not asked again.
    #[must_use]
    pub fn new(every: impl Into<Span>, request: &[u8], is_well: fn(&[u8]) -> bool) -> Self {
        Self { every: every.into(), request: request.into(), is_well }
    }
}

/// How a call waits for its reply.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Wait {
    /// It polls all the time: the shortest wait, for a whole core.
    #[default]
    Spin,
    /// It polls for some 20 µs, then sleeps until an answer arrives. Over shared memory the server
    /// wakes it, which costs the server a system call.
    Block,
}

/// Options of one RPC.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Setters)]
#[setters(strip_option)]
#[non_exhaustive]
pub struct Options {
    /// Hash of the request's key, for the policy `key-hash`. Default: 0.
    pub key_hash: u32,
    /// How long this RPC may take, all tries together; at most [`ClientConfig::deadline`]. Over UDP
    /// the server learns it, and does not begin an RPC whose deadline is over. Default: none.
    #[setters(into)]
    pub deadline: Option<Span>,
    /// Whether executing the RPC twice does no harm. With several servers another one then gets it
    /// if its execution is unknown, or as a [hedge](ClientConfig::hedge). If it has a deadline too,
    /// one more server gets it after each quarter of that without an answer, and while all are
    /// silent or gone it is tried again until then. Default: false.
    pub idempotent: bool,
}

impl Default for ClientConfig {
    fn default() -> Self {
        Self {
            slots: 256,
            slots_max: SLOTS_MAX,
            reply_bytes_max: None,
            retry: RetryPolicy::GiveUp,
            deadline: Span::MAX,
            call_timeout: Span::from_secs(5),
            wait: Wait::Spin,
            keys: Keys::default(),
            insecure: false,
            transmissions_max: 12,
            flow: FlowKind::Window,
            datagram_bytes: None,
            domain: 0,
            one_sided: false,
            balance: Balance::default(),
            zone: None,
            hedge: None,
            health: None,
        }
    }
}

impl ClientConfig {
    /// Sets the [slots](Self#structfield.slots) of the ring, of which the server grants no more.
    #[must_use]
    pub fn slots(self, slots: u32) -> Self {
        Self { slots, slots_max: slots, ..self }
    }

    /// The same with no more slots than `slots`, for tables of as many places.
    pub(crate) fn with_exact_slots(&self) -> Self {
        self.clone().slots(self.slots)
    }

    /// Sets one [key](Self#structfield.keys), which the server has too.
    #[must_use]
    pub fn key(self, key: Key) -> Self {
        self.keys(key.into())
    }

    /// The reaction to a NACK of a connection's only server: asking another one means giving up.
    pub(crate) fn retry_here(&self) -> RetryPolicy {
        match self.retry {
            RetryPolicy::AnotherServer { servers: 1.., attempts: 1.. } => RetryPolicy::GiveUp,
            retry => retry,
        }
    }

    pub(crate) fn keeps_requests(&self) -> bool {
        self.retry_here() != RetryPolicy::GiveUp
    }

    pub(crate) fn is_timed(&self) -> bool {
        self.deadline != Span::MAX || self.keeps_requests()
    }

    pub(crate) fn requester(&self, snid: NodeId, geometry: Geometry, reply_bytes_max: u32) -> RequesterConfig {
        RequesterConfig::new(snid, geometry.slots)
            .mtu(Mtu::try_new(geometry.mtu_bytes).unwrap_or(Mtu::MIN))
            .reply_bytes_max(reply_bytes_max)
            .deadline(self.deadline)
            .retry(self.retry_here())
    }
}
