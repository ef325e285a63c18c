//! The receiver: its receive buffer and cores as the back end decides, its grants and answers.

use super::packet::mtu;
use super::question::Incast;
use super::sender::Packet;
use crate::error::SimError;
use nebula_nic::{
    Backend, BackendConfig, CoreId, Grant, Grants, Missing, NodeId, Policy, RpcKey, SLOT_BYTES, SingleQueue, SlotRange,
    Span, Timestamp, TransferId, Verdict,
};

/// How long a message may take to arrive: as in the runtime over UDP.
const REASSEMBLY: Span = Span::from_ms(500);

#[derive(Clone, Copy, Debug)]
pub(super) struct Answer {
    pub(super) to: NodeId,
    pub(super) tid: TransferId,
    pub(super) kind: AnswerKind,
}

#[derive(Clone, Copy, Debug)]
pub(super) enum AnswerKind {
    Reply,
    Nack,
    /// All packets have arrived.
    Whole,
    /// All before `first` have arrived, and `first + i` for each bit `i`.
    Missing {
        first: u32,
        bitmap: u64,
    },
    /// This many packets may be sent, counted from the first.
    Grant {
        packets: u32,
    },
}

/// The state of a sender's latest try.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    Arriving,
    Whole,
    Answered,
    Refused,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Service {
    pub(super) core: CoreId,
    pub(super) rpc: RpcKey,
    pub(super) slots: SlotRange,
}

#[derive(Debug)]
pub(super) struct Receiver {
    backend: Backend<SingleQueue>,
    grants: Option<Grants>,
    /// By sender: its latest try.
    fates: Vec<(Option<TransferId>, Fate)>,
    pub(super) answers: Vec<Answer>,
    pub(super) begun: Vec<Service>,
}

impl Receiver {
    pub(super) fn try_new(incast: &Incast) -> Result<Self, SimError> {
        let config = BackendConfig::new(incast.cores, Policy::SingleQueue)
            .slots(incast.buffer_bytes / SLOT_BYTES)
            .mtu(mtu())
            .rpc_bytes_max(incast.long_bytes)
            .reassembly_timeout(REASSEMBLY);
        let wrong = |error: nebula_nic::ConfigError| SimError::Incast { reason: error.to_string() };
        let backend = Backend::try_with(config.queue_bound(config.slots), SingleQueue::new(incast.cores));
        Ok(Self {
            backend: backend.map_err(wrong)?,
            grants: (incast.flow == nebula_requester::FlowKind::Homa).then(|| Grants::new(incast.grants)),
            fates: vec![(None, Fate::Refused); incast.senders.into()],
            answers: Vec::new(),
            begun: Vec::new(),
        })
    }

    fn answer(&mut self, rpc: RpcKey, kind: AnswerKind) {
        self.answers.push(Answer { to: rpc.snid, tid: rpc.tid, kind });
    }

    /// Accepts a packet; those of earlier tries are ignored.
    pub(super) fn receive(&mut self, now: Timestamp, packet: Packet) {
        self.abandon(now);
        let rpc = packet.header.rpc();
        let (latest, fate) = self.fates[rpc.snid.0 as usize];
        match (latest, fate) {
            (Some(tid), _) if tid.0 > rpc.tid.0 => {}
            (Some(tid), Fate::Answered) if tid == rpc.tid => self.answer(rpc, AnswerKind::Reply),
            (Some(tid), Fate::Refused) if tid == rpc.tid => self.answer(rpc, AnswerKind::Nack),
            (Some(tid), Fate::Whole) if tid == rpc.tid => self.answer(rpc, AnswerKind::Whole),
            _ => self.take(now, packet, latest == Some(rpc.tid)),
        }
        self.dispatch();
        while let Some(Grant { rpc, packets }) = self.grants.as_mut().and_then(|grants| grants.poll_grant(now)) {
            self.answer(rpc, AnswerKind::Grant { packets });
        }
    }

    fn take(&mut self, now: Timestamp, packet: Packet, is_known: bool) {
        let Packet { header, wants_ack } = packet;
        let rpc = header.rpc();
        let packets = mtu().packets(header.rpc_bytes);
        let fate = match self.backend.handle_packet(now, header) {
            Verdict::Write { complete, .. } => {
                if let Some(grants) = self.grants.as_mut().filter(|_| packets > 1) {
                    grants.handle_packet(now, rpc, packets);
                }
                if complete { Fate::Whole } else { Fate::Arriving }
            }
            Verdict::Nack { .. } => {
                self.answer(rpc, AnswerKind::Nack);
                Fate::Refused
            }
            Verdict::Drop { .. } => Fate::Arriving,
        };
        self.fates[rpc.snid.0 as usize] = (Some(rpc.tid), fate);
        match fate {
            Fate::Whole if is_known && wants_ack => self.answer(rpc, AnswerKind::Whole),
            Fate::Arriving if wants_ack => self.acknowledge(now, rpc, packets),
            _ => {}
        }
    }

    fn acknowledge(&mut self, now: Timestamp, rpc: RpcKey, packets: u32) {
        let Some(Missing { first, bitmap }) = self.backend.missing(rpc) else { return };
        self.answer(rpc, AnswerKind::Missing { first, bitmap });
        if let Some(grants) = &mut self.grants {
            let Grant { packets, .. } = grants.handle_ask(now, rpc, packets, first + bitmap.count_ones());
            self.answer(rpc, AnswerKind::Grant { packets });
        }
    }

    pub(super) fn finish(&mut self, service: Service) {
        let Service { core, rpc, slots } = service;
        self.backend.handle_free(core, slots);
        let (latest, fate) = &mut self.fates[rpc.snid.0 as usize];
        if *latest == Some(rpc.tid) {
            *fate = Fate::Answered;
        }
        self.answer(rpc, AnswerKind::Reply);
        self.dispatch();
    }

    fn dispatch(&mut self) {
        while let Some(dispatch) = self.backend.poll_dispatch() {
            let (core, arrival) = (dispatch.core, dispatch.arrival);
            self.begun.push(Service { core, rpc: arrival.rpc, slots: arrival.slots });
        }
    }

    /// Abandons messages that have not arrived in time.
    fn abandon(&mut self, now: Timestamp) {
        if self.backend.poll_timeout().is_none_or(|due| due > now) {
            return;
        }
        self.backend.handle_timeout(now);
        while let Some(abandoned) = self.backend.poll_abandoned() {
            if let Some(grants) = &mut self.grants {
                grants.forget(abandoned.rpc);
            }
            let (latest, fate) = &mut self.fates[abandoned.rpc.snid.0 as usize];
            if *latest == Some(abandoned.rpc.tid) {
                *fate = Fate::Refused;
            }
        }
    }
}
