//! A client over UDP allocates nothing once it has its buffers, on an in-memory network that
//! answers by itself.

use crate::support::message::{REPLY, REQUEST};
use crate::support::udp_raw::{CLIENT, HELLO, MTU, SERVER, VERSION, WELCOME, secret_of, word};
use nebula::net::{Environment, Route, Time, Wire};
use nebula::{Client, ClientConfig, SubmitError};
use nebula_testing::allocations::made_by;
use std::io;
use std::net::SocketAddr;
use std::os::fd::BorrowedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

const FRAME_BYTES: usize = 32;
const DATAGRAM_BYTES: usize = 1232;
const TOKEN: u64 = 9;
const SERVER_ADDRESS: &str = "127.0.0.1:7400";

/// A network with an echo server, which answers as requests are sent. One datagram in 64 is lost.
#[derive(Debug)]
struct EchoWire {
    answers: Vec<u8>,
    ends: Vec<usize>,
    ps: Arc<AtomicU64>,
    datagrams: u64,
}

fn le(number: usize) -> [u8; 2] {
    u16::try_from(number).expect("a packet's").to_le_bytes()
}

impl EchoWire {
    fn begin(&mut self, kind: u8) {
        let start = self.answers.len();
        self.answers.resize(start + FRAME_BYTES, 0);
        let header = &mut self.answers[start..];
        (header[0], header[1], header[8], header[16]) = (VERSION, kind, 7, 5);
        header[20..22].copy_from_slice(&1232_u16.to_le_bytes());
        header[24..32].copy_from_slice(&(self.ps.load(Relaxed) / 1000).to_le_bytes());
    }

    fn end(&mut self) {
        let start = self.ends.last().copied().unwrap_or(0);
        let secret = if self.answers[start + 1] == SERVER { secret_of(TOKEN) } else { 0 };
        let check = crc32c::crc32c_append(secret, &self.answers[start..]);
        self.answers[start + 4..start + 8].copy_from_slice(&check.to_le_bytes());
        self.ends.push(self.answers.len());
    }

    fn welcome(&mut self, echo: &[u8]) {
        self.begin(WELCOME);
        self.answers.extend_from_slice(echo);
        self.answers.extend_from_slice(&TOKEN.to_le_bytes());
        self.answers.extend_from_slice(&(1_u32 << 20).to_le_bytes());
        self.answers.extend_from_slice(&1088_u32.to_le_bytes());
        self.answers.extend_from_slice(&[0; 16]);
        self.end();
    }

    /// Answers each request, which is all sevens, with as many; with a longer reply if it asks for
    /// an acknowledgment.
    fn serve(&mut self, mut body: &[u8]) {
        while body.first() == Some(&REQUEST) {
            let payload = usize::from(u16::from_le_bytes([body[2], body[3]]));
            let (bytes, is_asked) = (word(body, 8) as usize, body[1] == 1);
            let packets = if is_asked || bytes <= MTU { bytes.div_ceil(MTU).max(1) } else { 0 };
            for pkt_idx in 0..packets {
                let len = (bytes - pkt_idx * MTU).min(MTU);
                self.begin(SERVER);
                let at = self.answers.len();
                self.answers.resize(at + 16 + len, 7);
                let reply = &mut self.answers[at..];
                reply[..16].copy_from_slice(&body[..16]);
                reply[0] = REPLY;
                reply[2..4].copy_from_slice(&le(len));
                reply[12..14].copy_from_slice(&le(pkt_idx));
                self.end();
            }
            body = &body[32 + payload..];
        }
    }
}

impl Wire for EchoWire {
    fn local(&self) -> SocketAddr {
        SERVER_ADDRESS.parse().expect("an address")
    }

    fn datagram_bytes_max(&self) -> usize {
        DATAGRAM_BYTES
    }

    fn send(&mut self, _to: Route, bytes: &[u8], segment: usize) -> io::Result<()> {
        for datagram in bytes.chunks(segment) {
            self.datagrams += 1;
            match datagram[1] {
                HELLO => self.welcome(&datagram[FRAME_BYTES..FRAME_BYTES + 8]),
                CLIENT if !self.datagrams.is_multiple_of(64) => self.serve(&datagram[FRAME_BYTES..]),
                _ => {}
            }
        }
        Ok(())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }

    fn recv(&mut self, visit: &mut dyn FnMut(Route, &mut [u8])) -> io::Result<usize> {
        let mut start = 0;
        for &end in &self.ends {
            visit(SERVER_ADDRESS.parse::<SocketAddr>().expect("an address").into(), &mut self.answers[start..end]);
            start = end;
        }
        let count = self.ends.len();
        self.answers.clear();
        self.ends.clear();
        // Each look takes 2 µs.
        self.ps.fetch_add(2_000_000, Relaxed);
        Ok(count)
    }

    fn wait(&mut self, _timeout: Option<Duration>, _bell: Option<BorrowedFd<'_>>) -> io::Result<()> {
        Ok(())
    }
}

/// Sends `rpcs` RPCs, 64 at once and one in 16 of several packets.
fn stream(client: &mut Client, rpcs: u64) {
    let request = [7; 3000];
    let (mut sent, mut ended) = (0, 0);
    while ended < rpcs {
        while sent < rpcs && client.outstanding() < 64 {
            let bytes = if sent % 16 == 0 { 3000 } else { 64 };
            match client.submit(&request[..bytes]) {
                Ok(_) => sent += 1,
                Err(error) => assert_eq!(error, SubmitError::Full),
            }
        }
        if let Some(done) = client.poll() {
            assert_eq!(done.result.map(|reply| reply[0]), Ok(7));
            ended += 1;
        }
    }
}

#[test]
fn no_rpc_over_udp_allocates_whether_it_is_lost_or_not() {
    assert_eq!(made_by(|| drop(std::hint::black_box(Box::new(7)))), 1, "the counter counts");

    let ps = Arc::new(AtomicU64::new(0));
    let (answers, ends) = (Vec::with_capacity(1 << 20), Vec::with_capacity(1 << 12));
    let wire = Box::new(EchoWire { answers, ends, ps: ps.clone(), datagrams: 0 });
    let environment = Environment { wire, time: Time::Manual(ps), entropy: [3; 32] };
    let server = SERVER_ADDRESS.parse().expect("an address");
    let mut client = Client::connect_over(server, environment, ClientConfig::default()).expect("a client");
    stream(&mut client, 20_000);
    assert_eq!(made_by(|| stream(&mut client, 300_000)), 0, "of 300,000 RPCs");
}
