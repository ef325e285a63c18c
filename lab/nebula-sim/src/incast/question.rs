//! Senders that send to one receiver at once.

use nebula_nic::{GrantsConfig, Span};
use nebula_requester::FlowKind;

/// Senders, what they send, the network between, and the receiver.
///
/// # Examples
///
/// ```
/// use nebula_requester::FlowKind;
/// use nebula_sim::{Effort, incast::Incast};
///
/// let incast = Incast { flow: FlowKind::Homa, ..Incast::default() };
/// let found = incast.estimate(&Effort::default().rpcs(2_000).replications(5), &|| ())?;
/// assert!(found.goodput_gbps.hi < incast.link_gbps);
/// # Ok::<(), nebula_sim::SimError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Incast {
    /// Senders, each on a separate link.
    pub senders: u16,
    /// The flow control, which says how much each may send.
    pub flow: FlowKind,
    /// Payload of a short message.
    pub short_bytes: u32,
    /// Payload of a long one.
    pub long_bytes: u32,
    /// The share of messages that are short.
    pub short_share: f64,
    /// Rate of each link, the receiver's too.
    pub link_gbps: f64,
    /// Round trip on an idle network, without the time that packets take on the links.
    pub latency: Span,
    /// Bytes that wait at the switch's port to the receiver, beyond which packets are dropped.
    pub switch_bytes: u32,
    /// The receive buffer.
    pub buffer_bytes: u32,
    /// Cores of the receiver, under `single-queue`.
    pub cores: u16,
    /// Core time of a complete message.
    pub service: Span,
    /// A refused message is tried again after a random time of up to twice this.
    pub retry: Span,
    /// How the receiver grants packets, under [`FlowKind::Homa`].
    pub grants: GrantsConfig,
}

impl Default for Incast {
    /// 64 senders, whose messages have 512 B and, one in ten, 64 KiB.
    fn default() -> Self {
        Self {
            senders: 64,
            flow: FlowKind::Window,
            short_bytes: 512,
            long_bytes: 64 << 10,
            short_share: 0.9,
            link_gbps: 25.0,
            latency: Span::from_us(2),
            switch_bytes: 128 << 10,
            buffer_bytes: 2 << 20,
            cores: 8,
            service: Span::from_us(1),
            retry: Span::from_us(100),
            grants: GrantsConfig::default(),
        }
    }
}
