//! The baseline of one datagram per call: the standard library's sockets, both sides polling. With
//! one RPC at a time, it is the simplest ping-pong over UDP.

use crate::Failure;
use crate::child::{self, Server};
use crate::measure::Pipe;
use crate::ways::PAYLOAD_BYTES;
use std::io::{self, ErrorKind};
use std::net::{Ipv4Addr, UdpSocket};

pub struct Single {
    socket: UdpSocket,
    _server: Server,
}

impl Single {
    pub fn start() -> Result<Self, Failure> {
        let address = child::unused_address()?;
        let server = Server::start(&["serve-udp", "single", &address.to_string()])?;
        let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))?;
        socket.connect(address)?;
        socket.set_nonblocking(true)?;
        Ok(Self { socket, _server: server })
    }
}

impl Pipe for Single {
    fn send(&mut self, _: u64) -> bool {
        some(self.socket.send(&[7; PAYLOAD_BYTES])).expect("a server that is there").is_some()
    }

    fn take(&mut self) -> u64 {
        let mut reply = [0; PAYLOAD_BYTES];
        let Some(bytes) = some(self.socket.recv(&mut reply)).expect("a server that is there") else { return 0 };
        assert!(bytes == PAYLOAD_BYTES && reply == [7; PAYLOAD_BYTES], "the echo failed");
        1
    }
}

/// `None` if the operation would block.
fn some<T>(done: io::Result<T>) -> io::Result<Option<T>> {
    match done {
        Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => Ok(None),
        done => done.map(Some),
    }
}

/// The server's end: never returns; its parent kills it.
pub fn serve(address: &str) -> Result<(), Failure> {
    let socket = UdpSocket::bind(address)?;
    socket.set_nonblocking(true)?;
    nebula_sys::affinity::pin_to(child::server_core())?;
    child::ready()?;
    let mut request = [0; PAYLOAD_BYTES];
    loop {
        if let Some((bytes, client)) = some(socket.recv_from(&mut request))? {
            while some(socket.send_to(&request[..bytes], client))?.is_none() {}
        }
    }
}
