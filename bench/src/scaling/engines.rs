//! The rate of engines side by side, each with its worker on its core and a client on another.

use super::{SLO, affordable, counted};
use crate::Failure;
use crate::bare::Bare;
use crate::measure::{Pipe, median, throughput};
use crate::row::{Bound, against, plain};
use nebula::{Client, ClientConfig, IdlePolicy, Reply, ServerConfig};
use nebula_sys::affinity::pin_to;
use std::sync::Barrier;

const ENGINES: [u16; 4] = [1, 2, 4, 8];
const OUTSTANDING: u64 = 64;
const PAYLOAD_BYTES: usize = 48;
const ROUNDS: usize = 5;
/// How engines scale, over how as many bare rings in the same places do: where more pairs of cores
/// slow each other down, rings without engines become slower too.
const SCALES: Bound = Bound::AtLeast(0.9);
/// A slot of a bare ring: the lines that an echo moves, two apart.
const BARE: (usize, usize) = (1, 2);

pub fn compare(cores: &[usize]) -> Result<(), Failure> {
    let mut one = None;
    for engines in affordable("engines", &ENGINES, cores.len(), |engines| 2 * engines) {
        let (mut rates, mut bare) = (Vec::new(), Vec::new());
        for _ in 0..ROUNDS {
            rates.push(together(engines, cores)?);
            bare.push(bare_together(engines, cores)?);
        }
        let (rate, bare) = (median(rates), median(bare));
        let (one_rate, one_bare) = *one.get_or_insert((rate, bare));
        let what = counted(engines, "engine");
        let what = format!("echo of 48 B, {what} inline, a client with 64 outstanding each");
        plain(&format!("{what}: bare rings in the same places"), bare, "M RPC/s");
        let ideal = ("as bare rings scale", one_rate * bare / one_bare);
        against(&what, rate, "M RPC/s", ideal, Some(SCALES));
        plain(&format!("{what}: of linear"), rate / (one_rate * f64::from(engines)), "");
    }
    Ok(())
}

/// A pair of cores for each engine: the engine's and its client's.
fn pairs(engines: u16, cores: &[usize]) -> (&[usize], &[usize]) {
    cores[..2 * usize::from(engines)].split_at(usize::from(engines))
}

/// As [`together`], of bare rings.
fn bare_together(engines: u16, cores: &[usize]) -> Result<f64, Failure> {
    let (servers, clients) = pairs(engines, cores);
    sum_of_rates(clients, |at| Bare::start_on(servers[at], BARE.0, BARE.1))
}

/// Millions of RPCs a second of one client for each engine, all at once.
fn together(engines: u16, cores: &[usize]) -> Result<f64, Failure> {
    let (servers, clients) = pairs(engines, cores);
    let endpoint = format!("shm://bench-engines-{}", std::process::id());
    let config = ServerConfig::default().engines(engines).workers(engines).inline(true).pin(servers.to_vec());
    let server = nebula::Server::bind(&endpoint).config(config.idle(IdlePolicy::Spin).slo(SLO));
    let server = server.serve(|request: &[u8], reply: &mut Reply| reply.write(request))?;
    let rate =
        sum_of_rates(clients, |_| Ok(Echo(Client::connect_with(&endpoint, ClientConfig::default().slots(64))?)))?;
    server.stop();
    Ok(rate)
}

/// Millions of RPCs a second of all pipes together, each made and used by a thread on its core.
fn sum_of_rates<P: Pipe>(cores: &[usize], pipe: impl Fn(usize) -> Result<P, Failure> + Sync) -> Result<f64, Failure> {
    let all_there = Barrier::new(cores.len());
    let rate_of = |at: usize| {
        let made = pin_to(cores[at]).map_err(Failure::from).and_then(|()| pipe(at)).map_err(|error| error.to_string());
        // Before any thread can fail: otherwise the others would wait forever.
        all_there.wait();
        Ok(throughput(&mut made?, OUTSTANDING))
    };
    let rate_of = &rate_of;
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..cores.len()).map(|at| scope.spawn(move || rate_of(at))).collect();
        threads.into_iter().map(|thread| thread.join().expect("a client's thread")).sum::<Result<f64, String>>()
    })
    .map_err(Failure::from)
}

struct Echo(Client);

impl Pipe for Echo {
    #[inline(always)]
    fn send(&mut self, _: u64) -> bool {
        self.0.submit(&[7; PAYLOAD_BYTES]).is_ok()
    }

    #[inline(always)]
    fn take(&mut self) -> u64 {
        let mut taken = 0;
        while let Some(done) = self.0.poll() {
            assert!(done.result.is_ok_and(|reply| reply.len() == PAYLOAD_BYTES), "the echo failed");
            taken += 1;
        }
        taken
    }
}
