//! Stations 2 to 6 and 11, in simulated time: a server decides about an RPC; its client hears of a NACK or of the reply.
//!
//! Next: [`cpu`](super::cpu), or another of the [`servers`](super::servers).

use super::egress::Request;
use super::servers::{Received, Servers};
use super::{Stop, World};
use nebula_nic::{Header, NackReason, Outcome, RpcKey, Timestamp, Verdict};

impl<S: Servers> World<'_, S> {
    /// The packet of an RPC reaches a server.
    #[inline(always)]
    pub(super) fn receive(&mut self, now: Timestamp, index: u16, header: Header, request: &Request) {
        let is_measured = self.length.is_measured(request.number);
        let Received { depth, verdict } = self.servers.receive(now, index, header, request);
        if is_measured {
            self.tally.queue_depth.record(depth);
        }
        match verdict {
            Verdict::Write { .. } => {}
            Verdict::Nack { reason: NackReason::QueueBound } if self.system.queue_bound.is_some() => {
                self.tally.nacks += u64::from(is_measured);
                self.take_nack(now, Header::nack(header.rpc(), NackReason::QueueBound));
            }
            // The buffer is no bound at this level: it is sized so that the queue's bound comes first.
            Verdict::Nack { .. } | Verdict::Drop { .. } => self.stop(Stop::NoRoom),
        }
    }

    /// The next event behind the wire.
    #[inline(always)]
    pub(super) fn turn_servers(&mut self, now: Timestamp) {
        if now >= self.servers.latest() {
            // All is idle, and the next RPC comes after the end of the servers' clock.
            return self.stop_at_end();
        }
        let Some(ended) = self.servers.turn(now) else { return };
        let served = ended.served;
        if self.length.is_measured(served.number) {
            let latency_ps = (now - served.sent).as_ps();
            self.tally.note_served(latency_ps, ended.queued_ps, served.service_ps, ended.overheads);
            self.tally.note_type(served.kind, latency_ps, served.service_ps);
            self.is_over = self.tally.ended() == self.length.rpcs;
        }
        self.take_reply(now, ended.rpc);
    }

    /// A NACK reaches the client: the requester's policy says what follows.
    #[cold]
    fn take_nack(&mut self, now: Timestamp, nack: Header) {
        let Some(listening) = &mut self.clients.listening else { return };
        let nack = Header { snid: Self::key(nack.rpc()).snid, ..nack };
        match listening.requester.handle_packet(now, nack) {
            Outcome::Redirect { token, server, outbound } => {
                let request = listening.request(token);
                self.send(now, server, outbound, &request);
            }
            Outcome::GaveUp { token, .. } => {
                let number = listening.request(token).number;
                self.tally.given_up += u64::from(self.length.is_measured(number));
                self.is_over = self.tally.ended() == self.length.rpcs;
                self.end(now, token);
            }
            _ => {}
        }
    }

    /// The reply reaches the client.
    #[inline(always)]
    pub(super) fn take_reply(&mut self, now: Timestamp, rpc: RpcKey) {
        let Some(listening) = &mut self.clients.listening else { return };
        if let Outcome::Reply { token, .. } =
            listening.requester.handle_packet(now, Header::reply(Self::key(rpc), 0, 0))
        {
            self.end(now, token);
        }
    }
}
