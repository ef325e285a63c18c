//! A server that is offered three times its capacity: its rate, and its latency.
//!
//! The peak is that of a closed loop with enough RPCs outstanding to keep the server busy. Then
//! RPCs arrive at fixed times, whatever their outcome. RPCs without room in their client, and
//! NACKed ones, count as refused; the others must meet the SLO.

use crate::Failure;
use crate::child::{self, Server};
use crate::row::{Bound, against, plain};
use crate::watchdog::within;
use nebula::{CallError, Client, ClientConfig, IdlePolicy, Reply, ServerConfig, Span, SubmitError};
use nebula_sys::clock::Clock;
use std::time::Duration;

/// The computation of an RPC.
const SERVICE_PS: u64 = 10_000_000;
/// For 99 % of the accepted RPCs: ten service times, and as much again for the kernel.
const SLO: Span = Span::from_us(200);
const CLIENTS: usize = 4;
/// Outstanding RPCs per client when the peak is measured: together fewer than the SLO leaves room
/// for.
const CLOSED: u64 = 1;
/// The most outstanding RPCs of a client in the open loop: together twice as many as the SLO leaves
/// room for. An RPC without room is refused at once, as in a program with a bounded queue.
const SLOTS: u32 = 8;
/// In multiples of the peak.
const OVERLOAD: f64 = 3.0;
/// Of a round, and of its uncounted beginning.
const ROUND_PS: u64 = 500_000_000_000;
const WARM_UP_PS: u64 = 50_000_000_000;
/// For everything, which takes two seconds.
const LIMIT: Duration = Duration::from_secs(60);

pub fn run() -> Result<(), Failure> {
    child::pin_client()?;
    within(LIMIT, "overload", || {
        let peak = trial(|_, outstanding| if outstanding < CLOSED { 1 } else { 0 })?;
        let interval_ps = 1e12 / (peak.served_rps * OVERLOAD);
        let mut arrived = 0;
        let over = trial(|elapsed_ps, _| {
            let due = (elapsed_ps as f64 / interval_ps) as u64;
            let new = due - arrived;
            arrived = due;
            new
        })?;
        print(&peak, &over);
        Ok(())
    })
}

fn print(peak: &Trial, over: &Trial) {
    let krps = |rps: f64| rps / 1e3;
    plain("10 us service over UDP, peak", krps(peak.served_rps), "k RPC/s");
    plain("10 us service over UDP, offered at 3x overload", krps(over.offered_rps), "k RPC/s");
    plain("10 us service over UDP, refused by a NACK at 3x overload", krps(over.nacked_rps), "k RPC/s");
    let served = "10 us service over UDP, served at 3x overload";
    against(served, krps(over.served_rps), "k RPC/s", ("peak", krps(peak.served_rps)), Some(Bound::AtLeast(0.9)));
    let slo = ("SLO", SLO.as_ps() as f64 / 1e3);
    plain("10 us service over UDP, round trip p99 at the peak", peak.p99_ns, "ns");
    let late = "10 us service over UDP, round trip p99 of what is served at 3x overload";
    against(late, over.p99_ns, "ns", slo, Some(Bound::AtMost(1.0)));
}

struct Trial {
    offered_rps: f64,
    served_rps: f64,
    nacked_rps: f64,
    p99_ns: f64,
}

/// Runs one server and its clients for one round. `arrivals` returns how many RPCs arrive, given
/// the time since the start and the client's outstanding RPCs.
fn trial(mut arrivals: impl FnMut(u64, u64) -> u64) -> Result<Trial, Failure> {
    let endpoint = format!("udp://{}", child::unused_address()?);
    let _server = Server::start(&["serve-udp", "spin", &endpoint])?;
    let connect = || Ok(Caller::new(Client::connect_with(&endpoint, ClientConfig::default().slots(SLOTS))?));
    let mut callers = (0..CLIENTS).map(|_| connect()).collect::<Result<Vec<_>, Failure>>()?;
    let clock = Clock::new();
    let start = clock.now_ps();
    let mut tally = Tally::default();
    for turn in 0.. {
        let now = clock.now_ps();
        if now - start > ROUND_PS {
            break;
        }
        let is_counted = now - start > WARM_UP_PS;
        let caller = &mut callers[turn % CLIENTS];
        for _ in 0..arrivals(now - start, caller.outstanding()) {
            tally.offered += u64::from(is_counted);
            caller.submit(now)?;
        }
        caller.take(&clock, if is_counted { Some(&mut tally) } else { None })?;
    }
    Ok(tally.over(ROUND_PS - WARM_UP_PS))
}

#[derive(Default)]
struct Tally {
    offered: u64,
    nacked: u64,
    times_ps: Vec<u64>,
}

impl Tally {
    fn over(mut self, elapsed_ps: u64) -> Trial {
        self.times_ps.sort_unstable();
        let rps = |rpcs: usize| rpcs as f64 / (elapsed_ps as f64 / 1e12);
        let p99 = self.times_ps.get(self.times_ps.len() * 99 / 100).copied();
        Trial {
            offered_rps: rps(self.offered as usize),
            served_rps: rps(self.times_ps.len()),
            nacked_rps: rps(self.nacked as usize),
            p99_ns: p99.unwrap_or(u64::MAX) as f64 / 1e3,
        }
    }
}

struct Caller {
    client: Client,
    /// By ticket: tickets count from the first.
    submitted_ps: Vec<u64>,
}

impl Caller {
    fn new(client: Client) -> Self {
        Self { client, submitted_ps: Vec::with_capacity(1 << 20) }
    }

    fn outstanding(&self) -> u64 {
        u64::from(self.client.outstanding())
    }

    /// Submits an RPC; without room, it counts as refused.
    fn submit(&mut self, now_ps: u64) -> Result<(), Failure> {
        match self.client.submit(&[7; 64]) {
            Ok(ticket) => {
                self.submitted_ps.resize(ticket.0 as usize + 1, 0);
                self.submitted_ps[ticket.0 as usize] = now_ps;
                Ok(())
            }
            Err(SubmitError::Full) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    fn take(&mut self, clock: &Clock, mut tally: Option<&mut Tally>) -> Result<(), Failure> {
        while let Some(done) = self.client.poll() {
            let tally = tally.as_deref_mut();
            match (done.result, tally) {
                (Ok(_), Some(tally)) => {
                    tally.times_ps.push(clock.now_ps() - self.submitted_ps[done.ticket.0 as usize]);
                }
                (Err(CallError::Nack { .. }), Some(tally)) => tally.nacked += 1,
                (Ok(_) | Err(CallError::Nack { .. }), None) => {}
                (Err(error), _) => return Err(error.into()),
            }
        }
        Ok(())
    }
}

pub fn serve(endpoint: &str) -> Result<(), Failure> {
    let config = ServerConfig::default().inline(true).idle(IdlePolicy::Spin).pin([child::server_core()]).slo(SLO);
    let clock = Clock::new();
    let server = nebula::Server::bind(endpoint).config(config).serve(move |request: &[u8], reply: &mut Reply| {
        let until = clock.now_ps() + SERVICE_PS;
        while clock.now_ps() < until {
            std::hint::spin_loop();
        }
        reply.write(request);
    })?;
    child::ready()?;
    server.join()?;
    Ok(())
}
