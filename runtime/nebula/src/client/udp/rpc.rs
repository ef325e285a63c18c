//! The record of an RPC until it is answered.

use crate::client::ticket::Ticket;
use crate::transport::udp::message::{NO_BUDGET, Request, Wants};
use nebula_nic::{Mtu, Span, Timestamp, TransferId};
use nebula_requester::{Download, Upload};

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Phase {
    #[default]
    Single,
    Upload(Upload),
    InServer,
    Download(Download),
}

/// An RPC at its place. The next one there uses its buffers again.
#[derive(Debug)]
pub(super) struct Rpc {
    pub(super) ticket: Ticket,
    pub(super) tid: TransferId,
    pub(super) key_hash: u32,
    pub(super) budget_us: u32,
    /// 0 until this try has been sent.
    pub(super) stamp_ns: u64,
    pub(super) deadline: Timestamp,
    pub(super) request: Vec<u8>,
    pub(super) reply: Vec<u8>,
    pub(super) phase: Phase,
    pub(super) granted: u32,
    pub(super) is_live: bool,
    pub(super) is_queued: bool,
    pub(super) is_overdue: bool,
    pub(super) is_operation: bool,
    pub(super) is_undelivered: bool,
}

impl Rpc {
    pub(super) fn new() -> Self {
        Self {
            ticket: Ticket(u64::MAX),
            tid: TransferId(0),
            key_hash: 0,
            budget_us: NO_BUDGET,
            stamp_ns: 0,
            deadline: Timestamp::ZERO,
            request: Vec::new(),
            reply: Vec::new(),
            phase: Phase::Single,
            granted: 0,
            is_live: false,
            is_queued: false,
            is_overdue: false,
            is_operation: false,
            is_undelivered: false,
        }
    }

    #[inline]
    pub(super) fn begin(&mut self, tid: TransferId, key_hash: u32, deadline: Timestamp, request: &[u8]) {
        (self.key_hash, self.deadline, self.is_operation) = (key_hash, deadline, false);
        self.request.clear();
        self.request.extend_from_slice(request);
        self.is_live = true;
        self.try_as(tid);
    }

    /// Begins a try under a new number.
    #[inline]
    pub(super) fn try_as(&mut self, tid: TransferId) {
        (self.tid, self.stamp_ns, self.phase, self.is_overdue) = (tid, 0, Phase::Single, false);
    }

    #[inline]
    pub(super) fn is_sent(&self) -> bool {
        self.stamp_ns != 0
    }

    /// For the first transmission under this number: stamps it with the server's time, counts
    /// packets.
    #[inline]
    pub(super) fn stamp(&mut self, now: Timestamp, server_ns: u64, mtu: Mtu) {
        self.stamp_ns = server_ns;
        self.budget_us = budget_us(self.deadline - now);
        let packets = mtu.packets(self.bytes());
        if packets > 1 {
            (self.phase, self.granted) = (Phase::Upload(Upload::new(packets)), 0);
        }
    }

    #[inline]
    fn bytes(&self) -> u32 {
        u32::try_from(self.request.len()).unwrap_or(u32::MAX)
    }

    #[inline]
    pub(super) fn packet(&self, mtu: Mtu, pkt_idx: u32, wants: Wants) -> Request<'_> {
        let &Self { tid, key_hash, budget_us, stamp_ns, .. } = self;
        let from = (pkt_idx * mtu.bytes()) as usize;
        let to = (from + mtu.bytes() as usize).min(self.request.len());
        let pkt_idx = u16::try_from(pkt_idx).unwrap_or(u16::MAX);
        let payload = &self.request[from.min(to)..to];
        Request { tid, rpc_bytes: self.bytes(), pkt_idx, wants, key_hash, budget_us, stamp_ns, payload }
    }

    pub(super) fn write(&mut self, offset_bytes: u32, payload: &[u8]) {
        let (from, to) = (offset_bytes as usize, offset_bytes as usize + payload.len());
        if self.reply.len() < to {
            self.reply.resize(to, 0);
        }
        self.reply[from..to].copy_from_slice(payload);
    }

    pub(super) fn buffer_bytes(&self) -> usize {
        self.request.capacity() + self.reply.capacity()
    }
}

/// The deadline as the server receives it; none if it is too long for the field.
fn budget_us(left: Span) -> u32 {
    u32::try_from(left.as_ps() / 1_000_000).unwrap_or(NO_BUDGET)
}
