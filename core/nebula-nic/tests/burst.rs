//! A burst decides as its RPCs one by one would, and a run frees its slots: all short histories of
//! two back ends, one of which gets bursts and the other packets.

use crate::support::histories::walk;
use nebula_nic::{
    Backend, BackendConfig, Burst, BurstRpc, CoreId, Dispatch, Freed, Header, NodeId, Policy, RpcKey, Run, Slot,
    SlotOrder, SlotRange, Sources, Timestamp, TransferId, Verdict,
};

/// Slots of the buffer, and RPCs that may wait.
const SLOTS: u32 = 7;
const WAITING: u32 = 5;
const CORE: CoreId = CoreId(0);

#[derive(Clone, Copy, Debug)]
enum Op {
    /// `rpcs` RPCs of `slots` slots each.
    Burst { rpcs: u32, slots: u32 },
    /// The same, served at once if possible and otherwise not sent.
    AtOnce { rpcs: u32, slots: u32 },
    /// The core serves at most `most` RPCs.
    Serve { most: u32 },
    /// An RPC of several packets lacks its last one, or gets it.
    Part { idx: u32 },
    /// Another client sends from now on.
    Other,
}

/// The back end that gets bursts, and the one that gets packets.
#[derive(Clone)]
struct Two {
    quick: Backend,
    slow: Backend,
    sent: u32,
    /// Slots of each back end.
    slots: u32,
    /// The sender.
    snid: NodeId,
}

impl Two {
    fn new(policy: Policy, order: SlotOrder) -> Self {
        Self::of(policy, order, SLOTS, WAITING)
    }

    fn of(policy: Policy, order: SlotOrder, slots: u32, waiting: u32) -> Self {
        let config = BackendConfig::new(1, policy).slots(slots).queue_bound(waiting).rpc_bytes_max(192);
        let config = config
            .slot_order(order)
            .reassembler_entries(2)
            .sources(Sources { shift: 0, bits: 3 })
            .mtu(nebula_nic::Mtu::try_new(128).expect("a multiple of 16"));
        let backend = || Backend::try_new(config).expect("possible");
        Self { quick: backend(), slow: backend(), sent: 0, slots, snid: NodeId(3) }
    }

    fn apply(&mut self, op: Op) {
        match op {
            Op::Burst { rpcs, slots } => self.burst(rpcs, slots),
            Op::AtOnce { rpcs, slots } => self.at_once(rpcs, slots),
            Op::Serve { most } => self.serve(most),
            Op::Part { idx } => self.part(idx),
            Op::Other => self.snid.0 ^= 1,
        }
        assert_eq!(self.quick.slots_used(), self.slow.slots_used());
        assert_eq!(self.quick.queue_depth(), self.slow.queue_depth());
        assert_eq!(self.quick.counters(), self.slow.counters());
        let client = self.snid;
        assert_eq!(self.quick.share().used_by(client), self.slow.share().used_by(client));
        assert_eq!(self.quick.refuses(Timestamp::ZERO, client), self.slow.refuses(Timestamp::ZERO, client));
    }

    /// Writes the sizes of a burst, in which every RPC differs in length and key; also how many
    /// fit.
    fn write(&mut self, rpcs: u32, slots: u32) -> (Burst, u32) {
        let first = RpcKey { snid: self.snid, tid: TransferId(self.sent) };
        self.sent += 2 * rpcs;
        let places = self.quick.burst_places();
        let rpcs = rpcs.min(u32::try_from(places.len()).expect("few"));
        for (index, place) in (0..rpcs).zip(places) {
            *place = rpc(index, slots);
        }
        (Burst { first, step: 2, slots_each: slots }, rpcs)
    }

    fn at_once(&mut self, rpcs: u32, slots: u32) {
        let (burst, rpcs) = self.write(rpcs, slots);
        let mut queued = self.quick.clone();
        let Some(run) = self.quick.plan_run(Timestamp::ZERO, CORE, &burst, rpcs) else { return };
        assert_eq!(self.quick.counters(), queued.counters(), "a plan changes nothing");
        // As if it had been queued and taken out again.
        assert!(queued.handle_burst(Timestamp::ZERO, &burst, rpcs).is_some());
        let taken = queued.poll_run(CORE, rpcs).expect("nothing else waits");
        assert_eq!(run, taken);
        assert_eq!(self.quick.rpcs_of(&run), queued.rpcs_of(&taken));
        for index in 0..run.rpcs {
            let verdict = self.slow.handle_packet(Timestamp::ZERO, header(&burst, index));
            assert!(matches!(verdict, Verdict::Write { slots, .. } if slots == run.slots(index)), "{verdict:?}");
        }
        self.is_served_by_the_other(&run);
        self.quick.handle_run_served(CORE, &run);
        assert_eq!(queued.handle_run_freed(CORE, &run), Freed::Taken);
        assert_eq!((self.quick.counters(), self.quick.slots_used()), (queued.counters(), queued.slots_used()));
    }

    fn burst(&mut self, rpcs: u32, slots: u32) {
        let (burst, rpcs) = self.write(rpcs, slots);
        let run = self.quick.handle_burst(Timestamp::ZERO, &burst, rpcs);
        let admitted = run.map_or(0, |run| run.rpcs);
        for index in 0..rpcs {
            let header = header(&burst, index);
            let verdict = self.slow.handle_packet(Timestamp::ZERO, header);
            // RPCs left out of a burst are passed on as packets, which may be refused or find room
            // elsewhere.
            if index < admitted {
                let slots = run.expect("some were admitted").slots(index);
                let bytes = header.rpc_bytes;
                assert_eq!(verdict, Verdict::Write { slots, offset_bytes: 0, bytes, complete: true }, "RPC {index}");
            } else {
                assert_eq!(self.quick.handle_packet(Timestamp::ZERO, header), verdict, "RPC {index}");
            }
        }
    }

    fn serve(&mut self, most: u32) {
        let mut left = most;
        while left > 0 {
            let Some(run) = self.quick.poll_run(CORE, left) else { break };
            assert!(run.rpcs > 0 && run.rpcs <= left);
            self.end(&run);
            left -= run.rpcs;
        }
        if left > 0 {
            assert_eq!(self.slow.poll_dispatch(), None);
        }
    }

    fn end(&mut self, run: &Run) {
        self.is_served_by_the_other(run);
        self.is_freed_by_its_core_alone(run);
    }

    /// The other back end gives the core the same RPCs one by one.
    fn is_served_by_the_other(&mut self, run: &Run) {
        for (index, &rpc) in (0..run.rpcs).zip(&self.quick.rpcs_of(run).to_vec()) {
            let arrival = run.arrival(index, rpc);
            assert_eq!(self.slow.poll_dispatch(), Some(Dispatch { core: CORE, arrival }), "RPC {index} of {run:?}");
            assert_eq!(self.slow.handle_free(CORE, arrival.slots), Freed::Taken);
        }
    }

    /// Only the run itself, unchanged, gives its slots back.
    fn is_freed_by_its_core_alone(&mut self, run: &Run) {
        let before = self.quick.slots_used();
        let refused = self.quick.counters().refused_frees;
        for index in 0..run.rpcs {
            assert_eq!(self.quick.handle_free(CORE, run.slots(index)), Freed::Refused);
        }
        let (mut longer, mut behind) = (*run, *run);
        longer.rpcs += 1;
        behind.first_slot = Slot(run.first_slot.0 + run.burst.slots_each);
        for wrong in [longer, behind] {
            assert_eq!(self.quick.handle_run_freed(CORE, &wrong), Freed::Refused, "{wrong:?}");
        }
        assert_eq!(self.quick.handle_run_freed(CoreId(1), run), Freed::Refused);
        assert_eq!(self.quick.slots_used(), before);
        assert_eq!(self.quick.handle_run_freed(CORE, run), Freed::Taken);
        assert_eq!(self.quick.handle_run_freed(CORE, run), Freed::Refused);
        // Repeats the refused frees at the other one.
        for _ in refused..self.quick.counters().refused_frees {
            assert_eq!(self.slow.handle_free(CORE, SlotRange::new(self.slots, 1)), Freed::Refused);
        }
    }

    fn part(&mut self, idx: u32) {
        let header = Header { snid: NodeId(9), tid: TransferId(1), rpc_bytes: 192, pkt_idx: idx, ..Header::default() };
        let verdict = self.quick.handle_packet(Timestamp::ZERO, header);
        assert_eq!(self.slow.handle_packet(Timestamp::ZERO, header), verdict);
    }
}

fn rpc(index: u32, slots: u32) -> BurstRpc {
    BurstRpc::new(slots * 64 - index, index)
}

/// The packet of RPC number `index` of a burst.
fn header(burst: &Burst, index: u32) -> Header {
    let Burst { first, step, slots_each } = *burst;
    let rpc = rpc(index, slots_each);
    Header {
        snid: first.snid,
        tid: TransferId(first.tid.0 + step * index),
        rpc_bytes: rpc.bytes(),
        key_hash: rpc.key_hash(),
        ..Header::default()
    }
}

fn choices(_: &Two) -> Vec<Op> {
    vec![
        Op::AtOnce { rpcs: 3, slots: 1 },
        Op::AtOnce { rpcs: 2, slots: 2 },
        Op::Burst { rpcs: 1, slots: 1 },
        Op::Burst { rpcs: 3, slots: 1 },
        Op::Burst { rpcs: 6, slots: 1 },
        Op::Burst { rpcs: 2, slots: 2 },
        Op::Serve { most: 1 },
        Op::Serve { most: 2 },
        Op::Serve { most: 9 },
        Op::Part { idx: 0 },
        Op::Part { idx: 1 },
    ]
}

#[test]
fn a_burst_is_its_rpcs_one_after_the_other_in_all_short_histories() {
    for (policy, order) in [(Policy::Jbsq(2), SlotOrder::FirstWhenEmpty), (Policy::SingleQueue, SlotOrder::Circular)] {
        let histories = walk(&Two::new(policy, order), 5, &choices, &|two, op| two.apply(op));
        assert!(histories > 60_000, "{histories} histories");
    }
}

#[test]
fn a_burst_of_one_of_two_sources_is_its_rpcs_one_after_the_other() {
    let choices = |_: &Two| {
        vec![
            Op::Other,
            Op::Burst { rpcs: 1, slots: 1 },
            Op::Burst { rpcs: 7, slots: 1 },
            Op::Burst { rpcs: 20, slots: 1 },
            Op::AtOnce { rpcs: 16, slots: 1 },
            Op::Serve { most: 5 },
        ]
    };
    let two = Two::of(Policy::Jbsq(2), SlotOrder::FirstWhenEmpty, 40, 17);
    let histories = walk(&two, 7, &choices, &|two, op| two.apply(op));
    assert!(histories > 250_000, "{histories} histories");
}

#[test]
fn bursts_of_a_heavy_and_a_light_source_are_their_rpcs_one_after_the_other() {
    for policy in [Policy::Jbsq(2), Policy::SingleQueue] {
        let mut two = Two::of(policy, SlotOrder::FirstWhenEmpty, 200, 150);
        let (mut light, mut before_others) = (0, 0);
        for round in 0..6000_u32 {
            // Nine of ten bursts are heavy. The sender changes, so that a source can become light
            // within any burst, where a round of 1,024 ends.
            let is_light = round % 10 == 7;
            two.snid = NodeId(3 + u32::from(is_light != (round / 97 % 2 == 1)));
            let waiting = two.quick.queue_depth();
            two.apply(Op::Burst { rpcs: 1 + round * 61 % if is_light { 8 } else { 64 }, slots: 1 });
            if is_light && waiting > 0 && two.quick.queue_depth() > waiting {
                light += 1;
                let next = two.quick.peek_waiting(0).expect("some wait");
                before_others += u32::from(next.rpc.snid == two.snid);
            }
            two.apply(Op::Serve { most: 1 + round * 47 % 40 });
        }
        assert!(before_others > 100 && light > before_others + 100, "{policy}: {before_others} of {light} are first");
    }
}

#[test]
fn bursts_go_round_a_queue_that_is_never_empty() {
    let mut two = Two::new(Policy::Jbsq(2), SlotOrder::Circular);
    two.apply(Op::Burst { rpcs: 2, slots: 1 });
    for round in 0..500 {
        two.apply(Op::Burst { rpcs: 1 + round % 4, slots: 1 });
        two.apply(Op::Serve { most: 1 + round % 3 });
    }
    two.apply(Op::Serve { most: 9 });
    assert_eq!((two.quick.slots_used(), two.quick.queue_depth()), (0, 0));
}

#[test]
fn runs_cross_the_words_of_a_large_buffer() {
    for order in [SlotOrder::Circular, SlotOrder::FirstWhenEmpty] {
        let mut two = Two::of(Policy::Jbsq(2), order, 200, 150);
        for round in 0..400 {
            // 61 and 47 are coprime to 64, so runs begin and end at each bit of a word.
            two.apply(Op::Burst { rpcs: 1 + round * 61 % 64, slots: 1 + u32::from(round % 7 == 0) });
            two.apply(Op::Serve { most: 1 + round * 47 % 64 });
        }
        two.apply(Op::Serve { most: 200 });
        assert_eq!((two.quick.slots_used(), two.quick.queue_depth()), (0, 0));
    }
}

#[test]
fn no_run_is_given_to_a_core_that_has_an_rpc() {
    let mut backend = Two::new(Policy::Jbsq(2), SlotOrder::Circular).quick;
    for tid in 0..2 {
        let header = Header { tid: TransferId(tid), rpc_bytes: 8, ..Header::default() };
        assert!(matches!(backend.handle_packet(Timestamp::ZERO, header), Verdict::Write { .. }));
    }
    let given = backend.poll_dispatch().expect("an RPC for the core");
    assert_eq!(backend.poll_run(CORE, 9), None);
    assert_eq!(backend.handle_free(CORE, given.arrival.slots), Freed::Taken);
    assert_eq!(backend.poll_run(CORE, 9).map(|run| run.rpcs), Some(1));
}
