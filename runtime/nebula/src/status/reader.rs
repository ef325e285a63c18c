//! The readers' end of the status page, which can only load.

use super::counters::Status;
use super::histogram::Histogram;
use super::layout::{ASLEEP_WORD, GAPS, GAPS_WORD, Kind, Layout, Sum, gap_word, histogram_at};
use super::pool::PoolStatus;
use super::sample::{self, RpcSample};
use crate::rpc::store_counters::StoreCounters;
use nebula_nic::Span;
use nebula_sys::clock::Clock;
use nebula_sys::shared::ReadOnlyMemory;
use std::sync::Arc;

/// A pause in which the engine's thread did not run, in picoseconds of [`Clock::now_ps`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gap {
    /// The last time before the pause.
    pub from_ps: u64,
    /// The first time after the pause.
    pub to_ps: u64,
}

/// The counters of one worker.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CoreStatus {
    /// The worker's number among all of the server.
    pub worker: u16,
    /// The engine that gives it RPCs.
    pub engine: u16,
    /// RPCs served, as of the latest sample: up to 128 fewer than really.
    pub served: u64,
    /// Time in its handlers, estimated from the samples.
    pub busy: Span,
    /// From an RPC's arrival to its end, of one RPC in 64.
    pub latency: Histogram,
    /// From an RPC's arrival to its beginning, of the same RPCs.
    pub waiting: Histogram,
    /// From an RPC's beginning to its end, of the same RPCs. For RPCs served in one run, their
    /// mean.
    pub service: Histogram,
}

/// Reads a server's counters.
#[derive(Clone, Debug)]
pub struct StatusReader {
    memory: Arc<ReadOnlyMemory>,
    bytes: usize,
}

impl StatusReader {
    pub(crate) fn new(memory: ReadOnlyMemory, bytes: usize) -> Self {
        Self { memory: Arc::new(memory), bytes }
    }

    /// The page's layout; `None` while no engine has begun.
    fn layout(&self) -> Option<Layout> {
        Layout::from_word(self.memory.load(Layout::WORD)?, self.bytes)
    }

    fn word(&self, at: usize) -> u64 {
        self.memory.load(at).unwrap_or(0)
    }

    /// The counters as the server last wrote them: some thousand RPCs ago at most, or when it last
    /// became idle.
    #[must_use]
    pub fn read(&self) -> Status {
        let Some(layout) = self.layout() else { return Status::default() };
        let mut status = Status { engines: layout.engines.into(), ..Status::default() };
        for (word, total, value) in status.words() {
            let engines = 0..usize::from(layout.engines);
            value.set(total.of(engines.map(|engine| self.word(layout.engine_word(engine, word)))));
        }
        status
    }

    /// Whether all engines sleep until something arrives.
    #[must_use]
    pub fn is_asleep(&self) -> bool {
        self.layout().is_some_and(|layout| {
            (0..usize::from(layout.engines)).all(|engine| self.word(layout.engine_word(engine, ASLEEP_WORD)) != 0)
        })
    }

    /// The counters of each worker.
    #[must_use]
    pub fn cores(&self) -> Vec<CoreStatus> {
        let Some(layout) = self.layout() else { return Vec::new() };
        (0..layout.workers).map(|worker| self.core(layout, worker)).collect()
    }

    fn core(&self, layout: Layout, worker: u16) -> CoreStatus {
        let at = layout.worker_at(worker.into());
        let sum = |sum: Sum| self.word(at + sum as usize);
        let histogram =
            |kind: Kind| Histogram::read(sum(kind.sum()), |bucket| self.word(at + histogram_at(kind) + bucket));
        CoreStatus {
            worker,
            engine: u16::try_from(sum(Sum::Engine)).unwrap_or(0),
            served: sum(Sum::Served),
            busy: Span::from_ps(sum(Sum::BusyPs)),
            latency: histogram(Kind::Latency),
            waiting: histogram(Kind::Waiting),
            service: histogram(Kind::Service),
        }
    }

    /// The latency of all workers' RPCs, from arrival to end, of one RPC in 64.
    #[must_use]
    pub fn latency(&self) -> Histogram {
        self.merged(|core| &core.latency)
    }

    /// The service time of all workers' RPCs, of one RPC in 64.
    #[must_use]
    pub fn service(&self) -> Histogram {
        self.merged(|core| &core.service)
    }

    fn merged(&self, of: fn(&CoreStatus) -> &Histogram) -> Histogram {
        self.cores().iter().fold(Histogram::default(), |mut merged, core| {
            merged.merge(of(core));
            merged
        })
    }

    /// Recent RPCs, the slowest first: of each worker the latest samples, and the slowest of some
    /// thousand.
    #[must_use]
    pub fn samples(&self) -> Vec<RpcSample> {
        let Some(layout) = self.layout() else { return Vec::new() };
        let of = |worker: u16| {
            let at = layout.worker_at(worker.into());
            sample::read(worker, move |word| self.memory.load(at + word))
        };
        let mut samples: Vec<RpcSample> = (0..layout.workers).flat_map(of).collect();
        samples.sort_by_key(|sample| (std::cmp::Reverse(sample.latency()), sample.ended_ps, sample.rpc));
        samples.dedup();
        samples
    }

    /// The counters of the service's store; `None` if it has none, or they are not written yet.
    #[must_use]
    pub fn store(&self) -> Option<StoreCounters> {
        let at = self.layout()?.store_at();
        StoreCounters::from_words(|word| self.word(at + word))
    }

    /// The counters of the pool, if long RPCs have one.
    #[must_use]
    pub fn pool(&self) -> Option<PoolStatus> {
        let at = self.layout()?.pool_at();
        PoolStatus::from_words(|word| self.word(at + word))
    }

    /// The number of gaps so far.
    #[must_use]
    pub fn gaps_seen(&self) -> u64 {
        self.memory.load(GAPS_WORD).unwrap_or(0)
    }

    /// The gaps from number `since` on, oldest first, of the latest 4,095, which the page lists.
    #[must_use]
    pub fn gaps(&self, since: u64, clock: Clock) -> Vec<Gap> {
        let seen = self.gaps_seen();
        let oldest = seen.saturating_sub(GAPS as u64 - 1);
        (since.max(oldest)..seen).filter_map(|number| self.gap(number, clock)).collect()
    }

    fn gap(&self, number: u64, clock: Clock) -> Option<Gap> {
        let at = gap_word(number);
        let (from, to) = (self.memory.load(at)?, self.memory.load(at + 1)?);
        (from < to).then(|| Gap { from_ps: clock.at_ps(from), to_ps: clock.at_ps(to) })
    }
}
