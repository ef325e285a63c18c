//! The echo through the whole runtime: client, wire, receive buffer, dispatch, retention, reply.

use crate::Failure;
use crate::child::{self, Server};
use crate::measure::Pipe;
use crate::ways::PAYLOAD_BYTES;
use nebula::net::{Environment, KernelWire, Wire};
use nebula::{Client, ClientConfig, Endpoint, IdlePolicy, Reply, ServerConfig, Span, SubmitError};
use std::io;
use std::net::SocketAddr;

pub struct Echo {
    client: Client,
    _server: Server,
}

impl Echo {
    pub fn start() -> Result<Self, Failure> {
        Self::start_over(KernelWire::connect)
    }

    /// Starts a server and connects to it over the wire that `connect` creates.
    pub fn start_over<W: Wire + 'static>(connect: impl FnOnce(SocketAddr) -> io::Result<W>) -> Result<Self, Failure> {
        let address = child::unused_address()?;
        let server = Server::start(&["serve-udp", "echo", &format!("udp://{address}")])?;
        let environment = Environment::machine(connect(address)?)?;
        Ok(Self { client: Client::connect_over(address, environment, ClientConfig::default())?, _server: server })
    }
}

impl Echo {
    pub fn over(client: Client, server: Server) -> Self {
        Self { client, _server: server }
    }
}

impl Pipe for Echo {
    #[inline(always)]
    fn send(&mut self, _: u64) -> bool {
        match self.client.submit(&[7; PAYLOAD_BYTES]) {
            Ok(_) => true,
            Err(SubmitError::Full) => false,
            Err(error) => panic!("the echo ended: {error}"),
        }
    }

    #[inline(always)]
    fn take(&mut self) -> u64 {
        let mut taken = 0;
        while let Some(done) = self.client.poll() {
            let reply = done.result.unwrap_or_else(|error| panic!("the echo failed: {error}"));
            assert_eq!(reply, [7; PAYLOAD_BYTES], "the echo failed");
            taken += 1;
        }
        taken
    }
}

pub fn serve(endpoint: &str) -> Result<(), Failure> {
    run(nebula::Server::bind(endpoint).config(config()))
}

/// A server that answers each RPC in a separate datagram if its client asks for that, without the
/// kernel's segmentation.
pub fn serve_alone(endpoint: &str) -> Result<(), Failure> {
    let mut config = config();
    config.packet_bytes = 64;
    match endpoint.parse()? {
        Endpoint::Udp(address) => {
            let environment = Environment::machine(KernelWire::bind(address)?.offload(false)?)?;
            let server = nebula::Server::bind(endpoint).config(config);
            let (_running, mut workers) = server.open_over(environment)?;
            let worker = workers.pop().ok_or("a server that has a worker")?;
            child::ready()?;
            nebula_sys::affinity::pin_to(child::server_core())?;
            worker.run(&|request: &[u8], reply: &mut Reply| reply.write(request));
            Ok(())
        }
        endpoint => run(nebula::Server::bind(endpoint).config(config)),
    }
}

fn config() -> ServerConfig {
    let config = ServerConfig::default().inline(true).idle(IdlePolicy::Spin).pin([child::server_core()]);
    // On a machine with other load a core may be away for milliseconds, and no RPC should be
    // refused for that.
    config.slo(Span::from_ms(10)).insecure(true)
}

fn run(server: nebula::Server) -> Result<(), Failure> {
    let server = server.serve(|request: &[u8], reply: &mut Reply| reply.write(request))?;
    child::ready()?;
    server.join()?;
    Ok(())
}
