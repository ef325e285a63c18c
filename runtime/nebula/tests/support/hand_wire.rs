//! A wire whose other end is the test, which puts datagrams in and takes them out.
//!
//! It allocates nothing once its buffers have grown, so that a test can count a server's
//! allocations.

use nebula::net::{DropRule, Route, Wire};
use std::io;
use std::net::SocketAddr;
use std::os::fd::BorrowedFd;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

const LOOK: usize = 32;

/// Datagrams in one direction, in order.
#[derive(Debug, Default)]
struct Lane {
    bytes: Vec<u8>,
    /// The other end of each, and the index of its end in `bytes`.
    datagrams: Vec<(SocketAddr, usize)>,
    /// How many of them were taken out.
    taken: usize,
}

impl Lane {
    fn push(&mut self, peer: SocketAddr, datagram: &[u8]) {
        self.bytes.extend_from_slice(datagram);
        self.datagrams.push((peer, self.bytes.len()));
    }

    fn visit(&mut self, most: usize, mut visit: impl FnMut(SocketAddr, &mut [u8])) -> usize {
        let mut start = self.taken.checked_sub(1).map_or(0, |before| self.datagrams[before].1);
        let datagrams = self.datagrams[self.taken..].iter().take(most);
        let visited = datagrams.len();
        for &(peer, end) in datagrams {
            visit(peer, &mut self.bytes[start..end]);
            start = end;
        }
        self.taken += visited;
        if self.taken == self.datagrams.len() {
            self.bytes.clear();
            self.datagrams.clear();
            self.taken = 0;
        }
        visited
    }
}

/// The server's time for using the wire, in picoseconds of a clock moved by hand.
#[derive(Debug)]
pub(crate) struct Toll {
    pub(crate) clock: Arc<AtomicU64>,
    pub(crate) datagram_in_ps: u64,
    pub(crate) byte_in_ps: u64,
    pub(crate) byte_out_ps: u64,
}

#[derive(Debug, Default)]
struct Lanes {
    there: Lane,
    back: Lane,
    toll: Option<Toll>,
    rules: Vec<DropRule>,
    /// The state of the random drops, and how many datagrams they dropped.
    chance: u32,
    dropped: u64,
}

impl Lanes {
    fn drops(&mut self, from: SocketAddr, datagram: &[u8]) -> bool {
        let names = |rule: &&DropRule| {
            let word_at = usize::from(rule.word_at);
            rule.from == from && datagram.get(word_at..word_at + 4) == Some(&rule.word)
        };
        let Some(pass) = self.rules.iter().find(names).map(|rule| rule.pass) else { return false };
        self.chance = self.chance.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        let is_dropped = self.chance >= pass;
        self.dropped += u64::from(is_dropped);
        is_dropped
    }
}

#[derive(Debug)]
pub(crate) struct HandWire {
    lanes: Arc<Mutex<Lanes>>,
    local: SocketAddr,
}

#[derive(Clone, Debug)]
pub(crate) struct Hand {
    lanes: Arc<Mutex<Lanes>>,
}

pub(crate) fn hand_wire(local: SocketAddr) -> (HandWire, Hand) {
    let lanes = Arc::<Mutex<Lanes>>::default();
    (HandWire { lanes: lanes.clone(), local }, Hand { lanes })
}

impl Hand {
    fn lanes(&self) -> MutexGuard<'_, Lanes> {
        self.lanes.lock().expect("nobody panics with it")
    }

    /// From now on the wire takes time.
    pub(crate) fn demand(&self, toll: Toll) {
        self.lanes().toll = Some(toll);
    }

    /// Bytes put in that the server has not looked at.
    pub(crate) fn unread_bytes(&self) -> usize {
        let lanes = self.lanes();
        let looked_at = lanes.there.taken.checked_sub(1).map_or(0, |last| lanes.there.datagrams[last].1);
        lanes.there.bytes.len() - looked_at
    }

    pub(crate) fn put(&self, from: SocketAddr, datagram: &[u8]) {
        let mut lanes = self.lanes();
        if !lanes.drops(from, datagram) {
            lanes.there.push(from, datagram);
        }
    }

    /// Datagrams dropped by the server's rules, and the number of its rules now.
    pub(crate) fn dropped(&self) -> (u64, usize) {
        let lanes = self.lanes();
        (lanes.dropped, lanes.rules.len())
    }

    /// Visits the datagrams that came out, and empties the lane.
    pub(crate) fn take(&self, mut visit: impl FnMut(SocketAddr, &[u8])) -> usize {
        self.lanes().back.visit(usize::MAX, |to, datagram| visit(to, datagram))
    }

    /// Whether the server has looked at everything.
    pub(crate) fn is_quiet(&self) -> bool {
        self.lanes().there.datagrams.is_empty()
    }
}

impl HandWire {
    fn lanes(&self) -> MutexGuard<'_, Lanes> {
        self.lanes.lock().expect("nobody panics with it")
    }
}

impl Wire for HandWire {
    fn local(&self) -> SocketAddr {
        self.local
    }

    fn datagram_bytes_max(&self) -> usize {
        1232
    }

    fn send(&mut self, to: Route, bytes: &[u8], segment: usize) -> io::Result<()> {
        let mut lanes = self.lanes();
        if let Some(toll) = &lanes.toll {
            toll.clock.fetch_add(toll.byte_out_ps * bytes.len() as u64, Relaxed);
        }
        bytes.chunks(segment).for_each(|datagram| lanes.back.push(to.peer, datagram));
        Ok(())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }

    fn recv(&mut self, visit: &mut dyn FnMut(Route, &mut [u8])) -> io::Result<usize> {
        let mut lanes = self.lanes();
        let Lanes { there, toll, .. } = &mut *lanes;
        Ok(there.visit(LOOK, |from, datagram| {
            if let Some(toll) = toll {
                toll.clock.fetch_add(toll.datagram_in_ps + toll.byte_in_ps * datagram.len() as u64, Relaxed);
            }
            visit(from.into(), datagram);
        }))
    }

    fn set_drop_rules(&mut self, rules: &[DropRule]) -> io::Result<()> {
        self.lanes().rules = rules.to_vec();
        Ok(())
    }

    fn wait(&mut self, _: Option<Duration>, _: Option<BorrowedFd<'_>>) -> io::Result<()> {
        Ok(())
    }
}
