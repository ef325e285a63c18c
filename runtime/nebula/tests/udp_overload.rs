//! Overload over UDP by clients that ignore NACKs, with a clock moved by hand: the same on every
//! machine.
//!
//! The handler and the wire take time: a NACK's 16 bytes cost as much as those of a reply. So a
//! server that answers every refused RPC has no time left under enough load.

use crate::support::by_hand::ByHand;
use crate::support::udp_raw::{Answer, Packet, RawClient};
use nebula::{IdlePolicy, Span};

/// Times of the handler and of the wire.
const SERVICE_NS: u64 = 700;
const DATAGRAM_IN_PS: u64 = 300_000;
const BYTE_IN_PS: u64 = 200;
const BYTE_OUT_PS: u64 = 5_000;
const PACKED: u64 = 64;
/// Outstanding RPCs while the peak is measured, fewer than the SLO admits.
const WINDOW: u64 = 32;
/// Bytes that wait for the server before further ones are lost.
const SOCKET_BYTES: usize = 1 << 20;
const SLO_NS: u64 = 100_000;
const RUN_NS: u64 = 21_000_000;
/// The uncounted first part of a run.
const WARM_UP_NS: u64 = 5_000_000;
/// Nanoseconds between two requests of the honest client.
const HONEST_NS: u64 = 50_000;

/// The load of the other clients.
#[derive(Clone, Copy)]
enum Offer {
    /// This many outstanding in total.
    Window(u64),
    /// RPCs per millisecond in total.
    PerMs(u64),
}

/// A server, clients that ignore NACKs, and an honest one.
struct Scene {
    server: ByHand,
    heavy: Vec<RawClient>,
    honest: RawClient,
    stamp_ns: u64,
    tid: u32,
    /// The others' RPCs: sent, and answered in any way.
    sent: u64,
    answered: u64,
    replied: u64,
    nacked: u64,
    asked: u64,
    counted_from: u64,
    /// The honest client's round trips, and when it asked.
    asked_ns: Vec<u64>,
    round_trips_ns: Vec<u64>,
}

impl Scene {
    fn new(heavy: usize) -> Self {
        let mut server = ByHand::open(|config| {
            (config.slo, config.service_mean) = (Span::from_us(100), Span::from_us(1));
            config.retention_rpcs = 65_536;
            config.idle = IdlePolicy::Spin;
        });
        let heavy = (0..heavy).map(|_| server.client()).collect();
        let honest = server.client();
        server.account.is_plain.set(true);
        server.account.service_ns.set(SERVICE_NS);
        server.demand(DATAGRAM_IN_PS, BYTE_IN_PS, BYTE_OUT_PS);
        Self {
            server,
            heavy,
            honest,
            stamp_ns: 0,
            tid: 0,
            sent: 0,
            answered: 0,
            replied: 0,
            nacked: 0,
            asked: 0,
            counted_from: 0,
            asked_ns: vec![0],
            round_trips_ns: Vec::new(),
        }
    }

    fn request(&mut self, tid: u32) -> Vec<u8> {
        self.stamp_ns = (self.stamp_ns + 1).max(self.server.now_ns());
        Packet::whole(tid, self.stamp_ns, &[7; 64]).bytes()
    }

    fn send(&mut self, rpcs: u64) {
        let mut messages = Vec::new();
        for _ in 0..rpcs {
            self.tid += 1;
            messages.extend(self.request(self.tid));
        }
        self.sent += rpcs;
        let at = usize::try_from(self.sent / PACKED).expect("few") % self.heavy.len();
        if self.server.hand.unread_bytes() < SOCKET_BYTES {
            let datagram = self.heavy[at].frame(&messages);
            self.server.hand.put(self.heavy[at].address, &datagram);
        }
    }

    fn ask(&mut self) {
        self.asked += 1;
        let tid = u32::try_from(self.asked).expect("few");
        let request = self.request(tid);
        self.asked_ns.push(self.server.now_ns());
        if self.server.hand.unread_bytes() < SOCKET_BYTES {
            let datagram = self.honest.frame(&request);
            self.server.hand.put(self.honest.address, &datagram);
        }
    }

    fn take(&mut self) {
        let now_ns = self.server.now_ns();
        let mut said = Vec::new();
        self.server.hand.take(|to, datagram| said.push((to, datagram.to_vec())));
        for (to, datagram) in said {
            if to == self.honest.address {
                for answer in self.honest.read(&datagram) {
                    if let Answer::Reply { tid, .. } = answer {
                        self.round_trips_ns.push(now_ns - self.asked_ns[tid as usize]);
                    }
                }
                continue;
            }
            let client = self.heavy.iter().find(|client| client.address == to).expect("one of them");
            for answer in client.read(&datagram) {
                self.answered += 1;
                self.replied += u64::from(matches!(answer, Answer::Reply { .. }));
                self.nacked += u64::from(matches!(answer, Answer::Nack { .. }));
            }
        }
    }

    /// Runs for a while, with a pause of `pause_ns` after each millisecond of the server's run
    /// time. Returns the others' replies per millisecond.
    fn run(&mut self, offer: Offer, pause_ns: u64) -> u64 {
        let start = self.server.now_ns();
        let (mut begun, mut next_pause, mut next_ask) = (None, start + PAUSE_EVERY_NS, start);
        loop {
            let now = self.server.now_ns();
            if now - start > RUN_NS {
                break;
            }
            if begun.is_none() && now - start > WARM_UP_NS {
                begun = Some((now, self.replied));
                self.counted_from = self.asked;
                self.round_trips_ns.clear();
            }
            let (due, packed) = match offer {
                Offer::Window(outstanding) => (self.answered + outstanding, outstanding / 2),
                Offer::PerMs(rpcs) => ((now - start) * rpcs / 1_000_000, PACKED),
            };
            while due >= self.sent + packed {
                self.send(packed);
            }
            while matches!(offer, Offer::PerMs(_)) && next_ask <= now {
                next_ask += HONEST_NS;
                self.ask();
            }
            if pause_ns > 0 && now >= next_pause {
                self.server.advance_us(pause_ns / 1000);
                next_pause = self.server.now_ns() + PAUSE_EVERY_NS;
                continue;
            }
            let before = self.server.now_ns();
            self.server.worker.turn(&self.server.account);
            if self.server.now_ns() == before {
                self.server.advance_us(1);
            }
            self.take();
        }
        let (since, replied) = begun.expect("longer than the warm-up");
        (self.replied - replied) * 1_000_000 / (self.server.now_ns() - since)
    }
}

/// The server's run time between two pauses.
const PAUSE_EVERY_NS: u64 = 1_000_000;

fn peak() -> u64 {
    Scene::new(1).run(Offer::Window(WINDOW), 0)
}

/// RPCs that a server can serve in a millisecond, with one in `parts` of its core and `offered`
/// sent to it: reading them takes time, whatever their ends.
fn less_what_comes_in(peak: u64, offered: u64, parts: u64) -> u64 {
    let rpc_ps = DATAGRAM_IN_PS / PACKED + 96 * BYTE_IN_PS;
    peak * (1_000_000 / parts - offered * rpc_ps / 1000) / 1_000_000
}

#[test]
fn clients_that_ignore_nacks_cost_no_more_than_their_datagrams() {
    let peak = peak();
    for clients in [1, 8] {
        for times in [2, 4, 10] {
            let mut scene = Scene::new(clients);
            let served = scene.run(Offer::PerMs(peak * times), 0);
            let possible = less_what_comes_in(peak, peak * times, 1);
            assert!(
                served * 10 >= possible * 9,
                "{clients} clients, {times} x {peak}: {served} of {possible} a millisecond"
            );
            assert!(scene.nacked > 0, "some are told");
        }
    }
}

#[test]
fn an_honest_client_beside_them_is_served_in_time() {
    let peak = peak();
    for clients in [1, 8] {
        for times in [2, 4, 10] {
            let mut scene = Scene::new(clients);
            scene.run(Offer::PerMs(peak * times), 0);
            let (asked, mut times_ns) = (scene.asked - scene.counted_from, scene.round_trips_ns);
            times_ns.sort_unstable();
            let p99 = times_ns.get(times_ns.len() * 99 / 100).copied().unwrap_or(u64::MAX);
            let served = times_ns.len() as u64;
            assert!(served * 100 >= asked * 95, "{clients} clients, {times} x {peak}: {served} of {asked}");
            // It waits for RPCs in service but not for those that wait, which would take two turns
            // more.
            assert!(p99 <= SLO_NS / 4, "{clients} clients, {times} x {peak}: {p99} ns");
        }
    }
}

#[test]
fn a_server_that_has_half_a_core_serves_most_of_what_half_a_core_can() {
    let peak = peak();
    for times in [2, 4] {
        let mut scene = Scene::new(1);
        let served = scene.run(Offer::PerMs(peak * times), PAUSE_EVERY_NS);
        let possible = less_what_comes_in(peak, peak * times, 2);
        assert!(served * 10 >= possible * 9, "{times} x {peak}: {served} of {possible} a millisecond");
        assert!(times > 2 || served * 10 >= peak * 4, "{times} x {peak}: {served} a millisecond");
    }
}

#[test]
fn what_is_not_served_is_dropped_before_it_is_received_as_long_as_it_is_sent() {
    let peak = peak();
    let mut scene = Scene::new(2);
    scene.run(Offer::PerMs(peak * 10), 0);
    let (dropped, rules) = scene.server.hand.dropped();
    let sent = scene.sent / PACKED;
    assert!(dropped * 3 > sent && rules == 2, "{dropped} of {sent}, {rules} rules");
    // They ask for as much as can be served.
    for _ in 0..20 {
        scene.run(Offer::Window(WINDOW), 0);
    }
    assert_eq!(scene.server.hand.dropped().1, 0, "rules left");
}
