//! Puts messages into datagrams, and datagrams onto the wire.

use super::handshake::Admitted;
use crate::net::Wire;
use crate::transport::udp::frame::Frame;
use crate::transport::udp::message::{Message, Request};
use crate::transport::udp::seal::Seal;
use crate::transport::udp::train::Train;
use std::net::SocketAddr;

#[derive(Debug)]
pub(super) struct Outbox {
    server: SocketAddr,
    pub(super) seal: Seal,
    train: Train,
    /// The longest datagram that this client sends or takes.
    pub(super) datagram_bytes: u16,
    frame: Option<Frame>,
    /// The longest datagram that the server takes too.
    segment: usize,
}

impl Outbox {
    pub(super) fn new(server: SocketAddr, seal: Seal, datagram_bytes: u16) -> Self {
        let train = Train::new(&seal);
        Self { server, seal, train, datagram_bytes, frame: None, segment: 0 }
    }

    pub(super) fn overhead_bytes(&self) -> usize {
        self.seal.lead_bytes() + self.seal.tail_bytes()
    }

    #[inline]
    pub(super) fn begin(&mut self, admitted: &Admitted) {
        let frame = admitted.frame(self.datagram_bytes, self.seal.first());
        self.segment = usize::from(self.datagram_bytes.min(admitted.datagram_bytes));
        self.frame = Some(frame);
        self.train.begin(frame, self.segment);
    }

    /// Puts a message into a datagram. Sends the datagram first if the message does not fit.
    #[inline(always)]
    pub(super) fn push(&mut self, wire: &mut dyn Wire, message: &Message<'_>) {
        if !self.train.push(message) {
            self.push_into_next(wire, message);
        }
    }

    /// As [`push`](Self::push), of a request or of a one-sided operation.
    #[inline(always)]
    pub(super) fn push_request(&mut self, wire: &mut dyn Wire, request: &Request<'_>, is_operation: bool) {
        if !self.train.push_by(request.len(), |room| request.encode(is_operation, room)) {
            let message = if is_operation { Message::Operation(*request) } else { Message::Request(*request) };
            self.push_into_next(wire, &message);
        }
    }

    #[cold]
    fn push_into_next(&mut self, wire: &mut dyn Wire, message: &Message<'_>) {
        self.depart(wire);
        if let Some(frame) = self.frame {
            self.train.begin(frame, self.segment);
            let fits = self.train.push(message);
            debug_assert!(fits, "a message is longer than a datagram: {} of {}", message.len(), self.segment);
        }
    }

    /// Sends the datagrams. What the wire does not take is lost, as on any network.
    #[inline]
    pub(super) fn depart(&mut self, wire: &mut dyn Wire) {
        if let Some((bytes, segment)) = self.train.close(&mut self.seal) {
            let _ = wire.send(self.server.into(), bytes, segment);
        }
    }

    pub(super) fn send_alone(&mut self, wire: &mut dyn Wire, datagram: &[u8]) {
        let _ = wire.send(self.server.into(), datagram, datagram.len());
    }
}
