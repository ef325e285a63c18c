//! The parameters of the machine, one struct with the published simulator's values as defaults.

use super::chance::{Chance, Odds};
use super::design::Design;
use super::error::MemoryError;
pub(super) use crate::memory::bounds::BANKS_MAX;
pub(super) use crate::memory::bounds::BLOCK_BYTES;
pub(super) use crate::memory::bounds::LOAD_MAX;
pub(super) use crate::memory::bounds::RPC_BYTES_MAX;
use nebula_nic::{CORES_MAX, ConfigError, Span};
use nebula_workload::{Arrivals, Rate};
use serde::Deserialize;
use std::num::NonZeroU32;

/// The arrival process of RPCs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PacketGaps {
    /// Packets of one link: an exponential gap before an RPC's first packet and fixed ones before
    /// its others, as in the published simulator.
    #[default]
    #[serde(alias = "artefact")]
    Link,
    /// Independent exponential gaps between RPCs, as in textbooks. Packets of several RPCs may
    /// arrive at the same time.
    Poisson,
}

/// How an LLC hit is drawn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Dice {
    /// With whole percents on a die of 101 faces, so that a certain hit misses once in 101 times,
    /// as in the published simulator.
    #[default]
    #[serde(alias = "artefact")]
    Faces101,
    /// With the probability itself.
    Exact,
}

/// A server: DRAM, LLC, cores and the RPCs that it serves.
///
/// A key that is missing in the text has its default: that of the simulator that NEBULA's first
/// author published, at the values of the paper's §III where it gives them: 60 cores, 45 MB of LLC,
/// RPCs of 512 B, a service time of 630 ns. 96 banks of 64 B every 48.4 ns are the memory bandwidth
/// of six channels of DDR4.
///
/// # Examples
///
/// ```
/// use nebula_sim::memory::{MemoryModel, PacketGaps};
///
/// let model: MemoryModel = toml::from_str("channels = 6\nbanks_per_channel = 16\npacket_gaps = 'poisson'")?;
/// assert_eq!((model.channels, model.cores, model.packet_gaps), (6, 60, PacketGaps::Poisson));
/// assert!((model.dram_gb_per_s_max() - 126.9).abs() < 0.1);
/// # Ok::<(), toml::de::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct MemoryModel {
    /// DRAM channels.
    pub channels: u32,
    /// Banks of a channel: the number of its accesses that proceed in parallel.
    pub banks_per_channel: u32,
    /// Time of an access whose row is open: 25 ns to the chip and back, 14 ns of column access.
    pub row_hit_ns: u64,
    /// Time of an access whose row is not open: 14 ns of precharge and 24 ns of activation in
    /// addition.
    pub row_miss_ns: u64,
    /// How often the row is open. Three quarters are meant; the published simulator's die of 101
    /// faces gives 76 in 101.
    pub row_hits: Odds,
    /// The last-level cache.
    pub llc_bytes: u64,
    /// How an LLC hit is drawn.
    pub dice: Dice,
    /// Payload of an RPC, moved in blocks of 64 B.
    pub rpc_bytes: u32,
    /// Cores that serve RPCs.
    pub cores: u16,
    /// Mean time of an RPC on its core, including an assumed wait for memory.
    pub service_ns: u64,
    /// Accesses that the core waits for and that the service time includes. The model makes two.
    pub service_accesses: u64,
    /// Time of each such access that the service time includes.
    pub service_access_ns: u64,
    /// Time between two accesses of a copy or of a write-back.
    pub stream_gap_ns: u64,
    /// The arrival process of RPCs.
    pub packet_gaps: PacketGaps,
}

impl Default for MemoryModel {
    fn default() -> Self {
        Self {
            channels: 4,
            banks_per_channel: 24,
            row_hit_ns: 39,
            row_miss_ns: 77,
            row_hits: Odds { numerator: 76, denominator: 101 },
            llc_bytes: 45_000_000,
            dice: Dice::Faces101,
            rpc_bytes: 512,
            cores: 60,
            service_ns: 630,
            service_accesses: 2,
            service_access_ns: 45,
            stream_gap_ns: 1,
            packet_gaps: PacketGaps::Link,
        }
    }
}

impl MemoryModel {
    /// The textbook model: Poisson arrivals, and the intended probabilities.
    #[must_use]
    pub fn textbook() -> Self {
        let row_hits = Odds { numerator: 3, denominator: 4 };
        Self { packet_gaps: PacketGaps::Poisson, dice: Dice::Exact, row_hits, ..Self::default() }
    }

    /// RPCs per second at a load of 1.
    #[must_use]
    pub fn rps_at_full_load(&self) -> f64 {
        f64::from(self.cores) / (self.service_ns as f64 * 1e-9)
    }

    /// Mean time of an access, without waiting for a bank.
    #[must_use]
    pub fn access_ns_mean(&self) -> f64 {
        let hits = self.row_hits.share();
        hits * self.row_hit_ns as f64 + (1.0 - hits) * self.row_miss_ns as f64
    }

    /// The maximum bandwidth of the banks, in 10⁹ bytes per second.
    #[must_use]
    pub fn dram_gb_per_s_max(&self) -> f64 {
        let banks = f64::from(self.channels) * f64::from(self.banks_per_channel);
        banks * BLOCK_BYTES as f64 / self.access_ns_mean()
    }

    /// The probability that a buffer of `design` is in the LLC, with the bias of the draw.
    #[must_use]
    pub fn llc_hit_share(&self, design: &Design) -> f64 {
        let by_size = (self.llc_bytes as f64 / design.buffer_bytes.max(1) as f64).min(1.0);
        let share = design.llc_hit.unwrap_or(by_size);
        match self.dice {
            Dice::Faces101 => libm::floor(share * 100.0) / 101.0,
            Dice::Exact => share,
        }
    }

    /// Blocks that an RPC of `design` moves to and from DRAM, on average.
    #[must_use]
    pub fn blocks_per_rpc(&self, design: &Design) -> f64 {
        let (blocks, miss) = (f64::from(self.blocks()), 1.0 - self.llc_hit_share(design));
        let index_and_result = 2.0;
        index_and_result + blocks + miss * blocks + miss * miss * blocks + miss * blocks
    }

    /// Checks that it can be simulated.
    ///
    /// # Errors
    ///
    /// [`MemoryError`] that says what is wrong.
    pub fn validate(&self) -> Result<(), MemoryError> {
        let (channels, banks) = (self.channels, self.banks_per_channel);
        if !(1..=BANKS_MAX).contains(&channels) || !(1..=BANKS_MAX).contains(&banks) {
            return Err(MemoryError::Banks { channels, banks });
        }
        for got_ns in [self.row_hit_ns, self.row_miss_ns] {
            if !(1..=MEMORY_NS_MAX).contains(&got_ns) {
                return Err(MemoryError::Access { got_ns });
            }
        }
        if !self.row_hits.is_possible() {
            let Odds { numerator, denominator } = self.row_hits;
            return Err(MemoryError::RowHits { numerator, denominator });
        }
        if self.cores == 0 || self.cores > CORES_MAX {
            return Err(ConfigError::Cores { got: self.cores }.into());
        }
        self.validate_rpc()
    }

    fn validate_rpc(&self) -> Result<(), MemoryError> {
        if !(1..=RPC_BYTES_MAX).contains(&self.rpc_bytes) {
            return Err(MemoryError::RpcBytes { got: self.rpc_bytes });
        }
        if self.stream_gap_ns > MEMORY_NS_MAX {
            return Err(MemoryError::StreamGap { got_ns: self.stream_gap_ns });
        }
        let (service_ns, waiting_ns) = (self.service_ns, self.waiting_ns());
        if service_ns <= waiting_ns || service_ns > SERVICE_NS_MAX {
            return Err(MemoryError::Service { service_ns, waiting_ns });
        }
        Ok(())
    }

    pub(super) const fn blocks(&self) -> u32 {
        self.rpc_bytes.div_ceil(64)
    }

    /// Computing time, without memory accesses.
    pub(super) const fn compute(&self) -> Span {
        Span::from_ns(self.service_ns - self.waiting_ns())
    }

    pub(super) const fn stream_gap(&self) -> Span {
        Span::from_ns(self.stream_gap_ns)
    }

    pub(super) fn llc_hit(&self, design: &Design) -> Result<Chance, MemoryError> {
        match design.llc_hit {
            Some(got) if !(0.0..=1.0).contains(&got) => Err(MemoryError::LlcHit { got }),
            _ => Ok(Chance::of(self.llc_hit_share(design))),
        }
    }

    pub(super) fn rate(&self, load: f64) -> Result<Rate, MemoryError> {
        if load > 0.0 && load <= LOAD_MAX {
            Ok(Rate::try_new(load * self.rps_at_full_load())?)
        } else {
            Err(MemoryError::Load { got: load })
        }
    }

    pub(super) fn arrivals(&self) -> Arrivals {
        match (self.packet_gaps, NonZeroU32::new(self.blocks())) {
            (PacketGaps::Link, Some(packets)) => Arrivals::Packets(packets),
            (PacketGaps::Poisson, _) | (_, None) => Arrivals::Poisson,
        }
    }

    const fn waiting_ns(&self) -> u64 {
        self.service_accesses.saturating_mul(self.service_access_ns)
    }
}

const MEMORY_NS_MAX: u64 = 1_000_000;
const SERVICE_NS_MAX: u64 = 1_000_000_000;
