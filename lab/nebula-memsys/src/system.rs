//! The memory system as one machine: each agent's accesses, and their effects.

use crate::block::{Block, Label};
use crate::calendar::Calendar;
use crate::config::MemoryConfig;
use crate::counters::Counters;
use crate::dram::Dram;
use crate::error::MemoryConfigError;
use crate::l1::L1s;
use crate::line::{Holder, Meta, Writer};
use crate::llc::{Llc, SetId, Victim};
use crate::mesh::{End, Mesh};
use crate::time::{cycles_ps, ps};
use crate::traffic::{Cause, Traffic};

mod core_access;
mod nic_access;
mod stream;

pub use core_access::Needs;

/// Caches, mesh and memory of one chip.
///
/// Accesses of a core are [`load`](Self::load), [`store`](Self::store),
/// [`overwrite`](Self::overwrite) and [`prefetch_run`](Self::prefetch_run), those of the NIC
/// [`nic_write`](Self::nic_write) and [`nic_read`](Self::nic_read). An access takes effect at once
/// and returns when its agent has the block. Readings change nothing. Calls should come in time
/// order, give or take some tens of nanoseconds.
///
/// # Cost
///
/// A hit touches a few cache lines of the host; nothing is allocated after construction.
///
/// # Examples
///
/// ```
/// use nebula_memsys::{Block, Label, Level, MemorySystem};
/// # let config = toml::from_str(include_str!("../examples/small.toml"))?;
/// let mut memory = MemorySystem::try_new(&config).expect("a valid machine");
/// let (packet, label) = (Block(7), Label(0));
/// let written = memory.nic_write(0, packet, label);
/// let first = memory.load(written.at_ps, 1, packet, label);
/// let again = memory.load(first.at_ps, 1, packet, label);
/// assert_eq!([written.level, first.level, again.level], [Level::Dram, Level::Nic, Level::L1]);
/// # Ok::<(), toml::de::Error>(())
/// ```
pub struct MemorySystem {
    l1s: L1s,
    llc: Llc,
    mesh: Mesh,
    dram: Dram,
    // -- times --
    l1_ps: u64,
    llc_ps: u64,
    nic_cache_ps: u64,
    /// When the NIC's cache is busy; `None` if it takes any number of accesses at once.
    nic_cache: Option<Box<Calendar>>,
    dram_path_ps: u64,
    // -- the NIC's limits --
    ways: usize,
    nic_ways: usize,
    nic_write_fetches: bool,
    nic_forwards: bool,
    // -- counters --
    cores: u16,
    counters: Counters,
    traffic: Traffic,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Agent {
    Core,
    Nic,
}

/// How far an access may go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reach {
    /// Up to memory, which has every block.
    Anywhere,
    /// Up to the last-level cache: does nothing if the block is not there.
    OnChip,
}

#[inline(always)]
fn found<T>(found: Option<T>) -> T {
    found.unwrap_or_else(|| unreachable!("memory has every block"))
}

impl MemorySystem {
    /// Creates the memory system of `config`, with empty caches and closed rows.
    ///
    /// # Errors
    ///
    /// As [`MemoryConfig::validate`].
    pub fn try_new(config: &MemoryConfig) -> Result<Self, MemoryConfigError> {
        config.validate()?;
        let cycles = |cycles| cycles_ps(cycles, config.clock_ghz);
        Ok(Self {
            l1s: L1s::new(&config.l1, config.cores),
            llc: Llc::new(&config.llc),
            mesh: Mesh::new(config),
            dram: Dram::new(&config.dram),
            l1_ps: cycles(config.l1.latency_cycles),
            llc_ps: cycles(config.llc.latency_cycles),
            nic_cache_ps: cycles(config.llc.nic_cache_cycles),
            nic_cache: (config.llc.nic_cache_busy_cycles > 0)
                .then(|| Box::new(Calendar::new(cycles(config.llc.nic_cache_busy_cycles)))),
            dram_path_ps: ps(config.dram.path_ns),
            ways: config.llc.ways as usize,
            nic_ways: config.llc.nic_ways.unwrap_or(config.llc.ways) as usize,
            nic_write_fetches: config.llc.nic_write_fetches,
            nic_forwards: config.llc.nic_forwards,
            cores: config.cores,
            counters: Counters::default(),
            traffic: Traffic::default(),
        })
    }

    /// Whether `block` is on the chip.
    #[must_use]
    #[inline(always)]
    pub fn is_on_chip(&self, block: Block) -> bool {
        self.llc.way_of(self.llc.set_of(block), block).is_some()
    }

    /// Hints that `blocks` consecutive blocks will be accessed soon: the host prefetches their sets
    /// if these exceed its caches. The simulated state does not change.
    ///
    /// # Cost
    ///
    /// If the sets are many, one read per block that nothing waits for; otherwise none.
    #[inline(always)]
    pub fn expect(&self, first: Block, blocks: u32) {
        if !self.llc.is_far() {
            return;
        }
        let each = (first.0..first.0 + blocks).map(Block);
        std::hint::black_box(each.fold(0, |read, block| read ^ self.llc.expect(self.llc.set_of(block))));
    }

    /// Whether the bank of `block` is at the tile of `core`, no hop away.
    ///
    /// # Panics
    ///
    /// If the core does not exist.
    #[must_use]
    pub fn is_nearest(&self, core: u16, block: Block) -> bool {
        assert!(core < self.cores, "a core beyond those of the machine");
        self.mesh.is_same_tile(self.mesh.home(self.llc.set_of(block)), Mesh::core(core))
    }

    /// Blocks moved to and from memory since construction.
    #[must_use]
    pub const fn traffic(&self) -> Traffic {
        self.traffic
    }

    /// Event counts since construction.
    #[must_use]
    pub const fn counters(&self) -> Counters {
        Counters { dram: self.dram.counters(), ..self.counters }
    }

    /// Dirty lines that memory lacks, as `(NIC's, cores')` by last writer.
    ///
    /// # Cost
    ///
    /// O(lines of the last-level cache).
    #[must_use]
    pub fn dirty_blocks(&self) -> (u64, u64) {
        self.llc.lines().fold((0, 0), |(nic, cores), line| match line.meta.writer() {
            Some(Writer::Nic) => (nic + 1, cores),
            Some(Writer::Core) => (nic, cores + 1),
            None => (nic, cores),
        })
    }

    /// Allocates a block that is not on the chip, and fetches it if `fetched_for` is given; returns
    /// when its bank has it.
    #[inline(always)]
    fn allocate(
        &mut self,
        at_ps: u64,
        set: SetId,
        block: Block,
        meta: Meta,
        agent: Agent,
        fetched_for: Option<Label>,
    ) -> u64 {
        let ways = if agent == Agent::Nic { self.nic_ways } else { self.ways };
        let ready_ps = match fetched_for {
            Some(label) => self.fetch(at_ps, block, agent, label),
            None => {
                self.counters.unfetched += 1;
                at_ps
            }
        };
        if let Some(victim) = self.llc.insert(set, block, meta, ways) {
            self.evict(at_ps, victim);
        }
        ready_ps
    }

    #[inline(always)]
    fn fetch(&mut self, at_ps: u64, block: Block, agent: Agent, label: Label) -> u64 {
        let cause = if agent == Agent::Nic { Cause::NicFetch } else { Cause::CoreFetch };
        self.traffic.add(label, cause, 1);
        self.dram.read(at_ps + self.dram_path_ps, block)
    }

    /// Evicts a line from the chip with its copies; a dirty block is written to memory.
    #[inline(always)]
    fn evict(&mut self, at_ps: u64, victim: Victim) {
        self.counters.back_invalidated += self.drop_copies(victim.meta.holder(), victim.block);
        let cause = match victim.meta.writer() {
            None => return,
            Some(Writer::Nic) => Cause::NicWriteBack,
            Some(Writer::Core) => Cause::CoreWriteBack,
        };
        self.traffic.add(victim.meta.label(), cause, 1);
        self.dram.write(at_ps + self.dram_path_ps, victim.block);
    }

    #[inline(always)]
    fn drop_copies(&mut self, holder: Holder, block: Block) -> u64 {
        match holder {
            Holder::Nobody | Holder::Nic => 0,
            Holder::Core(core) => u64::from(self.l1s.drop_copy(core, block)),
            Holder::Several => self.drop_copies_of_all(block, None),
        }
    }

    #[inline(never)]
    fn drop_copies_of_all(&mut self, block: Block, keeper: Option<u16>) -> u64 {
        let others = (0..self.cores).filter(|&core| Some(core) != keeper);
        others.map(|core| u64::from(self.l1s.drop_copy(core, block))).sum()
    }

    /// Removes all copies but `keeper`'s; returns when the writer knows.
    #[inline(always)]
    fn invalidate(&mut self, at_ps: u64, way: Way, holder: Holder, block: Block, keeper: Option<u16>) -> u64 {
        if holder == Holder::Nobody {
            return at_ps + way.ps;
        }
        match holder {
            Holder::Core(core) if Some(core) != keeper => {
                self.counters.invalidated += u64::from(self.l1s.drop_copy(core, block));
                let holder = Mesh::core(core);
                at_ps + self.mesh.way_ps(holder, way.home) + self.l1_ps + self.mesh.way_ps(holder, way.to)
            }
            _ => at_ps + self.invalidate_copies(way, holder, block, keeper),
        }
    }

    /// [`invalidate`](Self::invalidate) unless another core alone has a copy; returns the duration.
    #[inline(never)]
    fn invalidate_copies(&mut self, way: Way, holder: Holder, block: Block, keeper: Option<u16>) -> u64 {
        match holder {
            Holder::Several => {
                self.counters.invalidated += self.drop_copies_of_all(block, keeper);
                2 * self.mesh.longest_way_ps() + self.l1_ps
            }
            Holder::Nic => self.mesh.way_ps(self.mesh.nic(), way.home) + self.mesh.way_ps(self.mesh.nic(), way.to),
            Holder::Nobody | Holder::Core(_) => way.ps,
        }
    }

    /// Sends a block of the NIC's cache, for which its bank asks at `ready_ps`.
    #[inline(always)]
    fn forward(&mut self, now_ps: u64, way: Way, ready_ps: u64) -> u64 {
        let nic = self.mesh.nic();
        let read_ps = self.use_nic_cache(now_ps, ready_ps + self.mesh.way_ps(nic, way.home));
        self.mesh.send_from_nic(now_ps, self.mesh.way_ps(nic, way.to), way.to, read_ps)
    }

    /// Uses the NIC's cache from `at_ps` on; returns when the access is done.
    #[inline(always)]
    fn use_nic_cache(&mut self, now_ps: u64, at_ps: u64) -> u64 {
        self.nic_cache.as_mut().map_or(at_ps, |cache| cache.reserve_near(at_ps, now_ps)) + self.nic_cache_ps
    }
}

#[derive(Clone, Copy)]
struct Way {
    home: End,
    to: End,
    ps: u64,
}

impl Way {
    #[inline(always)]
    fn between(mesh: &Mesh, to: End, set: SetId) -> Self {
        let home = mesh.home(set);
        Self { home, to, ps: mesh.way_ps(to, home) }
    }
}
