//! Packet sequences that read like a capture, each with its decision. Times are in picoseconds.

use nebula_nic::{
    Backend, BackendConfig, CoreId, Decision, DropReason, Freed, Header, Input, LogLine, NackReason, NodeId, Policy,
    ScrubMode, SlotRange, Span, Timestamp, TransferId, Verdict,
};

const FROM_NODE_3: Header = Header {
    kind: nebula_nic::Kind::Request,
    snid: NodeId(3),
    tid: TransferId(0),
    rpc_bytes: 64,
    pkt_idx: 0,
    key_hash: 0,
};

/// The expected decision of a script's line.
#[derive(Debug, PartialEq)]
enum Expect {
    /// The payload goes to this slot.
    Write(u32),
    Nack(NackReason),
    Drop(DropReason),
    Free(Freed),
    /// This core gets this transfer.
    Dispatch(u16, u32),
    /// This transfer never became whole.
    Abandon(u32),
}
use Expect::{Abandon, Dispatch, Drop, Free, Nack, Write};

fn seen(decision: &Decision) -> Expect {
    match *decision {
        Decision::Packet(Verdict::Write { slots, offset_bytes, .. }) => Write(slots.start.0 + offset_bytes / 64),
        Decision::Packet(Verdict::Nack { reason }) => Nack(reason),
        Decision::Packet(Verdict::Drop { reason }) => Drop(reason),
        Decision::Free(freed) => Free(freed),
        Decision::Dispatch(dispatch) => Dispatch(dispatch.core.0, dispatch.arrival.rpc.tid.0),
        Decision::Abandoned(abandoned) => Abandon(abandoned.rpc.tid.0),
        _ => unreachable!("no back end decides that"),
    }
}

/// A back end under a script; shows the lines so far if one disagrees.
struct Script {
    nic: Backend,
    so_far: Vec<LogLine>,
}

/// 4 slots, 2 reassembler entries, 2 cores with one RPC each, and a timeout of 10 ns.
fn tiny() -> BackendConfig {
    let config = BackendConfig::new(2, Policy::SingleQueue).slots(4).rpc_bytes_max(256).reassembler_entries(2);
    config.reassembly_timeout(Span::from_ns(10)).queue_bound(4)
}

fn script(config: BackendConfig) -> Script {
    Script { nic: Backend::try_new(config).expect("the bounds are possible"), so_far: Vec::new() }
}

impl Script {
    fn input(mut self, at: u64, input: Input, expected: &[Expect]) -> Self {
        let line = LogLine::record(&mut self.nic, Timestamp::from_ps(at), input);
        let got: Vec<_> = line.decisions.iter().map(seen).collect();
        self.so_far.push(line);
        let lines = self.so_far.iter().map(|line| format!("{line}\n")).collect::<String>();
        assert_eq!(got, expected, "in the last line of\n{lines}");
        self
    }

    fn packet(self, at: u64, header: Header, expected: &[Expect]) -> Self {
        self.input(at, Input::Packet(header), expected)
    }

    fn free(self, at: u64, core: u16, start: u32, slots: u32, expected: &[Expect]) -> Self {
        self.input(at, Input::Free { core: CoreId(core), slots: SlotRange::new(start, slots) }, expected)
    }

    fn timeout(self, at: u64, expected: &[Expect]) -> Self {
        self.input(at, Input::Timeout, expected)
    }
}

/// The one-packet request `tid`.
fn whole(tid: u32) -> Header {
    Header { tid: TransferId(tid), ..FROM_NODE_3 }
}

/// Packet `pkt_idx` of the request `tid` of `slots` slots.
fn part(tid: u32, pkt_idx: u32, slots: u32) -> Header {
    Header { tid: TransferId(tid), pkt_idx, rpc_bytes: slots * 64, ..FROM_NODE_3 }
}

#[test]
fn later_packet_lands_at_its_index() {
    script(tiny()).packet(0, part(5, 2, 3), &[Write(2)]).packet(512, part(5, 0, 3), &[Write(0)]).packet(
        1024,
        part(5, 1, 3),
        &[Write(1), Dispatch(0, 5)],
    );
}

#[test]
fn nack_when_head_meets_tail() {
    script(tiny())
        .packet(0, part(5, 0, 3), &[Write(0)])
        .packet(512, part(6, 0, 2), &[Nack(NackReason::BufferFull)])
        .packet(1024, whole(7), &[Write(3), Dispatch(0, 7)])
        .packet(1536, whole(8), &[Nack(NackReason::BufferFull)]);
}

#[test]
fn scrub_finds_room_behind_a_slow_rpc() {
    script(tiny())
        .packet(0, whole(1), &[Write(0), Dispatch(0, 1)])
        .packet(1, part(2, 0, 3), &[Write(1)])
        .packet(2, part(2, 1, 3), &[Write(2)])
        .packet(3, part(2, 2, 3), &[Write(3), Dispatch(1, 2)])
        .free(4, 1, 1, 3, &[Free(Freed::Taken)])
        .packet(5, whole(3), &[Write(1), Dispatch(1, 3)]);
}

#[test]
fn scrub_after_the_nack_makes_room_for_the_next() {
    script(tiny().scrub(ScrubMode::AfterNack))
        .packet(0, whole(1), &[Write(0), Dispatch(0, 1)])
        .packet(1, part(2, 0, 3), &[Write(1)])
        .packet(2, part(2, 1, 3), &[Write(2)])
        .packet(3, part(2, 2, 3), &[Write(3), Dispatch(1, 2)])
        .free(4, 1, 1, 3, &[Free(Freed::Taken)])
        .packet(5, whole(3), &[Nack(NackReason::BufferFull)])
        .packet(6, whole(4), &[Write(1), Dispatch(1, 4)]);
}

#[test]
fn without_scrub_a_slow_rpc_holds_up_what_is_behind_it_until_it_ends() {
    script(tiny().scrub(ScrubMode::Off))
        .packet(0, whole(1), &[Write(0), Dispatch(0, 1)])
        .packet(1, part(2, 0, 3), &[Write(1)])
        .packet(2, part(2, 1, 3), &[Write(2)])
        .packet(3, part(2, 2, 3), &[Write(3), Dispatch(1, 2)])
        .free(4, 1, 1, 3, &[Free(Freed::Taken)])
        .packet(5, whole(3), &[Nack(NackReason::BufferFull)])
        .packet(6, whole(4), &[Nack(NackReason::BufferFull)])
        .free(7, 0, 0, 1, &[Free(Freed::Taken)])
        .packet(8, whole(5), &[Write(0), Dispatch(0, 5)]);
}

#[test]
fn scrub_ahead_of_need_has_found_the_room_when_it_is_needed() {
    let freed = script(tiny().scrub(ScrubMode::Ahead))
        .packet(0, whole(1), &[Write(0), Dispatch(0, 1)])
        .packet(1, part(2, 0, 3), &[Write(1)])
        .packet(2, part(2, 1, 3), &[Write(2)])
        .packet(3, part(2, 2, 3), &[Write(3), Dispatch(1, 2)])
        .packet(4, whole(5), &[Nack(NackReason::BufferFull)])
        .free(5, 1, 1, 3, &[Free(Freed::Taken)]);
    // Each input looks; this many take a read word to a usable run.
    let looked = (6..11).fold(freed, |script, at| script.free(at, 1, 1, 3, &[Free(Freed::Refused)]));
    looked.packet(11, whole(3), &[Write(1), Dispatch(1, 3)]);
}

#[test]
fn nack_at_the_queue_bound_and_not_below() {
    script(tiny().queue_bound(1))
        .packet(0, whole(1), &[Write(0), Dispatch(0, 1)])
        .packet(1, whole(2), &[Write(1), Dispatch(1, 2)])
        .packet(2, whole(3), &[Write(2)])
        .packet(3, whole(4), &[Nack(NackReason::QueueBound)])
        .free(4, 0, 0, 1, &[Free(Freed::Taken), Dispatch(0, 3)])
        .packet(5, whole(5), &[Write(3)]);
}

#[test]
fn later_packets_of_an_admitted_rpc_pass_the_bound() {
    script(tiny().queue_bound(1))
        .packet(0, part(1, 0, 2), &[Write(0)])
        .packet(1, whole(2), &[Write(2), Dispatch(0, 2)])
        .packet(2, whole(3), &[Write(3), Dispatch(1, 3)])
        .packet(3, part(1, 1, 2), &[Write(1)]);
}

#[test]
fn what_disagrees_is_dropped() {
    script(tiny())
        .packet(0, part(5, 0, 3), &[Write(0)])
        .packet(1, part(5, 0, 3), &[Drop(DropReason::Duplicate)])
        .packet(2, part(5, 1, 2), &[Drop(DropReason::SizeMismatch)])
        .packet(3, part(5, 3, 3), &[Drop(DropReason::IndexOutOfRange)])
        .packet(4, Header { pkt_idx: 1, ..whole(6) }, &[Drop(DropReason::IndexOutOfRange)])
        .packet(5, Header { kind: nebula_nic::Kind::Reply, ..whole(6) }, &[Drop(DropReason::NotARequest)]);
}

#[test]
fn the_reassembler_is_bounded() {
    script(tiny())
        .packet(0, part(1, 0, 2), &[Write(0)])
        .packet(1, Header { snid: NodeId(4), ..part(1, 0, 2) }, &[Write(2)])
        .packet(2, part(2, 0, 2), &[Nack(NackReason::ReassemblerFull)]);
}

#[test]
fn an_rpc_is_nacked_once_however_many_packets_it_has() {
    script(tiny())
        .packet(0, part(1, 0, 4), &[Write(0)])
        .packet(1, part(2, 0, 3), &[Nack(NackReason::BufferFull)])
        .packet(2, part(2, 1, 3), &[Drop(DropReason::AlreadyNacked)])
        .packet(3, part(2, 2, 3), &[Drop(DropReason::AlreadyNacked)])
        .packet(4, part(2, 0, 3), &[Nack(NackReason::BufferFull)]);
}

#[test]
fn too_large_is_refused_before_anything_is_taken() {
    script(tiny().rpc_bytes_max(100))
        .packet(0, Header { rpc_bytes: 101, ..whole(1) }, &[Nack(NackReason::TooLarge)])
        .packet(1, Header { rpc_bytes: u32::MAX, ..whole(2) }, &[Nack(NackReason::TooLarge)])
        .packet(2, Header { rpc_bytes: 100, ..whole(3) }, &[Write(0)]);
}

#[test]
fn an_rpc_whose_packets_stop_coming_is_abandoned() {
    script(tiny())
        .packet(0, part(1, 0, 3), &[Write(0)])
        .packet(9_000, part(2, 0, 2), &[Nack(NackReason::BufferFull)])
        .timeout(9_999, &[])
        .timeout(10_000, &[Abandon(1)])
        .packet(10_001, part(3, 1, 4), &[Write(1)])
        .timeout(20_000, &[])
        .timeout(20_001, &[Abandon(3)]);
}

#[test]
fn a_lost_peer_takes_its_incomplete_rpcs_along_and_no_others() {
    script(tiny())
        .packet(0, part(1, 0, 2), &[Write(0)])
        .packet(1, whole(2), &[Write(2), Dispatch(0, 2)])
        .input(2, Input::PeerGone(NodeId(3)), &[Abandon(1)])
        .free(3, 0, 2, 1, &[Free(Freed::Taken)]);
}

#[test]
fn a_core_frees_only_what_it_holds() {
    script(tiny())
        .packet(0, whole(1), &[Write(0), Dispatch(0, 1)])
        .packet(1, part(2, 0, 2), &[Write(1)])
        .free(2, 1, 0, 1, &[Free(Freed::Refused)])
        .free(3, 0, 0, 2, &[Free(Freed::Refused)])
        .free(4, 0, 1, 2, &[Free(Freed::Refused)])
        .free(5, 0, u32::MAX, u32::MAX, &[Free(Freed::Refused)])
        .free(6, u16::MAX, 1, 2, &[Free(Freed::Refused)])
        .free(7, 0, 0, 1, &[Free(Freed::Taken)])
        .free(8, 0, 0, 1, &[Free(Freed::Refused)]);
}

#[test]
fn an_rpc_without_payload_has_a_slot_of_its_own() {
    let empty = |tid| Header { rpc_bytes: 0, ..whole(tid) };
    script(tiny()).packet(0, empty(1), &[Write(0), Dispatch(0, 1)]).packet(1, empty(2), &[Write(1), Dispatch(1, 2)]);
}

#[test]
fn a_bound_of_zero_lets_the_waiting_run_out() {
    script(tiny())
        .packet(0, whole(1), &[Write(0), Dispatch(0, 1)])
        .input(1, Input::QueueBound(0), &[])
        .packet(2, whole(2), &[Nack(NackReason::QueueBound)])
        .free(3, 0, 0, 1, &[Free(Freed::Taken)])
        .input(4, Input::QueueBound(1), &[])
        .packet(5, whole(3), &[Write(1), Dispatch(0, 3)]);
}
