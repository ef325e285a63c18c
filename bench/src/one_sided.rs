//! Reads of 64 B of the server's memory without its workers, compared with RPCs of 64 B: from
//! memory that the client has mapped, by the engine over shared memory, and over UDP.

use crate::Failure;
use crate::child::{self, Server};
use crate::measure::{Pipe, median};
use crate::row::{Bound, against, plain};
use crate::ways::{FIGURES, PAYLOAD_BYTES, Sample, Way, rounds, sample};
use nebula::{Client, ClientConfig, IdlePolicy, Region, RegionId, Reply, Rights, ServerConfig, Span, SubmitError};
use nebula_sys::clock::Clock;
use std::hint::black_box;

const REGION: RegionId = RegionId(0);
const REGION_BYTES: usize = 1 << 20;
/// Of mapped memory: reads of one measurement, and measurements.
const READS: u64 = 1_000_000;
const ROUNDS: usize = 9;

#[derive(Clone, Copy, PartialEq)]
enum Ask {
    Rpc,
    Read,
}

struct Asker {
    client: Client,
    ask: Ask,
    _server: Server,
}

impl Asker {
    fn start(endpoint: String, ask: Ask) -> Result<Self, Failure> {
        let server = Server::start(&["serve-one-sided", &endpoint])?;
        let client = Client::connect_with(&endpoint, ClientConfig::default().one_sided(ask == Ask::Read))?;
        Ok(Self { client, ask, _server: server })
    }

    fn shm(ask: Ask) -> Result<Self, Failure> {
        Self::start(format!("shm://bench-one-sided-{}", std::process::id()), ask)
    }

    fn udp(ask: Ask) -> Result<Self, Failure> {
        Self::start(format!("udp://{}", child::unused_address()?), ask)
    }
}

impl Pipe for Asker {
    #[inline(always)]
    fn send(&mut self, n: u64) -> bool {
        let at = n * PAYLOAD_BYTES as u64 % REGION_BYTES as u64;
        let submitted = match self.ask {
            Ask::Rpc => self.client.submit(&[7; PAYLOAD_BYTES]),
            Ask::Read => self.client.read(REGION, at, PAYLOAD_BYTES as u32),
        };
        match submitted {
            Ok(_) => true,
            Err(SubmitError::Full) => false,
            Err(error) => panic!("the client ended: {error}"),
        }
    }

    #[inline(always)]
    fn take(&mut self) -> u64 {
        let mut taken = 0;
        while let Some(done) = self.client.poll() {
            assert_eq!(done.result.expect("an answer"), [7; PAYLOAD_BYTES], "the answer");
            taken += 1;
        }
        taken
    }
}

const WAYS: &[Way] = &[
    Way { name: "RPC, shm://", measure: || sample(Asker::shm(Ask::Rpc)?) },
    Way { name: "one-sided read by the engine, shm://", measure: || sample(Asker::shm(Ask::Read)?) },
    Way { name: "RPC, udp://", measure: || sample(Asker::udp(Ask::Rpc)?) },
    Way { name: "one-sided read, udp://", measure: || sample(Asker::udp(Ask::Read)?) },
];

pub fn run() -> Result<(), Failure> {
    child::pin_client()?;
    mapped()?;
    let medians = rounds(WAYS)?;
    let measured: Vec<(&Way, &Sample)> = WAYS.iter().zip(&medians).collect();
    let [p50, p99, rate] = FIGURES;
    for pair in measured.chunks(2) {
        let (rpc, read) = (pair[0], pair[1]);
        [&p50, &p99, &rate].iter().for_each(|figure| figure.print(rpc));
        let bound = rpc.0.name.contains("udp").then_some(Bound::AtLeast(1.0));
        p50.print_beside(read, rpc, None);
        p99.print_beside(read, rpc, None);
        rate.print_beside(read, rpc, bound);
    }
    Ok(())
}

/// A read of memory that the client has mapped, compared with a plain load there and with a round
/// without memory.
fn mapped() -> Result<(), Failure> {
    let name = format!("shm://bench-mapped-{}", std::process::id());
    let region = Region::create(REGION_BYTES)?;
    let server = nebula::Server::bind(&name).inline(true).register(&region, Rights::READ | Rights::MAP);
    let server = server.serve(|request: &[u8], reply: &mut Reply| reply.write(request))?;
    let mut client = Client::connect_with(&name, ClientConfig::default().one_sided(true))?;
    let mut read = |bytes: u32| {
        time(|n| {
            let ticket = client.read(REGION, n * 64 % REGION_BYTES as u64, bytes).expect("room");
            let done = client.poll().expect("it has ended");
            assert_eq!(done.ticket, ticket);
            black_box(done.result.expect("it is allowed"));
        })
    };
    let mut times = [const { Vec::new() }; 3];
    for _ in 0..ROUNDS {
        times[0].push(read(PAYLOAD_BYTES as u32));
        times[1].push(read(0));
        times[2].push(time(|n| {
            let mut into = [0; PAYLOAD_BYTES];
            let at = usize::try_from(n * 64 % REGION_BYTES as u64).expect("an index");
            region.read(at, &mut into).expect("inside");
            black_box(into);
        }));
    }
    let [read, round, load] = times.map(median);
    plain("a plain load of 64 B through a mapping", load, "ns");
    plain("a one-sided round of 0 B", round, "ns");
    let what = "one-sided read of 64 B, mapped, shm://";
    against(what, read, "ns", ("a plain load and a round of 0 B", load + round), Some(Bound::AtMost(1.1)));
    server.stop();
    Ok(())
}

fn time(mut one: impl FnMut(u64)) -> f64 {
    let clock = Clock::new();
    let started = clock.now_ps();
    (0..READS).for_each(&mut one);
    (clock.now_ps() - started) as f64 / 1000.0 / READS as f64
}

pub fn serve(endpoint: &str) -> Result<(), Failure> {
    let config = ServerConfig::default().inline(true).idle(IdlePolicy::Spin).pin([child::server_core()]);
    // On a machine with other load a core may be away for milliseconds, and no RPC should be
    // refused for that.
    let config = config.slo(Span::from_ms(10));
    let region = Region::create(REGION_BYTES)?;
    region.write(0, &vec![7; REGION_BYTES])?;
    let server = nebula::Server::bind(endpoint).config(config).register(&region, Rights::READ);
    let server = server.serve(|request: &[u8], reply: &mut Reply| reply.write(request))?;
    child::ready()?;
    server.join()?;
    Ok(())
}
