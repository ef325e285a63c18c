//! One client: what has come from it and was not taken, what goes to it and was not sent, and how
//! many of its RPCs are in the server.

use super::framing::Framing;
use crate::net::Route;
use crate::rpc::answer::{Ending, Fate};
use crate::rpc::fault::Fault;
use crate::rpc::slot::Slots;
use nebula_nic::TransferId;
use std::collections::VecDeque;
use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;

/// RPCs of one connection in the server: what it sends beyond that stays unread until some are
/// answered.
pub(crate) const PENDING_MAX: u32 = 512;
/// Bytes of answers that a connection has not taken, beyond which it is not read.
const UNSENT_MAX: usize = 256 << 10;
/// Room that an idle connection keeps.
const KEPT_BYTES: usize = 4 << 10;
/// Bytes of the header of a datagram that are kept for its answers.
pub(super) const HEADER_BYTES_MAX: usize = 16;

/// Where a client is.
#[derive(Debug)]
pub(super) enum Peer {
    Stream(TcpStream),
    /// Of whom one datagram is answered, which began with these bytes.
    Datagram(Route, [u8; HEADER_BYTES_MAX]),
}

/// One client.
#[derive(Debug)]
pub(super) struct Connection {
    pub(super) peer: Peer,
    /// What has come and was not taken.
    pub(super) input: Vec<u8>,
    /// Bytes to come that are skipped.
    pub(super) discard: usize,
    output: Vec<u8>,
    sent: usize,
    /// Of its RPCs, the one that is begun next and the one that is answered next.
    next: TransferId,
    answered: TransferId,
    /// Answers that were known before those to earlier requests, and which RPC each stands before.
    early: VecDeque<(TransferId, &'static [u8])>,
    /// The kernel has said that there is more.
    pub(super) may_read: bool,
    /// The client sends nothing more.
    pub(super) has_ended: bool,
    /// Nothing more is taken from it.
    pub(super) is_closing: bool,
    /// Nothing can be sent to it.
    is_dead: bool,
    /// What it has sent is left for lack of room.
    pub(super) is_blocked: bool,
    /// It waits in the list of those to be looked at.
    pub(super) is_listed: bool,
    /// It waits in the list of those to be sent to.
    pub(super) is_dirty: bool,
}

impl Connection {
    pub(super) fn new(peer: Peer, first: TransferId) -> Self {
        Self {
            peer,
            input: Vec::new(),
            discard: 0,
            output: Vec::new(),
            sent: 0,
            next: first,
            answered: first,
            early: VecDeque::new(),
            may_read: false,
            has_ended: false,
            is_closing: false,
            is_dead: false,
            is_blocked: false,
            is_listed: false,
            is_dirty: false,
        }
    }

    /// RPCs in the server.
    #[inline]
    pub(super) fn pending(&self) -> u32 {
        self.next.0.wrapping_sub(self.answered.0)
    }

    /// The number of the RPC that is begun next.
    #[inline]
    pub(super) fn next_tid(&self) -> TransferId {
        self.next
    }

    /// So many RPCs have begun.
    #[inline]
    pub(super) fn begin(&mut self, rpcs: u32) {
        self.next = TransferId(self.next.0.wrapping_add(rpcs));
    }

    /// RPCs that may begin, where at most `most` of a connection may be in the server.
    #[inline]
    pub(super) fn room(&self, most: u32) -> u32 {
        if self.output.len() - self.sent > UNSENT_MAX { 0 } else { most.saturating_sub(self.pending()) }
    }

    /// Bytes that wait to be sent.
    #[inline]
    pub(super) fn unsent(&self) -> usize {
        self.output.len() - self.sent
    }

    /// An answer that is known without a core: behind those to the requests before it.
    pub(super) fn say(&mut self, answer: &'static [u8]) {
        if self.pending() == 0 {
            self.output.extend_from_slice(answer);
        } else if !answer.is_empty() {
            self.early.push_back((self.next, answer));
        }
    }

    /// The RPC that is answered next is over. `room` is what may be kept of answers that nobody
    /// takes.
    #[inline]
    pub(super) fn end(&mut self, first: Slots<'_>, ending: &Ending, framing: &dyn Framing, room: usize) {
        match ending.fate {
            _ if self.is_dead => {}
            Fate::Replied if ending.bytes() as usize <= room => {
                let (begin, bytes) = (self.output.len(), ending.bytes() as usize);
                self.output.resize(begin + bytes, 0);
                ending.copy_reply(first, &mut self.output[begin..]);
            }
            Fate::Replied => self.output.extend_from_slice(framing.failed(Fault::ReplyTooLarge)),
            Fate::Open => self.output.extend_from_slice(framing.failed(Fault::Unanswered)),
            Fate::Faulted(fault) => self.output.extend_from_slice(framing.failed(fault)),
            Fate::Refused(reason) => self.output.extend_from_slice(framing.refused(&[], reason)),
        }
        self.answered = TransferId(self.answered.0.wrapping_add(1));
        while let Some(&(before, answer)) = self.early.front()
            && before == self.answered
        {
            self.output.extend_from_slice(answer);
            self.early.pop_front();
        }
    }

    /// Reads what there is to `input` from `kept` on, once. Returns the bytes in it.
    pub(super) fn read(&mut self, input: &mut [u8], kept: usize) -> usize {
        let Peer::Stream(stream) = &mut self.peer else { return kept };
        match stream.read(&mut input[kept..]) {
            Ok(0) => {
                (self.has_ended, self.may_read) = (true, false);
                kept
            }
            Ok(bytes) => {
                // Less than there was room for is all there was: the kernel says when there is
                // more, and when the client has ended.
                self.may_read = kept + bytes == input.len() || self.has_ended;
                kept + bytes
            }
            Err(error) if error.kind() == ErrorKind::Interrupted => kept,
            Err(error) if error.kind() == ErrorKind::WouldBlock => {
                self.may_read = false;
                kept
            }
            Err(_) => {
                self.die();
                kept
            }
        }
    }

    /// Sends what waits, as far as the kernel takes it.
    pub(super) fn send(&mut self) {
        while self.sent < self.output.len()
            && let Peer::Stream(stream) = &mut self.peer
        {
            match stream.write(&self.output[self.sent..]) {
                Ok(bytes) => self.sent += bytes,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => return self.drop_sent(),
                Err(_) => return self.die(),
            }
        }
        self.forget_output();
    }

    /// What was sent is not kept beside what was not.
    fn drop_sent(&mut self) {
        if self.sent > UNSENT_MAX {
            self.output.drain(..self.sent);
            self.sent = 0;
        }
    }

    fn forget_output(&mut self) {
        self.sent = 0;
        if self.output.capacity() > KEPT_BYTES { self.output = Vec::new() } else { self.output.clear() }
    }

    /// The answers to a datagram, which are all that goes to its client.
    pub(super) fn take_output(&mut self) -> Vec<u8> {
        self.sent = 0;
        std::mem::take(&mut self.output)
    }

    /// Keeps the rest of what has come.
    pub(super) fn keep(&mut self, mut input: Vec<u8>) {
        if input.is_empty() && input.capacity() > KEPT_BYTES {
            input = Vec::new();
        }
        self.input = input;
    }

    /// Nothing more comes from it or goes to it.
    pub(super) fn die(&mut self) {
        (self.is_dead, self.is_closing, self.may_read) = (true, true, false);
        (self.input, self.discard) = (Vec::new(), 0);
        self.early.clear();
        self.forget_output();
    }

    /// Whether it is over: nothing of it is in the server, and nothing goes to it.
    pub(super) fn is_over(&self) -> bool {
        self.is_closing && self.pending() == 0 && self.unsent() == 0
    }
}
