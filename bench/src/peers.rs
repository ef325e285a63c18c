//! The same echo of 64 B over what a user would pick today, each at its best: one core a side, both sides of the same program.
//!
//! Who can poll, polls on both sides (Nebula, TCP, iceoryx2); tonic has its own event loop, one thread a side. Each
//! measurement starts its own server and ends it, since two servers that poll would share the servers' core.

#[cfg(feature = "peers")]
mod grpc;
#[cfg(feature = "peers")]
mod iceoryx;
mod tcp;

use crate::Failure;
use crate::child;
use crate::echo::Echo;
use crate::measure::{Pipe, median, round_trip, throughput};
use crate::row::{against, plain};
use crate::watchdog::within;
use std::time::Duration;

/// Bytes of a request, and of its reply.
const PAYLOAD_BYTES: usize = 64;
/// RPCs in flight where the rate is measured.
const OUTSTANDING: u64 = 64;
/// Rounds, in each of which every peer has its turn.
const ROUNDS: usize = 5;
/// The longest that one measurement may take; it takes half a second.
const LIMIT: Duration = Duration::from_secs(30);

/// One way to echo.
struct Peer {
    name: &'static str,
    measure: fn() -> Result<Sample, Failure>,
}

/// Nebula, which the others are compared with, is the first.
const PEERS: &[Peer] = &[
    Peer { name: "Nebula", measure: || sample(Echo::start(PAYLOAD_BYTES, OUTSTANDING as u32)?) },
    Peer { name: "TCP, no delay, polled", measure: || sample(tcp::Tcp::start()?) },
    #[cfg(feature = "peers")]
    Peer { name: "iceoryx2 request-response, polled", measure: || sample(iceoryx::Iceoryx::start()?) },
    #[cfg(feature = "peers")]
    Peer { name: "tonic unary over a Unix socket", measure: || sample(grpc::Grpc::start()?) },
];

/// What one round of one peer gave.
#[derive(Clone, Copy)]
struct Sample {
    p50_ns: f64,
    p99_ns: f64,
    rate_mrps: f64,
}

fn sample(mut pipe: impl Pipe) -> Result<Sample, Failure> {
    let (p50_ns, p99_ns) = round_trip(&mut pipe);
    Ok(Sample { p50_ns, p99_ns, rate_mrps: throughput(&mut pipe, OUTSTANDING) })
}

/// What is shown of the samples: its name, its unit, and where it stands in one.
type Figure = (&'static str, &'static str, fn(&Sample) -> f64);

const FIGURES: [Figure; 3] = [
    ("round trip p50", "ns", |sample| sample.p50_ns),
    ("round trip p99", "ns", |sample| sample.p99_ns),
    ("64 outstanding", "M RPC/s", |sample| sample.rate_mrps),
];

/// Measures and prints.
pub fn run() -> Result<(), Failure> {
    child::pin_client()?;
    let mut samples = vec![Vec::with_capacity(ROUNDS); PEERS.len()];
    for _ in 0..ROUNDS {
        for (peer, samples) in PEERS.iter().zip(&mut samples) {
            let sample = within(LIMIT, peer.name, peer.measure);
            samples.push(sample.map_err(|error| format!("{}: {error}", peer.name))?);
        }
    }
    for figure in FIGURES {
        print(figure, &samples);
    }
    Ok(())
}

/// One row a peer: the medians of the rounds.
fn print((figure, unit, of): Figure, samples: &[Vec<Sample>]) {
    let medians: Vec<f64> = samples.iter().map(|samples| median(samples.iter().map(of).collect())).collect();
    let what = |peer: &Peer| format!("{PAYLOAD_BYTES} B echo, {figure}: {}", peer.name);
    let (nebula, yardstick) = (&PEERS[0], medians[0]);
    plain(&what(nebula), yardstick, unit);
    for (peer, &value) in PEERS.iter().zip(&medians).skip(1) {
        against(&what(peer), value, unit, (nebula.name, yardstick), None);
    }
}

/// A peer's server.
pub fn serve(words: &[&str]) -> Result<(), Failure> {
    nebula_sys::process::end_with_parent()?;
    nebula_sys::affinity::pin_to(child::server_core())?;
    match words {
        ["tcp", address] => tcp::serve(address),
        #[cfg(feature = "peers")]
        ["iceoryx2", run] => iceoryx::serve(run),
        #[cfg(feature = "peers")]
        ["tonic", path] => grpc::serve(path),
        _ => Err(format!("no server for {words:?} in this build").into()),
    }
}
