//! The cost of stubs: generated services compared with a handler of bytes, in the same run.

use crate::Failure;
use crate::bare::{self, Bare};
use crate::child::{self, Server};
use crate::measure::{Pipe, median, round_trip, throughput};
use crate::row::{Bound, against, plain};
use nebula::{Client, ClientConfig, IdlePolicy, ServerConfig, Span};
use typed_tests::echo::{EchoClient, EchoServer, LineMessage, NumbersMessage, ProtoMessage};
use typed_tests::echo_service::{BYTES, METHOD, Same, by_hand};

/// Of each side, alternating.
const ROUNDS: usize = 9;

/// While rates are measured.
const OUTSTANDING: u64 = 64;

/// The server, in one of three ways.
pub fn serve(name: &str, how: &str) -> Result<(), Failure> {
    let config = ServerConfig::default().inline(true).idle(IdlePolicy::Spin).slo(Span::from_ms(10));
    let server = nebula::Server::bind(name).config(config.pin([child::server_core()]));
    let server = match how {
        "bytes" => server.serve(by_hand)?,
        _ => server.serve(EchoServer(Same))?,
    };
    child::ready()?;
    server.join()?;
    Ok(())
}

fn start(how: &str) -> Result<(Server, String), Failure> {
    let name = format!("shm://bench-typed-{}", std::process::id());
    Ok((Server::start(&["serve-typed", &name, how])?, name))
}

/// As many slots as the bare ring.
fn config() -> ClientConfig {
    ClientConfig::default().slots(bare::SLOTS as u32)
}

struct Bytes {
    client: Client,
    request: [u8; BYTES],
    _server: Server,
}

impl Bytes {
    fn start() -> Result<Self, Failure> {
        let (server, name) = start("bytes")?;
        let mut request = [7; BYTES];
        request[..METHOD.len()].copy_from_slice(&METHOD);
        Ok(Self { client: Client::connect_with(&name, config())?, request, _server: server })
    }
}

impl Pipe for Bytes {
    #[inline(always)]
    fn send(&mut self, _: u64) -> bool {
        self.client.submit(&self.request).is_ok()
    }

    #[inline(always)]
    fn take(&mut self) -> u64 {
        let mut taken = 0;
        while let Some(done) = self.client.poll() {
            assert!(done.result.is_ok_and(|reply| reply.len() == BYTES), "the echo failed");
            taken += 1;
        }
        taken
    }
}

struct Typed<R> {
    client: EchoClient,
    request: R,
    _server: Server,
}

impl<R> Typed<R> {
    fn start(request: R) -> Result<Self, Failure> {
        let (server, name) = start("typed")?;
        Ok(Self { client: EchoClient::connect_with(&name, config())?, request, _server: server })
    }

    #[inline(always)]
    fn take(&mut self) -> u64 {
        let mut taken = 0;
        while let Some((_, reply)) = self.client.poll() {
            assert!(reply.is_ok(), "the echo failed");
            taken += 1;
        }
        taken
    }
}

macro_rules! pipes {
    ($($message:ident by $submit:ident),+) => {
        $(impl Pipe for Typed<$message> {
            #[inline(always)]
            fn send(&mut self, _: u64) -> bool {
                self.client.$submit(&self.request).is_ok()
            }

            #[inline(always)]
            fn take(&mut self) -> u64 {
                self.take()
            }
        })+
    };
}

pipes!(LineMessage by submit_line, ProtoMessage by submit_proto, NumbersMessage by submit_numbers);

#[derive(Default)]
struct Figures {
    rates: Vec<f64>,
    p50s: Vec<f64>,
}

impl Figures {
    fn measure<T: Pipe>(&mut self, start: impl Fn() -> Result<T, Failure>) -> Result<(), Failure> {
        self.rates.push(throughput(&mut start()?, OUTSTANDING));
        self.p50s.push(round_trip(&mut start()?).0);
        Ok(())
    }

    fn rate(&self) -> f64 {
        self.rates.iter().copied().fold(0.0, f64::max)
    }

    fn p50(&self) -> f64 {
        median(self.p50s.clone())
    }
}

/// Rates are those of the best round, as both sides have two modes; see the section `echo`.
pub fn run() -> Result<(), Failure> {
    child::pin_client()?;
    let [mut bare, mut bytes, mut line, mut proto, mut numbers] = [(); 5].map(|()| Figures::default());
    for _ in 0..ROUNDS {
        bare.measure(|| Bare::start(1))?;
        bytes.measure(Bytes::start)?;
        line.measure(|| Typed::start(LineMessage { key: 7.into(), flags: 1.into(), value: [7; 32] }))?;
        proto.measure(|| Typed::start(ProtoMessage { key: 7, flags: 1, value: vec![7; 32] }))?;
        numbers.measure(|| Typed::start(NumbersMessage { key: 7, flags: 1, a: 7, b: 7, c: 7, d: 7 }))?;
    }
    plain("bare in-place ring, round trip p50", bare.p50(), "ns");
    let baseline = "a handler of bytes written by hand, 48 B";
    plain(&format!("{baseline}, {OUTSTANDING} outstanding"), bytes.rate(), "M RPC/s");
    plain(&format!("{baseline}, round trip p50"), bytes.p50(), "ns");
    let ways = [
        ("line encoding", line, Some((0.95, 1.05))),
        ("protobuf", proto, None),
        ("protobuf of numbers alone", numbers, None),
    ];
    for (encoding, figures, bounds) in ways {
        let least = Bound::AtLeast(bounds.map_or(0.5, |bounds| bounds.0));
        let rate = format!("generated service, {encoding}, {OUTSTANDING} outstanding");
        against(&rate, figures.rate(), "M RPC/s", (baseline, bytes.rate()), Some(least));
        let most = bounds.map(|bounds| Bound::AtMost(bounds.1));
        let p50 = format!("generated service, {encoding}, round trip p50");
        against(&p50, figures.p50(), "ns", (baseline, bytes.p50()), most);
    }
    Ok(())
}
