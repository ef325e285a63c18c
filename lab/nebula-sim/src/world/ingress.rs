//! Stations 2 to 6, in simulated time: a server decides about an RPC.
//!
//! Next: [`dispatch`](super::dispatch), or another of the [`servers`](super::servers).

use super::client::Request;
use super::one_run::World;
use super::servers::{Received, Servers};
use super::window::Stop;
use nebula_nic::{Header, NackReason, Timestamp, Verdict};

impl<S: Servers> World<'_, S> {
    #[inline(always)]
    pub(super) fn receive(&mut self, now: Timestamp, index: u16, header: Header, request: &Request) {
        let is_measured = self.window.length.is_measured(request.number);
        let Received { depth, verdict } = self.servers.receive(now, index, header, request);
        if is_measured {
            self.window.tally.queue_depth.record(depth);
        }
        match verdict {
            Verdict::Write { .. } => {}
            Verdict::Nack { reason: NackReason::QueueBound } if self.system.queue_bound.is_some() => {
                self.window.tally.nacks += u64::from(is_measured);
                self.take_nack(now, Header::nack(header.rpc(), NackReason::QueueBound));
            }
            // The buffer is no limit here: it is sized so that the queue's bound comes first.
            Verdict::Nack { .. } | Verdict::Drop { .. } => self.window.stop(Stop::NoRoom),
        }
    }

    /// Takes the RPCs dropped since; here a waiting client knows at once.
    #[inline(always)]
    fn take_drops(&mut self, now: Timestamp) {
        while let Some((rpc, number)) = self.servers.poll_dropped() {
            self.window.tally.nacks += u64::from(self.window.length.is_measured(number));
            self.take_nack(now, Header::nack(rpc, NackReason::QueueBound));
        }
    }

    #[inline(always)]
    pub(super) fn turn_servers(&mut self, now: Timestamp) {
        if now >= self.servers.latest() {
            // All are idle, and the next RPC arrives after the end of the servers' clock.
            return self.stop_at_end();
        }
        let Some(ended) = self.servers.turn(now) else { return self.take_drops(now) };
        let served = ended.served;
        if self.window.length.is_measured(served.number) {
            let latency_ps = (now - served.sent).as_ps();
            self.window.tally.note_served(latency_ps, ended.queued_ps, served.service_ps, ended.overheads);
            self.window.tally.note_sent(served.sent, Some(latency_ps));
            self.window.tally.note_flow(ended.rpc.snid.0, true);
            self.window.tally.note_core(ended.core, served.service_ps + ended.overheads.total_ps());
            self.window.tally.note_type(served.kind, latency_ps, served.service_ps);
            self.window.note_end();
        }
        self.publish(now, ended.rpc);
    }
}
