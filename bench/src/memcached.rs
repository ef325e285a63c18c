//! GETs by memcached's text protocol over TCP: the key-value service beside memcached itself and
//! beside bare sockets, each with one core, in turns within one run.
//!
//! The servers are pinned to the last core, and the load to the first ones: a thread for each core
//! that is left, four at most. Where all have the same load, none is at rest while another is
//! measured: those that wait have nothing to do.

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

/// Connections, as in memcached's own benchmarks.
const CONNECTIONS: usize = 50;
/// GETs that a connection has under way.
const PIPELINES: [u32; 2] = [1, 32];
/// Rounds of each server for each pipeline, of which the median counts.
const ROUNDS: usize = 5;
/// Length of a round, and of what runs before it is counted, in picoseconds.
const ROUND_PS: u64 = 600_000_000_000;
const WARM_PS: u64 = 100_000_000_000;
/// The ratio of RPC/s that is to be reached, at no longer a p99.
const RATE: Bound = Bound::AtLeast(1.5);
const P99: Bound = Bound::AtMost(1.0);
/// Offered loads of the overload rows, as shares of what each server serves of a load that comes
/// when it comes.
const LOADS: [f64; 7] = [0.25, 0.5, 0.75, 0.9, 1.0, 1.5, 2.0];
/// The SLO of our server while the peak is measured: so long that none of the GETs under way is
/// refused.
const PEAK_SLO: &str = "1s";
/// The SLO of our server in the overload rows.
const SLO: &str = "5ms";
const SLO_NS: f64 = 5e6;
/// What is offered to find the peak where no closed loop has told it, in millions a second.
const FLOOD_MRPS: f64 = 2.0;
/// Length of an overload round in picoseconds, of which the median counts: a queue grows for so
/// long.
const OVERLOAD_PS: u64 = 300_000_000_000;

/// Measures and prints; `program` is the `nebula` to serve with.
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

/// What a server does in closed loops.
struct Closed {
    rate_mrps: f64,
    p99_ns: f64,
    /// Time of its core that an RPC takes.
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

/// One round of one server.
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

/// What is accepted of Nebula alone under overload, and how late.
pub fn run_overload(program: &str) -> Result<(), Failure> {
    let ours = Peer::nebula(program, SLO)?;
    child::pin_client()?;
    overload_of(&ours, "Nebula", FLOOD_MRPS, Some(P99))
}

/// Open loops at shares of what each server can serve: what is accepted of them, and how late.
fn overload(theirs: &Peer, ours: &Peer, [their_peak, our_peak]: [f64; 2]) -> Result<(), Failure> {
    overload_of(theirs, "memcached -t 1", their_peak, None)?;
    overload_of(ours, "Nebula", our_peak, Some(P99))
}

/// The same of one server, which is offered `flood_mrps` first: more than it can serve of what
/// comes when it comes.
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

/// Rounds in which so much is offered.
fn rounds(peer: &Peer, offered_mrps: f64) -> Result<Vec<Seen>, Failure> {
    let round = |_| Threads::connect(peer.address(), CONNECTIONS)?.open(offered_mrps, OVERLOAD_PS);
    (0..ROUNDS).map(round).collect()
}
