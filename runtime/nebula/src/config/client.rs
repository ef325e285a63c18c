//! The configuration of a client, and the options of one RPC.

use crate::config::key::{Key, Keys};
use crate::rpc::slot::Geometry;
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
    /// the slots of the ring, and an RPC of several packets takes several. Default: 256.
    pub slots: u32,
    /// Room for the longest reply, in bytes. Over shared memory the client provisions it in the
    /// ring for every RPC; `None`, the default, is the payload of as many slots as the server says
    /// it needs ([`ServerConfig::reply_bytes_max`](crate::ServerConfig)), or of one. Over UDP it is
    /// only a bound, and `None` is 1 MiB.
    pub reply_bytes_max: Option<u32>,
    /// What follows a NACK. Default: nothing, the RPC ends. Of several servers each gets it once
    /// before this decides: see [`Failover`](nebula_requester::Failover::new). A client of one
    /// server has no other one, and [`RetryPolicy::AnotherServer`] is nothing to it. Anything but
    /// giving up keeps a copy of each request until it is answered.
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
    /// first; answers under any of them are taken. Default: none.
    pub keys: Keys,
    /// UDP: whether to connect to another machine without a key. Then everybody on the path can
    /// read and forge RPCs. Default: `false`.
    pub insecure: bool,
    /// UDP: how often an RPC is sent without any answer before it ends; each wait is twice the one
    /// before. Default: 12.
    pub transmissions_max: u32,
    /// UDP and TCP: what says how much of its requests and of their replies may be on the way.
    /// `window`, the default, follows what is answered, refused and lost. `homa` sends the first
    /// packets of a request of several, then what the server grants, the shortest requests first; a
    /// server that grants nothing is not connected to
    /// ([`ConnectError::NoGrants`](crate::ConnectError)). `none` sends whatever there is: for links
    /// that lose nothing, as TCP's; over UDP the server's buffers overflow instead, and what is
    /// refused or lost has cost the way there. Over shared memory the ring is the bound, whatever
    /// this says.
    pub flow: FlowKind,
    /// UDP: the longest datagram, in bytes. `None`, the default, is 1,232, and over the loopback
    /// network up to 16 KiB.
    pub datagram_bytes: Option<u16>,
    /// The messaging domain of the server: one that serves another refuses this client. Default: 0.
    pub domain: u8,
    /// Whether the client makes [one-sided operations](crate::Client::read), of one server. Over
    /// shared memory it then maps what the server lets it. Default: `false`.
    pub one_sided: bool,
    /// Several servers: how that of an RPC is chosen. Default: power of two choices.
    pub balance: Balance,
    /// Several servers: the zone that this client is of, by which those of [other
    /// zones](crate::Listed::zone) are far. They get RPCs only while none near has room. Default:
    /// none, and no server is far.
    #[setters(into)]
    pub zone: Option<String>,
    /// Several servers: when a second one is asked although the first may still answer; only for
    /// RPCs that are [idempotent](Options::idempotent). Default: never.
    pub hedge: Option<HedgeConfig>,
    /// Several servers: what each is asked from time to time. Default: nothing.
    pub health: Option<HealthCheck>,
}

/// What servers are asked from time to time: one that says it is not well gets no RPCs until it
/// says otherwise, and one where an RPC was lost is asked this first.
#[derive(Clone, Debug)]
pub struct HealthCheck {
    pub(crate) every: Span,
    pub(crate) request: Arc<[u8]>,
    pub(crate) is_well: fn(&[u8]) -> bool,
}

impl HealthCheck {
    /// Each server gets `request` every so often while its client is used; `is_well` reads the
    /// reply. It is asked a second time only after it has answered.
    #[must_use]
    pub fn new(every: impl Into<Span>, request: &[u8], is_well: fn(&[u8]) -> bool) -> Self {
        Self { every: every.into(), request: request.into(), is_well }
    }
}

/// How a call waits for its reply.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Wait {
    /// It polls all the time. The shortest wait, for a whole core.
    #[default]
    Spin,
    /// It polls for some 20 µs, then sleeps until an answer arrives. Over shared memory it is the
    /// same as [`Spin`](Self::Spin).
    Block,
}

/// Options of one RPC.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Setters)]
#[setters(strip_option)]
#[non_exhaustive]
pub struct Options {
    /// Hash of the key that the RPC is about, for the policy `key-hash`. Default: 0.
    pub key_hash: u32,
    /// How long this RPC may take, all tries together; at most [`ClientConfig::deadline`]. Over UDP
    /// the server is told, and does not begin an RPC whose deadline is over. Default: none.
    #[setters(into)]
    pub deadline: Option<Span>,
    /// Whether it does no harm if the RPC is executed twice. Of several servers another one then
    /// gets it where nobody knows what became of it, or as a [hedge](ClientConfig::hedge). Default:
    /// false.
    pub idempotent: bool,
}

impl Default for ClientConfig {
    fn default() -> Self {
        Self {
            slots: 256,
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
    /// Sets one [key](Self#structfield.keys), which the server has too.
    #[must_use]
    pub fn key(self, key: Key) -> Self {
        self.keys(key.into())
    }

    /// What follows a NACK of the one server of a connection: where another is to be asked, and
    /// there is none, nothing.
    pub(crate) fn retry_here(&self) -> RetryPolicy {
        match self.retry {
            RetryPolicy::AnotherServer { servers: 1.., attempts: 1.. } => RetryPolicy::GiveUp,
            // What is impossible is refused as it is taken.
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
