//! A machine's memory system as numbers with units, readable from TOML.
//!
//! Latencies may be zero and bandwidths infinite (`gb_per_s = inf`, `link_bytes = 0`), to remove a
//! limit and see its contribution. Cache and memory sizes must divide evenly.

use serde::Deserialize;

use crate::error::MemoryConfigError;

mod check;

/// The maximum number of cores of one machine.
pub const CORES_MAX: u16 = 1000;

/// The maximum number of ways of a cache.
pub const WAYS_MAX: u32 = 16;

/// The memory system of one chip.
///
/// # Examples
///
/// ```
/// use nebula_memsys::{MemoryConfig, MemorySystem};
///
/// let config: MemoryConfig = toml::from_str(
///     r#"
///     cores = 4
///     clock_ghz = 2.0
///     l1 = { bytes = 32768, ways = 2, latency_cycles = 3 }
///     llc = { bytes = 4194304, ways = 16, latency_cycles = 6, nic_ways = 2, nic_write_fetches = false }
///     mesh = { columns = 2, rows = 2, hop_cycles = 3, link_bytes = 16, nic_tile = [0, 0] }
///
///     [dram]
///     channels = 1
///     gb_per_s = 15.5
///     ranks = 2
///     banks = 16
///     row_bytes = 8192
///     path_ns = 7.5
///     hit_ns = 31.0
///     closed_ns = 45.0
///     conflict_ns = 59.0
///     ras_ns = 33.0
///     row_idle_ns = 100.0
///     refresh_ns = 350.0
///     refresh_interval_ns = 7800.0
///     write_queue = 48
///     write_batch = 16
///     turnaround_ns = 4.0
///     "#,
/// )?;
/// assert!(MemorySystem::try_new(&config).is_ok());
/// # Ok::<(), toml::de::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MemoryConfig {
    /// Cores, one L1 each; core `i` is at tile `i mod (columns × rows)`. At most [`CORES_MAX`].
    pub cores: u16,
    /// The frequency of the clock that all `_cycles` fields count, in GHz.
    pub clock_ghz: f64,
    /// Each core's first-level data cache.
    pub l1: L1Config,
    /// The shared last-level cache.
    pub llc: LlcConfig,
    /// The network between cores, banks of the last-level cache and the NIC.
    pub mesh: MeshConfig,
    /// The memory behind the last-level cache.
    pub dram: DramConfig,
}

/// A core's first-level data cache.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct L1Config {
    /// Capacity in bytes; `bytes / 64 / ways` must be a power of two.
    pub bytes: u64,
    /// Blocks per set.
    pub ways: u32,
    /// From the access to the block on a hit; a miss also pays it before it leaves the core.
    pub latency_cycles: u32,
}

/// The shared last-level cache, one bank per tile, blocks interleaved over the banks.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LlcConfig {
    /// Capacity in bytes of all banks together; a multiple of `64 × ways`.
    pub bytes: u64,
    /// Blocks per set; at most [`WAYS_MAX`].
    pub ways: u32,
    /// From a request's arrival at the bank to its response's departure.
    pub latency_cycles: u32,
    /// Ways in which a NIC write may allocate, as DDIO limits them; all by default. Hits are not
    /// limited.
    #[serde(default)]
    pub nic_ways: Option<u32>,
    /// Whether a NIC write that misses fetches the block first, as a write-allocate cache does.
    pub nic_write_fetches: bool,
    /// Whether a block that the NIC wrote stays in the NIC's cache until a core touches it: that
    /// access travels core, home, NIC, core. Otherwise the NIC writes into the bank.
    #[serde(default = "yes")]
    pub nic_forwards: bool,
    /// The NIC's own cache: from the forwarded request's arrival to the block's departure.
    #[serde(default)]
    pub nic_cache_cycles: u32,
    /// How long a read or write keeps the NIC's cache busy; 0 if it takes any number at once.
    #[serde(default)]
    pub nic_cache_busy_cycles: u32,
}

/// A two-dimensional mesh with a core, a bank and a router at each tile.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MeshConfig {
    /// Tiles per row.
    pub columns: u32,
    /// Tiles per column.
    pub rows: u32,
    /// Router and link together, per hop.
    pub hop_cycles: u32,
    /// Bytes that a link moves per cycle; 0 for unlimited bandwidth.
    pub link_bytes: u32,
    /// Column and row of the router to which the NIC is attached.
    pub nic_tile: [u32; 2],
    /// Whether blocks also wait for each other at the ports of cores and banks, not only at the
    /// NIC's. That matters if a core can ask for a block more often than every
    /// `64 / link_bytes + 1` cycles, or a bank serves many cores.
    #[serde(default)]
    pub ports_contend: bool,
    /// Whether blocks wait for each other at all ports and on the links between routers; they pass
    /// the row first.
    #[serde(default)]
    pub links_contend: bool,
}

/// Memory: channels of ranks of banks, each with one open row.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DramConfig {
    /// Channels, each with its own data bus; blocks are interleaved over them.
    pub channels: u32,
    /// Peak of one channel's bus in 10⁹ bytes per second; `inf` for unlimited bandwidth.
    pub gb_per_s: f64,
    /// Ranks per channel, refreshed one at a time; a power of two.
    pub ranks: u32,
    /// Banks per rank; a power of two.
    pub banks: u32,
    /// Bytes per row; a power of two, at least 64.
    pub row_bytes: u32,
    /// From the home bank to the channel and back, excluding the memory itself.
    pub path_ns: f64,
    /// A read from the open row, including its transfer.
    pub hit_ns: f64,
    /// A read from a bank without an open row: `hit_ns` and the activation.
    pub closed_ns: f64,
    /// A read from a bank with another row open: `closed_ns` and the precharge.
    pub conflict_ns: f64,
    /// The minimum from a row's activation to its precharge (tRAS).
    pub ras_ns: f64,
    /// An open row closes after it was unused for this long: 0 closes it at once; without a value
    /// it stays open (open page).
    #[serde(default)]
    pub row_idle_ns: Option<f64>,
    /// How long a refresh occupies a rank; 0 for none.
    pub refresh_ns: f64,
    /// From one refresh of a rank to the next; longer than `refresh_ns`.
    pub refresh_interval_ns: f64,
    /// Writes that wait at a channel while reads go first.
    pub write_queue: u32,
    /// Writes drained together when the queue is full; at most `write_queue`.
    pub write_batch: u32,
    /// Writes that must wait before they use the idle bus: 1, the default, writes as soon as it is
    /// idle; `write_queue` only when the queue is full.
    #[serde(default = "one")]
    pub idle_writes_least: u32,
    /// The time the bus takes to turn from reads to writes, and again from writes to reads.
    pub turnaround_ns: f64,
}

const fn one() -> u32 {
    1
}

const fn yes() -> bool {
    true
}

impl MemoryConfig {
    /// Checks whether this is a valid memory system.
    ///
    /// # Errors
    ///
    /// The first invalid number, and the valid range.
    pub fn validate(&self) -> Result<(), MemoryConfigError> {
        check::machine(self)
    }

    /// Tiles of the mesh.
    #[must_use]
    pub const fn tiles(&self) -> u32 {
        self.mesh.columns * self.mesh.rows
    }

    /// Peak of all channels together in 10⁹ bytes a second.
    #[must_use]
    pub fn peak_gb_per_s(&self) -> f64 {
        self.dram.gb_per_s * f64::from(self.dram.channels)
    }
}
