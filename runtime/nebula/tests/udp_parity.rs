//! The decisions over UDP that are made outside the back end replay: why a client waits no more,
//! whether an incomplete RPC fits, how many refusals get a NACK, how fast RPCs
//! are served, and which part of a heavy client's datagrams passes.

use crate::support::by_hand::{ByHand, job};
use crate::support::log_file::LogFile;
use crate::support::udp_raw::{Answer, BUDGET_US, CANCELLED, EXPIRED, INCOMPLETE, Packet, cancel};
use nebula::{Queueing, ServerConfig, Span};
use nebula_nic::{ReplayError, replay_text};

const BUFFER_FULL: u32 = 1;
const SLOTS: u64 = 256;

fn open(file: &LogFile, change: impl FnOnce(&mut ServerConfig)) -> ByHand {
    ByHand::open(|config| {
        config.decision_log = Some(file.0.clone());
        change(config);
    })
}

/// The log of a server that has ended, which must replay.
fn replayed(file: &LogFile, mut scene: ByHand) -> String {
    scene.running.stop();
    while scene.worker.turn(&scene.account) > 0 {}
    drop(scene.worker);
    let log = file.text();
    let lines = replay_text(&log).unwrap_or_else(|error| panic!("{error} in\n{log}"));
    assert_eq!(lines, log.lines().count() - 1, "every line but the configuration's");
    log
}

/// Each of these texts is in the log, and the log differs if it is changed.
fn assert_found(log: &str, changes: &[(&str, &str)]) {
    for (from, to) in changes {
        assert!(log.contains(from), "no {from:?} in\n{log}");
        let replayed = replay_text(&log.replacen(from, to, 1));
        assert!(matches!(replayed, Err(ReplayError::Difference(_))), "{to:?} for {from:?}: {replayed:?}");
    }
}

#[test]
fn deadlines_cancels_and_crowding_replay_and_a_change_of_them_is_found() {
    let file = LogFile::new("udp-parity-endings");
    let mut scene = open(&file, |config| config.queueing = Queueing::Unbounded { recv_buffer_bytes: SLOTS * 64 });
    let (mut client, mut other) = (scene.client(), scene.client());
    let nack = |tid, reason| [Answer::Nack { tid, reason }];
    // Too late when it arrives.
    let (now, request) = (scene.now_ns(), job(1, 100, 50));
    let late = Packet { budget_us: 50, ..Packet::whole(0, now - 50_000, &request) };
    assert_eq!(scene.ask(&mut client, &late.bytes()), nack(0, EXPIRED));
    // Too late behind a slow RPC.
    scene.account.service_ns.set(100_000);
    let both = [1, 2].map(|tid| Packet { budget_us: 30, ..Packet::whole(tid, now, &request) }.bytes()).concat();
    assert!(scene.ask(&mut client, &both).contains(&nack(2, EXPIRED)[0]));
    scene.account.service_ns.set(0);
    // Cancelled before it begins.
    let now = scene.now_ns();
    let one = Packet { budget_us: BUDGET_US, ..Packet::whole(3, now, &request) }.bytes();
    assert_eq!(scene.ask(&mut client, &[one, cancel(3, now)].concat()), nack(3, CANCELLED));
    // Two incomplete RPCs of a host are too many for the buffer, until one is complete.
    let long = job(9, 4000, 50);
    let part = |tid, idx| Packet::part(tid, now, &long, idx).bytes();
    assert_eq!(scene.ask(&mut client, &part(4, 0)), []);
    assert_eq!(scene.ask(&mut client, &part(5, 0)), nack(5, BUFFER_FULL));
    assert_eq!(scene.ask(&mut other, &part(4, 0)), [], "another host has its share");
    let rest: Vec<u8> = (1..4).flat_map(|idx| part(4, idx)).collect();
    assert_eq!(scene.ask(&mut client, &rest).len(), 1);
    assert_eq!(scene.ask(&mut client, &part(6, 0)), []);
    // The incomplete ones age out.
    scene.advance_us(20_000);
    scene.run();
    let of_both = scene.hear_each(&[&client, &other]);
    assert_eq!(of_both, [nack(6, INCOMPLETE), nack(4, INCOMPLETE)]);
    assert_eq!(scene.ask(&mut client, &part(7, 0)), [], "their room was given back");
    let log = replayed(&file, scene);
    assert_eq!(log.matches(" over ").count(), 3, "{log}");
    let of = |word: &str, end: &str| {
        let line = log.lines().find(|line| line.contains(word) && line.ends_with(end));
        line.unwrap_or_else(|| panic!("no {word:?} with {end:?} in\n{log}")).to_owned()
    };
    let (crowded, fits) = (of(" crowd ", "-> nack buffer-full"), of(" crowd ", "-> fits"));
    assert_found(
        &log,
        &[
            ("cancelled=0 -> nack expired", "cancelled=0 -> -"),
            ("cancelled=0 -> nack expired", "cancelled=1 -> nack expired"),
            ("cancelled=1 -> nack cancelled", "cancelled=0 -> nack cancelled"),
            (&crowded, &crowded.replace("nack buffer-full", "fits")),
            (&fits, &fits.replace("fits", "nack buffer-full")),
            // Room that is not taken, or not given back, changes a later decision.
            ("slots=63 -> -", "slots=1 -> -"),
        ],
    );
    let given_back = of(" give-back ", "-> -");
    assert_found(&log, &[(&given_back, &given_back.replace("slots=63", "slots=0"))]);
}

#[test]
fn refusals_that_get_a_nack_and_those_that_do_not_replay() {
    let file = LogFile::new("udp-parity-refusals");
    let mut scene = open(&file, |config| (config.slo, config.service_mean) = (Span::from_us(20), Span::from_us(2)));
    let mut client = scene.client();
    let (now, request) = (scene.now_ns(), job(1, 12, 12));
    for frame in 0..20 {
        let packet = |tid| Packet { budget_us: BUDGET_US, ..Packet::whole(tid, now, &request) }.bytes();
        let requests: Vec<u8> = (frame * 20..(frame + 1) * 20).flat_map(packet).collect();
        let frame = client.frame(&requests);
        scene.hand.put(client.address, &frame);
    }
    let nacks = scene.hear().len();
    assert!(nacks > 0);
    let log = replayed(&file, scene);
    assert!(log.matches("refuse sent -> -").count() >= 48, "{log}");
    assert!(log.contains("refuse light=0 -> answered"), "{log}");
    assert_found(&log, &[("-> silent", "-> answered")]);
    // With one NACK fewer, another would have been given.
    let one = log.lines().position(|line| line.ends_with("refuse sent -> -")).expect("a NACK");
    let fewer: Vec<&str> = log.lines().enumerate().filter(|(at, _)| *at != one).map(|(_, line)| line).collect();
    assert!(matches!(replay_text(&fewer.join("\n")), Err(ReplayError::Difference(_))));
}

#[test]
fn the_pace_of_an_engine_and_early_drop_replay() {
    let file = LogFile::new("udp-parity-early");
    let mut scene = open(&file, |config| (config.slo, config.service_mean) = (Span::from_ms(2), Span::from_us(200)));
    let mut client = scene.client();
    let request = job(1, 12, 12);
    scene.account.service_ns.set(200_000);
    for round in 0..8 {
        let now = scene.now_ns();
        for frame in round * 20..(round + 1) * 20 {
            let packet = |tid| Packet { budget_us: BUDGET_US, ..Packet::whole(tid, now, &request) }.bytes();
            let requests: Vec<u8> = (frame * 20..(frame + 1) * 20).flat_map(packet).collect();
            let frame = client.frame(&requests);
            scene.hand.put(client.address, &frame);
        }
        scene.run();
    }
    let log = replayed(&file, scene);
    for step in [" pace start ", " pace turn ", " pace serving ", " pace idle ", " pace ingress "] {
        assert!(log.contains(step), "no {step:?} in\n{log}");
    }
    let of = |word: &str, decision: &str| {
        let line = log.lines().find(|line| line.contains(word) && line.contains(decision));
        line.unwrap_or_else(|| panic!("no {word:?} with {decision:?} in\n{log}")).to_owned()
    };
    let serving = of(" pace serving ", "-> together=");
    let dropped = of(" early turn ", "-> pass peer=");
    let without = |line: &str| line.rsplit_once(" -> ").map(|(input, _)| format!("{input} -> -")).expect("a decision");
    assert_found(&log, &[(&serving, &without(&serving)), (&dropped, &without(&dropped))]);
    // Of a client that lost nothing, nothing is dropped.
    let answered = |line: &str| match line.split_once(" lost=") {
        Some((datagram, _)) => format!("{datagram} lost=0 -> -\n"),
        None => format!("{line}\n"),
    };
    let lossless = replay_text(&log.lines().map(answered).collect::<String>());
    assert!(matches!(lossless, Err(ReplayError::Difference(_))), "{lossless:?}");
}
