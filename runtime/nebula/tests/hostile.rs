//! Clients that write arbitrary bytes: the server cuts them off, and an honest client notices
//! nothing.

use crate::alone;
use crate::support::draw::Draw;
use crate::support::raw::{CANCELLED, NACK, REPLY, REQUEST, RawRing, Slot, is_readable};
use crate::support::{PATIENCE, endpoint, server_config, wait_until_clean};
use nebula::{CallError, Client, ClientConfig, Reply, RetryPolicy, Server, ServerConfig, Span, Status, StatusReader};
use nebula_sys::sync::Ordering::{Acquire, Relaxed, Release};
use nebula_testing::wait::{RaisedAtTheEnd, WAIT_MAX, Watchdog, wait_until};
use std::hint::black_box;
use std::sync::Once;
use std::sync::atomic::{AtomicBool, AtomicU64};

/// Requests that changed while the handler read them.
static TORN: AtomicU64 = AtomicU64::new(0);
static PANICS: AtomicU64 = AtomicU64::new(0);

fn count_panics() {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let default = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            let thread = std::thread::current();
            let is_servers = thread.name().is_some_and(|name| name.starts_with("nebula-"));
            PANICS.fetch_add(u64::from(is_servers), Relaxed);
            default(panic);
        }));
    });
}

fn checksum(bytes: &[u8]) -> u64 {
    bytes.iter().fold(bytes.len() as u64, |sum, &byte| sum.rotate_left(5) ^ u64::from(byte))
}

/// An echo that reads its request twice.
fn wary(request: &[u8], reply: &mut Reply<'_>) {
    let first = checksum(request);
    reply.write(request);
    let second = checksum(black_box(request));
    TORN.fetch_add(u64::from(first != second), Relaxed);
}

struct Scene<'a> {
    endpoint: &'a str,
    status: &'a StatusReader,
    served: &'a AtomicU64,
}

impl Scene<'_> {
    fn wait_for_service(&self) {
        let before = self.served.load(Acquire);
        wait_until("service for the honest client", || (self.served.load(Acquire) >= before + 3).then_some(()));
    }

    fn wait_until_cut(&self, ring: &RawRing, what: &str) {
        wait_until(&format!("an end for {what}"), || ring.is_cut().then_some(()));
    }
}

/// Calls with echoes of all sizes until `is_over`. Repeats refused ones; any other error fails the
/// test.
fn call_honestly(endpoint: &str, is_over: &AtomicBool, served: &AtomicU64) {
    let retry = RetryPolicy::BackOff { first: Span::from_us(50), factor: 2, attempts: 12, seed: 9 };
    let config = ClientConfig::default().reply_bytes_max(4096).retry(retry).call_timeout(WAIT_MAX);
    let mut client = Client::connect_with(endpoint, config).expect("a connection");
    let mut draw = Draw::new(77);
    while !is_over.load(Acquire) {
        let bytes = draw.below(4097);
        let request = draw.bytes(bytes);
        match client.call(&request) {
            Ok(reply) => {
                assert!(reply == request, "the honest client got a wrong answer");
                served.fetch_add(1, Release);
            }
            Err(error) => assert!(matches!(error, CallError::Nack { .. }), "{error}"),
        }
    }
}

/// Attacks both kinds of server while an honest client calls. Afterwards no slot is held, and they
/// stop.
fn withstand(test: &'static str, short: &str, attack: impl Fn(&Scene<'_>)) -> Vec<Status> {
    withstand_within(ServerConfig::default().slo, test, short, attack)
}

/// As [`withstand`], with servers of this SLO.
fn withstand_within(slo: Span, test: &'static str, short: &str, attack: impl Fn(&Scene<'_>)) -> Vec<Status> {
    let _alone = alone();
    let _watchdog = Watchdog::new(test);
    count_panics();
    let config = server_config(|config| (config.slo, config.rpc_bytes_max) = (slo, 8192));
    [true, false]
        .map(|inline| withstand_as(&endpoint(&format!("{short}-{inline}")), config.clone().inline(inline), &attack))
        .to_vec()
}

fn withstand_as(endpoint: &str, config: ServerConfig, attack: &impl Fn(&Scene<'_>)) -> Status {
    let server = Server::bind(endpoint).config(config).serve(wary).expect("a server");
    let (is_over, served) = (AtomicBool::new(false), AtomicU64::new(0));
    std::thread::scope(|scope| {
        let _end = RaisedAtTheEnd(&is_over);
        scope.spawn(|| call_honestly(endpoint, &is_over, &served));
        let scene = Scene { endpoint, status: server.status(), served: &served };
        scene.wait_for_service();
        attack(&scene);
        scene.wait_for_service();
    });
    let status = wait_until_clean(server.status(), 0);
    server.stop();
    assert_eq!(
        (TORN.load(Relaxed), PANICS.load(Relaxed)),
        (0, 0),
        "payloads torn, threads of the server that panicked"
    );
    status
}

/// A random number, mostly at the borders of fields.
fn odd_number(draw: &mut Draw) -> u32 {
    let any = u32::try_from(draw.number() >> 32).expect("32 bits");
    [0, 1, 2, 63, 64, 623, 624, 625, 4095, 4096, 8192, 8193, 65_535, u32::MAX - 1, u32::MAX, any][draw.below(16)]
}

/// A random header: sound, with one wrong field, or nonsense.
fn odd_slot(draw: &mut Draw) -> Slot {
    let sound = Slot::request(u32::try_from(draw.below(1200)).expect("small"), 3);
    match draw.below(6) {
        0 => Slot { span: odd_number(draw), ..sound },
        1 => Slot { rpc_bytes: odd_number(draw), ..sound },
        2 => Slot { pkt_idx: odd_number(draw), ..sound },
        3 => Slot { mark: draw.number() & 15, ..sound },
        4 => Slot { extra: odd_number(draw), ..sound },
        _ => Slot {
            mark: REQUEST,
            pkt_idx: u32::try_from(draw.below(3)).expect("small"),
            span: odd_number(draw),
            rpc_bytes: odd_number(draw),
            extra: odd_number(draw),
        },
    }
}

fn scribble(ring: &RawRing, draw: &mut Draw) {
    for word in ring.words() {
        word.store(draw.number(), Relaxed);
    }
    if draw.once_in(4) {
        return;
    }
    // At the right positions, so that the server reads past the first word. Several laps, since it
    // may accept some.
    for position in 0..ring.slots * 3 {
        ring.put(position, odd_slot(draw));
        if draw.once_in(8) {
            std::thread::yield_now();
        }
    }
}

#[test]
fn random_words_in_the_ring_harm_nobody_else() {
    let statuses = withstand("random words", "scribble", |scene| {
        let mut draw = Draw::new(11);
        for round in 0..60 {
            let ring = RawRing::connect(scene.endpoint, 1 << (1 + draw.below(7)));
            scribble(&ring, &mut draw);
            // Most leave at once, perhaps unnoticed; some write until the server cuts them off.
            if round % 3 == 0 {
                breach_until_cut(scene, &ring);
            }
        }
    });
    assert!(statuses.iter().all(|status| status.violations >= 20), "{statuses:?}");
}

/// Writes an invalid slot at every position, since the server may be anywhere in a scribbled ring.
fn breach_until_cut(scene: &Scene<'_>, ring: &RawRing) {
    let breach = Slot { pkt_idx: 65_535, ..Slot::request(1, 1) };
    let mut laps = (0..5).cycle();
    wait_until("an end for a scribbler", || {
        let first = laps.next()? * ring.slots;
        (first..first + ring.slots).for_each(|position| ring.put(position, breach));
        scene.wait_for_service();
        ring.is_cut().then_some(())
    });
}

#[test]
fn each_breach_of_the_protocol_is_cut_off_and_counted() {
    let sound = Slot::request(1000, 2);
    let breaches: &[(&str, &[Slot])] = &[
        ("a span of nothing", &[Slot { span: 0, ..sound }]),
        ("an empty RPC that spans nothing", &[Slot::request(0, 0)]),
        ("a span longer than the ring", &[Slot { span: 17, ..sound }]),
        ("the longest span", &[Slot { span: 4095, ..sound }]),
        ("more bytes than the span holds", &[Slot::request(625, 1)]),
        ("all the bytes there are", &[Slot { rpc_bytes: u32::MAX, ..sound }]),
        ("an RPC that begins with its second packet", &[Slot { pkt_idx: 1, ..sound }]),
        ("an RPC that begins with its last packet", &[Slot { pkt_idx: 65_535, ..sound }]),
        ("an index that jumps", &[Slot::request(1800, 3), Slot { pkt_idx: 2, ..Slot::request(1800, 3) }]),
        ("an index that stays", &[sound, sound]),
        ("a size that grows", &[sound, Slot { pkt_idx: 1, rpc_bytes: 1001, ..sound }]),
        ("a size that shrinks", &[sound, Slot { pkt_idx: 1, rpc_bytes: 10, ..sound }]),
        ("a size beyond all bounds, later", &[sound, Slot { pkt_idx: 1, rpc_bytes: u32::MAX, ..sound }]),
        ("a later packet that is taken back", &[sound, Slot { pkt_idx: 1, mark: CANCELLED, ..sound }]),
        ("nothing that is taken back", &[Slot { span: 0, mark: CANCELLED, ..sound }]),
        ("more than the ring that is taken back", &[Slot { span: 17, mark: CANCELLED, ..sound }]),
    ];
    let statuses = withstand("each breach", "breach", |scene| {
        for (what, slots) in breaches {
            let ring = RawRing::connect(scene.endpoint, 16);
            // The first packet comes last: the server abandons a slow RPC and then does not look at
            // what follows.
            for (slot, position) in slots.iter().zip(0..).collect::<Vec<_>>().into_iter().rev() {
                ring.put(position, *slot);
            }
            scene.wait_until_cut(&ring, what);
        }
        scene.wait_for_service();
    });
    assert!(statuses.iter().all(|status| status.violations == breaches.len() as u64), "{statuses:?}");
}

#[test]
fn what_is_odd_and_sound_is_answered() {
    // With a huge SLO the server refuses no RPC for it: a server kept from its core counts that
    // time as service time.
    let statuses = withstand_within(PATIENCE.into(), "what is odd and sound", "odd", |scene| {
        let ring = RawRing::connect(scene.endpoint, 16);
        let answer = |position| wait_until("an answer", || ring.answer(position));
        // Longer than the server accepts, in a span that could hold it: a NACK for the whole span,
        // and the server goes on behind it.
        ring.put(0, Slot::request(8193, 15));
        assert_eq!(answer(0), (NACK, 0, 4), "too large");
        ring.put(15, Slot::request(0, 1));
        assert_eq!(answer(15), (REPLY, 0, 0));
        // A span of the whole ring with one packet in it.
        ring.put(16, Slot::request(8, 16));
        assert_eq!(answer(16), (REPLY, 8, 0));
        // A slot without a request mark is ignored until it has one.
        for mark in [0, REPLY, NACK, 4, 6, 15] {
            ring.put(32, Slot { mark, ..Slot::request(8, 1) });
            scene.wait_for_service();
            assert!(!ring.is_cut());
        }
        ring.put(32, Slot { extra: u32::MAX, ..Slot::request(8, 1) });
        assert_eq!(answer(32), (REPLY, 8, 0));
        // A span that changes after the first packet has no effect.
        ring.put(34, Slot { pkt_idx: 1, span: 9, ..Slot::request(1000, 2) });
        ring.put(33, Slot::request(1000, 2));
        assert_eq!(answer(33), (REPLY, 1000, 0));
        ring.put(35, Slot::request(3, 1));
        assert_eq!(answer(35), (REPLY, 3, 0));
        // An RPC cancelled before it is read is not executed, and the one behind its slots is.
        ring.put(36, Slot { mark: CANCELLED, ..Slot::request(1000, 3) });
        assert_eq!(answer(36), (NACK, 0, 8), "cancelled");
        ring.put(39, Slot::request(5, 1));
        assert_eq!(answer(39), (REPLY, 5, 0));
    });
    assert!(
        statuses.iter().all(|status| (status.violations, status.nacked_too_large, status.cancelled) == (0, 1, 1)),
        "{statuses:?}"
    );
}

/// More answers than the socket can hold wake-ups.
const UNHEARD: u32 = 3000;

#[test]
fn one_that_always_sleeps_and_takes_no_wake_up_is_served_and_holds_up_nobody() {
    let statuses = withstand("one that always sleeps", "sleeper", |scene| {
        let ring = RawRing::connect_sleeper(scene.endpoint, 16);
        for position in 0..UNHEARD {
            let word = [1, u64::MAX, u64::from(position) << 32][position as usize % 3];
            ring.sleep_word().store(word, Release);
            ring.put(position, Slot::request(8, 1));
            let answer = wait_until("an answer", || ring.answer(position));
            assert!(answer.0 == REPLY || answer.0 == NACK, "{answer:?}");
        }
        assert!(is_readable(&ring.socket), "it has been woken");
        scene.wait_for_service();
        // While awake it gets no wake-ups.
        let polling = RawRing::connect_sleeper(scene.endpoint, 16);
        polling.put(0, Slot::request(8, 1));
        wait_until("an answer", || polling.answer(0));
        scene.wait_for_service();
        assert!(!is_readable(&polling.socket));
    });
    assert!(statuses.iter().all(|status| status.violations == 0), "{statuses:?}");
}

#[test]
fn rpcs_that_are_never_whole_age_out() {
    let statuses = withstand("RPCs that are never whole", "halves", |scene| {
        // More than the server can reassemble at once, with packets so small that the buffer does
        // not fill up.
        let rings: Vec<_> = (0..150).map(|_| RawRing::connect(scene.endpoint, 4)).collect();
        for lap in 0..5 {
            for ring in &rings {
                ring.put(lap * 2, Slot::request(700, 2));
            }
            for ring in &rings {
                let (mark, ..) = wait_until("an end of each half", || ring.answer(lap * 2));
                assert_eq!(mark, NACK);
            }
        }
        // The longest RPCs take all the room, and give it back.
        for ring in &rings {
            ring.put(10, Slot::request(4 * 624, 4));
        }
        for ring in &rings {
            wait_until("an end of each half", || ring.answer(10));
        }
        assert!(rings.iter().all(|ring| !ring.is_cut()), "slow is no crime");
        scene.wait_for_service();
    });
    assert!(statuses.iter().all(|status| status.abandoned > 100 && status.violations == 0), "{statuses:?}");
}

#[test]
fn halves_left_behind_give_their_room_back_at_once() {
    let statuses = withstand("halves left behind", "left", |scene| {
        for _ in 0..100 {
            let ring = RawRing::connect(scene.endpoint, 16);
            ring.put(0, Slot::request(8192, 15));
            drop(ring);
        }
        wait_until("only the honest client", || (scene.status.read().clients == 1).then_some(()));
    });
    assert!(statuses.iter().all(|status| status.violations == 0), "{statuses:?}");
}

/// Changes payloads and sizes as fast as possible, and yields from time to time, since the server
/// may share this core. One size in `odd` is wrong.
fn flip(ring: &RawRing, odd: usize, is_over: &AtomicBool) {
    let mut draw = Draw::new(5);
    while !is_over.load(Relaxed) {
        if draw.once_in(32) {
            std::thread::yield_now();
        }
        let value = [0, u64::MAX][draw.below(2)];
        let position = u32::try_from(draw.below(ring.slots as usize)).expect("small");
        let slot = ring.head(position);
        slot[2..].iter().chain(ring.tail(position)).for_each(|word| word.store(value, Relaxed));
        // Sizes that fit a span of one slot, and sizes that do not.
        let bytes = [624, 8, 1, 570, 625, u64::from(u32::MAX)][if draw.once_in(odd) { 5 } else { draw.below(4) }];
        slot[1].store(bytes, Relaxed);
    }
}

#[test]
fn a_payload_that_changes_while_it_is_read_is_one_payload_to_the_handler() {
    let statuses = withstand("a payload that changes", "flip", |scene| {
        let (mut answered, mut cut) = (0, 0);
        while answered < 2_000 {
            let ring = RawRing::connect(scene.endpoint, 4);
            let is_over = AtomicBool::new(false);
            std::thread::scope(|scope| {
                let _end = RaisedAtTheEnd(&is_over);
                scope.spawn(|| flip(&ring, 50, &is_over));
                for position in 0..500 {
                    ring.put(position, Slot::request(624, 1));
                    let answer = wait_until("an answer or the end", || {
                        if ring.is_cut() { Some(None) } else { ring.answer(position).map(Some) }
                    });
                    match answer {
                        Some(_) => answered += 1,
                        None => break,
                    }
                }
            });
            cut += u64::from(ring.is_cut());
        }
        assert!(answered > cut, "{answered} answered, {cut} cut off");
    });
    // On a busy machine the server refuses some, since it counts the time without its core as
    // service time.
    assert!(statuses.iter().all(|status| status.packets > 2_000 && status.freed > 0), "{statuses:?}");
}

#[test]
fn bursts_that_change_while_they_are_read_are_whole_rpcs_to_the_handler() {
    let statuses = withstand("bursts that change", "flip-bursts", |scene| {
        let (mut answered, mut cut) = (0, 0);
        while answered < 4_000 {
            let ring = RawRing::connect(scene.endpoint, 64);
            let is_over = AtomicBool::new(false);
            std::thread::scope(|scope| {
                let _end = RaisedAtTheEnd(&is_over);
                scope.spawn(|| flip(&ring, 2_000, &is_over));
                'ring: for first in (0..1_600).step_by(32) {
                    (first..first + 32).for_each(|position| ring.put(position, Slot::request(624, 1)));
                    for position in first..first + 32 {
                        let answer = wait_until("an answer or the end", || {
                            if ring.is_cut() { Some(None) } else { ring.answer(position).map(Some) }
                        });
                        if answer.is_none() {
                            break 'ring;
                        }
                        answered += 1;
                    }
                }
            });
            cut += u64::from(ring.is_cut());
        }
        assert!(answered > cut, "{answered} answered, {cut} cut off");
    });
    // On a busy machine the server refuses many, since it counts the time without its core as
    // service time.
    assert!(statuses.iter().all(|status| status.packets > 4_000 && status.freed > 0), "{statuses:?}");
}
