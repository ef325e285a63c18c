//! Awaited calls compared with calls that block a thread: latency, and the rate of many tasks; and
//! the cost of idle clients.
//!
//! A call that sleeps costs at least the machine's wake-up of a thread, whose row is the baseline.

use crate::Failure;
use crate::child::{self, Server};
use crate::measure::median;
use crate::row::{Bound, against, plain};
use nebula::{AsyncClient, CallError, Client, ClientConfig, Reply, RunningServer, ServeError, ServerConfig, Span};
use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Wake, Waker};
use std::thread::Thread;
use std::time::{Duration, Instant};

/// The first byte is the time that the handler takes, in microseconds.
const REQUEST: [u8; 48] = [0; 48];
/// Longer than a call polls in its task where it is told not to.
const SLOW: [u8; 48] = [30; 48];
/// Rounds of the bare wake-up.
const WAKE_UPS: usize = 2000;
/// Turns of each kind of call, so that other work of the machine meets all of them.
const ROUNDS: usize = 20;
const CALLS: usize = 50_000;
const IDLE_CLIENTS: usize = 100;
/// Tasks that call at once, and for how long each way of that is measured, this often.
const TASKS: usize = 64;
const RATE_FOR: Duration = Duration::from_millis(300);
const RATES: usize = 5;
const CALLS_A_ROUND: u64 = 4096;

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
    nebula::Server::bind(at).config(config).serve(|request: &[u8], reply: &mut Reply| {
        let takes = Duration::from_micros(request.first().copied().unwrap_or(0).into());
        let begun = Instant::now();
        while !takes.is_zero() && begun.elapsed() < takes {
            std::hint::spin_loop();
        }
        reply.write(request);
    })
}

/// The server of the idle clients, in a separate process: it has as many descriptors.
pub fn serve_idle(at: &str) -> Result<(), Failure> {
    let _server = serve(at)?;
    child::ready()?;
    loop {
        std::thread::park();
    }
}

/// Time that the thread of idle clients spends in a second.
fn idle() -> Result<Duration, Failure> {
    let at = format!("shm://bench-idle-{}", std::process::id());
    let _server = Server::start(&["serve-awaited", &at])?;
    let config = ClientConfig::default().slots(2);
    let connect = |_| AsyncClient::connect_with(&*at, config.clone()).wait();
    let clients: Vec<_> = (0..IDLE_CLIENTS).map(connect).collect::<Result<_, _>>()?;
    let before = driver_time()?;
    std::thread::sleep(Duration::from_secs(1));
    let spent = driver_time()? - before;
    // Each of them still works.
    clients.iter().try_for_each(|client| block_on(&waker(), client.call(&REQUEST)).map(drop))?;
    Ok(spent)
}

/// The kinds of calls over one transport.
fn calls(transport: &str, endpoint: &str, wake_up: f64) -> Result<(), Failure> {
    let server = serve(endpoint)?;
    let at = server.endpoint().clone();
    let (mut sync, mut slow) = (Client::connect(at.clone())?, Client::connect(at.clone())?);
    let polling = AsyncClient::connect(at.clone()).wait()?;
    let asleep = AsyncClient::connect(at).wait()?.poll_for(Span::ZERO);
    let waker = waker();
    let mut kinds = [
        Kind::new("call", || sync.call(&REQUEST).map(drop)),
        Kind::new("awaited, polling", || block_on(&waker, polling.call(&REQUEST)).map(drop)),
        Kind::new("call of 30 us", || slow.call(&SLOW).map(drop)),
        Kind::new("awaited of 30 us, asleep", || block_on(&waker, asleep.call(&SLOW)).map(drop)),
    ];
    for _ in 0..ROUNDS {
        kinds.iter_mut().try_for_each(|kind| kind.run(CALLS / ROUNDS))?;
    }
    for kind in &mut kinds {
        let [median, p99] = kind.percentiles();
        let row = |figure: &str| format!("{}, {transport}, {figure}", kind.what);
        against(&row("p50"), median, "us", ("a thread's wake-up", wake_up), None);
        plain(&row("p99"), p99, "us");
    }
    Ok(())
}

/// RPCs a second of as many tasks on one thread, beside what else is possible there.
fn at_once() -> Result<(), Failure> {
    child::pin_client()?;
    let at = format!("shm://bench-tasks-{}", std::process::id());
    let _server = Server::start(&["serve-clients", &at])?;
    let rate = |round: fn(&str) -> Result<f64, Failure>| -> Result<f64, Failure> {
        Ok(median((0..RATES).map(|_| round(&at)).collect::<Result<_, _>>()?))
    };
    let (alone, yields) = (rate(submitted)?, rate(|_| yielding())?);
    let (by_hand, tasks) = (rate(polled_by_hand)?, rate(of_tasks)?);
    plain(&format!("{TASKS} outstanding, submitted and polled"), alone, "M RPC/s");
    plain(&format!("{TASKS} tasks of tokio that yield and lock twice, no RPCs"), yields, "M/s");
    let beside = ("submitted and polled", alone);
    against(&format!("{TASKS} calls, polled by hand"), by_hand, "M RPC/s", beside, None);
    against(
        &format!("{TASKS} tasks of tokio on one thread"),
        tasks,
        "M RPC/s",
        ("target", 8.0),
        Some(Bound::AtLeast(1.0)),
    );
    Ok(())
}

/// In millions a second: `round` does that many operations.
fn rate_of(each: u64, mut round: impl FnMut() -> Result<(), Failure>) -> Result<f64, Failure> {
    let (begun, mut done) = (Instant::now(), 0);
    while begun.elapsed() < RATE_FOR {
        round()?;
        done += each;
    }
    Ok(done as f64 / begun.elapsed().as_secs_f64() / 1e6)
}

fn submitted(at: &str) -> Result<f64, Failure> {
    let mut client = Client::connect(at)?;
    for _ in 0..TASKS {
        client.submit(&REQUEST)?;
    }
    rate_of(CALLS_A_ROUND, || {
        let mut left = CALLS_A_ROUND;
        while left > 0 {
            if let Some(ended) = client.poll() {
                ended.result?;
                client.submit(&REQUEST)?;
                left -= 1;
            }
        }
        Ok(())
    })
}

/// What the executor costs alone.
fn yielding() -> Result<f64, Failure> {
    let shared = Arc::new(Mutex::new(0_u64));
    in_tasks(move || {
        let shared = shared.clone();
        async move {
            let mut is_first = true;
            poll_fn(|cx| {
                *shared.lock().unwrap_or_else(PoisonError::into_inner) += 1;
                if std::mem::take(&mut is_first) {
                    cx.waker().wake_by_ref();
                    return Poll::Pending;
                }
                Poll::Ready(Ok(()))
            })
            .await
        }
    })
}

fn of_tasks(at: &str) -> Result<f64, Failure> {
    let client = AsyncClient::connect(at).wait()?;
    in_tasks(move || {
        let client = client.clone();
        async move { client.call(REQUEST).await.map(drop) }
    })
}

/// Operations of [`TASKS`] tasks, each of which begins the next one when one has ended.
fn in_tasks<F>(operation: impl Fn() -> F + Clone + Send + 'static) -> Result<f64, Failure>
where
    F: Future<Output = Result<(), CallError>> + Send + 'static,
{
    let executor = tokio::runtime::Builder::new_current_thread().build()?;
    let each = CALLS_A_ROUND / TASKS as u64;
    executor.block_on(async {
        let begun = Instant::now();
        let task = |_| tokio::spawn(repeat(operation.clone(), each, begun));
        let (tasks, mut done) = ((0..TASKS).map(task).collect::<Vec<_>>(), 0);
        for task in tasks {
            done += task.await??;
        }
        Ok(done as f64 / begun.elapsed().as_secs_f64() / 1e6)
    })
}

async fn repeat<F>(operation: impl Fn() -> F, each: u64, begun: Instant) -> Result<u64, CallError>
where
    F: Future<Output = Result<(), CallError>>,
{
    let mut done = 0;
    while begun.elapsed() < RATE_FOR {
        for _ in 0..each {
            operation().await?;
        }
        done += each;
    }
    Ok(done)
}

/// The same without an executor.
fn polled_by_hand(at: &str) -> Result<f64, Failure> {
    let client = AsyncClient::connect(at).wait()?;
    let mut calls: Vec<_> = (0..TASKS).map(|_| client.call(REQUEST)).collect();
    let mut cx = Context::from_waker(Waker::noop());
    let mut next = (0..TASKS).cycle();
    rate_of(CALLS_A_ROUND, || {
        let mut left = CALLS_A_ROUND;
        while left > 0 {
            let call = &mut calls[next.next().unwrap_or(0)];
            if let Poll::Ready(reply) = Pin::new(&mut *call).poll(&mut cx) {
                *call = client.call(REQUEST).into_buffer(reply?);
                let _ = Pin::new(call).poll(&mut cx);
                left -= 1;
            }
        }
        Ok(())
    })
}

pub fn run() -> Result<(), Failure> {
    let wake_up = bare_wake_up();
    plain("wake-up of a thread, p50", wake_up, "us");
    calls("shm", &format!("shm://bench-awaited-{}", std::process::id()), wake_up)?;
    calls("udp", "udp://127.0.0.1:0", wake_up)?;
    plain(&format!("{IDLE_CLIENTS} idle clients, of a core"), 100.0 * idle()?.as_secs_f64(), "%");
    // Last, since it stays on one core.
    at_once()?;
    Ok(())
}
