//! A server's status page: counters that its clients can read and only the server can write.
//!
//! The engine writes the page after a number of turns, and when it becomes idle. Readers map the page, so reading costs the server
//! nothing. The page also lists *gaps*: pauses in which the engine's thread did not run, in ticks of the machine's clock. With them a
//! client can tell the machine's pauses from the server's.

use nebula_nic::{Backend, Migrations, NackReason, Span};
use nebula_sys::clock::Clock;
use nebula_sys::shared::{ReadOnlyMemory, SharedMemory};
use nebula_sys::sync::Ordering;

/// Gaps that the page remembers.
const GAPS: usize = 4096;
/// Words before the gaps.
const COUNTER_WORDS: usize = 32;
/// Bytes of the page of one engine.
const STATUS_BYTES: usize = (COUNTER_WORDS + 2 * GAPS) * 8;

/// Bytes of the page of a server with `engines` engines: the counters of those behind the first stand behind the gaps.
pub(crate) const fn status_bytes(engines: u16) -> usize {
    STATUS_BYTES + (engines as usize - 1) * COUNTER_WORDS * 8
}

/// Where a counter of an engine stands.
const fn word_of(section: usize, field: Field) -> usize {
    if section == 0 { field as usize } else { STATUS_BYTES / 8 + (section - 1) * COUNTER_WORDS + field as usize }
}

/// Where each counter stands.
#[derive(Clone, Copy)]
enum Field {
    Packets,
    Completed,
    Dispatched,
    Freed,
    Abandoned,
    NackedBufferFull,
    NackedReassemblerFull,
    NackedQueueBound,
    NackedTooLarge,
    Dropped,
    Slots,
    SlotsUsed,
    SlotsUsedMax,
    QueueDepth,
    QueueDepthMax,
    QueueBound,
    ServicePs,
    Workers,
    Clients,
    Violations,
    Gaps,
    Stolen,
    MigratedOut,
    MigratedIn,
    Repeated,
    Stale,
    Expired,
    Cancelled,
    Steered,
    Unanswered,
    Unread,
}

/// The server's end of the page.
#[derive(Debug)]
pub(crate) struct StatusPage {
    memory: std::sync::Arc<SharedMemory>,
    /// Which engine's counters these are.
    section: usize,
    gaps: u64,
}

/// What the engine knows beside its back end.
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
    pub(crate) network: NetworkCounters,
}

/// What a transport counts on which packets come again, late or never.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct NetworkCounters {
    /// Packets of requests that had come before.
    pub(crate) repeated: u64,
    pub(crate) stale: u64,
    pub(crate) expired: u64,
    pub(crate) cancelled: u64,
    /// Requests that were neither served nor answered for lack of time.
    pub(crate) unanswered: u64,
    /// Datagrams of which nothing was read, for the same reason.
    pub(crate) unread: u64,
    /// RPCs of several packets refused to keep room for those of one.
    pub(crate) crowded: u64,
}

impl StatusPage {
    /// The page of engine `section`.
    pub(crate) fn new(memory: std::sync::Arc<SharedMemory>, section: usize) -> Self {
        Self { memory, section, gaps: 0 }
    }

    fn put(&self, field: Field, value: u64) {
        self.memory.words()[word_of(self.section, field)].store(value, Ordering::Relaxed);
    }

    /// Writes the counters.
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
        put(Field::Repeated, extra.network.repeated);
        put(Field::Stale, extra.network.stale);
        put(Field::Expired, extra.network.expired);
        put(Field::Cancelled, extra.network.cancelled);
        put(Field::Unanswered, extra.network.unanswered);
        put(Field::Unread, extra.network.unread);
    }

    /// Adds a gap to the list; the oldest falls off. Of several engines the first one's gaps are listed.
    pub(crate) fn add_gap(&mut self, from_ticks: u64, to_ticks: u64) {
        if self.section > 0 {
            return;
        }
        let at = COUNTER_WORDS + 2 * usize::try_from(self.gaps % GAPS as u64).unwrap_or(0);
        self.memory.words()[at].store(from_ticks, Ordering::Relaxed);
        self.memory.words()[at + 1].store(to_ticks, Ordering::Relaxed);
        self.gaps += 1;
        // Release: pairs with the Acquire of a reader's load; the entry is written before it counts.
        self.memory.words()[Field::Gaps as usize].store(self.gaps, Ordering::Release);
    }
}

/// A server's counters. Each is exact, but they are not all read at the same instant.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Status {
    /// Packets seen.
    pub packets: u64,
    /// RPCs whose packets have all arrived.
    pub completed: u64,
    /// RPCs dispatched to a worker.
    pub dispatched: u64,
    /// RPCs served and freed.
    pub freed: u64,
    /// RPCs whose packets did not all arrive in time.
    pub abandoned: u64,
    /// RPCs NACKed because the receive buffer was full.
    pub nacked_buffer_full: u64,
    /// RPCs NACKed because the reassembler was full.
    pub nacked_reassembler_full: u64,
    /// RPCs NACKed because the queue was deeper than the SLO allows.
    pub nacked_queue_bound: u64,
    /// RPCs NACKed because they were longer than the server accepts.
    pub nacked_too_large: u64,
    /// Packets ignored.
    pub dropped: u64,
    /// Slots of the receive buffer, of 64 bytes.
    pub slots: u64,
    /// Slots held.
    pub slots_used: u64,
    /// The most slots held at once.
    pub slots_used_max: u64,
    /// RPCs waiting for a worker.
    pub queue_depth: u64,
    /// The most RPCs that waited at once.
    pub queue_depth_max: u64,
    /// Queue depth at which the next RPC is NACKed.
    pub queue_bound: u64,
    /// Measured mean service time.
    pub service: Span,
    /// Workers.
    pub workers: u64,
    /// Clients connected. Over `udp://`, where the server keeps no state for clients: handshakes so far.
    pub clients: u64,
    /// Violations of the protocol. Over `shm://` the client is disconnected.
    pub violations: u64,
    /// Under `work-stealing`: RPCs served by another worker than the one they were dispatched to.
    pub stolen: u64,
    /// RPCs whose payload their worker had fetched before it began them. Always 0 with an inline worker, whose copy brings every payload into its
    /// core's cache.
    pub steered: u64,
    /// Under `altocumulus:G`: RPCs handed to another group of workers, counted by the sending groups.
    pub migrated_out: u64,
    /// The same RPCs, counted by the receiving groups.
    pub migrated_in: u64,
    /// Over `udp://`: packets of requests that had arrived before.
    pub repeated: u64,
    /// Over `udp://`: RPCs refused because they were older than what the server remembers.
    pub nacked_stale: u64,
    /// Over `udp://`: RPCs refused because their deadline was over before a worker began them.
    pub nacked_expired: u64,
    /// Over `udp://`: RPCs cancelled by their clients before a worker began them.
    pub cancelled: u64,
    /// Over `udp://`: requests that were neither served nor refused, since refusing them would have taken time from serving others.
    pub unanswered: u64,
    /// Over `udp://`: datagrams that were not even read, for the same reason.
    pub unread: u64,
}

impl Status {
    /// RPCs NACKed, for whatever reason.
    #[must_use]
    pub fn nacked(&self) -> u64 {
        self.nacked_buffer_full
            + self.nacked_reassembler_full
            + self.nacked_queue_bound
            + self.nacked_too_large
            + self.nacked_stale
            + self.nacked_expired
    }

    /// Bytes of the receive buffer.
    #[must_use]
    pub fn buffer_bytes(&self) -> u64 {
        self.slots * u64::from(nebula_nic::SLOT_BYTES)
    }
}

/// A pause in which the engine's thread did not run, in picoseconds of [`Clock::now_ps`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gap {
    /// The last time before the pause.
    pub from_ps: u64,
    /// The first time after the pause.
    pub to_ps: u64,
}

/// Reads a server's counters. Clones read the same page.
#[derive(Clone, Debug)]
pub struct StatusReader {
    memory: std::sync::Arc<ReadOnlyMemory>,
}

impl StatusReader {
    pub(crate) fn new(memory: ReadOnlyMemory) -> Self {
        Self { memory: std::sync::Arc::new(memory) }
    }

    /// Of several engines: the sum of counters, and the largest of other values.
    fn get(&self, field: Field) -> u64 {
        let each = (0..).map_while(|section| self.memory.load(word_of(section, field)));
        match field {
            Field::QueueDepthMax | Field::QueueBound | Field::ServicePs => each.max().unwrap_or(0),
            _ => each.sum(),
        }
    }

    /// The counters as the server last wrote them: at most some thousand RPCs ago, or when it last became idle.
    #[must_use]
    pub fn read(&self) -> Status {
        Status {
            packets: self.get(Field::Packets),
            completed: self.get(Field::Completed),
            dispatched: self.get(Field::Dispatched),
            freed: self.get(Field::Freed),
            abandoned: self.get(Field::Abandoned),
            nacked_buffer_full: self.get(Field::NackedBufferFull),
            nacked_reassembler_full: self.get(Field::NackedReassemblerFull),
            nacked_queue_bound: self.get(Field::NackedQueueBound),
            nacked_too_large: self.get(Field::NackedTooLarge),
            dropped: self.get(Field::Dropped),
            slots: self.get(Field::Slots),
            slots_used: self.get(Field::SlotsUsed),
            slots_used_max: self.get(Field::SlotsUsedMax),
            queue_depth: self.get(Field::QueueDepth),
            queue_depth_max: self.get(Field::QueueDepthMax),
            queue_bound: self.get(Field::QueueBound),
            service: Span::from_ps(self.get(Field::ServicePs)),
            workers: self.get(Field::Workers),
            clients: self.get(Field::Clients),
            violations: self.get(Field::Violations),
            stolen: self.get(Field::Stolen),
            steered: self.get(Field::Steered),
            migrated_out: self.get(Field::MigratedOut),
            migrated_in: self.get(Field::MigratedIn),
            repeated: self.get(Field::Repeated),
            nacked_stale: self.get(Field::Stale),
            nacked_expired: self.get(Field::Expired),
            cancelled: self.get(Field::Cancelled),
            unanswered: self.get(Field::Unanswered),
            unread: self.get(Field::Unread),
        }
    }

    /// The number of gaps so far.
    #[must_use]
    pub fn gaps_seen(&self) -> u64 {
        self.memory.load(Field::Gaps as usize).unwrap_or(0)
    }

    /// The gaps from number `since` on, oldest first, as far as the page still lists them: the latest 4,095.
    #[must_use]
    pub fn gaps(&self, since: u64, clock: Clock) -> Vec<Gap> {
        let seen = self.gaps_seen();
        let oldest = seen.saturating_sub(GAPS as u64 - 1);
        (since.max(oldest)..seen).filter_map(|number| self.gap(number, clock)).collect()
    }

    fn gap(&self, number: u64, clock: Clock) -> Option<Gap> {
        let at = COUNTER_WORDS + 2 * usize::try_from(number % GAPS as u64).ok()?;
        let (from, to) = (self.memory.load(at)?, self.memory.load(at + 1)?);
        (from < to).then(|| Gap { from_ps: clock.at_ps(from), to_ps: clock.at_ps(to) })
    }
}

const _: () = assert!((Field::Steered as usize) < COUNTER_WORDS && STATUS_BYTES.is_multiple_of(64));
