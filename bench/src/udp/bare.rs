//! The baselines that coalesce: bare sockets, a batch of messages per system call and direction.
//!
//! No header, no numbers, no retransmission, no dispatch: each message is sent back as it arrived.

use crate::Failure;
use crate::child::{self, Server};
use crate::measure::Pipe;
use crate::ways::{OUTSTANDING, PAYLOAD_BYTES};
use nebula_sys::udp::UdpSocket;
use std::net::SocketAddr;

#[derive(Clone, Copy)]
pub enum Packing {
    /// One datagram each; the kernel segments and coalesces them (GSO, GRO).
    Segments,
    OneDatagram,
}

pub struct Bare {
    socket: UdpSocket,
    address: SocketAddr,
    packing: Packing,
    batch: Vec<u8>,
    _server: Server,
}

impl Bare {
    pub fn start(packing: Packing) -> Result<Self, Failure> {
        let address = child::unused_address()?;
        let server = Server::start(&["serve-udp", "bare", &address.to_string()])?;
        let batch = Vec::with_capacity(OUTSTANDING as usize * PAYLOAD_BYTES);
        Ok(Self { socket: UdpSocket::connect(address)?, address, packing, batch, _server: server })
    }

    fn flush(&mut self) {
        let segment = match self.packing {
            Packing::Segments => PAYLOAD_BYTES,
            Packing::OneDatagram => self.batch.len(),
        };
        self.socket.queue(self.address, None, &self.batch, segment).expect("a socket that sends");
        self.socket.flush().expect("a server that is there");
        self.batch.clear();
    }
}

impl Pipe for Bare {
    #[inline(always)]
    fn send(&mut self, _: u64) -> bool {
        let has_room = self.batch.len() < OUTSTANDING as usize * PAYLOAD_BYTES;
        if has_room {
            self.batch.extend([7; PAYLOAD_BYTES]);
        }
        has_room
    }

    #[inline(always)]
    fn take(&mut self) -> u64 {
        if !self.batch.is_empty() {
            self.flush();
        }
        let mut bytes = 0;
        let mut visit = |_, datagram: &mut [u8]| {
            assert!(datagram.iter().all(|&byte| byte == 7), "the echo failed");
            bytes += datagram.len();
        };
        self.socket.recv(&mut visit).expect("a server that is there");
        (bytes / PAYLOAD_BYTES) as u64
    }
}

/// The server's end: never returns; its parent kills it. Consecutive messages of equal length are
/// sent back as one batch.
pub fn serve(address: SocketAddr) -> Result<(), Failure> {
    let mut socket = UdpSocket::bind(address)?;
    nebula_sys::affinity::pin_to(child::server_core())?;
    child::ready()?;
    let mut batch = Vec::with_capacity(1 << 20);
    loop {
        let (mut segment, mut client) = (1, address);
        let visit = &mut |from: nebula_sys::udp::Received, datagram: &mut [u8]| {
            batch.extend_from_slice(datagram);
            (segment, client) = (segment.max(datagram.len()), from.from);
        };
        if socket.recv(visit)? > 0 {
            socket.queue(client, None, &batch, segment)?;
            socket.flush()?;
            batch.clear();
        }
    }
}
