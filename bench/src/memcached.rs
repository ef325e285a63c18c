//! GETs by memcached's text protocol over TCP: the key-value service beside memcached itself, each with one core, in turns within one run.
//!
//! Both servers are pinned to the last core and the load to the first. Where both have the same load, neither is at rest while the other is
//! measured: the one that waits has nothing to do.

mod lanes;
mod peer;

use crate::Failure;
use crate::child;
use crate::measure::median;
use crate::row::{Bound, against, plain};
use lanes::{Lanes, Seen};
pub use peer::Memcached;
use peer::Peer;

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
/// Offered loads of the overload rows, as shares of what each server serves of a load that comes when it comes.
const LOADS: [f64; 7] = [0.25, 0.5, 0.75, 0.9, 1.0, 1.5, 2.0];
/// The SLO of our server while the peak is measured: so long that none of the GETs under way is refused.
const PEAK_SLO: &str = "1s";
/// The SLO of our server in the overload rows.
const SLO: &str = "5ms";
const SLO_NS: f64 = 5e6;
/// Length of an overload round in picoseconds, of which the median counts: a queue grows for so long.
const OVERLOAD_PS: u64 = 300_000_000_000;

/// Measures and prints; `program` is the `nebula` to serve with.
pub fn run(program: &str) -> Result<(), Failure> {
    let theirs = Peer::memcached()?;
    let peaks = {
        let ours = Peer::nebula(program, PEAK_SLO)?;
        child::pin_client()?;
        closed(&theirs, &ours)?
    };
    overload(&theirs, &Peer::nebula(program, SLO)?, peaks)
}

/// Closed loops: the RPC/s of both with the longest pipeline.
fn closed(theirs: &Peer, ours: &Peer) -> Result<[f64; 2], Failure> {
    let mut peaks = [0.0; 2];
    for pipeline in PIPELINES {
        let mut lanes = [theirs, ours].map(|peer| Lanes::connect(peer.address(), CONNECTIONS));
        let mut seen: [Vec<(Seen, f64)>; 2] = [Vec::new(), Vec::new()];
        for _ in 0..ROUNDS {
            for (side, peer) in [theirs, ours].into_iter().enumerate() {
                let lanes = lanes[side].as_mut().map_err(|error| error.to_string())?;
                lanes.closed(pipeline, WARM_PS)?;
                let before = peer.core_ns()?;
                let round = lanes.closed(pipeline, ROUND_PS)?;
                let core_ns = (peer.core_ns()? - before) as f64 / round.served() as f64;
                if round.refused > 0 {
                    return Err(format!("{} of {} refused in a closed loop", round.refused, round.served()).into());
                }
                seen[side].push((round, core_ns));
            }
        }
        let of = |side: usize, what: fn(&(Seen, f64)) -> f64| median(seen[side].iter().map(what).collect());
        peaks = [0, 1].map(|side| of(side, |(seen, _)| seen.rate_mrps()));
        let p99 = [0, 1].map(|side| of(side, |(seen, _)| seen.quantile_ns(0.99)));
        let core = [0, 1].map(|side| of(side, |(_, core_ns)| *core_ns));
        let what = |who: &str| format!("GET over TCP, {CONNECTIONS} connections, pipeline {pipeline}: {who}");
        plain(&what("memcached -t 1"), peaks[0], "M RPC/s");
        against(&what("Nebula"), peaks[1], "M RPC/s", ("memcached", peaks[0]), Some(RATE));
        plain(&what("memcached -t 1, p99"), p99[0], "ns");
        against(&what("Nebula, p99"), p99[1], "ns", ("memcached", p99[0]), Some(P99));
        plain(&what("memcached -t 1, its core's time an RPC"), core[0], "ns");
        against(&what("Nebula, its core's time an RPC"), core[1], "ns", ("memcached", core[0]), None);
    }
    Ok(peaks)
}

/// Open loops at shares of what each server can serve: what is accepted of them, and how late.
fn overload(theirs: &Peer, ours: &Peer, peaks: [f64; 2]) -> Result<(), Failure> {
    for (side, peer) in [theirs, ours].into_iter().enumerate() {
        // As much as with the longest pipeline no server can serve of requests that come alone.
        let flood = rounds(peer, peaks[side])?;
        let peak = median(flood.iter().map(Seen::rate_mrps).collect());
        for load in LOADS {
            let rounds = rounds(peer, peak * load)?;
            let of = |what: fn(&Seen) -> f64| median(rounds.iter().map(what).collect());
            let who = if side == 0 { "memcached -t 1" } else { "Nebula" };
            let what = |kind: &str| format!("GETs at {load} of the peak of {who}: {kind}");
            plain(&what("offered"), of(Seen::offered_mrps), "M RPC/s");
            plain(&what("served"), of(Seen::rate_mrps), "M RPC/s");
            plain(&what("refused"), of(Seen::refused_share), "of RPCs");
            let p99 = of(|seen| seen.quantile_ns(0.99));
            let bound = (side == 1).then_some(P99);
            against(&what("p99 of what is served"), p99, "ns", ("the SLO of 5 ms", SLO_NS), bound);
        }
    }
    Ok(())
}

/// Rounds in which so much is offered.
fn rounds(peer: &Peer, offered_mrps: f64) -> Result<Vec<Seen>, Failure> {
    let round = |_| Lanes::connect(peer.address(), CONNECTIONS)?.open(offered_mrps, OVERLOAD_PS);
    (0..ROUNDS).map(round).collect()
}
