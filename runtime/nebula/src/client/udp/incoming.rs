//! Datagrams that arrive: is one the server's, and which RPC does it answer?

use super::handshake::Admitted;
use super::rpc::Phase;
use super::session::Session;
use crate::client::error::CallError;
use crate::rpc::fault::Fault;
use crate::transport::udp::frame::{Frame, FrameError, FrameKind, KIND_AT};
use crate::transport::udp::handshake::{Reason, Refused, Welcome, reason_of};
use crate::transport::udp::message::{Message, Messages};
use crate::transport::udp::seal::Seal;
use nebula_nic::{Header, Kind, NackReason, NodeId, RpcKey, TransferId};
use nebula_requester::{Download, FlowKind, Outcome};
use std::net::SocketAddr;

impl Session {
    /// Anyone may have sent the datagram: it is ignored unless it is the server's for this client.
    #[inline]
    pub(super) fn receive(&mut self, from: SocketAddr, datagram: &mut [u8]) {
        if from != self.server {
            self.ignored += 1;
            return;
        }
        match self.outbox.seal.open(datagram, self.secret(datagram)) {
            Ok((frame, body)) if frame.kind == FrameKind::Server => self.receive_frame(&frame, body),
            Ok((frame, body)) => self.receive_handshake(&frame, body),
            Err(_) => self.receive_strange(datagram),
        }
    }

    /// Start value of a plain datagram's check: 0 before the welcome, as the two sides share
    /// nothing yet.
    #[inline]
    fn secret(&self, datagram: &[u8]) -> u32 {
        let is_granted = match datagram.get(KIND_AT) {
            Some(&kind) if kind == FrameKind::Server as u8 => true,
            Some(&kind) if kind == FrameKind::Refusal as u8 => reason_of(datagram).is_some_and(Reason::is_of_opened),
            _ => false,
        };
        self.handshake.admitted().filter(|_| is_granted).map_or(0, Admitted::secret)
    }

    #[inline]
    fn receive_frame(&mut self, frame: &Frame, body: &[u8]) {
        if !self
            .handshake
            .admitted()
            .is_some_and(|admitted| admitted.is_of(frame.incarnation, frame.snid) && admitted.domain == frame.domain)
        {
            self.ignored += 1;
            return;
        }
        if self.server_time.is_long_ago(self.now, frame.word) {
            return self.receive_old();
        }
        (self.heard, self.refusals) = (self.now, 0);
        self.server_time.note(self.now, frame.word);
        for message in Messages::new(body) {
            match message {
                Ok(message) => self.handle(&message),
                Err(_) => self.ignored += 1,
            }
        }
    }

    /// A replayed frame, whose numbers may be in use again, or a server whose clock was stopped.
    #[cold]
    fn receive_old(&mut self) {
        self.ignored += 1;
        self.handshake.doubt(self.now);
    }

    #[cold]
    fn receive_handshake(&mut self, frame: &Frame, body: &[u8]) {
        if let Some(refused) = Refused::read(frame, body) {
            match refused.reason.is_of_opened() {
                true => self.handshake.handle_refusal(self.now, &refused),
                false => self.handshake.handle_unopened(&refused, self.outbox.seal.lead()),
            }
            return;
        }
        let fits = |welcome: &Welcome| {
            let longest = usize::from(self.outbox.datagram_bytes.min(welcome.datagram_bytes));
            self.outbox.overhead_bytes() + MESSAGE_BYTES_MAX + welcome.mtu_bytes as usize <= longest
        };
        let Some(welcome) = Welcome::read(frame, body).filter(fits) else {
            self.ignored += 1;
            return;
        };
        if let Some(before) = self.handshake.handle_welcome(self.now, &welcome) {
            self.enter(before);
            (self.heard, self.refusals) = (self.now, 0);
            self.server_time.note_fresh(self.now, welcome.time_ns);
        }
    }

    /// It may still be a refusal of this client, if it repeats bytes of its hello.
    #[cold]
    fn receive_strange(&mut self, datagram: &mut [u8]) {
        self.ignored += 1;
        if datagram.get(KIND_AT) != Some(&(FrameKind::Refusal as u8)) {
            return;
        }
        let refused = match Seal::Plain.open(datagram, 0) {
            Ok((frame, body)) => Refused::read(&frame, body),
            // Every version has the same layout of a refusal, but perhaps not the same seal.
            Err(FrameError::Version(_)) => Refused::of_another_version(datagram),
            Err(_) => None,
        };
        if let Some(refused) = refused.filter(|refused| !refused.reason.is_of_opened()) {
            self.handshake.handle_unopened(&refused, self.outbox.seal.lead());
        }
    }

    #[inline]
    fn handle(&mut self, message: &Message<'_>) {
        if !self.unwanted.is_empty() {
            self.end_unwanted(message);
        }
        match *message {
            Message::Reply { tid, rpc_bytes, pkt_idx, payload } => self.handle_reply(tid, rpc_bytes, pkt_idx, payload),
            Message::Nack { tid, code } => self.handle_nack(tid, code),
            Message::Ack { tid, is_whole, first_missing, bitmap } => {
                self.handle_ack(tid, is_whole, first_missing, bitmap);
            }
            Message::Grant { tid, packets } => self.handle_grant(tid, packets),
            Message::Fault { tid, code } => {
                if let Some(place) = self.live(tid) {
                    self.flights.answered(self.now, place);
                    self.end_with(place, CallError::Fault(Fault::from_code(code)));
                }
            }
            Message::Request(_) | Message::Operation(_) | Message::Pull { .. } | Message::Cancel { .. } => {
                self.ignored += 1
            }
        }
    }

    /// An answered RPC needs no further cancel.
    #[cold]
    fn end_unwanted(&mut self, message: &Message<'_>) {
        if let Message::Reply { tid, .. } | Message::Nack { tid, .. } | Message::Fault { tid, .. } = *message {
            self.unwanted.answered(tid);
        }
    }

    #[inline]
    fn live(&mut self, tid: TransferId) -> Option<u32> {
        let place = self.requester.place(tid);
        let rpc = &self.rpcs[place as usize];
        if rpc.is_live && rpc.tid == tid && rpc.is_sent() {
            return Some(place);
        }
        self.ignored += 1;
        None
    }

    #[inline]
    fn handle_reply(&mut self, tid: TransferId, rpc_bytes: u32, pkt_idx: u16, payload: &[u8]) {
        let Some(place) = self.live(tid) else { return };
        if rpc_bytes > self.reply_bytes_max {
            self.flights.answered(self.now, place);
            self.end_with(place, CallError::Fault(Fault::ReplyTooLarge));
            return;
        }
        let pkt_idx = u32::from(pkt_idx);
        let packets = self.mtu.packets(rpc_bytes);
        if pkt_idx >= packets || payload.len() != self.mtu.packet_bytes(rpc_bytes, pkt_idx) as usize {
            self.ignored += 1;
            return;
        }
        let header = Header::reply(rpc_key(tid), rpc_bytes, pkt_idx);
        match self.requester.handle_packet(self.now, header) {
            Outcome::Reply { .. } if packets == 1 => {
                self.flights.answered(self.now, place);
                let ticket = self.ended(place);
                self.done.push_packed(ticket, place, payload);
            }
            Outcome::Reply { offset_bytes, bytes, .. } => self.end_long(place, offset_bytes, bytes, payload),
            Outcome::Part { offset_bytes, .. } => self.take_part(place, offset_bytes, packets, pkt_idx, payload),
            _ => self.ignored += 1,
        }
    }

    #[inline(never)]
    fn end_long(&mut self, place: u32, offset_bytes: u32, bytes: u32, payload: &[u8]) {
        self.flights.answered(self.now, place);
        let ticket = self.ended(place);
        let rpc = &mut self.rpcs[place as usize];
        rpc.write(offset_bytes, payload);
        rpc.reply.truncate(bytes as usize);
        let reply = std::mem::take(&mut rpc.reply);
        self.rpcs[place as usize].reply = self.done.push_long(ticket, place, reply);
    }

    #[inline(never)]
    fn take_part(&mut self, place: u32, offset_bytes: u32, packets: u32, pkt_idx: u32, payload: &[u8]) {
        let now = self.now;
        let rpc = &mut self.rpcs[place as usize];
        rpc.write(offset_bytes, payload);
        if let Phase::Download(download) = rpc.phase {
            self.flights.arrived(now, place);
            if download.is_due(pkt_idx) {
                self.flights.answered(now, place);
                self.enqueue_on(place);
            }
            return;
        }
        let download = Download::new(packets);
        rpc.phase = Phase::Download(download);
        self.flights.answered(now, place);
        if download.is_due(pkt_idx) {
            self.enqueue_on(place);
        } else {
            self.flights.expects(now, place, download.expected(1));
        }
    }

    #[inline(never)]
    fn handle_nack(&mut self, tid: TransferId, code: u32) {
        let Some(place) = self.live(tid) else { return };
        let RpcKey { snid, tid } = rpc_key(tid);
        let nack = Header { kind: Kind::Nack, snid, tid, rpc_bytes: 0, pkt_idx: 0, key_hash: code };
        match nack.nack_reason() {
            Some(NackReason::BufferFull | NackReason::ReassemblerFull | NackReason::QueueBound) => {
                self.flights.refused(self.now, place);
            }
            _ => self.flights.answered(self.now, place),
        }
        match self.requester.handle_packet(self.now, nack) {
            Outcome::GaveUp { reason, .. } => self.fail(place, CallError::refused(reason)),
            Outcome::Redirect { outbound, .. } => self.try_again(outbound.tid()),
            // Until the retry the RPC counts as not executed.
            Outcome::Retry { .. } => self.rpcs[place as usize].try_as(tid),
            _ => self.ignored += 1,
        }
    }

    /// More of a long request may be sent. A grant may exceed the request.
    #[inline(never)]
    fn handle_grant(&mut self, tid: TransferId, packets: u32) {
        let Some(place) = self.live(tid) else { return };
        let rpc = &mut self.rpcs[place as usize];
        if packets <= rpc.granted || self.flights.flow().kind() != FlowKind::Homa {
            return;
        }
        rpc.granted = packets;
        if let Phase::Upload(_) = rpc.phase {
            self.enqueue_on(place);
        }
    }

    #[inline(never)]
    fn handle_ack(&mut self, tid: TransferId, is_whole: bool, first_missing: u16, bitmap: u64) {
        let Some(place) = self.live(tid) else { return };
        let rpc = &mut self.rpcs[place as usize];
        match &mut rpc.phase {
            Phase::Download(_) => {}
            phase if is_whole => {
                if let Phase::Upload(_) = phase {
                    *phase = Phase::InServer;
                }
                self.flights.acked(self.now, place);
            }
            Phase::Upload(upload) => {
                let is_news = upload.handle_ack(first_missing.into(), bitmap);
                if is_news {
                    rpc.is_overdue = false;
                    self.flights.answered(self.now, place);
                }
                if is_news || self.flights.flow().kind() == FlowKind::Homa {
                    self.enqueue_on(place);
                }
            }
            Phase::Single | Phase::InServer => {}
        }
    }
}

const MESSAGE_BYTES_MAX: usize = crate::transport::udp::message::REQUEST_BYTES;

#[inline(always)]
fn rpc_key(tid: TransferId) -> RpcKey {
    RpcKey { snid: NodeId(0), tid }
}
