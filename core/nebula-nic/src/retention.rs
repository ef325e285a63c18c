//! Station 2, too: *has this RPC arrived before?*
//!
//! On a network that loses packets, a client retransmits an RPC without an answer, which the server
//! may have executed already. So the server remembers the state of the last RPCs of all clients: in
//! the server, replied to (and where the reply is stored), NACKed, or faulted. The memory is
//! bounded, and a forgotten RPC must not run again either. Hence the *floor*:
//!
//! ```text
//!              forgotten, or never seen: refused as stale │ never seen: new
//! stamps  ───────────────────────────────────────────── floor ─────────────────────▶
//!              remembered: whatever its stamp, its fate
//! ```
//!
//! Each RPC has a stamp, the same in every transmission. Forgetting an RPC raises the floor to its
//! stamp. An RPC that is not remembered and has a stamp at or below the floor is refused. An RPC in
//! the server is never forgotten; of the others, the one that ended first is forgotten first.
//!
//! It keeps nothing per client, reads no clock and holds no bytes: the caller stores replies in a
//! ring, and this module only tracks which bytes belong to which reply.
//!
//! Departs: the papers' link loses nothing, so every request arrives once and nothing has to be
//! remembered. Where datagrams are lost and sent again, the last RPCs are remembered, in memory
//! whose size does not depend on the number of clients.

mod entry;
mod index;
mod order;
mod replies;

pub use entry::{EntryId, ReplyAt, RetentionFull, RetentionKey, Seen};

use crate::verdict::NackReason;
use alloc::boxed::Box;
use alloc::vec;
use entry::{Entry, Fate};
use index::Index;
use order::Order;
use replies::Replies;

/// The most entries that a [`Retention`] can have.
pub const RETENTION_ENTRIES_MAX: u32 = 1 << 30;

/// The capacity of a [`Retention`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RetentionConfig {
    /// RPCs remembered, including those in the server; rounded up to a power of two.
    pub entries: u32,
    /// Bytes of the ring of replies; rounded up to a power of two.
    pub reply_bytes: usize,
    /// Seed of the hash of the table. Keep it secret if clients may be hostile.
    pub seed: u64,
}

impl RetentionConfig {
    /// This many RPCs and bytes of replies, and seed 0.
    #[must_use]
    pub const fn new(entries: u32, reply_bytes: usize) -> Self {
        Self { entries, reply_bytes, seed: 0 }
    }

    /// Sets the seed.
    #[must_use]
    pub const fn seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }
}

/// The bounded memory of the last RPCs and their outcomes, so that none is executed twice.
///
/// For each request, call [`look`](Self::look). After [`Seen::New`], decide and report the decision
/// at once: [`begin`](Self::begin) or [`nacked`](Self::nacked). Every RPC that began ends with
/// exactly one `end_*`. Cost: expected O(1) for each call, and no allocation after construction; 76
/// B per entry in addition to the ring of replies.
///
/// # Invariants
///
/// - After `begin` or `nacked`, `look` with the same key and stamp never says `New` again.
/// - An RPC that has ended is remembered at least until [`entries`](Self::entries) −
///   [`in_server`](Self::in_server) others have ended after it.
/// - The floor never decreases.
///
/// # Examples
///
/// ```
/// use nebula_nic::{NodeId, Retention, RetentionConfig, RetentionKey, RpcKey, Seen, TransferId};
///
/// let mut retention = Retention::new(RetentionConfig::new(2, 4096));
/// let key = |tid| RetentionKey { rpc: RpcKey { snid: NodeId(3), tid: TransferId(tid) }, tag: 0 };
/// assert_eq!(retention.look(key(0), 100), Seen::New);
/// let rpc = retention.begin(key(0), 100, 17)?;
/// assert_eq!(retention.look(key(0), 100), Seen::InServer(rpc)); // its client waits on
///
/// let at = retention.end_replied(rpc, 64).expect("the ring is longer");
/// assert_eq!(retention.look(key(0), 100), Seen::Replied(at)); // the reply once more
///
/// for tid in 1..3 {
///     let rpc = retention.begin(key(tid), 100 + u64::from(tid), 0)?;
///     retention.end_faulted(rpc, 2);
/// }
/// assert_eq!(retention.look(key(0), 100), Seen::Stale); // forgotten, and not executed again
/// assert_eq!(retention.look(key(9), 103), Seen::New);
/// # Ok::<(), nebula_nic::RetentionFull>(())
/// ```
#[derive(Clone, Debug)]
pub struct Retention {
    entries: Box<[Entry]>,
    index: Index,
    /// Entries of ended RPCs and unused entries, the next to be reused first.
    over: Order,
    replies: Replies,
    remembered: u32,
    floor_ns: Option<u64>,
}

impl Retention {
    /// A memory without any RPC.
    ///
    /// # Panics
    ///
    /// With more than [`RETENTION_ENTRIES_MAX`] entries, or half of the address space for replies.
    #[must_use]
    pub fn new(config: RetentionConfig) -> Self {
        let entries = config.entries.next_power_of_two();
        assert!(entries <= RETENTION_ENTRIES_MAX, "a retention has at most 2^30 entries");
        // Not zeros: the system provides zeroed pages on first access, at the first RPCs' cost.
        let none = Entry { stamp_ns: u64::MAX, ..Entry::default() };
        Self {
            entries: vec![none; entries as usize].into(),
            index: Index::new(entries, config.seed),
            over: Order::all(entries),
            replies: Replies::new(config.reply_bytes),
            remembered: 0,
            floor_ns: None,
        }
    }

    /// The state of an RPC whose request has arrived with `stamp_ns`. The stamp counts only if the
    /// RPC is not remembered.
    #[must_use]
    #[inline(always)]
    pub fn look(&self, key: RetentionKey, stamp_ns: u64) -> Seen {
        let is_stale = self.floor_ns.is_some_and(|floor| stamp_ns <= floor);
        self.recall(key).unwrap_or(if is_stale { Seen::Stale } else { Seen::New })
    }

    /// For messages without a stamp: the RPC's state if remembered. Never `Some(Seen::New)`.
    #[must_use]
    #[inline(always)]
    pub fn recall(&self, key: RetentionKey) -> Option<Seen> {
        let id = self.index.find(&self.entries, key)?;
        let entry = &self.entries[id.index()];
        Some(match entry.fate {
            Fate::InServer => Seen::InServer(id),
            Fate::Replied if self.replies.has(entry.reply()) => Seen::Replied(entry.reply()),
            Fate::Nacked(reason) => Seen::Nacked(reason),
            Fate::Faulted(code) => Seen::Faulted(code),
            Fate::Replied | Fate::None => Seen::Stale,
        })
    }

    /// Records that an RPC that [is new](Seen::New) is in the server. `note` belongs to the caller.
    ///
    /// # Errors
    ///
    /// [`RetentionFull`] when every entry's RPC is in the server. Nothing has changed.
    #[inline]
    pub fn begin(&mut self, key: RetentionKey, stamp_ns: u64, note: u32) -> Result<EntryId, RetentionFull> {
        let id = self.over.pop().ok_or(RetentionFull)?;
        self.replace(id, Entry { key, stamp_ns, detail: note, fate: Fate::InServer, ..Entry::default() });
        Ok(id)
    }

    /// Records that an RPC that [is new](Seen::New) was refused at admission.
    ///
    /// # Errors
    ///
    /// [`RetentionFull`] when every entry's RPC is in the server. Nothing has changed: do not
    /// reply, since the NACK would not be remembered.
    pub fn nacked(&mut self, key: RetentionKey, stamp_ns: u64, reason: NackReason) -> Result<(), RetentionFull> {
        let id = self.over.pop().ok_or(RetentionFull)?;
        self.replace(id, Entry { key, stamp_ns, fate: Fate::Nacked(reason), ..Entry::default() });
        self.over.push(id);
        Ok(())
    }

    /// Ends an RPC with a reply of `bytes`, and returns where in the ring of replies to store it.
    ///
    /// `None`, and nothing changes, if the ring is too short: end the RPC in another way.
    ///
    /// # Panics
    ///
    /// If the entry's RPC is not in the server.
    #[inline]
    pub fn end_replied(&mut self, id: EntryId, bytes: u32) -> Option<ReplyAt> {
        self.assert_in_server(id);
        let at = self.replies.alloc(bytes)?;
        let entry = &mut self.entries[id.index()];
        (entry.reply_start, entry.detail) = (at.start, at.bytes);
        self.end(id, Fate::Replied);
        Some(at)
    }

    /// Ends an RPC that no core has begun or will begin.
    ///
    /// # Panics
    ///
    /// If the entry's RPC is not in the server.
    pub fn end_nacked(&mut self, id: EntryId, reason: NackReason) {
        self.assert_in_server(id);
        self.end(id, Fate::Nacked(reason));
    }

    /// Ends an RPC that was begun and has no reply; the caller defines `code`.
    ///
    /// # Panics
    ///
    /// If the entry's RPC is not in the server.
    pub fn end_faulted(&mut self, id: EntryId, code: u8) {
        self.assert_in_server(id);
        self.end(id, Fate::Faulted(code));
    }

    /// The caller's note on an RPC in the server.
    ///
    /// # Panics
    ///
    /// If the entry's RPC is not in the server.
    #[must_use]
    pub fn note(&self, id: EntryId) -> u32 {
        self.assert_in_server(id);
        self.entries[id.index()].detail
    }

    /// Sets the caller's note on an RPC in the server.
    ///
    /// # Panics
    ///
    /// If the entry's RPC is not in the server.
    pub fn set_note(&mut self, id: EntryId, note: u32) {
        self.assert_in_server(id);
        self.entries[id.index()].detail = note;
    }

    /// The key of an RPC in the server.
    ///
    /// # Panics
    ///
    /// If the entry's RPC is not in the server.
    #[must_use]
    pub fn key(&self, id: EntryId) -> RetentionKey {
        self.assert_in_server(id);
        self.entries[id.index()].key
    }

    /// The stamp of an RPC in the server.
    ///
    /// # Panics
    ///
    /// If the entry's RPC is not in the server.
    #[must_use]
    pub fn stamp_ns(&self, id: EntryId) -> u64 {
        self.assert_in_server(id);
        self.entries[id.index()].stamp_ns
    }

    /// Whether another reply of `bytes` bytes would overwrite the ring from
    /// [`start`](ReplyAt::start) on.
    #[must_use]
    #[inline]
    pub const fn overwrites(&self, start: u64, bytes: u32) -> bool {
        self.replies.reaches(start, bytes)
    }

    /// The offset of a reply in the caller's ring of [`reply_bytes`](Self::reply_bytes); replies
    /// never wrap its end.
    #[must_use]
    #[inline]
    pub const fn reply_offset(&self, at: ReplyAt) -> usize {
        self.replies.offset(at)
    }

    /// Bytes of the ring of replies.
    #[must_use]
    pub const fn reply_bytes(&self) -> usize {
        self.replies.capacity()
    }

    /// RPCs that can be remembered.
    #[must_use]
    pub const fn entries(&self) -> usize {
        self.entries.len()
    }

    /// RPCs that are remembered.
    #[must_use]
    pub const fn len(&self) -> u32 {
        self.remembered
    }

    /// Whether nothing is remembered.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.remembered == 0
    }

    /// RPCs in the server.
    #[must_use]
    #[inline]
    pub const fn in_server(&self) -> u32 {
        self.over.free()
    }

    /// How many RPCs may [begin](Self::begin) before one ends.
    #[must_use]
    #[inline]
    pub const fn room(&self) -> u32 {
        self.over.len()
    }

    /// Whether every entry's RPC is in the server: then [`begin`](Self::begin) and
    /// [`nacked`](Self::nacked) fail.
    #[must_use]
    #[inline]
    pub const fn is_full(&self) -> bool {
        self.over.is_empty()
    }

    /// The highest stamp of a forgotten RPC, if any: an unknown RPC that is not later is stale.
    #[must_use]
    pub const fn floor_ns(&self) -> Option<u64> {
        self.floor_ns
    }

    #[inline]
    fn replace(&mut self, id: EntryId, entry: Entry) {
        debug_assert!(self.index.find(&self.entries, entry.key).is_none(), "only new RPCs are added");
        let old = &self.entries[id.index()];
        if old.fate == Fate::None {
            self.remembered += 1;
        } else {
            self.floor_ns = self.floor_ns.max(Some(old.stamp_ns));
            self.index.remove(old.key, id);
        }
        self.entries[id.index()] = entry;
        self.index.insert(entry.key, id);
    }

    #[inline]
    fn end(&mut self, id: EntryId, fate: Fate) {
        self.entries[id.index()].fate = fate;
        self.over.push(id);
    }

    #[inline]
    fn assert_in_server(&self, id: EntryId) {
        assert!(self.entries[id.index()].fate == Fate::InServer, "the RPC of this entry is over");
    }
}
