//! Foreign protocols over TCP and datagrams: overload by a clock moved by hand, several engines at
//! one address, and draining.
//!
//! The protocol consists of lines, each answered by one line.

use crate::support::log_file::LogFile;
use crate::support::unhurried;
use nebula::net::Time;
use nebula::{
    Endpoint, Fault, Frame, Framing, IdlePolicy, NackReason, Reply, RunningServer, Server, ServerConfig, Span,
};
use nebula_nic::{ReplayError, replay_text};
use nebula_testing::wait::{WAIT_MAX, Watchdog, wait_until};
use std::collections::{HashSet, VecDeque};
use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

const BUSY: &str = "busy";
const LONG: Duration = WAIT_MAX;
/// A worker's time for an RPC, and the SLO.
const SERVICE_NS: u64 = 2_000;
const SLO_NS: u64 = 200_000;
/// A turn's time besides requests and refusals: the system calls of its connections.
const CALLS_NS: u64 = 20_000;
const CONNECTIONS: usize = 8;
/// Virtual run time; the warm-up is not counted.
const RUN_NS: u64 = 40_000_000;
const WARM_UP_NS: u64 = 10_000_000;
const START_NS: u64 = 1_000_000_000;
const HEADER_BYTES: usize = 4;
/// The beginning of a line that is at least so long.
const LONG_LINE: &[u8] = b"#";
const LONG_LINE_BYTES: usize = 1 << 20;

/// The protocol, and the clock that each refusal moves.
#[derive(Debug, Default)]
struct Lines {
    clock: Arc<AtomicU64>,
    refusal_ns: u64,
}

impl Framing for Lines {
    fn next(&self, bytes: &[u8]) -> Frame {
        if bytes.starts_with(LONG_LINE) && bytes.len() < LONG_LINE_BYTES {
            return Frame::Incomplete { bytes_min: LONG_LINE_BYTES };
        }
        match bytes.iter().position(|&byte| byte == b'\n') {
            Some(at) => Frame::Request { bytes: at + 1, key_hash: 0, discard: 0 },
            None => Frame::Incomplete { bytes_min: 0 },
        }
    }

    fn refused(&self, _: &[u8], _: NackReason) -> &'static [u8] {
        self.clock.fetch_add(self.refusal_ns * 1000, Relaxed);
        b"busy\n"
    }

    fn failed(&self, _: Fault) -> &'static [u8] {
        b"failed\n"
    }

    fn crowded(&self) -> &'static [u8] {
        b"crowded\n"
    }

    fn datagram_header_bytes(&self) -> usize {
        HEADER_BYTES
    }

    fn answer_header(&self, asked: &[u8], _: u16, _: u16, header: &mut [u8]) -> Option<()> {
        header.copy_from_slice(asked);
        Some(())
    }
}

fn config() -> ServerConfig {
    ServerConfig::default()
        .inline(false)
        .slo(Span::from_ns(SLO_NS))
        .service_mean(Span::from_ns(SERVICE_NS))
        .rpc_bytes_max(256)
}

fn address(server: &RunningServer) -> SocketAddr {
    match *server.endpoint() {
        Endpoint::Tcp(address) | Endpoint::Udp(address) => address,
        _ => unreachable!("a network's endpoint"),
    }
}

fn here(scheme: &str) -> String {
    format!("{scheme}://127.0.0.1:0")
}

/// A connection of the overload, and when it asked, in nanoseconds of the virtual clock.
struct Asker {
    stream: TcpStream,
    asked: VecDeque<u64>,
    input: Vec<u8>,
}

/// The ends of the counted requests.
#[derive(Debug, Default)]
struct Seen {
    served_ns: Vec<u64>,
    refused_ns: Vec<u64>,
}

impl Asker {
    fn connect(to: SocketAddr) -> Self {
        let stream = TcpStream::connect(to).expect("a server listens");
        stream.set_nodelay(true).expect("a socket");
        stream.set_nonblocking(true).expect("a socket");
        Self { stream, asked: VecDeque::new(), input: Vec::new() }
    }

    fn take(&mut self, now_ns: u64, seen: &mut Seen) {
        let mut room = [0; 4096];
        match self.stream.read(&mut room) {
            Ok(bytes) => self.input.extend_from_slice(&room[..bytes]),
            Err(error) if error.kind() == ErrorKind::WouldBlock => return,
            Err(error) => panic!("{error}"),
        }
        while let Some(end) = self.input.iter().position(|&byte| byte == b'\n') {
            let line: Vec<u8> = self.input.drain(..=end).collect();
            let line = std::str::from_utf8(&line[..end]).expect("text");
            let asked_ns = self.asked.pop_front().expect("an answer to a request");
            if asked_ns < START_NS + WARM_UP_NS {
                continue;
            }
            match line {
                "done" => seen.served_ns.push(now_ns - asked_ns),
                BUSY => seen.refused_ns.push(now_ns - asked_ns),
                _ => panic!("{line:?} is no answer"),
            }
        }
    }
}

/// Offers a request every `gap_ns` over all connections in turn; a refusal takes `refusal_ns`.
fn offer(gap_ns: u64, refusal_ns: u64) -> Seen {
    let mut all = Seen::default();
    for one in offer_by(gap_ns, refusal_ns, |number| number % CONNECTIONS) {
        all.served_ns.extend(one.served_ns);
        all.refused_ns.extend(one.refused_ns);
    }
    all
}

/// Offers a request every `gap_ns`, each on time and on the connection that `place` gives for its
/// number. Returns the ends by connection.
fn offer_by(gap_ns: u64, refusal_ns: u64, place: impl Fn(usize) -> usize) -> Vec<Seen> {
    offer_to(config(), gap_ns, refusal_ns, place)
}

fn offer_to(config: ServerConfig, gap_ns: u64, refusal_ns: u64, place: impl Fn(usize) -> usize) -> Vec<Seen> {
    let _watchdog = Watchdog::new("overload of streams");
    let clock = Arc::new(AtomicU64::new(START_NS * 1000));
    let config = config.inline(true).idle(IdlePolicy::Spin);
    let server = Server::bind(&here("tcp")).config(config).framing(Lines { clock: clock.clone(), refusal_ns });
    let (server, mut workers) = server.open_by(&Time::Manual(clock.clone())).expect("a server");
    let worker = &mut workers[0];
    let mut askers: Vec<_> = (0..CONNECTIONS).map(|_| Asker::connect(address(&server))).collect();
    let work = clock.clone();
    let service = move |_: &[u8], reply: &mut Reply<'_>| {
        work.fetch_add(SERVICE_NS * 1000, Relaxed);
        reply.write(b"done\n");
    };
    let mut seen: Vec<_> = askers.iter().map(|_| Seen::default()).collect();
    let (mut next_ns, mut number) = (START_NS, 0);
    loop {
        let now_ns = clock.load(Relaxed) / 1000;
        let mut lines = vec![Vec::new(); askers.len()];
        while next_ns < now_ns && now_ns < START_NS + RUN_NS {
            let at = place(number);
            askers[at].asked.push_back(next_ns);
            lines[at].extend_from_slice(b"ask\n");
            (next_ns, number) = (next_ns + gap_ns, number + 1);
        }
        for (asker, lines) in askers.iter_mut().zip(lines) {
            asker.stream.write_all(&lines).expect("room for a few lines");
        }
        worker.turn(&service);
        let now_ns = (clock.fetch_add(CALLS_NS * 1000, Relaxed)) / 1000 + CALLS_NS;
        askers.iter_mut().zip(&mut seen).for_each(|(asker, seen)| asker.take(now_ns, seen));
        if now_ns >= START_NS + RUN_NS && askers.iter().all(|asker| asker.asked.is_empty()) {
            server.stop();
            return seen;
        }
    }
}

fn p99(times: &mut [u64]) -> u64 {
    times.sort_unstable();
    times[(times.len() - 1) * 99 / 100]
}

#[test]
fn over_a_stream_what_is_beyond_the_capacity_is_refused_and_what_is_accepted_keeps_the_slo() {
    const REFUSAL_NS: u64 = 200;
    let possible = (RUN_NS - WARM_UP_NS) / SERVICE_NS;
    // Half of what the server can serve, then twice and four times as much.
    for gap_ns in [2 * SERVICE_NS, SERVICE_NS / 2, SERVICE_NS / 4] {
        let mut seen = offer(gap_ns, REFUSAL_NS);
        let (served, refused) = (seen.served_ns.len() as u64, seen.refused_ns.len() as u64);
        let offered = possible * SERVICE_NS / gap_ns;
        assert!((served + refused).abs_diff(offered) <= offered / 50, "{served} + {refused} of {offered}");
        let late = p99(&mut seen.served_ns);
        assert!(late <= SLO_NS, "with one each {gap_ns} ns the p99 is {late} ns");
        if gap_ns > SERVICE_NS {
            assert_eq!(refused, 0);
        } else {
            // The rest goes to refusals and to system calls of some 80 us a turn.
            let spent_ns = served * SERVICE_NS + refused * REFUSAL_NS;
            assert!(spent_ns >= (RUN_NS - WARM_UP_NS) * 7 / 10, "{spent_ns} ns, one each {gap_ns} ns");
            let told = p99(&mut seen.refused_ns);
            assert!(told <= SLO_NS, "with one each {gap_ns} ns a refusal takes {told} ns");
        }
    }
}

/// Asks once on each of four connections, many times over. Returns the answers other than "done".
fn one_each(change: impl FnOnce(ServerConfig) -> ServerConfig) -> u64 {
    // An RPC takes ten times the SLO, and waits in the queue: the worker may have to wait for it.
    let config = config().slo(Span::from_us(100)).service_mean(Span::from_ms(1)).inline(true).later_max(1);
    let server = Server::bind(&here("tcp")).config(change(config)).framing(Lines::default());
    let (server, mut workers) = server.open().expect("a server");
    let mut askers: Vec<_> = (0..4).map(|_| Asker::connect(address(&server))).collect();
    let mut seen = Seen::default();
    for _ in 0..64 {
        for asker in &mut askers {
            asker.asked.push_back(START_NS + WARM_UP_NS);
            asker.stream.write_all(b"ask\n").expect("room for a line");
        }
        wait_until("the answers", || {
            workers[0].turn(&|_: &[u8], reply: &mut Reply<'_>| reply.write(b"done\n"));
            askers.iter_mut().for_each(|asker| asker.take(u64::MAX, &mut seen));
            askers.iter().all(|asker| asker.asked.is_empty()).then_some(())
        });
    }
    server.stop();
    seen.refused_ns.len() as u64
}

#[test]
fn over_a_stream_one_request_of_each_connection_waits_however_slow_the_service() {
    let log = LogFile::new("streams-one-each");
    assert_eq!(one_each(|config| config.decision_log(&log.0)), 0);
    replay_text(&log.text()).expect("the same decisions");
}

#[test]
fn over_a_stream_of_more_than_can_be_refused_a_third_of_it_is_served() {
    // Four million requests a second; a server that only refuses manages two and a half.
    let seen = offer(250, 400);
    let (served, refused) = (seen.served_ns.len() as u64, seen.refused_ns.len() as u64);
    // Without a fixed part of each turn for service it is a quarter, which is the queue's share.
    assert!(3 * served >= served + refused, "{served} served and {refused} refused");
}

#[test]
fn the_lengths_of_the_turns_over_a_stream_replay_and_a_change_of_one_is_found() {
    let file = LogFile::new("streams-turns");
    offer_to(config().decision_log(&file.0), 250, 400, |number| number % CONNECTIONS);
    let log = file.text();
    let lines = replay_text(&log).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(lines, log.lines().count() - 1, "every line but the configuration's");
    for step in ["long-turn end elapsed_ps=", "pace serving ", "pace ingress ", "-> bound="] {
        assert!(log.contains(step), "no {step:?} in the log");
    }
    let changed = replay_text(&log.replacen("-> serves_ps=", "-> serves_ps=1", 1));
    assert!(matches!(changed, Err(ReplayError::Difference(_))), "{changed:?}");
}

#[test]
fn over_a_stream_who_asks_for_little_has_more_of_it_served_than_who_asks_for_most() {
    // Four times what can be served; seven eighths come on the first connection.
    let place = |number: usize| if number % 8 < 7 { 0 } else { 1 + number / 8 % (CONNECTIONS - 1) };
    let seen = offer_by(SERVICE_NS / 4, 200, place);
    let served = |of: &[Seen]| {
        let (served, refused) = of
            .iter()
            .fold((0, 0), |(served, refused), one| (served + one.served_ns.len(), refused + one.refused_ns.len()));
        served as f64 / (served + refused) as f64
    };
    let (most, little) = (served(&seen[..1]), served(&seen[1..]));
    assert!(little > 3.0 * most, "of those who ask for little {little} is served, of the other {most}");
}

/// A server for `clients_max` clients, turned by hand.
fn turned(clients_max: u16, clock: &Arc<AtomicU64>) -> (RunningServer, impl FnMut() + use<>) {
    let config = unhurried(config()).inline(true).idle(IdlePolicy::Spin).clients_max(clients_max);
    let server = Server::bind(&here("tcp")).config(config).framing(Lines::default());
    let (server, mut workers) = server.open_by(&Time::Manual(clock.clone())).expect("a server");
    let turn = move || {
        workers[0].turn(&|_: &[u8], reply: &mut Reply<'_>| reply.write(b"done\n"));
    };
    (server, turn)
}

/// Asks, and returns the answer after at most some turns.
fn ask_in_turns(stream: &mut TcpStream, turn: &mut impl FnMut()) -> String {
    stream.set_nonblocking(true).expect("a socket");
    let _ = stream.write(b"ask\n");
    let (mut answer, mut room) = (String::new(), [0; 64]);
    wait_until("an answer", || {
        turn();
        match stream.read(&mut room) {
            Ok(0) => return Some(()),
            Ok(bytes) => answer.push_str(std::str::from_utf8(&room[..bytes]).expect("text")),
            Err(error) => assert_eq!(error.kind(), ErrorKind::WouldBlock),
        }
        answer.ends_with('\n').then_some(())
    });
    answer
}

#[test]
fn over_a_stream_only_who_has_asked_keeps_its_place() {
    const CLIENTS_MAX: u16 = 8;
    let _watchdog = Watchdog::new("silent connections of a stream");
    let (server, mut turn) = turned(CLIENTS_MAX, &Arc::new(AtomicU64::new(START_NS * 1000)));
    let crowd = |turn: &mut dyn FnMut()| -> Vec<TcpStream> {
        let silent = (0..100).map(|number| {
            let mut stream = TcpStream::connect(address(&server)).expect("a server listens");
            // Half of them sends half a request.
            (number % 2 == 0).then(|| stream.write_all(b"as").expect("sent"));
            turn();
            stream
        });
        silent.collect()
    };
    let mut crowds = vec![crowd(&mut turn)];
    let mut askers = Vec::new();
    for _ in 0..CLIENTS_MAX {
        let mut asker = TcpStream::connect(address(&server)).expect("a server listens");
        assert_eq!(ask_in_turns(&mut asker, &mut turn), "done\n");
        askers.push(asker);
        crowds.push(crowd(&mut turn));
    }
    for asker in &mut askers {
        assert_eq!(ask_in_turns(asker, &mut turn), "done\n");
    }
    let mut beyond = TcpStream::connect(address(&server)).expect("a server listens");
    assert_eq!(ask_in_turns(&mut beyond, &mut turn), "crowded\n");
    server.stop();
}

#[test]
fn over_a_stream_parts_of_requests_that_fill_the_room_are_given_up_after_two_seconds() {
    const SECOND_PS: u64 = 1_000_000_000_000;
    /// Of less than a MiB each, so that half of the room of 64 MiB is exceeded by two.
    const HALVES: usize = 34;
    let _watchdog = Watchdog::new("parts of requests");
    let clock = Arc::new(AtomicU64::new(START_NS * 1000));
    let (server, mut turn) = turned(64, &clock);
    let part = [LONG_LINE, &[b'x'; LONG_LINE_BYTES - 2]].concat();
    let mut halves: Vec<_> = (0..HALVES).map(|_| Asker::connect(address(&server)).stream).collect();
    for stream in &mut halves {
        let mut sent = 0;
        wait_until("all sent", || {
            turn();
            sent += stream.write(&part[sent..]).unwrap_or(0);
            (sent == part.len()).then_some(())
        });
    }
    (0..1000).for_each(|_| turn());
    let open = |halves: &mut Vec<TcpStream>| {
        let is_open = |mut stream: &TcpStream| matches!(stream.read(&mut [0; 1]), Err(error) if error.kind() == ErrorKind::WouldBlock);
        halves.iter().filter(|stream| is_open(stream)).count()
    };
    clock.fetch_add(SECOND_PS, Relaxed);
    (0..1000).for_each(|_| turn());
    assert_eq!(open(&mut halves), HALVES, "they may go on");
    clock.fetch_add(SECOND_PS, Relaxed);
    wait_until("the ends of two", || {
        turn();
        (open(&mut halves) == HALVES - 2).then_some(())
    });
    (0..1000).for_each(|_| turn());
    assert_eq!(open(&mut halves), HALVES - 2, "there is room");
    server.stop();
}

/// Answers with the serving thread.
fn whose(_: &[u8], reply: &mut Reply<'_>) {
    reply.write(format!("{:?}\n", std::thread::current().id()).as_bytes());
}

#[test]
fn engines_at_one_address_divide_connections_and_each_has_one() {
    let config = unhurried(config()).flows(3).idle(IdlePolicy::Block);
    let server = Server::bind(&here("tcp")).config(config).framing(Lines::default());
    let server = server.serve(whose).expect("a server");
    let mut threads = HashSet::new();
    let connections: Vec<_> = (0..48)
        .map(|_| {
            let mut stream = TcpStream::connect(address(&server)).expect("a server listens");
            stream.set_read_timeout(Some(WAIT_MAX)).expect("a socket");
            let mut answers = BufReader::new(stream.try_clone().expect("a socket")).lines();
            let mut own = HashSet::new();
            for _ in 0..4 {
                stream.write_all(b"a\nb\nc\n").expect("sent");
                own.extend((0..3).map(|_| answers.next().expect("an answer").expect("a line")));
            }
            assert_eq!(own.len(), 1, "a connection is one engine's");
            threads.extend(own);
            stream
        })
        .collect();
    // The kernel hashes: all 48 on one engine is as likely as 47 rolls of one number with a
    // three-sided die.
    assert!((2..=3).contains(&threads.len()), "{threads:?}");
    let status = wait_until("48 clients", || Some(server.status().read()).filter(|status| status.clients == 48));
    assert_eq!((status.workers, status.violations), (3, 0));
    drop(connections);
    wait_until("all freed", || (server.status().read().freed == 48 * 12).then_some(()));
    server.stop();
}

#[test]
fn engines_at_one_address_divide_the_senders_of_datagrams() {
    let server = Server::bind(&here("udp")).config(config().flows(2).idle(IdlePolicy::Block)).framing(Lines::default());
    let server = server.serve(whose).expect("a server");
    let mut threads = HashSet::new();
    for _ in 0..48 {
        let socket = UdpSocket::bind("127.0.0.1:0").expect("a socket");
        socket.connect(address(&server)).expect("an address");
        socket.set_read_timeout(Some(WAIT_MAX)).expect("a socket");
        let mut own = HashSet::new();
        for number in 0..4_u32 {
            socket.send(&[&number.to_be_bytes()[..], b"ask\n"].concat()).expect("sent");
            let mut answer = [0; 256];
            let bytes = socket.recv(&mut answer).expect("an answer");
            assert_eq!(answer[..HEADER_BYTES], number.to_be_bytes());
            own.insert(answer[HEADER_BYTES..bytes].to_vec());
        }
        assert_eq!(own.len(), 1, "a sender is one engine's");
        threads.extend(own);
    }
    assert_eq!(threads.len(), 2, "as unlikely as 48 heads in a row");
    wait_until("all freed", || (server.status().read().freed == 48 * 4).then_some(()));
    server.stop();
}

#[test]
fn an_address_of_several_engines_is_taken_for_everybody_else() {
    for scheme in ["tcp", "udp"] {
        let open = |at: &str, engines| {
            let server = Server::bind(at).config(config().flows(engines)).framing(Lines::default());
            server.open()
        };
        let (first, _workers) = open(&here(scheme), 2).expect("a server");
        let at = format!("{scheme}://{}", address(&first));
        for engines in [1, 2] {
            assert!(matches!(open(&at, engines).map(drop), Err(nebula::ServeError::Taken { .. })), "{at}");
        }
    }
}

/// Asks until the server is gone; the requests asked, served and refused. A connection that ends
/// loses its unread requests.
fn ask_until_gone(to: SocketAddr, served_yet: &AtomicU64) -> (u64, u64, u64) {
    let mut stream = TcpStream::connect(to).expect("a server listens");
    stream.set_read_timeout(Some(WAIT_MAX)).expect("a socket");
    let mut answers = BufReader::new(stream.try_clone().expect("a socket"));
    let (mut asked, mut served, mut refused) = (0, 0, 0);
    loop {
        if stream.write_all(b"one\ntwo\n").is_err() {
            return (asked, served, refused);
        }
        asked += 2;
        for _ in 0..2 {
            let mut line = String::new();
            match answers.read_line(&mut line) {
                Ok(1..) if line == "busy\n" => refused += 1,
                Ok(1..) => {
                    served += 1;
                    served_yet.fetch_add(1, Relaxed);
                }
                _ => return (asked, served, refused),
            }
        }
    }
}

#[test]
fn draining_answers_what_connections_have_asked_and_refuses_the_rest() {
    let _watchdog = Watchdog::new("draining streams");
    for flows in [1, 2] {
        let config = unhurried(config()).flows(flows).idle(IdlePolicy::Block);
        let executed = Arc::new(AtomicU64::new(0));
        let count = executed.clone();
        let service = move |request: &[u8], reply: &mut Reply<'_>| {
            count.fetch_add(1, Relaxed);
            reply.write(request);
        };
        let server =
            Server::bind(&here("tcp")).config(config).framing(Lines::default()).serve(service).expect("a server");
        let (to, served_yet) = (address(&server), Arc::new(AtomicU64::new(0)));
        let askers: Vec<_> = (0..4)
            .map(|_| {
                let served_yet = served_yet.clone();
                std::thread::spawn(move || ask_until_gone(to, &served_yet))
            })
            .collect();
        wait_until("answers", || (served_yet.load(Relaxed) > 100).then_some(()));
        let mut late = TcpStream::connect(to).expect("a server");
        let came = |server: &RunningServer| server.status().read().clients;
        wait_until("it to be let in", || (came(&server) == 5).then_some(()));
        assert!(server.drain(LONG), "{:?}", server.status().read());
        let at_drain = executed.load(Relaxed);
        wait_until("nobody to be let in", || TcpStream::connect(to).is_err().then_some(()));
        // A connected client that asks now is refused at once.
        late.set_read_timeout(Some(WAIT_MAX)).expect("a socket");
        late.write_all(b"late\n").expect("sent");
        let mut answer = String::new();
        BufReader::new(&late).read_line(&mut answer).expect("an answer");
        assert_eq!(answer, "busy\n");
        server.stop();
        let ends: Vec<_> = askers.into_iter().map(|asker| asker.join().expect("asked")).collect();
        let served: u64 = ends.iter().map(|end| end.1).sum();
        // Every executed request was answered before the drain ended; all others were refused,
        // except for the last two of each client.
        assert_eq!((executed.load(Relaxed), served), (at_drain, at_drain), "{ends:?}");
        assert!(ends.iter().all(|&(asked, served, refused)| asked - served - refused <= 2), "{ends:?}");
    }
}
