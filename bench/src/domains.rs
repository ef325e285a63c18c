//! Two messaging domains on one core: the effect of a noisy one on the other's latency, and whether
//! weights hold.
//!
//! One thread is the client of both, so that neither client delays the other. The first domain has
//! one RPC at a time, some 30 % of the core; the second keeps the offered number outstanding.

use crate::Failure;
use crate::bare::Bare;
use crate::child::{self, Server};
use crate::measure::{median, round_trip};
use crate::row::{Bound, against, plain};
use nebula::{Client, ClientConfig, Completion, Domains, Reply, ServerConfig, Span};
use nebula_sys::clock::Clock;

/// Of an RPC of either domain.
const SERVICE: Span = Span::from_us(1);
/// Between two RPCs of the first domain.
const EVERY: Span = Span::from_us(3);
/// RPCs of the second domain outstanding: enough to keep it busy, and ten times that.
const BUSY: u32 = 8;
const NOISY: u32 = 80;
const RPCS: usize = 100_000;
const ROUNDS: usize = 5;

fn name_of(name: &str, domain: u8) -> String {
    format!("{name}-{domain}")
}

/// Both domains, in a process that runs until it is killed.
pub fn serve(name: &str) -> Result<(), Failure> {
    let work = |request: &[u8], reply: &mut Reply<'_>| {
        let clock = Clock::new();
        let begun = clock.now_ps();
        while clock.now_ps() - begun < SERVICE.as_ps() {
            std::hint::spin_loop();
        }
        reply.write(request);
    };
    let config = |domain| ServerConfig::default().domain(domain).service_mean(SERVICE).slo(Span::from_us(50));
    let server = |domain| nebula::Server::bind(&name_of(name, domain)).config(config(domain));
    let domains = Domains::default().host(1, server(1), work).host(1, server(2), work).pin(child::server_core());
    let domains = domains.serve()?;
    child::ready()?;
    loop {
        std::thread::park();
        // Until this process is killed.
        let _ = domains.servers();
    }
}

#[derive(Default)]
struct Figures {
    p50: Vec<f64>,
    p95: Vec<f64>,
    p99: Vec<f64>,
}

/// One round: the first domain's latencies in nanoseconds while the second keeps `outstanding` RPCs
/// outstanding.
fn round(outstanding: u32, figures: &mut Figures) -> Result<(), Failure> {
    let name = format!("shm://bench-domains-{}-{outstanding}", std::process::id());
    let _server = Server::start(&["serve-domains", &name])?;
    let connect = |domain| Client::connect_with(&name_of(&name, domain), ClientConfig::default().domain(domain));
    let (mut quiet, mut noisy) = (connect(1)?, connect(2)?);
    let clock = Clock::new();
    let mut latencies = Vec::with_capacity(RPCS);
    let (mut sent, mut due) = (None, clock.now_ps());
    // The first tenth is not measured.
    for warm in [RPCS / 10, RPCS] {
        latencies.clear();
        while latencies.len() < warm {
            while noisy.outstanding() < outstanding && noisy.submit(&[2; 32]).is_ok() {}
            // NACKs are ignored: the next RPC follows at once.
            while noisy.poll().is_some() {}
            let now = clock.now_ps();
            match sent {
                None if now >= due => {
                    quiet.submit(&[1; 32])?;
                    (sent, due) = (Some(now), due.max(now) + EVERY.as_ps());
                }
                None => {}
                Some(begun) => {
                    if let Some(Completion { result, .. }) = quiet.poll() {
                        // A refusal would falsify the latencies.
                        result.map_err(|error| format!("the quiet domain: {error}"))?;
                        latencies.push((clock.now_ps() - begun) as f64 / 1000.0);
                        sent = None;
                    }
                }
            }
        }
    }
    latencies.sort_by(f64::total_cmp);
    let at = |share: f64| latencies[((latencies.len() - 1) as f64 * share) as usize];
    figures.p50.push(at(0.5));
    figures.p95.push(at(0.95));
    figures.p99.push(at(0.99));
    Ok(())
}

pub fn run() -> Result<(), Failure> {
    child::pin_client()?;
    let [mut alone, mut busy, mut loud] = [(); 3].map(|()| Figures::default());
    let mut bare = Vec::new();
    for _ in 0..ROUNDS {
        bare.push(round_trip(&mut Bare::start(1)?).0);
        round(0, &mut alone)?;
        round(BUSY, &mut busy)?;
        round(NOISY, &mut loud)?;
    }
    plain("bare in-place ring, round trip p50", median(bare), "ns");
    let said = |what: &str, figures: &Figures| {
        plain(&format!("a domain of 1 us RPCs, {what}, p50"), median(figures.p50.clone()), "ns");
    };
    said("beside an idle one", &alone);
    said(&format!("beside one that keeps {BUSY} outstanding"), &busy);
    let bound = Some(Bound::AtMost(1.1));
    let baseline = format!("beside one that keeps {BUSY} outstanding");
    for (what, loud, busy) in
        [("p50", &loud.p50, &busy.p50), ("p95", &loud.p95, &busy.p95), ("p99, raw", &loud.p99, &busy.p99)]
    {
        let what = format!("a domain of 1 us RPCs beside one that keeps {NOISY} outstanding and ignores NACKs, {what}");
        against(&what, median(loud.clone()), "ns", (&baseline, median(busy.clone())), bound);
    }
    Ok(())
}
