//! The memory system as one machine: the path of each agent's access, and its effects.

use crate::block::{Block, Label, Level};
use crate::calendar::Calendar;
use crate::config::MemoryConfig;
use crate::counters::Counters;
use crate::dram::Dram;
use crate::error::MemoryConfigError;
use crate::l1::L1s;
use crate::line::{Holder, Writer};
use crate::llc::{Line, Llc, SetId, Victim};
use crate::mesh::{End, Mesh};
use crate::time::{cycles_ps, ps};
use crate::traffic::{Cause, Traffic};

mod core_access;
mod nic_access;
mod stream;

/// Caches, mesh and memory of one chip.
///
/// It has three kinds of methods: accesses of a core ([`load`](Self::load), [`store`](Self::store),
/// [`overwrite`](Self::overwrite), [`prefetch`](Self::prefetch)), accesses of the NIC ([`nic_write`](Self::nic_write),
/// [`nic_read`](Self::nic_read)), and readings, which change nothing. Every access takes effect at once and returns
/// when its agent has the block. Calls should come in the order of their times, give or take some tens of nanoseconds.
///
/// # Cost
///
/// An access that hits touches a few cache lines of the host; nothing is allocated after construction.
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
    /// Which block the NIC's cache reads or writes when; `None` if it takes any number at once.
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

/// The agent that accesses memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Agent {
    Core,
    Nic,
}

/// How far an access may go.
trait Reach {
    /// Whether a block that is not on the chip is allocated.
    const ALLOCATES: bool;
}

/// Up to memory: the access always finds the block.
struct Anywhere;

impl Reach for Anywhere {
    const ALLOCATES: bool = true;
}

/// Up to the last-level cache.
struct OnChip;

impl Reach for OnChip {
    const ALLOCATES: bool = false;
}

/// The result of an access with [`Anywhere`], which always finds the block.
#[inline]
fn found<T>(found: Option<T>) -> T {
    found.unwrap_or_else(|| unreachable!("memory has every block"))
}

/// A block at the front of its set: where, who has copies, and when its bank can respond.
#[derive(Debug, Clone, Copy)]
struct Found {
    line: Line,
    level: Level,
    holder: Holder,
    ready_ps: u64,
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

    /// Whether an access to `block` would be served without memory. Changes nothing.
    #[must_use]
    pub fn is_on_chip(&self, block: Block) -> bool {
        self.llc.has(self.llc.set_of(block), block)
    }

    /// Hints that `blocks` consecutive blocks will be accessed soon, so that the host prefetches their sets. Does not change the simulated
    /// state.
    ///
    /// # Cost
    ///
    /// One read a block that nothing waits for. Useful when a few accesses are known in advance, such as the blocks of one
    /// payload: their sets are spread over megabytes, and fetching them is most of the cost of an access.
    #[inline(always)]
    pub fn expect(&self, first: Block, blocks: u32) {
        let each = (first.0..first.0 + blocks).map(Block);
        std::hint::black_box(each.fold(0, |read, block| read ^ self.llc.expect(self.llc.set_of(block))));
    }

    /// Whether the bank of `block` is at the tile of `core`, so that the way between them has no hops.
    ///
    /// # Panics
    ///
    /// If the core does not exist.
    #[must_use]
    pub fn is_nearest(&self, core: u16, block: Block) -> bool {
        let (home, core) = (self.mesh.home(self.llc.set_of(block)), self.mesh.core(core));
        Mesh::is_same_tile(home, core)
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

    /// Dirty lines that memory does not have yet, as `(NIC's, cores')` by last writer.
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

    /// Finds `block`, or allocates it, and moves it to the front of its set. A miss fetches it unless all of it is
    /// about to be written; with [`OnChip`], a miss returns `None` and changes nothing.
    #[inline(always)]
    fn locate<R: Reach>(
        &mut self,
        at_ps: u64,
        set: SetId,
        block: Block,
        agent: Agent,
        fetched_for: Option<Label>,
    ) -> Option<Found> {
        if let Some(line) = self.llc.touch(set, block) {
            let holder = self.llc.meta(line).holder();
            let level = if holder == Holder::Nic { Level::Nic } else { Level::Llc };
            return Some(Found { line, level, holder, ready_ps: at_ps });
        }
        if !R::ALLOCATES {
            return None;
        }
        let level = if fetched_for.is_some() { Level::Dram } else { Level::Llc };
        let (line, ready_ps) = self.allocate(at_ps, set, block, agent, fetched_for);
        Some(Found { line, level, holder: Holder::Nobody, ready_ps })
    }

    /// Allocates `block`, which is not on the chip, at the front of its set; returns where, and when its bank has it.
    fn allocate(
        &mut self,
        at_ps: u64,
        set: SetId,
        block: Block,
        agent: Agent,
        fetched_for: Option<Label>,
    ) -> (Line, u64) {
        let ways = if agent == Agent::Nic { self.nic_ways } else { self.ways };
        let ready_ps = match fetched_for {
            Some(label) => self.fetch(at_ps, block, agent, label),
            None => {
                self.counters.unfetched += 1;
                at_ps
            }
        };
        // After the fetch: memory reads first.
        let (line, victim) = self.llc.insert(set, block, ways);
        if let Some(victim) = victim {
            self.evict(at_ps, victim);
        }
        (line, ready_ps)
    }

    /// Reads `block` from memory for its bank; returns when it is there.
    #[inline(always)]
    fn fetch(&mut self, at_ps: u64, block: Block, agent: Agent, label: Label) -> u64 {
        let cause = if agent == Agent::Nic { Cause::NicFetch } else { Cause::CoreFetch };
        self.traffic.add(label, cause, 1);
        self.dram.read(at_ps + self.dram_path_ps, block)
    }

    /// Evicts a line from the chip: copies are removed too, and a dirty block is written to memory.
    #[inline(always)]
    fn evict(&mut self, at_ps: u64, victim: Victim) {
        self.counters.back_invalidated += self.drop_copies(victim.meta.holder(), victim.block, None);
        let cause = match victim.meta.writer() {
            None => return,
            Some(Writer::Nic) => Cause::NicWriteBack,
            Some(Writer::Core) => Cause::CoreWriteBack,
        };
        self.traffic.add(victim.meta.label(), cause, 1);
        self.dram.write(at_ps + self.dram_path_ps, victim.block);
    }

    /// Removes `block` from the L1s that hold it, except `keeper`'s; returns from how many.
    #[inline(always)]
    fn drop_copies(&mut self, holder: Holder, block: Block, keeper: Option<u16>) -> u64 {
        match holder {
            Holder::Nobody | Holder::Nic => 0,
            Holder::Core(core) if Some(core) == keeper => 0,
            Holder::Core(core) => u64::from(self.l1s.drop_copy(core, block)),
            Holder::Several => self.drop_copies_of_all(block, keeper),
        }
    }

    #[inline(never)]
    fn drop_copies_of_all(&mut self, block: Block, keeper: Option<u16>) -> u64 {
        let others = (0..self.cores).filter(|&core| Some(core) != keeper);
        others.map(|core| u64::from(self.l1s.drop_copy(core, block))).sum()
    }

    /// When a writer at `to`, a way of `way_ps` from the bank, knows that no L1 except `keeper`'s has a copy any more.
    #[inline(always)]
    #[expect(clippy::too_many_arguments, reason = "a block, its bank, its copies and its writer; inlined")]
    fn invalidate(
        &mut self,
        at_ps: u64,
        way_ps: u64,
        home: End,
        to: End,
        holder: Holder,
        block: Block,
        keeper: Option<u16>,
    ) -> u64 {
        if holder == Holder::Nobody {
            return at_ps + way_ps;
        }
        at_ps + self.invalidate_copies(home, to, holder, block, keeper)
    }

    /// How long it takes until a writer at `to` knows that the copies are gone.
    fn invalidate_copies(&mut self, home: End, to: End, holder: Holder, block: Block, keeper: Option<u16>) -> u64 {
        self.counters.invalidated += self.drop_copies(holder, block, keeper);
        match holder {
            Holder::Core(core) if Some(core) != keeper => {
                let holder = self.mesh.core(core);
                self.mesh.way_ps(home, holder) + self.l1_ps + self.mesh.way_ps(holder, to)
            }
            Holder::Several => 2 * self.mesh.longest_way_ps() + self.l1_ps,
            Holder::Nic => self.mesh.way_ps(home, self.mesh.nic()) + self.mesh.way_ps(self.mesh.nic(), to),
            Holder::Nobody | Holder::Core(_) => self.mesh.way_ps(home, to),
        }
    }

    /// Sends a block from its bank, where it is ready, or from the NIC's cache; it is a way of `way_ps` from the bank to `to`.
    #[inline(always)]
    fn deliver(&mut self, now_ps: u64, found: Found, way_ps: u64, home: End, to: End) -> u64 {
        let (from, way_ps, left_ps) = if found.level == Level::Nic {
            let nic = self.mesh.nic();
            let read_ps = self.use_nic_cache(now_ps, found.ready_ps + self.mesh.way_ps(home, nic));
            (nic, self.mesh.way_ps(nic, to), read_ps)
        } else {
            (home, way_ps, found.ready_ps)
        };
        self.mesh.send_over(way_ps, from, to, left_ps)
    }

    /// A read or write of the NIC's cache that arrives there at `at_ps`; returns when it is done. The agent asked at `now_ps`.
    #[inline(always)]
    fn use_nic_cache(&mut self, now_ps: u64, at_ps: u64) -> u64 {
        self.nic_cache.as_mut().map_or(at_ps, |cache| cache.reserve_near(at_ps, now_ps)) + self.nic_cache_ps
    }
}
