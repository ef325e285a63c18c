//! The checks of a machine description, section by section.

use super::{CORES_MAX, DramConfig, L1Config, LlcConfig, MemoryConfig, MeshConfig, WAYS_MAX};
use crate::block::Block;
use crate::error::MemoryConfigError;

type Checked = Result<(), MemoryConfigError>;

/// Block numbers have 32 bits.
const BLOCKS_MAX: u64 = 1 << 30;

const NS_MAX: f64 = 1e6;

pub(super) fn machine(config: &MemoryConfig) -> Checked {
    in_range("cores", config.cores.into(), 1, CORES_MAX.into())?;
    positive("clock_ghz", config.clock_ghz, 1000.0)?;
    l1(&config.l1)?;
    llc(&config.llc)?;
    mesh(&config.mesh)?;
    dram(&config.dram)
}

fn l1(config: &L1Config) -> Checked {
    in_range("l1.ways", config.ways.into(), 1, WAYS_MAX.into())?;
    let sets = whole_sets("l1.bytes", config.bytes, config.ways)?;
    power_of_two("l1.bytes / 64 / l1.ways", sets)?;
    cycles("l1.latency_cycles", config.latency_cycles)
}

fn llc(config: &LlcConfig) -> Checked {
    in_range("llc.ways", config.ways.into(), 1, WAYS_MAX.into())?;
    whole_sets("llc.bytes", config.bytes, config.ways)?;
    let nic_ways = config.nic_ways.unwrap_or(config.ways);
    in_range("llc.nic_ways", nic_ways.into(), 1, config.ways.into())?;
    cycles("llc.latency_cycles", config.latency_cycles)?;
    cycles("llc.nic_cache_cycles", config.nic_cache_cycles)?;
    cycles("llc.nic_cache_busy_cycles", config.nic_cache_busy_cycles)
}

/// The distance between each pair of tiles is stored.
const TILES_MAX: u64 = 1024;

fn mesh(config: &MeshConfig) -> Checked {
    in_range("mesh.columns", config.columns.into(), 1, TILES_MAX)?;
    in_range("mesh.rows", config.rows.into(), 1, TILES_MAX / u64::from(config.columns))?;
    cycles("mesh.hop_cycles", config.hop_cycles)?;
    in_range("mesh.link_bytes", config.link_bytes.into(), 0, 4096)?;
    let [column, row] = config.nic_tile;
    in_range("mesh.nic_tile[0]", column.into(), 0, u64::from(config.columns) - 1)?;
    in_range("mesh.nic_tile[1]", row.into(), 0, u64::from(config.rows) - 1)
}

fn dram(config: &DramConfig) -> Checked {
    in_range("dram.channels", config.channels.into(), 1, 256)?;
    positive("dram.gb_per_s", config.gb_per_s, f64::INFINITY)?;
    in_range("dram.ranks", config.ranks.into(), 1, 64)?;
    power_of_two("dram.ranks", config.ranks.into())?;
    in_range("dram.banks", config.banks.into(), 1, 1024)?;
    power_of_two("dram.banks", config.banks.into())?;
    in_range("dram.row_bytes", config.row_bytes.into(), Block::BYTES.into(), 1 << 24)?;
    power_of_two("dram.row_bytes", config.row_bytes.into())?;
    in_range("dram.write_queue", config.write_queue.into(), 1, 4096)?;
    in_range("dram.write_batch", config.write_batch.into(), 1, config.write_queue.into())?;
    in_range("dram.idle_writes_least", config.idle_writes_least.into(), 1, config.write_queue.into())?;
    dram_times(config)
}

fn dram_times(config: &DramConfig) -> Checked {
    time("dram.path_ns", config.path_ns)?;
    time("dram.hit_ns", config.hit_ns)?;
    time("dram.closed_ns", config.closed_ns)?;
    time("dram.conflict_ns", config.conflict_ns)?;
    time("dram.ras_ns", config.ras_ns)?;
    time("dram.row_idle_ns", config.row_idle_ns.unwrap_or_default())?;
    time("dram.refresh_ns", config.refresh_ns)?;
    time("dram.refresh_interval_ns", config.refresh_interval_ns)?;
    time("dram.turnaround_ns", config.turnaround_ns)?;
    ordered("dram.hit_ns", config.hit_ns, "dram.closed_ns", config.closed_ns)?;
    ordered("dram.closed_ns", config.closed_ns, "dram.conflict_ns", config.conflict_ns)?;
    // A rank that refreshes half of its time or more would starve its accesses.
    ordered("2 dram.refresh_ns", 2.0 * config.refresh_ns, "dram.refresh_interval_ns", config.refresh_interval_ns)
}

fn in_range(field: &'static str, got: u64, min: u64, max: u64) -> Checked {
    if (min..=max).contains(&got) { Ok(()) } else { Err(MemoryConfigError::OutOfRange { field, got, min, max }) }
}

fn power_of_two(field: &'static str, got: u64) -> Checked {
    if got.is_power_of_two() { Ok(()) } else { Err(MemoryConfigError::NotPowerOfTwo { field, got }) }
}

fn whole_sets(field: &'static str, bytes: u64, ways: u32) -> Result<u64, MemoryConfigError> {
    let multiple = u64::from(Block::BYTES) * u64::from(ways);
    in_range(field, bytes, multiple, BLOCKS_MAX * u64::from(Block::BYTES))?;
    if bytes.is_multiple_of(multiple) {
        Ok(bytes / multiple)
    } else {
        Err(MemoryConfigError::NotWhole { field, bytes, multiple })
    }
}

fn cycles(field: &'static str, got: u32) -> Checked {
    in_range(field, got.into(), 0, 100_000)
}

fn positive(field: &'static str, got: f64, max: f64) -> Checked {
    if got > 0.0 && got <= max {
        Ok(())
    } else {
        Err(MemoryConfigError::BadNumber { field, got, wanted: "a number above 0" })
    }
}

fn time(field: &'static str, got: f64) -> Checked {
    if (0.0..=NS_MAX).contains(&got) {
        Ok(())
    } else {
        Err(MemoryConfigError::BadNumber { field, got, wanted: "a time from 0 to 1000000 ns" })
    }
}

fn ordered(lesser: &'static str, lesser_got: f64, greater: &'static str, greater_got: f64) -> Checked {
    if lesser_got <= greater_got {
        Ok(())
    } else {
        Err(MemoryConfigError::WrongOrder { lesser, lesser_got, greater, greater_got })
    }
}
