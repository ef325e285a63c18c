//! Latency of calls that are awaited, against those that a thread waits for, and what idle clients
//! cost.
//!
//! ```text
//! cargo bench -p nebula --bench async_calls -- [CALLS [IDLE_CLIENTS]]
//! ```
//!
//! What waking a thread costs is the machine's: a call that sleeps is to be compared with the bare
//! wake-up, which is printed first.
//!
//! The server shares the machine: it takes one core. Run it where there are two that nobody else
//! uses.

use nebula::{
    AsyncClient, CallError, Client, ClientConfig, Reply, RunningServer, ServeError, Server, ServerConfig, Span,
};
use std::error::Error;
use std::io::Write;
use std::pin::pin;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, Wake, Waker};
use std::thread::Thread;
use std::time::{Duration, Instant};

/// Its first byte says how long the handler takes, in microseconds.
const REQUEST: [u8; 48] = [0; 48];
/// Longer than a call polls in its task where it is told not to.
const SLOW: [u8; 48] = [30; 48];
/// Rounds of the bare wake-up.
const WAKE_UPS: usize = 2000;
/// Each kind of call has its turn so many times: what else the machine does meets all of them.
const ROUNDS: usize = 20;

/// Wakes a thread that waits for a future.
struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

fn waker() -> Waker {
    Waker::from(Arc::new(Unpark(std::thread::current())))
}

fn block_on<F: Future>(waker: &Waker, future: F) -> F::Output {
    let mut future = pin!(future);
    loop {
        if let Poll::Ready(output) = future.as_mut().poll(&mut Context::from_waker(waker)) {
            return output;
        }
        std::thread::park();
    }
}

/// One kind of call, and how long each took.
struct Kind<'k> {
    what: &'static str,
    call: Box<dyn FnMut() -> Result<(), CallError> + 'k>,
    times: Vec<Duration>,
}

impl<'k> Kind<'k> {
    fn new(what: &'static str, call: impl FnMut() -> Result<(), CallError> + 'k) -> Self {
        Self { what, call: Box::new(call), times: Vec::new() }
    }

    fn run(&mut self, calls: usize) -> Result<(), CallError> {
        for _ in 0..calls {
            let begun = Instant::now();
            (self.call)()?;
            self.times.push(begun.elapsed());
        }
        Ok(())
    }

    /// Median and 99th percentile, in microseconds.
    fn percentiles(&mut self) -> [f64; 2] {
        self.times.sort_unstable();
        [50, 99].map(|percent| self.times[self.times.len() * percent / 100].as_secs_f64() * 1e6)
    }
}

/// Time that the client's thread has spent so far: user and system, as the kernel counts them.
fn driver_time() -> std::io::Result<Duration> {
    let mut spent = Duration::ZERO;
    for task in std::fs::read_dir("/proc/self/task")? {
        let task = task?.path();
        if std::fs::read_to_string(task.join("comm"))?.trim() == "nebula-client" {
            let schedstat = std::fs::read_to_string(task.join("schedstat"))?;
            let nanos = schedstat.split(' ').next().and_then(|nanos| nanos.parse().ok());
            spent += Duration::from_nanos(nanos.unwrap_or(0));
        }
    }
    Ok(spent)
}

/// Median time in microseconds that this machine takes to wake a thread that sleeps: half of two
/// threads waking each other.
fn bare_wake_up() -> f64 {
    let (asked, answered) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let (here, to_answer, to_ask) = (std::thread::current(), answered.clone(), asked.clone());
    let other = std::thread::spawn(move || {
        for round in 1..=WAKE_UPS {
            while to_ask.load(Ordering::Acquire) < round {
                std::thread::park();
            }
            to_answer.store(round, Ordering::Release);
            here.unpark();
        }
    });
    let mut times: Vec<Duration> = (1..=WAKE_UPS)
        .map(|round| {
            let begun = Instant::now();
            asked.store(round, Ordering::Release);
            other.thread().unpark();
            while answered.load(Ordering::Acquire) < round {
                std::thread::park();
            }
            begun.elapsed() / 2
        })
        .collect();
    let _ = other.join();
    times.sort_unstable();
    times[WAKE_UPS / 2].as_secs_f64() * 1e6
}

/// A server of echoes, with its engine and worker on one thread.
fn serve(at: &str) -> Result<RunningServer, ServeError> {
    let config = ServerConfig::default().clients_max(u16::MAX).inline(true).slo(Span::from_ms(100));
    Server::bind(at).config(config).serve(|request: &[u8], reply: &mut Reply| {
        let takes = Duration::from_micros(request.first().copied().unwrap_or(0).into());
        let begun = Instant::now();
        while !takes.is_zero() && begun.elapsed() < takes {
            std::hint::spin_loop();
        }
        reply.write(request);
    })
}

/// Time that the thread of `clients` idle clients spends in a second. Their server is another
/// process, for it has as many descriptors.
fn idle(clients: usize) -> Result<Duration, Box<dyn Error>> {
    let at = format!("shm://idle-{}", std::process::id());
    let mut server = Command::new(std::env::current_exe()?).args(["serve", &at]).stdin(Stdio::piped()).spawn()?;
    let connected = (|| {
        let config = ClientConfig::default().slots(2);
        let mut first = AsyncClient::connect_with(&*at, config.clone());
        while first.is_err() && server.try_wait()?.is_none() {
            std::thread::sleep(Duration::from_millis(10));
            first = AsyncClient::connect_with(&*at, config.clone());
        }
        let mut connected = vec![first?];
        while connected.len() < clients {
            connected.push(AsyncClient::connect_with(&*at, config.clone())?);
        }
        let before = driver_time()?;
        std::thread::sleep(Duration::from_secs(1));
        let spent = driver_time()? - before;
        // Each of them still works.
        connected.iter().try_for_each(|client| block_on(&waker(), client.call(&REQUEST)).map(drop))?;
        Ok::<_, Box<dyn Error>>(spent)
    })();
    drop(server.stdin.take());
    server.wait()?;
    connected
}

fn main() -> Result<(), Box<dyn Error>> {
    let args: Vec<String> = std::env::args().skip(1).filter(|word| word != "--bench").collect();
    if let [role, at] = &args[..]
        && role == "serve"
    {
        let _server = serve(at)?;
        std::io::stdin().read_line(&mut String::new())?;
        return Ok(());
    }
    let number = |at: usize, default| args.get(at).map_or(Ok(default), |word| word.parse::<usize>());
    let (calls, clients) = (number(0, 50_000)?, number(1, 100)?);
    let mut out = std::io::stdout().lock();
    writeln!(out, "bare wake-up of a thread: p50 {:.2} µs", bare_wake_up())?;
    for endpoint in [format!("shm://async-{}", std::process::id()), "udp://127.0.0.1:0".to_owned()] {
        let server = serve(&endpoint)?;
        let at = server.endpoint().clone();
        let (mut sync, mut slow) = (Client::connect(at.clone())?, Client::connect(at.clone())?);
        let polling = AsyncClient::connect(at.clone())?;
        let asleep = AsyncClient::connect(at.clone())?.poll_for(Span::ZERO);
        let waker = waker();
        let mut kinds = [
            Kind::new("call", || sync.call(&REQUEST).map(drop)),
            Kind::new("awaited, polling", || block_on(&waker, polling.call(&REQUEST)).map(drop)),
            Kind::new("call of 30 µs", || slow.call(&SLOW).map(drop)),
            Kind::new("awaited of 30 µs, asleep", || block_on(&waker, asleep.call(&SLOW)).map(drop)),
        ];
        for _ in 0..ROUNDS {
            kinds.iter_mut().try_for_each(|kind| kind.run(calls / ROUNDS))?;
        }
        for kind in &mut kinds {
            let [median, p99] = kind.percentiles();
            writeln!(out, "{at}: {}: p50 {median:.2} µs, p99 {p99:.2} µs", kind.what)?;
        }
        drop(kinds);
        server.stop();
    }
    writeln!(out, "{clients} idle clients: {:?} of a second", idle(clients)?)?;
    Ok(())
}
