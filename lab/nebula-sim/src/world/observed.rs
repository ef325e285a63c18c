//! Servers with an observer of arrivals and ends, which changes no event or decision.

use super::request::Request;
use super::servers::{Ended, Received, Servers};
use crate::tally::Tally;
use nebula_nic::{Header, RpcKey, Timestamp};

pub(super) trait Observer {
    fn note_received(&mut self, now: Timestamp, request: &Request, received: Received);

    fn note_ended(&mut self, now: Timestamp, ended: &Ended);
}

pub(super) struct Observed<S, O> {
    servers: S,
    observer: O,
}

impl<S: Servers, O: Observer> Observed<S, O> {
    pub(super) fn new(servers: S, observer: O) -> Self {
        Self { servers, observer }
    }
}

impl<S: Servers, O: Observer> Servers for Observed<S, O> {
    fn next_ps(&self) -> u64 {
        self.servers.next_ps()
    }

    fn latest(&self) -> Timestamp {
        self.servers.latest()
    }

    fn turn(&mut self, now: Timestamp) -> Option<Ended> {
        let ended = self.servers.turn(now)?;
        self.observer.note_ended(now, &ended);
        Some(ended)
    }

    fn receive(&mut self, now: Timestamp, server: u16, header: Header, request: &Request) -> Received {
        let received = self.servers.receive(now, server, header, request);
        self.observer.note_received(now, request, received);
        received
    }

    fn poll_dropped(&mut self) -> Option<(RpcKey, u64)> {
        self.servers.poll_dropped()
    }

    fn account(&self, tally: &mut Tally) {
        self.servers.account(tally);
    }
}
