//! The counters of a whole server, in one value.

use nebula_nic::Span;

/// A server's counters. Each is exact, but they are read at slightly different instants.
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
    /// Clients connected. Over `udp://`, where the server keeps no state for clients: handshakes so
    /// far.
    pub clients: u64,
    /// Over a [byte stream](crate::Framing): connections accepted so far.
    pub connections: u64,
    /// The same of those that were closed for lack of room.
    pub connections_refused: u64,
    /// Bytes that such clients have sent, in datagrams too.
    pub bytes_read: u64,
    /// Bytes that were sent to them.
    pub bytes_written: u64,
    /// Violations of the protocol. Over `shm://` the client is disconnected.
    pub violations: u64,
    /// Under `work-stealing`: RPCs served by another worker than the one they were dispatched to.
    pub stolen: u64,
    /// RPCs whose payload was fetched before their worker began them. Always 0 with an inline
    /// worker, whose copy brings every payload into its core's cache.
    pub steered: u64,
    /// Under `altocumulus:G`: RPCs handed to another group, counted by the sending groups.
    pub migrated_out: u64,
    /// The same RPCs, counted by the receiving groups.
    pub migrated_in: u64,
    /// Under `altocumulus:G`: decisions to hand RPCs over because the group's queue was far longer
    /// than all others ([`Pattern::Hill`](nebula_nic::schedule::Pattern::Hill)).
    pub migrations_hill: u64,
    /// The same, because another queue was far shorter than all others
    /// ([`Pattern::Valley`](nebula_nic::schedule::Pattern::Valley)).
    pub migrations_valley: u64,
    /// The same, in pairs of the longest with the shortest queue, and so on
    /// ([`Pattern::Pairing`](nebula_nic::schedule::Pattern::Pairing)).
    pub migrations_pairing: u64,
    /// Over `udp://`: packets of requests that had arrived before.
    pub repeated: u64,
    /// Over `udp://`: RPCs refused because they were older than the server's memory.
    pub nacked_stale: u64,
    /// Over `udp://`: RPCs refused because their deadline was over before a worker began them.
    pub nacked_expired: u64,
    /// RPCs cancelled by their clients before a worker began them.
    pub cancelled: u64,
    /// Over `udp://`: requests neither served nor refused, since refusing them would have taken
    /// time from others.
    pub unanswered: u64,
    /// Over `udp://`: datagrams that were not read, for the same reason.
    pub unread: u64,
    /// One-sided operations that engines have carried out, of up to 64 bytes each. Accesses to
    /// mapped memory do not count.
    pub operations: u64,
    /// One-sided operations that engines have refused.
    pub operations_refused: u64,
    /// The most RPCs that waited at the end of a turn, in the last one to two seconds.
    pub queue_depth_recent: u64,
    /// The most slots held when the page was written, in the last one to two seconds.
    pub slots_used_recent: u64,
    /// RPCs with missing packets: used entries of the reassembler.
    pub incomplete: u64,
    /// Entries of the reassembler.
    pub reassembler_entries: u64,
    /// Time of engines' turns with work, summed over all engines.
    pub engine_busy: Span,
    /// Engines.
    pub engines: u64,
    /// Under `darc`: plans of reserved cores, made so far.
    pub darc_plans: u64,
    /// Under `darc`: groups of types in the last plan.
    pub darc_groups: u64,
    /// When the server began, in ticks of the [machine's clock](nebula_sys::clock::Clock::ticks).
    pub started_ticks: u64,
    /// When the page was written last, likewise.
    pub written_ticks: u64,
    /// Whether the server drains: it refuses new RPCs and answers those inside.
    pub is_draining: bool,
    /// Whether each engine and its worker share one thread, and so the engine's time.
    pub is_inline: bool,
    /// The latency target.
    pub slo: Span,
}

impl Status {
    /// RPCs NACKed, for any reason.
    #[must_use]
    pub fn nacked(&self) -> u64 {
        self.nacked_buffer_full
            + self.nacked_reassembler_full
            + self.nacked_queue_bound
            + self.nacked_too_large
            + self.nacked_stale
            + self.nacked_expired
    }

    /// RPCs that clients have sent: completely received, never completed, or refused before.
    /// Requests [neither served nor refused](Self::unanswered) count too.
    #[must_use]
    pub fn offered(&self) -> u64 {
        let refused = self.nacked() - self.nacked_expired;
        self.completed + self.abandoned + refused + self.unanswered
    }

    /// Bytes of the receive buffer.
    #[must_use]
    pub fn buffer_bytes(&self) -> u64 {
        self.slots * u64::from(nebula_nic::SLOT_BYTES)
    }
}
