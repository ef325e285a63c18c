//! Several servers that are slow, pause, or come and go, on a simulated network. An oracle that
//! knows the faults, and nothing of the client, says which idempotent RPCs a server could have
//! answered within their deadlines: those must not end with an error. A client of one server meets
//! the same faults with the same RPCs, and must not do better.

use crate::support::draw::Draw;
use crate::support::sim_net::{Link, Network};
use nebula::net::{Environment, Time};
use nebula::{
    Balance, CallError, Client, ClientConfig, Completion, HedgeConfig, Options, Queueing, Reply, RunningServer, Server,
    ServerConfig, Span, SubmitError, Ticket, Worker,
};
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::ops::Range;
use std::sync::atomic::Ordering::Relaxed;

/// Time is counted in steps: in each a server that is well serves what has arrived, and the client
/// polls.
const STEP_PS: u64 = 50_000_000;
const STEPS_PER_MS: usize = 20;
/// Steps in which RPCs are sent; all have ended the longest deadline later.
const STEPS: usize = 200 * STEPS_PER_MS;
const DEADLINES: Range<usize> = 10 * STEPS_PER_MS..60 * STEPS_PER_MS;
/// No faults at first, while the client connects to its servers.
const CALM: usize = 10 * STEPS_PER_MS;
const DATAGRAM_BYTES: usize = 1232;
const SEEDS: Range<u64> = 1..5;

/// Steps from the submission of an RPC to its end at a server that is well: a step on the way
/// there, one in the server, one on the way back, one for the poll, and the one that is under way.
const ROUND_TRIP: usize = 5;
/// An RPC that finds no room at a server is tried there again after a millisecond, and the client
/// looks for such RPCs every millisecond.
const MARGIN: usize = 2 * STEPS_PER_MS;
/// Steps after which a client uses a server that was started again, beyond twice those for which it
/// was gone: the time-outs between two tries have doubled meanwhile, and so may the next one. Then
/// refusal, handshake and the RPC are three round trips.
const RECONNECTS: usize = 3 * ROUND_TRIP + MARGIN;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    AllSlow,
    AllPauseTogether,
    EachPauses,
    HalfGone,
    Flapping,
}

/// What a server does in one step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Doing {
    Serves,
    /// It is stopped, and what comes waits.
    Pauses,
    /// There is no process.
    IsGone,
}

/// By server and step.
type Faults = Vec<Vec<Doing>>;

/// Alternates between two states, each for a drawn time.
fn alternating(draw: &mut Draw, down: Doing, up_ms: Range<usize>, down_ms: Range<usize>) -> Vec<Doing> {
    let mut doing = vec![Doing::Serves; CALM];
    while doing.len() < STEPS + DEADLINES.end {
        for (state, ms) in [(Doing::Serves, &up_ms), (down, &down_ms)] {
            let steps = (ms.start + draw.below(ms.len())) * STEPS_PER_MS;
            doing.resize(doing.len() + steps, state);
        }
    }
    doing
}

/// It gets a core for a millisecond only, once in a drawn time.
fn slow(draw: &mut Draw) -> Vec<Doing> {
    let every = (4 + draw.below(12)) * STEPS_PER_MS;
    let first = draw.below(every);
    let is_on = |step| (step + first) % every < STEPS_PER_MS;
    let serves = |step| if step < CALM || is_on(step) { Doing::Serves } else { Doing::Pauses };
    (0..STEPS + DEADLINES.end).map(serves).collect()
}

fn gone_from(at: usize) -> Vec<Doing> {
    (0..STEPS + DEADLINES.end).map(|step| if step < at { Doing::Serves } else { Doing::IsGone }).collect()
}

impl Kind {
    fn faults(self, servers: usize, draw: &mut Draw) -> Faults {
        let together = alternating(draw, Doing::Pauses, 20..60, 5..80);
        let each = |server: usize, draw: &mut Draw| match self {
            Self::AllSlow => slow(draw),
            Self::AllPauseTogether => together.clone(),
            Self::EachPauses => alternating(draw, Doing::Pauses, 20..60, 5..80),
            Self::HalfGone if server < servers / 2 => gone_from(CALM + draw.below(STEPS / 3)),
            Self::HalfGone => gone_from(usize::MAX),
            Self::Flapping => alternating(draw, Doing::IsGone, 25..60, 2..60),
        };
        (0..servers).map(|server| each(server, draw)).collect()
    }
}

#[derive(Clone, Copy, Debug)]
struct Sent {
    at: usize,
    until: usize,
}

fn arrivals(draw: &mut Draw) -> Vec<Sent> {
    let mut at = CALM / 2;
    let mut arrivals = Vec::new();
    while at < STEPS {
        let within = DEADLINES.start + draw.below(DEADLINES.len());
        arrivals.push(Sent { at, until: at + within });
        at += draw.below(2 * STEPS_PER_MS);
    }
    arrivals
}

/// Whether this server could have answered the RPC of a client of `servers` servers, even if each
/// of the others was silent.
///
/// A client asks one more server after each quarter of the deadline. So it has asked the last one
/// by then, with [`MARGIN`], and what comes after that is answered once the server serves.
fn could_have_answered(doing: &[Doing], servers: usize, Sent { at, until }: Sent) -> bool {
    let asked_last = at + (until - at) * (servers - 1) / 4 + MARGIN;
    let begins_last = until - ROUND_TRIP - MARGIN;
    let is_gone = |step: &usize| doing[*step] == Doing::IsGone;
    let is_known = match (0..until).rev().find(is_gone) {
        None => true,
        Some(back) => {
            let gone = (0..=back).rev().take_while(is_gone).count();
            asked_last.max(back + 2 * gone + RECONNECTS) < begins_last
        }
    };
    is_known && (asked_last..begins_last).any(|step| doing[step] == Doing::Serves)
}

struct Host {
    _running: RunningServer,
    worker: Worker,
}

struct World {
    network: Network,
    draw: Draw,
    hosts: Vec<Option<Host>>,
}

fn address(server: usize) -> SocketAddr {
    SocketAddr::from(([10, 0, 0, 1 + u8::try_from(server).expect("few")], 7400))
}

fn echo(request: &[u8], reply: &mut Reply<'_>) {
    reply.write(request);
}

impl World {
    fn new(seed: u64, servers: usize) -> Self {
        let network = Network::new(seed, Link::CLEAN, false);
        let mut world = Self { network, draw: Draw::new(seed), hosts: Vec::new() };
        for server in 0..servers {
            let host = world.start(server);
            world.hosts.push(Some(host));
        }
        world
    }

    fn environment(&mut self, at: SocketAddr) -> Environment {
        let (wire, _) = self.network.host(at, DATAGRAM_BYTES);
        let entropy = self.draw.bytes(32).try_into().expect("32 bytes");
        Environment { wire: Box::new(wire), time: Time::Manual(self.network.now_ps().clone()), entropy }
    }

    /// A server that refuses nothing: refusals are `udp_failover`'s.
    fn start(&mut self, server: usize) -> Host {
        let environment = self.environment(address(server));
        let config = ServerConfig::default().inline(true).insecure(true);
        let config = config.queueing(Queueing::Unbounded { recv_buffer_bytes: 1 << 18 });
        let opened = Server::bind(&format!("udp://{}", address(server))).config(config).open_over(environment);
        let (running, mut workers) = opened.expect("a server");
        Host { _running: running, worker: workers.pop().expect("one") }
    }

    fn client(&mut self, servers: Range<usize>, config: ClientConfig) -> Client {
        let of_server = |server: usize| SocketAddr::from(([10, 0, 1, 1], 1 + u16::try_from(server).expect("few")));
        let mut links: Vec<_> = servers.map(|server| (address(server), self.environment(of_server(server)))).collect();
        let client = match links.len() {
            1 => links.pop().map(|(server, environment)| Client::connect_over(server, environment, config)),
            _ => Some(Client::connect_all_over(links, config)),
        };
        client.expect("a server").expect("a client")
    }

    /// Moves the time on by one step.
    fn step(&mut self, step: usize, faults: &Faults) {
        let until = self.network.now_ps().load(Relaxed) + STEP_PS;
        while let Some(at) = self.network.next_ps().filter(|&at| at <= until) {
            self.network.now_ps().fetch_max(at, Relaxed);
            self.network.deliver();
        }
        self.network.now_ps().fetch_max(until, Relaxed);
        for (server, doing) in faults.iter().enumerate() {
            self.turn(server, doing[step]);
        }
    }

    fn turn(&mut self, server: usize, doing: Doing) {
        if doing == Doing::IsGone {
            if self.hosts[server].take().is_some() {
                self.network.remove(address(server));
            }
            return;
        }
        if self.hosts[server].is_none() {
            self.hosts[server] = Some(self.start(server));
        }
        if let Some(host) = self.hosts[server].as_mut().filter(|_| doing == Doing::Serves) {
            host.worker.turn(&echo);
        }
    }
}

/// The end of each RPC, and the step in which it came.
type Ends = Vec<Option<(usize, Result<(), CallError>)>>;

/// A caller that submits each RPC at its time, and again while there is no room.
struct Caller {
    client: Client,
    arrivals: Vec<Sent>,
    next: usize,
    waiting: Vec<usize>,
    open: BTreeMap<Ticket, usize>,
    ends: Ends,
}

impl Caller {
    fn new(client: Client, arrivals: &[Sent]) -> Self {
        let ends = vec![None; arrivals.len()];
        Self { client, arrivals: arrivals.to_vec(), next: 0, waiting: Vec::new(), open: BTreeMap::new(), ends }
    }

    fn step(&mut self, step: usize) {
        while let Some(Completion { ticket, result }) = self.client.poll() {
            let rpc = self.open.remove(&ticket).expect("an RPC that was sent");
            assert!(self.ends[rpc].replace((step, result.map(drop))).is_none(), "RPC {rpc} has ended twice");
        }
        while self.arrivals.get(self.next).is_some_and(|sent| sent.at == step) {
            self.waiting.push(self.next);
            self.next += 1;
        }
        for rpc in std::mem::take(&mut self.waiting) {
            self.submit(step, rpc);
        }
        self.client.flush();
    }

    fn submit(&mut self, step: usize, rpc: usize) {
        let left = self.arrivals[rpc].until.saturating_sub(step) as u64;
        if left == 0 {
            self.ends[rpc] = Some((step, Err(CallError::NotSent(SubmitError::Full))));
            return;
        }
        let options = Options::default().idempotent(true).deadline(Span::from_ps(left * STEP_PS));
        match self.client.submit_with(&rpc.to_le_bytes(), options) {
            Ok(ticket) => assert!(self.open.insert(ticket, rpc).is_none(), "{ticket:?} twice"),
            Err(SubmitError::Full) => self.waiting.push(rpc),
            Err(error) => self.ends[rpc] = Some((step, Err(CallError::NotSent(error)))),
        }
    }
}

/// The ends of all RPCs of a client of these servers.
fn run(seed: u64, faults: &Faults, arrivals: &[Sent], servers: Range<usize>, config: ClientConfig) -> Ends {
    let mut world = World::new(seed, faults.len());
    let client = world.client(servers, config);
    let mut caller = Caller::new(client, arrivals);
    for step in 0..STEPS + DEADLINES.end {
        world.step(step, faults);
        caller.step(step);
    }
    caller.ends
}

fn errors(ends: &Ends) -> usize {
    ends.iter().filter(|end| !matches!(end, Some((_, Ok(()))))).count()
}

fn config_of(seed: u64) -> ClientConfig {
    // Not by key, as another server may lack it.
    let balance = [Balance::PowerOfTwo, Balance::RoundRobin, Balance::Random][usize::try_from(seed % 3).expect("few")];
    let config = ClientConfig::default().insecure(true).slots(256).balance(balance);
    // A connection gives an RPC up long before its deadline, or not.
    let config = if seed.is_multiple_of(2) { config.transmissions_max(5) } else { config };
    if seed % 4 == 1 { config.hedge(HedgeConfig::default()) } else { config }
}

/// Counts over the runs of a kind, to prove that they test something.
#[derive(Debug, Default)]
struct Shown {
    /// RPCs that a server could have answered.
    answerable: usize,
    /// Errors of the client of several servers, and of the best client of one.
    errors: usize,
    errors_of_one: usize,
}

/// The oracle holds for every seed. That no single server does better does for nearly every one:
/// the best one is known afterwards only, and while it serves, an RPC may still wait at another.
fn check(kind: Kind, servers: usize, seed: u64, shown: &mut Shown) {
    let mut draw = Draw::new(seed);
    let (faults, arrivals) = (kind.faults(servers, &mut draw), arrivals(&mut draw));
    let run = |servers: Range<usize>| run(seed, &faults, &arrivals, servers, config_of(seed));
    let ends = run(0..servers);
    for (rpc, (&sent, end)) in arrivals.iter().zip(&ends).enumerate() {
        let well = (0..servers).find(|&server| could_have_answered(&faults[server], servers, sent));
        let is_answered = matches!(end, Some((_, Ok(()))));
        assert!(
            well.is_none() || is_answered,
            "{kind:?} of {servers}, seed {seed}: server {well:?} could have answered RPC {rpc}, {sent:?}: {end:?}"
        );
        shown.answerable += usize::from(well.is_some());
    }
    let one = (0..servers).map(|server| errors(&run(server..server + 1))).min().expect("one");
    let several = errors(&ends);
    assert!(several <= one, "{kind:?} of {servers}, seed {seed}: {several} errors, and {one} with one server");
    (shown.errors, shown.errors_of_one) = (shown.errors + several, shown.errors_of_one + one);
}

fn survives(kind: Kind) -> Shown {
    let mut shown = Shown::default();
    for (seed, servers) in SEEDS.zip([2, 2, 3, 4]) {
        check(kind, servers, seed, &mut shown);
    }
    assert!(shown.answerable > 150, "{kind:?}: {shown:?}");
    shown
}

#[test]
fn rpcs_to_servers_that_are_all_slow_end_with_no_more_errors_than_at_the_fastest() {
    let shown = survives(Kind::AllSlow);
    assert!(shown.errors_of_one > 0, "{shown:?}");
}

#[test]
fn while_all_servers_pause_together_an_rpc_waits_for_its_deadline() {
    let shown = survives(Kind::AllPauseTogether);
    assert!(shown.errors_of_one > 0, "{shown:?}");
}

#[test]
fn an_rpc_at_a_server_that_pauses_is_answered_by_one_that_does_not() {
    let shown = survives(Kind::EachPauses);
    assert!(3 * shown.errors < shown.errors_of_one, "{shown:?}");
}

#[test]
fn while_one_of_two_servers_is_left_no_rpc_ends_with_an_error() {
    let shown = survives(Kind::HalfGone);
    assert_eq!(shown.errors, 0);
}

#[test]
fn servers_that_come_and_go_are_used_while_they_are_there() {
    let shown = survives(Kind::Flapping);
    assert!(3 * shown.errors < shown.errors_of_one, "{shown:?}");
}

const WITHIN: usize = 20 * STEPS_PER_MS;

#[test]
fn a_server_that_does_not_answer_is_left_alone_although_others_answer_its_rpcs() {
    let faults = vec![gone_from(CALM), gone_from(usize::MAX), gone_from(usize::MAX)];
    let arrivals: Vec<_> = (CALM / 2..STEPS).step_by(10).map(|at| Sent { at, until: at + WITHIN }).collect();
    let config = ClientConfig::default().insecure(true).balance(Balance::RoundRobin);
    let ends = run(1, &faults, &arrivals, 0..3, config);
    let took = ends.iter().zip(&arrivals).map(|(end, sent)| match end {
        Some((step, Ok(()))) => step - sent.at,
        other => panic!("{sent:?} ended as {other:?}"),
    });
    let backed_up = took.filter(|&took| took >= WITHIN / 4).count();
    // A third of 380 without. It is left alone for 10 ms and then longer, and asked in between.
    assert!((4..40).contains(&backed_up), "{backed_up} were backed up");
}

#[test]
fn rpcs_that_found_no_room_anywhere_go_to_the_server_that_goes_on_first() {
    let back = CALM + 15 * STEPS_PER_MS;
    let mut faults = vec![vec![Doing::Serves; STEPS + DEADLINES.end]; 3];
    faults.iter_mut().for_each(|doing| doing[CALM..].fill(Doing::Pauses));
    faults[2][back..].fill(Doing::Serves);
    let arrivals: Vec<_> = (CALM / 2..back).step_by(5).map(|at| Sent { at, until: at + WITHIN }).collect();
    let config = ClientConfig::default().insecure(true).balance(Balance::RoundRobin);
    let ends = run(1, &faults, &arrivals, 0..3, config);
    let by = back + 2 * MARGIN;
    let open = ends.iter().zip(&arrivals).filter(|(_, sent)| sent.at >= CALM && sent.until > by);
    let (answered, later): (Vec<_>, Vec<_>) =
        open.partition(|(end, _)| matches!(end, Some((step, Ok(()))) if *step <= by));
    assert!(answered.len() >= 40 && later.is_empty(), "{} answered in time, not {later:?}", answered.len());
}
