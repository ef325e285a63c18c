//! The network on the chip: hops between tiles, and the ports at its ends.
//!
//! A way costs its hops. Only the links at the ends carry an occupancy: there all traffic of a core, of a bank or of the
//! NIC meets, while the links between routers are a few tens of percent loaded. A block takes a head flit and its 64
//! bytes over the link; requests and acknowledgements are one flit and count as free.
//!
//! Departs: NEBULA's Table II gives a mesh of 16 B links; contention within the mesh is not modelled, only at its ends.

use crate::block::Block;
use crate::calendar::Calendar;
use crate::config::MemoryConfig;
use crate::llc::SetId;
use crate::modulus::Modulus;
use crate::time::cycles_ps;

/// A router, numbered row by row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Tile(u32);

/// An end of the network.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    Core(u16),
    Nic,
    /// The bank at a tile.
    Bank(Tile),
}

/// What leaves an end and what reaches it are separate links.
struct Port {
    out: Calendar,
    into: Calendar,
}

pub(crate) struct Mesh {
    /// Column and row of each tile.
    places: Box<[(i16, i16)]>,
    tiles: Modulus,
    nic: Tile,
    hop_ps: u64,
    longest_way_ps: u64,
    now_ps: u64,
    /// From a block's head flit to its last.
    tail_ps: u64,
    /// Cores, then banks, then the NIC.
    ports: Box<[Port]>,
    cores: usize,
}

impl Mesh {
    pub(crate) fn new(config: &MemoryConfig) -> Self {
        let mesh = &config.mesh;
        let tiles = config.tiles();
        let places = (0..tiles).map(|tile| (coordinate(tile % mesh.columns), coordinate(tile / mesh.columns)));
        let flits = if mesh.link_bytes == 0 { 0 } else { Block::BYTES.div_ceil(mesh.link_bytes) + 1 };
        let slot_ps = cycles_ps(flits, config.clock_ghz);
        let ports = usize::from(config.cores) + tiles as usize + 1;
        let port = || Port { out: Calendar::new(slot_ps), into: Calendar::new(slot_ps) };
        Self {
            places: places.collect(),
            tiles: Modulus::new(tiles),
            nic: Tile(mesh.nic_tile[1] * mesh.columns + mesh.nic_tile[0]),
            hop_ps: cycles_ps(mesh.hop_cycles, config.clock_ghz),
            longest_way_ps: cycles_ps((mesh.columns + mesh.rows - 2) * mesh.hop_cycles, config.clock_ghz),
            now_ps: 0,
            tail_ps: cycles_ps(flits.saturating_sub(1), config.clock_ghz),
            ports: std::iter::repeat_with(port).take(ports).collect(),
            cores: usize::from(config.cores),
        }
    }

    /// Tells when the access begins that the next blocks are sent for.
    #[inline]
    pub(crate) const fn begin(&mut self, now_ps: u64) {
        self.now_ps = now_ps;
    }

    /// The bank that a set is in.
    #[inline]
    pub(crate) const fn home(&self, set: SetId) -> End {
        End::Bank(Tile(self.tiles.remainder(set.0)))
    }

    /// How long a flit travels.
    #[inline]
    pub(crate) fn way_ps(&self, from: End, to: End) -> u64 {
        let (from, to) = (self.places[self.tile(from)], self.places[self.tile(to)]);
        u64::from(from.0.abs_diff(to.0) + from.1.abs_diff(to.1)) * self.hop_ps
    }

    /// From one corner to the opposite.
    pub(crate) const fn longest_way_ps(&self) -> u64 {
        self.longest_way_ps
    }

    /// Sends a block at `at_ps`; returns when its last flit is there.
    #[inline]
    pub(crate) fn send(&mut self, from: End, to: End, at_ps: u64) -> u64 {
        let way_ps = self.way_ps(from, to);
        let (out, into) = (self.port(from), self.port(to));
        let left_ps = self.ports[out].out.reserve_near(at_ps, self.now_ps);
        self.ports[into].into.reserve_near(left_ps + way_ps, self.now_ps) + self.tail_ps
    }

    #[inline]
    const fn tile(&self, end: End) -> usize {
        match end {
            End::Core(core) => self.tiles.remainder(core as u32) as usize,
            End::Bank(tile) => tile.0 as usize,
            End::Nic => self.nic.0 as usize,
        }
    }

    #[inline]
    fn port(&self, end: End) -> usize {
        match end {
            End::Core(core) => usize::from(core),
            End::Bank(tile) => self.cores + tile.0 as usize,
            End::Nic => self.ports.len() - 1,
        }
    }
}

fn coordinate(tiles: u32) -> i16 {
    i16::try_from(tiles).unwrap_or(i16::MAX)
}
