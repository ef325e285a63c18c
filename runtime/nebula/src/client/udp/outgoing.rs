//! Messages to the server: requests, packets that are missing, requests for missing replies, and
//! cancels.

use super::rpc::Phase;
use super::session::Session;
use super::unwanted::Unwanted;
use crate::client::error::CallError;
use crate::net::Wire;
use crate::transport::udp::message::{Message, Wants};
use nebula_requester::FlowKind;

impl Session {
    #[inline]
    pub(super) fn has_to_send(&self) -> bool {
        let has_rpcs = !(self.queue.is_empty() && self.begun.is_empty()) && self.flights.room(self.now) > 0;
        (has_rpcs || self.unwanted.has_due()) && self.handshake.open().is_some()
    }

    pub(super) fn transmit(&mut self, wire: &mut dyn Wire) {
        let Some(admitted) = self.handshake.open() else { return };
        self.outbox.begin(admitted);
        self.sent_together = self.queue.len();
        while self.flights.room(self.now) > 0
            && let Some(place) = self.begun.pop_front().or_else(|| self.queue.pop_front())
        {
            self.send_rpc(wire, place);
        }
        while let Some(Unwanted { tid, stamp_ns, .. }) = self.unwanted.pop(self.now) {
            self.outbox.push(wire, &Message::Cancel { tid, stamp_ns });
        }
        self.outbox.depart(wire);
        let flushed = wire.flush();
        self.note(flushed);
    }

    #[inline]
    fn send_rpc(&mut self, wire: &mut dyn Wire, place: u32) {
        let rpc = &mut self.rpcs[place as usize];
        rpc.is_queued = false;
        if !rpc.is_live {
            return;
        }
        if !rpc.is_sent() {
            rpc.stamp(self.now, self.server_time.at(self.now), self.mtu);
        }
        let is_overdue = std::mem::take(&mut rpc.is_overdue);
        match rpc.phase {
            Phase::Single => {
                let wants = Wants::ack_if(is_overdue && !rpc.is_operation);
                self.outbox.push_request(wire, &rpc.packet(self.mtu, 0, wants), rpc.is_operation);
                self.flights.sent(self.now, place, 1);
            }
            // It was cut for longer packets than the server takes now; several would make it an
            // RPC.
            _ if rpc.is_operation => self.end_with(place, CallError::Protocol),
            Phase::Upload(_) => self.send_burst(wire, place, is_overdue),
            Phase::InServer => {
                let last = self.mtu.packets(u32::try_from(rpc.request.len()).unwrap_or(0)).saturating_sub(1);
                self.outbox.push(wire, &Message::Request(rpc.packet(self.mtu, last, Wants::ack_if(true))));
                self.flights.sent(self.now, place, 1);
            }
            Phase::Download(_) => self.pull(wire, place),
        }
    }

    #[inline(never)]
    fn send_burst(&mut self, wire: &mut dyn Wire, place: u32, is_overdue: bool) {
        let rpc = &mut self.rpcs[place as usize];
        let Phase::Upload(mut upload) = rpc.phase else { return };
        let has_grants = self.flights.flow().kind() == FlowKind::Homa;
        let room = self.flights.room_of(self.now, upload.progress(rpc.granted));
        let packets = match has_grants {
            _ if is_overdue => 0,
            true => upload.begin_granted(room),
            false => upload.begin_burst(room),
        };
        if packets == 0 && has_grants && !is_overdue {
            return self.wait_for_grant(place, upload.unacknowledged());
        }
        if packets == 0 {
            let again = upload.handle_timeout();
            let wants = Wants::ack_if(true).grants_if(has_grants);
            self.outbox.push(wire, &Message::Request(rpc.packet(self.mtu, again.pkt_idx, wants)));
        }
        while let Some(next) = upload.poll_packet().filter(|_| packets > 0) {
            let wants = Wants::ack_if(next.wants_ack).grants_if(has_grants);
            self.outbox.push(wire, &Message::Request(rpc.packet(self.mtu, next.pkt_idx, wants)));
        }
        rpc.phase = Phase::Upload(upload);
        let in_flight = if has_grants { upload.unacknowledged() } else { packets };
        self.flights.sent(self.now, place, in_flight.max(1));
    }

    /// No more packets of a long request are granted, and the rest is in flight or has arrived.
    fn wait_for_grant(&mut self, place: u32, in_flight: u32) {
        match in_flight {
            0 => self.flights.waits(self.now, place),
            // An acknowledgment with news has stopped the timer.
            _ if !self.flights.is_awaited(place) => self.flights.expects(self.now, place, in_flight),
            _ => {}
        }
    }

    #[inline(never)]
    fn pull(&mut self, wire: &mut dyn Wire, place: u32) {
        let rpc = &mut self.rpcs[place as usize];
        let Phase::Download(mut download) = rpc.phase else { return };
        let Some((first_missing, arrived)) = self.requester.reply_missing(place) else { return };
        let Some(pull) = download.pull(first_missing, arrived, self.flights.room(self.now)) else { return };
        let first = u16::try_from(pull.first).unwrap_or(u16::MAX);
        self.outbox.push(wire, &Message::Pull { tid: rpc.tid, first, bitmap: pull.bitmap });
        rpc.phase = Phase::Download(download);
        self.flights.sent(self.now, place, pull.packets());
    }
}
