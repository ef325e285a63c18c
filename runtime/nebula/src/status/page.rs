//! The engine's end of the status page: writes its counters.

use super::layout::{Field, Layout, gap_word};
use nebula_nic::schedule::PatternCounts;
use nebula_nic::{Backend, Migrations, NackReason, Span};
use nebula_sys::shared::SharedMemory;
use nebula_sys::sync::Ordering;
use std::sync::Arc;

#[derive(Debug)]
pub(crate) struct StatusPage {
    memory: Arc<SharedMemory>,
    layout: Layout,
    section: usize,
    gaps: u64,
}

#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Extra {
    pub(crate) queue_bound: u32,
    pub(crate) service: Span,
    pub(crate) workers: u32,
    pub(crate) clients: u32,
    pub(crate) violations: u64,
    pub(crate) stolen: u64,
    pub(crate) steered: u64,
    pub(crate) migrations: Migrations,
    pub(crate) patterns: PatternCounts,
    pub(crate) network: NetworkCounters,
    pub(crate) queue_depth_recent: u32,
    pub(crate) slots_used_recent: u32,
    pub(crate) busy_ps: u64,
    pub(crate) started_ticks: u64,
    pub(crate) written_ticks: u64,
    pub(crate) is_draining: bool,
    pub(crate) is_inline: bool,
    pub(crate) slo: Span,
}

/// Counters of a transport whose packets may be repeated, late or lost.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct NetworkCounters {
    pub(crate) repeated: u64,
    pub(crate) stale: u64,
    pub(crate) expired: u64,
    pub(crate) cancelled: u64,
    pub(crate) unanswered: u64,
    /// Datagrams not read, and before them requests neither served nor refused, for lack of time.
    pub(crate) unread: u64,
    /// One-sided operations carried out, and refused.
    pub(crate) operations: u64,
    pub(crate) operations_refused: u64,
    /// RPCs of several packets refused to keep room for single packets.
    pub(crate) crowded: u64,
}

impl StatusPage {
    pub(crate) fn new(memory: Arc<SharedMemory>, layout: Layout, section: usize) -> Self {
        let page = Self { memory, layout, section, gaps: 0 };
        page.memory.words()[Layout::WORD].store(layout.to_word(), Ordering::Relaxed);
        page
    }

    fn put(&self, field: Field, value: u64) {
        self.memory.words()[self.layout.engine_word(self.section, field)].store(value, Ordering::Relaxed);
    }

    pub(crate) fn publish(&self, backend: &Backend, extra: Extra) {
        let counters = backend.counters();
        let put = |field, value: u64| self.put(field, value);
        put(Field::Packets, counters.packets);
        put(Field::Completed, counters.completed);
        put(Field::Dispatched, counters.dispatched);
        put(Field::Freed, counters.freed);
        put(Field::Abandoned, counters.abandoned);
        put(Field::NackedBufferFull, counters.nacked(NackReason::BufferFull) + extra.network.crowded);
        put(Field::NackedReassemblerFull, counters.nacked(NackReason::ReassemblerFull));
        put(Field::NackedQueueBound, counters.nacked(NackReason::QueueBound));
        put(Field::NackedTooLarge, counters.nacked(NackReason::TooLarge));
        put(Field::Dropped, counters.dropped_total());
        put(Field::Slots, u64::from(backend.config().slots));
        put(Field::SlotsUsed, u64::from(backend.slots_used()));
        put(Field::SlotsUsedMax, u64::from(backend.slots_used_max()));
        put(Field::QueueDepth, u64::from(backend.queue_depth()));
        put(Field::QueueDepthMax, u64::from(backend.queue_depth_max()));
        put(Field::QueueBound, u64::from(extra.queue_bound));
        put(Field::ServicePs, extra.service.as_ps());
        put(Field::Workers, u64::from(extra.workers));
        put(Field::Clients, u64::from(extra.clients));
        put(Field::Violations, extra.violations);
        put(Field::Stolen, extra.stolen);
        put(Field::Steered, extra.steered);
        put(Field::MigratedOut, extra.migrations.sent - extra.migrations.sent_back);
        put(Field::MigratedIn, extra.migrations.adopted);
        put(Field::Hills, extra.patterns.hill);
        put(Field::Valleys, extra.patterns.valley);
        put(Field::Pairings, extra.patterns.pairing);
        put(Field::Repeated, extra.network.repeated);
        put(Field::Stale, extra.network.stale);
        put(Field::Expired, extra.network.expired);
        put(Field::Cancelled, extra.network.cancelled);
        put(Field::Unanswered, extra.network.unanswered);
        put(Field::Unread, extra.network.unread);
        put(Field::Operations, extra.network.operations);
        put(Field::OperationsRefused, extra.network.operations_refused);
        put(Field::QueueDepthRecent, u64::from(extra.queue_depth_recent));
        put(Field::SlotsUsedRecent, u64::from(extra.slots_used_recent));
        put(Field::Incomplete, u64::from(backend.incomplete()));
        put(Field::ReassemblerEntries, u64::from(backend.config().reassembler_entries));
        put(Field::EngineBusyPs, extra.busy_ps);
        put(Field::StartedTicks, extra.started_ticks);
        put(Field::WrittenTicks, extra.written_ticks);
        put(Field::Draining, u64::from(extra.is_draining));
        put(Field::SloPs, extra.slo.as_ps());
        put(Field::Inline, u64::from(extra.is_inline));
        if let Some(darc) = backend.darc() {
            put(Field::DarcPlans, u64::from(darc.plans()));
            put(Field::DarcGroups, darc.groups() as u64);
        }
    }

    /// Adds a gap to the list, in place of the oldest. Only the first engine's gaps are listed.
    pub(crate) fn add_gap(&mut self, from_ticks: u64, to_ticks: u64) {
        if self.section > 0 {
            return;
        }
        let at = gap_word(self.gaps);
        self.memory.words()[at].store(from_ticks, Ordering::Relaxed);
        self.memory.words()[at + 1].store(to_ticks, Ordering::Relaxed);
        self.gaps += 1;
        // Release: a reader that sees the number (Acquire) sees the entry.
        self.memory.words()[Field::Gaps as usize].store(self.gaps, Ordering::Release);
    }
}
