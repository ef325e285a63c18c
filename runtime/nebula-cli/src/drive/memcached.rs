//! A memcached server as the load generator's peer: the text protocol over several connections with
//! several outstanding requests each.
//!
//! A connection's answers come in the order of its requests.

use std::collections::VecDeque;
use std::io::{ErrorKind, Read, Write};
use std::mem::MaybeUninit;
use std::net::{SocketAddr, TcpStream};
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

use nebula::Endpoint;
use nebula_workload::{Key, Op, Operation, Token};
use rustix::event::epoll::{self, CreateFlags, Event, EventData, EventFlags};

use super::client::{Ending, Flight, Peer, Submitted};
use super::exchange::{fill, is_of};
use super::plan::{LoadPlan, Memcached};
use nebula_ui::output::Failure;
use nebula_ui::signal;

const PATIENCE: Duration = Duration::from_secs(2);
/// For the answers to one batch of a preload.
const BATCH_WITHIN: Duration = Duration::from_secs(30);
const READ_BYTES: usize = 64 << 10;
const PRELOADED_AT_ONCE: u64 = 64;

#[derive(Debug)]
pub(super) struct MemcachedPeer {
    lanes: Vec<Lane>,
    /// The next request goes to this one, if it has room.
    next: usize,
    pipeline: usize,
    key_bytes: usize,
    epoll: OwnedFd,
    value: Vec<u8>,
    scratch: Vec<u8>,
    done: VecDeque<(Flight, Ending)>,
    outstanding: u32,
}

#[derive(Debug)]
struct Lane {
    stream: TcpStream,
    output: Vec<u8>,
    input: Vec<u8>,
    flights: VecDeque<Flight>,
}

fn wrong(answer: &[u8]) -> Failure {
    let line = answer.split(|&byte| byte == b'\n').next().unwrap_or_default();
    Failure::fault(format!("unexpected answer of the memcached server: {}", String::from_utf8_lossy(line).trim_end()))
}

fn address(plan: &LoadPlan) -> Result<SocketAddr, Failure> {
    match plan.endpoint.as_str().parse() {
        Ok(Endpoint::Tcp(address)) => Ok(address),
        _ => Err(Failure::bad_input("--protocol memcached needs one server at tcp://ADDRESS:PORT")),
    }
}

/// Connects; retries for two seconds while no server listens.
fn connect(address: SocketAddr) -> Result<TcpStream, Failure> {
    let until = Instant::now() + PATIENCE;
    loop {
        match TcpStream::connect_timeout(&address, PATIENCE) {
            Err(error) if error.kind() == ErrorKind::ConnectionRefused && Instant::now() < until => {
                signal::check()?;
                std::thread::sleep(Duration::from_millis(20));
            }
            connected => {
                let connected = connected.and_then(|stream| stream.set_nodelay(true).map(|()| stream));
                return connected
                    .map_err(|error| Failure::fault(format!("cannot connect to tcp://{address}: {error}")));
            }
        }
    }
}

/// A key of `bytes` hexadecimal digits: memcached allows no binary keys.
fn push_key(out: &mut Vec<u8>, key: Key, bytes: usize) {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let word = key.0.to_be_bytes();
    let digits = word.iter().flat_map(|&byte| [DIGITS[usize::from(byte >> 4)], DIGITS[usize::from(byte & 15)]]);
    out.extend(std::iter::repeat_n(b'0', bytes.saturating_sub(16)));
    out.extend(digits.skip(16_usize.saturating_sub(bytes)));
}

fn push_set(out: &mut Vec<u8>, key: Key, key_bytes: usize, value: &[u8]) {
    out.extend_from_slice(b"set ");
    push_key(out, key, key_bytes);
    // Writing to memory does not fail.
    let _ = write!(out, " 0 0 {}\r\n", value.len());
    out.extend_from_slice(value);
    out.extend_from_slice(b"\r\n");
}

impl MemcachedPeer {
    pub(super) fn connect(plan: &LoadPlan, how: Memcached) -> Result<Self, Failure> {
        let address = address(plan)?;
        let epoll = epoll::create(CreateFlags::CLOEXEC).map_err(Failure::fault)?;
        let lanes = (0..how.connections.max(1)).map(|index| {
            let stream = connect(address)?;
            stream.set_nonblocking(true)?;
            epoll::add(&epoll, &stream, EventData::new_u64(index.into()), EventFlags::IN).map_err(Failure::fault)?;
            Ok(Lane { stream, output: Vec::new(), input: Vec::new(), flights: VecDeque::new() })
        });
        Ok(Self {
            lanes: lanes.collect::<Result<_, Failure>>()?,
            next: 0,
            pipeline: how.pipeline.max(1).into(),
            key_bytes: plan.key_bytes,
            epoll,
            value: vec![0; plan.value_bytes_max() as usize],
            scratch: vec![0; READ_BYTES],
            done: VecDeque::new(),
            outstanding: 0,
        })
    }

    fn read(&mut self) -> Result<(), Failure> {
        let mut events = [const { MaybeUninit::<Event>::uninit() }; 64];
        let now = rustix::time::Timespec { tv_sec: 0, tv_nsec: 0 };
        let Ok((events, _)) = epoll::wait(&self.epoll, &mut events, Some(&now)) else { return Ok(()) };
        for event in events.iter() {
            let at = usize::try_from(event.data.u64()).unwrap_or(usize::MAX);
            let Some(lane) = self.lanes.get_mut(at) else { continue };
            match lane.stream.read(&mut self.scratch) {
                Ok(0) => return Err(Failure::fault("the server has closed a connection")),
                Ok(bytes) => lane.input.extend_from_slice(&self.scratch[..bytes]),
                Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => {}
                Err(error) => return Err(Failure::fault(error)),
            }
            let mut taken = 0;
            while let Some(flight) = lane.flights.front()
                && let Some((bytes, ending)) = answer(&lane.input[taken..], &flight.operation)?
            {
                taken += bytes;
                self.done.extend(lane.flights.pop_front().map(|flight| (flight, ending)));
            }
            lane.input.drain(..taken);
        }
        Ok(())
    }

    fn flush(&mut self) -> Result<(), Failure> {
        for lane in self.lanes.iter_mut().filter(|lane| !lane.output.is_empty()) {
            match lane.stream.write(&lane.output) {
                Ok(bytes) => drop(lane.output.drain(..bytes)),
                Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => {}
                Err(error) => return Err(Failure::fault(error)),
            }
        }
        Ok(())
    }
}

impl Peer for MemcachedPeer {
    fn submit(&mut self, token: Token, operation: Operation) -> Result<Submitted, Failure> {
        let lanes = self.lanes.len();
        let room = (0..lanes).map(|ahead| (self.next + ahead) % lanes);
        let Some(at) = { room }.find(|&at| self.lanes[at].flights.len() < self.pipeline) else {
            return Ok(Submitted::Full);
        };
        self.next = (at + 1) % lanes;
        let lane = &mut self.lanes[at];
        match operation.op {
            Op::Get => lane.output.extend_from_slice(b"get "),
            Op::Delete => lane.output.extend_from_slice(b"delete "),
            Op::Scan => return Err(Failure::bad_input("memcached has no SCAN: give get, set or delete to --mix")),
            Op::Set => {
                let bytes = (operation.value_bytes as usize).min(self.value.len());
                fill(operation.key, &mut self.value[..bytes]);
                push_set(&mut lane.output, operation.key, self.key_bytes, &self.value[..bytes]);
            }
        }
        if operation.op != Op::Set {
            push_key(&mut lane.output, operation.key, self.key_bytes);
            lane.output.extend_from_slice(b"\r\n");
        }
        lane.flights.push_back(Flight { token, operation });
        self.outstanding += 1;
        Ok(Submitted::Sent)
    }

    fn poll(&mut self) -> Result<Option<(Flight, Ending)>, Failure> {
        if self.done.is_empty() {
            self.flush()?;
            self.read()?;
        }
        let done = self.done.pop_front();
        self.outstanding -= u32::from(done.is_some());
        Ok(done)
    }

    fn outstanding(&self) -> u32 {
        self.outstanding
    }
}

/// The answer to `operation` that `bytes` begin with, and its length; `None` if it is incomplete.
fn answer(bytes: &[u8], operation: &Operation) -> Result<Option<(usize, Ending)>, Failure> {
    let Some(end) = bytes.windows(2).position(|two| two == b"\r\n") else { return Ok(None) };
    let line = &bytes[..end];
    let said = |is_found| Ok(Some((end + 2, Ending::Replied { is_found })));
    match (operation.op, line) {
        (_, b"SERVER_ERROR busy") => Ok(Some((end + 2, Ending::Nacked))),
        (Op::Get, b"END") | (Op::Delete, b"NOT_FOUND") => said(false),
        (Op::Set, b"STORED") | (Op::Delete, b"DELETED") => said(true),
        (Op::Get, line) if line.starts_with(b"VALUE ") => value(bytes, end, operation),
        _ => Err(wrong(line)),
    }
}

fn value(bytes: &[u8], end: usize, operation: &Operation) -> Result<Option<(usize, Ending)>, Failure> {
    let length = bytes[..end].rsplit(|&byte| byte == b' ').next().and_then(|length| std::str::from_utf8(length).ok());
    let length: usize = length.and_then(|length| length.parse().ok()).ok_or_else(|| wrong(bytes))?;
    let Some(rest) = bytes[end + 2..].get(..length + b"\r\nEND\r\n".len()) else { return Ok(None) };
    let (value, behind) = rest.split_at(length);
    if behind != b"\r\nEND\r\n" || !is_of(operation.key, value) {
        return Err(wrong(&bytes[..end]));
    }
    Ok(Some((end + 2 + rest.len(), Ending::Replied { is_found: true })))
}

/// Stores every key of the plan over one connection, and repeats refused ones.
pub(super) fn preload(plan: &LoadPlan, watch: &mut dyn FnMut(u64)) -> Result<(), Failure> {
    let mut stream = connect(address(plan)?)?;
    stream.set_read_timeout(Some(BATCH_WITHIN))?;
    stream.set_write_timeout(Some(BATCH_WITHIN))?;
    let mut value = vec![0; plan.value_bytes as usize];
    let (mut output, mut input) = (Vec::new(), vec![0; READ_BYTES]);
    let mut waiting: VecDeque<u64> = VecDeque::new();
    let mut next = 0;
    while next < plan.key_count || !waiting.is_empty() {
        signal::check()?;
        while (waiting.len() as u64) < PRELOADED_AT_ONCE && next < plan.key_count {
            waiting.push_back(next);
            next += 1;
        }
        output.clear();
        for &key in &waiting {
            fill(Key(key), &mut value);
            push_set(&mut output, Key(key), plan.key_bytes, &value);
        }
        let until = Instant::now() + BATCH_WITHIN;
        stream.write_all(&output)?;
        let (mut answers, mut left) = (Vec::new(), waiting.len());
        while left > 0 {
            let bytes = stream.read(&mut input)?;
            if bytes == 0 {
                return Err(Failure::fault("the server has closed the connection"));
            }
            if Instant::now() > until {
                return Err(Failure::fault(format!("{PRELOADED_AT_ONCE} SETs have no answer after {BATCH_WITHIN:?}")));
            }
            answers.extend_from_slice(&input[..bytes]);
            while let Some(end) = answers.iter().position(|&byte| byte == b'\n') {
                let key = waiting.pop_front().unwrap_or_default();
                match &answers[..end] {
                    b"STORED\r" => {}
                    b"SERVER_ERROR busy\r" => waiting.push_back(key),
                    other => return Err(wrong(other)),
                }
                answers.drain(..=end);
                left -= 1;
            }
        }
        watch(next - waiting.len() as u64);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use nebula_nic::Timestamp;

    fn operation(op: Op) -> Operation {
        Operation { at: Timestamp::ZERO, op, key: Key(7), value_bytes: 12 }
    }

    #[test]
    fn answers_are_read_whole_and_not_before() {
        let mut value = [0; 12];
        fill(Key(7), &mut value);
        let hit = [b"VALUE 0000000000000007 0 12\r\n", &value[..], b"\r\nEND\r\n"].concat();
        let cases: [(Op, &[u8], Ending); 6] = [
            (Op::Get, &hit, Ending::Replied { is_found: true }),
            (Op::Get, b"END\r\n", Ending::Replied { is_found: false }),
            (Op::Set, b"STORED\r\n", Ending::Replied { is_found: true }),
            (Op::Delete, b"NOT_FOUND\r\n", Ending::Replied { is_found: false }),
            (Op::Get, b"SERVER_ERROR busy\r\n", Ending::Nacked),
            (Op::Set, b"SERVER_ERROR busy\r\n", Ending::Nacked),
        ];
        for (op, bytes, expected) in cases {
            for part in 0..bytes.len() {
                assert!(answer(&bytes[..part], &operation(op)).unwrap().is_none(), "{part} of {op:?}");
            }
            let followed = [bytes, b"END\r\n"].concat();
            let (taken, ending) = answer(&followed, &operation(op)).unwrap().unwrap();
            assert_eq!((taken, ending), (bytes.len(), expected));
        }
        assert!(answer(b"ERROR\r\n", &operation(Op::Get)).is_err());
        assert!(answer(b"VALUE k 0 2\r\nxx\r\nEND\r\n", &operation(Op::Get)).is_err(), "another's value");
    }
}
