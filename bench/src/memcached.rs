//! GETs by memcached's text protocol over TCP: the key-value service compared with memcached and
//! with bare sockets, each on one core, in turns within one run.
//!
//! The servers are pinned to the last core, and the load to the others: a thread for each, at most
//! four. All servers run all the time; an idle one takes no core time from the one that is
//! measured.

mod bare;
mod lanes;
mod peer;
mod threads;

use crate::Failure;
use crate::child;
use crate::measure::median;
use crate::row::{Bound, against, plain};
pub use bare::serve as serve_lines;
use lanes::Seen;
pub use peer::Memcached;
use peer::Peer;
use threads::Threads;

/// As in memcached's own benchmarks.
const CONNECTIONS: usize = 50;
const PIPELINES: [u32; 2] = [1, 32];
const ROUNDS: usize = 5;
/// Of a round, and of the uncounted time before it.
const ROUND_PS: u64 = 600_000_000_000;
const WARM_PS: u64 = 100_000_000_000;
/// The required ratio of RPC/s, at a p99 that is no longer.
const RATE: Bound = Bound::AtLeast(1.5);
const P99: Bound = Bound::AtMost(1.0);
/// Of the overload rows, as shares of each server's rate under open-loop load.
const LOADS: [f64; 7] = [0.25, 0.5, 0.75, 0.9, 1.0, 1.5, 2.0];
/// Long enough that no GET is refused while the peak is measured.
const PEAK_SLO: &str = "1s";
const SLO: &str = "5ms";
const SLO_NS: f64 = 5e6;
/// The load that finds the peak without a closed loop.
const FLOOD_MRPS: f64 = 2.0;
/// The median round counts; the length bounds the growth of a queue.
const OVERLOAD_PS: u64 = 300_000_000_000;

pub fn run(program: &str) -> Result<(), Failure> {
    let theirs = Peer::memcached()?;
    let peaks = {
        let ours = Peer::nebula(program, PEAK_SLO)?;
        let bare = Peer::bare()?;
        child::pin_client()?;
        plain("threads of the load, each on a core", threads::count() as f64, "threads");
        closed([&theirs, &ours, &bare], PIPELINES[0])?;
        closed([&theirs, &ours, &bare], PIPELINES[1])?
    };
    overload(&theirs, &Peer::nebula(program, SLO)?, [peaks[0], peaks[1]])
}

struct Closed {
    rate_mrps: f64,
    p99_ns: f64,
    /// Of its core, an RPC.
    core_ns: f64,
}

/// Closed loops: the RPC/s of memcached, Nebula and bare sockets.
fn closed(peers: [&Peer; 3], pipeline: u32) -> Result<[f64; 3], Failure> {
    let mut lanes = peers.map(|peer| Threads::connect(peer.address(), CONNECTIONS));
    let mut rounds: [Vec<Closed>; 3] = Default::default();
    for _ in 0..ROUNDS {
        for (side, peer) in peers.into_iter().enumerate() {
            let lanes = lanes[side].as_mut().map_err(|error| error.to_string())?;
            rounds[side].push(round(peer, lanes, pipeline)?);
        }
    }
    let all = rounds.map(|rounds| {
        let of = |what: fn(&Closed) -> f64| median(rounds.iter().map(what).collect());
        Closed { rate_mrps: of(|one| one.rate_mrps), p99_ns: of(|one| one.p99_ns), core_ns: of(|one| one.core_ns) }
    });
    print(pipeline, &all);
    Ok(all.map(|one| one.rate_mrps))
}

fn round(peer: &Peer, lanes: &mut Threads, pipeline: u32) -> Result<Closed, Failure> {
    lanes.closed(pipeline, WARM_PS)?;
    let before = peer.core_ns()?;
    let round = lanes.closed(pipeline, ROUND_PS)?;
    if round.refused > 0 {
        return Err(format!("{} of {} refused in a closed loop", round.refused, round.served()).into());
    }
    let core_ns = (peer.core_ns()? - before) as f64 / round.served() as f64;
    Ok(Closed { rate_mrps: round.rate_mrps(), p99_ns: round.quantile_ns(0.99), core_ns })
}

fn print(pipeline: u32, [theirs, ours, bare]: &[Closed; 3]) {
    let what = |who: &str| format!("GET over TCP, {CONNECTIONS} connections, pipeline {pipeline}: {who}");
    plain(&what("memcached -t 1"), theirs.rate_mrps, "M RPC/s");
    against(&what("Nebula"), ours.rate_mrps, "M RPC/s", ("memcached", theirs.rate_mrps), Some(RATE));
    against(&what("bare sockets"), bare.rate_mrps, "M RPC/s", ("memcached", theirs.rate_mrps), None);
    plain(&what("memcached -t 1, p99"), theirs.p99_ns, "ns");
    against(&what("Nebula, p99"), ours.p99_ns, "ns", ("memcached", theirs.p99_ns), Some(P99));
    against(&what("bare sockets, p99"), bare.p99_ns, "ns", ("memcached", theirs.p99_ns), None);
    plain(&what("memcached -t 1, its core's time an RPC"), theirs.core_ns, "ns");
    against(&what("Nebula, its core's time an RPC"), ours.core_ns, "ns", ("memcached", theirs.core_ns), None);
    against(&what("bare sockets, their core's time an RPC"), bare.core_ns, "ns", ("memcached", theirs.core_ns), None);
}

/// Nebula's accepted load and its latency under overload, without memcached.
pub fn run_overload(program: &str) -> Result<(), Failure> {
    let ours = Peer::nebula(program, SLO)?;
    child::pin_client()?;
    overload_of(&ours, "Nebula", FLOOD_MRPS, Some(P99))
}

/// Open loops at shares of each server's peak: the accepted load, and its latency.
fn overload(theirs: &Peer, ours: &Peer, [their_peak, our_peak]: [f64; 2]) -> Result<(), Failure> {
    overload_of(theirs, "memcached -t 1", their_peak, None)?;
    overload_of(ours, "Nebula", our_peak, Some(P99))
}

/// The same of one server. First `flood_mrps`, more than it can serve, finds its peak.
fn overload_of(peer: &Peer, who: &str, flood_mrps: f64, bound: Option<Bound>) -> Result<(), Failure> {
    let peak = median(rounds(peer, flood_mrps)?.iter().map(Seen::rate_mrps).collect());
    for load in LOADS {
        let rounds = rounds(peer, peak * load)?;
        let of = |what: fn(&Seen) -> f64| median(rounds.iter().map(what).collect());
        let what = |kind: &str| format!("GETs at {load} of the peak of {who}: {kind}");
        plain(&what("offered"), of(Seen::offered_mrps), "M RPC/s");
        plain(&what("served"), of(Seen::rate_mrps), "M RPC/s");
        plain(&what("refused"), of(Seen::refused_share), "of RPCs");
        let p99 = of(|seen| seen.quantile_ns(0.99));
        against(&what("p99 of what is served"), p99, "ns", ("the SLO of 5 ms", SLO_NS), bound);
    }
    Ok(())
}

fn rounds(peer: &Peer, offered_mrps: f64) -> Result<Vec<Seen>, Failure> {
    let round = |_| Threads::connect(peer.address(), CONNECTIONS)?.open(offered_mrps, OVERLOAD_PS);
    (0..ROUNDS).map(round).collect()
}
