//! Random inputs of a server: RPCs in packets, cores that end them in any order, and peers that
//! lie.

use crate::rng::Rng;
use nebula_nic::{BackendConfig, CoreId, Dispatch, Header, Input, Kind, Mtu, NodeId, SlotRange, TransferId};

/// A kind of traffic.
#[derive(Clone, Copy, Debug)]
pub struct Mix {
    /// Its name.
    pub name: &'static str,
    /// Payload of a packet, in bytes.
    pub mtu: u32,
    /// The longest RPC, in slots.
    pub slots_max: u32,
    /// RPCs that take long, in percent: they stay while hundreds of others come and go.
    pub slow: u32,
    /// The most inputs that are frees, in percent: 100 below saturation, fewer under overload.
    pub frees_max: u32,
    /// Frees of ranges that the core does not hold, in percent.
    pub hostile: u32,
    /// Slots of the buffer for each core, at least 1,000 in all, as far as the model has them: few
    /// fill up soon.
    pub slots_per_core: u32,
    /// The queue's bound, in thousandths of the slots, or of the queue's places for it.
    pub bound_permille: u32,
    /// Whether packets of an RPC are lost, repeated and wrong, bounds change and peers leave.
    pub has_ends: bool,
    /// Whether cores fetch RPCs themselves.
    pub pulls: bool,
}

const ONE_PACKET: Mix = Mix {
    name: "one-packet",
    mtu: 64,
    slots_max: 1,
    slow: 2,
    frees_max: 100,
    hostile: 0,
    slots_per_core: 135,
    bound_permille: 500,
    has_ends: false,
    pulls: false,
};

/// Each mix finds differences that another misses.
pub const MIXES: &[Mix] = &[
    ONE_PACKET,
    Mix { name: "mixed", mtu: 4096, slots_max: 64, hostile: 3, ..ONE_PACKET },
    Mix {
        name: "buffer-bound",
        mtu: 4096,
        slots_max: 64,
        slow: 10,
        frees_max: 45,
        hostile: 3,
        slots_per_core: 12,
        bound_permille: 900,
        ..ONE_PACKET
    },
    Mix {
        name: "queue-bound",
        mtu: 512,
        slots_max: 8,
        slow: 5,
        frees_max: 40,
        hostile: 3,
        bound_permille: 60,
        ..ONE_PACKET
    },
    Mix {
        name: "parts",
        mtu: 512,
        slots_max: 150,
        slow: 10,
        frees_max: 45,
        hostile: 3,
        bound_permille: 100,
        has_ends: true,
        ..ONE_PACKET
    },
    Mix {
        name: "fetched",
        mtu: 256,
        slots_max: 12,
        slow: 5,
        frees_max: 30,
        hostile: 3,
        slots_per_core: 135,
        bound_permille: 100,
        has_ends: true,
        pulls: true,
    },
];

impl Mix {
    /// The mix of that name.
    #[must_use]
    pub fn of(name: &str) -> Option<Self> {
        MIXES.iter().copied().find(|mix| mix.name == name)
    }

    /// A server for this mix.
    ///
    /// # Panics
    ///
    /// If the mix is invalid for a server.
    #[must_use]
    pub fn configure(&self, config: BackendConfig) -> BackendConfig {
        let places = config.queue_capacity.saturating_sub(config.reassembler_entries + u32::from(config.cores));
        let bound = (u64::from(config.slots.min(places)) * u64::from(self.bound_permille) / 1000).max(1);
        config
            .mtu(Mtu::try_new(self.mtu).expect("a multiple of 16"))
            .rpc_bytes_max(self.slots_max * 64)
            .queue_bound(u32::try_from(bound).expect("fewer than the slots"))
    }
}

struct Running {
    core: CoreId,
    slots: SlotRange,
    is_slow: bool,
}

struct Open {
    header: Header,
    left: Vec<u32>,
}

/// The source of inputs.
pub struct Traffic {
    mix: Mix,
    rng: Rng,
    mtu: Mtu,
    cores: u16,
    slots: u32,
    running_max: u32,
    reassembled_max: usize,
    queue_bound: u32,
    running: Vec<Running>,
    open: Vec<Open>,
    number: u32,
}

impl Traffic {
    /// Traffic of that mix for a server of that configuration.
    #[must_use]
    pub fn new(mix: Mix, config: &BackendConfig, seed: u64) -> Self {
        Self {
            mix,
            rng: Rng::new(seed),
            mtu: config.mtu,
            cores: config.cores,
            slots: config.slots,
            running_max: u32::from(config.cores) * config.policy.bound().min(4),
            reassembled_max: config.reassembler_entries as usize + 3,
            queue_bound: config.queue_bound,
            running: Vec::new(),
            open: Vec::new(),
            number: 0,
        }
    }

    /// A core has received an RPC.
    pub fn handle_dispatch(&mut self, dispatch: Dispatch) {
        let is_slow = self.rng.happens(self.mix.slow);
        self.running.push(Running { core: dispatch.core, slots: dispatch.arrival.slots, is_slow });
    }

    /// The next input.
    pub fn next_input(&mut self) -> Input {
        let dice = self.rng.below(100);
        if dice < self.mix.hostile {
            return self.hostile_free();
        }
        if self.mix.has_ends && self.rng.below(200) == 0 {
            return self.end();
        }
        if self.mix.pulls && self.rng.happens(30) {
            return Input::Pull { core: CoreId(self.core()) };
        }
        let running = u32::try_from(self.running.len()).expect("few");
        let busy = (running * 100 / self.running_max).min(self.mix.frees_max);
        if dice < self.mix.hostile + busy && running > 0 { self.free() } else { self.packet() }
    }

    fn core(&mut self) -> u16 {
        u16::try_from(self.rng.below(self.cores.into())).expect("a core")
    }

    fn free(&mut self) -> Input {
        let mut which = self.rng.which(self.running.len());
        if self.running[which].is_slow && self.rng.below(200) > 0 {
            which = self.rng.which(self.running.len());
        }
        let Running { core, slots, .. } = self.running.swap_remove(which);
        Input::Free { core, slots }
    }

    /// A range that is no RPC of that core, mostly near one that is.
    fn hostile_free(&mut self) -> Input {
        let (core, start, slots) = match self.running.len() {
            0 => (self.core(), self.rng.below(self.slots + 64), self.rng.below(100)),
            _ if self.rng.below(4) == 0 => (self.core(), self.rng.below(self.slots + 64), self.rng.below(100)),
            count => {
                let Running { core, slots, .. } = self.running[self.rng.which(count)];
                let (start, count) = (slots.start.0, slots.slots);
                match self.rng.below(6) {
                    0 => (core.0 ^ 1, start, count),
                    1 => (core.0, start + 1, count),
                    2 => (core.0, start, count + 1),
                    3 => (core.0, start, count.wrapping_sub(1)),
                    4 => (core.0, start, count + 64),
                    _ => (core.0 + self.cores, start, count),
                }
            }
        };
        Input::Free { core: CoreId(core), slots: SlotRange::new(start, slots) }
    }

    /// Time, peers and bounds.
    fn end(&mut self) -> Input {
        match self.rng.below(4) {
            0 => Input::QueueBound(if self.rng.happens(20) { self.rng.below(4) } else { self.queue_bound }),
            1 => Input::PeerGone(self.peer()),
            _ => Input::Timeout,
        }
    }

    fn peer(&mut self) -> NodeId {
        NodeId(self.rng.below(11))
    }

    fn packet(&mut self) -> Input {
        let goes_on = !self.open.is_empty() && (self.open.len() >= self.reassembled_max || self.rng.happens(80));
        if goes_on {
            return self.part();
        }
        self.number += 1;
        let snid = self.peer();
        let most = self.mix.slots_max * 64;
        let slots = if self.rng.happens(50) { self.mix.slots_max.min(4) } else { self.mix.slots_max };
        let mut bytes = self.rng.below(slots * 64) + u32::from(slots == 1);
        if self.mix.has_ends && self.rng.happens(1) {
            bytes = most + self.rng.below(200);
        }
        let header = Header {
            kind: if self.mix.has_ends && self.rng.happens(1) { Kind::Reply } else { Kind::Request },
            snid,
            tid: TransferId(self.number),
            rpc_bytes: bytes,
            pkt_idx: 0,
            key_hash: self.rng.below(1000),
        };
        let packets = self.mtu.packets(bytes);
        if packets > 1 {
            self.open.push(Open { header, left: (0..packets).collect() });
            return self.part_of(self.open.len() - 1);
        }
        let is_wrong = self.mix.has_ends && self.rng.happens(1);
        Input::Packet(Header { pkt_idx: u32::from(is_wrong), ..header })
    }

    fn part(&mut self) -> Input {
        let which = self.rng.which(self.open.len());
        self.part_of(which)
    }

    /// A packet of an incomplete RPC, mostly a correct one.
    fn part_of(&mut self, which: usize) -> Input {
        let left = self.open[which].left.len();
        let at = if self.rng.happens(70) { 0 } else { self.rng.which(left) };
        let mut header = self.open[which].header;
        header.pkt_idx = self.open[which].left[at];
        // Only the first packet's hash counts.
        header.key_hash += u32::from(self.mix.has_ends && self.rng.happens(50));
        if self.mix.has_ends && self.rng.happens(3) {
            match self.rng.below(4) {
                0 => header.rpc_bytes += 1,
                1 => header.pkt_idx += self.rng.below(200),
                2 => header.tid.0 ^= 1,
                _ => {} // it comes again
            }
            return Input::Packet(header);
        }
        self.open[which].left.remove(at);
        let is_lost = self.mix.has_ends && self.rng.below(1000) == 0;
        if self.open[which].left.is_empty() || is_lost {
            self.open.swap_remove(which);
        }
        Input::Packet(header)
    }
}
