//! Machines that several tests and examples use.
#![allow(dead_code, reason = "each of them uses some")]

pub(crate) mod load;

use nebula_memsys::{DramConfig, L1Config, LlcConfig, MemoryConfig, MeshConfig};

/// NEBULA's Table II, completed with values from DDR4 data sheets.
pub(crate) fn paper() -> MemoryConfig {
    MemoryConfig {
        cores: 16,
        clock_ghz: 2.0,
        l1: L1Config { bytes: 32 << 10, ways: 2, latency_cycles: 3 },
        llc: LlcConfig {
            bytes: 16 << 20,
            ways: 16,
            latency_cycles: 6,
            nic_ways: None,
            nic_write_fetches: true,
            nic_forwards: true,
            nic_cache_cycles: 6,
            nic_cache_busy_cycles: 0,
        },
        mesh: MeshConfig {
            columns: 4,
            rows: 4,
            hop_cycles: 3,
            link_bytes: 16,
            nic_tile: [0, 0],
            ports_contend: false,
            links_contend: false,
        },
        dram: ddr4(),
    }
}

/// The same, where blocks wait for each other at all ports.
pub(crate) fn with_ports() -> MemoryConfig {
    let mut config = paper();
    config.mesh.ports_contend = true;
    config
}

/// Two channels of 15.5 GB/s, open rows.
pub(crate) fn ddr4() -> DramConfig {
    DramConfig {
        channels: 2,
        gb_per_s: 15.5,
        ranks: 2,
        banks: 16,
        row_bytes: 8192,
        path_ns: 7.5,
        hit_ns: 31.0,
        closed_ns: 45.0,
        conflict_ns: 59.0,
        ras_ns: 33.0,
        row_idle_ns: None,
        refresh_ns: 350.0,
        refresh_interval_ns: 7800.0,
        write_queue: 48,
        write_batch: 16,
        idle_writes_least: 1,
        turnaround_ns: 4.0,
    }
}

/// 256 cores on a 16 × 16 mesh with 256 MB of cache and eight channels.
pub(crate) fn large() -> MemoryConfig {
    let paper = paper();
    MemoryConfig {
        cores: 256,
        llc: LlcConfig { bytes: 256 << 20, ..paper.llc },
        mesh: MeshConfig { columns: 16, rows: 16, ..paper.mesh },
        dram: DramConfig { channels: 8, ..paper.dram },
        ..paper
    }
}

/// Two cores, caches of a few sets, one channel: small enough to compare with naive models.
pub(crate) fn tiny() -> MemoryConfig {
    let paper = paper();
    MemoryConfig {
        cores: 3,
        l1: L1Config { bytes: 4 * 2 * 64, ways: 2, latency_cycles: 3 },
        llc: LlcConfig { bytes: 8 * 4 * 64, ways: 4, ..paper.llc },
        mesh: MeshConfig { columns: 2, rows: 2, ..paper.mesh },
        dram: DramConfig { channels: 1, banks: 4, ..paper.dram },
        ..paper
    }
}

/// All accesses take no time and nothing is ever busy.
pub(crate) fn ideal() -> MemoryConfig {
    let paper = paper();
    MemoryConfig {
        l1: L1Config { latency_cycles: 0, ..paper.l1 },
        llc: LlcConfig { latency_cycles: 0, nic_cache_cycles: 0, ..paper.llc },
        mesh: MeshConfig { hop_cycles: 0, link_bytes: 0, ..paper.mesh },
        dram: ideal_dram(),
        ..paper
    }
}

fn ideal_dram() -> DramConfig {
    DramConfig {
        gb_per_s: f64::INFINITY,
        path_ns: 0.0,
        hit_ns: 0.0,
        closed_ns: 0.0,
        conflict_ns: 0.0,
        ras_ns: 0.0,
        refresh_ns: 0.0,
        turnaround_ns: 0.0,
        ..ddr4()
    }
}
