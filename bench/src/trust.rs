//! Overload by clients that do not back off: the server's remaining rate, and the service of an
//! honest client.
//!
//! The server has a core, or half of one; all clients share the other. The peak is the best of some
//! closed-loop windows. Then some clients send a multiple of it by the clock and ignore every NACK,
//! while an honest one sends 5,000 RPCs a second.
//!
//! Then [processes] overload servers over both transports.
//!
//! At such rates the kernel takes part of the server's core in any case, so a server that only
//! receives is measured too.

mod asker;
mod flood;
pub mod processes;

use crate::Failure;
use crate::child::{self, Server};
use crate::row::{Bound, against, plain};
use crate::watchdog::within;
use asker::{Asked, Asker, GAPS, quantile_ns, said_gaps};
use flood::{Flood, Offer, Tally};
use nebula::{IdlePolicy, Reply, RunningServer, ServerConfig, Span};
use nebula_sys::clock::Clock;
use nebula_workload::Tails;
use std::net::SocketAddr;
use std::sync::OnceLock;
use std::time::Duration;

const HONEST_RPS: f64 = 5_000.0;
const SLO: Span = Span::from_us(100);
const HONEST_SLOTS: u32 = 256;
/// Outstanding RPCs while the peak is measured: with too few the server waits, and with more than
/// the SLO allows some are refused.
const WINDOWS: [u64; 4] = [64, 128, 256, 512];
/// Of a round, and of its uncounted beginning.
const ROUND_PS: u64 = 1_500_000_000_000;
const WARM_UP_PS: u64 = 300_000_000_000;
const LIMIT: Duration = Duration::from_secs(360);

/// With words, measures only the rounds of `CLIENTS` at `TIMES` the peak, on a `whole` or a `half`
/// core.
pub fn run(words: &[&str]) -> Result<(), Failure> {
    child::pin_client()?;
    let words: Vec<String> = words.iter().map(|&word| word.to_owned()).collect();
    let soaks =
        Duration::from_secs(if words.first().is_some_and(|word| word == "soak") { SOAK_SECONDS_MAX } else { 0 });
    within(LIMIT + soaks, "trust", move || match &words[..] {
        [] => run_all(),
        [processes] if processes == "processes" => processes::run_all(),
        [soak, seconds, times] if soak == "soak" => self::soak(seconds.parse()?, times.parse()?, 1),
        [soak, seconds, times, clients] if soak == "soak" => {
            self::soak(seconds.parse()?, times.parse()?, clients.parse()?)
        }
        [core, clients, times] => {
            let (clients, times) = (clients.parse()?, times.parse()?);
            round(core, clients, times, peak(clients)?)
        }
        _ => Err("usage: trust [whole|half CLIENTS TIMES | processes | soak SECONDS TIMES [CLIENTS]]".into()),
    })
}

fn run_all() -> Result<(), Failure> {
    for clients in [1, 8] {
        let peak = peak(clients)?;
        for times in [2.0, 4.0, 10.0] {
            round("whole", clients, times, peak)?;
        }
        for times in [0.3, 1.0, 4.0] {
            round("half", clients, times, peak)?;
        }
    }
    processes::run_all()
}

const SOAK_SECONDS_MAX: u64 = 3600;
/// Between two looks at the server's resources.
const LOOK_EVERY: u64 = 5;

/// The server's resources under `times` its peak, after some seconds and in the end.
fn soak(seconds: u64, times: f64, clients: usize) -> Result<(), Failure> {
    let offer = Offer::Rate(times * peak(clients)?);
    let address = child::unused_address()?;
    let server = Server::start(&["serve-trust", "whole", &address.to_string()])?;
    let mut flood = Flood::connect(address, clients)?;
    let (clock, mut looks) = (Clock::new(), Vec::new());
    let start = clock.now_ps();
    while looks.len() as u64 <= seconds.min(SOAK_SECONDS_MAX) / LOOK_EVERY {
        flood.turn(offer)?;
        if (clock.now_ps() - start) / 1_000_000_000_000 >= LOOK_EVERY * (looks.len() as u64 + 1) {
            looks.push(server.holds()?);
        }
    }
    let elapsed = (clock.now_ps() - start) as f64 / 1e12;
    let what = format!("soak of {elapsed:.0} s at {times} x the peak");
    plain(&format!("{what}: served"), flood.tally.replied as f64 / elapsed / 1e6, "M RPC/s");
    plain(&format!("{what}: refused by a NACK"), flood.tally.nacked as f64 / elapsed / 1e6, "M RPC/s");
    for (at, (name, unit)) in [("memory", "B"), ("files", "files"), ("threads", "threads")].into_iter().enumerate() {
        let most = looks.iter().map(|held| held[at]).max().unwrap_or(0);
        let first = ("after 5 s", looks[0][at] as f64);
        against(&format!("{what}: {name}, at most"), most as f64, unit, first, Some(Bound::AtMost(1.01)));
    }
    Ok(())
}

fn peak(clients: usize) -> Result<f64, Failure> {
    let mut peak_rps: f64 = 0.0;
    for window in WINDOWS {
        let served_rps = trial("whole", clients, Offer::Window(window))?.served_rps();
        let what = format!("64 B echo over UDP, {clients} clients with {window} outstanding together");
        plain(&what, served_rps / 1e6, "M RPC/s");
        peak_rps = peak_rps.max(served_rps);
    }
    Ok(peak_rps)
}

fn round(core: &str, clients: usize, times: f64, peak_rps: f64) -> Result<(), Failure> {
    let what = format!("{core} core, {clients} clients that ignore NACKs at {times} x the peak");
    let bare = bare(clients, Offer::Rate(times * peak_rps))?;
    let trial = trial(core, clients, Offer::Rate(times * peak_rps))?;
    plain(&format!("{what}: offered"), trial.offered_rps() / 1e6, "M RPC/s");
    plain(&format!("{what}: the kernel's share of the core"), bare, "of 1");
    plain(&format!("{what}: refused by a NACK"), trial.flood.nacked as f64 / SECONDS / 1e6, "M RPC/s");
    let possible = ("the peak less the kernel's share", peak_rps / 1e6 * (1.0 - bare));
    let least = if core == "half" { 0.4 } else { 0.9 };
    let bound = (times >= 1.0).then_some(Bound::AtLeast(least));
    against(&format!("{what}: served"), trial.served_rps() / 1e6, "M RPC/s", possible, bound);
    let honest = &trial.honest;
    let asked = ("asked", honest.due as f64 / SECONDS);
    let bound = (core == "whole").then_some(Bound::AtLeast(0.95));
    against(&format!("{what}: honest client served"), honest.replied as f64 / SECONDS, "RPC/s", asked, bound);
    let slo = ("SLO", SLO.as_ps() as f64 / 1e3);
    for percent in [50, 90, 99] {
        let time = quantile_ns(trial.tails.raw(), f64::from(percent) / 100.0);
        against(&format!("{what}: honest client p{percent}"), time, "ns", slo, None);
    }
    plain(
        &format!("{what}: share of the honest client's RPCs that met no pause"),
        trial.tails.share_kept().unwrap_or(0.0),
        "of 1",
    );
    let kept = quantile_ns(trial.tails.gaps_excluded(), 0.99);
    let bound = (core == "whole").then_some(Bound::AtMost(1.0));
    against(&format!("{what}: honest client p99 without pauses"), kept, "ns", slo, bound);
    Ok(())
}

const SECONDS: f64 = (ROUND_PS - WARM_UP_PS) as f64 / 1e12;

struct Trial {
    flood: Tally,
    honest: Asked,
    tails: Tails,
}

impl Trial {
    fn served_rps(&self) -> f64 {
        (self.flood.replied + self.honest.replied) as f64 / SECONDS
    }

    fn offered_rps(&self) -> f64 {
        self.flood.sent as f64 / SECONDS
    }
}

fn trial(core: &str, clients: usize, offer: Offer) -> Result<Trial, Failure> {
    let address = child::unused_address()?;
    let _server = Server::start(&["serve-trust", core, &address.to_string()])?;
    let mut flood = Flood::connect(address, clients)?;
    let mut honest = Asker::connect(&format!("udp://{address}"), (HONEST_RPS, HONEST_SLOTS), SLO)?;
    let clock = Clock::new();
    let start = clock.now_ps();
    let mut is_counted = false;
    loop {
        let elapsed = clock.now_ps() - start;
        if elapsed > ROUND_PS {
            break;
        }
        if !is_counted && elapsed > WARM_UP_PS {
            is_counted = true;
            flood.restart();
            honest.restart();
        }
        flood.turn(offer)?;
        if matches!(offer, Offer::Rate(_)) {
            honest.turn()?;
        }
    }
    Ok(Trial { flood: flood.tally, honest: honest.asked, tails: honest.settle()? })
}

/// The share of a core that receiving alone takes under the same load.
fn bare(clients: usize, offer: Offer) -> Result<f64, Failure> {
    let address = child::unused_address()?;
    let server = Server::start(&["serve-trust", "bare", &address.to_string()])?;
    let mut flood = Flood::connect(address, clients)?;
    let clock = Clock::new();
    let (start, core_ns) = (clock.now_ps(), server.core_ns()?);
    while clock.now_ps() - start < ROUND_PS / 3 {
        flood.turn(offer)?;
    }
    Ok((server.core_ns()? - core_ns) as f64 / ((clock.now_ps() - start) as f64 / 1e3))
}

/// A server: engine and worker on one core, which another thread may want as well; or a socket that
/// only receives.
pub fn serve(core: &str, address: &str) -> Result<(), Failure> {
    if core == "bare" {
        return serve_bare(address.parse()?);
    }
    let config = ServerConfig::default().inline(true).idle(IdlePolicy::Spin).pin([child::server_core()]);
    let server = nebula::Server::bind(&format!("udp://{address}")).config(config);
    static SERVER: OnceLock<RunningServer> = OnceLock::new();
    let clock = Clock::new();
    let server = server.serve(move |request: &[u8], reply: &mut Reply| match SERVER.get() {
        Some(server) if request == GAPS => reply.write(&said_gaps(server.status(), clock)),
        _ => reply.write(request),
    })?;
    SERVER.set(server).map_err(|_| "it is served once")?;
    if core == "half" {
        std::thread::spawn(|| {
            let pinned = nebula_sys::affinity::pin_to(child::server_core());
            assert!(pinned.is_ok(), "{pinned:?}");
            loop {
                std::hint::spin_loop();
            }
        });
    }
    child::ready()?;
    loop {
        std::thread::park();
    }
}

/// Answers a hello by one meaningless datagram, then receives, and rests while there is nothing to
/// receive.
fn serve_bare(address: SocketAddr) -> Result<(), Failure> {
    let mut socket = nebula_sys::udp::UdpSocket::bind(address)?;
    nebula_sys::affinity::pin_to(child::server_core())?;
    child::ready()?;
    loop {
        let mut from = None;
        let received = socket.recv(&mut |received, datagram| {
            from = (datagram.get(1) == Some(&1)).then_some(received.from).or(from);
        })?;
        if let Some(from) = from {
            socket.queue(from, None, &[0; 72], 72)?;
            socket.flush()?;
        }
        if received == 0 {
            std::thread::sleep(Duration::from_micros(50));
        }
    }
}
