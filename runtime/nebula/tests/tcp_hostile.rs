//! Connections that break the protocol: each is ended or bounded, is counted, and harms no other.

use crate::support::echo;
use crate::support::udp_raw::{Answer, Packet, RawClient, Welcome};
use nebula::net::{Environment, TcpServerWire, Time};
use nebula::{Client, ClientConfig, Endpoint, Key, RunningServer, Server, ServerConfig, Span, Status, Wait};
use nebula_testing::wait::{WAIT_MAX, Watchdog, wait_until};
use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

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

/// Does what a client does first, up to the answer to an RPC.
fn become_known(stream: &mut TcpStream, key: Option<[u8; 32]>) {
    let mut client = RawClient::new(stream.local_addr().expect("a socket"), key);
    stream.write_all(&framed(&client.hello(1))).expect("sent");
    let welcome = Welcome::read(&frame_of(stream), key);
    client.enter(&welcome);
    stream.write_all(&framed(&client.frame(&Packet::whole(1, welcome.time_ns, b"in").bytes()))).expect("sent");
    let answers = client.read(&frame_of(stream));
    assert!(matches!(&answers[..], [Answer::Reply { payload, .. }] if payload == b"in"), "{answers:?}");
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
    become_known(&mut greedy, None);
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
    let mut kept: Vec<_> = (0..2).map(|_| client(&server)).collect();
    for client in &mut kept {
        assert_eq!(client.call(b"in"), Ok(&b"in"[..]));
    }
    assert!(is_closed(&mut connected(&server)));
    kept.pop();
    assert_eq!(client(&server).call(b"room"), Ok(&b"room"[..]));
}

/// The server's clients at most, and the places for connections without a proof.
const CLIENTS_MAX: u32 = 4096;
const UNPROVEN_MAX: usize = 256;
const SECOND_PS: u64 = 1_000_000_000_000;

#[test]
fn silent_connections_without_the_key_lock_nobody_out_who_has_it() {
    let _watchdog = Watchdog::new("silent connections");
    let key = [5; 32];
    let clock = Arc::new(AtomicU64::new(SECOND_PS));
    let wire = TcpServerWire::bind("127.0.0.1:0".parse().expect("an address"), CLIENTS_MAX).expect("a socket");
    let environment = Environment { wire: Box::new(wire), time: Time::Manual(clock.clone()), entropy: [3; 32] };
    let config = ServerConfig::default().inline(true).keys(Key::new(key).into()).slo(Span::from_secs(1));
    let (server, mut workers) =
        Server::bind("udp://127.0.0.1:0").config(config).open_over(environment).expect("a server");
    let &Endpoint::Udp(address) = server.endpoint() else { panic!("a network's endpoint") };
    let mut turn = || {
        workers[0].turn(&echo);
    };
    // In batches, so that none waits in the kernel for its turn.
    let crowd = |turn: &mut dyn FnMut()| -> Vec<TcpStream> {
        let silent = (0..CLIENTS_MAX).map(|number| {
            let mut stream = TcpStream::connect(address).expect("a server listens");
            // A third of them sends half a frame, a third a hello without the key.
            match number % 3 {
                0 => stream.write_all(&[200, 0, 0, 0, 1]).expect("sent"),
                1 => stream.write_all(&hello(1)).expect("sent"),
                _ => {}
            }
            if number % 32 == 0 {
                turn();
            }
            stream
        });
        silent.collect()
    };
    let silent = crowd(&mut turn);
    let mut known = connect_in_turns(address, key, &mut turn, 100);
    // Once in, it stays, however many come.
    let more = crowd(&mut turn);
    known.call(&mut turn, 100);
    let open = |silent: &[TcpStream]| silent.iter().filter(|stream| !has_ended(stream)).count();
    wait_until("the ends of all but some", || {
        turn();
        (open(&silent) + open(&more) <= UNPROVEN_MAX).then_some(())
    });
    // Those have two seconds.
    clock.fetch_add(2 * SECOND_PS, Ordering::Relaxed);
    wait_until("the ends of all", || {
        turn();
        (open(&silent) + open(&more) == 0).then_some(())
    });
    known.call(&mut turn, 100);
    server.stop();
}

#[test]
fn a_client_that_only_connected_keeps_its_connection() {
    let _watchdog = Watchdog::new("an idle client");
    let clock = Arc::new(AtomicU64::new(SECOND_PS));
    let wire = TcpServerWire::bind("127.0.0.1:0".parse().expect("an address"), 8).expect("a socket");
    let environment = Environment { wire: Box::new(wire), time: Time::Manual(clock.clone()), entropy: [3; 32] };
    let config = ServerConfig::default().inline(true).slo(Span::from_secs(1));
    let (server, mut workers) =
        Server::bind("udp://127.0.0.1:0").config(config).open_over(environment).expect("a server");
    let &Endpoint::Udp(address) = server.endpoint() else { panic!("a network's endpoint") };
    let (go_on, waits) = std::sync::mpsc::channel();
    let connected = Arc::new(AtomicU64::new(0));
    let told = connected.clone();
    let client = std::thread::spawn(move || {
        let config = ClientConfig::default().call_timeout(WAIT_MAX).wait(Wait::Block);
        let mut client = Client::connect_with(&format!("tcp://{address}"), config).expect("a client");
        told.store(1, Ordering::Release);
        waits.recv().expect("a word");
        assert_eq!(client.call(b"later"), Ok(&b"later"[..]));
    });
    let mut turn_until = |is_done: &dyn Fn() -> bool| {
        wait_until("the client", || {
            workers[0].turn(&echo);
            is_done().then_some(())
        });
        for _ in 0..100 {
            workers[0].turn(&echo);
        }
    };
    turn_until(&|| connected.load(Ordering::Acquire) > 0);
    clock.fetch_add(10 * SECOND_PS, Ordering::Relaxed);
    turn_until(&|| true);
    go_on.send(()).expect("it waits");
    turn_until(&|| client.is_finished());
    client.join().expect("an answer");
    // Without a key it would be another client on another connection.
    assert_eq!(server.status().read().clients, 1);
    server.stop();
}

fn has_ended(stream: &TcpStream) -> bool {
    stream.set_nonblocking(true).expect("a socket");
    let mut stream = stream;
    loop {
        match stream.read(&mut [0; 256]) {
            Ok(0) => return true,
            Ok(_) => {}
            Err(error) => return error.kind() != ErrorKind::WouldBlock,
        }
    }
}

/// A client of a server that is turned by hand.
struct Turned {
    stream: TcpStream,
    raw: RawClient,
    now_ns: u64,
    rpcs: u32,
}

fn connect_in_turns(address: SocketAddr, key: [u8; 32], turn: &mut dyn FnMut(), most: u32) -> Turned {
    let stream = TcpStream::connect(address).expect("a server listens");
    stream.set_nodelay(true).expect("a socket");
    stream.set_nonblocking(true).expect("a socket");
    let raw = RawClient::new(stream.local_addr().expect("a socket"), Some(key));
    let mut client = Turned { stream, raw, now_ns: 0, rpcs: 0 };
    let hello = client.raw.hello(1);
    let welcome = Welcome::read(&client.ask(&hello, turn, most), Some(key));
    client.raw.enter(&welcome);
    client.now_ns = welcome.time_ns;
    client.call(turn, most);
    client
}

impl Turned {
    /// The answer to a datagram, which comes within `most` turns.
    fn ask(&mut self, datagram: &[u8], turn: &mut dyn FnMut(), most: u32) -> Vec<u8> {
        self.stream.write_all(&framed(datagram)).expect("sent");
        let (mut answer, mut room) = (Vec::new(), [0; 2048]);
        for _ in 0..most {
            turn();
            match self.stream.read(&mut room) {
                Ok(0) => panic!("closed"),
                Ok(bytes) => answer.extend_from_slice(&room[..bytes]),
                Err(error) => assert_eq!(error.kind(), ErrorKind::WouldBlock),
            }
            if answer.len() >= 4 && answer.len() == 4 + usize::from(answer[0]) + 256 * usize::from(answer[1]) {
                return answer.split_off(4);
            }
        }
        panic!("no answer within {most} turns");
    }

    fn call(&mut self, turn: &mut dyn FnMut(), most: u32) {
        self.rpcs += 1;
        let frame = self.raw.frame(&Packet::whole(self.rpcs, self.now_ns, b"in").bytes());
        let answer = self.ask(&frame, turn, most);
        let answers = self.raw.read(&answer);
        assert!(matches!(&answers[..], [Answer::Reply { payload, .. }] if payload == b"in"), "{answers:?}");
    }
}
