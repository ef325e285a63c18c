//! The same 64 B echo over the usual alternatives, each at its best: one core per side, both sides
//! in the same program.
//!
//! Nebula, TCP and iceoryx2 poll on both sides; tonic has its own event loop, one thread per side.
//! Each measurement has its own server, because two polling servers would share a core.

#[cfg(feature = "peers")]
pub mod grpc;
#[cfg(feature = "peers")]
mod iceoryx;
#[cfg(feature = "peers")]
pub mod quic;
#[cfg(feature = "peers")]
pub mod tarpc;
#[cfg(feature = "peers")]
mod tasks;
mod tcp;

use crate::Failure;
use crate::child;
use crate::echo::Echo;
use crate::ways::{FIGURES, OUTSTANDING, PAYLOAD_BYTES, Way, rounds, sample};

/// Nebula first: the others are compared with it.
const PEERS: &[Way] = &[
    Way { name: "Nebula", measure: || sample(Echo::start(PAYLOAD_BYTES, OUTSTANDING as u32)?) },
    Way { name: "TCP, no delay, polled", measure: || sample(tcp::Tcp::start()?) },
    #[cfg(feature = "peers")]
    Way { name: "iceoryx2 request-response, polled", measure: || sample(iceoryx::Iceoryx::start()?) },
    #[cfg(feature = "peers")]
    Way { name: "tonic unary over a Unix socket", measure: || sample(grpc::start_unix()?) },
];

pub fn run() -> Result<(), Failure> {
    child::pin_client()?;
    let medians = rounds(PEERS)?;
    let nebula = (&PEERS[0], &medians[0]);
    for figure in FIGURES {
        figure.print(nebula);
        for peer in PEERS.iter().zip(&medians).skip(1) {
            figure.print_beside(peer, nebula, None);
        }
    }
    Ok(())
}

pub fn serve(words: &[&str]) -> Result<(), Failure> {
    nebula_sys::process::end_with_parent()?;
    nebula_sys::affinity::pin_to(child::server_core())?;
    match words {
        ["tcp", address] => tcp::serve(address),
        #[cfg(feature = "peers")]
        ["iceoryx2", run] => iceoryx::serve(run),
        #[cfg(feature = "peers")]
        ["tonic", path] => grpc::serve_unix(path),
        #[cfg(feature = "peers")]
        ["tonic-tcp", address] => grpc::serve_tcp(address),
        #[cfg(feature = "peers")]
        ["tarpc", address] => tarpc::serve(address),
        #[cfg(feature = "peers")]
        ["quinn", address, certificate, key] => quic::serve(address, certificate, key),
        _ => Err(format!("no server for {words:?} in this build").into()),
    }
}
