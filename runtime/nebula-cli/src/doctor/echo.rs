//! A real round trip: 64 bytes to a server on another core and back.
//!
//! The load is open-loop: RPCs are due at a fixed rate, and latency counts from the moment an RPC
//! was due. A closed loop would hide the pauses of the machine (coordinated omission).

use nebula::{Client, Reply, Server, ServerConfig, Span, StatusReader};
use nebula_nic::Timestamp;
use nebula_sys::affinity::{allowed_cores, pin_to};
use nebula_sys::clock::Clock;
use nebula_workload::{Gap, GapDetector, GapLog, LatencyRecorder, Tails};

use super::finding::Finding;
use nebula_ops::or_fail::OrFail;
use nebula_ui::output::{Failure, units};
use nebula_ui::signal;

/// Long enough for client and server to be idle between two RPCs.
const PACE: Span = Span::from_us(20);

pub(super) fn finding(time: Span) -> Result<Finding, Failure> {
    let &[server_core, client_core, ..] = allowed_cores().as_slice() else {
        return Ok(Finding::new("round trip", "not measured: client and server would share one core")
            .advise_unless(false, "give this process at least two cores"));
    };
    let name = format!("shm://nebula-doctor-{}", std::process::id());
    let config = ServerConfig::default().inline(true).pin([server_core]);
    let echo = |request: &[u8], reply: &mut Reply| reply.write(request);
    let running = Server::bind(&name).config(config).serve(echo).or_fail()?;
    // On a separate thread: pinning ends with it.
    let client =
        std::thread::spawn(move || pin_to(client_core).map_err(Failure::fault).and_then(|()| measure(&name, time)));
    let tails = client.join().map_err(|_| Failure::fault("the measuring thread panicked"))??;
    running.stop();
    Ok(describe(&tails))
}

fn measure(name: &str, time: Span) -> Result<Tails, Failure> {
    const REQUEST: [u8; 64] = [7; 64];
    let (mut client, clock) = (Client::connect(name).or_fail()?, Clock::new());
    let now = || Timestamp::from_ps(clock.now_ps());
    let start = now();
    let warm_until = start + Span::from_ps(time.as_ps() / 10);
    let mut tails = Tails::new(warm_until, Tails::GUARD, 1 << 20);
    let mut own = GapDetector::new(GapDetector::THRESHOLD, 1 << 16);
    let mut server = GapLog::with_capacity(1 << 16);
    let mut server_seen = client.status().map_or(0, StatusReader::gaps_seen);
    let mut due = start + PACE;
    while due < start + time && !signal::has_come() {
        while now() < due {
            own.observe(now());
        }
        client.submit(&REQUEST).map_err(Failure::fault)?;
        let done = loop {
            let is_over = client.poll().map(|done| done.result.map(drop)).transpose().map_err(Failure::fault)?;
            let now = now();
            own.observe(now);
            if is_over.is_some() {
                break now;
            }
        };
        tails.record_reply(due, done);
        due += PACE;
        if client.status().is_some_and(|status| status.gaps_seen() > server_seen + 64) {
            server_seen = note_gaps(&client, clock, server_seen, &mut server);
        }
    }
    note_gaps(&client, clock, server_seen, &mut server);
    tails.settle_all(&GapLog::merged([own.log(), &server]));
    Ok(tails)
}

/// Copies the server's gaps from number `seen` on; returns the number of the next.
fn note_gaps(client: &Client, clock: Clock, seen: u64, log: &mut GapLog) -> u64 {
    let Some(status) = client.status() else { return seen };
    let next = status.gaps_seen();
    for gap in status.gaps(seen, clock) {
        log.push(Gap { start: Timestamp::from_ps(gap.from_ps), end: Timestamp::from_ps(gap.to_ps) });
    }
    next
}

fn describe(tails: &Tails) -> Finding {
    let quantile = |of: &LatencyRecorder, q| of.quantile(q).and_then(nebula_workload::Latency::finite);
    let shown = |of: &LatencyRecorder, q| quantile(of, q).map_or("–".to_owned(), units::span);
    let (raw, excluded) = (tails.raw(), tails.gaps_excluded());
    let kept = tails.share_kept().map_or("–".to_owned(), units::percent);
    let measured = format!(
        "64 B over shm, 50k RPC/s: p50 {}, p99 {}; with gaps excluded p99 {} ({kept} kept)",
        shown(raw, 0.5),
        shown(raw, 0.99),
        shown(excluded, 0.99),
    );
    let ns = |of: &LatencyRecorder, q| quantile(of, q).map(Span::as_ns);
    Finding::new("round trip", measured)
        .value("round_trip_ns_p50", ns(raw, 0.5))
        .value("round_trip_ns_p99", ns(raw, 0.99))
        .value("round_trip_ns_p50_gaps_excluded", ns(excluded, 0.5))
        .value("round_trip_ns_p99_gaps_excluded", ns(excluded, 0.99))
        .value("share_kept", tails.share_kept())
        .advise_unless(
            quantile(raw, 0.5).is_some_and(|p50| p50 < Span::from_us(2)),
            "client and server do not run at the same time: stop other programs, or give this process dedicated cores",
        )
}
