//! A server with 10,000 clients compared with one with 16: its memory, and its CPU time per RPC.
//!
//! Both get the same RPCs at the same times, in bursts of one RPC from each of 16 clients; only the
//! senders differ. A server is stopped while a burst is sent: otherwise it would wait, awake, for
//! senders whose sockets are cold, and that would count as its own time. The cost of stopping is
//! measured without RPCs and subtracted. The rest includes the delivery into the clients' sockets,
//! 16 warm ones or 10,000 cold ones. So a server of bare sockets is measured as well.

use crate::Failure;
use crate::child::{self, Server};
use crate::row::{Bound, against, plain};
use crate::watchdog::within;
use nebula::{Client, ClientConfig, IdlePolicy, Reply, ServerConfig, Span};
use nebula_sys::clock::Clock;
use std::net::{SocketAddr, UdpSocket};
use std::time::Duration;

const FEW: usize = 16;
const MANY: usize = 10_000;
/// Clients that send at a time.
const BURST: usize = 16;
/// Bursts that are counted; before them, every client has called once.
const BURSTS: usize = 4_000;
const WARM_UP: usize = MANY / BURST;
/// Between the beginnings of two bursts: more than a burst takes.
const INTERVAL_PS: u64 = 300_000_000;
/// Descriptors of the process in addition to one per client.
const OTHER_FILES: u64 = 200;
const ROUNDS: usize = 3;
/// For one round, which takes five seconds.
const LIMIT: Duration = Duration::from_secs(60);

pub fn run() -> Result<(), Failure> {
    child::raise_file_limit(MANY as u64 + OTHER_FILES)?;
    child::pin_client()?;
    let nebula = compare("Nebula", measure::<Client>)?;
    let bare = compare("bare sockets", measure::<UdpSocket>)?;
    let many = "server over UDP, its core's time an RPC with 10,000 clients";
    plain("server over UDP, resident memory with 16 clients", nebula.0.resident_bytes, "B");
    let baseline = ("with 16 clients", nebula.0.resident_bytes);
    let what = "server over UDP, resident memory with 10,000 clients";
    against(what, nebula.1.resident_bytes, "B", baseline, Some(Bound::AtMost(1.1)));
    plain("server over UDP, its core's time an RPC with 16 clients", nebula.0.core_ns, "ns");
    // Both include the kernel's work for the same datagrams, which grows too.
    let growth = bare.1.core_ns / bare.0.core_ns;
    let bound = Bound::AtMost(((growth + 0.05) * 1e3).round() / 1e3);
    against(many, nebula.1.core_ns, "ns", ("with 16 clients", nebula.0.core_ns), Some(bound));
    plain("bare sockets, the server's core's time an RPC with 16 clients", bare.0.core_ns, "ns");
    let what = "bare sockets, the server's core's time an RPC with 10,000 clients";
    against(what, bare.1.core_ns, "ns", ("with 16 clients", bare.0.core_ns), None);
    let own = (nebula.0.core_ns - bare.0.core_ns, nebula.1.core_ns - bare.1.core_ns);
    let what = "server over UDP, beyond bare sockets, an RPC with 10,000 clients";
    against(what, own.1, "ns", ("with 16 clients", own.0), None);
    Ok(())
}

/// The medians of some rounds with few clients, and with many.
fn compare(
    what: &'static str,
    measure: impl Fn(usize) -> Result<Cost, Failure> + Copy + Send + 'static,
) -> Result<(Cost, Cost), Failure> {
    let (mut few, mut many) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        few.push(within(LIMIT, what, || measure(FEW))?);
        many.push(within(LIMIT, what, || measure(MANY))?);
    }
    Ok((Cost::median(&few), Cost::median(&many)))
}

trait Caller: Sized {
    /// The argument that selects its server.
    const SERVER: &'static str;
    fn connect(server: SocketAddr) -> Result<Self, Failure>;
    fn send(&mut self) -> Result<(), Failure>;
    fn finish(&mut self) -> Result<(), Failure>;
}

impl Caller for Client {
    const SERVER: &'static str = "sleepy-echo";

    fn connect(server: SocketAddr) -> Result<Self, Failure> {
        Ok(Client::connect_with(&format!("udp://{server}"), ClientConfig::default())?)
    }

    fn send(&mut self) -> Result<(), Failure> {
        self.submit(&[7; 64])?;
        self.flush();
        Ok(())
    }

    fn finish(&mut self) -> Result<(), Failure> {
        while self.outstanding() > 0 {
            if let Some(done) = self.poll() {
                done.result?;
            }
        }
        Ok(())
    }
}

impl Caller for UdpSocket {
    const SERVER: &'static str = "sleepy-bare";

    fn connect(server: SocketAddr) -> Result<Self, Failure> {
        let socket = UdpSocket::bind("127.0.0.1:0")?;
        UdpSocket::connect(&socket, server)?;
        socket.set_nonblocking(true)?;
        Ok(socket)
    }

    fn send(&mut self) -> Result<(), Failure> {
        UdpSocket::send(self, &[7; 128])?;
        Ok(())
    }

    fn finish(&mut self) -> Result<(), Failure> {
        while self.recv(&mut [0; 256]).is_err() {}
        Ok(())
    }
}

#[derive(Clone, Copy)]
struct Cost {
    resident_bytes: f64,
    core_ns: f64,
}

impl Cost {
    fn median(costs: &[Self]) -> Self {
        let of = |figure: fn(&Self) -> f64| crate::measure::median(costs.iter().map(figure).collect());
        Self { resident_bytes: of(|cost| cost.resident_bytes), core_ns: of(|cost| cost.core_ns) }
    }
}

fn measure<C: Caller>(clients: usize) -> Result<Cost, Failure> {
    let address: SocketAddr = child::unused_address()?.to_string().parse()?;
    let server = Server::start(&["serve-udp", C::SERVER, &address.to_string()])?;
    let mut clients = (0..clients).map(|_| C::connect(address)).collect::<Result<Vec<_>, Failure>>()?;
    let mut next = 0;
    bursts(&mut clients, &mut next, (WARM_UP, BURST), None)?;
    let mut counted = |senders: usize| {
        let before = server.core_ns()?;
        bursts(&mut clients, &mut next, (BURSTS, senders), Some(&server))?;
        Ok::<f64, Failure>((server.core_ns()? - before) as f64)
    };
    let (stops, all) = (counted(0)?, counted(BURST)?);
    let core_ns = (all - stops) / (BURSTS * BURST) as f64;
    Ok(Cost { resident_bytes: server.resident_bytes()? as f64, core_ns })
}

/// `count` bursts of `senders` RPCs, from the clients in turn, from `next` on. `stopped` is stopped
/// during each.
fn bursts<C: Caller>(
    clients: &mut [C],
    next: &mut usize,
    (count, senders): (usize, usize),
    stopped: Option<&Server>,
) -> Result<(), Failure> {
    let clock = Clock::new();
    let start = clock.now_ps();
    for burst in 0..count as u64 {
        while clock.now_ps() - start < burst * INTERVAL_PS {}
        let senders = *next..*next + senders;
        let count = clients.len();
        if let Some(server) = stopped {
            server.stop()?;
        }
        for sender in senders.clone() {
            clients[sender % count].send()?;
        }
        if let Some(server) = stopped {
            server.go_on()?;
        }
        for sender in senders.clone() {
            clients[sender % count].finish()?;
        }
        *next = senders.end;
    }
    Ok(())
}

/// A server of bare sockets that sleeps when idle: requests that arrive together are answered
/// together.
pub fn serve_bare(address: &str) -> Result<(), Failure> {
    use nebula_sys::udp::UdpSocket;
    nebula_sys::affinity::pin_to(child::server_core())?;
    let mut socket = UdpSocket::bind(address.parse()?)?;
    child::ready()?;
    let mut answers = Vec::with_capacity(256);
    loop {
        socket.wait(None, None)?;
        while socket.recv(&mut |received, _| answers.push(received.from))? > 0 {
            for to in answers.drain(..) {
                socket.queue(to, None, &[7; 128], 128)?;
            }
            socket.flush()?;
        }
    }
}

/// The server: engine and worker on one core, which sleep when idle.
pub fn serve(address: &str) -> Result<(), Failure> {
    let config = ServerConfig::default().inline(true).idle(IdlePolicy::Block).pin([child::server_core()]);
    let config = config.slo(Span::from_ms(1));
    let server = nebula::Server::bind(&format!("udp://{address}")).config(config);
    let server = server.serve(|request: &[u8], reply: &mut Reply| reply.write(request))?;
    child::ready()?;
    server.join()?;
    Ok(())
}
