//! Echoes over shared memory, each figure from many starts of both processes: where the kernel has
//! put a ring's pages and the threads decides some figures for the life of a process.

use crate::Failure;
use crate::bare::{self, Bare};
use crate::child::{self, Server};
use crate::measure::{Pipe, median, round_trip, throughput};
use crate::row::{Bound, against, plain};
use nebula::{CallError, Client, Reply};

/// Of each side, alternating.
const STARTS: usize = 20;
const STARTS_OF_A_SIZE: usize = 7;
const OUTSTANDING: u64 = 64;
/// A start is as good as the bare ring if its round trip takes at most this many times as long.
const NEAR: f64 = 1.2;
/// Cache lines of a slot of our ring on defaults.
const OUR_LINES: usize = 10;

struct Echo {
    client: Client,
    request: Vec<u8>,
    refused: u64,
    _server: Server,
}

impl Echo {
    fn start(bytes: usize) -> Result<Self, Failure> {
        let name = format!("shm://bench-user-{}", std::process::id());
        let server = Server::start(&["serve-echo", &name])?;
        let mut client = Client::connect(&name)?;
        let request = vec![7; bytes];
        assert!(client.call(&request)? == request, "the echo failed");
        Ok(Self { client, request, refused: 0, _server: server })
    }
}

impl Pipe for Echo {
    fn send(&mut self, _: u64) -> bool {
        self.client.submit(&self.request).is_ok()
    }

    fn take(&mut self) -> u64 {
        let mut taken = 0;
        while let Some(done) = self.client.poll() {
            match done.result {
                Ok(reply) => assert!(reply.len() == self.request.len(), "the echo failed"),
                // A server that the machine has paused bounds its queue by what it has measured.
                Err(CallError::Nack { .. }) => self.refused += 1,
                Err(error) => panic!("the echo failed: {error}"),
            }
            taken += 1;
        }
        taken
    }
}

impl Drop for Echo {
    fn drop(&mut self) {
        if self.refused > 0 {
            eprintln!("{} RPCs were refused in this start", self.refused);
        }
    }
}

/// A server on defaults. Never returns; its parent kills it.
pub fn serve(name: &str) -> Result<(), Failure> {
    let server = nebula::Server::bind(name).serve(|request: &[u8], reply: &mut Reply<'_>| reply.write(request))?;
    child::ready()?;
    server.join()?;
    Ok(())
}

pub fn run() -> Result<(), Failure> {
    for bytes in [48, 64] {
        rates(bytes)?;
    }
    round_trips()?;
    for bytes in [1024, 2048, 4096] {
        size(bytes)?;
    }
    Ok(())
}

/// Cache lines that hold a message of `bytes` behind the bare ring's flag.
fn lines_of(bytes: usize) -> usize {
    (bytes + bare::FLAG_BYTES).div_ceil(64)
}

/// The bare rings: slots next to each other, one line apart, and as far apart as ours.
fn bare_rings(bytes: usize) -> [(usize, usize); 3] {
    let lines = lines_of(bytes);
    [(lines, lines), (lines, lines + 1), (lines, OUR_LINES.max(lines))]
}

fn rates(bytes: usize) -> Result<(), Failure> {
    let (mut ours, mut best, mut each) = (Vec::new(), Vec::new(), [(); 3].map(|()| Vec::new()));
    for _ in 0..STARTS_OF_A_SIZE {
        ours.push(throughput(&mut Echo::start(bytes)?, OUTSTANDING));
        let mut rates = [0.0; 3];
        for ((rate, (lines, stride)), rates_of) in rates.iter_mut().zip(bare_rings(bytes)).zip(&mut each) {
            *rate = throughput(&mut Bare::start_apart(lines, stride)?, OUTSTANDING);
            rates_of.push(*rate);
        }
        best.push(rates.into_iter().fold(0.0, f64::max));
    }
    let what = format!("{bytes} B, {OUTSTANDING} outstanding");
    for ((lines, stride), rates) in bare_rings(bytes).into_iter().zip(each) {
        plain(&format!("bare ring, {what}, {lines} line(s) every {stride}"), median(rates), "M RPC/s");
    }
    let best = ("best bare ring of each start", median(best));
    against(&format!("echo on defaults, {what}"), median(ours), "M RPC/s", best, Some(Bound::AtLeast(0.9)));
    Ok(())
}

fn round_trips() -> Result<(), Failure> {
    let (mut ours, mut bare) = (Vec::new(), Vec::new());
    for _ in 0..STARTS {
        bare.push(round_trip(&mut Bare::start(1)?).0);
        ours.push(round_trip(&mut Echo::start(48)?).0);
    }
    let yardstick = median(bare.clone());
    let near = ours.iter().filter(|&&p50| p50 <= NEAR * yardstick).count() as f64 / STARTS as f64;
    eprintln!("round trips, p50 of each start in ns, the bare ring's and ours:\n{}", histogram(&bare, &ours));
    let name = format!("echo on defaults, 48 B, round trip p50 of {STARTS} starts");
    plain("bare ring, round trip p50, median start", yardstick, "ns");
    against(&format!("{name}, median"), median(ours.clone()), "ns", ("bare ring", yardstick), None);
    let worst = ours.iter().copied().fold(0.0, f64::max);
    against(&format!("{name}, worst"), worst, "ns", ("bare ring", yardstick), None);
    against(&format!("{name}, within {NEAR} x"), near, "of the starts", ("all", 1.0), Some(Bound::AtLeast(0.95)));
    Ok(())
}

fn size(bytes: usize) -> Result<(), Failure> {
    let (mut ours, mut bare) = (Vec::new(), Vec::new());
    for _ in 0..STARTS_OF_A_SIZE {
        bare.push(round_trip(&mut Bare::start(lines_of(bytes))?).0);
        ours.push(round_trip(&mut Echo::start(bytes)?).0);
    }
    let what = format!("echo on defaults, {bytes} B, round trip p50");
    against(&what, median(ours), "ns", ("bare ring", median(bare)), Some(Bound::AtMost(NEAR)));
    Ok(())
}

/// Starts by their p50, in steps of 25 ns: `o` for each of ours, `-` for each of the bare ring's.
fn histogram(bare: &[f64], ours: &[f64]) -> String {
    const STEP_NS: f64 = 25.0;
    let step = |p50: f64| (p50 / STEP_NS) as u64;
    let mut steps: std::collections::BTreeMap<u64, String> = std::collections::BTreeMap::new();
    for (mark, starts) in [('-', bare), ('o', ours)] {
        starts.iter().for_each(|&p50| steps.entry(step(p50)).or_default().push(mark));
    }
    steps.iter().map(|(step, marks)| format!("{:6.0} {marks}\n", *step as f64 * STEP_NS)).collect()
}
