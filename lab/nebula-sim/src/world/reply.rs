//! Station 11, in simulated time: a NACK or a reply reaches its client, at once.
//!
//! The requester's policy says what follows a NACK: another server, another try, or the end.

use super::client::Request;
use super::one_run::World;
use super::servers::Servers;
use nebula_nic::{Header, RpcKey, Timestamp};
use nebula_requester::Outcome;

impl<S: Servers> World<'_, S> {
    #[cold]
    pub(super) fn take_nack(&mut self, now: Timestamp, nack: Header) {
        let Some(listening) = &mut self.clients.listening else { return };
        let nack = Header { snid: Self::key(nack.rpc()).snid, ..nack };
        match listening.requester.handle_packet(now, nack) {
            Outcome::Redirect { token, server, outbound } => {
                let request = listening.request(token);
                self.send(now, server, outbound, &request);
            }
            Outcome::GaveUp { token, .. } => {
                let request = listening.request(token);
                let Request { number, sent, .. } = request;
                if self.window.length.is_measured(number) {
                    self.window.tally.given_up += 1;
                    self.window.tally.note_sent(sent, None);
                    self.window.tally.note_flow(request.flow(), false);
                    self.window.note_end();
                }
                self.end(now, token);
            }
            _ => {}
        }
    }

    #[inline(always)]
    pub(super) fn publish(&mut self, now: Timestamp, rpc: RpcKey) {
        let Some(listening) = &mut self.clients.listening else { return };
        if let Outcome::Reply { token, .. } =
            listening.requester.handle_packet(now, Header::reply(Self::key(rpc), 0, 0))
        {
            self.end(now, token);
        }
    }
}
