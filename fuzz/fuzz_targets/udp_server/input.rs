//! The fuzzer's input: a small server, and the datagrams it receives.

use crate::udp_raw::{MTU, NO_BUDGET, Packet, cancel, pull};
use arbitrary::Arbitrary;
use nebula::{Queueing, ServerConfig, Span};

#[derive(Arbitrary, Debug)]
pub(crate) struct Input {
    kind: u8,
    pub(crate) ops: Vec<Op>,
}

#[derive(Arbitrary, Debug)]
pub(crate) enum Op {
    /// Bytes from an unvalidated address, as they are and with a valid checksum.
    Bytes(Vec<u8>),
    /// A frame from an unvalidated address, with the client's token.
    Header {
        kind: u8,
        version: u8,
        is_this_run: bool,
        body: Vec<u8>,
    },
    /// Any bytes, in a frame of the client.
    Body(Vec<u8>),
    Messages(Vec<Message>),
    Wait {
        us: u16,
    },
}

#[derive(Arbitrary, Debug)]
pub(crate) enum Message {
    Request {
        tid: u8,
        bytes: u16,
        pkt_idx: u8,
        wants_ack: bool,
        budget_us: Option<u16>,
        /// Microseconds since its stamp; negative if ahead.
        age_us: i16,
        /// The payload's bytes beyond the header's length, or missing from it.
        excess: i8,
    },
    Pull {
        tid: u8,
        first: u16,
        bitmap: u64,
    },
    Cancel {
        tid: u8,
    },
    /// Removes this many bytes from the end.
    Cut {
        tid: u8,
        by: u8,
    },
}

impl Input {
    pub(crate) fn config(&self) -> ServerConfig {
        let unbounded = Queueing::Unbounded { recv_buffer_bytes: 1 << 12 };
        ServerConfig::default()
            .inline(true)
            .rpc_bytes_max(4096)
            .reply_bytes_max(4096)
            .retention_rpcs(1)
            .retention_bytes(0)
            .queueing(if self.kind & 1 == 0 { unbounded } else { Queueing::SloBounded })
            .reassembly_timeout(Span::from_ms(10))
            .policy(if self.kind & 2 == 0 { nebula::Policy::Jbsq(2) } else { nebula::Policy::Rss })
    }
}

impl Message {
    /// The payload is filled by [`Executions::mark`](crate::executions::Executions::mark).
    pub(crate) fn bytes(&self, now_ns: u64) -> Vec<u8> {
        match *self {
            Self::Request { tid, bytes, pkt_idx, wants_ack, budget_us, age_us, excess } => {
                let rest = usize::from(bytes).saturating_sub(usize::from(pkt_idx) * MTU).min(MTU);
                let excess = if excess.unsigned_abs() < 120 { 0 } else { isize::from(excess) };
                let payload = vec![0; rest.saturating_add_signed(excess)];
                let packet = Packet {
                    tid: tid.into(),
                    rpc_bytes: bytes.into(),
                    pkt_idx: pkt_idx.into(),
                    wants_ack,
                    // Messages of one number have it set or not.
                    wants_grants: age_us % 2 == 0,
                    budget_us: budget_us.map_or(NO_BUDGET, u32::from),
                    stamp_ns: now_ns.saturating_add_signed(-1000 * i64::from(age_us)),
                    payload: &payload,
                };
                packet.bytes()
            }
            Self::Pull { tid, first, bitmap } => pull(tid.into(), first, bitmap),
            Self::Cancel { tid } => cancel(tid.into(), now_ns),
            Self::Cut { tid, by } => {
                let whole = Packet::whole(tid.into(), now_ns, &[0; 40]).bytes();
                whole[..whole.len() - usize::from(by).clamp(1, whole.len())].to_vec()
            }
        }
    }
}
