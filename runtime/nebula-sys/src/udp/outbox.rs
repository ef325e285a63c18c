//! Collects datagrams in one arena and sends them with `sendmmsg`, those of equal length to one
//! peer as one message.

mod batch;

use super::datagram::{DATAGRAM_BYTES_MAX, SEGMENTS_MAX};
use batch::{BATCH, Batch};
use std::io;
use std::net::{IpAddr, SocketAddr};

type Socket = std::net::UdpSocket;

/// Bytes that may wait for a flush: four of the longest messages, few enough for a core's L2 cache.
const ARENA_BYTES: usize = 256 << 10;
const _: () = assert!(ARENA_BYTES >= DATAGRAM_BYTES_MAX);

/// A datagram's destination (`None`: the connected peer) and the local address to send from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Route {
    pub(super) to: Option<SocketAddr>,
    pub(super) from: Option<IpAddr>,
}

/// Contiguous datagrams in the arena, of one route and of equal length; the last may be shorter.
#[derive(Clone, Copy, Debug)]
struct Parcel {
    at: usize,
    bytes: usize,
    segment: usize,
    route: Route,
}

impl Parcel {
    fn datagrams(&self) -> usize {
        self.bytes.div_ceil(self.segment)
    }

    /// Whether `bytes` more bytes, in datagrams of `segment`, fit into the same message.
    fn can_grow(&self, route: Route, bytes: usize, segment: usize) -> bool {
        let total = self.bytes + bytes;
        // Only the last datagram of a message can be shorter.
        let fits = self.bytes.is_multiple_of(self.segment)
            && (segment == self.segment || bytes <= segment && bytes <= self.segment);
        fits && total <= DATAGRAM_BYTES_MAX && total.div_ceil(self.segment) <= SEGMENTS_MAX && route == self.route
    }

    fn split(self) -> impl Iterator<Item = Self> {
        (0..self.bytes).step_by(self.segment).map(move |skip| {
            let bytes = self.segment.min(self.bytes - skip);
            Self { at: self.at + skip, bytes, ..self }
        })
    }
}

#[derive(Debug)]
pub(super) struct Outbox {
    arena: Vec<u8>,
    parcels: Vec<Parcel>,
    /// Parcels for the kernel, split into datagrams if it cannot segment.
    messages: Vec<Parcel>,
    batch: Batch,
    is_gso_refused: bool,
    /// The kernel refused longer segments, although it accepted their datagrams one by one.
    gso_segment_max: usize,
    dropped: u64,
}

impl Outbox {
    pub(super) fn new() -> Self {
        Self {
            arena: Vec::with_capacity(ARENA_BYTES),
            parcels: Vec::with_capacity(BATCH),
            messages: Vec::with_capacity(BATCH),
            batch: Batch::new(),
            is_gso_refused: false,
            gso_segment_max: DATAGRAM_BYTES_MAX,
            dropped: 0,
        }
    }

    pub(super) fn dropped(&self) -> u64 {
        self.dropped
    }

    pub(super) fn is_gso_refused(&self) -> bool {
        self.is_gso_refused
    }

    #[inline]
    pub(super) fn queue(
        &mut self,
        socket: &Socket,
        gso: bool,
        route: Route,
        bytes: &[u8],
        segment: usize,
    ) -> io::Result<()> {
        let segment = segment.min(bytes.len());
        if segment > DATAGRAM_BYTES_MAX || segment == 0 {
            return refuse_lengths(bytes);
        }
        let mut flushed = Ok(());
        // A message holds as many datagrams as one segmented send takes.
        for bytes in bytes.chunks(segment * SEGMENTS_MAX.min(DATAGRAM_BYTES_MAX / segment)) {
            let grows = self.parcels.last().is_some_and(|last| last.can_grow(route, bytes.len(), segment));
            let is_full = self.arena.len() + bytes.len() > ARENA_BYTES || !grows && self.parcels.len() == BATCH;
            if is_full {
                flushed = flushed.and(self.flush(socket, gso));
            }
            match self.parcels.last_mut() {
                Some(last) if grows => last.bytes += bytes.len(),
                _ => self.parcels.push(Parcel { at: self.arena.len(), bytes: bytes.len(), segment, route }),
            }
            self.arena.extend_from_slice(bytes);
        }
        flushed
    }

    #[inline]
    pub(super) fn flush(&mut self, socket: &Socket, gso: bool) -> io::Result<()> {
        let mut parcels = std::mem::take(&mut self.parcels);
        let mut refused = Ok(());
        for &parcel in &parcels {
            if parcel.bytes <= parcel.segment || gso && self.can_segment(parcel) {
                refused = refused.and(self.stage(socket, parcel));
            } else {
                for datagram in parcel.split() {
                    refused = refused.and(self.stage(socket, datagram));
                }
            }
        }
        refused = refused.and(self.send_staged(socket));
        parcels.clear();
        self.parcels = parcels;
        self.arena.clear();
        refused
    }

    fn can_segment(&self, parcel: Parcel) -> bool {
        !self.is_gso_refused && parcel.segment <= self.gso_segment_max
    }

    #[inline]
    fn stage(&mut self, socket: &Socket, message: Parcel) -> io::Result<()> {
        self.messages.push(message);
        if self.messages.len() < BATCH { Ok(()) } else { self.send_staged(socket) }
    }

    /// Sends the staged messages; an error if no socket listens at the peer.
    #[inline]
    fn send_staged(&mut self, socket: &Socket) -> io::Result<()> {
        let mut messages = std::mem::take(&mut self.messages);
        let mut refused = Ok(());
        let (mut sent, mut was_refused_at) = (0, None);
        // Each round sends at least one message, or repeats one once.
        while sent < messages.len() {
            match self.batch.send(socket, &self.arena, &messages[sent..]) {
                Ok(more) => sent += more,
                Err(error) if error.kind() == io::ErrorKind::ConnectionRefused && was_refused_at != Some(sent) => {
                    // The refusal concerns an earlier datagram; nothing of this message was sent.
                    was_refused_at = Some(sent);
                    refused = Err(error);
                }
                Err(error) => sent += self.give_up(socket, &messages[sent..], &error),
            }
        }
        messages.clear();
        self.messages = messages;
        refused
    }

    /// Gives up the first of `messages`, which failed; returns how many are finished.
    #[cold]
    fn give_up(&mut self, socket: &Socket, messages: &[Parcel], error: &io::Error) -> usize {
        let [first, ..] = messages else { return 0 };
        let datagrams = |messages: &[Parcel]| messages.iter().map(Parcel::datagrams).sum::<usize>() as u64;
        match error.raw_os_error() {
            // No buffer space: the remaining messages would fail as well.
            Some(libc::EAGAIN | libc::ENOBUFS | libc::ENOMEM) => {
                self.dropped += datagrams(messages);
                messages.len()
            }
            Some(code @ (libc::EIO | libc::EINVAL | libc::EMSGSIZE)) if first.datagrams() > 1 => {
                self.send_one_by_one(socket, *first, code);
                1
            }
            // Too long, no route, or forbidden: this one is lost.
            _ => {
                self.dropped += datagrams(&messages[..1]);
                1
            }
        }
    }

    /// Sends the datagrams of a message that the kernel did not segment (error `code`) one by one.
    /// If that works, remembers not to segment such messages.
    fn send_one_by_one(&mut self, socket: &Socket, message: Parcel, code: i32) {
        let datagrams = message.datagrams();
        let sent =
            message.split().take_while(|&datagram| self.batch.send(socket, &self.arena, &[datagram]).is_ok()).count();
        self.dropped += (datagrams - sent) as u64;
        if sent < datagrams {
            return;
        }
        if code == libc::EIO {
            // The device computes no checksums, and the kernel segments for no other device.
            self.is_gso_refused = true;
        } else {
            self.gso_segment_max = self.gso_segment_max.min(message.segment - 1);
        }
    }
}

#[cold]
fn refuse_lengths(bytes: &[u8]) -> io::Result<()> {
    if bytes.is_empty() {
        return Ok(());
    }
    Err(io::Error::new(io::ErrorKind::InvalidInput, "a datagram must have 1 to 65,507 bytes"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const HERE: Route = Route { to: None, from: None };

    fn queued(lengths: &[(usize, usize)]) -> Vec<(usize, usize)> {
        let socket = Socket::bind("127.0.0.1:0").unwrap();
        let mut outbox = Outbox::new();
        for &(bytes, segment) in lengths {
            outbox.queue(&socket, true, HERE, &vec![0; bytes], segment).unwrap();
        }
        outbox.parcels.iter().map(|parcel| (parcel.bytes, parcel.segment)).collect()
    }

    #[test]
    fn datagrams_of_one_length_share_a_message_and_a_shorter_one_ends_it() {
        assert_eq!(queued(&[(64, 64); 10]), [(640, 64)]);
        assert_eq!(queued(&[(64, 64), (64, 64), (10, 10), (64, 64)]), [(138, 64), (64, 64)]);
        assert_eq!(queued(&[(10, 10), (64, 64)]), [(10, 10), (64, 64)]);
        assert_eq!(queued(&[(128, 64), (20, 10)]), [(128, 64), (20, 10)]);
    }

    #[test]
    fn a_message_has_at_most_64_datagrams_and_65507_bytes() {
        assert_eq!(queued(&[(100, 1)]), [(64, 1), (36, 1)]);
        assert_eq!(queued(&[(64, 64); 65]), [(4096, 64), (64, 64)]);
        assert_eq!(queued(&[(100_000, 30_000)]), [(60_000, 30_000), (40_000, 30_000)]);
    }

    #[test]
    fn another_peer_is_another_message() {
        let socket = Socket::bind("127.0.0.1:0").unwrap();
        let mut outbox = Outbox::new();
        let other = Route { from: Some("127.0.0.2".parse().unwrap()), ..HERE };
        for route in [HERE, other, other, HERE] {
            outbox.queue(&socket, true, route, &[0; 8], 8).unwrap();
        }
        assert_eq!(outbox.parcels.iter().map(Parcel::datagrams).collect::<Vec<_>>(), [1, 2, 1]);
    }
}
