//! The thread of `--metrics`: some connections at a time, none of which can keep the others
//! waiting.
//!
//! The thread waits only in one `poll` over all connections. Each connection has one request of
//! some kilobytes, one answer, and a deadline for each. When all places are taken, the address
//! prefix with most of them loses its oldest to a new connection. So a silent client cannot block
//! others.

use std::hash::{BuildHasher, RandomState};
use std::net::TcpListener;
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

use nebula_nic::places::{Place, Places, PlacesConfig, prefix};
use nebula_nic::{Span, Timestamp};
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::exchange::{Exchange, Step};
use super::pages::Pages;

/// Connections at a time.
const CONNECTIONS_MAX: u32 = 32;
/// The thread yields its core to those that serve RPCs.
const NICE: i32 = 10;

pub(super) fn run(listener: &TcpListener, stop: &OwnedFd, mut pages: Pages) {
    // Of this thread alone. If it fails, the priority stays.
    let _ = rustix::process::setpriority_process(None, NICE);
    let mut exchanges: Vec<Exchange> = Vec::new();
    let mut door = Door::new();
    loop {
        let Some((may_accept, ready)) = wait(listener, stop, &exchanges) else { return };
        let mut ready = ready.into_iter();
        let now = Instant::now();
        exchanges.retain_mut(|exchange| {
            let is_over = ready.next().unwrap_or(false) && exchange.go_on(&mut pages) == Step::Over;
            let stays = !is_over && exchange.until() > now;
            if !stays {
                door.places.leave(exchange.place());
            }
            stays
        });
        if may_accept {
            door.accept(listener, &mut exchanges);
        }
    }
}

/// Sleeps until something can be done. Returns whether a connection can be accepted, and which
/// exchanges can go on; `None` for the end.
fn wait(listener: &TcpListener, stop: &OwnedFd, exchanges: &[Exchange]) -> Option<(bool, Vec<bool>)> {
    let mut fds = vec![PollFd::new(stop, PollFlags::IN), PollFd::new(listener, PollFlags::IN)];
    fds.extend(exchanges.iter().map(|exchange| PollFd::new(exchange.stream(), exchange.interest())));
    let nearest = exchanges.iter().map(Exchange::until).min();
    let timeout = nearest.map(|until| timespec(until.saturating_duration_since(Instant::now())));
    match poll(&mut fds, timeout.as_ref()) {
        Ok(_) | Err(rustix::io::Errno::INTR) => {}
        Err(error) => {
            tracing::error!("--metrics ends: cannot wait for connections: {error}");
            return None;
        }
    }
    let is_ready = |fd: &PollFd<'_>| !fd.revents().is_empty();
    (!is_ready(&fds[0])).then(|| (is_ready(&fds[1]), fds[2..].iter().map(is_ready).collect()))
}

/// Rounded up, so that a deadline has passed once the wait for it is over.
fn timespec(time: Duration) -> Timespec {
    Timespec::try_from(time + Duration::from_millis(1)).unwrap_or_default()
}

/// Whom to let in.
struct Door {
    places: Places,
    hasher: RandomState,
    began: Instant,
}

impl Door {
    /// Nobody proves anything here: an answer is soon sent, and its place free again. Each exchange
    /// has its own deadlines.
    fn new() -> Self {
        let places = Places::new(PlacesConfig::of_handshakes(CONNECTIONS_MAX));
        Self { places, hasher: RandomState::new(), began: Instant::now() }
    }

    /// Accepts at most as many as fit, before the existing exchanges go on.
    fn accept(&mut self, listener: &TcpListener, exchanges: &mut Vec<Exchange>) {
        for _ in 0..CONNECTIONS_MAX {
            let Ok((stream, peer)) = listener.accept() else { return };
            let now = Timestamp::ZERO + Span::from(self.began.elapsed());
            let [source, ..] = self.hasher.hash_one(prefix(peer.ip())).to_le_bytes();
            let Some(Place { id, evicts }) = self.places.arrive(now, source) else { continue };
            exchanges.retain(|exchange| Some(exchange.place()) != evicts);
            match Exchange::begin(stream, id) {
                Ok(exchange) => exchanges.push(exchange),
                Err(_) => self.places.leave(id),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};
    use std::net::{SocketAddr, TcpStream};
    use std::sync::Arc;

    use nebula::{Reply, Server};
    use rustix::event::{EventfdFlags, eventfd};

    fn served(test: &str, check: impl FnOnce(SocketAddr)) {
        let name = format!("shm://metrics-{test}-{}", std::process::id());
        let echo = |request: &[u8], reply: &mut Reply<'_>| reply.write(request);
        let server = Server::bind(&name).inline(true).serve(echo).unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        listener.set_nonblocking(true).unwrap();
        let address = listener.local_addr().unwrap();
        let stop = Arc::new(eventfd(0, EventfdFlags::CLOEXEC).unwrap());
        let (pages, stopped) = (Pages::new(std::slice::from_ref(&server)), stop.clone());
        let thread = std::thread::spawn(move || run(&listener, &stopped, pages));
        // Until its first turn the server is starting.
        while ask(address, "GET /ready HTTP/1.1\r\n\r\n").starts_with("HTTP/1.1 503") {
            std::thread::yield_now();
        }
        check(address);
        rustix::io::write(&*stop, &1_u64.to_ne_bytes()).unwrap();
        thread.join().unwrap();
    }

    fn ask(address: SocketAddr, request: &str) -> String {
        let mut stream = TcpStream::connect(address).unwrap();
        stream.write_all(request.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    }

    #[test]
    fn each_path_is_answered_once_and_what_is_no_request_is_told_so() {
        served("paths", |address| {
            for (request, begins) in [
                ("GET /ready HTTP/1.1\r\n\r\n", "HTTP/1.1 200"),
                ("GET / HTTP/1.0\r\nHost: localhost:1\r\n\r\n", "HTTP/1.1 200"),
                ("HEAD /metrics HTTP/1.1\r\n\r\n", "HTTP/1.1 200"),
                ("GET /status.json?x=1 HTTP/1.1\r\n\r\n", "HTTP/1.1 200"),
                ("GET /servers.json HTTP/1.1\r\n\r\n", "HTTP/1.1 200"),
                ("GET /status.json?server=0 HTTP/1.1\r\n\r\n", "HTTP/1.1 200"),
                ("GET /status.json?server=1 HTTP/1.1\r\n\r\n", "HTTP/1.1 404"),
                ("GET /rpcs HTTP/1.1\r\n\r\n", "HTTP/1.1 200"),
                ("GET /rpcs.json HTTP/1.1\r\n\r\n", "HTTP/1.1 200"),
                ("GET /nowhere HTTP/1.1\r\n\r\n", "HTTP/1.1 404"),
                ("POST /metrics HTTP/1.1\r\nContent-Length: 1\r\n\r\nx", "HTTP/1.1 405"),
                ("hello\r\n\r\n", "HTTP/1.1 400"),
                ("GET /metrics HTTP/1.1\r\nHost: evil.example\r\n\r\n", "HTTP/1.1 421"),
                ("HEAD / HTTP/1.1\r\nHost: localhost\r\nhost: evil.example:1\r\n\r\n", "HTTP/1.1 421"),
            ] {
                let answer = ask(address, request);
                assert!(answer.starts_with(begins), "{request}: {answer}");
            }
            let head = ask(address, "HEAD /metrics HTTP/1.1\r\n\r\n");
            assert!(head.ends_with("\r\n\r\n"), "a HEAD has no body: {head}");
        });
    }

    #[test]
    fn a_request_that_does_not_end_is_refused_at_some_kilobytes() {
        served("long", |address| {
            let answer = ask(address, &format!("GET / HTTP/1.1\r\nX: {}", "a".repeat(20_000)));
            assert!(answer.starts_with("HTTP/1.1 431"), "{answer}");
            for (bytes, begins) in [(8192, "HTTP/1.1 200"), (8193, "HTTP/1.1 431"), (9000, "HTTP/1.1 431")] {
                let rest = "GET / HTTP/1.1\r\nX: \r\n\r\n".len();
                let answer = ask(address, &format!("GET / HTTP/1.1\r\nX: {}\r\n\r\n", "a".repeat(bytes - rest)));
                assert!(answer.starts_with(begins), "{bytes}: {answer}");
            }
        });
    }

    #[test]
    fn a_crowd_that_says_nothing_keeps_nobody_waiting() {
        served("crowd", |address| {
            let silent: Vec<_> = (0..3 * CONNECTIONS_MAX).map(|_| TcpStream::connect(address).unwrap()).collect();
            let mut slow = TcpStream::connect(address).unwrap();
            slow.write_all(b"GET /re").unwrap();
            assert!(ask(address, "GET /ready HTTP/1.1\r\n\r\n").starts_with("HTTP/1.1 200"));
            slow.write_all(b"ady HTTP/1.1\r\n\r\n").unwrap();
            let mut answer = String::new();
            slow.read_to_string(&mut answer).unwrap();
            assert!(answer.starts_with("HTTP/1.1 200"), "one that had begun to ask goes on: {answer}");
            drop(silent);
        });
    }

    #[test]
    fn half_a_request_has_its_time_and_no_more() {
        served("half", |address| {
            let mut half = TcpStream::connect(address).unwrap();
            half.write_all(b"GET /re").unwrap();
            let mut answer = String::new();
            // Ends without an answer, or the test never does.
            half.read_to_string(&mut answer).unwrap();
            assert_eq!(answer, "");
        });
    }

    #[test]
    fn a_request_in_single_bytes_is_answered() {
        served("bytes", |address| {
            let mut stream = TcpStream::connect(address).unwrap();
            stream.set_nodelay(true).unwrap();
            for byte in b"GET /ready HTTP/1.1\r\nHost: [::1]\r\n\r\n" {
                stream.write_all(&[*byte]).unwrap();
            }
            let mut answer = String::new();
            stream.read_to_string(&mut answer).unwrap();
            assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
        });
    }
}
