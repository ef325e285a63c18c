//! The load: GETs of uniform keys over several connections, in closed and in open loops.
//!
//! All values have one length, so an answer is a value of that length, a miss or a refusal. Each
//! connection's requests go out by one call, and its answers are read by one.

use crate::Failure;
use nebula_sys::clock::Clock;
use rustix::event::epoll::{self, CreateFlags, Event, EventData, EventFlags};
use rustix::time::Timespec;
use std::collections::VecDeque;
use std::io::{ErrorKind, Read, Write};
use std::mem::MaybeUninit;
use std::net::{SocketAddr, TcpStream};
use std::os::fd::OwnedFd;

pub const KEYS: u64 = 200_000;
pub const VALUE_BYTES: usize = 100;
const KEY_BYTES: usize = 16;
/// An answer: `VALUE KEY 0 100`, the value, `END`.
const ANSWER_BYTES: usize = 6 + KEY_BYTES + 6 + 2 + VALUE_BYTES + 2 + 5;
const BUSY: &[u8] = b"SERVER_ERROR busy\r\n";
/// The end of a value's answer, and the whole answer for a missing key.
const END: &[u8] = b"END\r\n";
/// A store with a lossy index has lost a few items.
const MISSED_MAX: f64 = 0.01;
const READ_BYTES: usize = 64 << 10;
/// A server without an answer for this long is dead.
const SILENCE_PS: u64 = 10_000_000_000_000;

fn push_key(out: &mut Vec<u8>, key: u64) {
    let (mut digits, mut left) = ([b'0'; KEY_BYTES], key);
    for digit in digits.iter_mut().rev() {
        if left == 0 {
            break;
        }
        (*digit, left) = (b'0' + (left % 10) as u8, left / 10);
    }
    out.extend_from_slice(&digits);
}

/// The answer to a GET of the key of zeros.
pub fn answer() -> Vec<u8> {
    let mut out = b"VALUE ".to_vec();
    push_key(&mut out, 0);
    out.extend_from_slice(format!(" 0 {VALUE_BYTES}\r\n").as_bytes());
    out.resize(out.len() + VALUE_BYTES, b'v');
    out.extend_from_slice(b"\r\nEND\r\n");
    out
}

pub fn set_line(out: &mut Vec<u8>, key: u64) {
    out.extend_from_slice(b"set ");
    push_key(out, key);
    out.extend_from_slice(format!(" 0 0 {VALUE_BYTES}\r\n").as_bytes());
    out.resize(out.len() + VALUE_BYTES, b'v');
    out.extend_from_slice(b"\r\n");
}

pub struct Seen {
    /// Of answered GETs.
    latencies_ns: Vec<u32>,
    pub refused: u64,
    missed: u64,
    /// The time until all were answered, and the time of sending.
    ps: u64,
    sent_ps: u64,
}

impl Seen {
    fn new(ps: u64) -> Self {
        Self { latencies_ns: Vec::with_capacity(1 << 20), refused: 0, missed: 0, ps, sent_ps: ps }
    }

    pub fn merge(&mut self, other: Self) {
        self.latencies_ns.extend(other.latencies_ns);
        (self.refused, self.missed) = (self.refused + other.refused, self.missed + other.missed);
        (self.ps, self.sent_ps) = (self.ps.max(other.ps), self.sent_ps.max(other.sent_ps));
    }

    fn checked(self) -> Result<Self, Failure> {
        if self.missed as f64 > MISSED_MAX * self.served() as f64 {
            return Err(format!("{} of {} GETs have missed", self.missed, self.served()).into());
        }
        Ok(self)
    }

    pub fn served(&self) -> usize {
        self.latencies_ns.len()
    }

    /// Of answered GETs.
    pub fn rate_mrps(&self) -> f64 {
        self.served() as f64 / (self.ps as f64 / 1e6)
    }

    /// Of sent GETs.
    pub fn offered_mrps(&self) -> f64 {
        (self.served() as f64 + self.refused as f64) / (self.sent_ps as f64 / 1e6)
    }

    pub fn refused_share(&self) -> f64 {
        self.refused as f64 / (self.refused as f64 + self.served() as f64)
    }

    /// Of the latencies of answered GETs.
    pub fn quantile_ns(&self, share: f64) -> f64 {
        let mut sorted = self.latencies_ns.clone();
        sorted.sort_unstable();
        sorted.get(((sorted.len().max(1) - 1) as f64 * share) as usize).copied().map_or(0.0, f64::from)
    }
}

struct Lane {
    stream: TcpStream,
    output: Vec<u8>,
    sent: usize,
    input: Vec<u8>,
    /// When outstanding GETs were to be sent, in picoseconds, and how many at that moment.
    flights: VecDeque<(u64, u32)>,
    under_way: u32,
}

pub struct Lanes {
    lanes: Vec<Lane>,
    epoll: OwnedFd,
    clock: Clock,
    scratch: Vec<u8>,
    draw: Draw,
}

struct Draw(u64);

impl Draw {
    fn word(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn key(&mut self) -> u64 {
        ((u128::from(self.word()) * u128::from(KEYS)) >> 64) as u64
    }

    /// A time between two arrivals of a Poisson process with this mean, in picoseconds.
    fn gap_ps(&mut self, mean_ps: f64) -> u64 {
        let uniform = ((self.word() >> 11) as f64 + 0.5) / (1_u64 << 53) as f64;
        (-uniform.ln() * mean_ps) as u64
    }
}

impl Lane {
    fn push(&mut self, key: u64, at_ps: u64) {
        self.output.extend_from_slice(b"get ");
        push_key(&mut self.output, key);
        self.output.extend_from_slice(b"\r\n");
        self.under_way += 1;
        match self.flights.back_mut() {
            Some((at, count)) if *at == at_ps => *count += 1,
            _ => self.flights.push_back((at_ps, 1)),
        }
    }

    fn send(&mut self) -> Result<(), Failure> {
        if self.sent < self.output.len() {
            match self.stream.write(&self.output[self.sent..]) {
                Ok(bytes) => self.sent += bytes,
                Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => {}
                Err(error) => return Err(error.into()),
            }
        }
        if self.sent == self.output.len() {
            self.output.clear();
            self.sent = 0;
        }
        Ok(())
    }

    /// Reads once, and records the answers with the time after the read.
    fn read(&mut self, scratch: &mut [u8], clock: &Clock, seen: &mut Seen) -> Result<u32, Failure> {
        let kept = self.input.len();
        scratch[..kept].copy_from_slice(&self.input);
        let got = match self.stream.read(&mut scratch[kept..]) {
            Ok(0) => return Err("the server has closed a connection".into()),
            Ok(bytes) => kept + bytes,
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => return Ok(0),
            Err(error) => return Err(error.into()),
        };
        let (now, mut at, mut answers) = (clock.now_ps(), 0, 0);
        while at < got {
            let left = &scratch[at..got];
            let bytes = match left[0] {
                b'V' => ANSWER_BYTES,
                b'E' => END.len(),
                _ => BUSY.len(),
            };
            let Some(answer) = left.get(..bytes) else { break };
            let flight = self.flights.front_mut().ok_or("an answer to nothing")?;
            if answer == BUSY {
                seen.refused += 1;
            } else if answer.ends_with(END) {
                let ns = (now.saturating_sub(flight.0) / 1000).min(u64::from(u32::MAX));
                seen.latencies_ns.push(ns as u32);
                seen.missed += u64::from(bytes == END.len());
            } else {
                return Err(format!("the server said {:?}", String::from_utf8_lossy(answer)).into());
            }
            flight.1 -= 1;
            if flight.1 == 0 {
                self.flights.pop_front();
            }
            (at, answers) = (at + bytes, answers + 1);
        }
        self.input.clear();
        self.input.extend_from_slice(&scratch[at..got]);
        self.under_way -= answers;
        Ok(answers)
    }
}

impl Lanes {
    /// Thread number `thread` seeds the draws.
    pub fn connect(address: SocketAddr, connections: usize, thread: u64) -> Result<Self, Failure> {
        let epoll = epoll::create(CreateFlags::CLOEXEC)?;
        let lanes = (0..connections as u64).map(|index| {
            let stream = TcpStream::connect(address)?;
            stream.set_nodelay(true)?;
            stream.set_nonblocking(true)?;
            epoll::add(&epoll, &stream, EventData::new_u64(index), EventFlags::IN)?;
            Ok(Lane { stream, output: Vec::new(), sent: 0, input: Vec::new(), flights: VecDeque::new(), under_way: 0 })
        });
        let lanes = lanes.collect::<Result<_, Failure>>()?;
        let (clock, scratch, draw) =
            (Clock::new(), vec![0; READ_BYTES], Draw(0x2545_F491_4F6C_DD1D_u64.wrapping_mul(2 * thread + 1)));
        Ok(Self { lanes, epoll, clock, scratch, draw })
    }

    /// Keeps `pipeline` GETs outstanding on each connection for `ps` picoseconds, then waits for
    /// all answers.
    pub fn closed(&mut self, pipeline: u32, ps: u64) -> Result<Seen, Failure> {
        let (began, mut seen) = (self.clock.now_ps(), Seen::new(ps));
        for lane in &mut self.lanes {
            (0..pipeline).for_each(|_| lane.push(self.draw.key(), began));
            lane.send()?;
        }
        loop {
            let now = self.clock.now_ps();
            let is_over = now - began >= ps;
            let Self { lanes, epoll, clock, scratch, draw } = self;
            look(epoll, |at| {
                let Some(lane) = lanes.get_mut(at) else { return Ok(()) };
                let answers = lane.read(scratch, clock, &mut seen)?;
                if !is_over && answers > 0 {
                    let now = clock.now_ps();
                    (0..answers).for_each(|_| lane.push(draw.key(), now));
                }
                lane.send()
            })?;
            if is_over && lanes.iter().all(|lane| lane.under_way == 0) {
                // Late answers count, and so does their time.
                seen.ps = self.clock.now_ps() - began;
                return seen.checked();
            }
            if now - began > ps + SILENCE_PS {
                return Err("a server has not answered for ten seconds".into());
            }
        }
    }

    /// Sends GETs as a Poisson process of `offered_mrps` million a second, for `ps` picoseconds,
    /// over the connections in turn, then waits for all answers. Latency counts from the scheduled
    /// time.
    pub fn open(&mut self, offered_mrps: f64, ps: u64) -> Result<Seen, Failure> {
        let mean_ps = 1e6 / offered_mrps;
        let (began, mut seen) = (self.clock.now_ps(), Seen::new(ps));
        let (mut next, mut turn) = (began, 0);
        loop {
            let had_to_send = next < began + ps;
            let now = self.clock.now_ps();
            while next <= now && next < began + ps {
                let key = self.draw.key();
                let lanes = self.lanes.len();
                self.lanes[turn % lanes].push(key, next);
                (next, turn) = (next + self.draw.gap_ps(mean_ps).max(1), turn + 1);
            }
            self.lanes.iter_mut().try_for_each(Lane::send)?;
            if had_to_send {
                // A late load sends for longer, and offers less.
                seen.sent_ps = self.clock.now_ps() - began;
            }
            let Self { lanes, epoll, clock, scratch, .. } = self;
            look(epoll, |at| match lanes.get_mut(at) {
                Some(lane) => lane.read(scratch, clock, &mut seen).map(drop),
                None => Ok(()),
            })?;
            if next >= began + ps && lanes.iter().all(|lane| lane.under_way == 0) {
                seen.ps = self.clock.now_ps() - began;
                return seen.checked();
            }
            if now - began > ps + SILENCE_PS {
                return Err("a server has not answered for ten seconds".into());
            }
        }
    }
}

/// Calls `visit` with the number of each readable connection, without waiting.
fn look(epoll: &OwnedFd, mut visit: impl FnMut(usize) -> Result<(), Failure>) -> Result<(), Failure> {
    let mut events = [const { MaybeUninit::<Event>::uninit() }; 64];
    let (events, _) = epoll::wait(epoll, &mut events, Some(&Timespec { tv_sec: 0, tv_nsec: 0 }))?;
    events.iter().try_for_each(|event| visit(event.data.u64() as usize))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_has_sixteen_digits() {
        let mut out = Vec::new();
        [0, 7, 999_999].into_iter().for_each(|key| push_key(&mut out, key));
        assert_eq!(out, b"000000000000000000000000000000070000000000999999");
    }

    #[test]
    fn an_answer_has_the_length_that_is_counted_on() {
        assert_eq!(answer().len(), ANSWER_BYTES);
    }

    #[test]
    fn gaps_have_their_mean() {
        let mut draw = Draw(1);
        (0..100).for_each(|_| _ = draw.word());
        let sum: u64 = (0..100_000).map(|_| draw.gap_ps(1000.0)).sum();
        assert!((98_000_000..102_000_000).contains(&sum), "{sum}");
    }
}
