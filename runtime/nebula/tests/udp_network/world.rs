//! One run: a real server and real clients on a simulated network, each with its own clock, moved
//! from event to event.

use crate::support::draw::Draw;
use crate::support::log_file::LogFile;
use crate::support::sim_net::{Fates, Network, say};
use crate::udp_network::adversary::Adversary;
use crate::udp_network::oracle::{Call, Laws, NAMED_BYTES, Oracle, request_of};
use crate::udp_network::scenario::{Blow, ClientPlan, Scenario, ServiceTimes, reply_bound};
use nebula::net::{Environment, Time};
use nebula::{
    Client, ClientConfig, Options, Reply, RunningServer, Server, ServerConfig, Service, Span, Ticket, Worker,
};
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// How often an idle server looks around while something may age: at first, later, and how long the
/// first period lasts.
const TICK_PS: u64 = 1_000_000_000;
const LATER_TICK_PS: u64 = 25_000_000_000;
const ACTIVE_PS: u64 = 30_000_000_000;
const LATER_PS: u64 = 600_000_000_000;
/// The least time of a server's turn.
const TURN_PS: u64 = 200_000;
/// After this many turns the status page has been written.
const TURNS_PER_STATUS: usize = 257;
/// A run with more events does not come to rest.
const EVENTS_MAX: u64 = 3_000_000;
const LAST_CALLS: usize = 8;
/// Transmissions of an RPC that gets through if anything does.
const PATIENT: u32 = 12;
/// How far a server's memory may grow, besides the buffers of its answers.
const SERVER_GROWTH_BYTES: i64 = 1 << 20;

/// Entropies whose clients number their first transfers within 40 of 2^32: the first byte, and the
/// last eight as a number. Each is for one client, since no two may share one.
const LATE: [(u8, u64); 5] = [(1, 242_781), (2, 99_598_446), (3, 76_894_546), (4, 69_091_093), (5, 46_605_265)];

#[derive(Debug)]
pub(crate) struct Outcome {
    pub(crate) oracle: Oracle,
    pub(crate) fates: Fates,
    pub(crate) hash: u64,
    pub(crate) crashes: u64,
    pub(crate) server_bytes_max: i64,
    /// Requests that a server knew already.
    pub(crate) repeated: u64,
    /// The decision logs of all servers, if the run has any.
    pub(crate) logs: Vec<String>,
}

/// The handler, its record, and its service time.
struct Work {
    oracle: RefCell<Oracle>,
    draw: RefCell<Draw>,
    times: ServiceTimes,
    now_ps: Arc<AtomicU64>,
    clock: RefCell<Arc<AtomicU64>>,
    reply: RefCell<Vec<u8>>,
    /// Bytes allocated for the record.
    held_bytes: Cell<i64>,
}

impl Service for Work {
    fn serve(&self, request: &[u8], reply: &mut Reply<'_>) {
        let before = nebula_testing::allocations::bytes();
        // Releases the borrow before others run.
        let mut bytes = self.reply.take();
        self.oracle.borrow_mut().execute(request, &mut bytes);
        let took = self.took_ps();
        self.held_bytes.set(self.held_bytes.get() + nebula_testing::allocations::bytes() - before);
        self.now_ps.fetch_add(took, Relaxed);
        self.clock.borrow().fetch_add(took, Relaxed);
        reply.yield_if_due();
        reply.write(&bytes);
        self.reply.replace(bytes);
    }
}

impl Work {
    fn took_ps(&self) -> u64 {
        let ServiceTimes { usual_ps, slow } = self.times;
        let mut draw = self.draw.borrow_mut();
        let factor = if slow > 0 && draw.once_in(slow) { 100 } else { 1 };
        usual_ps / 2 * factor + draw.number() % (usual_ps * factor)
    }
}

struct Host {
    running: RunningServer,
    workers: Vec<Worker>,
    clock: Arc<AtomicU64>,
    offset_ps: u64,
    /// When it looks at its wire next.
    next_ps: Option<u64>,
    /// Its one thread is busy until then.
    busy_ps: u64,
    active_ps: u64,
    bytes: i64,
    bytes_first: i64,
    bytes_max: i64,
}

struct Node {
    client: Client,
    plan: ClientPlan,
    clock: Arc<AtomicU64>,
    local: Arc<Mutex<SocketAddr>>,
    open: BTreeMap<Ticket, usize>,
    bursts_left: usize,
    next_burst_ps: u64,
}

pub(crate) struct World {
    scenario: Scenario,
    network: Network,
    draw: Draw,
    work: Work,
    host: Option<Host>,
    nodes: Vec<Node>,
    adversary: Option<Adversary>,
    server: SocketAddr,
    ports: u16,
    crashes: u64,
    repeated: u64,
    bytes_max: i64,
    events: u64,
    is_traced: bool,
    seed: u64,
    /// The decision logs so far, if servers write them.
    logs: Option<Vec<LogFile>>,
    /// Entropies of [`LATE`] that are still unused.
    late: Vec<(u8, u64)>,
}

pub(crate) fn run(seed: u64, is_traced: bool) -> Outcome {
    run_with(seed, is_traced, None)
}

/// As [`run`], with decision logs of all servers.
pub(crate) fn run_logged(seed: u64) -> Outcome {
    run_with(seed, false, Some(Vec::new()))
}

fn run_with(seed: u64, is_traced: bool, logs: Option<Vec<LogFile>>) -> Outcome {
    let mut draw = Draw::new(seed ^ 0xA5A5_5A5A);
    let scenario = Scenario::drawn(&mut draw);
    if is_traced {
        say(0, format_args!("{scenario:#?}"));
    }
    let mut world = World::new(seed, scenario, draw, is_traced, logs);
    world.live();
    world.finish()
}

impl World {
    fn new(seed: u64, scenario: Scenario, mut draw: Draw, is_traced: bool, logs: Option<Vec<LogFile>>) -> Self {
        let network = Network::new(seed, scenario.link, is_traced);
        // With sealed datagrams a client goes on at its new address.
        let is_sealed = !scenario.server.keys.is_empty();
        let moves = |(_, blow): &(u64, Blow)| match blow {
            Blow::Crash => true,
            Blow::Moved(_) => !is_sealed,
            Blow::Restart | Blow::CutOff(..) | Blow::Reborn(_) | Blow::Silence(_) => false,
        };
        let may_be_gone = scenario.blows.iter().any(moves);
        let Scenario { is_fair, is_ample, .. } = scenario;
        let work = Work {
            oracle: RefCell::new(Oracle::new(Laws { is_fair, is_ample, may_be_gone })),
            draw: RefCell::new(Draw::new(draw.number())),
            times: scenario.service,
            now_ps: network.now_ps().clone(),
            clock: RefCell::default(),
            reply: RefCell::default(),
            held_bytes: Cell::new(0),
        };
        let server = SocketAddr::from(([10, 0, 0, 1], 7400));
        let plans = scenario.clients.clone();
        let adversary = scenario.has_adversary.then(|| {
            let address = SocketAddr::from(([10, 0, 2, 1], 66));
            Adversary::new(Draw::new(draw.number()), &network, address, (server, scenario.insider), is_sealed)
        });
        let (nodes, crashes, repeated, bytes_max, events) = (Vec::new(), 0, 0, 0, 0);
        let mut world = Self {
            scenario,
            network,
            draw,
            work,
            host: None,
            nodes,
            adversary,
            server,
            ports: 1,
            crashes,
            repeated,
            bytes_max,
            events,
            is_traced,
            logs,
            seed,
            late: LATE.to_vec(),
        };
        world.start_server();
        for plan in plans {
            let node = world.node(plan);
            world.nodes.push(node);
        }
        world
    }

    fn now_ps(&self) -> u64 {
        self.network.now_ps().load(Relaxed)
    }

    fn start_server(&mut self) {
        let offset_ps = self.draw.number() >> (8 + self.draw.below(24));
        let clock = Arc::new(AtomicU64::new(self.now_ps() + offset_ps));
        self.work.clock.replace(clock.clone());
        let mut config: ServerConfig = self.scenario.server.clone();
        if let Some(logs) = &mut self.logs {
            let log = LogFile::new(&format!("udp-network-{}-{}", self.seed, logs.len()));
            config.decision_log = Some(log.0.clone());
            logs.push(log);
        }
        let (wire, _) = self.network.host(self.server, self.scenario.datagram_bytes);
        let entropy = self.draw.bytes(32).try_into().expect("32 bytes");
        let before = nebula_testing::allocations::bytes();
        let environment = Environment { wire: Box::new(wire), time: Time::Manual(clock.clone()), entropy };
        let opened = Server::bind("udp://10.0.0.1:7400").config(config).open_over(environment);
        let (running, workers) = opened.expect("a server of a configuration that can be");
        let bytes = nebula_testing::allocations::bytes() - before;
        let (busy_ps, active_ps, next_ps) = (self.now_ps(), 0, None);
        self.host = Some(Host {
            running,
            workers,
            clock,
            offset_ps,
            next_ps,
            busy_ps,
            active_ps,
            bytes,
            bytes_first: bytes,
            bytes_max: bytes,
        });
    }

    fn node(&mut self, plan: ClientPlan) -> Node {
        self.ports += 1;
        let address = SocketAddr::from(([10, 0, 1, 1], self.ports));
        let clock = Arc::default();
        let (client, local) = self.client(&plan.config, address, &clock);
        let next_burst_ps = self.now_ps() + self.draw.number() % plan.pause_ps;
        let node = Node { client, clock, local, open: BTreeMap::new(), bursts_left: plan.bursts, next_burst_ps, plan };
        node.set_clock(self.now_ps());
        node
    }

    fn client(
        &mut self,
        config: &ClientConfig,
        address: SocketAddr,
        clock: &Arc<AtomicU64>,
    ) -> (Client, Arc<Mutex<SocketAddr>>) {
        let (wire, local) = self.network.host(address, self.scenario.datagram_bytes);
        let entropy = self.entropy();
        let environment = Environment { wire: Box::new(wire), time: Time::Manual(clock.clone()), entropy };
        (Client::connect_over(self.server, environment, config.clone()).expect("a client"), local)
    }

    /// Random bytes for a client; with some, its transfer numbers start just before they wrap.
    fn entropy(&mut self) -> [u8; 32] {
        let drawn = self.draw.bytes(32).try_into().expect("32 bytes");
        match self.late.pop().filter(|_| self.scenario.wraps) {
            None => drawn,
            Some((byte, number)) => {
                let mut entropy = [byte; 32];
                entropy[24..].copy_from_slice(&number.to_le_bytes());
                entropy
            }
        }
    }

    /// Runs until everything planned has happened and all calls have ended.
    fn live(&mut self) {
        let mut blows = std::mem::take(&mut self.scenario.blows).into_iter().peekable();
        loop {
            let is_acting = self.nodes.iter().any(|node| node.bursts_left > 0);
            if blows.peek().is_none() && !is_acting {
                break;
            }
            let due = blows.peek().map(|&(at, _)| at);
            if let Some((_, blow)) = self.step(due).then(|| blows.next()).flatten() {
                self.befall(blow);
            }
        }
        self.network.heal();
        // The healed network has no adversary.
        self.adversary = None;
        self.network.set_watched(false);
        if self.host.is_none() {
            self.start_server();
        }
        self.rest("on a network that has healed");
        let laws = self.work.oracle.borrow().laws;
        for round in 0..2 {
            // The first round may still meet the end of an earlier server.
            let strict = Laws { is_fair: round > 0 || laws.is_fair, ..laws };
            self.work.oracle.borrow_mut().laws = strict;
            for which in 0..self.nodes.len() {
                self.nodes[which].plan.giants = 0;
                self.nodes[which].plan.cancels = 0;
                self.burst(which, LAST_CALLS);
            }
            self.rest("at the end");
        }
    }

    /// Moves on to the next event; true if that is the caller's, `due`.
    fn step(&mut self, due: Option<u64>) -> bool {
        self.events += 1;
        let server = self.host.as_ref().and_then(|host| host.next_ps);
        let node = (0..self.nodes.len()).filter_map(|which| Some((self.node_due(which)?, which))).min();
        let harm = self.adversary.as_ref().and_then(Adversary::next_ps);
        let times = [due, self.network.next_ps(), server, harm, node.map(|(at, _)| at)];
        let Some(next) = times.into_iter().flatten().min() else { return false };
        self.network.now_ps().fetch_max(next, Relaxed);
        match times.map(|at| at == Some(next)) {
            [true, ..] => return true,
            [_, true, ..] => {
                if let Some(host) = self.network.deliver() {
                    self.note_mail(host);
                }
            }
            [_, _, true, ..] => self.turn_server(),
            [_, _, _, true, _] => self.do_harm(),
            _ => self.wake(node.expect("the least is its").1),
        }
        false
    }

    fn do_harm(&mut self) {
        let (now_ps, clients): (_, Vec<_>) = (self.now_ps(), self.nodes.iter().map(Node::address).collect());
        if let Some(adversary) = &mut self.adversary {
            adversary.act(&self.network, now_ps, &clients);
        }
    }

    fn node_due(&self, which: usize) -> Option<u64> {
        let node = &self.nodes[which];
        let burst = (node.bursts_left > 0).then_some(node.next_burst_ps);
        [burst, self.network.due_ps(node.address())].into_iter().flatten().min()
    }

    fn note_mail(&mut self, to: SocketAddr) {
        let now_ps = self.now_ps();
        match &mut self.host {
            Some(host) if to == self.server => {
                host.active_ps = now_ps + ACTIVE_PS;
                let soon = now_ps.max(host.busy_ps);
                host.next_ps = Some(host.next_ps.map_or(soon, |next| next.min(soon)));
            }
            _ => self.network.set_due_ps(to, Some(now_ps)),
        }
    }

    fn turn_server(&mut self) {
        let now_ps = self.now_ps();
        let Some(host) = &mut self.host else { return };
        let held = |work: &Work, network: &Network| {
            nebula_testing::allocations::bytes() - work.held_bytes.get() - network.held_bytes()
        };
        let before = held(&self.work, &self.network);
        host.clock.fetch_max(now_ps + host.offset_ps, Relaxed);
        let mut served = 0;
        for worker in &mut host.workers {
            served += worker.turn(&self.work);
        }
        host.bytes += held(&self.work, &self.network) - before;
        host.bytes_max = host.bytes_max.max(host.bytes);
        host.busy_ps = self.network.now_ps().swap(now_ps, Relaxed) + TURN_PS;
        let is_busy = served > 0 || self.network.has_mail(self.server);
        host.next_ps = if is_busy { Some(host.busy_ps) } else { (now_ps < host.active_ps).then_some(now_ps + TICK_PS) };
        if served > 0 {
            self.network.note("server executed", &[served as u64]);
        }
    }

    fn wake(&mut self, which: usize) {
        let now_ps = self.now_ps();
        self.nodes[which].set_clock(now_ps);
        self.take_ends(which);
        let node = &mut self.nodes[which];
        if node.bursts_left > 0 && node.next_burst_ps <= now_ps {
            node.bursts_left -= 1;
            node.next_burst_ps = now_ps + 1 + self.draw.number() % node.plan.pause_ps;
            let calls = 1 + self.draw.below(node.plan.burst_max);
            self.burst(which, calls);
        }
        self.sleep(which);
    }

    fn sleep(&mut self, which: usize) {
        let now_ps = self.now_ps();
        self.take_ends(which);
        let node = &mut self.nodes[which];
        node.client.flush();
        // If it does not sleep, it runs again in a moment.
        self.network.set_due_ps(node.address(), Some(now_ps + TURN_PS));
        node.client.wait(Duration::MAX);
    }

    fn take_ends(&mut self, which: usize) {
        let now_ps = self.now_ps();
        let node = &mut self.nodes[which];
        let mut oracle = self.work.oracle.borrow_mut();
        while let Some(done) = node.client.poll() {
            let Some(id) = node.open.remove(&done.ticket) else {
                oracle.violated(format!(
                    "client {which} was told of the end of {:?}, which it does not have",
                    done.ticket
                ));
                continue;
            };
            oracle.end(now_ps, id, done.result.as_deref());
            if self.is_traced {
                let call = &oracle.calls[id];
                say(now_ps, format_args!("client {which}: call {id} ended as {:?}", call.end));
            }
            self.network.note("end", &[id as u64, u64::from(oracle.calls[id].end.map_or(99, code))]);
        }
    }

    fn burst(&mut self, which: usize, calls: usize) {
        let now_ps = self.now_ps();
        self.nodes[which].set_clock(now_ps);
        let mut request = Vec::new();
        for _ in 0..calls {
            let Node { client, plan, open, .. } = &mut self.nodes[which];
            let mut oracle = self.work.oracle.borrow_mut();
            let is_giant = plan.giants > 0 && self.draw.once_in(plan.giants);
            let most = |usual: usize, config: u32| if is_giant { config as usize + 500 } else { usual };
            let bytes = self.draw.below(most(plan.bytes_max, self.scenario.server.rpc_bytes_max));
            let reply_bytes = self.draw.below(most(plan.reply_bytes_max, reply_bound(&self.scenario.server)));
            let reply_bytes = if bytes < NAMED_BYTES { 0 } else { u32::try_from(reply_bytes).expect("short") };
            let id = oracle.calls.len();
            request_of(id, bytes, reply_bytes, &mut request);
            let own = plan.own_deadlines > 0 && self.draw.once_in(plan.own_deadlines);
            let own = own.then(|| Span::from_us(20 + self.draw.below(5000) as u64));
            let mut options = Options::default().key_hash(u32::try_from(self.draw.below(1000)).expect("small"));
            if let Some(own) = own {
                options = options.deadline(own);
            }
            let within = own.unwrap_or(Span::MAX).min(plan.config.deadline);
            let deadline_ps = (within != Span::MAX).then(|| now_ps + within.as_ps());
            // It must be recorded before it can be executed.
            let is_patient = plan.config.transmissions_max >= PATIENT;
            let is_exposed = which < self.scenario.exposed;
            oracle.begin(Call { is_patient, is_exposed, ..Call::new(bytes, reply_bytes, now_ps, deadline_ps) });
            match client.submit_with(&request, options) {
                Ok(ticket) => {
                    if open.insert(ticket, id).is_some() {
                        oracle.violated(format!("client {which} was given {ticket:?} twice"));
                    }
                    self.network.note("call", &[id as u64, which as u64, bytes as u64, reply_bytes.into()]);
                    let is_cancelled = plan.cancels > 0 && self.draw.once_in(plan.cancels);
                    let victim = if self.draw.once_in(2) { open.first_key_value() } else { open.last_key_value() };
                    if let (true, Some((&ticket, &id))) = (is_cancelled, victim) {
                        oracle.calls[id].is_cancelled |= client.cancel(ticket);
                    }
                }
                Err(_) => drop(oracle.calls.pop()),
            }
        }
        self.sleep(which);
    }

    fn befall(&mut self, blow: Blow) {
        let now_ps = self.now_ps();
        self.network.note(
            match blow {
                Blow::Crash => "crash",
                Blow::Restart => "restart",
                Blow::CutOff(..) => "cut off",
                Blow::Reborn(_) => "reborn",
                Blow::Moved(_) => "moved",
                Blow::Silence(_) => "silence",
            },
            &[],
        );
        match blow {
            Blow::Crash => self.crash(),
            Blow::Restart if self.host.is_none() => self.start_server(),
            Blow::Restart => {}
            Blow::CutOff(which, length) => {
                let host = which.map_or(self.server, |which| self.nodes[which].address());
                self.network.cut_off(host, now_ps + length);
            }
            Blow::Reborn(which) => self.be_reborn(which),
            Blow::Moved(which) => {
                self.ports += 1;
                let to = SocketAddr::from(([10, 0, 1, 1], self.ports));
                self.network.rebind(&self.nodes[which].local, to);
                self.network.set_due_ps(to, Some(now_ps));
            }
            Blow::Silence(length) => {
                self.rest("before the silence");
                self.network.now_ps().fetch_add(length, Relaxed);
            }
        }
    }

    fn crash(&mut self) {
        if let Some(host) = self.host.take() {
            self.network.remove(self.server);
            self.crashes += 1;
            self.bytes_max = self.bytes_max.max(self.check_memory(&host));
        }
    }

    /// Checks a server's peak memory growth.
    fn check_memory(&self, host: &Host) -> i64 {
        let config = &self.scenario.server;
        let grown = host.bytes_max - host.bytes_first;
        // One answer per RPC that was in the server at once, which the slots bound.
        let slots = i64::try_from(host.running.status().read().slots_used_max).expect("few").max(64);
        let bound = slots * i64::from(reply_bound(config).next_power_of_two()) + SERVER_GROWTH_BYTES;
        if grown > bound {
            self.work.oracle.borrow_mut().violated(format!("the server grew by {grown} B, beyond {bound} B"));
        }
        grown
    }

    fn be_reborn(&mut self, which: usize) {
        let node = &mut self.nodes[which];
        let (config, address, clock) = (node.plan.config.clone(), node.address(), node.clock.clone());
        let mut oracle = self.work.oracle.borrow_mut();
        std::mem::take(&mut node.open).into_values().for_each(|id| oracle.leave(id));
        drop(oracle);
        let (client, local) = self.client(&config, address, &clock);
        let node = &mut self.nodes[which];
        (node.client, node.local) = (client, local);
        self.network.set_due_ps(address, Some(self.now_ps()));
    }

    /// Runs until nothing is in flight and no client waits.
    fn rest(&mut self, when: &str) {
        let is_over = |world: &Self| world.nodes.iter().all(|node| node.open.is_empty());
        while !is_over(self) || self.network.next_ps().is_some() {
            let before = self.events;
            self.step(None);
            let is_stuck = before == self.events || self.events > EVENTS_MAX;
            let has_next = self.network.next_ps().is_some()
                || self.host.as_ref().is_some_and(|host| host.next_ps.is_some())
                || (0..self.nodes.len()).any(|which| self.node_due(which).is_some());
            if is_stuck || !has_next {
                let open: Vec<_> = self.nodes.iter().flat_map(|node| node.open.values()).collect();
                if !open.is_empty() {
                    let said = format!("{when}, {} calls do not end, such as {:?}", open.len(), open[0]);
                    self.work.oracle.borrow_mut().violated(said);
                }
                return;
            }
        }
    }

    fn finish(mut self) -> Outcome {
        // Incomplete RPCs age out.
        for _ in 0..LATER_PS / LATER_TICK_PS {
            self.network.now_ps().fetch_add(LATER_TICK_PS, Relaxed);
            self.turn_server();
        }
        let mut violations = Vec::new();
        if let Some(host) = &mut self.host {
            for worker in &mut host.workers {
                (0..TURNS_PER_STATUS).for_each(|_| assert_eq!(worker.turn(&self.work), 0, "nothing is left"));
            }
            let status = host.running.status().read();
            self.repeated += status.repeated;
            if status.slots_used != 0 || status.queue_depth != 0 {
                violations.push(format!("{} slots are held at the end: {status:?}", status.slots_used));
            }
        }
        for (which, node) in self.nodes.iter().enumerate() {
            if node.client.outstanding() != 0 {
                violations.push(format!("client {which} has {} places held at the end", node.client.outstanding()));
            }
        }
        if let Some(host) = self.host.take() {
            self.bytes_max = self.bytes_max.max(self.check_memory(&host));
        }
        let (fates, hash) = (self.network.fates(), self.network.hash());
        let mut oracle = self.work.oracle.into_inner();
        oracle.violations.append(&mut violations);
        oracle.close();
        let repeated = self.repeated;
        let logs = self.logs.iter().flatten().map(LogFile::text).collect();
        Outcome { oracle, fates, hash, repeated, crashes: self.crashes, server_bytes_max: self.bytes_max, logs }
    }
}

impl Node {
    fn address(&self) -> SocketAddr {
        *self.local.lock().expect("nobody panics with it")
    }

    fn set_clock(&self, now_ps: u64) {
        let drift = i128::from(now_ps) * i128::from(self.plan.drift_ppm) / 1_000_000;
        let own = i128::from(now_ps) + i128::from(self.plan.offset_ps) + drift;
        self.clock.fetch_max(u64::try_from(own).expect("no time before the beginning"), Relaxed);
    }
}

fn code(end: crate::udp_network::oracle::End) -> u8 {
    use crate::udp_network::oracle::End;
    match end {
        End::Replied => 0,
        End::Nacked(reason) => reason.code(),
        End::Expired => 20,
        End::Stale => 21,
        End::ServerGone => 22,
        End::TimedOut => 23,
        End::Cancelled => 24,
        End::Faulted => 25,
        End::Left => 26,
        End::NotSent => 27,
    }
}
