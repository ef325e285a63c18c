//! The configuration of a client, and the options of one RPC.

use crate::config::key::{Key, Keys};
use crate::rpc::slot::Geometry;
use nebula_nic::{Balance, FlowKind, HedgeConfig, Mtu, NodeId, RequesterConfig, RetryPolicy, Span};
use std::sync::Arc;

/// The configuration of a client.
///
/// Each field has a builder method of the same name. Times are [`Span`]s; the builders take [`std::time::Duration`] too.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ClientConfig {
    /// RPCs that can be outstanding, a power of two from 2 to 65,536. Over shared memory these are the slots of the ring, and an RPC of
    /// several packets takes several. Default: 256.
    pub slots: u32,
    /// Room for the longest reply, in bytes. Over shared memory the client provisions it in the ring for every RPC; `None`, the default,
    /// is the payload of as many slots as the server says it needs ([`ServerConfig::reply_bytes_max`](crate::ServerConfig)), or of one. Over UDP it is
    /// only a bound, and `None` is 1 MiB.
    pub reply_bytes_max: Option<u32>,
    /// What follows a NACK. Default: nothing, the RPC ends. Of several servers each gets it once before this decides: see
    /// [`Failover`](nebula_nic::Failover::new). A client of one server has no other one, and [`RetryPolicy::AnotherServer`] is nothing to it.
    pub retry: RetryPolicy,
    /// How long an RPC may take, all tries together. Any but the default, [`Span::MAX`] for no limit, costs a clock read for each RPC.
    pub deadline: Span,
    /// How long [`Client::call`](crate::Client::call) waits for an answer, and a connection over UDP for the server's first one.
    /// Default: 5 s.
    pub call_timeout: Span,
    /// How [`Client::call`](crate::Client::call) waits. Default: it polls.
    pub wait: Wait,
    /// UDP: keys that the server has too. Every datagram is encrypted and authenticated with the first; answers under any of them are taken.
    /// Default: none.
    pub keys: Keys,
    /// UDP: whether to connect to another machine without a key. Then everybody on the path can read and forge RPCs. Default: `false`.
    pub insecure: bool,
    /// UDP: how often an RPC is sent without any answer before it ends; each wait is twice the one before. Default: 12.
    pub transmissions_max: u32,
    /// UDP and TCP: what says how much of its requests and of their replies may be on the way. `window`, the default, follows what is answered,
    /// refused and lost. `homa` sends the first packets of a request of several, then what the server grants, the shortest requests first; a server that grants
    /// nothing is not connected to ([`ConnectError::NoGrants`](crate::ConnectError)). `none` sends whatever there is: for links that lose nothing, as TCP's; over UDP the server's buffers overflow instead, and
    /// what is refused or lost has cost the way there. Over shared memory the ring is the bound, whatever this says.
    pub flow: FlowKind,
    /// UDP: the longest datagram, in bytes. `None`, the default, is 1,232, and over the loopback network up to 16 KiB.
    pub datagram_bytes: Option<u16>,
    /// The messaging domain of the server: one that serves another refuses this client. Default: 0.
    pub domain: u8,
    /// Whether the client makes [one-sided operations](crate::Client::read), of one server. Over shared memory it then maps what the server lets it.
    /// Default: `false`.
    pub one_sided: bool,
    /// Several servers: how that of an RPC is chosen. Default: power of two choices.
    pub balance: Balance,
    /// Several servers: the zone that this client is of, by which those of [other zones](crate::Listed::zone) are far. They get RPCs only while
    /// none near has room. Default: none, and no server is far.
    pub zone: Option<String>,
    /// Several servers: when a second one is asked although the first may still answer; only for RPCs that are
    /// [idempotent](Options::idempotent). Default: never.
    pub hedge: Option<HedgeConfig>,
    /// Several servers: what each is asked from time to time. Default: nothing.
    pub health: Option<HealthCheck>,
}

/// What servers are asked from time to time: one that says it is not well gets no RPCs until it says otherwise, and one where an RPC was lost is asked
/// this first.
#[derive(Clone, Debug)]
pub struct HealthCheck {
    pub(crate) every: Span,
    pub(crate) request: Arc<[u8]>,
    pub(crate) is_well: fn(&[u8]) -> bool,
}

impl HealthCheck {
    /// Each server gets `request` every so often while its client is used; `is_well` reads the reply. It is asked a second time only after it has
    /// answered.
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
    /// It polls for some 20 µs, then sleeps until an answer arrives. Over shared memory it is the same as [`Spin`](Self::Spin).
    Block,
}

/// Options of one RPC.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Options {
    /// Hash of the key that the RPC is about, for the policy `key-hash`. Default: 0.
    pub key_hash: u32,
    /// How long this RPC may take, all tries together; at most [`ClientConfig::deadline`]. Over UDP the server is told, and does not begin
    /// an RPC whose deadline is over. Default: none.
    pub deadline: Option<Span>,
    /// Whether it does no harm if the RPC is executed twice. Of several servers another one then gets it where nobody knows what became of it, or as a
    /// [hedge](ClientConfig::hedge). Default: false.
    pub idempotent: bool,
}

impl Options {
    /// Sets whether it does no harm if the RPC is executed twice.
    #[must_use]
    pub fn idempotent(mut self, idempotent: bool) -> Self {
        self.idempotent = idempotent;
        self
    }

    /// Sets the hash of the key.
    #[must_use]
    pub fn key_hash(mut self, key_hash: u32) -> Self {
        self.key_hash = key_hash;
        self
    }

    /// Sets how long the RPC may take.
    #[must_use]
    pub fn deadline(mut self, deadline: impl Into<Span>) -> Self {
        self.deadline = Some(deadline.into());
        self
    }
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
    pub fn deadline(mut self, deadline: impl Into<Span>) -> Self {
        self.deadline = deadline.into();
        self
    }

    /// Sets how long a call waits.
    #[must_use]
    pub fn call_timeout(mut self, timeout: impl Into<Span>) -> Self {
        self.call_timeout = timeout.into();
        self
    }

    /// Sets how a call waits.
    #[must_use]
    pub fn wait(mut self, wait: Wait) -> Self {
        self.wait = wait;
        self
    }

    /// Sets the keys, the first of which is spoken with.
    #[must_use]
    pub fn keys(mut self, keys: Keys) -> Self {
        self.keys = keys;
        self
    }

    /// Sets the key that the server has too.
    #[must_use]
    pub fn key(self, key: Key) -> Self {
        self.keys(key.into())
    }

    /// Sets whether to go without a key even to another machine.
    #[must_use]
    pub fn insecure(mut self, insecure: bool) -> Self {
        self.insecure = insecure;
        self
    }

    /// Sets how often an RPC is sent before it is given up.
    #[must_use]
    pub fn transmissions_max(mut self, transmissions: u32) -> Self {
        self.transmissions_max = transmissions;
        self
    }

    /// Sets the flow control.
    #[must_use]
    pub fn flow(mut self, flow: FlowKind) -> Self {
        self.flow = flow;
        self
    }

    /// Sets the longest datagram.
    #[must_use]
    pub fn datagram_bytes(mut self, bytes: u16) -> Self {
        self.datagram_bytes = Some(bytes);
        self
    }

    /// Sets the messaging domain.
    #[must_use]
    pub fn domain(mut self, domain: u8) -> Self {
        self.domain = domain;
        self
    }

    /// Sets whether the client makes one-sided operations.
    #[must_use]
    pub fn one_sided(mut self, one_sided: bool) -> Self {
        self.one_sided = one_sided;
        self
    }

    /// Sets how the server of an RPC is chosen.
    #[must_use]
    pub fn balance(mut self, balance: Balance) -> Self {
        self.balance = balance;
        self
    }

    /// Sets the client's zone.
    #[must_use]
    pub fn zone(mut self, zone: impl Into<String>) -> Self {
        self.zone = Some(zone.into());
        self
    }

    /// Sets when a second server is asked.
    #[must_use]
    pub fn hedge(mut self, hedge: HedgeConfig) -> Self {
        self.hedge = Some(hedge);
        self
    }

    /// Sets what servers are asked from time to time.
    #[must_use]
    pub fn health(mut self, health: HealthCheck) -> Self {
        self.health = Some(health);
        self
    }

    /// What follows a NACK of the one server of a connection: where another is to be asked, and there is none, nothing.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rebuilt::rebuilt;

    #[test]
    fn every_field_has_a_builder_of_its_name_that_sets_it() {
        let unusual = || ClientConfig {
            slots: 7,
            reply_bytes_max: Some(701),
            retry: RetryPolicy::AnotherServer { servers: 7, attempts: 7 },
            deadline: Span::from_us(702),
            call_timeout: Span::from_us(703),
            wait: Wait::Block,
            keys: Key::new([7; 32]).into(),
            insecure: true,
            transmissions_max: 704,
            flow: FlowKind::Unbounded,
            datagram_bytes: Some(705),
            domain: 7,
            one_sided: true,
            balance: Balance::KeyHash,
            zone: Some("seven".to_owned()),
            hedge: Some(HedgeConfig::default()),
            health: Some(HealthCheck::new(Span::from_us(706), b"well?", <[u8]>::is_empty)),
        };
        let rebuilt = rebuilt!(
            ClientConfig from unusual();
            slots, retry, deadline, call_timeout, wait, keys, insecure, transmissions_max, flow, balance, domain, one_sided;
            optional reply_bytes_max, datagram_bytes, zone, hedge, health
        );
        assert_eq!(format!("{rebuilt:?}"), format!("{:?}", unusual()));
        let unusual = Options { key_hash: 7, deadline: Some(Span::from_us(7)), idempotent: true };
        assert_eq!(rebuilt!(Options from unusual; key_hash, idempotent; optional deadline), unusual);
    }
}
