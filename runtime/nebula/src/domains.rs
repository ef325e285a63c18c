//! Several messaging domains on the same threads: each is a server with a share of the cores.

use crate::config::error::ServeError;
use crate::config::server::ServerConfig;
use crate::rpc::service::Service;
use crate::server::{Pool, Pooled, RunningServer, Server, spawn};
use crate::worker::Worker;
use nebula_nic::schedule::QUANTUM;
use nebula_nic::{Lending, Span};
use nebula_sys::clock::Clock;
use std::fmt;
use std::num::NonZeroU16;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use std::thread::JoinHandle;

/// Turns without work in any domain before the thread yields the core.
const IDLE_TURNS: u32 = 4096;

/// Servers of several messaging domains that share one or more threads by weight.
///
/// Each domain has its own endpoint, SLO, receive buffer, bound on the queue, keys, counters,
/// decision log and service. The thread is engine and worker of each domain in turn, by weighted
/// deficit round robin over the time that they take ([`Lending`]). So a domain that is offered more
/// than its share harms only itself: refusing the excess takes its own time. The others get what a
/// domain does not use.
///
/// With [`threads`](Self::threads) each thread serves its part of every domain's clients and
/// applies the weights by itself. Over all threads the weights hold only if every domain has work
/// on every thread: a domain of few clients may get less than its weight.
///
/// [Long](crate::Class::Worker) RPCs of a domain go to its own pool. The pool's threads are
/// separate and not shared; its bound keeps them within the domain's SLO.
///
/// A domain measures how much of the core its RPCs get, and sizes its queue accordingly: the RPCs
/// that it accepts keep its SLO.
///
/// # Examples
///
/// ```
/// use nebula::{Client, ClientConfig, Domains, Reply, Server, ServerConfig};
///
/// let [one, other] = ["one", "other"].map(|name| format!("shm://doc-domains-{name}-{}", std::process::id()));
/// let echo = |request: &[u8], reply: &mut Reply| reply.write(request);
/// let shout = |request: &[u8], reply: &mut Reply| reply.write(&request.to_ascii_uppercase());
/// let domains = Domains::default()
///     .host(3, Server::bind(&one).config(ServerConfig::default().domain(1)), echo)
///     .host(1, Server::bind(&other).config(ServerConfig::default().domain(2)), shout)
///     .serve()?;
/// let mut client = Client::connect_with(&other, ClientConfig::default().domain(2))?;
/// assert_eq!(client.call(b"hello")?, b"HELLO");
/// // One of another domain is refused.
/// assert!(Client::connect_with(&other, ClientConfig::default().domain(1)).is_err());
/// domains.stop();
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Default)]
pub struct Domains {
    hosted: Vec<Hosted>,
    quantum: Option<Span>,
    threads: Option<NonZeroU16>,
    pins: Vec<usize>,
}

struct Hosted {
    weight: NonZeroU16,
    server: Server,
    /// Makes the function by which a thread serves it.
    serve: Box<dyn Fn() -> Serve + Send>,
    pool: Option<(Arc<Pool>, Arc<dyn Service + Send + Sync>)>,
}

/// One turn of a domain's worker. Returns the number of RPCs served.
type Serve = Box<dyn FnMut(&mut Worker) -> usize + Send>;

impl fmt::Debug for Domains {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let servers: Vec<_> = self.hosted.iter().map(|hosted| (hosted.weight, &hosted.server)).collect();
        f.debug_struct("Domains").field("servers", &servers).field("threads", &self.threads).finish_non_exhaustive()
    }
}

impl Domains {
    /// Adds a domain: its share is `weight` over the weights of all domains with work; 0 counts as
    /// 1. `server` gets an engine and a worker on each shared thread, whatever its configuration.
    #[must_use]
    pub fn host<S: Service + Send + Sync + 'static>(mut self, weight: u16, server: Server, service: S) -> Self {
        let weight = NonZeroU16::new(weight).unwrap_or(NonZeroU16::MIN);
        let (server, pool) = server.described(&service).with_pool();
        let service = Arc::new(service);
        let serve: Box<dyn Fn() -> Serve + Send> = match pool.clone() {
            None => {
                let service = service.clone();
                Box::new(move || {
                    let service = service.clone();
                    Box::new(move |worker: &mut Worker| worker.turn(&*service))
                })
            }
            Some(pool) => {
                // One for all threads: dropping it ends the pool.
                let pooled = Arc::new(Pooled::new(service.clone(), pool));
                Box::new(move || {
                    let pooled = pooled.clone();
                    Box::new(move |worker: &mut Worker| worker.turn(&*pooled))
                })
            }
        };
        let pool = pool.map(|pool| (pool, service as Arc<dyn Service + Send + Sync>));
        self.hosted.push(Hosted { weight, server, serve, pool });
        self
    }

    /// Sets how long a domain of weight 1 has the core before the next one; 2 µs by default. A turn
    /// serves as many RPCs as take that long, at least one.
    #[must_use]
    pub fn quantum(mut self, quantum: impl Into<Span>) -> Self {
        self.quantum = Some(quantum.into());
        self
    }

    /// Sets the number of threads; 1 by default, and for 0. They divide the clients of each domain
    /// as a server's [flows](Server::flows) do.
    #[must_use]
    pub fn threads(mut self, threads: u16) -> Self {
        self.threads = NonZeroU16::new(threads);
        self
    }

    /// Pins the next thread to a core, beginning with the first.
    #[must_use]
    pub fn pin(mut self, core: usize) -> Self {
        self.pins.push(core);
        self
    }

    /// Starts the threads.
    ///
    /// # Errors
    ///
    /// [`ServeError`] of the first server that cannot start, and [`ServeError::NoDomains`]; no
    /// server runs then.
    pub fn serve(self) -> Result<RunningDomains, ServeError> {
        let quantum = self.quantum.filter(|&quantum| quantum > Span::ZERO).unwrap_or(QUANTUM);
        let weights: Vec<NonZeroU16> = self.hosted.iter().map(|hosted| hosted.weight).collect();
        if weights.is_empty() {
            return Err(ServeError::NoDomains);
        }
        let threads = self.threads.unwrap_or(NonZeroU16::MIN).get();
        let (domains, lending) = (weights.len(), Lending::new(&weights, quantum));
        let used: Arc<[AtomicU64]> = (0..usize::from(threads) * domains).map(|_| AtomicU64::new(0)).collect();
        let mut running = RunningDomains { servers: Vec::new(), used: used.clone(), domains, threads: Vec::new() };
        let mut at_work: Vec<Vec<AtWork>> = (0..threads).map(|_| Vec::new()).collect();
        let mut pools = Vec::new();
        for Hosted { weight, server, serve, pool } in self.hosted {
            let share = quantum * u64::from(weight.get());
            let (mut server, workers) = server.reconfigured(|config| lent(config, share, threads)).open()?;
            let own = pool.as_ref().map(|(pool, _)| pool.clone());
            own.iter().for_each(|pool| server.set_pool(pool.clone()));
            running.servers.push(server);
            for (thread, worker) in at_work.iter_mut().zip(workers) {
                thread.push(AtWork { worker: Some(worker), serve: serve(), pool: own.clone() });
            }
            pools.extend(pool);
        }
        for (thread, at_work) in at_work.into_iter().enumerate() {
            let name = if thread == 0 { "nebula-domains".to_owned() } else { format!("nebula-domains-{thread}") };
            let (lending, used) = (lending.clone(), used.clone());
            let run = Box::new(move || run(lending, at_work, &used[thread * domains..][..domains]));
            running.threads.push(spawn(&name, self.pins.get(thread).copied(), run)?);
        }
        for (pool, service) in pools {
            for index in 0..pool.threads() {
                let (pool, service) = (pool.clone(), service.clone());
                let run = Box::new(move || pool.work(&*service));
                running.threads.push(spawn(&format!("nebula-pool-{index}"), None, run)?);
            }
        }
        Ok(running)
    }
}

fn lent(config: ServerConfig, share: Span, threads: u16) -> ServerConfig {
    let in_share = share.as_ps() / config.service_mean.as_ps().max(1);
    let turn_rpcs_max = u32::try_from(in_share).unwrap_or(u32::MAX).clamp(1, config.turn_rpcs_max.max(1));
    config.inline(true).workers(threads).engines(threads).turn_rpcs_max(turn_rpcs_max)
}

struct AtWork {
    worker: Option<Worker>,
    serve: Serve,
    pool: Option<Arc<Pool>>,
}

impl AtWork {
    fn turn(&mut self) -> usize {
        let Some(worker) = &mut self.worker else { return 0 };
        if !worker.is_stopped() {
            return (self.serve)(worker);
        }
        let is_busy = self.pool.as_ref().is_some_and(|pool| pool.is_busy());
        let sent = worker.send_given();
        if !is_busy {
            worker.finish();
            self.worker = None;
        }
        sent
    }
}

fn run(mut lending: Lending, mut domains: Vec<AtWork>, used: &[AtomicU64]) {
    let clock = Clock::new();
    let (mut before, mut idle_turns) = (clock.now_ps(), 0_u32);
    loop {
        let domain = lending.pick();
        let served = domains[domain].turn();
        let now = clock.now_ps();
        let took_ps = now.saturating_sub(before);
        lending.used(domain, Span::from_ps(took_ps), served > 0);
        before = now;
        if served > 0 {
            // The only writer.
            used[domain].store(used[domain].load(Relaxed) + took_ps, Relaxed);
            idle_turns = 0;
            continue;
        }
        if domains.iter().all(|domain| domain.worker.is_none()) {
            return;
        }
        idle_turns = idle_turns.saturating_add(1);
        if idle_turns >= IDLE_TURNS {
            std::thread::yield_now();
            before = clock.now_ps();
        }
    }
}

/// Running domains, until they are stopped or dropped.
#[derive(Debug)]
pub struct RunningDomains {
    servers: Vec<RunningServer>,
    used: Arc<[AtomicU64]>,
    domains: usize,
    threads: Vec<JoinHandle<()>>,
}

impl RunningDomains {
    /// The servers, in the order added.
    #[must_use]
    pub fn servers(&self) -> &[RunningServer] {
        &self.servers
    }

    /// The core time of each domain's turns with work, over all threads, in the order added.
    pub fn used(&self) -> impl Iterator<Item = Span> {
        (0..self.domains).map(|domain| {
            let of_threads = self.used.iter().skip(domain).step_by(self.domains);
            Span::from_ps(of_threads.map(|ps| ps.load(Relaxed)).sum())
        })
    }

    /// As [`used`](Self::used), of one thread; empty for an unknown thread.
    pub fn used_on(&self, thread: usize) -> impl Iterator<Item = Span> {
        let of_thread = self.used.chunks(self.domains).nth(thread).unwrap_or_default();
        of_thread.iter().map(|ps| Span::from_ps(ps.load(Relaxed)))
    }

    /// Stops all servers and waits for the threads.
    pub fn stop(mut self) {
        self.shut_down();
    }

    fn shut_down(&mut self) {
        for server in &self.servers {
            server.stopper().stop();
        }
        for thread in self.threads.drain(..) {
            // A thread that panicked has printed why.
            let _ = thread.join();
        }
        self.servers.clear();
    }
}

impl Drop for RunningDomains {
    fn drop(&mut self) {
        self.shut_down();
    }
}
