//! The reassembler compared with a map: all short histories, and long random ones.

use crate::support::histories::walk;
use arbitrary::Arbitrary;
use nebula_nic::{
    Abandoned, DropReason, Header, Incomplete, Missing, Mtu, NodeId, Part, Placement, Reassembler, RpcKey, SlotRange,
    Span, Timestamp, TransferId,
};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

#[derive(Clone, Copy, Debug, Arbitrary)]
enum Op {
    Packet { key: u8, packets: u8, pkt_idx: u8 },
    Expire { age: u8 },
    PeerGone { peer: u8 },
    PollAbandoned,
}

/// The reassembler and its model: entry, packets seen, and age of each RPC.
type Entry = (Incomplete, BTreeSet<u32>, u64);

#[derive(Clone)]
struct Pair {
    real: Reassembler,
    model: BTreeMap<RpcKey, Entry>,
    abandoned: VecDeque<Abandoned>,
    entries: u32,
    now: u64,
}

impl Pair {
    fn new(entries: u32) -> Self {
        let real = Reassembler::new(entries, entries * 4, Mtu::MIN, 7);
        Self { real, model: BTreeMap::new(), abandoned: VecDeque::new(), entries, now: 0 }
    }

    fn apply(&mut self, op: Op) {
        self.now += 1;
        match op {
            Op::Packet { key, packets, pkt_idx } => self.packet(key, packets, pkt_idx),
            Op::Expire { age } => {
                let age = u64::from(age % 16);
                let (mut freed, now) = (Vec::new(), Timestamp::from_ps(self.now));
                self.real.abandon_expired(now, Span::from_ps(age), |slots| freed.push(slots));
                let horizon = self.now;
                self.abandon(&freed, |_, since| since + age <= horizon);
            }
            Op::PeerGone { peer } => {
                let (mut freed, gone) = (Vec::new(), NodeId(u32::from(peer % 3)));
                self.real.abandon_peer(gone, |slots| freed.push(slots));
                self.abandon(&freed, |rpc, _| rpc.snid == gone);
            }
            Op::PollAbandoned => assert_eq!(self.real.poll_abandoned(), self.abandoned.pop_front()),
        }
        assert_eq!(self.real.len() as usize, self.model.len());
        self.check_missing();
        assert_eq!(self.real.is_full(), self.in_use() == self.entries as usize);
        let oldest = self.model.values().map(|(_, _, since)| *since).min();
        assert_eq!(self.real.oldest(), oldest.map(Timestamp::from_ps));
    }

    /// Each RPC lacks exactly the packets missing in the model, and unknown RPCs lack none.
    fn check_missing(&self) {
        for (rpc, (incomplete, seen, _)) in &self.model {
            let packets = incomplete.bytes / 64;
            let first = (0..packets).find(|pkt_idx| !seen.contains(pkt_idx)).expect("it is incomplete");
            let behind = seen.iter().filter(|&&pkt_idx| pkt_idx > first);
            let bitmap = behind.map(|pkt_idx| 1 << (pkt_idx - first)).sum();
            assert_eq!(self.real.missing(*rpc), Some(Missing { first, bitmap }));
        }
        for rpc in self.abandoned.iter().map(|abandoned| abandoned.rpc).filter(|rpc| !self.model.contains_key(rpc)) {
            assert_eq!(self.real.missing(rpc), None);
        }
    }

    /// Entries of RPCs, and of abandoned ones that are not reported yet.
    fn in_use(&self) -> usize {
        self.model.len() + self.abandoned.len()
    }

    fn packet(&mut self, key: u8, packets: u8, pkt_idx: u8) {
        let header = Header {
            snid: NodeId(u32::from(key % 3)),
            tid: TransferId(u32::from(key / 3 % 4)),
            rpc_bytes: 64 * (2 + u32::from(packets % 3)),
            pkt_idx: u32::from(pkt_idx % 5),
            ..Header::default()
        };
        let expected = self.expect(&header);
        assert_eq!(self.real.handle_packet(&header), expected);
        if expected.is_none() && self.in_use() < self.entries as usize && header.pkt_idx < header.rpc_bytes / 64 {
            self.start(&header);
        }
    }

    fn expect(&mut self, header: &Header) -> Option<Result<Part, DropReason>> {
        let (rpc, seen, _) = self.model.get_mut(&header.rpc())?;
        let (rpc, packets) = (*rpc, rpc.bytes / 64);
        if header.rpc_bytes != rpc.bytes {
            return Some(Err(DropReason::SizeMismatch));
        }
        if header.pkt_idx >= packets {
            return Some(Err(DropReason::IndexOutOfRange));
        }
        if !seen.insert(header.pkt_idx) {
            return Some(Err(DropReason::Duplicate));
        }
        if seen.len() < packets as usize {
            return Some(Ok(Part::More(rpc)));
        }
        self.model.remove(&header.rpc());
        Some(Ok(Part::Last(rpc)))
    }

    /// Gives the RPC the lowest four slots that no entry holds.
    fn start(&mut self, header: &Header) {
        let taken: Vec<_> = self.model.values().map(|(rpc, ..)| rpc.slots.start.0).collect();
        let start = (0..).step_by(4).find(|start| !taken.contains(start)).expect("there are more slots than entries");
        let slots = SlotRange::new(start, header.rpc_bytes / 64);
        let (rpc, bytes) = (header.rpc(), header.rpc_bytes);
        let rpc = Incomplete { rpc, slots, bytes, key_hash: 9, placement: Placement::Shared };
        self.real.start(Timestamp::from_ps(self.now), rpc, header.pkt_idx);
        self.model.insert(header.rpc(), (rpc, BTreeSet::from([header.pkt_idx]), self.now));
    }

    /// Removes ended RPCs, oldest first, and compares the freed slots.
    fn abandon(&mut self, freed: &[SlotRange], is_over: impl Fn(RpcKey, u64) -> bool) {
        let mut over: Vec<_> =
            self.model.values().filter(|(rpc, _, since)| is_over(rpc.rpc, *since)).cloned().collect();
        over.sort_by_key(|(_, _, since)| *since);
        assert_eq!(freed, over.iter().map(|(rpc, ..)| rpc.slots).collect::<Vec<_>>());
        for (Incomplete { rpc, slots, .. }, ..) in over {
            self.model.remove(&rpc);
            self.abandoned.push_back(Abandoned { rpc, slots });
        }
    }
}

fn choices(_: &Pair) -> Vec<Op> {
    let packets = [(0, 0, 0), (0, 0, 1), (1, 1, 0), (1, 1, 2), (0, 1, 1), (3, 0, 1), (4, 0, 2)];
    let packets = packets.map(|(key, packets, pkt_idx)| Op::Packet { key, packets, pkt_idx });
    packets.into_iter().chain([Op::Expire { age: 3 }, Op::PeerGone { peer: 0 }, Op::PollAbandoned]).collect()
}

#[test]
fn all_short_histories_agree_with_a_map() {
    let histories = walk(&Pair::new(2), 6, &choices, &Pair::apply);
    assert!(histories > 1_000_000, "{histories} histories");
}

#[test]
fn long_histories_agree_with_a_map() {
    nebula_testing::seeded(|draw| {
        let mut pair = Pair::new(draw.int_in_range(1..=20)?);
        while !draw.is_empty() {
            pair.apply(draw.arbitrary()?);
        }
        Ok(())
    })
    .size_max(4096)
    .runs(600);
}

#[test]
fn packets_come_in_any_order() {
    for first in 0..4 {
        let mut table = Reassembler::new(1, 4, Mtu::MIN, 0);
        let packet = |pkt_idx| Header { rpc_bytes: 256, pkt_idx, ..Header::default() };
        let rpc = Incomplete { slots: SlotRange::new(0, 4), bytes: 256, ..Incomplete::default() };
        table.start(Timestamp::ZERO, rpc, first);
        let rest = (0..4).rev().filter(|idx| *idx != first);
        let parts: Vec<_> = rest.map(|idx| table.handle_packet(&packet(idx)).unwrap().unwrap()).collect();
        assert_eq!(parts, [Part::More(rpc), Part::More(rpc), Part::Last(rpc)]);
        assert!(table.is_empty());
    }
}

#[test]
fn of_a_long_rpc_the_bitmap_tells_the_first_gap_and_63_packets_behind_it() {
    // Packets of 17 slots, so that no two words of bits look alike.
    let mtu = Mtu::try_new(1088).expect("a multiple of 64");
    let (bytes, rpc) = (1088 * 963 + 5, RpcKey { snid: NodeId(1), tid: TransferId(2) });
    let slots = SlotRange::new(3, 963 * 17 + 1);
    let mut table = Reassembler::new(1, 20_000, mtu, 0);
    table.start(Timestamp::ZERO, Incomplete { rpc, slots, bytes, ..Incomplete::default() }, 963);
    let mut seen = BTreeSet::from([963]);
    for step in 0..963_u32 {
        let pkt_idx = (step * 37 + 500) % 963;
        let first = (0..).find(|pkt_idx| !seen.contains(pkt_idx)).expect("numbers are many");
        let bits = (0..64).filter(|bit| seen.contains(&(first + bit)));
        assert_eq!(table.missing(rpc), Some(Missing { first, bitmap: bits.map(|bit| 1 << bit).sum() }));
        let Header { snid, tid, .. } = Header::default();
        assert_eq!(table.missing(RpcKey { snid, tid }), None);
        let header = Header { snid: rpc.snid, tid: rpc.tid, rpc_bytes: bytes, pkt_idx, ..Header::default() };
        assert!(matches!(table.handle_packet(&header), Some(Ok(_))));
        seen.insert(pkt_idx);
    }
    assert_eq!((table.missing(rpc), table.is_empty()), (None, true));
}

#[test]
fn a_peer_has_its_share_and_no_more_while_others_need_the_room() {
    let mut table = Reassembler::new(8, 64, Mtu::MIN, 0).per_peer(3);
    let start = |table: &mut Reassembler, snid, tid| {
        let rpc = RpcKey { snid: NodeId(snid), tid: TransferId(tid) };
        let slots = SlotRange::new(2 * (4 * snid + tid), 2);
        table.start(Timestamp::from_ps(tid.into()), Incomplete { rpc, slots, bytes: 128, ..Incomplete::default() }, 0);
    };
    (0..4).for_each(|tid| start(&mut table, 0, tid));
    assert!(!table.is_beyond_share(NodeId(0)), "half of the table is free");
    start(&mut table, 1, 0);
    assert_eq!([0, 1].map(|snid| table.is_beyond_share(NodeId(snid))), [true, false]);
    (1..3).for_each(|tid| start(&mut table, 1, tid));
    assert_eq!([0, 1].map(|snid| table.is_beyond_share(NodeId(snid))), [true, true]);

    // Complete and abandoned RPCs give their share back.
    let last = Header { snid: NodeId(1), rpc_bytes: 128, pkt_idx: 1, ..Header::default() };
    assert!(matches!(table.handle_packet(&last), Some(Ok(Part::Last(_)))));
    assert_eq!([0, 1].map(|snid| table.is_beyond_share(NodeId(snid))), [true, false]);
    start(&mut table, 2, 0);
    table.abandon_expired(Timestamp::from_ps(1), Span::ZERO, drop);
    assert_eq!((table.len(), table.is_beyond_share(NodeId(0))), (5, false));
    while table.poll_abandoned().is_some() {}
    (1..3).for_each(|tid| start(&mut table, 2, tid));
    assert_eq!([0, 2].map(|snid| table.is_beyond_share(NodeId(snid))), [false, true]);
    table.abandon_peer(NodeId(2), drop);
    while table.poll_abandoned().is_some() {}
    (2..4).for_each(|tid| start(&mut table, 3, tid));
    assert_eq!((table.len(), table.is_beyond_share(NodeId(2))), (6, false));
}
