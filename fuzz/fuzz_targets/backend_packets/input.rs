//! The fuzzer's input: a tiny configuration and events, from few values, so that they collide
//! often.

use arbitrary::Arbitrary;
use nebula_nic::{BackendConfig, Header, Kind, Mtu, NodeId, Policy, ScrubMode, Slot, SlotRange, Span, TransferId};

#[derive(Debug, Arbitrary)]
pub struct Input {
    pub config: Config,
    pub ops: Vec<Op>,
}

#[derive(Debug, Arbitrary)]
pub struct Config {
    cores: u8,
    policy: u8,
    slots: u8,
    rpc_slots_max: u8,
    mtu: u8,
    entries: u8,
    queue_bound: u8,
    queue_capacity: u8,
    scrubs_after_nack: bool,
    seed: u8,
}

impl Config {
    /// Usually valid; an invalid configuration tests the builder's checks.
    pub fn build(&self) -> BackendConfig {
        let cores = [1, 2, 3, 64, 65, 130][usize::from(self.cores % 6)];
        let policy = [
            Policy::Jbsq(2),
            Policy::Jbsq(1),
            Policy::Jbsq(3),
            Policy::SingleQueue,
            Policy::Rss,
            Policy::RoundRobin,
            Policy::Random,
            Policy::KeyHash,
        ][usize::from(self.policy % 8)];
        let mtu = [Mtu::try_new(64), Mtu::try_new(128), Mtu::try_new(192)][usize::from(self.mtu % 3)];
        let config = BackendConfig::new(cores, policy)
            .slots(u32::from(self.slots % 140))
            .rpc_bytes_max(u32::from(self.rpc_slots_max % 80) * 64 + 1)
            .mtu(mtu.expect("multiples of 64"))
            .reassembler_entries(u32::from(self.entries % 5))
            .queue_bound(u32::from(self.queue_bound % 12))
            .scrub(if self.scrubs_after_nack { ScrubMode::AfterNack } else { ScrubMode::OnFull })
            .reassembly_timeout(Span::from_ns(100))
            .seed(u64::from(self.seed));
        // As many places as slots, the exact number needed, or a few more.
        match self.queue_capacity % 8 {
            0 => config,
            more => config.queue_capacity(config.rpcs_waiting_max() + u32::from(more - 1)),
        }
    }
}

#[derive(Debug, Clone, Copy, Arbitrary)]
pub enum Op {
    Packet(Packet),
    /// A core ends one of its RPCs.
    FreeHeld {
        which: u8,
    },
    /// A core frees an arbitrary range.
    Free {
        core: u8,
        start: u8,
        slots: u8,
    },
    Wait {
        ns: u8,
    },
    PeerGone {
        snid: u8,
    },
    QueueBound {
        waiting: u8,
    },
}

#[derive(Debug, Clone, Copy, Arbitrary)]
pub struct Packet {
    kind: u8,
    rpc: u8,
    rpc_bytes: u16,
    pkt_idx: u8,
    key_hash: u8,
}

impl Packet {
    pub fn header(self) -> Header {
        let kind = match self.kind {
            255 => Kind::Reply,
            254 => Kind::Nack,
            253 => Kind::Ack,
            _ => Kind::Request,
        };
        Header {
            kind,
            snid: node(self.rpc),
            tid: TransferId(u32::from(self.rpc / 4 % 4)),
            rpc_bytes: if self.rpc_bytes == u16::MAX { u32::MAX } else { u32::from(self.rpc_bytes % 6000) },
            pkt_idx: if self.pkt_idx == u8::MAX { u32::MAX } else { u32::from(self.pkt_idx) },
            key_hash: u32::from(self.key_hash),
        }
    }
}

pub fn node(number: u8) -> NodeId {
    NodeId(u32::from(number % 4))
}

/// Any range, including ranges outside every buffer.
pub fn range(start: u32, slots: u32) -> SlotRange {
    match (start, slots) {
        (255, _) => SlotRange { start: Slot(u32::MAX), slots },
        (_, 255) => SlotRange { start: Slot(start), slots: u32::MAX },
        _ => SlotRange { start: Slot(start), slots },
    }
}
