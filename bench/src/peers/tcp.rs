//! Plain TCP on the loopback device: fixed-size messages without any header, both sides polling, no
//! delay.
//!
//! Requests sent together share a system call, and so do replies that arrive together: the best
//! that a stream can do.

use crate::Failure;
use crate::child::{self, Server};
use crate::measure::Pipe;
use crate::ways::PAYLOAD_BYTES;
use std::io::{ErrorKind, Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};

const ROOM_BYTES: usize = 256 * PAYLOAD_BYTES;

pub struct Tcp {
    stream: TcpStream,
    unsent: Vec<u8>,
    buffer: Box<[u8; ROOM_BYTES]>,
    partial: usize,
    _server: Server,
}

impl Tcp {
    /// The server connects to the client, so that no port has to be known in advance.
    pub fn start() -> Result<Self, Failure> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let server = Server::start(&["serve-peer", "tcp", &listener.local_addr()?.to_string()])?;
        let stream = listener.accept()?.0;
        set_polled(&stream)?;
        let unsent = Vec::with_capacity(ROOM_BYTES);
        Ok(Self { stream, unsent, buffer: Box::new([0; ROOM_BYTES]), partial: 0, _server: server })
    }

    fn flush(&mut self) {
        let sent = some(self.stream.write(&self.unsent)).expect("a peer that reads");
        self.unsent.drain(..sent.unwrap_or(0));
    }
}

impl Pipe for Tcp {
    fn send(&mut self, _: u64) -> bool {
        let has_room = self.unsent.len() < ROOM_BYTES;
        if has_room {
            self.unsent.extend([7; PAYLOAD_BYTES]);
        }
        has_room
    }

    fn take(&mut self) -> u64 {
        if !self.unsent.is_empty() {
            self.flush();
        }
        let Some(bytes) = some(self.stream.read(&mut *self.buffer)).expect("a peer that answers") else { return 0 };
        assert!(bytes > 0, "the echo ended");
        assert!(self.buffer[..bytes].iter().all(|&byte| byte == 7), "the echo failed");
        self.partial += bytes;
        let replies = self.partial / PAYLOAD_BYTES;
        self.partial %= PAYLOAD_BYTES;
        replies as u64
    }
}

fn set_polled(stream: &TcpStream) -> std::io::Result<()> {
    stream.set_nodelay(true)?;
    stream.set_nonblocking(true)
}

/// The bytes moved; `None` if the call would block.
fn some(moved: std::io::Result<usize>) -> std::io::Result<Option<usize>> {
    match moved {
        Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => Ok(None),
        moved => moved.map(Some),
    }
}

/// The server's end: runs until the client disconnects.
pub fn serve(address: &str) -> Result<(), Failure> {
    let mut stream = TcpStream::connect(address)?;
    set_polled(&stream)?;
    child::ready()?;
    let mut buffer = [0; ROOM_BYTES];
    loop {
        match some(stream.read(&mut buffer))? {
            None => {}
            Some(0) => return Ok(()),
            Some(bytes) => write_all(&mut stream, &buffer[..bytes])?,
        }
    }
}

fn write_all(stream: &mut TcpStream, mut rest: &[u8]) -> std::io::Result<()> {
    while !rest.is_empty() {
        let written = some(stream.write(rest))?;
        rest = &rest[written.unwrap_or(0)..];
    }
    Ok(())
}
