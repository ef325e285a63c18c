//! Overload by processes: each sends its share of a multiple of the capacity by the clock, whatever
//! the answers are, together with an honest client.
//!
//! All processes share one core, the server has the other. So a process runs for some milliseconds
//! of each of the kernel's turns, and pauses otherwise: only the tails without pauses judge the
//! server.

use super::HONEST_RPS;
use super::asker::{Asker, GAPS, quantile_ns, said_gaps};
use crate::Failure;
use crate::child::{self, Server};
use crate::row::{Bound, against, plain};
use nebula::{IdlePolicy, Reply, RunningServer, ServerConfig, Span};
use nebula_sys::clock::Clock;
use serde::{Deserialize, Serialize};
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;

/// Long enough that processes on one core can send ten times the capacity.
const SERVICE_PS: u64 = 8_000_000;
/// Twenty-five service times, as in the table `udp`: over UDP the kernel takes as long again.
const SLO: Span = Span::from_us(200);
const SLOTS: u32 = 64;
/// Outstanding RPCs while the peak is measured.
const CLOSED: u32 = 8;
/// Of a round, and of its uncounted beginning.
const SECONDS: f64 = 3.0;
const WARM_UP: f64 = 0.5;

#[derive(Debug, Serialize, Deserialize)]
struct Told {
    due: u64,
    replied: u64,
    nacked: u64,
    refused: u64,
    /// `None` if infinite.
    p99_ns: Option<f64>,
    /// Replies that met no pause, and those of them beyond the SLO.
    kept: u64,
    kept_late: f64,
}

pub fn run_all() -> Result<(), Failure> {
    for transport in ["shm", "udp"] {
        let peak_rps = peak(transport)?;
        plain(&format!("8 us service over {transport}, peak"), peak_rps / 1e3, "k RPC/s");
        for processes in [1, 8] {
            for times in [3.0, 10.0] {
                round(transport, processes, times, peak_rps)?;
            }
        }
    }
    Ok(())
}

fn endpoint(transport: &str) -> Result<String, Failure> {
    Ok(match transport {
        "shm" => format!("shm://bench-trust-{}", std::process::id()),
        _ => format!("udp://{}", child::unused_address()?),
    })
}

/// The rate of one process with a few RPCs always outstanding.
fn peak(transport: &str) -> Result<f64, Failure> {
    let endpoint = endpoint(transport)?;
    let _server = Server::start(&["serve-trust-slow", &endpoint])?;
    let told = told_by(vec![start(&endpoint, 1e9, CLOSED)?])?;
    Ok(told[0].replied as f64 / SECONDS)
}

fn round(transport: &str, processes: usize, times: f64, peak_rps: f64) -> Result<(), Failure> {
    let what = format!("{processes} processes that ask for {times} x the peak over {transport}");
    let endpoint = endpoint(transport)?;
    let server = Server::start(&["serve-trust-slow", &endpoint])?;
    let rps = peak_rps * times / processes as f64;
    let mut honest = Asker::connect(&endpoint, (HONEST_RPS, SLOTS), SLO)?;
    let children = (0..processes).map(|_| start(&endpoint, rps, SLOTS)).collect::<Result<Vec<_>, _>>()?;
    drive(&mut honest, WARM_UP)?;
    honest.restart();
    drive(&mut honest, SECONDS / 2.0)?;
    let early = server.resident_bytes()?;
    drive(&mut honest, SECONDS / 2.0)?;
    let (asked, tails) = (honest.asked, honest.settle()?);
    let told = told_by(children)?;
    let at_the_end = server.resident_bytes()?;
    let sum = |of: fn(&Told) -> u64| told.iter().map(of).sum::<u64>() as f64 / SECONDS;
    let served = sum(|told| told.replied) + asked.replied as f64 / SECONDS;
    plain(&format!("{what}: asked for"), sum(|told| told.due) / 1e3, "k RPC/s");
    plain(&format!("{what}: refused by the client, whose room is full"), sum(|told| told.refused) / 1e3, "k RPC/s");
    plain(&format!("{what}: refused by a NACK"), sum(|told| told.nacked) / 1e3, "k RPC/s");
    against(&format!("{what}: served"), served / 1e3, "k RPC/s", ("the peak", peak_rps / 1e3), None);
    let slo_ns = SLO.as_ps() as f64 / 1e3;
    let worst_ns = told.iter().map(|told| told.p99_ns.unwrap_or(f64::INFINITY)).fold(0.0, f64::max);
    let kept: u64 = told.iter().map(|told| told.kept).sum();
    let late: f64 = told.iter().map(|told| told.kept_late).sum();
    plain(&format!("{what}: p99 of what is served, the worst process"), worst_ns, "ns");
    plain(&format!("{what}: replies that met no pause"), kept as f64, "RPCs");
    let row = format!("{what}: replies that met no pause and came later than the SLO");
    against(&row, late / kept.max(1) as f64, "of 1", ("the one in a hundred that may", 0.01), enough(kept));
    plain(&format!("{what}: an honest client's p99"), quantile_ns(tails.raw(), 0.99), "ns");
    let kept = tails.gaps_excluded();
    plain(&format!("{what}: an honest client's replies that met no pause"), kept.count() as f64, "RPCs");
    let row = format!("{what}: an honest client's p99 without pauses");
    against(&row, quantile_ns(kept, 0.99), "ns", ("SLO", slo_ns), enough(kept.count()));
    let row = format!("{what}: the server's memory at the end");
    against(&row, at_the_end as f64, "B", ("in the middle", early as f64), Some(Bound::AtMost(1.01)));
    Ok(())
}

fn drive(asker: &mut Asker, seconds: f64) -> Result<(), Failure> {
    let clock = Clock::new();
    let start = clock.now_ps();
    while (clock.now_ps() - start) as f64 / 1e12 < seconds {
        asker.turn()?;
    }
    Ok(())
}

fn start(endpoint: &str, rps: f64, slots: u32) -> Result<Child, Failure> {
    let words = ["load-trust", endpoint, &rps.to_string(), &slots.to_string()];
    Ok(Command::new(std::env::current_exe()?).args(words).stdout(Stdio::piped()).spawn()?)
}

fn told_by(children: Vec<Child>) -> Result<Vec<Told>, Failure> {
    let told = |mut child: Child| {
        let mut line = String::new();
        BufReader::new(child.stdout.take().ok_or("the child has no output")?).read_line(&mut line)?;
        child.wait()?;
        Ok(serde_json::from_str(&line)?)
    };
    children.into_iter().map(told).collect()
}

/// Requires the p99 only if there are enough replies for one.
fn enough(replies: u64) -> Option<Bound> {
    (replies >= 100).then_some(Bound::AtMost(1.0))
}

pub fn load(endpoint: &str, rps: &str, slots: &str) -> Result<(), Failure> {
    nebula_sys::process::end_with_parent()?;
    let mut asker = Asker::connect(endpoint, (rps.parse()?, slots.parse()?), SLO)?;
    drive(&mut asker, WARM_UP)?;
    asker.restart();
    drive(&mut asker, SECONDS)?;
    let (asked, tails) = (asker.asked, asker.settle()?);
    let kept = tails.gaps_excluded();
    let told = Told {
        due: asked.due,
        replied: asked.replied,
        nacked: asked.nacked,
        refused: asked.refused,
        p99_ns: Some(quantile_ns(tails.raw(), 0.99)).filter(|p99_ns| p99_ns.is_finite()),
        kept: kept.count(),
        kept_late: kept.share_above(SLO) * kept.count() as f64,
    };
    println!("{}", serde_json::to_string(&told)?);
    Ok(())
}

/// A server: engine and worker on one core, whose handler computes; it also answers [`GAPS`].
pub fn serve(endpoint: &str) -> Result<(), Failure> {
    static SERVER: OnceLock<RunningServer> = OnceLock::new();
    let clock = Clock::new();
    let config = ServerConfig::default().slo(SLO).inline(true).idle(IdlePolicy::Spin).pin([child::server_core()]);
    let server = nebula::Server::bind(endpoint).config(config);
    let server = server.serve(move |request: &[u8], reply: &mut Reply| {
        let begun = clock.ticks();
        if let (GAPS, Some(server)) = (request, SERVER.get()) {
            return reply.write(&said_gaps(server.status(), clock));
        }
        while clock.ps(clock.ticks() - begun) < SERVICE_PS {
            std::hint::spin_loop();
        }
        reply.write(request);
    })?;
    SERVER.set(server).map_err(|_| "it is served once")?;
    child::ready()?;
    loop {
        std::thread::park();
    }
}
