//! Incast: many senders and one receive buffer, under each flow control.
//!
//! ```text
//! 64 senders ─▶ links ─▶ switch port: one queue of so many bytes ─▶ link ─▶ receive buffer ─▶ cores
//!      ◀──────────────── acknowledgments, NACKs, grants, replies: a latency, and no queue ──────┘
//! ```
//!
//! Each sender has one message outstanding, short or long at random. The runtime's state machines
//! decide: the client's what is sent ([`Retransmit`](nebula_requester::Retransmit) with its
//! [`Flow`](nebula_requester::Flow), [`Upload`](nebula_requester::Upload)), the server's what is
//! accepted ([`Backend`](nebula_nic::Backend), [`Grants`](nebula_nic::Grants)). `docs/MODEL.md`
//! states what is assumed of the network.

pub(crate) mod question;
pub(crate) mod packet;
mod receiver;
mod sender;
mod world;

use crate::error::SimError;
use crate::executor::{replications, try_each};
use crate::experiment::Effort;
use crate::incast::packet::mtu;
pub use crate::incast::packet::{OVERHEAD_BYTES, PACKET_BYTES};
pub use crate::incast::question::Incast;
use crate::interval::Interval;
use nebula_nic::{SLOT_BYTES, Span};
use world::{Tally, World};

/// The most senders.
pub const SENDERS_MAX: u16 = 4096;
/// The longest message, in bytes.
pub const MESSAGE_BYTES_MAX: u32 = 1 << 20;
/// The share by which the goodput of the two measured halves may differ.
const SETTLED: f64 = 0.05;

/// The results of an incast. Intervals are over replications.
#[derive(Clone, Copy, Debug)]
pub struct IncastEstimate {
    /// Payload of answered messages, over time.
    pub goodput_gbps: Interval,
    /// p99 of answered short messages in picoseconds, from their first try to the answer.
    pub short_p99_ps: Interval,
    /// The same of long ones.
    pub long_p99_ps: Interval,
    /// The share of tries that were NACKed.
    pub nacked: Interval,
    /// The share of packets that the switch dropped; `None` if they are not counted.
    pub dropped: Option<Interval>,
    /// The share of messages that ended without an answer.
    pub lost: Interval,
    /// Whether both measured halves have about the same goodput; otherwise simulate more.
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

    /// The time that a packet with this payload takes on a link.
    #[must_use]
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "positive and short")]
    pub fn on_link(&self, payload_bytes: u32) -> Span {
        Span::from_ps((f64::from(payload_bytes + OVERHEAD_BYTES) * 8e3 / self.link_gbps).round() as u64)
    }

    /// The highest possible goodput: the link's rate less the headers, at these lengths.
    #[must_use]
    pub fn goodput_gbps_max(&self) -> f64 {
        let packets = |bytes: u32| f64::from(mtu().packets(bytes));
        let mean = |of: &dyn Fn(u32) -> f64| {
            self.short_share * of(self.short_bytes) + (1.0 - self.short_share) * of(self.long_bytes)
        };
        let payload = mean(&|bytes| f64::from(bytes));
        self.link_gbps * payload / (payload + mean(&packets) * f64::from(OVERHEAD_BYTES))
    }

    /// Runs replications of `effort.rpcs` messages each, of all senders together, after a warm-up
    /// of a tenth as many unless `effort` sets another.
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
