//! A run's random choices from its seed: network, server, clients and faults.

use crate::support::draw::Draw;
use crate::support::sim_net::Link;
use nebula::{ClientConfig, FlowKind, Key, Keys, Queueing, RetryPolicy, ServerConfig, Span};

/// Everything about a run that is fixed before it begins.
#[derive(Clone, Debug)]
pub(crate) struct Scenario {
    pub(crate) link: Link,
    pub(crate) server: ServerConfig,
    pub(crate) clients: Vec<ClientPlan>,
    pub(crate) blows: Vec<(u64, Blow)>,
    pub(crate) service: ServiceTimes,
    pub(crate) is_fair: bool,
    pub(crate) is_ample: bool,
    pub(crate) datagram_bytes: usize,
    pub(crate) has_adversary: bool,
    /// A server key of the adversary; its owner is not the clients', except for the first `exposed`
    /// clients.
    pub(crate) insider: Option<[u8; 32]>,
    pub(crate) exposed: usize,
    /// The clients' transfer numbers wrap.
    pub(crate) wraps: bool,
}

#[derive(Clone, Debug)]
pub(crate) struct ClientPlan {
    pub(crate) config: ClientConfig,
    /// Bursts of calls, and the most calls in one.
    pub(crate) bursts: usize,
    pub(crate) burst_max: usize,
    /// The longest pause between two bursts.
    pub(crate) pause_ps: u64,
    pub(crate) bytes_max: usize,
    pub(crate) reply_bytes_max: usize,
    /// One in this many calls is far longer; 0 for none.
    pub(crate) giants: usize,
    /// One in this many calls is cancelled, or has its own deadline; 0 for none.
    pub(crate) cancels: usize,
    pub(crate) own_deadlines: usize,
    /// Its clock's offset, and its speed in parts per million too fast.
    pub(crate) offset_ps: u64,
    pub(crate) drift_ppm: i64,
}

/// A fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Blow {
    Crash,
    Restart,
    /// Cuts off this client, or the server if `None`, for this long.
    CutOff(Option<usize>, u64),
    /// A client ends and another begins at its address.
    Reborn(usize),
    Moved(usize),
    Silence(u64),
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct ServiceTimes {
    pub(crate) usual_ps: u64,
    /// One in this many takes a hundred times as long; 0 for none.
    pub(crate) slow: usize,
}

const US: u64 = 1_000_000;
const MS: u64 = 1000 * US;

impl Scenario {
    pub(crate) fn drawn(draw: &mut Draw) -> Self {
        let is_calm = draw.once_in(8);
        let key = draw.once_in(4).then(|| draw.bytes(Key::BYTES).try_into().expect("a key's bytes")).map(Key::new);
        let is_ample = is_calm || draw.once_in(2);
        let is_large = draw.once_in(24);
        let service =
            ServiceTimes { usual_ps: [US / 2, 2 * US, 20 * US][draw.below(3)], slow: [0, 0, 50][draw.below(3)] };
        let server = server(draw, is_ample, is_large, &service, key.clone());
        let count = 1 + draw.below(5);
        let clients: Vec<_> = (0..count).map(|_| client(draw, is_calm, is_large, &server)).collect();
        let blows = if is_calm { vec![(5 * MS, silence(draw))] } else { blows(draw, count) };
        let link = if is_calm { Link::CLEAN } else { Link::drawn(draw) };
        let datagram_bytes = [1232, 1232, 1452, 9000, 16_384][draw.below(5)];
        let is_fair = is_calm || is_fair(&link, &blows);
        let (has_adversary, wraps) = (draw.once_in(3), draw.once_in(3));
        let mut scenario = Self {
            link,
            server,
            clients,
            blows,
            service,
            is_fair,
            is_ample,
            datagram_bytes,
            has_adversary,
            insider: None,
            exposed: 0,
            wraps,
        };
        if has_adversary && !scenario.server.keys.is_empty() && draw.once_in(2) {
            scenario.let_in_an_insider(draw);
        }
        scenario
    }

    /// Gives the adversary another key than most clients have. It knows roughly where the clients'
    /// transfers begin.
    fn let_in_an_insider(&mut self, draw: &mut Draw) {
        let key: [u8; 32] = draw.bytes(32).try_into().expect("a key's bytes");
        let own = Key::new(key).to_hex();
        let all: Vec<String> = self.server.keys.iter().map(|(_, key)| format!("honest {}", key.to_hex())).collect();
        let parse = |text: &str| text.parse::<Keys>().expect("keys");
        self.server.keys = parse(&format!("{}\nmallory {own}", all.join("\n")));
        self.exposed = [0, 0, 1][draw.below(3)];
        self.clients.iter_mut().take(self.exposed).for_each(|client| client.config.keys = parse(&own));
        (self.insider, self.wraps) = (Some(key), true);
    }
}

/// Whether a client that tries often enough succeeds: at most one datagram in twenty is lost, and
/// no host is away.
fn is_fair(link: &Link, blows: &[(u64, Blow)]) -> bool {
    let is_harmless = |(_, blow): &(u64, Blow)| matches!(blow, Blow::Silence(_) | Blow::Reborn(_));
    link.lost + link.changed + link.cut <= 50 && link.burst == 0 && link.inbox >= 256 && blows.iter().all(is_harmless)
}

fn server(draw: &mut Draw, is_ample: bool, is_large: bool, service: &ServiceTimes, key: Option<Key>) -> ServerConfig {
    let policies = ["jbsq:1", "jbsq:2", "jbsq:4", "single-queue", "rss", "round-robin", "random", "key-hash"];
    let policy = match draw.below(12) {
        8 => "two-choices",
        9 => "preemptive:5us",
        10 | 11 => "mcs-lock",
        other => policies[other],
    };
    let rpc_bytes_max = if is_large { 1 << 20 } else { [2048, 8192, 65_536][draw.below(3)] };
    let queueing = match draw.below(3) {
        0 => Queueing::Unbounded { recv_buffer_bytes: 1 << (12 + draw.below(6)) },
        _ => Queueing::SloBounded,
    };
    let workers = if policy == "mcs-lock" { 1 + u16::try_from(draw.below(3)).expect("small") } else { 1 };
    let slo = Span::from_us([20, 100, 1000][draw.below(3)]);
    let packet_bytes = [1088, 1088, 1088, 512, 64][draw.below(if is_large { 3 } else { 5 })];
    let reply_bytes_max = if is_large { None } else { [Some(1024), Some(8192), None][draw.below(3)] };
    let mut config = ServerConfig::default()
        .policy(policy.parse().expect("a policy"))
        .workers(workers)
        .inline(true)
        .slo(slo)
        .service_mean(Span::from_ps(service.usual_ps))
        .rpc_bytes_max(rpc_bytes_max)
        .packet_bytes(packet_bytes)
        .retention_rpcs(if is_ample { 16_384 } else { [1, 64, 256][draw.below(3)] })
        .retention_bytes(if is_ample { 32 << 20 } else { [0, 1 << 14, 1 << 18][draw.below(3)] })
        .queueing(queueing)
        .insecure(true)
        .stack_bytes(64 * 1024)
        .suspended_max(4);
    config.reply_bytes_max = reply_bytes_max;
    config.reassembly_timeout = [None, Some(Span::from_ms(2)), Some(Span::from_ms(20))][draw.below(3)];
    config.keys = key.map_or_else(Keys::default, Keys::from);
    config
}

/// The longest reply that a server sends, in bytes.
pub(crate) fn reply_bound(server: &ServerConfig) -> u32 {
    server.reply_bytes_max.unwrap_or(server.rpc_bytes_max.max(65_536))
}

fn client(draw: &mut Draw, is_calm: bool, is_large: bool, server: &ServerConfig) -> ClientPlan {
    let retry = match draw.below(3) {
        0 => RetryPolicy::BackOff {
            first: Span::from_us(1 + draw.below(200) as u64),
            factor: 2,
            attempts: 2 + u32::try_from(draw.below(4)).expect("small"),
            seed: draw.number(),
        },
        _ => RetryPolicy::GiveUp,
    };
    let mut config = ClientConfig::default().insecure(true).retry(retry).slots(1 << draw.below(9));
    config = config.transmissions_max(if is_calm { 12 } else { [3, 6, 12][draw.below(3)] });
    if draw.once_in(3) {
        config = config.deadline(Span::from_us([200, 2000, 20_000, 200_000][draw.below(4)]));
    }
    if draw.once_in(4) {
        config = config.datagram_bytes([1232, 1300, 4000][draw.below(3)]);
    }
    if draw.once_in(4) {
        // With less room than the server's stated longest reply, the client would send nothing.
        config = config.reply_bytes_max(server.reply_bytes_max.unwrap_or(0).max(2000));
    }
    config.flow = [FlowKind::Window, FlowKind::Homa, FlowKind::Homa, FlowKind::Unbounded][draw.below(4)];
    config.keys = server.keys.clone();
    ClientPlan {
        config,
        bursts: 1 + draw.below(24),
        burst_max: [1, 4, 16, 64][draw.below(4)],
        pause_ps: [10 * US, 200 * US, 5 * MS][draw.below(3)],
        bytes_max: [40, 400, 1200, 4000][draw.below(4)],
        reply_bytes_max: [8, 400, 1200, 9000][draw.below(4)],
        giants: if is_large { 8 } else { [0, 0, 40][draw.below(3)] },
        cancels: [0, 0, 4][draw.below(3)],
        own_deadlines: [0, 0, 3][draw.below(3)],
        offset_ps: draw.number() >> (4 + draw.below(24)),
        drift_ppm: [0, 0, 100, -100][draw.below(4)],
    }
}

/// Up to 31 s: clocks drift apart, and after some seconds a client asks for the time.
fn silence(draw: &mut Draw) -> Blow {
    Blow::Silence(draw.number() % (31_000 * MS))
}

fn blows(draw: &mut Draw, clients: usize) -> Vec<(u64, Blow)> {
    let mut blows = Vec::new();
    for _ in 0..draw.below(4) {
        let at = draw.number() % (40 * MS);
        let (which, length) = (draw.below(clients), draw.number() % (60 * MS));
        match draw.below(16) {
            0..=3 => {
                blows.push((at, Blow::Crash));
                blows.push((at + 1 + if draw.once_in(4) { 400 * MS } else { length }, Blow::Restart));
            }
            4..=6 => blows.push((at, Blow::CutOff(Some(which), length))),
            7..=9 => blows.push((at, Blow::CutOff(None, length))),
            10..=11 => blows.push((at, Blow::Reborn(which))),
            12..=13 => blows.push((at, Blow::Moved(which))),
            14 => blows.push((at, silence(draw))),
            _ => {}
        }
    }
    blows.sort_by_key(|&(at, _)| at);
    blows
}
