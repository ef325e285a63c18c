//! A network that randomly loses, doubles, delays, reorders, changes and cuts datagrams, loses them
//! in bursts, and cuts single hosts off for a while. The same seed gives the same fates.
//!
//! The network does not move by itself: the caller sets the time, asks when something is due, and
//! has it delivered.

use super::draw::Draw;
use nebula::net::{Route, Wire};
use std::collections::{BTreeMap, VecDeque};
use std::io::{self, Write as _};
use std::net::SocketAddr;
use std::os::fd::BorrowedFd;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

const LOOK: usize = 32;
/// Datagrams that are remembered to come again much later.
const REMEMBERED: usize = 32;

/// A link's behaviour: probabilities in 1/1,000, and times in picoseconds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Link {
    pub(crate) lost: usize,
    pub(crate) doubled: usize,
    pub(crate) changed: usize,
    pub(crate) cut: usize,
    /// A much earlier datagram comes again, sometimes with another sender or receiver.
    pub(crate) replayed: usize,
    /// A burst of losses begins, and its longest length.
    pub(crate) burst: usize,
    pub(crate) burst_len: usize,
    pub(crate) delay_ps: u64,
    /// The most that is added to the delay. Beyond the gap between two datagrams, it reorders them.
    pub(crate) jitter_ps: u64,
    /// Datagrams that wait at a host before further ones are lost.
    pub(crate) inbox: usize,
}

impl Link {
    /// It loses nothing and keeps the order.
    pub(crate) const CLEAN: Self = Self {
        lost: 0,
        doubled: 0,
        changed: 0,
        cut: 0,
        replayed: 0,
        burst: 0,
        burst_len: 0,
        delay_ps: 20_000_000,
        jitter_ps: 0,
        inbox: usize::MAX,
    };

    pub(crate) fn drawn(draw: &mut Draw) -> Self {
        let mut often = |most: usize| if draw.once_in(2) { draw.below(most + 1) } else { 0 };
        let parts = [often(200), often(200), often(50), often(30), often(30), often(10)];
        let [lost, doubled, changed, cut, replayed, burst] = parts;
        Self {
            lost: lost.min(if draw.once_in(3) { 300 } else { 30 }),
            doubled,
            changed,
            cut,
            replayed,
            burst,
            burst_len: 1 + draw.below(100),
            delay_ps: [2_000_000, 20_000_000, 100_000_000, 1_000_000_000][draw.below(4)],
            jitter_ps: [0, 1_000_000, 50_000_000, 500_000_000, 5_000_000_000][draw.below(5)],
            inbox: [16, 256, 4096][draw.below(3)],
        }
    }
}

/// How many datagrams met which fate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Fates {
    pub(crate) sent: u64,
    pub(crate) lost: u64,
    pub(crate) doubled: u64,
    pub(crate) changed: u64,
    pub(crate) replayed: u64,
    /// Sent by the adversary.
    pub(crate) injected: u64,
    pub(crate) delivered: u64,
}

#[derive(Clone, Debug)]
pub(crate) struct Datagram {
    pub(crate) from: SocketAddr,
    pub(crate) to: SocketAddr,
    pub(crate) bytes: Vec<u8>,
}

#[derive(Debug, Default)]
struct Inbox {
    waiting: VecDeque<Datagram>,
    /// When its host wants to be woken at the latest.
    due_ps: Option<u64>,
}

#[derive(Debug)]
struct State {
    draw: Draw,
    link: Link,
    /// Datagrams in flight, by arrival time and a number.
    way: BTreeMap<(u64, u64), Datagram>,
    number: u64,
    hosts: BTreeMap<SocketAddr, Inbox>,
    /// Hosts that are cut off, and until when.
    cut_off: BTreeMap<SocketAddr, u64>,
    burst_left: usize,
    before: VecDeque<Datagram>,
    /// Datagrams that an eavesdropper has seen and not yet taken; `None` without one.
    seen: Option<Vec<Datagram>>,
    fates: Fates,
    hash: u64,
    is_traced: bool,
    /// Bytes allocated here for the sender.
    held_bytes: i64,
}

#[derive(Clone, Debug)]
pub(crate) struct Network {
    state: Arc<Mutex<State>>,
    now_ps: Arc<AtomicU64>,
}

pub(crate) fn say(now_ps: u64, what: std::fmt::Arguments<'_>) {
    let _ = writeln!(io::stdout(), "{:>12} ns  {what}", now_ps / 1000);
}

#[derive(Debug)]
pub(crate) struct SimWire {
    network: Network,
    local: Arc<Mutex<SocketAddr>>,
    datagram_bytes_max: usize,
}

impl Network {
    pub(crate) fn new(seed: u64, link: Link, is_traced: bool) -> Self {
        let state = State {
            draw: Draw::new(seed),
            link,
            way: BTreeMap::new(),
            number: 0,
            hosts: BTreeMap::new(),
            cut_off: BTreeMap::new(),
            burst_left: 0,
            before: VecDeque::new(),
            seen: None,
            fates: Fates::default(),
            hash: 0xCBF2_9CE4_8422_2325,
            is_traced,
            held_bytes: 0,
        };
        Self { state: Arc::new(Mutex::new(state)), now_ps: Arc::default() }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("nobody panics with it")
    }

    /// The time, which the caller moves.
    pub(crate) fn now_ps(&self) -> &Arc<AtomicU64> {
        &self.now_ps
    }

    /// A host at `local`, and the means to change its address.
    pub(crate) fn host(&self, local: SocketAddr, datagram_bytes_max: usize) -> (SimWire, Arc<Mutex<SocketAddr>>) {
        self.state().hosts.insert(local, Inbox::default());
        let local = Arc::new(Mutex::new(local));
        (SimWire { network: self.clone(), local: local.clone(), datagram_bytes_max }, local)
    }

    /// Adds an address whose datagrams wait for [`take_mail`](Self::take_mail).
    pub(crate) fn add_host(&self, host: SocketAddr) {
        self.state().hosts.insert(host, Inbox::default());
    }

    /// Takes the datagrams that wait at `host`.
    pub(crate) fn take_mail(&self, host: SocketAddr) -> Vec<Datagram> {
        self.state().hosts.get_mut(&host).map(|inbox| inbox.waiting.drain(..).collect()).unwrap_or_default()
    }

    /// Sets whether an eavesdropper sees all datagrams.
    pub(crate) fn set_watched(&self, is_watched: bool) {
        self.state().seen = is_watched.then(Vec::new);
    }

    pub(crate) fn take_seen(&self) -> Vec<Datagram> {
        self.state().seen.as_mut().map(std::mem::take).unwrap_or_default()
    }

    pub(crate) fn inject(&self, now_ps: u64, datagram: Datagram) {
        let mut state = self.state();
        state.fates.injected += 1;
        let at = now_ps + state.link.delay_ps;
        state.put(at, datagram);
    }

    /// Removes a host; datagrams to it are lost.
    pub(crate) fn remove(&self, host: SocketAddr) {
        self.state().hosts.remove(&host);
    }

    /// Gives a host another address.
    pub(crate) fn rebind(&self, local: &Mutex<SocketAddr>, to: SocketAddr) {
        let mut local = local.lock().expect("nobody panics with it");
        let mut state = self.state();
        state.hosts.remove(&local);
        state.hosts.insert(to, Inbox::default());
        *local = to;
    }

    /// Cuts `host` off for a while, both ways.
    pub(crate) fn cut_off(&self, host: SocketAddr, until_ps: u64) {
        self.state().cut_off.insert(host, until_ps);
    }

    pub(crate) fn heal(&self) {
        let mut state = self.state();
        (state.link, state.burst_left) = (Link::CLEAN, 0);
        state.cut_off.clear();
    }

    pub(crate) fn next_ps(&self) -> Option<u64> {
        self.state().way.first_key_value().map(|(&(at, _), _)| at)
    }

    /// When `host` wants to be woken.
    pub(crate) fn due_ps(&self, host: SocketAddr) -> Option<u64> {
        self.state().hosts.get(&host)?.due_ps
    }

    pub(crate) fn set_due_ps(&self, host: SocketAddr, due_ps: Option<u64>) {
        if let Some(inbox) = self.state().hosts.get_mut(&host) {
            inbox.due_ps = due_ps;
        }
    }

    pub(crate) fn has_mail(&self, host: SocketAddr) -> bool {
        self.state().hosts.get(&host).is_some_and(|inbox| !inbox.waiting.is_empty())
    }

    /// Delivers the next datagram; its receiver, if that exists.
    pub(crate) fn deliver(&self) -> Option<SocketAddr> {
        self.state().deliver(self.now_ps.load(Relaxed))
    }

    pub(crate) fn fates(&self) -> Fates {
        self.state().fates
    }

    /// Adds to the hash that tells runs apart.
    pub(crate) fn note(&self, what: &str, numbers: &[u64]) {
        let mut state = self.state();
        what.bytes().for_each(|byte| state.mix(byte.into()));
        numbers.iter().for_each(|&number| state.mix(number));
        if state.is_traced {
            say(self.now_ps.load(Relaxed), format_args!("{what} {numbers:?}"));
        }
    }

    pub(crate) fn hash(&self) -> u64 {
        self.state().hash
    }

    /// Bytes held for datagrams.
    pub(crate) fn held_bytes(&self) -> i64 {
        self.state().held_bytes
    }
}

impl State {
    fn mix(&mut self, number: u64) {
        self.hash = (self.hash ^ number).wrapping_mul(0x0000_0100_0000_01B3).rotate_left(23);
    }

    /// True with probability `part`/1,000.
    fn chance(&mut self, part: usize) -> bool {
        part > 0 && self.draw.below(1000) < part
    }

    fn is_cut_off(&self, host: SocketAddr, now_ps: u64) -> bool {
        self.cut_off.get(&host).is_some_and(|&until| now_ps < until)
    }

    fn send(&mut self, now_ps: u64, datagram: Datagram) {
        let Link { lost, doubled, replayed, burst, burst_len, .. } = self.link;
        self.fates.sent += 1;
        if let Some(seen) = &mut self.seen {
            seen.push(datagram.clone());
        }
        let bytes = &datagram.bytes;
        let mark = bytes.chunks(8).fold(bytes.len() as u64, |sum, part| {
            part.iter().fold(sum.rotate_left(9), |sum, &byte| sum.wrapping_mul(31).wrapping_add(byte.into()))
        });
        self.mix(now_ps);
        self.mix(mark);
        if self.chance(burst) {
            self.burst_left = 1 + self.draw.below(burst_len);
        }
        let is_in_burst = self.burst_left > 0;
        self.burst_left = self.burst_left.saturating_sub(1);
        let is_unreachable = self.is_cut_off(datagram.from, now_ps) || self.is_cut_off(datagram.to, now_ps);
        let is_lost = self.chance(lost) || is_in_burst || is_unreachable;
        if self.is_traced {
            let Datagram { from, to, bytes } = &datagram;
            let fate = if is_lost { "lost" } else { "" };
            say(now_ps, format_args!("{from} > {to} {} B kind {} {fate}", bytes.len(), bytes[1]));
        }
        if self.chance(replayed) && !self.before.is_empty() {
            let mut again = self.before[self.draw.below(self.before.len())].clone();
            if self.draw.once_in(4) {
                self.misdirect(&mut again);
            }
            let later = now_ps + self.draw.number() % 300_000_000_000;
            self.fates.replayed += 1;
            self.put(later, again);
        }
        if self.link.replayed > 0 {
            self.before.push_back(datagram.clone());
            self.before.drain(..self.before.len().saturating_sub(REMEMBERED));
        }
        if is_lost {
            self.fates.lost += 1;
            return;
        }
        if self.chance(doubled) {
            self.fates.doubled += 1;
            self.send_copy(now_ps, datagram.clone());
        }
        self.send_copy(now_ps, datagram);
    }

    fn misdirect(&mut self, datagram: &mut Datagram) {
        let which = self.draw.below(self.hosts.len().max(1));
        let Some((&host, _)) = self.hosts.iter().nth(which) else { return };
        *(if self.draw.once_in(2) { &mut datagram.from } else { &mut datagram.to }) = host;
    }

    fn send_copy(&mut self, now_ps: u64, mut datagram: Datagram) {
        let Link { changed, cut, delay_ps, jitter_ps, .. } = self.link;
        if self.chance(changed) {
            self.fates.changed += 1;
            // Up to three bits: a 32-bit check finds every such change.
            for _ in 0..=self.draw.below(3) {
                let bit = self.draw.below(datagram.bytes.len() * 8);
                datagram.bytes[bit / 8] ^= 1 << (bit % 8);
            }
        }
        if self.chance(cut) {
            self.fates.changed += 1;
            datagram.bytes.truncate(self.draw.below(datagram.bytes.len()));
        }
        let jitter = if jitter_ps == 0 { 0 } else { self.draw.number() % jitter_ps };
        // Most come soon, a few late.
        let jitter = if self.draw.once_in(8) { jitter } else { jitter / 16 };
        self.put(now_ps + delay_ps + jitter, datagram);
    }

    fn put(&mut self, at_ps: u64, datagram: Datagram) {
        self.number += 1;
        self.way.insert((at_ps, self.number), datagram);
    }

    fn deliver(&mut self, now_ps: u64) -> Option<SocketAddr> {
        let (_, datagram) = self.way.pop_first()?;
        let to = datagram.to;
        let (is_cut_off, most) = (self.is_cut_off(to, now_ps), self.link.inbox);
        let inbox = self.hosts.get_mut(&to)?;
        if is_cut_off || inbox.waiting.len() >= most {
            self.fates.lost += 1;
            return None;
        }
        inbox.waiting.push_back(datagram);
        self.fates.delivered += 1;
        Some(to)
    }
}

impl SimWire {
    fn address(&self) -> SocketAddr {
        *self.local.lock().expect("nobody panics with it")
    }
}

impl Wire for SimWire {
    fn local(&self) -> SocketAddr {
        self.address()
    }

    fn datagram_bytes_max(&self) -> usize {
        self.datagram_bytes_max
    }

    fn send(&mut self, to: Route, bytes: &[u8], segment: usize) -> io::Result<()> {
        let (from, before) = (self.address(), nebula_testing::allocations::bytes());
        let mut state = self.network.state();
        for datagram in bytes.chunks(segment) {
            let datagram = Datagram { from, to: to.peer, bytes: datagram.to_vec() };
            state.send(self.network.now_ps.load(Relaxed), datagram);
        }
        state.held_bytes += nebula_testing::allocations::bytes() - before;
        Ok(())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }

    fn recv(&mut self, visit: &mut dyn FnMut(Route, &mut [u8])) -> io::Result<usize> {
        let local = self.address();
        for visited in 0..LOOK {
            let next = self.network.state().hosts.get_mut(&local).and_then(|inbox| inbox.waiting.pop_front());
            let Some(mut datagram) = next else { return Ok(visited) };
            visit(datagram.from.into(), &mut datagram.bytes);
            let before = nebula_testing::allocations::bytes();
            drop(datagram);
            self.network.state().held_bytes += nebula_testing::allocations::bytes() - before;
        }
        Ok(LOOK)
    }

    fn wait(&mut self, timeout: Option<Duration>, _: Option<BorrowedFd<'_>>) -> io::Result<()> {
        let now_ps = self.network.now_ps.load(Relaxed);
        let asked_ps = timeout.and_then(|timeout| u64::try_from(timeout.as_nanos()).ok()?.checked_mul(1000));
        let due_ps = asked_ps.and_then(|asked_ps| now_ps.checked_add(asked_ps));
        let local = self.address();
        self.network.set_due_ps(local, due_ps);
        Ok(())
    }
}
