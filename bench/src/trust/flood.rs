//! Clients that do not back off: they send by the clock, or a window at a time, whatever the
//! answers are.
//!
//! They write the protocol's datagrams themselves, since the library's client keeps to a congestion
//! window.

use crate::Failure;
use nebula_sys::clock::Clock;
use nebula_sys::udp::UdpSocket;
use std::net::SocketAddr;

/// Of a request, and of its whole message.
const PAYLOAD_BYTES: usize = 64;
const MESSAGE_BYTES: usize = 32 + PAYLOAD_BYTES;
const HEADER_BYTES: usize = 32;
/// Requests of a datagram: 16 KiB, as the library's client packs them over the loopback network.
const PACKED: u64 = 170;
/// An RPC without an answer for this long is lost.
const SILENCE_PS: u64 = 5_000_000_000;
const VERSION: u8 = 2;
const HELLO: u8 = 1;
const CLIENT: u8 = 4;
const REPLY: u8 = 2;
const NACK: u8 = 3;
const ACK: u8 = 4;

#[derive(Clone, Copy)]
pub enum Offer {
    /// RPCs a second, of all clients together.
    Rate(f64),
    Window(u64),
}

#[derive(Clone, Copy, Debug, Default)]
pub struct Tally {
    pub sent: u64,
    pub replied: u64,
    pub nacked: u64,
}

impl Tally {
    fn answered(&self) -> u64 {
        self.replied + self.nacked
    }
}

/// Driven by one thread.
pub struct Flood {
    clients: Vec<Flooder>,
    clock: Clock,
    started_ps: u64,
    turns: usize,
    /// The time of the last answer, and RPCs given up as lost.
    heard_ps: u64,
    lost: u64,
    pub tally: Tally,
}

impl Flood {
    pub fn connect(server: SocketAddr, clients: usize) -> Result<Self, Failure> {
        let clock = Clock::new();
        let clients = (0..clients).map(|_| Flooder::connect(server, &clock)).collect::<Result<_, _>>()?;
        Ok(Self { clients, started_ps: clock.now_ps(), clock, turns: 0, heard_ps: 0, lost: 0, tally: Tally::default() })
    }

    /// Sends at most one datagram that is due, and receives the answers of one client.
    pub fn turn(&mut self, offer: Offer) -> Result<(), Failure> {
        let now_ps = self.clock.now_ps();
        let (due, packed) = match offer {
            Offer::Rate(rps) => (((now_ps - self.started_ps) as f64 / 1e12 * rps) as u64, PACKED),
            Offer::Window(outstanding) => {
                (self.tally.answered() + self.lost + outstanding, (outstanding / 4).clamp(1, PACKED))
            }
        };
        let at = self.turns % self.clients.len();
        self.turns += 1;
        let client = &mut self.clients[at];
        let (replied, nacked) = client.take()?;
        self.tally.replied += replied;
        self.tally.nacked += nacked;
        if replied + nacked > 0 {
            self.heard_ps = now_ps;
        } else if now_ps - self.heard_ps > SILENCE_PS {
            // RPCs without an answer for this long are lost.
            (self.lost, self.heard_ps) = (self.tally.sent.saturating_sub(self.tally.answered()), now_ps);
        }
        if due >= self.tally.sent + packed {
            client.send(packed, now_ps / 1000);
            self.tally.sent += packed;
        }
        Ok(())
    }

    pub fn restart(&mut self) {
        (self.tally, self.lost, self.started_ps) = (Tally::default(), 0, self.clock.now_ps());
    }
}

struct Flooder {
    socket: UdpSocket,
    server: SocketAddr,
    /// Of its datagrams, without the checksum.
    header: [u8; HEADER_BYTES],
    /// The server's clock minus this machine's, in nanoseconds.
    ahead_ns: i64,
    stamp_ns: u64,
    tid: u32,
    datagram: Vec<u8>,
}

impl Flooder {
    fn connect(server: SocketAddr, clock: &Clock) -> Result<Self, Failure> {
        let mut socket = UdpSocket::connect(server)?;
        let mut hello = vec![0; HEADER_BYTES + 96];
        hello[..HEADER_BYTES].copy_from_slice(&header(HELLO, 0, 0, 0));
        close(&mut hello);
        socket.queue(server, None, &hello, hello.len())?;
        socket.flush()?;
        let mut welcome = Vec::new();
        while welcome.is_empty() {
            socket.recv(&mut |_, datagram| welcome = datagram.to_vec())?;
        }
        let (incarnation, snid) = (long(&welcome, 8), word(&welcome, 16));
        let ahead_ns = long(&welcome, 24) as i64 - (clock.now_ps() / 1000) as i64;
        let header = header(CLIENT, incarnation, snid, long(&welcome, HEADER_BYTES + 8));
        Ok(Self { socket, server, header, ahead_ns, stamp_ns: 0, tid: 0, datagram: Vec::new() })
    }

    fn send(&mut self, requests: u64, now_ns: u64) {
        self.datagram.clear();
        self.datagram.extend(self.header);
        for _ in 0..requests {
            self.tid = self.tid.wrapping_add(1);
            self.stamp_ns = (self.stamp_ns + 1).max(now_ns.saturating_add_signed(self.ahead_ns));
            let mut message = [7; MESSAGE_BYTES];
            message[..4].copy_from_slice(&[1, 0, PAYLOAD_BYTES as u8, 0]);
            message[4..8].copy_from_slice(&self.tid.to_le_bytes());
            message[8..12].copy_from_slice(&(PAYLOAD_BYTES as u32).to_le_bytes());
            message[12..20].copy_from_slice(&[0, 0, 0, 0, 7, 0, 0, 0]);
            message[20..24].copy_from_slice(&u32::MAX.to_le_bytes());
            message[24..32].copy_from_slice(&self.stamp_ns.to_le_bytes());
            self.datagram.extend(message);
        }
        close(&mut self.datagram);
        // As on any network, a datagram that the kernel refuses is lost.
        let _ = self.socket.queue(self.server, None, &self.datagram, self.datagram.len());
        let _ = self.socket.flush();
    }

    fn take(&mut self) -> Result<(u64, u64), Failure> {
        let (mut replied, mut nacked) = (0, 0);
        self.socket.recv(&mut |_, datagram| {
            let mut rest = datagram.get(HEADER_BYTES..).unwrap_or_default();
            while rest.len() >= 16 && rest[0] != 0 {
                replied += u64::from(rest[0] == REPLY);
                nacked += u64::from(rest[0] == NACK);
                let bytes = match rest[0] {
                    REPLY => 16 + usize::from(u16::from_le_bytes([rest[2], rest[3]])),
                    ACK => 24,
                    _ => 16,
                };
                rest = rest.get(bytes..).unwrap_or_default();
            }
        })?;
        Ok((replied, nacked))
    }
}

fn header(kind: u8, incarnation: u64, snid: u32, token: u64) -> [u8; HEADER_BYTES] {
    let mut header = [0; HEADER_BYTES];
    (header[0], header[1]) = (VERSION, kind);
    header[8..16].copy_from_slice(&incarnation.to_le_bytes());
    header[16..20].copy_from_slice(&snid.to_le_bytes());
    header[20..22].copy_from_slice(&16_384_u16.to_le_bytes());
    header[24..32].copy_from_slice(&token.to_le_bytes());
    header
}

fn close(datagram: &mut [u8]) {
    datagram[4..8].fill(0);
    let check = crc32c::crc32c(datagram);
    datagram[4..8].copy_from_slice(&check.to_le_bytes());
}

fn word(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes"))
}

fn long(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight bytes"))
}
