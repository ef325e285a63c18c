//! Clients as users have them: many connected, most of them silent, on a server that sleeps.

use crate::Failure;
use crate::child::{self, Server};
use crate::measure::median;
use crate::row::{Bound, against, plain};
use crate::watchdog::within;
use nebula::{CallError, Client, ClientConfig, Reply, ServerConfig};
use nebula_sys::clock::Clock;
use rustix::event::{EventfdFlags, eventfd};
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

const CONNECTED: [usize; 4] = [1, 64, 1024, 4096];
const FILES: u64 = 20_000;
const LIMIT: Duration = Duration::from_secs(300);
/// Round trips of the active client in a round, and rounds.
const CALLS: usize = 50_000;
const ROUNDS: usize = 5;
/// Calls of the active client between two first calls of silent ones.
const BETWEEN: usize = 50;
/// A client of few slots: a thousand of them are meant.
const SLOTS: u32 = 64;
const PAYLOAD: [u8; 48] = [7; 48];
const IDLE_FOR: Duration = Duration::from_secs(3);
const PACED: [(u64, Option<Bound>); 4] =
    [(100, None), (1_000, Some(Bound::AtMost(1.0))), (10_000, None), (100_000, None)];

pub fn run() -> Result<(), Failure> {
    within(LIMIT, "clients", || {
        child::raise_file_limit(FILES)?;
        child::pin_client()?;
        let alone = with_connected(CONNECTED[0], None)?;
        for connected in &CONNECTED[1..] {
            with_connected(*connected, Some(alone))?;
        }
        memory()?;
        idle()
    })
}

/// One active client, the others silent.
fn with_connected(connected: usize, alone: Option<(f64, f64)>) -> Result<(f64, f64), Failure> {
    let name = format!("shm://bench-clients-{}", std::process::id());
    let _server = Server::start(&["serve-clients", &name])?;
    let connect = || Client::connect_with(&name, ClientConfig::default().slots(SLOTS));
    let mut clients = (0..connected).map(|_| connect()).collect::<Result<Vec<_>, _>>()?;
    let rounds = (0..ROUNDS).map(|_| calls(&mut clients[0], CALLS)).collect::<Result<Vec<_>, _>>()?;
    let [p50, p99] = [0, 1].map(|at| median(rounds.iter().map(|round| [round.0, round.1][at]).collect()));
    let what = |which: &str| format!("round trip {which}, one active of {connected} clients");
    let Some(alone) = alone else {
        plain(&what("p50"), p50, "ns");
        plain(&what("p99"), p99, "ns");
        return Ok((p50, p99));
    };
    against(&what("p50"), p50, "ns", ("one client", alone.0), Some(Bound::AtMost(1.2)));
    against(&what("p99"), p99, "ns", ("one client", alone.1), Some(Bound::AtMost(2.0)));
    let first = first_calls(&mut clients)?;
    let what = format!("first round trip p50 after a second of silence, {connected} clients");
    against(&what, first, "ns", ("one active client", alone.0), Some(Bound::AtMost(3.0)));
    let bare = bare_first(connected)?;
    plain(&format!("first round trip p50 of a bare line with a doorbell, {connected} clients"), bare, "ns");
    plain(&format!("all of {connected} clients active, one RPC each"), all_active(&mut clients)?, "M RPC/s");
    Ok((p50, p99))
}

/// The median and the 99th percentile of as many round trips, in nanoseconds.
fn calls(client: &mut Client, calls: usize) -> Result<(f64, f64), Failure> {
    let clock = Clock::new();
    let mut times = Vec::with_capacity(calls);
    for _ in 0..calls {
        times.push(timed(client, clock)?);
    }
    times.sort_unstable();
    let at = |percent: usize| clock.ps(times[(calls - 1) * percent / 100]) as f64 / 1000.0;
    Ok((at(50), at(99)))
}

fn timed(client: &mut Client, clock: Clock) -> Result<u64, Failure> {
    let from = clock.ticks();
    client.call(&PAYLOAD)?;
    Ok(clock.ticks() - from)
}

/// The first client is active; now and then one of the others makes its first call for a second.
fn first_calls(clients: &mut [Client]) -> Result<f64, Failure> {
    for client in &mut *clients {
        client.call(&PAYLOAD)?;
    }
    std::thread::sleep(Duration::from_secs(1));
    let clock = Clock::new();
    let mut times = Vec::new();
    for at in 1..clients.len() {
        calls(&mut clients[0], BETWEEN)?;
        times.push(timed(&mut clients[at], clock)?);
    }
    times.sort_unstable();
    Ok(clock.ps(times[times.len() / 2]) as f64 / 1000.0)
}

fn all_active(clients: &mut [Client]) -> Result<f64, Failure> {
    let clock = Clock::new();
    let (from, mut done) = (clock.now_ps(), 0_u64);
    for client in &mut *clients {
        client.submit(&PAYLOAD)?;
    }
    while clock.now_ps() - from < 500_000_000_000 {
        for client in &mut *clients {
            let is_over = client.poll().map(|ended| match ended.result {
                Ok(_) => Ok(true),
                Err(CallError::Nack { .. }) => Ok(false),
                Err(error) => Err(error),
            });
            if let Some(is_served) = is_over.transpose()? {
                done += u64::from(is_served);
                client.submit(&PAYLOAD)?;
            }
        }
    }
    Ok(done as f64 / ((clock.now_ps() - from) as f64 / 1e6))
}

/// Clients by default that have made one call each.
fn memory() -> Result<(), Failure> {
    const CLIENTS: usize = 1000;
    let name = format!("shm://bench-clients-{}", std::process::id());
    let server = Server::start(&["serve-clients", &name])?;
    let used = || Ok::<_, Failure>([server.memory_bytes()?, child::memory_bytes(std::process::id())?]);
    let before = used()?;
    let mut clients = (0..CLIENTS).map(|_| Client::connect(&name)).collect::<Result<Vec<_>, _>>()?;
    for client in &mut clients {
        client.call(&PAYLOAD)?;
    }
    let after = used()?;
    for (side, at) in [("server", 0), ("client", 1)] {
        let each = after[at].saturating_sub(before[at]) as f64 / CLIENTS as f64 / 1024.0;
        let bound = Some(Bound::AtMost(1.0));
        against(&format!("memory of a silent client, at the {side}"), each, "KiB", ("target", 8.0), bound);
    }
    Ok(())
}

/// A server without RPCs, and with few: its core, and how long an RPC takes that wakes it.
fn idle() -> Result<(), Failure> {
    let name = format!("shm://bench-clients-{}", std::process::id());
    let server = Server::start(&["serve-clients", &name])?;
    let mut client = Client::connect(&name)?;
    client.call(&PAYLOAD)?;
    std::thread::sleep(Duration::from_millis(100));
    let before = (server.core_ns()?, server.sleeps()?);
    std::thread::sleep(IDLE_FOR);
    let seconds = IDLE_FOR.as_secs_f64();
    let share = (server.core_ns()? - before.0) as f64 / 1e9 / seconds;
    against("idle server, core", share, "of a core", ("target", 0.005), Some(Bound::AtMost(1.0)));
    let sleeps = (server.sleeps()? - before.1) as f64 / seconds;
    against("idle server, wake-ups", sleeps, "per s", ("target", 2.0), Some(Bound::AtMost(1.0)));
    for (rate, bound) in PACED {
        let bare = bare_wake_up(rate)?;
        plain(&format!("at {rate} wake-ups/s of a thread, p50 until it has answered"), bare, "ns");
        let before = server.core_ns()?;
        let (p50, seconds) = paced(&mut client, rate)?;
        let share = (server.core_ns()? - before) as f64 / 1e9 / seconds;
        let what = format!("at {rate} RPC/s, core of the server");
        match bound {
            Some(bound) => against(&what, share, "of a core", ("target", 0.08), Some(bound)),
            None => plain(&what, share, "of a core"),
        }
        let bound = (rate <= 1000).then_some(Bound::AtMost(1.5));
        against(&format!("at {rate} RPC/s, round trip p50"), p50, "ns", ("bare wake-up", bare), bound);
    }
    Ok(())
}

/// One call each `1 / rate` s, for a second: the median round trip, and how long it took.
fn paced(client: &mut Client, rate: u64) -> Result<(f64, f64), Failure> {
    let clock = Clock::new();
    let (from, gap_ps) = (clock.now_ps(), 1_000_000_000_000 / rate);
    let mut times = Vec::new();
    for call in 0..rate {
        while clock.now_ps() < from + call * gap_ps {
            std::hint::spin_loop();
        }
        times.push(timed(client, clock)?);
    }
    times.sort_unstable();
    let seconds = (clock.now_ps() - from) as f64 / 1e12;
    Ok((clock.ps(times[times.len() / 2]) as f64 / 1000.0, seconds))
}

/// A thread on the server's core sleeps on a descriptor, and answers in a word of memory.
fn bare_wake_up(rate: u64) -> Result<f64, Failure> {
    const TIMES: u64 = 200;
    let (doorbell, answered) = (eventfd(0, EventfdFlags::CLOEXEC)?, AtomicU64::new(0));
    let clock = Clock::new();
    let mut times = Vec::new();
    std::thread::scope(|scope| {
        scope.spawn(|| answer_doorbells(&doorbell, &answered, TIMES));
        for time in 1..=TIMES {
            let until = clock.now_ps() + 1_000_000_000_000 / rate;
            while clock.now_ps() < until {
                std::hint::spin_loop();
            }
            let from = clock.ticks();
            let rung = rustix::io::write(&doorbell, &1_u64.to_ne_bytes());
            while rung.is_ok() && answered.load(Ordering::Acquire) < time {
                std::hint::spin_loop();
            }
            times.push(clock.ticks() - from);
        }
    });
    times.sort_unstable();
    Ok(clock.ps(times[times.len() / 2]) as f64 / 1000.0)
}

fn answer_doorbells(doorbell: &OwnedFd, answered: &AtomicU64, times: u64) {
    let _ = nebula_sys::affinity::pin_to(child::server_core());
    for time in 1..=times {
        let _ = rustix::io::read(doorbell, &mut [0; 8]);
        answered.store(time, Ordering::Release);
    }
}

/// A server on defaults but for its core and its number of clients.
pub fn serve(name: &str) -> Result<(), Failure> {
    child::raise_file_limit(FILES)?;
    let config = ServerConfig::default().clients_max(5000).pin([child::server_core()]);
    let echo = |request: &[u8], reply: &mut Reply<'_>| reply.write(request);
    let server = nebula::Server::bind(name).config(config).serve(echo)?;
    child::ready()?;
    server.join()?;
    Ok(())
}

/// The least that a doorbell needs: a line in a page of each client, and a bit that says which line
/// to look at. Returns the first round trip p50 after a second of silence, of all clients but one.
fn bare_first(connected: usize) -> Result<f64, Failure> {
    const PAGE_WORDS: usize = 512;
    let lines: Vec<AtomicU64> = (0..connected * PAGE_WORDS).map(|_| AtomicU64::new(0)).collect();
    let bells: Vec<AtomicU64> = (0..64).map(|_| AtomicU64::new(0)).collect();
    let (which, is_over) = (AtomicU64::new(0), AtomicBool::new(false));
    let line = |client: usize| &lines[client * PAGE_WORDS];
    let serve = |client: usize| {
        let request = line(client).load(Ordering::Acquire);
        if request & 1 == 1 {
            line(client).store(request + 1, Ordering::Release);
        }
    };
    let call = |client: usize, clock: Clock| {
        let from = clock.ticks();
        let request = line(client).load(Ordering::Relaxed) + 1;
        line(client).store(request, Ordering::Release);
        if client > 0 {
            bells[client / 64].fetch_or(1 << (client % 64), Ordering::Release);
            which.fetch_or(1 << (client / 64), Ordering::Release);
        }
        while line(client).load(Ordering::Acquire) == request {
            std::hint::spin_loop();
        }
        clock.ticks() - from
    };
    let mut times = Vec::with_capacity(connected);
    let clock = Clock::new();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let _ = nebula_sys::affinity::pin_to(child::server_core());
            while !is_over.load(Ordering::Relaxed) {
                serve(0);
                if which.load(Ordering::Relaxed) == 0 {
                    continue;
                }
                for word in ones(which.swap(0, Ordering::Acquire)) {
                    for bit in ones(bells[word].swap(0, Ordering::Acquire)) {
                        serve(word * 64 + bit);
                    }
                }
            }
        });
        for client in 1..connected {
            call(client, clock);
        }
        std::thread::sleep(Duration::from_secs(1));
        for client in 1..connected {
            for _ in 0..BETWEEN {
                call(0, clock);
            }
            times.push(call(client, clock));
        }
        is_over.store(true, Ordering::Relaxed);
    });
    times.sort_unstable();
    Ok(clock.ps(times[times.len() / 2]) as f64 / 1000.0)
}

/// The numbers of the bits that are set.
fn ones(mut word: u64) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let bit = word.trailing_zeros() as usize;
        (word != 0).then(|| word &= word - 1).map(|()| bit)
    })
}
