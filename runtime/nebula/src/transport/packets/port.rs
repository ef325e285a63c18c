//! The engine's end: frames in, frames out.

use super::counters::PacketCounters;
use crate::net::{Forwarding, PACKET_PREFIX_BYTES, PacketDevice, Side};
use crate::nic::ingress::{AtOnce, Intake};
use crate::nic::recorder::Recorder;
use crate::nic::transport::Transport;
use crate::rpc::answer::{Answer, Fate};
use nebula_nic::{
    Abandoned, EntryId, FlowOrder, Header, Kind, NodeId, RpcKey, Sources, Span, Ticket, Timestamp, TransferId, Verdict,
};
use std::os::fd::BorrowedFd;
use std::sync::Arc;
use std::time::Duration;

/// Orders that are distinguished: of two flows with the same one, a packet waits for both.
const FLOWS: u32 = 4096;
/// How often the device's lost frames are read, which is a system call.
const LOST_EVERY: Span = Span::from_ms(10);

#[derive(Debug)]
pub(crate) struct PacketPort {
    device: Box<dyn PacketDevice>,
    taker: Taker,
    departures: Departures,
    asked: Timestamp,
}

#[derive(Debug)]
struct Taker {
    flow_hash: fn(&[u8]) -> u32,
    tid: TransferId,
    #[expect(clippy::vec_box, reason = "answers go out and come back in their boxes")]
    spare: Vec<Box<Answer>>,
    reply_bytes_max: u32,
    counters: Arc<PacketCounters>,
}

#[derive(Debug)]
struct Departures {
    order: Option<FlowOrder>,
    /// The answers of served packets that wait for others of their flow, by ticket.
    held: Box<[Option<Box<Answer>>]>,
    scratch: Box<[u8]>,
}

impl PacketPort {
    /// A port for at most `packets_max` packets at once: as many as fit the receive buffer.
    pub(crate) fn new(forwarding: Forwarding, packets_max: u32, counters: Arc<PacketCounters>) -> Self {
        let Forwarding { device, flow_hash, keeps_order } = forwarding;
        let frame_bytes_max = device.frame_bytes_max();
        let order = keeps_order.then(|| FlowOrder::new(packets_max, FLOWS));
        let held = if keeps_order { packets_max as usize } else { 0 };
        let departures =
            Departures { order, held: (0..held).map(|_| None).collect(), scratch: vec![0; frame_bytes_max].into() };
        let reply_bytes_max = u32::try_from(frame_bytes_max).unwrap_or(u32::MAX);
        let taker = Taker { flow_hash, tid: TransferId(0), spare: Vec::new(), reply_bytes_max, counters };
        Self { device, taker, departures, asked: Timestamp::ZERO }
    }

    fn note_lost(&self) {
        self.taker.counters.set_lost(self.device.lost());
    }
}

impl Taker {
    /// Decides about a packet, and writes it to its slots.
    #[inline]
    fn take(&mut self, now: Timestamp, intake: &mut Intake, order: &mut Option<FlowOrder>, side: Side, frame: &[u8]) {
        self.counters.received(side);
        let flow = (self.flow_hash)(frame);
        let rpc_bytes = u32::try_from(PACKET_PREFIX_BYTES + frame.len()).unwrap_or(u32::MAX);
        // A flow takes the place of a client.
        let (snid, tid) = (NodeId(flow), self.tid);
        let header = Header { kind: Kind::Request, snid, tid, rpc_bytes, pkt_idx: 0, key_hash: flow };
        let Verdict::Write { slots, complete: true, .. } = intake.receive(now, header) else {
            self.counters.refused();
            // A turn then serves for as long as it refuses.
            intake.count_refusal(now);
            return;
        };
        self.tid = TransferId(tid.0.wrapping_add(1));
        let mut answer = self.spare.pop().unwrap_or_else(|| Box::new(Answer::new(self.reply_bytes_max)));
        answer.reset();
        let ticket = order.as_mut().and_then(|order| order.handle_arrival(flow));
        (answer.number, answer.tid) = (snid, TransferId(u32::from(side == Side::Outside)));
        answer.entry = EntryId(ticket.map_or(u32::MAX, |ticket| ticket.0));
        intake.payloads.set_answer(slots, answer);
        intake.payloads.write_bytes(slots, 0, &[u8::from(side == Side::Outside), 0]);
        intake.payloads.write_bytes(slots, 2, frame);
        intake.note_fresh(slots, rpc_bytes);
    }
}

impl Departures {
    /// A packet was served: sends it, and those of its flow that waited for it, in their order.
    fn end(&mut self, device: &mut dyn PacketDevice, taker: &mut Taker, answer: Box<Answer>) {
        let Self { order: Some(order), held, scratch } = self else {
            return leave(&mut self.scratch, device, taker, answer);
        };
        let ticket = Ticket(answer.entry.0);
        if !order.handle_end(ticket) {
            // It has no order: it came while the order's places were full.
            return leave(scratch, device, taker, answer);
        }
        held[ticket.index()] = Some(answer);
        while let Some(answer) = order.poll().and_then(|ticket| held[ticket.index()].take()) {
            leave(scratch, device, taker, answer);
        }
    }
}

#[inline]
fn leave(scratch: &mut [u8], device: &mut dyn PacketDevice, taker: &mut Taker, mut answer: Box<Answer>) {
    let came_from = if answer.tid.0 == 0 { Side::Inside } else { Side::Outside };
    let side = came_from.other();
    let (first, ending, _) = answer.room();
    match ending.fate {
        Fate::Replied if ending.bytes() == 0 => taker.counters.dropped(),
        Fate::Replied => {
            let frame = &mut scratch[..ending.bytes() as usize];
            ending.copy_reply(first, frame);
            taker.counters.sent(side, device.send(side, frame));
        }
        Fate::Refused(_) => taker.counters.refused(),
        Fate::Open | Fate::Faulted(_) => taker.counters.failed(),
    }
    taker.spare.push(answer);
}

impl Transport for PacketPort {
    const MAKES_SYSTEM_CALLS: bool = true;
    const SOURCES: Option<Sources> = Some(Sources::ONE);

    fn poll(&mut self, now: Timestamp, intake: &mut Intake, _: &mut impl AtOnce) -> usize {
        let Self { device, taker, departures, .. } = self;
        let order = &mut departures.order;
        device.recv(&mut |side, frame| taker.take(now, intake, order, side, frame))
    }

    #[inline]
    fn ended(&mut self, _: NodeId, answer: Option<Box<Answer>>) {
        if let Some(answer) = answer {
            self.departures.end(&mut *self.device, &mut self.taker, answer);
        }
    }

    /// A packet is always one packet of the NIC.
    fn abandoned(&mut self, _: Timestamp, rpc: RpcKey, answer: Option<Box<Answer>>, _: &mut Option<Recorder>) {
        if let Some(mut answer) = answer {
            answer.ending.fate = Fate::Refused(Abandoned::REASON);
            self.ended(rpc.snid, Some(answer));
        }
    }

    #[inline]
    fn flush(&mut self, now: Timestamp) {
        self.device.flush();
        if now - self.asked >= LOST_EVERY {
            self.asked = now;
            self.note_lost();
        }
    }

    fn let_nobody_in(&mut self) {
        self.note_lost();
    }

    fn wait(&mut self, timeout: Option<Duration>, parker: BorrowedFd<'_>) -> bool {
        let _ = self.device.wait(timeout, parker);
        true
    }
}
