//! The 64 B echo over the loopback network, between processes, one core each: Nebula's `udp://`
//! compared with bare sockets and with the usual alternatives.
//!
//! The kernel's network stack costs microseconds of CPU time per datagram. So there are two
//! baselines: many datagrams per buffer (GSO and GRO), which a program with one datagram per RPC
//! cannot beat by much, and one datagram per call, as in most programs.
//!
//! Then the scenarios: [`loss`], [`overload`], a [`crowd`] of clients.

mod bare;
mod crowd;
pub mod echo;
mod loss;
mod overload;
mod single;

use crate::Failure;
use crate::child;
#[cfg(feature = "peers")]
use crate::peers;
use crate::row::Bound;
use crate::ways::{FIGURES, Sample, Way, rounds, sample};
use bare::Packing;

const WAYS: &[Way] = &[
    Way { name: "Nebula, udp://", measure: || sample(echo::Echo::start()?) },
    Way { name: "bare sockets, GSO and GRO", measure: || sample(bare::Bare::start(Packing::Segments)?) },
    Way { name: "bare sockets, one datagram a batch", measure: || sample(bare::Bare::start(Packing::OneDatagram)?) },
    Way { name: "bare sockets, one datagram a call", measure: || sample(single::Single::start()?) },
    #[cfg(feature = "peers")]
    Way { name: "tonic unary over TCP", measure: || sample(peers::grpc::start_tcp()?) },
    #[cfg(feature = "peers")]
    Way { name: "tarpc over TCP", measure: || sample(peers::tarpc::start()?) },
    #[cfg(feature = "peers")]
    Way { name: "quinn, a stream an RPC, encrypted", measure: || sample(peers::quic::start()?) },
];

/// Indices of the bare sockets in [`WAYS`].
const SEGMENTS: usize = 1;
const PACKED: usize = 2;
const SINGLE: usize = 3;

pub fn run() -> Result<(), Failure> {
    compare()?;
    loss::run()?;
    overload::run()?;
    crowd::run()
}

fn compare() -> Result<(), Failure> {
    child::pin_client()?;
    let medians = rounds(WAYS)?;
    let measured: Vec<(&Way, &Sample)> = WAYS.iter().zip(&medians).collect();
    let (&nebula, bare, peers) = (&measured[0], &measured[1..=3], &measured[4..]);
    let [p50, p99, rate] = FIGURES;
    for figure in FIGURES {
        bare.iter().for_each(|&way| figure.print(way));
    }
    rate.print_beside(nebula, measured[SEGMENTS], Some(Bound::AtLeast(0.7)));
    rate.print_beside(nebula, measured[PACKED], None);
    rate.print_beside(nebula, measured[SINGLE], Some(Bound::AtLeast(15.0)));
    p50.print_beside(nebula, measured[SINGLE], Some(Bound::AtMost(1.15)));
    p99.print_beside(nebula, measured[SINGLE], None);
    for figure in FIGURES {
        peers.iter().for_each(|&peer| figure.print_beside(peer, nebula, None));
    }
    Ok(())
}

/// Measures one part: a scenario, or the ways whose name contains `word`.
pub fn run_only(word: &str) -> Result<(), Failure> {
    match word {
        "echo" => return compare(),
        "loss" => return loss::run(),
        "overload" => return overload::run(),
        "crowd" => return crowd::run(),
        _ => child::pin_client()?,
    }
    for way in WAYS.iter().filter(|way| way.name.contains(word)) {
        let medians = rounds(std::slice::from_ref(way))?;
        FIGURES.iter().for_each(|figure| figure.print((way, &medians[0])));
    }
    Ok(())
}

pub fn serve(words: &[&str]) -> Result<(), Failure> {
    match words {
        ["bare", address] => bare::serve(address.parse()?),
        ["single", address] => single::serve(address),
        ["echo", endpoint] => echo::serve(endpoint),
        ["echo-alone", endpoint] => echo::serve_alone(endpoint),
        ["sleepy-echo", address] => crowd::serve(address),
        ["sleepy-bare", address] => crowd::serve_bare(address),
        ["spin", endpoint] => overload::serve(endpoint),
        _ => Err(format!("no server for {words:?}").into()),
    }
}
