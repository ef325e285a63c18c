//! Incast: many senders and one receive buffer, under each flow control.
//!
//! ```text
//! 64 senders ─▶ links ─▶ switch port: one queue of so many bytes ─▶ link ─▶ receive buffer ─▶ cores
//!      ◀──────────────── acknowledgments, NACKs, grants, replies: a latency, and no queue ──────┘
//! ```
//!
//! Each sender has one message outstanding, short or long by a draw. What may be sent is decided by
//! the machines of `nebula-nic` that the runtime's client uses
//! ([`Retransmit`](nebula_requester::Retransmit) with its [`Flow`](nebula_requester::Flow),
//! [`Upload`](nebula_requester::Upload)), and what is taken in by those of its server
//! ([`Backend`](nebula_nic::Backend), [`Grants`](nebula_nic::Grants)). `docs/MODEL.md` has what is
//! assumed of the network.
//!
//! | file | what it holds |
//! |---|---|
//! | `sender` | one message after the other, packet by packet |
//! | `receiver` | the receive buffer, its cores, and what it answers |
//! | `world` | links, the switch, and the order of events |

mod receiver;
mod sender;
mod world;

use crate::error::SimError;
use crate::executor::{replications, try_each};
use crate::experiment::Effort;
use crate::interval::Interval;
use nebula_nic::{GrantsConfig, Mtu, SLOT_BYTES, Span};
use nebula_requester::FlowKind;
use world::{Tally, World};

/// Payload of a packet: that of the runtime over UDP.
pub const PACKET_BYTES: u32 = 1088;
/// Bytes on the link of a packet without its payload: frame and message of the UDP transport, UDP,
/// IPv4, and Ethernet with preamble and gap.
pub const OVERHEAD_BYTES: u32 = 32 + 32 + 8 + 20 + 38;
/// The most senders.
pub const SENDERS_MAX: u16 = 4096;
/// The longest message, in bytes.
pub const MESSAGE_BYTES_MAX: u32 = 1 << 20;
/// By how much the two halves of what was measured may differ in goodput.
const SETTLED: f64 = 0.05;

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
    /// Senders, each on a link by itself.
    pub senders: u16,
    /// What says how much each may send.
    pub flow: FlowKind,
    /// Payload of a short message.
    pub short_bytes: u32,
    /// Payload of a long one.
    pub long_bytes: u32,
    /// The share of messages that are short.
    pub short_share: f64,
    /// Rate of each link, the receiver's too.
    pub link_gbps: f64,
    /// Time from a sender to the receiver on an idle network, and back, but for the time that
    /// sending takes on the links.
    pub latency: Span,
    /// Bytes that wait at the switch's port to the receiver, beyond which packets are dropped.
    pub switch_bytes: u32,
    /// The receive buffer.
    pub buffer_bytes: u32,
    /// Cores of the receiver, under `single-queue`.
    pub cores: u16,
    /// What a message takes of a core once it is whole.
    pub service: Span,
    /// A message that was refused is tried again after a time between nothing and twice this.
    pub retry: Span,
    /// Whom the receiver grants what, under [`FlowKind::Homa`].
    pub grants: GrantsConfig,
}

impl Default for Incast {
    /// 64 senders of 512 B and, one in ten, 64 KiB, on links of 25 Gb/s; 128 KiB in the switch and
    /// 2 MiB in the receive buffer.
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

/// What was found. Intervals are over replications.
#[derive(Clone, Copy, Debug)]
pub struct IncastEstimate {
    /// Payload of messages that were answered, in bits by time.
    pub goodput_gbps: Interval,
    /// p99 of short messages that were answered, from their beginning to the answer, refused tries
    /// included, in picoseconds.
    pub short_p99_ps: Interval,
    /// The same of long ones.
    pub long_p99_ps: Interval,
    /// The share of tries that were NACKed.
    pub nacked: Interval,
    /// The share of packets that the switch dropped; `None` where nobody counts them.
    pub dropped: Option<Interval>,
    /// The share of messages that ended without an answer.
    pub lost: Interval,
    /// Whether the first and the second half of what was measured are alike: else more is to be
    /// simulated.
    pub is_settled: bool,
}

impl Incast {
    /// Checks that it can be simulated.
    ///
    /// # Errors
    ///
    /// [`SimError::Incast`] that says what is wrong.
    pub fn validate(&self) -> Result<(), SimError> {
        let wrong = |reason: String| Err(SimError::Incast { reason });
        let is_length = |bytes: u32| (1..=MESSAGE_BYTES_MAX).contains(&bytes);
        if !(1..=SENDERS_MAX).contains(&self.senders) {
            return wrong(format!("{} senders: give 1 to {SENDERS_MAX}", self.senders));
        }
        if !is_length(self.short_bytes) || !is_length(self.long_bytes) || self.short_bytes > self.long_bytes {
            return wrong(format!(
                "messages of {} and {} bytes: give 1 to {MESSAGE_BYTES_MAX}, the shorter first",
                self.short_bytes, self.long_bytes
            ));
        }
        if !(0.0..=1.0).contains(&self.short_share) {
            return wrong(format!("a share of {} short messages: give 0 to 1", self.short_share));
        }
        if !(0.1..=1600.0).contains(&self.link_gbps) {
            return wrong(format!("links of {} Gb/s: give 0.1 to 1600", self.link_gbps));
        }
        if self.switch_bytes < PACKET_BYTES + OVERHEAD_BYTES {
            return wrong(format!("{} bytes in the switch hold no packet", self.switch_bytes));
        }
        if self.buffer_bytes / SLOT_BYTES < self.long_bytes.div_ceil(SLOT_BYTES) {
            return wrong(format!("a receive buffer of {} bytes holds no long message", self.buffer_bytes));
        }
        let late = Span::from_secs(1);
        if self.latency > late || self.service > late || self.retry > late || self.cores == 0 {
            return wrong("give at least one core, and times of at most a second".to_owned());
        }
        Ok(())
    }

    /// What a packet of so many bytes takes on a link.
    #[must_use]
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "positive and short")]
    pub fn on_link(&self, payload_bytes: u32) -> Span {
        Span::from_ps((f64::from(payload_bytes + OVERHEAD_BYTES) * 8e3 / self.link_gbps).round() as u64)
    }

    /// The goodput beyond which no flow control gets: the link's rate, less what headers take of it
    /// at these lengths.
    #[must_use]
    pub fn goodput_gbps_max(&self) -> f64 {
        let packets = |bytes: u32| f64::from(mtu().packets(bytes));
        let mean = |of: &dyn Fn(u32) -> f64| {
            self.short_share * of(self.short_bytes) + (1.0 - self.short_share) * of(self.long_bytes)
        };
        let payload = mean(&|bytes| f64::from(bytes));
        self.link_gbps * payload / (payload + mean(&packets) * f64::from(OVERHEAD_BYTES))
    }

    /// Runs replications of so many messages of all senders together, from when a tenth of them has
    /// ended on.
    ///
    /// # Errors
    ///
    /// [`SimError`] if this cannot be simulated.
    pub fn estimate(&self, effort: &Effort, progress: &(dyn Fn() + Sync)) -> Result<IncastEstimate, SimError> {
        effort.validate()?;
        self.validate()?;
        let warmup = effort.warmup.unwrap_or(effort.rpcs / 10);
        let runs = try_each(&replications(0..effort.replications), |&index| {
            let tally = World::try_new(self, effort.seed.replica(u64::from(index)))?.run(warmup, effort.rpcs);
            progress();
            tally
        })?;
        let over = |figure: &dyn Fn(&Tally) -> f64| Interval::of_positive(&runs.iter().map(figure).collect::<Vec<_>>());
        let share = |part: u64, of: u64| part as f64 / of.max(1) as f64;
        let [first, second] = [0, 1].map(|half| over(&move |tally: &Tally| tally.half_gbps(half)).value);
        Ok(IncastEstimate {
            goodput_gbps: over(&Tally::goodput_gbps),
            short_p99_ps: over(&|tally| tally.short.quantile(0.99)),
            long_p99_ps: over(&|tally| tally.long.quantile(0.99)),
            nacked: over(&|tally| share(tally.nacked, tally.nacked + tally.answered + tally.lost)),
            dropped: Some(over(&|tally| share(tally.dropped, tally.sent))),
            lost: over(&|tally| share(tally.lost, tally.answered + tally.lost)),
            is_settled: (first - second).abs() <= SETTLED * first.max(second),
        })
    }
}

/// Payload of a packet.
const fn mtu() -> Mtu {
    match Mtu::try_new(PACKET_BYTES) {
        Ok(mtu) => mtu,
        Err(_) => Mtu::MIN,
    }
}
