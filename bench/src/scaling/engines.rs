//! The rate of engines side by side, each with its worker on its core and a client on another.

use super::{SLO, affordable, counted};
use crate::Failure;
use crate::measure::{Pipe, median, throughput};
use crate::row::{Bound, against};
use nebula::{Client, ClientConfig, IdlePolicy, Reply, ServerConfig};
use nebula_sys::affinity::pin_to;
use std::sync::Barrier;

const ENGINES: [u16; 4] = [1, 2, 4, 8];
const OUTSTANDING: u64 = 64;
const PAYLOAD_BYTES: usize = 48;
const ROUNDS: usize = 5;
/// The rate of several engines over that many times the rate of one.
const SCALES: Bound = Bound::AtLeast(0.9);

pub fn compare(cores: &[usize]) -> Result<(), Failure> {
    let mut one = None;
    for engines in affordable("engines", &ENGINES, cores.len(), |engines| 2 * engines) {
        let rates = (0..ROUNDS).map(|_| together(engines, cores)).collect::<Result<Vec<_>, _>>()?;
        let rate = median(rates);
        let ideal = *one.get_or_insert(rate) * f64::from(engines);
        let what = format!("echo of 48 B, {} inline, a client with 64 outstanding each", counted(engines, "engine"));
        against(&what, rate, "M RPC/s", ("as many times one", ideal), Some(SCALES));
    }
    Ok(())
}

/// Millions of RPCs a second of one client for each engine, all at once.
fn together(engines: u16, cores: &[usize]) -> Result<f64, Failure> {
    let (servers, clients) = cores[..2 * usize::from(engines)].split_at(usize::from(engines));
    let endpoint = format!("shm://bench-engines-{}", std::process::id());
    let config = ServerConfig::default().engines(engines).workers(engines).inline(true).pin(servers.to_vec());
    let server = nebula::Server::bind(&endpoint).config(config.idle(IdlePolicy::Spin).slo(SLO));
    let server = server.serve(|request: &[u8], reply: &mut Reply| reply.write(request))?;
    let all_there = Barrier::new(clients.len());
    let rate_on = |core: usize| rate_on(core, &endpoint, &all_there);
    let rate = std::thread::scope(|scope| {
        let threads: Vec<_> = clients.iter().map(|&core| scope.spawn(move || rate_on(core))).collect();
        threads.into_iter().map(|thread| thread.join().expect("a client's thread")).sum::<Result<f64, String>>()
    })?;
    server.stop();
    Ok(rate)
}

fn rate_on(core: usize, endpoint: &str, all_there: &Barrier) -> Result<f64, String> {
    let connected = pin_to(core).map_err(|error| error.to_string());
    let connected = connected.and_then(|()| {
        Client::connect_with(endpoint, ClientConfig::default().slots(64)).map_err(|error| error.to_string())
    });
    // Before any client can fail: otherwise the others would wait forever.
    all_there.wait();
    Ok(throughput(&mut Echo(connected?), OUTSTANDING))
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
