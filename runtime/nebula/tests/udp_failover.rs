//! Several servers that crash and come back, on a simulated network that loses, doubles and delays.
//! An RPC runs at most once over all of them unless it is idempotent, each ends once, and its end
//! is truthful about its execution. Clients belong to a thread or to many tasks.

use crate::support::draw::Draw;
use crate::support::sim_net::{Link, Network};
use nebula::net::{Environment, Time};
use nebula::{
    AsyncClient, Balance, Call, CallError, Client, ClientConfig, Completion, Executed, HedgeConfig, Options, Reply,
    RetryPolicy, RunningServer, Server, ServerConfig, Service, Span, Ticket, Worker,
};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;
use std::task::{Context, Poll, Wake, Waker};

const SERVERS: usize = 3;
const CLIENTS: usize = 2;
const STEP_PS: u64 = 20_000_000;
/// Steps in which RPCs are sent, and the most until none is outstanding.
const STEPS: usize = 3000;
const STEPS_MAX: usize = 400_000;
const DATAGRAM_BYTES: usize = 1232;
/// Runs; the environment variable `NEBULA_SEEDS` overrides it.
const SEEDS: u64 = 8;

#[derive(Debug, Default)]
struct Known {
    is_idempotent: bool,
    executed: u32,
    end: Option<Result<(), CallError>>,
}

/// The handler of all servers, and its record.
#[derive(Default)]
struct Account(RefCell<BTreeMap<u64, Known>>);

impl Service for Account {
    fn serve(&self, request: &[u8], reply: &mut Reply<'_>) {
        let number = u64::from_le_bytes(request.try_into().expect("8 bytes"));
        self.0.borrow_mut().get_mut(&number).expect("an RPC that was sent").executed += 1;
        reply.write(&number.wrapping_mul(3).to_le_bytes());
    }
}

struct Host {
    _running: RunningServer,
    workers: Vec<Worker>,
}

struct Caller {
    side: Side,
    /// Steps for which it sends nothing.
    rests: usize,
}

#[expect(clippy::large_enum_variant, reason = "a few of them in a test")]
enum Side {
    /// One thread, with the numbers of its outstanding RPCs.
    Thread { client: Client, open: BTreeMap<Ticket, u64> },
    /// Many tasks, which are not polled before `due_ps` unless something comes.
    Tasks { client: AsyncClient, tasks: Vec<Task>, due_ps: u64 },
}

struct Task {
    number: u64,
    call: Pin<Box<Call<[u8; 8]>>>,
    woken: Arc<Woken>,
}

struct Woken(AtomicBool);

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Relaxed);
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Clients {
    OfThreads,
    OfTasks,
}

struct World {
    network: Network,
    draw: Draw,
    hosts: [Option<Host>; SERVERS],
    callers: Vec<Caller>,
    account: Account,
    numbers: u64,
    crashes: u32,
}

/// Counts of the runs' events, to prove that they test something.
#[derive(Debug, Default)]
struct Shown {
    answered: u32,
    nacked: u32,
    unknown: u32,
    twice: u32,
    crashes: u32,
}

fn address(server: usize) -> SocketAddr {
    SocketAddr::from(([10, 0, 0, 1 + u8::try_from(server).expect("few")], 7400))
}

impl World {
    fn new(seed: u64, clients: Clients) -> Self {
        let mut draw = Draw::new(seed);
        let network = Network::new(seed, Link::drawn(&mut draw), false);
        let mut world = Self {
            network,
            draw,
            hosts: [None, None, None],
            callers: Vec::new(),
            account: Account::default(),
            numbers: 0,
            crashes: 0,
        };
        (0..SERVERS).for_each(|server| world.start(server));
        for caller in 0..CLIENTS {
            let side = world.side(caller, clients);
            world.callers.push(Caller { side, rests: 0 });
        }
        world
    }

    fn environment(&mut self, at: SocketAddr) -> Environment {
        let (wire, _) = self.network.host(at, DATAGRAM_BYTES);
        let entropy = self.draw.bytes(32).try_into().expect("32 bytes");
        Environment { wire: Box::new(wire), time: Time::Manual(self.network.now_ps().clone()), entropy }
    }

    fn start(&mut self, server: usize) {
        let environment = self.environment(address(server));
        // Room for some four RPCs; more are refused.
        let config = ServerConfig::default().inline(true).insecure(true);
        let config = config.slo(Span::from_us(50)).service_mean(Span::from_us(15));
        let opened = Server::bind(&format!("udp://{}", address(server))).config(config).open_over(environment);
        let (running, workers) = opened.expect("a server");
        self.hosts[server] = Some(Host { _running: running, workers });
    }

    fn side(&mut self, caller: usize, clients: Clients) -> Side {
        let servers = (0..SERVERS).map(|server| {
            let port = 1 + u16::try_from(caller * SERVERS + server).expect("few");
            (address(server), self.environment(SocketAddr::from(([10, 0, 1, 1], port))))
        });
        let servers = servers.collect();
        let back_off = RetryPolicy::BackOff { first: Span::from_us(200), factor: 2, attempts: 3, seed: 7 };
        let config = ClientConfig::default().insecure(true).slots(64).transmissions_max(6);
        let config = config.balance(Balance::ALL[self.draw.below(4)]);
        let config = if self.draw.once_in(2) { config.retry(back_off) } else { config };
        let hedge = HedgeConfig { quantile: 0.9, budget: 1.0 };
        let config = if self.draw.once_in(2) { config.hedge(hedge) } else { config };
        if clients == Clients::OfThreads {
            let client = Client::connect_all_over(servers, config).expect("a client");
            return Side::Thread { client, open: BTreeMap::new() };
        }
        let client = AsyncClient::connect_all_over(servers, config).expect("a client");
        // It sleeps at once, after some steps, or never.
        let client = client.poll_for([Span::ZERO, Span::from_us(100), Span::MAX][self.draw.below(3)]);
        Side::Tasks { client, tasks: Vec::new(), due_ps: 0 }
    }

    fn step(&mut self, is_calm: bool) {
        // Those that are left wait for time-outs, and there are few.
        let steps = if is_calm { 8 } else { 1 };
        let until = self.network.now_ps().load(Relaxed) + steps * STEP_PS;
        let mut has_come = false;
        while let Some(at) = self.network.next_ps().filter(|&at| at <= until) {
            self.network.now_ps().fetch_max(at, Relaxed);
            self.network.deliver();
            has_come = true;
        }
        self.network.now_ps().fetch_max(until, Relaxed);
        for server in 0..SERVERS {
            self.turn(server, is_calm);
        }
        for caller in 0..CLIENTS {
            self.take_ends(caller, has_come);
            if !is_calm {
                self.send(caller);
            }
            self.end_of_step(caller);
        }
    }

    /// Runs, crashes or restarts a server.
    fn turn(&mut self, server: usize, is_calm: bool) {
        match &mut self.hosts[server] {
            None if is_calm || self.draw.once_in(300) => self.start(server),
            None => {}
            Some(_) if !is_calm && self.draw.once_in(1500) => {
                self.hosts[server] = None;
                self.network.remove(address(server));
                self.crashes += 1;
            }
            // Not in every step, so that a queue builds up.
            Some(host) if is_calm || self.draw.once_in(3) => {
                for worker in &mut host.workers {
                    worker.turn(&self.account);
                }
            }
            Some(_) => {}
        }
    }

    fn send(&mut self, which: usize) {
        let caller = &mut self.callers[which];
        if caller.rests > 0 {
            caller.rests -= 1;
            return;
        }
        caller.rests = self.draw.below(40);
        for _ in 0..self.draw.below(8) {
            let (number, is_idempotent) = (self.numbers, self.draw.once_in(2));
            self.numbers += 1;
            let key_hash = u32::try_from(self.draw.below(1000)).expect("few");
            let options = Options::default().idempotent(is_idempotent).key_hash(key_hash);
            let deadline = Span::from_ms(1 + self.draw.below(50) as u64);
            let options = if self.draw.once_in(4) { options.deadline(deadline) } else { options };
            // It may be executed as soon as it is sent.
            self.account.0.borrow_mut().insert(number, Known { is_idempotent, ..Known::default() });
            match &mut caller.side {
                Side::Thread { client, open } => match client.submit_with(&number.to_le_bytes(), options) {
                    Ok(ticket) => {
                        assert!(open.insert(ticket, number).is_none(), "{ticket:?} twice");
                        if self.draw.once_in(30) {
                            assert!(client.cancel(ticket));
                        }
                    }
                    Err(error) => self.account.end(number, Err(CallError::NotSent(error))),
                },
                Side::Tasks { client, tasks, .. } => {
                    let call = Box::pin(client.call_with(number.to_le_bytes(), options));
                    tasks.push(Task { number, call, woken: Arc::new(Woken(AtomicBool::new(true))) });
                }
            }
        }
        // Drops a task, wherever its call is.
        if let Side::Tasks { tasks, .. } = &mut caller.side
            && !tasks.is_empty()
            && self.draw.once_in(8)
        {
            let Task { number, call, .. } = tasks.swap_remove(self.draw.below(tasks.len()));
            drop(call);
            self.account.end(number, Err(CallError::Cancelled));
        }
    }

    fn take_ends(&mut self, which: usize, has_come: bool) {
        let now_ps = self.network.now_ps().load(Relaxed);
        match &mut self.callers[which].side {
            Side::Thread { client, open } => {
                while let Some(Completion { ticket, result }) = client.poll() {
                    let number = open.remove(&ticket).expect("the end of an outstanding RPC");
                    self.account.end_with(number, result);
                }
                assert_eq!(client.outstanding() as usize, open.len());
            }
            Side::Tasks { client, tasks, due_ps } => {
                if has_come || now_ps >= *due_ps {
                    client.attend();
                }
                tasks.retain_mut(|task| {
                    if !task.woken.0.swap(false, Relaxed) {
                        return true;
                    }
                    let waker = Waker::from(task.woken.clone());
                    let Poll::Ready(result) = task.call.as_mut().poll(&mut Context::from_waker(&waker)) else {
                        return true;
                    };
                    self.account.end_with(task.number, result.as_deref().map_err(Clone::clone));
                    false
                });
                assert!(client.outstanding() as usize <= tasks.len());
            }
        }
    }

    fn end_of_step(&mut self, which: usize) {
        let now_ps = self.network.now_ps().load(Relaxed);
        match &mut self.callers[which].side {
            Side::Thread { client, .. } => client.flush(),
            Side::Tasks { client, due_ps, .. } => {
                *due_ps = client.attend().map_or(u64::MAX, |after| now_ps.saturating_add(after.as_ps()));
            }
        }
    }
}

impl Caller {
    fn is_done(&self) -> bool {
        match &self.side {
            Side::Thread { open, .. } => open.is_empty(),
            Side::Tasks { tasks, .. } => tasks.is_empty(),
        }
    }
}

impl Account {
    fn end_with(&self, number: u64, result: Result<&[u8], CallError>) {
        if let Ok(reply) = &result {
            assert_eq!(**reply, number.wrapping_mul(3).to_le_bytes(), "another RPC's reply");
        }
        self.end(number, result.map(drop));
    }

    fn end(&self, number: u64, result: Result<(), CallError>) {
        let mut known = self.0.borrow_mut();
        let known = known.get_mut(&number).expect("an RPC that was sent");
        assert!(known.end.replace(result).is_none(), "RPC {number} has ended twice");
    }
}

fn run(seed: u64, clients: Clients, shown: &mut Shown) {
    let mut world = World::new(seed, clients);
    (0..STEPS).for_each(|_| world.step(false));
    world.network.heal();
    let mut steps = 0;
    while !world.callers.iter().all(Caller::is_done) {
        assert!(steps < STEPS_MAX, "seed {seed}: RPCs that never end");
        world.step(true);
        steps += 1;
    }
    // Requests in flight may still be executed.
    (0..2000).for_each(|_| world.step(true));
    shown.crashes += world.crashes;
    for (number, known) in world.account.0.borrow().iter() {
        let Known { is_idempotent, executed, end } = known;
        let end = end.as_ref().expect("each has ended");
        assert!(*executed <= 1 || *is_idempotent, "seed {seed}: RPC {number} ran {executed} times: {end:?}");
        let said = end.as_ref().map_or_else(CallError::was_executed, |()| Executed::Yes);
        match said {
            Executed::Yes => assert!(*executed > 0, "seed {seed}: RPC {number} was not executed: {end:?}"),
            Executed::No => assert_eq!(*executed, 0, "seed {seed}: RPC {number} was executed: {end:?}"),
            Executed::Unknown => shown.unknown += 1,
        }
        shown.answered += u32::from(end.is_ok());
        shown.nacked += u32::from(matches!(end, Err(CallError::Nack { .. })));
        shown.twice += u32::from(*executed > 1);
    }
}

fn all_is_shown(clients: Clients) {
    let mut shown = Shown::default();
    let seeds = std::env::var("NEBULA_SEEDS").ok().and_then(|seeds| seeds.parse().ok()).unwrap_or(SEEDS);
    (0..seeds).for_each(|seed| run(seed, clients, &mut shown));
    let Shown { answered, nacked, unknown, twice, crashes } = shown;
    let all = [answered, nacked, unknown, twice, crashes];
    assert!(all.iter().all(|&count| count > 3), "something was not shown: {shown:?}");
    assert!(answered > 3 * unknown, "most are answered: {shown:?}");
}

#[test]
fn over_servers_that_crash_an_rpc_runs_at_most_once_and_its_end_is_true() {
    all_is_shown(Clients::OfThreads);
}

#[test]
fn over_servers_that_crash_a_call_of_a_task_runs_at_most_once_and_its_end_is_true() {
    all_is_shown(Clients::OfTasks);
}
