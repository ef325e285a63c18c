//! Open-loop load at a server that is too slow for it, in simulated time: what is accepted keeps
//! the SLO, and all else is refused at once, by the server or by the client whose ring is full.

use crate::support::by_hand::ByHand;
use crate::support::draw::Draw;
use crate::support::hand_wire::Hand;
use nebula::{CallError, Client, ClientConfig, FlowKind, NackReason, Span, SubmitError};
use nebula_nic::Timestamp;
use nebula_requester::Backlog;
use std::collections::VecDeque;
use std::net::SocketAddr;

/// Slots of the client: fewer than the SLOs from 10 ms on let wait at the server.
const SLOTS: u32 = 256;
const OFFERED: u32 = 6_000;
const CLIENT: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(std::net::Ipv4Addr::new(10, 0, 0, 2)), 9);
const SERVER: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(std::net::Ipv4Addr::new(10, 0, 0, 1)), 7400);

#[derive(Clone, Copy, Debug)]
struct Load {
    slo: Span,
    service: Span,
    /// Offered over served, in hundredths.
    percent: u64,
    seed: u64,
}

/// How the RPCs ended.
#[derive(Debug, Default)]
struct Ends {
    latencies_ns: Vec<u64>,
    nacked: u32,
    refused_here: u32,
    /// The most that waited at the client.
    waiting_max: usize,
}

struct World {
    server: ByHand,
    client: Client,
    hand: Hand,
    draw: Draw,
    load: Load,
    backlog: Backlog,
    /// When each RPC at the client was due, and each that is outstanding, by ticket.
    waiting: VecDeque<u64>,
    outstanding: Vec<(u64, u64)>,
    next_ns: u64,
    offered: u32,
    ends: Ends,
}

impl World {
    fn new(load: Load) -> Self {
        let server = ByHand::open(|config| {
            (config.slo, config.service_mean) = (load.slo, load.service);
            (config.retention_rpcs, config.retention_bytes) = (65_536, 8 << 20);
        });
        server.account.is_plain.set(true);
        let config = ClientConfig::default()
            .insecure(true)
            .slots(SLOTS)
            .flow(FlowKind::Unbounded)
            .call_timeout(Span::from_secs(9));
        let (client, hand) = server.client_over(CLIENT, SERVER, config);
        let next_ns = server.now_ns();
        let (draw, backlog) = (Draw::new(load.seed), Backlog::new(load.slo));
        let (waiting, outstanding) = (VecDeque::new(), Vec::new());
        let ends = Ends::default();
        Self { server, client, hand, draw, load, backlog, waiting, outstanding, next_ns, offered: 0, ends }
    }

    fn now(&self) -> Timestamp {
        Timestamp::ZERO + Span::from_ns(self.server.now_ns())
    }

    /// A time between half and three halves of `mean`.
    fn about(&mut self, mean: Span) -> u64 {
        let mean = usize::try_from(mean.as_ns()).expect("short");
        (mean / 2 + self.draw.below(mean + 1)) as u64
    }

    /// The RPCs due by now wait, or are refused, behind those that wait already for lack of room.
    fn arrive(&mut self) {
        while self.offered < OFFERED && self.next_ns <= self.server.now_ns() {
            self.offered += 1;
            let ahead = self.client.outstanding() + u32::try_from(self.waiting.len()).expect("few");
            let waited = Span::from_ns(self.server.now_ns() - self.next_ns);
            match self.backlog.refusal(waited, ahead) {
                Some(reason) if ahead >= SLOTS => self.refuse(reason),
                _ => self.waiting.push_back(self.next_ns),
            }
            let gap = self.load.service * 100 / self.load.percent;
            self.next_ns += self.about(gap);
        }
        self.ends.waiting_max = self.ends.waiting_max.max(self.waiting.len());
    }

    fn refuse(&mut self, reason: NackReason) {
        assert_eq!(reason, NackReason::QueueBound, "as the server says");
        self.ends.refused_here += 1;
    }

    /// Sends what has room, and refuses what has waited too long for it.
    fn send(&mut self) {
        while let Some(&due_ns) = self.waiting.front() {
            match self.client.submit(&[7; 40]) {
                Ok(ticket) => self.outstanding.push((ticket.0, due_ns)),
                Err(error) => {
                    assert_eq!(error, SubmitError::Full);
                    let waited = Span::from_ns(self.server.now_ns() - due_ns);
                    let Some(reason) = self.backlog.refusal(waited, self.client.outstanding()) else { return };
                    self.refuse(reason);
                }
            }
            self.waiting.pop_front();
        }
    }

    fn take(&mut self) {
        let mut answers = 0;
        let is_full = !self.waiting.is_empty();
        while let Some(done) = self.client.poll() {
            answers += 1;
            let at = self.outstanding.iter().position(|(ticket, _)| *ticket == done.ticket.0).expect("outstanding");
            let (_, due_ns) = self.outstanding.swap_remove(at);
            match done.result {
                Ok(_) => self.ends.latencies_ns.push(self.server.now_ns() - due_ns),
                Err(CallError::Nack { reason: NackReason::QueueBound }) => self.ends.nacked += 1,
                Err(error) => panic!("{error}"),
            }
        }
        let now = self.now();
        self.backlog.handle_answers(now, answers, is_full);
    }

    /// One turn of the server, which takes the time of the RPCs that it serves.
    fn turn(&mut self) {
        let service_ns = self.about(self.load.service);
        self.server.account.service_ns.set(service_ns);
        let server = &self.server.hand;
        self.hand.take(|_, datagram| server.put(CLIENT, datagram));
        let before_ns = self.server.now_ns();
        self.server.worker.turn(&self.server.account);
        let client = &self.hand;
        self.server.hand.take(|_, datagram| client.put(SERVER, datagram));
        if self.server.now_ns() == before_ns {
            self.server.advance_us(1);
        }
    }

    fn run(mut self) -> Ends {
        loop {
            self.send();
            self.arrive();
            self.send();
            self.turn();
            self.take();
            let ended = self.ends.latencies_ns.len() + (self.ends.nacked + self.ends.refused_here) as usize;
            let here = self.waiting.len() + self.outstanding.len();
            assert_eq!(ended + here, self.offered as usize, "{:?}: every RPC is somewhere", self.load);
            assert!(here <= self.allowed(), "{:?}: {here} wait or are outstanding", self.load);
            if self.offered == OFFERED && here == 0 {
                self.ends.latencies_ns.sort_unstable();
                return self.ends;
            }
        }
    }

    /// As many as are served within the SLO, or as have room.
    fn allowed(&self) -> usize {
        let served = self.load.slo.as_ps() / self.load.service.as_ps();
        (SLOTS as usize).max(usize::try_from(served).expect("few"))
    }
}

impl Ends {
    fn replied(&self) -> u32 {
        u32::try_from(self.latencies_ns.len()).expect("few")
    }
}

fn each(check: impl Fn(Load, &Ends)) {
    for (slo, service) in [
        (Span::from_us(100), Span::from_us(10)),
        (Span::from_ms(1), Span::from_us(10)),
        (Span::from_ms(10), Span::from_us(10)),
        (Span::from_ms(100), Span::from_us(100)),
    ] {
        for percent in [50, 100, 150, 400] {
            for seed in 1..=2 {
                let load = Load { slo, service, percent, seed };
                check(load, &World::new(load).run());
            }
        }
    }
}

#[test]
fn at_every_slo_and_load_what_is_accepted_keeps_the_slo_and_the_rest_is_refused() {
    each(|load, ends| {
        // All of it, and not 99 of 100: server and client let wait for 70 % of the SLO.
        let last = Span::from_ns(*ends.latencies_ns.last().expect("a reply"));
        assert!(last <= load.slo, "{load:?}: {last}, of {} replies", ends.replied());
        let refused = ends.nacked + ends.refused_here;
        match load.percent {
            50 => assert_eq!(refused, 0, "{load:?}"),
            100 => assert!(refused < OFFERED / 10, "{load:?}: {refused}"),
            percent => {
                // What can be served is served, besides one queue at the end.
                let possible = u64::from(OFFERED) * 100 / percent;
                assert!(u64::from(ends.replied()) >= possible * 9 / 10, "{load:?}: {} of {possible}", ends.replied());
                assert!(u64::from(refused) >= (u64::from(OFFERED) - possible) / 2, "{load:?}: {refused} refused");
            }
        }
        // The server's bound comes first where it is below the ring.
        let is_of_client = load.slo >= Span::from_ms(10) && load.percent > 100;
        assert_eq!(
            ends.refused_here > ends.nacked,
            is_of_client,
            "{load:?}: {} and {}",
            ends.refused_here,
            ends.nacked
        );
    });
}
