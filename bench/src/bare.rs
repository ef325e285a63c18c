//! The baseline: the simplest ring for request and reply, one or more cache lines per slot, with
//! the reply written over the request.
//!
//! No header, no receive buffer, no dispatch, no protection: the server spins on the next slot,
//! flips a byte and writes it back. No other design that moves a request and a reply between two
//! cores' caches in this way can be much faster.

use crate::Failure;
use crate::child::{self, Server};
use crate::measure::Pipe;
use nebula_sys::copy::{load_bytes, store_bytes};
use nebula_sys::shared::SharedMemory;
use nebula_sys::sync::{AtomicU64, Ordering};
use std::os::fd::AsRawFd;

pub const SLOTS: u64 = 64;
const REQUEST: u64 = 1;
const REPLY: u64 = 2;
pub const FLAG_BYTES: usize = 8;
const LINES_MAX: usize = 66;

pub struct Bare {
    memory: SharedMemory,
    lines: usize,
    stride: usize,
    head: u64,
    tail: u64,
    buffer: [u8; LINES_MAX * 64],
    _server: Server,
}

impl Bare {
    /// Starts a server and connects to it; slots have `lines` cache lines.
    pub fn start(lines: usize) -> Result<Self, Failure> {
        Self::start_apart(lines, lines)
    }

    /// The same, with `stride` cache lines from one slot to the next.
    pub fn start_apart(lines: usize, stride: usize) -> Result<Self, Failure> {
        Self::start_on(child::server_core(), lines, stride)
    }

    /// The same, with the server on `core`.
    pub fn start_on(core: usize, lines: usize, stride: usize) -> Result<Self, Failure> {
        let memory = SharedMemory::create("bare-ring", SLOTS as usize * stride * 64)?;
        for slot in 0..SLOTS as usize {
            memory.words()[slot * stride * 8].store(u64::MAX, Ordering::Relaxed);
        }
        let path = format!("/proc/{}/fd/{}", std::process::id(), memory.fd().as_raw_fd());
        let [lines_word, stride_word, core] = [lines, stride, core].map(|number| number.to_string());
        let server = Server::start(&["serve-bare", &path, &lines_word, &stride_word, &core])?;
        Ok(Self { memory, lines, stride, head: 0, tail: 0, buffer: [7; LINES_MAX * 64], _server: server })
    }

    fn slot(&self, position: u64) -> &[AtomicU64] {
        slot(self.memory.words(), (self.lines, self.stride), position)
    }

    fn is_answered(&self) -> bool {
        self.slot(self.head)[0].load(Ordering::Acquire) == self.head << 2 | REPLY
    }
}

fn slot(words: &[AtomicU64], (lines, stride): (usize, usize), position: u64) -> &[AtomicU64] {
    let at = (position % SLOTS) as usize * stride * 8;
    &words[at..at + lines * 8]
}

impl Pipe for Bare {
    #[inline(always)]
    fn send(&mut self, _: u64) -> bool {
        if self.tail - self.head == SLOTS {
            return false;
        }
        let slot = self.slot(self.tail);
        store_bytes(&slot[1..], &self.buffer[..self.lines * 64 - FLAG_BYTES]);
        slot[0].store(self.tail << 2 | REQUEST, Ordering::Release);
        self.tail += 1;
        true
    }

    #[inline(always)]
    fn take(&mut self) -> u64 {
        let from = self.head;
        while self.head < self.tail && self.is_answered() {
            let slot = slot(self.memory.words(), (self.lines, self.stride), self.head);
            load_bytes(&slot[1..], &mut self.buffer[..self.lines * 64 - FLAG_BYTES]);
            self.head += 1;
        }
        self.head - from
    }
}

/// The server's end: never returns; its parent kills it.
pub fn serve(words: &[&str]) -> Result<(), Failure> {
    let [path, lines, stride, core] = words else { return Err("serve-bare PATH LINES STRIDE CORE".into()) };
    let (lines, stride): (usize, usize) = (lines.parse()?, stride.parse()?);
    nebula_sys::affinity::pin_to(core.parse()?)?;
    let file = std::fs::File::options().read(true).write(true).open(path)?;
    let memory = SharedMemory::open(file.into(), SLOTS as usize * stride * 64)?;
    child::ready()?;
    let mut buffer = [0; LINES_MAX * 64];
    let buffer = &mut buffer[..lines * 64 - FLAG_BYTES];
    for position in 0.. {
        let slot = slot(memory.words(), (lines, stride), position);
        while slot[0].load(Ordering::Acquire) != position << 2 | REQUEST {}
        load_bytes(&slot[1..], buffer);
        buffer[0] ^= 1;
        store_bytes(&slot[1..], buffer);
        slot[0].store(position << 2 | REPLY, Ordering::Release);
    }
    Ok(())
}
