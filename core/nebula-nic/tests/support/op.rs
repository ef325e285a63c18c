//! Inputs of a back end, small enough to enumerate, to draw and to shrink.

use super::model::Model;
use arbitrary::Arbitrary;
use nebula_nic::{CoreId, Header, Input, Kind, NodeId, SlotRange, Span, TransferId};

/// One operation; its numbers are folded into the configuration's range.
#[derive(Clone, Copy, Debug, Arbitrary)]
pub enum Op {
    /// A packet of one of a few RPCs of a few peers.
    Packet { peer: u8, tid: u8, bytes: u16, pkt_idx: u8, key: u8 },
    /// The missing packet of an RPC in reassembly.
    Missing { nth: u8 },
    /// A packet that is not a request.
    Stray { tid: u8 },
    /// A core ends one of its RPCs.
    Free { core: u8, nth: u8 },
    /// A core frees a range that may not be its own.
    FreeAny { core: u8, start: u8, slots: u8 },
    /// Time passes, and the back end handles timeouts.
    Timeout { steps: u8 },
    /// A peer is gone.
    PeerGone { peer: u8 },
    /// The bound changes.
    QueueBound { waiting: u8 },
}

/// Few peers and numbers, so that packets meet.
const PEERS: u8 = 3;
const TIDS: u8 = 5;

/// One step of time; a reassembly timeout is a few of them.
pub const STEP: Span = Span::from_ns(1);

impl Op {
    /// The time before it, and the back end's input; `None` if impossible.
    pub fn input(self, model: &Model) -> Option<(Span, Input)> {
        let input = match self {
            Self::Packet { peer, tid, bytes, pkt_idx, key } => {
                Input::Packet(request(model, peer, tid, bytes, pkt_idx, key))
            }
            Self::Missing { nth } => Input::Packet(model.missing_packet(usize::from(nth))?),
            Self::Stray { tid } => {
                Input::Packet(Header { kind: Kind::Ack, tid: TransferId(u32::from(tid % TIDS)), ..Header::default() })
            }
            Self::Free { core, nth } => {
                let core = CoreId(u16::from(core) % model.config.cores);
                Input::Free { core, slots: model.held_by(core, usize::from(nth))? }
            }
            Self::FreeAny { core, start, slots } => {
                let core = CoreId(u16::from(core) % (model.config.cores + 1));
                Input::Free {
                    core,
                    slots: SlotRange::new(u32::from(start) % (model.config.slots + 1), u32::from(slots % 5)),
                }
            }
            Self::Timeout { steps } => return Some((STEP * u64::from(steps % 8), Input::Timeout)),
            Self::PeerGone { peer } => Input::PeerGone(NodeId(u32::from(peer % PEERS))),
            Self::QueueBound { waiting } => Input::QueueBound(u32::from(waiting % 8)),
        };
        Some((Span::from_ps(1), input))
    }
}

/// Sizes up to slightly above the longest RPC, indices up to one too many.
fn request(model: &Model, peer: u8, tid: u8, bytes: u16, pkt_idx: u8, key: u8) -> Header {
    let rpc_bytes = u32::from(bytes) % (model.config.rpc_bytes_max + 2);
    Header {
        kind: Kind::Request,
        snid: NodeId(u32::from(peer % PEERS)),
        tid: TransferId(u32::from(tid % TIDS)),
        rpc_bytes,
        pkt_idx: u32::from(pkt_idx) % (model.config.mtu.packets(rpc_bytes) + 1),
        key_hash: u32::from(key % 16),
    }
}
