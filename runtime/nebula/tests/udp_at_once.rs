//! Requests of one datagram that an inline server serves before any is queued, compared with the
//! same requests one by one: the same answers and decisions, each executed once.

use crate::support::by_hand::{ByHand, job, reply, reply_of};
use crate::support::log_file::LogFile;
use crate::support::udp_raw::{Answer, BUDGET_US, NO_BUDGET, Packet, RawClient};
use nebula::{Reply, Requests, ServerConfig, Service, Span};
use nebula_nic::decision::replay_text;
use std::cell::RefCell;

/// Requests of these lengths, with transfers and ids from `tid` on, and replies of `reply_bytes`.
fn requests(scene: &ByHand, tid: u32, lengths: &[usize], reply_bytes: u32, budget_us: u32) -> Vec<u8> {
    let now = scene.now_ns();
    let packet = |(tid, &bytes): (u32, &usize)| {
        Packet { budget_us, ..Packet::whole(tid, now, &job(tid.into(), bytes, reply_bytes)) }.bytes()
    };
    (tid..).zip(lengths).flat_map(packet).collect()
}

fn replies(tids: std::ops::Range<u32>, reply_bytes: u32) -> Vec<Answer> {
    tids.map(|tid| reply(tid, tid.into(), reply_bytes)).collect()
}

#[test]
fn both_ways_give_the_same_answers_and_logs_that_replay_with_the_same_decisions() {
    let lengths: Vec<usize> = (0..40).map(|at| if at < 30 { 40 + at } else { 12 + 22 * at }).collect();
    let both = [NO_BUDGET, BUDGET_US].map(|budget_us| {
        let file = LogFile::new(&format!("udp-at-once-{budget_us}"));
        let mut scene = ByHand::open(|config| {
            config.decision_log = Some(file.0.clone());
        });
        let mut client = scene.client();
        for tid in [0, 40] {
            let messages = requests(&scene, tid, &lengths, 50, budget_us);
            let mut answers = scene.ask(&mut client, &messages);
            answers.sort_by_key(|answer| if let Answer::Reply { tid, .. } = answer { *tid } else { u32::MAX });
            assert_eq!(answers, replies(tid..tid + 40, 50));
        }
        assert_eq!(scene.executions(), 80);
        let status = scene.status();
        scene.running.stop();
        while scene.worker.turn(&scene.account) > 0 {}
        drop(scene.worker);
        let log = file.text();
        replay_text(&log).unwrap_or_else(|error| panic!("{error}"));
        let count = |word: &str| log.matches(word).count();
        let order: Vec<String> = log.lines().filter(|line| line.contains("packet")).map(str::to_owned).collect();
        (status.dispatched, status.freed, count("dispatch core="), count("complete"), order.len())
    });
    assert_eq!(both[0], both[1]);
    assert_eq!((both[0].0, both[0].2), (80, 80));
}

#[test]
fn what_is_sent_again_is_answered_from_memory_on_either_way() {
    let mut scene = ByHand::open(|_| ());
    let mut client = scene.client();
    let messages = requests(&scene, 0, &[100; 20], 50, NO_BUDGET);
    assert_eq!(scene.ask(&mut client, &messages), replies(0..20, 50));
    assert_eq!(scene.ask(&mut client, &messages), replies(0..20, 50));
    // New requests behind and between old ones.
    let (old, new) = (requests(&scene, 15, &[100; 5], 50, NO_BUDGET), requests(&scene, 20, &[100; 3], 50, NO_BUDGET));
    let both = [old.clone(), new.clone(), old, new].concat();
    let answers = scene.ask(&mut client, &both);
    for tid in 15..23 {
        assert!(answers.contains(&reply(tid, tid.into(), 50)), "{tid}");
        assert_eq!(scene.executed(tid.into()), 1);
    }
}

#[test]
fn replies_that_the_ring_of_replies_is_too_short_for_at_once_are_all_sent() {
    // The ring holds four replies.
    let mut scene = ByHand::open(|config| {
        (config.retention_bytes, config.reply_bytes_max, config.retention_rpcs) = (1 << 14, Some(4000), 256);
    });
    let mut client = scene.client();
    let messages = requests(&scene, 0, &[100; 20], 1000, NO_BUDGET);
    assert_eq!(scene.ask(&mut client, &messages), replies(0..20, 1000));
    let messages = requests(&scene, 20, &[100; 20], 3900, NO_BUDGET);
    let answers = scene.ask(&mut client, &messages);
    for tid in 20..40_u32 {
        let whole = reply_of(tid.into(), 3900);
        let first = answers.iter().find_map(|answer| match answer {
            Answer::Reply { tid: of, pkt_idx: 0, payload, .. } if *of == tid => Some(payload),
            _ => None,
        });
        let first = first.unwrap_or_else(|| panic!("a packet of {tid} in {answers:?}"));
        assert_eq!(first[..], whole[..first.len()], "of {tid}");
        assert_eq!(scene.executed(tid.into()), 1);
    }
}

/// Echoes, and notes how many RPCs came at once.
#[derive(Default)]
struct Runs(RefCell<Vec<usize>>);

impl Service for Runs {
    fn serve(&self, request: &[u8], reply: &mut Reply<'_>) {
        self.0.borrow_mut().push(0);
        reply.write(request);
    }

    fn serve_burst(&self, requests: &mut Requests<'_>) {
        self.0.borrow_mut().push(requests.len());
        requests.for_each(|request, reply| reply.write(request));
    }
}

#[test]
fn a_run_is_as_long_as_its_requests_are_alike_and_a_turn_allows() {
    for (turn_rpcs_max, budget_us, expected) in [
        (32, NO_BUDGET, &[20, 5][..]),
        // Requests beyond the limit wait in the queue and go one by one.
        (4, NO_BUDGET, &[&[4][..], &[0; 21]].concat()),
        (32, BUDGET_US, &[0; 25]),
    ] {
        let mut scene = ByHand::open(|config| {
            (config.turn_rpcs_max, config.service_mean) = (turn_rpcs_max, Span::from_ns(100));
        });
        let mut client = scene.client();
        let lengths = [[50; 20].as_slice(), &[200; 5]].concat();
        let messages = requests(&scene, 7, &lengths, 50, budget_us);
        let frame = client.frame(&messages);
        scene.hand.put(client.address, &frame);
        let runs = Runs::default();
        while scene.worker.turn(&runs) > 0 || !scene.hand.is_quiet() {}
        assert_eq!(runs.0.into_inner(), expected);
        let answers = scene.hear_each(&[&client]).remove(0);
        let tids: Vec<u32> =
            answers.iter().map(|answer| if let Answer::Reply { tid, .. } = answer { *tid } else { 0 }).collect();
        assert_eq!(tids, (7..32).collect::<Vec<_>>());
    }
}

#[test]
fn clients_of_one_turn_each_get_their_own_answers() {
    let mut scene = ByHand::open(|config| config.turn_rpcs_max = 15);
    let mut clients: Vec<RawClient> = (0..4).map(|_| scene.client()).collect();
    for (first, client) in (0..).step_by(100).zip(&mut clients) {
        for half in [0, 5] {
            let frame = client.frame(&requests(&scene, first + half, &[100; 5], 50, NO_BUDGET));
            scene.hand.put(client.address, &frame);
        }
    }
    let answers = scene.hear_each(&clients.iter().collect::<Vec<_>>());
    for (first, answers) in (0..).step_by(100).zip(answers) {
        assert_eq!(answers, replies(first..first + 10, 50));
    }
}

/// Panics at some requests, refuses others, and leaves others unanswered.
struct Moody;

impl Service for Moody {
    fn serve(&self, request: &[u8], reply: &mut Reply<'_>) {
        match request[0] % 4 {
            0 => reply.write(request),
            1 => panic!("as it is told"),
            2 => reply.refuse(),
            _ => reply.write(&[0; 1 << 16]),
        }
    }
}

#[test]
fn an_rpc_that_fails_takes_no_other_of_its_run_along() {
    let mut scene = ByHand::open(|config: &mut ServerConfig| config.reply_bytes_max = Some(4000));
    let mut client = scene.client();
    let now = scene.now_ns();
    let messages: Vec<u8> = (0..16_u8).flat_map(|tid| Packet::whole(tid.into(), now, &[tid; 30]).bytes()).collect();
    for _ in 0..2 {
        let frame = client.frame(&messages);
        scene.hand.put(client.address, &frame);
        while scene.worker.turn(&Moody) > 0 || !scene.hand.is_quiet() {}
        let mut answers = scene.hear_each(&[&client]).remove(0);
        answers.sort_by_key(|answer| match answer {
            Answer::Reply { tid, .. } | Answer::Nack { tid, .. } | Answer::Fault { tid, .. } => *tid,
            other => panic!("{other:?}"),
        });
        assert_eq!(answers.len(), 16);
        for (at, answer) in answers.iter().enumerate() {
            let is_right = match at % 4 {
                0 => matches!(answer, Answer::Reply { payload, .. } if payload.len() == 30),
                1 => matches!(answer, Answer::Fault { code: 2, .. }),
                2 => matches!(answer, Answer::Nack { .. }),
                _ => matches!(answer, Answer::Fault { code: 1, .. }),
            };
            assert!(is_right, "{at}: {answer:?}");
        }
    }
}
