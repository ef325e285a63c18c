//! The on-chip network: hops between tiles, and the ports at its ends.
//!
//! The cost of a path is its hops. The links at the ends have an occupancy: all traffic of a core, of a bank or of
//! the NIC meets there, while the links between routers are loaded to a few tens of percent. A block occupies a link
//! for a head flit and its 64 bytes; requests and acknowledgements are one flit and count as free.
//!
//! Departs: NEBULA's Table II gives a mesh of 16 B links; contention within the mesh is modeled only where the description asks for it
//! (`links_contend`), otherwise only at its ends.

use crate::block::Block;
use crate::calendar::{Ring, SlotLength};
use crate::config::MemoryConfig;
use crate::llc::SetId;
use crate::modulus::Modulus;
use crate::time::cycles_ps;
use std::cmp::Ordering;

/// An end of the network: its tile and its port.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct End {
    /// Where the tile's row of [`Mesh::ways_ps`] begins.
    row: u32,
    tile: u16,
    port: u16,
}

/// The outgoing and incoming links of an end are separate.
struct Port {
    out: Ring,
    into: Ring,
}

pub(crate) struct Mesh {
    /// Latency between each pair of tiles: `[from][to]`; the row length is the number of tiles rounded up to a power of
    /// two.
    ways_ps: Box<[u32]>,
    row_shift: u32,
    tiles: Modulus,
    cores: Box<[End]>,
    /// The port of the first bank.
    banks: u16,
    nic: End,
    longest_way_ps: u64,
    /// From a block's head flit to its last flit.
    tail_ps: u64,
    /// The time of the access for which blocks are sent.
    now_ps: u64,
    /// A block on a link.
    block: SlotLength,
    /// Whether blocks wait at the ends only, and there for longer than the unit of time.
    is_plain: bool,
    /// Cores, then banks, then the NIC.
    ports: Box<[Port]>,
    /// For each tile the links to the east, west, south and north; none if blocks do not contend for them.
    links: Box<[Ring]>,
    columns: u16,
    hop_ps: u64,
}

impl Mesh {
    pub(crate) fn new(config: &MemoryConfig) -> Self {
        let mesh = &config.mesh;
        let tiles = config.tiles();
        let hop_ps = cycles_ps(mesh.hop_cycles, config.clock_ghz);
        let row = tiles.next_power_of_two();
        let hops = |from: u32, to: u32| {
            let columns = mesh.columns;
            (from % columns).abs_diff(to % columns) + (from / columns).abs_diff(to / columns)
        };
        let ways_ps = (0..tiles).flat_map(|from| {
            (0..row).map(move |to: u32| u32::try_from(u64::from(hops(from, to)) * hop_ps).unwrap_or(u32::MAX))
        });
        let flits = if mesh.link_bytes == 0 { 0 } else { Block::BYTES.div_ceil(mesh.link_bytes) + 1 };
        let block = SlotLength::new(cycles_ps(flits, config.clock_ghz));
        let end = |tile: u16, port| End { row: u32::from(tile) << row.trailing_zeros(), tile, port };
        let core = |core| end(core % small(tiles), core);
        let ports = usize::from(config.cores) + tiles as usize + 1;
        let port = || Port { out: Ring::EMPTY, into: Ring::EMPTY };
        Self {
            ways_ps: ways_ps.collect(),
            row_shift: row.trailing_zeros(),
            tiles: Modulus::new(tiles),
            cores: (0..config.cores).map(core).collect(),
            banks: config.cores,
            nic: end(small(mesh.nic_tile[1] * mesh.columns + mesh.nic_tile[0]), config.cores + small(tiles)),
            longest_way_ps: cycles_ps((mesh.columns + mesh.rows - 2) * mesh.hop_cycles, config.clock_ghz),
            tail_ps: cycles_ps(flits.saturating_sub(1), config.clock_ghz),
            now_ps: 0,
            block,
            is_plain: block.is_long() && !mesh.links_contend,
            ports: std::iter::repeat_with(port).take(ports).collect(),
            links: (0..if mesh.links_contend { 4 * tiles } else { 0 }).map(|_| Ring::EMPTY).collect(),
            columns: small(mesh.columns),
            hop_ps,
        }
    }

    #[inline]
    pub(crate) fn core(&self, core: u16) -> End {
        self.cores[usize::from(core)]
    }

    #[inline]
    pub(crate) const fn nic(&self) -> End {
        self.nic
    }

    /// Records the time of the access for which the next blocks are sent.
    #[inline(always)]
    pub(crate) const fn begin(&mut self, now_ps: u64) {
        self.now_ps = now_ps;
    }

    /// The bank of a set.
    #[inline]
    pub(crate) fn home(&self, set: SetId) -> End {
        let tile = small(self.tiles.remainder(set.0));
        End { row: u32::from(tile) << self.row_shift, tile, port: self.banks + tile }
    }

    pub(crate) const fn is_same_tile(one: End, other: End) -> bool {
        one.tile == other.tile
    }

    /// The travel time of a flit, the same both ways.
    #[inline(always)]
    pub(crate) fn way_ps(&self, from: End, to: End) -> u64 {
        self.ways_ps[from.row as usize + usize::from(to.tile)].into()
    }

    /// From one corner to the opposite one.
    pub(crate) const fn longest_way_ps(&self) -> u64 {
        self.longest_way_ps
    }

    /// Sends a block at `at_ps` over a [way](Self::way_ps) that is known; returns when its last flit arrives.
    #[inline(always)]
    pub(crate) fn send_over(&mut self, way_ps: u64, from: End, to: End, at_ps: u64) -> u64 {
        if !self.is_plain {
            return self.send_through(way_ps, from, to, at_ps);
        }
        let left_ps = self.ports[usize::from(from.port)].out.reserve_long(&self.block, at_ps, self.now_ps);
        self.ports[usize::from(to.port)].into.reserve_long(&self.block, left_ps + way_ps, self.now_ps) + self.tail_ps
    }

    /// The same for slots of any length, and where blocks wait for each other on the links between routers.
    #[cold]
    fn send_through(&mut self, way_ps: u64, from: End, to: End, at_ps: u64) -> u64 {
        let left_ps = self.ports[usize::from(from.port)].out.reserve_near(&self.block, at_ps, self.now_ps);
        let come_ps = if self.links.is_empty() { left_ps + way_ps } else { self.pass(from.tile, to.tile, left_ps) };
        self.ports[usize::from(to.port)].into.reserve_near(&self.block, come_ps, self.now_ps) + self.tail_ps
    }

    /// Passes the links from tile to tile, along the row first; returns when the head flit is there.
    fn pass(&mut self, from: u16, to: u16, left_ps: u64) -> u64 {
        let (mut at, mut at_ps) = (from, left_ps);
        while at != to {
            let (direction, next) = self.step(at, to);
            let link = &mut self.links[usize::from(at) * 4 + direction];
            at_ps = link.reserve_near(&self.block, at_ps, self.now_ps) + self.hop_ps;
            at = next;
        }
        at_ps
    }

    /// The link to take at `at` on the way to `to`, and the tile behind it.
    fn step(&self, at: u16, to: u16) -> (usize, u16) {
        match (at % self.columns).cmp(&(to % self.columns)) {
            Ordering::Less => (0, at + 1),
            Ordering::Greater => (1, at - 1),
            Ordering::Equal if at < to => (2, at + self.columns),
            Ordering::Equal => (3, at - self.columns),
        }
    }
}

/// A number of tiles; a mesh has a few thousand at most.
#[expect(clippy::cast_possible_truncation, reason = "checked with the description")]
const fn small(tiles: u32) -> u16 {
    tiles as u16
}
