//! The decisions of the back end: write, refuse or drop; dispatch to a core; report as abandoned.
//!
//! A NACK is an outcome of the domain, not an error.

use crate::id::{CoreId, GroupId, NodeId, RpcKey, SlotRange, TransferId};
use crate::time::Timestamp;

/// An unknown reason.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown reason \"{text}\": use one of {names}")]
pub struct ParseReasonError {
    text: alloc::string::String,
    names: &'static str,
}

/// An enum of reasons with codes and spellings, from one table.
macro_rules! reasons {
    ($(#[$doc:meta])* $name:ident { $($(#[$variant_doc:meta])* $variant:ident = $code:literal, $text:literal;)+ }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[repr(u8)]
        pub enum $name { $($(#[$variant_doc])* $variant = $code,)+ }

        impl $name {
            /// The reason's number, from 1.
            #[must_use]
            #[inline]
            pub const fn code(self) -> u8 {
                self as u8
            }

            /// The reason with that number.
            #[must_use]
            pub const fn from_code(code: u8) -> Option<Self> {
                match code { $($code => Some(Self::$variant),)+ _ => None }
            }
        }

        spelled! {
            $name { $($variant = $text),+ } else |text| -> ParseReasonError {
                ParseReasonError { text: text.into(), names: concat!($($text, " "),+).trim_ascii_end() }
            }
        }
    };
}

reasons! {
    /// Why a request is refused, as reported to its sender.
    ///
    /// A [`Backend`](crate::Backend) gives the first four, at once. The others belong to transports
    /// that lose packets. Only with [`Stale`](Self::Stale) is it unknown whether the RPC was
    /// executed.
    NackReason {
        /// No run of free slots is long enough.
        BufferFull = 1, "buffer-full";
        /// As many RPCs are being reassembled as the table holds.
        ReassemblerFull = 2, "reassembler-full";
        /// As many RPCs wait for a core as the SLO allows.
        QueueBound = 3, "queue-bound";
        /// The RPC is longer than the configuration allows.
        TooLarge = 4, "too-large";
        /// It is older than the server's memory: it may have been executed, and will not be now.
        Stale = 5, "stale";
        /// Its deadline has passed, and no core had begun it.
        Expired = 6, "expired";
        /// It timed out before all its packets had arrived.
        Incomplete = 7, "incomplete";
        /// Its sender has cancelled it before a core had begun it.
        Cancelled = 8, "cancelled";
    }
}

impl NackReason {
    /// A service's own refusal: the client may try again, as if the queue had been full.
    pub const BY_SERVICE: Self = Self::QueueBound;

    /// Whether the same request may succeed later: not if it is too large, too late, or cancelled.
    #[must_use]
    pub const fn may_pass(self) -> bool {
        match self {
            Self::BufferFull | Self::ReassemblerFull | Self::QueueBound | Self::Incomplete => true,
            Self::TooLarge | Self::Stale | Self::Expired | Self::Cancelled => false,
        }
    }
}

reasons! {
    /// Why a packet is ignored. Each drop is counted; none is answered.
    DropReason {
        /// This packet of the RPC has arrived before.
        Duplicate = 1, "duplicate";
        /// The packet disagrees with earlier packets about the size of the RPC.
        SizeMismatch = 2, "size-mismatch";
        /// The RPC has fewer packets than the index says.
        IndexOutOfRange = 3, "index-out-of-range";
        /// A reply, a NACK or an acknowledgment: for a requester, not for a back end.
        NotARequest = 4, "not-a-request";
        /// The RPC has been NACKed by an earlier packet.
        AlreadyNacked = 5, "already-nacked";
    }
}

impl DropReason {
    /// The reason for a NACK to a sender that waits for one, if the packet's RPC has been refused
    /// without one: that it may be sent again.
    #[must_use]
    pub const fn nack(self) -> Option<NackReason> {
        match self {
            Self::AlreadyNacked => Some(NackReason::BufferFull),
            Self::Duplicate | Self::SizeMismatch | Self::IndexOutOfRange | Self::NotARequest => None,
        }
    }
}

/// The decision about one packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Its payload goes into the receive buffer.
    Write {
        /// Slots of the whole RPC.
        slots: SlotRange,
        /// Where this packet's payload begins in them, in bytes.
        offset_bytes: u32,
        /// Payload of this packet, in bytes.
        bytes: u32,
        /// Whether the RPC is complete with this packet and waits for a core.
        complete: bool,
    },
    /// The RPC is refused; tell its sender.
    Nack {
        /// Why.
        reason: NackReason,
    },
    /// The packet is ignored.
    Drop {
        /// Why.
        reason: DropReason,
    },
}

/// The notification that a complete RPC is in the receive buffer. It has the payload's place *and
/// length*, so that the core that gets it can prefetch all of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Arrival {
    /// Its key.
    pub rpc: RpcKey,
    /// The slots of its payload.
    pub slots: SlotRange,
    /// Its payload in bytes.
    pub bytes: u32,
    /// Hash of the key it is about.
    pub key_hash: u32,
    /// When its last packet arrived.
    pub arrived: Timestamp,
}

/// An [`Arrival`] as stored in a queue: whole words, written and read as such.
///
/// A narrow store that is soon followed by a wider load of the same bytes cannot be forwarded from
/// the store buffer: the load waits until all earlier stores have drained. In a runtime those are
/// replies on their way to another core's cache.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct PackedArrival([u64; 4]);

pub(crate) const fn pair(low: u32, high: u32) -> u64 {
    low as u64 | (high as u64) << 32
}

#[expect(clippy::cast_possible_truncation, reason = "the halves of a pair")]
pub(crate) const fn halves(pair: u64) -> (u32, u32) {
    (pair as u32, (pair >> 32) as u32)
}

impl From<Arrival> for PackedArrival {
    #[inline(always)]
    fn from(arrival: Arrival) -> Self {
        let Arrival { rpc, slots, bytes, key_hash, arrived } = arrival;
        let (rpc, slots) = (pair(rpc.snid.0, rpc.tid.0), pair(slots.start.0, slots.slots));
        Self([rpc, slots, pair(bytes, key_hash), arrived.as_ps()])
    }
}

impl From<PackedArrival> for Arrival {
    #[inline(always)]
    fn from(packed: PackedArrival) -> Self {
        let [rpc, slots, sizes, arrived] = packed.0;
        let ((snid, tid), (start, slots), (bytes, key_hash)) = (halves(rpc), halves(slots), halves(sizes));
        let rpc = RpcKey { snid: NodeId(snid), tid: TransferId(tid) };
        let (slots, arrived) = (SlotRange::new(start, slots), Timestamp::from_ps(arrived));
        Self { rpc, slots, bytes, key_hash, arrived }
    }
}

/// A core gets an RPC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dispatch {
    /// The core.
    pub core: CoreId,
    /// The RPC.
    pub arrival: Arrival,
}

/// An RPC that never completed, with the slots it held.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Abandoned {
    /// Its key.
    pub rpc: RpcKey,
    /// The slots it held; free again.
    pub slots: SlotRange,
}

impl Abandoned {
    /// Why its client gets no reply.
    pub const REASON: NackReason = NackReason::Incomplete;
}

/// Whether the slots that a core freed were its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Freed {
    /// They are free, and the core has one credit more.
    Taken,
    /// The core has one credit more; the slots belong to another group, which must get them back.
    Foreign {
        /// That group.
        origin: GroupId,
    },
    /// They were not exactly one RPC that the core holds: only a counter changed.
    Refused,
}
