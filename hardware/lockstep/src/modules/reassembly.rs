//! Compares `reassembler` with [`Reassembler`], and `nack` with [`NackMemory`].

use super::{hash_of, same};
use crate::model::Model;
use crate::rng::Rng;
use nebula_nic::nack_memory::NackMemory;
use nebula_nic::{
    CoreId, DropReason, Header, Incomplete, Mtu, NodeId, Part, Placement, Reassembler, SlotRange, Span, Timestamp,
    TransferId, slots_of,
};

const SLOTS: u32 = 1000;
const ENTRIES: u32 = 12;
const KEYS: u32 = 16;
const LIFETIME: Span = Span::from_ns(40);

fn header(rng: &mut Rng) -> Header {
    Header { snid: NodeId(rng.below(4)), tid: TransferId(rng.below(8)), ..Header::default() }
}

fn set_key(model: &mut Model, header: &Header) {
    model.set_named("snid_i", header.snid.0.into());
    model.set_named("tid_i", header.tid.0.into());
}

pub(super) fn nack(model: &mut Model, inputs: u64, seed: u64) -> Result<(), String> {
    for (name, value) in [("mask_i", u64::from(KEYS) - 1), ("lifetime_i", LIFETIME.as_ps()), ("clear_i", 1)] {
        model.set_named(name, value);
    }
    model.reset();
    for key in 0..KEYS {
        model.set_named("clear_at_i", key.into());
        model.cycle();
    }
    model.set_named("clear_i", 0);
    let mut soft = NackMemory::new(KEYS, LIFETIME, seed);
    let mut rng = Rng::new(seed);
    for number in 0..inputs {
        let at = Timestamp::from_ps(number * 1000);
        let header = header(&mut rng);
        set_key(model, &header);
        model.set_named("hash_i", hash_of(&header, seed) % u64::from(KEYS));
        model.set_named("at_i", at.as_ps());
        match rng.below(20) {
            0 => {
                soft.forget_peer(header.snid);
                model.set_named("forget_i", 1);
                model.cycle_until("done_o", 1);
                model.set_named("forget_i", 0);
            }
            1..8 => {
                let left = rng.below(4);
                soft.remember(at, header.rpc(), left);
                model.set_named("packets_left_i", left.into());
                model.set_named("remember_i", 1);
                model.cycle();
                model.set_named("remember_i", 0);
            }
            _ => {
                let recalled = soft.recall(at, header.rpc());
                model.set_named("recall_i", recalled.into());
                model.cycle();
                model.set_named("recall_i", 0);
                same(number, "recalled", recalled, model.get_named("recalled_o") == 1)?;
            }
        }
    }
    Ok(())
}

/// Both tables, and the free slots: pieces of 40.
struct Pair<'m> {
    model: &'m mut Model,
    soft: Reassembler,
    mtu: Mtu,
    free: Vec<u32>,
}

pub(super) fn reassembler(model: &mut Model, inputs: u64, seed: u64) -> Result<(), String> {
    let mut rng = Rng::new(seed);
    for mtu_bytes in [64, 48, 512] {
        for (name, value) in [("entries_i", u64::from(ENTRIES)), ("timeout_i", LIFETIME.as_ps() * 5)] {
            model.set_named(name, value);
        }
        ["take_i", "begin_i", "expire_i", "peer_gone_i", "released_i", "abandoned_ready_i"]
            .iter()
            .for_each(|port| model.set_named(port, 0));
        model.reset();
        let mtu = Mtu::try_new(u32::try_from(mtu_bytes).expect("few")).expect("a multiple of 16");
        let soft = Reassembler::new(ENTRIES, SLOTS, mtu, seed);
        let mut pair = Pair { model: &mut *model, soft, mtu, free: (0..SLOTS / 70).map(|piece| piece * 70).collect() };
        (0..inputs / 3).try_for_each(|number| pair.input(number, &mut rng))?;
    }
    Ok(())
}

impl Pair<'_> {
    fn input(&mut self, number: u64, rng: &mut Rng) -> Result<(), String> {
        let at = Timestamp::from_ps(number * 1000);
        self.model.set_named("at_i", at.as_ps());
        match rng.below(60) {
            0 => self.end(number, "expire_i", |soft, release| soft.abandon_expired(at, LIFETIME * 5, release)),
            1 => {
                let snid = NodeId(rng.below(4));
                self.model.set_named("snid_i", snid.0.into());
                self.end(number, "peer_gone_i", |soft, release| soft.abandon_peer(snid, release))
            }
            2..6 => self.report(number),
            _ => self.packet(number, at, rng),
        }
    }

    fn packet(&mut self, number: u64, at: Timestamp, rng: &mut Rng) -> Result<(), String> {
        let mut header = header(rng);
        // One size for each RPC, with exceptions.
        header.rpc_bytes = self.mtu.bytes() + 1 + (header.tid.0 * 577 + header.snid.0 * 131) % (69 * 64 - 700);
        header.rpc_bytes += u32::from(rng.below(50) == 0);
        let packets = self.mtu.packets(header.rpc_bytes);
        header.pkt_idx = rng.below(packets);
        header.key_hash = rng.below(100);
        set_key(self.model, &header);
        for (name, value) in [
            ("rpc_bytes_i", header.rpc_bytes),
            ("offset_i", header.pkt_idx * self.mtu.bytes()),
            ("packets_i", packets),
            ("key_hash_i", header.key_hash),
        ] {
            self.model.set_named(name, value.into());
        }
        let part = self.soft.handle_packet(&header);
        let is_taken = matches!(part, Some(Ok(_)));
        self.model.set_named("take_i", is_taken.into());
        let is_full = self.soft.is_full();
        let begins = part.is_none() && !is_full && !self.free.is_empty();
        let start = if begins { self.free.swap_remove(rng.which(self.free.len())) } else { 0 };
        let core = CoreId(u16::try_from(rng.below(16)).expect("few"));
        self.model.set_named("begin_i", begins.into());
        self.model.set_named("start_i", start.into());
        self.model.set_named("core_i", core.0.into());
        self.model.cycle();
        let get = |name| self.model.get_named(name);
        let made = (get("hit_o") == 1, get("mismatch_o") == 1, get("duplicate_o") == 1, get("last_o") == 1);
        match part {
            None => same(number, "hit", false, made.0)?,
            Some(Err(DropReason::SizeMismatch)) => same(number, "size", (true, true), (made.0, made.1))?,
            Some(Err(_)) => same(number, "duplicate", (true, false, true), (made.0, made.1, made.2))?,
            Some(Ok(Part::More(rpc) | Part::Last(rpc))) => {
                let is_last = matches!(part, Some(Ok(Part::Last(_))));
                same(number, "part", (true, false, false, is_last), made)?;
                let Placement::Core(core) = rpc.placement else { unreachable!("each has a core") };
                let entry = (rpc.slots.start.0.into(), rpc.key_hash.into(), core.0.into());
                same(number, "entry", entry, (get("start_o"), get("key_hash_o"), get("core_o")))?;
                if is_last {
                    self.free.push(rpc.slots.start.0);
                }
            }
        }
        if part.is_none() {
            same(number, "full", is_full, get("full_o") == 1)?;
        }
        if begins {
            let Header { rpc_bytes: bytes, key_hash, .. } = header;
            let slots = SlotRange::new(start, slots_of(bytes));
            let rpc = Incomplete { rpc: header.rpc(), slots, bytes, key_hash, placement: Placement::Core(core) };
            self.soft.start(at, rpc, header.pkt_idx);
        }
        self.model.set_named("take_i", 0);
        self.model.set_named("begin_i", 0);
        self.model.cycle_until("busy_o", 0);
        Ok(())
    }

    /// Entries end, and their slots are released in the same order.
    fn end(
        &mut self,
        number: u64,
        operation: &str,
        apply: impl FnOnce(&mut Reassembler, &mut dyn FnMut(SlotRange)),
    ) -> Result<(), String> {
        let mut released = Vec::new();
        apply(&mut self.soft, &mut |slots| released.push((u64::from(slots.start.0), slots.slots)));
        self.free.extend(released.iter().map(|(start, _)| u32::try_from(*start).expect("a slot")));
        self.model.set_named(operation, 1);
        self.model.set_named("released_i", 1);
        let mut made = Vec::new();
        for _ in 0..4 * ENTRIES {
            self.model.cycle();
            if self.model.get_named("release_o") == 1 {
                let bytes = u32::try_from(self.model.get_named("release_bytes_o")).expect("32 bits");
                made.push((self.model.get_named("release_start_o"), slots_of(bytes)));
            }
            if self.model.get_named("ended_o") == 1 {
                break;
            }
        }
        self.model.set_named(operation, 0);
        self.model.set_named("released_i", 0);
        same(number, "released", released, made)
    }

    fn report(&mut self, number: u64) -> Result<(), String> {
        self.model.set_named("abandoned_ready_i", 1);
        self.model.cycle();
        self.model.set_named("abandoned_ready_i", 0);
        let get = |name| self.model.get_named(name);
        let made = (get("abandoned_valid_o") == 1)
            .then(|| (get("abandoned_snid_o"), get("abandoned_tid_o"), get("abandoned_start_o")));
        let abandoned = self.soft.poll_abandoned();
        let soft = abandoned.map(|ended| (ended.rpc.snid.0.into(), ended.rpc.tid.0.into(), ended.slots.start.0.into()));
        same(number, "abandoned", soft, made)
    }
}
