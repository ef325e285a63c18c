//! The on-chip network: hops between tiles, and the ports at its ends.
//!
//! The cost of a path is its hops. Blocks wait for each other at the NIC's port, through which all
//! of its traffic goes. The port of a core or a bank has about a sixteenth of all cores' traffic,
//! and links between routers are loaded to a few tens of percent: blocks wait there only if the
//! description asks for it. A block occupies a port for a head flit and its 64 bytes; requests and
//! acknowledgements are one flit and count as free.
//!
//! Departs: NEBULA's Table II gives a mesh of 16 B links; contention is modeled at the NIC's port,
//! and at other ports (`ports_contend`) and within the mesh (`links_contend`) only where the
//! description asks for it.

use crate::block::Block;
use crate::calendar::{Ring, SlotLength};
use crate::config::MemoryConfig;
use crate::llc::SetId;
use crate::modulus::Modulus;
use crate::time::cycles_ps;
use std::cmp::Ordering;

/// An end of the network by the number of its port: cores, NIC, banks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct End(usize);

struct Port {
    out: Ring,
    into: Ring,
}

pub(crate) struct Mesh {
    /// Latency from each core and the NIC to each end; a row has an entry per end.
    ways_ps: Box<[u32]>,
    row: usize,
    tiles: Modulus,
    nic: End,
    longest_way_ps: u64,
    tail_ps: u64,
    block: SlotLength,
    /// Whether blocks wait at the NIC's port only, and longer than the unit of time.
    is_plain: bool,
    ports: Box<[Port]>,
    tiles_of: Box<[u16]>,
    /// Each tile's links to the east, west, south and north; none without contention for them.
    links: Box<[Ring]>,
    columns: u16,
    hop_ps: u64,
}

impl Mesh {
    pub(crate) fn new(config: &MemoryConfig) -> Self {
        let mesh = &config.mesh;
        let tiles = config.tiles();
        let hop_ps = cycles_ps(mesh.hop_cycles, config.clock_ghz);
        let tiles_of = tiles_of(config);
        let hops = |from: u16, to: u16| {
            let (from, to, columns) = (u32::from(from), u32::from(to), mesh.columns);
            (from % columns).abs_diff(to % columns) + (from / columns).abs_diff(to / columns)
        };
        let way_ps = |from, to| u32::try_from(u64::from(hops(from, to)) * hop_ps).unwrap_or(u32::MAX);
        let (row, agents) = (tiles_of.len(), usize::from(config.cores) + 1);
        let mut ways_ps = vec![0; agents * row];
        for (ways, &from) in ways_ps.chunks_exact_mut(row).zip(&tiles_of) {
            ways.iter_mut().zip(&tiles_of).for_each(|(way, &to)| *way = way_ps(from, to));
        }
        let flits = if mesh.link_bytes == 0 { 0 } else { Block::BYTES.div_ceil(mesh.link_bytes) + 1 };
        let block = SlotLength::new(cycles_ps(flits, config.clock_ghz));
        let port = || Port { out: Ring::EMPTY, into: Ring::EMPTY };
        Self {
            ways_ps: ways_ps.into(),
            row,
            tiles: Modulus::new(tiles),
            nic: End(config.cores.into()),
            longest_way_ps: cycles_ps((mesh.columns + mesh.rows - 2) * mesh.hop_cycles, config.clock_ghz),
            tail_ps: cycles_ps(flits.saturating_sub(1), config.clock_ghz),
            block,
            is_plain: block.is_long() && !mesh.ports_contend && !mesh.links_contend,
            ports: std::iter::repeat_with(port).take(tiles_of.len()).collect(),
            tiles_of,
            links: (0..if mesh.links_contend { 4 * tiles } else { 0 }).map(|_| Ring::EMPTY).collect(),
            columns: small(mesh.columns),
            hop_ps,
        }
    }

    #[inline(always)]
    pub(crate) fn core(core: u16) -> End {
        End(core.into())
    }

    #[inline(always)]
    pub(crate) const fn nic(&self) -> End {
        self.nic
    }

    #[inline(always)]
    pub(crate) const fn home(&self, SetId(set): SetId) -> End {
        End(self.nic.0 + 1 + self.tiles.remainder(set) as usize)
    }

    pub(crate) fn is_same_tile(&self, End(one): End, End(other): End) -> bool {
        self.tiles_of[one] == self.tiles_of[other]
    }

    /// The travel time of a flit between an agent and any end, the same both ways.
    #[inline(always)]
    pub(crate) fn way_ps(&self, End(agent): End, End(other): End) -> u64 {
        self.ways_ps[agent * self.row + other].into()
    }

    pub(crate) const fn longest_way_ps(&self) -> u64 {
        self.longest_way_ps
    }

    /// Sends a block between a core and a bank at `at_ps` over a known [way](Self::way_ps); returns
    /// when its last flit arrives. The agent asked at `now_ps`.
    #[inline(always)]
    pub(crate) fn send(&mut self, now_ps: u64, way_ps: u64, from: End, to: End, at_ps: u64) -> u64 {
        match self.is_plain {
            true => at_ps + way_ps + self.tail_ps,
            false => self.send_through(now_ps, way_ps, from, to, at_ps),
        }
    }

    /// [`send`](Self::send) for a block that the NIC sends.
    #[inline(always)]
    pub(crate) fn send_from_nic(&mut self, now_ps: u64, way_ps: u64, to: End, at_ps: u64) -> u64 {
        if !self.is_plain {
            return self.send_through(now_ps, way_ps, self.nic, to, at_ps);
        }
        let port = &mut self.ports[self.nic.0].out;
        port.reserve_long(&self.block, at_ps, self.block.limit_ps(now_ps)) + way_ps + self.tail_ps
    }

    /// [`send`](Self::send) for a block that the NIC receives.
    #[inline(always)]
    pub(crate) fn send_to_nic(&mut self, now_ps: u64, way_ps: u64, from: End, at_ps: u64) -> u64 {
        if !self.is_plain {
            return self.send_through(now_ps, way_ps, from, self.nic, at_ps);
        }
        let port = &mut self.ports[self.nic.0].into;
        port.reserve_long(&self.block, at_ps + way_ps, self.block.limit_ps(now_ps)) + self.tail_ps
    }

    /// [`send`](Self::send) for any length, with waits at all ports and perhaps on links.
    #[cold]
    fn send_through(&mut self, now_ps: u64, way_ps: u64, End(from): End, End(to): End, at_ps: u64) -> u64 {
        let limit_ps = self.block.limit_ps(now_ps);
        let left_ps = self.ports[from].out.reserve_near(&self.block, at_ps, limit_ps);
        let come_ps = match self.links.is_empty() {
            true => left_ps + way_ps,
            false => self.pass(self.tiles_of[from], self.tiles_of[to], left_ps, limit_ps),
        };
        self.ports[to].into.reserve_near(&self.block, come_ps, limit_ps) + self.tail_ps
    }

    /// Passes the links from tile to tile, along the row first; returns the head flit's arrival.
    fn pass(&mut self, from: u16, to: u16, left_ps: u64, limit_ps: u64) -> u64 {
        let (mut at, mut at_ps) = (from, left_ps);
        while at != to {
            let (direction, next) = self.step(at, to);
            let link = &mut self.links[usize::from(at) * 4 + direction];
            at_ps = link.reserve_near(&self.block, at_ps, limit_ps) + self.hop_ps;
            at = next;
        }
        at_ps
    }

    fn step(&self, at: u16, to: u16) -> (usize, u16) {
        match (at % self.columns).cmp(&(to % self.columns)) {
            Ordering::Less => (0, at + 1),
            Ordering::Greater => (1, at - 1),
            Ordering::Equal if at < to => (2, at + self.columns),
            Ordering::Equal => (3, at - self.columns),
        }
    }
}

fn tiles_of(config: &MemoryConfig) -> Box<[u16]> {
    let (mesh, tiles) = (&config.mesh, small(config.tiles()));
    let nic = small(mesh.nic_tile[1] * mesh.columns + mesh.nic_tile[0]);
    (0..config.cores).map(|core| core % tiles).chain([nic]).chain(0..tiles).collect()
}

#[expect(clippy::cast_possible_truncation, reason = "checked with the description")]
const fn small(tiles: u32) -> u16 {
    tiles as u16
}
