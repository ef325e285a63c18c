//! One client: its unprocessed input, its unsent output, and its RPCs in the server.

use super::framing::Framing;
use crate::net::Route;
use crate::rpc::answer::{Ending, Fate};
use crate::rpc::fault::Fault;
use crate::rpc::slot::Slots;
use nebula_nic::{Timestamp, TransferId};
use std::collections::VecDeque;
use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;

/// RPCs of one connection in the server. Further requests stay unread until some are answered.
pub(crate) const PENDING_MAX: u32 = 512;
/// A connection with more unsent bytes than this is not read.
const UNSENT_MAX: usize = 256 << 10;
/// A connection with more answers in waiting is not read.
const EARLY_MAX: usize = 4096;
const KEPT_BYTES: usize = 4 << 10;
/// The time for each request of a client of which none was served.
pub(super) const UNKNOWN: u64 = u64::MAX;
/// The kernel is offered so many bytes at once: the rest waits for the next visit.
const SEND_BYTES: usize = 128 << 10;
/// Bytes of a datagram of answers, as in memcached: it fits every Ethernet.
pub(super) const DATAGRAM_BYTES: usize = 1400;
/// Bytes of answers to one datagram, whose sender's address may be forged: ten datagrams.
pub(super) const DATAGRAM_ANSWERS_MAX: usize = 10 * (DATAGRAM_BYTES - HEADER_BYTES_MAX);
/// Bytes of a datagram's header that are kept for its answers.
pub(super) const HEADER_BYTES_MAX: usize = 16;

#[derive(Debug)]
pub(super) enum Peer {
    Stream(TcpStream),
    /// The sender of one datagram, and the first bytes of that.
    Datagram(Route, [u8; HEADER_BYTES_MAX]),
}

#[derive(Debug)]
pub(super) struct Connection {
    pub(super) peer: Peer,
    pub(super) input: Vec<u8>,
    /// Bytes of `input` that were taken.
    pub(super) taken: usize,
    /// Whether the rest of `input` holds no whole request.
    pub(super) needs_more: bool,
    /// Bytes to skip when they come.
    pub(super) discard: usize,
    output: Vec<u8>,
    sent: usize,
    /// Whether the kernel has taken all that was offered.
    pub(super) may_send: bool,
    /// A handler's time for each of its last requests, in picoseconds.
    pub(super) each_ps: u64,
    /// The RPC that begins next, and the RPC that is answered next.
    next: TransferId,
    answered: TransferId,
    /// Answers known before those to earlier requests, each with the RPC that it precedes.
    early: VecDeque<(TransferId, &'static [u8])>,
    pub(super) may_read: bool,
    pub(super) has_ended: bool,
    /// No more requests are taken.
    pub(super) is_closing: bool,
    is_dead: bool,
    /// Input is left for lack of room.
    pub(super) is_blocked: bool,
    /// It has sent more than could be refused, and so waits.
    pub(super) is_overfull: bool,
    pub(super) is_dirty: bool,
    /// The latest round in which it was active.
    pub(super) round: u32,
    /// When it last had a whole request while a part of one was kept, and whether it is listed as
    /// one that keeps a part.
    pub(super) half_since: Timestamp,
    pub(super) is_half: bool,
    /// Bytes moved that its engine has not counted yet.
    pub(super) bytes_read: u64,
    pub(super) bytes_written: u64,
}

impl Connection {
    pub(super) fn new(peer: Peer, first: TransferId) -> Self {
        Self {
            peer,
            input: Vec::new(),
            taken: 0,
            needs_more: false,
            discard: 0,
            output: Vec::new(),
            sent: 0,
            may_send: true,
            each_ps: UNKNOWN,
            next: first,
            answered: first,
            early: VecDeque::new(),
            may_read: false,
            has_ended: false,
            is_closing: false,
            is_dead: false,
            is_blocked: false,
            is_overfull: false,
            is_dirty: false,
            round: 0,
            half_since: Timestamp::ZERO,
            is_half: false,
            bytes_read: 0,
            bytes_written: 0,
        }
    }

    #[inline]
    pub(super) fn pending(&self) -> u32 {
        self.next.0.wrapping_sub(self.answered.0)
    }

    #[inline]
    pub(super) fn next_tid(&self) -> TransferId {
        self.next
    }

    #[inline]
    pub(super) fn begin(&mut self, rpcs: u32) {
        self.next = TransferId(self.next.0.wrapping_add(rpcs));
    }

    /// The last `rpcs` RPCs have not begun after all.
    #[inline]
    pub(super) fn begin_less(&mut self, rpcs: u32) {
        self.next = TransferId(self.next.0.wrapping_sub(rpcs));
    }

    /// RPCs that may begin, if at most `most` of a connection may be in the server.
    #[inline]
    pub(super) fn room(&self, most: u32) -> u32 {
        let is_full = self.unsent() > UNSENT_MAX || self.early.len() > EARLY_MAX;
        if is_full { 0 } else { most.saturating_sub(self.pending()) }
    }

    /// Whether it is to be read or served again soon. A blocked one is when an RPC has ended or
    /// answers were read.
    pub(super) fn wants_to_be_read(&mut self, has_whole: bool, pending_max: u32) -> bool {
        let (wants, has_room) = (has_whole || self.may_read, self.room(pending_max) > 0);
        self.is_blocked = wants && !has_room;
        wants && has_room
    }

    #[inline]
    pub(super) fn unsent(&self) -> usize {
        self.output.len() - self.sent
    }

    /// Queues an answer that needs no core, behind those to earlier requests.
    pub(super) fn say(&mut self, answer: &'static [u8]) {
        if self.pending() == 0 {
            self.output.extend_from_slice(answer);
        } else if !answer.is_empty() {
            self.early.push_back((self.next, answer));
        }
    }

    /// Appends the answer to the oldest RPC. `room` bounds the bytes of unread answers.
    #[inline]
    pub(super) fn end(&mut self, first: Slots<'_>, ending: &Ending, framing: &dyn Framing, room: usize) {
        let room = match self.peer {
            Peer::Stream(_) => room,
            Peer::Datagram(..) => room.min(DATAGRAM_ANSWERS_MAX.saturating_sub(self.unsent())),
        };
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

    /// Reads once, to `input` from `kept` on. Returns the bytes in it.
    pub(super) fn read(&mut self, input: &mut [u8], kept: usize) -> usize {
        let Peer::Stream(stream) = &mut self.peer else { return kept };
        match stream.read(&mut input[kept..]) {
            Ok(0) => {
                (self.has_ended, self.may_read) = (true, false);
                kept
            }
            Ok(bytes) => {
                // A short read is everything there was: the kernel reports more bytes, and the end.
                self.may_read = kept + bytes == input.len() || self.has_ended;
                self.bytes_read += bytes as u64;
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

    /// Offers the kernel some of the output. It [may send](Self::may_send) the rest later.
    pub(super) fn send(&mut self) {
        while self.sent < self.output.len()
            && let Peer::Stream(stream) = &mut self.peer
        {
            let offered = self.output.len().min(self.sent + SEND_BYTES);
            match stream.write(&self.output[self.sent..offered]) {
                Ok(bytes) => {
                    self.sent += bytes;
                    self.bytes_written += bytes as u64;
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    self.may_send = false;
                    return self.drop_sent();
                }
                Err(_) => return self.die(),
            }
            if offered < self.output.len() {
                return self.drop_sent();
            }
        }
        self.forget_output();
    }

    /// Frees the bytes that were sent, once they are many.
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

    pub(super) fn take_output(&mut self) -> Vec<u8> {
        self.bytes_written += self.output.len() as u64;
        self.sent = 0;
        std::mem::take(&mut self.output)
    }

    /// Keeps `input`, of which so many bytes were taken.
    pub(super) fn keep(&mut self, mut input: Vec<u8>, mut taken: usize) {
        if taken == input.len() {
            if input.capacity() > KEPT_BYTES {
                input = Vec::new();
            }
            input.clear();
            taken = 0;
        }
        (self.input, self.taken) = (input, taken);
    }

    pub(super) fn die(&mut self) {
        (self.is_dead, self.is_closing, self.may_read) = (true, true, false);
        (self.input, self.taken, self.discard) = (Vec::new(), 0, 0);
        self.early.clear();
        self.forget_output();
    }

    /// Whether nothing of it is in the server or waits to be sent.
    pub(super) fn is_over(&self) -> bool {
        self.is_closing && self.pending() == 0 && self.unsent() == 0
    }
}
