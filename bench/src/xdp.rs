//! The 64 B echo between two hosts, one core each: `xdp://` compared with `udp://`. The hosts are
//! network namespaces with a virtual cable (veth) between them, which needs root and `ip`.

use crate::Failure;
use crate::child::{self, Server};
use crate::hosts::{Hosts, enter, ip};
use crate::row::Bound;
use crate::udp::echo::Echo;
use crate::ways::{FIGURES, Sample, Way, rounds, sample};
use nebula::net::{Environment, KernelWire};
use nebula::{Client, ClientConfig, Endpoint};

const SERVER: &str = "nebula-bench-s";
const CLIENT: &str = "nebula-bench-c";
const SERVER_IP: &str = "10.139.0.1";
const CLIENT_IP: &str = "10.139.0.2";

/// RPCs that wait share a datagram, or each RPC has its own.
const WAYS: &[Way] = &[
    Way { name: "xdp:// over veth", measure: || way("xdp://v0:7400", "xdp://v0/10.139.0.1:7400") },
    Way { name: "udp:// over veth", measure: || way("udp://10.139.0.1:7400", "udp://10.139.0.1:7400") },
    Way { name: "xdp:// over veth, an RPC a datagram", measure: || alone("xdp://v0:7400", "xdp://v0/10.139.0.1:7400") },
    Way {
        name: "udp:// over veth, an RPC a datagram",
        measure: || alone("udp://10.139.0.1:7400", "udp://10.139.0.1:7400"),
    },
];

pub fn run() -> Result<(), Failure> {
    child::pin_client()?;
    let _hosts = hosts()?;
    enter(CLIENT)?;
    let medians = rounds(WAYS)?;
    let measured: Vec<(&Way, &Sample)> = WAYS.iter().zip(&medians).collect();
    let [p50, p99, rate] = FIGURES;
    for figure in FIGURES {
        figure.print(measured[1]);
    }
    p50.print_beside(measured[0], measured[1], Some(Bound::AtMost(0.7)));
    p99.print_beside(measured[0], measured[1], None);
    rate.print_beside(measured[0], measured[1], None);
    rate.print(measured[3]);
    rate.print_beside(measured[2], measured[3], Some(Bound::AtLeast(2.0)));
    Ok(())
}

/// Measures the ways whose name contains `word`.
pub fn run_only(word: &str) -> Result<(), Failure> {
    child::pin_client()?;
    let _hosts = hosts()?;
    enter(CLIENT)?;
    for way in WAYS.iter().filter(|way| way.name.contains(word)) {
        let medians = rounds(std::slice::from_ref(way))?;
        FIGURES.iter().for_each(|figure| figure.print((way, &medians[0])));
    }
    Ok(())
}

fn way(of_server: &str, of_client: &str) -> Result<Sample, Failure> {
    let server = start("echo", of_server)?;
    sample(Echo::over(Client::connect_with(of_client, ClientConfig::default().insecure(true))?, server))
}

/// The shortest datagrams that hold an RPC, and no segmentation by the kernel.
fn alone(of_server: &str, of_client: &str) -> Result<Sample, Failure> {
    let server = start("echo-alone", of_server)?;
    let config = ClientConfig::default().insecure(true).datagram_bytes(200);
    let client = match of_client.parse()? {
        Endpoint::Udp(address) => {
            let environment = Environment::machine(KernelWire::connect(address)?.offload(false)?)?;
            Client::connect_over(address, environment, config)?
        }
        endpoint => Client::connect_with(endpoint, config)?,
    };
    sample(Echo::over(client, server))
}

fn start(what: &str, endpoint: &str) -> Result<Server, Failure> {
    let program = std::env::current_exe()?;
    let program = program.to_str().ok_or("a path that is not text")?;
    Server::start_program("ip", &["netns", "exec", SERVER, program, "serve-udp", what, endpoint])
}

fn hosts() -> Result<Hosts, Failure> {
    let hosts = Hosts::add(&[SERVER, CLIENT])?;
    ip(&format!("link add v0 netns {SERVER} type veth peer name v0 netns {CLIENT}"))?;
    for (host, address) in [(SERVER, SERVER_IP), (CLIENT, CLIENT_IP)] {
        ip(&format!("-n {host} address add {address}/24 dev v0"))?;
        ip(&format!("-n {host} link set v0 up"))?;
    }
    Ok(hosts)
}
