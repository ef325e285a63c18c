//! A sender: one message after the other, packet by packet, as the runtime's client sends them.

use super::packet::mtu;
use super::question::Incast;
use super::receiver::{Answer, AnswerKind};
use nebula_nic::{Header, Kind, NodeId, Span, Timestamp, TransferId};
use nebula_requester::{FlowKind, Overdue, Retransmit, RetransmitConfig, Upload};
use nebula_workload::Rng;

/// The sender's one place in [`Retransmit`].
const PLACE: u32 = 0;

#[derive(Clone, Copy, Debug)]
pub(super) struct Packet {
    pub(super) header: Header,
    pub(super) wants_ack: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ended {
    Answered {
        is_short: bool,
        bytes: u32,
        /// When its first try began.
        begun: Timestamp,
    },
    /// A try was refused; the message goes on.
    Refused,
    /// It was sent as often as allowed.
    Lost,
}

#[derive(Clone, Copy, Debug)]
enum Phase {
    /// Refused: the next try begins then.
    Waiting(Timestamp),
    Upload(Upload),
    /// The receiver has all of them.
    InServer,
}

#[derive(Debug)]
pub(super) struct Sender {
    node: NodeId,
    flights: Retransmit,
    draws: Rng,
    tid: u32,
    is_short: bool,
    bytes: u32,
    begun: Timestamp,
    phase: Phase,
    granted: u32,
    /// Whether packets are to be sent: new ones or, if it is overdue, old ones again.
    has_to_send: bool,
    is_overdue: bool,
    /// Its link is busy until then.
    pub(super) link_free: Timestamp,
    /// When its earliest pending event is due.
    pub(super) timer: Option<Timestamp>,
}

impl Sender {
    pub(super) fn new(incast: &Incast, node: u16, mut draws: Rng, now: Timestamp) -> Self {
        let mut flights = Retransmit::new(RetransmitConfig { flow: incast.flow, ..RetransmitConfig::new(1) });
        flights.set_unscheduled(incast.grants.unscheduled);
        let is_short = draws.unit() < incast.short_share;
        let bytes = if is_short { incast.short_bytes } else { incast.long_bytes };
        let upload = Upload::new(mtu().packets(bytes));
        Self {
            node: NodeId(node.into()),
            flights,
            draws,
            tid: 0,
            is_short,
            bytes,
            begun: now,
            phase: Phase::Upload(upload),
            granted: 0,
            has_to_send: true,
            is_overdue: false,
            link_free: now,
            timer: None,
        }
    }

    fn has_grants(&self) -> bool {
        self.flights.flow().kind() == FlowKind::Homa
    }

    fn begin(&mut self, incast: &Incast, now: Timestamp) {
        self.is_short = self.draws.unit() < incast.short_share;
        self.bytes = if self.is_short { incast.short_bytes } else { incast.long_bytes };
        self.begun = now;
        self.begin_try();
    }

    fn begin_try(&mut self) {
        self.tid = self.tid.wrapping_add(1);
        self.phase = Phase::Upload(Upload::new(mtu().packets(self.bytes)));
        (self.granted, self.has_to_send, self.is_overdue) = (0, true, false);
    }

    pub(super) fn handle(&mut self, incast: &Incast, now: Timestamp, answer: Answer) -> Option<Ended> {
        if answer.tid != TransferId(self.tid) || matches!(self.phase, Phase::Waiting(_)) {
            return None;
        }
        match answer.kind {
            AnswerKind::Reply => {
                self.flights.answered(now, PLACE);
                self.flights.ended(PLACE);
                let ended = Ended::Answered { is_short: self.is_short, bytes: self.bytes, begun: self.begun };
                self.begin(incast, now);
                return Some(ended);
            }
            AnswerKind::Nack => {
                self.flights.refused(now, PLACE);
                self.flights.ended(PLACE);
                let after = incast.retry * self.draws.below(2048) / 1024;
                (self.phase, self.has_to_send) = (Phase::Waiting(now + after), false);
                return Some(Ended::Refused);
            }
            AnswerKind::Whole => {
                self.phase = Phase::InServer;
                (self.has_to_send, self.is_overdue) = (false, false);
                self.flights.acked(now, PLACE);
            }
            AnswerKind::Missing { first, bitmap } => self.handle_ack(now, first, bitmap),
            AnswerKind::Grant { packets } => self.handle_grant(packets),
        }
        None
    }

    fn handle_ack(&mut self, now: Timestamp, first: u32, bitmap: u64) {
        let Phase::Upload(mut upload) = self.phase else { return };
        let is_news = upload.handle_ack(first, bitmap);
        self.phase = Phase::Upload(upload);
        if is_news {
            self.is_overdue = false;
            self.flights.answered(now, PLACE);
        }
        self.has_to_send |= is_news || self.has_grants();
    }

    fn handle_grant(&mut self, packets: u32) {
        if packets > self.granted {
            self.granted = packets;
            self.has_to_send |= matches!(self.phase, Phase::Upload(_));
        }
    }

    /// Sends what is due into `out`.
    pub(super) fn turn(&mut self, incast: &Incast, now: Timestamp, out: &mut Vec<Packet>) -> Option<Ended> {
        if matches!(self.phase, Phase::Waiting(until) if until <= now) {
            self.begin_try();
        }
        let mut ended = None;
        while let Some(overdue) = self.flights.poll_overdue(now) {
            match overdue {
                Overdue::Lost { .. } => (self.has_to_send, self.is_overdue) = (true, true),
                Overdue::GaveUp { .. } => {
                    ended = Some(Ended::Lost);
                    self.begin(incast, now);
                }
            }
        }
        if self.has_to_send && self.flights.room(now) > 0 {
            self.send(now, out);
        }
        ended
    }

    fn send(&mut self, now: Timestamp, out: &mut Vec<Packet>) {
        let is_overdue = std::mem::take(&mut self.is_overdue);
        self.has_to_send = false;
        let packets = mtu().packets(self.bytes);
        match self.phase {
            Phase::Waiting(_) => {}
            Phase::InServer => {
                out.push(self.packet(packets - 1, true));
                self.flights.sent(now, PLACE, 1);
            }
            Phase::Upload(_) if packets == 1 => {
                out.push(self.packet(0, is_overdue));
                self.flights.sent(now, PLACE, 1);
            }
            Phase::Upload(upload) => self.send_burst(now, upload, is_overdue, out),
        }
    }

    fn send_burst(&mut self, now: Timestamp, mut upload: Upload, is_overdue: bool, out: &mut Vec<Packet>) {
        let room = self.flights.room_of(now, upload.progress(self.granted));
        let has_grants = self.has_grants();
        let packets = match has_grants {
            _ if is_overdue => 0,
            true => upload.begin_granted(room),
            false => upload.begin_burst(room),
        };
        if packets == 0 && !is_overdue {
            // It waits for a grant, or for packets in flight, whose timer only news in an
            // acknowledgment has stopped.
            match upload.unacknowledged() {
                0 => self.flights.waits(now, PLACE),
                in_flight if !self.flights.is_awaited(PLACE) => self.flights.expects(now, PLACE, in_flight),
                _ => {}
            }
            return;
        }
        if packets == 0 {
            out.push(self.packet(upload.handle_timeout().pkt_idx, true));
        }
        while let Some(next) = upload.poll_packet().filter(|_| packets > 0) {
            out.push(self.packet(next.pkt_idx, next.wants_ack));
        }
        self.phase = Phase::Upload(upload);
        let in_flight = if has_grants { upload.unacknowledged() } else { packets };
        self.flights.sent(now, PLACE, in_flight.max(1));
    }

    fn packet(&self, pkt_idx: u32, wants_ack: bool) -> Packet {
        let (snid, tid) = (self.node, TransferId(self.tid));
        let header = Header { kind: Kind::Request, snid, tid, rpc_bytes: self.bytes, pkt_idx, key_hash: 0 };
        Packet { header, wants_ack }
    }

    pub(super) fn poll_timeout(&self, now: Timestamp) -> Option<Timestamp> {
        let again = match self.phase {
            Phase::Waiting(until) => Some(until),
            _ if self.has_to_send => Some(self.flights.paced_until()),
            _ => None,
        };
        let least = now + Span::from_ps(1);
        [self.flights.poll_timeout(), again].into_iter().flatten().min().map(|due| due.max(least))
    }
}
