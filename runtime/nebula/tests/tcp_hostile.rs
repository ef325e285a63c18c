//! Connections that break the protocol: each is ended or bounded, is counted, and harms no other.

use crate::support::echo;
use crate::support::udp_raw::{RawClient, Welcome};
use nebula::{Client, ClientConfig, Endpoint, RunningServer, Server, ServerConfig, Status, Wait};
use nebula_testing::wait::{WAIT_MAX, Watchdog, wait_until};
use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, TcpStream};

const LONGEST: u32 = 65_507;

fn server(clients_max: u16) -> RunningServer {
    let config = ServerConfig::default().inline(true).clients_max(clients_max);
    Server::bind("tcp://127.0.0.1:0").config(config).serve(echo).expect("a server")
}

fn client(server: &RunningServer) -> Client {
    let config = ClientConfig::default().call_timeout(WAIT_MAX).wait(Wait::Block);
    Client::connect_with(server.endpoint(), config).expect("a client")
}

fn connected(server: &RunningServer) -> TcpStream {
    let &Endpoint::Tcp(address) = server.endpoint() else { panic!("a tcp endpoint") };
    let stream = TcpStream::connect(address).expect("a connection");
    stream.set_read_timeout(Some(WAIT_MAX)).expect("a socket");
    stream
}

fn framed(datagram: &[u8]) -> Vec<u8> {
    [&u32::try_from(datagram.len()).expect("short").to_le_bytes()[..], datagram].concat()
}

fn hello(echo: u64) -> Vec<u8> {
    framed(&RawClient::new(([127, 0, 0, 1], 9).into(), None).hello(echo))
}

fn frame_of(stream: &mut TcpStream) -> Vec<u8> {
    let mut length = [0; 4];
    stream.read_exact(&mut length).expect("a frame");
    let mut datagram = vec![0; u32::from_le_bytes(length) as usize];
    stream.read_exact(&mut datagram).expect("the rest of it");
    datagram
}

fn is_closed(stream: &mut TcpStream) -> bool {
    match stream.read(&mut [0; 64]) {
        Ok(read) => read == 0,
        Err(error) => error.kind() == ErrorKind::ConnectionReset,
    }
}

fn violations(server: &RunningServer, at_least: u64) -> Status {
    wait_until("violations", || Some(server.status().read()).filter(|status| status.violations >= at_least))
}

#[test]
fn a_hello_in_any_pieces_is_welcomed() {
    let _watchdog = Watchdog::new("hellos in pieces");
    let server = server(200);
    let hello = hello(9);
    // Sometimes the pieces arrive separately.
    for at in [1, 3, 4, 5, 40, hello.len() - 1].repeat(20) {
        let mut stream = connected(&server);
        stream.set_nodelay(true).expect("a socket");
        for piece in [&hello[..at], &hello[at..]] {
            stream.write_all(piece).expect("sent");
        }
        assert_eq!(Welcome::read(&frame_of(&mut stream), None).echo, 9);
    }
    assert_eq!(server.stop().violations, 0);
}

#[test]
fn what_is_no_frame_ends_its_connection_is_counted_and_disturbs_nobody() {
    let _watchdog = Watchdog::new("bad frames");
    let server = server(8);
    let mut other = client(&server);
    let forged = {
        let mut hello = hello(1);
        hello[80] ^= 1;
        hello
    };
    let kinds = [
        ("no length", vec![0; 4]),
        ("too long", (LONGEST + 1).to_le_bytes().to_vec()),
        ("another protocol's", b"GET / HTTP/1.1\r\n\r\n".to_vec()),
        ("too short", framed(&[2; 31])),
        ("no kind", framed(&[2, 99].repeat(40))),
        ("forged", forged),
    ];
    for (count, (what, bytes)) in (1..).zip(kinds) {
        let mut stream = connected(&server);
        // The server answers the hello before it.
        stream.write_all(&[hello(7), bytes].concat()).expect("sent");
        assert_eq!(Welcome::read(&frame_of(&mut stream), None).echo, 7, "{what}");
        assert!(is_closed(&mut stream), "{what}");
        violations(&server, count);
        assert_eq!(other.call(what.as_bytes()), Ok(what.as_bytes()));
    }
    server.stop();
}

#[test]
fn a_frame_that_is_cut_is_counted_and_an_end_between_two_is_not() {
    let _watchdog = Watchdog::new("cut frames");
    let server = server(8);
    for (kept, counted) in [(hello(1).len(), 0), (hello(1).len() - 1, 1), (2, 2)] {
        let mut stream = connected(&server);
        stream.write_all(&hello(1)[..kept]).expect("sent");
        stream.shutdown(Shutdown::Write).expect("a socket");
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).expect("the end");
        assert_eq!(violations(&server, counted).violations, counted);
    }
    server.stop();
}

#[test]
fn who_does_not_read_is_not_read_and_others_are_served() {
    let _watchdog = Watchdog::new("who does not read");
    let server = server(8);
    let mut other = client(&server);
    let mut greedy = connected(&server);
    greedy.set_nonblocking(true).expect("a socket");
    let hellos = hello(3).repeat(100);
    // Far more than the kernels and the server buffer.
    let (mut sent, most, mut stuck) = (0_usize, 256 << 20, 0);
    while stuck < 100 {
        // The next write continues the hello that the last one cut.
        match greedy.write(&hellos[sent % (hellos.len() / 100)..]) {
            Ok(bytes) => (sent, stuck) = (sent + bytes, 0),
            Err(error) if error.kind() == ErrorKind::WouldBlock => {
                stuck += 1;
                assert_eq!(other.call(b"still"), Ok(&b"still"[..]));
            }
            Err(error) => panic!("{error}"),
        }
        assert!(sent < most, "{sent} bytes were taken, and none of the answers");
    }
    // Once it reads, it gets whole frames and is served again.
    greedy.set_nonblocking(false).expect("a socket");
    for _ in 0..1000 {
        assert_eq!(Welcome::read(&frame_of(&mut greedy), None).echo, 3);
    }
    server.stop();
}

#[test]
fn those_beyond_the_bound_are_closed_until_one_leaves() {
    let _watchdog = Watchdog::new("too many connections");
    let server = server(2);
    let mut kept: Vec<_> = (0..2).map(|_| connected(&server)).collect();
    for (echo, stream) in (0..).zip(&mut kept) {
        stream.write_all(&hello(echo)).expect("sent");
        assert_eq!(Welcome::read(&frame_of(stream), None).echo, echo);
    }
    assert!(is_closed(&mut connected(&server)));
    kept.pop();
    assert_eq!(client(&server).call(b"room"), Ok(&b"room"[..]));
}
