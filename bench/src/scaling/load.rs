//! The load: several clients of one thread, in closed and in open loops.

use super::service::request;
use crate::Failure;
use nebula::{Client, ClientConfig, Completion, SubmitError};
use nebula_sys::clock::Clock;
use nebula_workload::Rng;

/// Policies that choose by client see this many.
const CLIENTS: usize = 8;
/// Outstanding RPCs of each client: together more than ever wait below saturation.
const SLOTS: u32 = 256;
const WARM_UP_PS: u64 = 30_000_000_000;

pub struct Clients {
    clients: Vec<Caller>,
    clock: Clock,
    draws: Rng,
}

struct Caller {
    client: Client,
    /// By ticket: tickets count from the first.
    due_ps: Vec<u64>,
}

pub struct Round {
    /// From the scheduled time of each answered RPC, sorted.
    latencies_ps: Vec<u64>,
    /// The counted time.
    ps: u64,
}

impl Round {
    pub fn rate_mrps(&self) -> f64 {
        self.latencies_ps.len() as f64 / (self.ps as f64 / 1e6)
    }

    pub fn quantile_ns(&self, share: f64) -> f64 {
        let last = self.latencies_ps.len().saturating_sub(1);
        self.latencies_ps.get((last as f64 * share) as usize).map_or(f64::NAN, |&ps| ps as f64 / 1e3)
    }
}

impl Clients {
    pub fn connect(endpoint: &str, draws: Rng) -> Result<Self, Failure> {
        let connect = || {
            let client = Client::connect_with(endpoint, ClientConfig::default().slots(SLOTS))?;
            Ok(Caller { client, due_ps: Vec::with_capacity(1 << 20) })
        };
        let clients = (0..CLIENTS).map(|_| connect()).collect::<Result<_, Failure>>()?;
        Ok(Self { clients, clock: Clock::new(), draws })
    }

    /// Sends RPCs of exponential times with the mean `mean_ps`, as a Poisson process of `rate_mrps`
    /// million a second, for `for_ps` picoseconds. An RPC without room waits at its client, and its
    /// latency counts from its scheduled time.
    pub fn open(&mut self, rate_mrps: f64, mean_ps: f64, for_ps: u64) -> Result<Round, Failure> {
        let began = self.clock.now_ps();
        let (mut due, mut sent) = (began, 0);
        self.drive(began, for_ps, |callers, now, draws| {
            while due <= now {
                let at = sent % callers.len();
                if !callers[at].submit((draws.exponential() * mean_ps) as u64, due)? {
                    break;
                }
                sent += 1;
                due += (draws.exponential() * 1e6 / rate_mrps) as u64;
            }
            Ok(())
        })
    }

    /// Keeps `outstanding` RPCs of exponential times outstanding for `for_ps` picoseconds.
    pub fn closed(&mut self, outstanding: usize, mean_ps: f64, for_ps: u64) -> Result<Round, Failure> {
        let began = self.clock.now_ps();
        let mut sent = 0;
        self.drive(began, for_ps, |callers, now, draws| {
            while callers.iter().map(|caller| caller.client.outstanding() as usize).sum::<usize>() < outstanding {
                let at = sent % callers.len();
                callers[at].submit((draws.exponential() * mean_ps) as u64, now)?;
                sent += 1;
            }
            Ok(())
        })
    }

    /// Receives answers and calls `send` with the time, in turns, until all RPCs sent within
    /// `for_ps` of `began` have ended.
    fn drive(
        &mut self,
        began: u64,
        for_ps: u64,
        mut send: impl FnMut(&mut [Caller], u64, &mut Rng) -> Result<(), Failure>,
    ) -> Result<Round, Failure> {
        let Self { clients, clock, draws } = self;
        let mut latencies_ps = Vec::with_capacity(1 << 21);
        loop {
            let now = clock.now_ps();
            let is_over = now - began >= for_ps;
            if !is_over {
                send(clients, now, draws)?;
            }
            for caller in &mut *clients {
                caller.take(clock, began + WARM_UP_PS, &mut latencies_ps)?;
            }
            if is_over && clients.iter().all(|caller| caller.client.outstanding() == 0) {
                latencies_ps.sort_unstable();
                return Ok(Round { latencies_ps, ps: for_ps - WARM_UP_PS });
            }
        }
    }
}

impl Caller {
    /// Sends an RPC that computes for `ps` and was due at `due_ps`; `false` if its client has no
    /// room.
    fn submit(&mut self, ps: u64, due_ps: u64) -> Result<bool, Failure> {
        match self.client.submit(&request(ps)) {
            Ok(ticket) => {
                self.due_ps.resize(ticket.0 as usize + 1, 0);
                self.due_ps[ticket.0 as usize] = due_ps;
                Ok(true)
            }
            Err(SubmitError::Full) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    fn take(&mut self, clock: &Clock, counted_from: u64, latencies_ps: &mut Vec<u64>) -> Result<(), Failure> {
        let Self { client, due_ps } = self;
        let mut failed = None;
        client.take_all(|Completion { ticket, result }| {
            let due = due_ps[ticket.0 as usize];
            match result {
                Ok(_) if due >= counted_from => latencies_ps.push(clock.now_ps() - due),
                Ok(_) => {}
                Err(error) => failed = Some(error),
            }
        });
        failed.map_or(Ok(()), |error| Err(error.into()))
    }
}
