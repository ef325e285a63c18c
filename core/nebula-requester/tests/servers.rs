//! Which of several servers gets an RPC: each balance's promise, rest after a loss, and the benefit
//! of two choices.

#![allow(clippy::unwrap_used, reason = "tests may panic")]

use nebula_nic::{Span, Timestamp};
use nebula_requester::another;
use nebula_requester::{Balance, ServerEnd, ServerSet, Servers, Standing};

const START: Timestamp = Timestamp::from_ps(0);
const WAYS: [Balance; 4] = [Balance::RoundRobin, Balance::Random, Balance::PowerOfTwo, Balance::KeyHash];

/// `count` servers without any answer yet.
fn servers(count: u16, balance: Balance, seed: u64) -> Servers {
    let mut servers = Servers::new(balance, seed);
    for number in 0..count {
        assert_eq!(servers.join(u64::from(number) << 32 | 0xABCD), Some(number));
    }
    servers
}

fn all_but(servers: &[u16]) -> ServerSet {
    let mut set = ServerSet::default();
    servers.iter().for_each(|&server| set.insert(server));
    set
}

#[test]
fn every_way_spreads_keys_over_all_servers() {
    for balance in WAYS {
        let (mut servers, mut got) = (servers(4, balance, 7), [0_u32; 4]);
        for key in 0..4000 {
            let server = servers.pick(START, key, ServerSet::default()).unwrap();
            servers.begin(server);
            servers.end(START, server, ServerEnd::Answered);
            got[usize::from(server)] += 1;
        }
        assert!(got.iter().all(|count| (900..1100).contains(count)), "{balance}: {got:?}");
    }
}

#[test]
fn an_rpc_that_was_refused_goes_to_each_other_server_once() {
    for balance in WAYS {
        let (mut servers, mut tried) = (servers(5, balance, 3), ServerSet::default());
        for _ in 0..5 {
            let server = servers.pick(START, 9, tried).unwrap();
            assert!(!tried.contains(server), "{balance}");
            tried.insert(server);
        }
        assert_eq!(servers.pick(START, 9, tried), None, "{balance}");
    }
}

#[test]
fn the_keys_of_a_server_that_rests_are_the_only_ones_that_move() {
    let (mut before, mut after) = (servers(4, Balance::KeyHash, 1), servers(4, Balance::KeyHash, 1));
    after.begin(2);
    after.end(START, 2, ServerEnd::Lost);
    for key in 0..1000 {
        let was = before.pick(START, key, ServerSet::default()).unwrap();
        let is = after.pick(START, key, ServerSet::default()).unwrap();
        assert!(is != 2 && (was == 2 || is == was), "key {key}: {was}, then {is}");
    }
}

#[test]
fn a_server_that_lost_an_rpc_rests_longer_each_time_and_is_asked_with_one_rpc() {
    let mut servers = servers(2, Balance::PowerOfTwo, 1);
    let (mut now, mut rests) = (START, Vec::new());
    for _ in 0..12 {
        servers.begin(0);
        servers.end(now, 0, ServerEnd::Lost);
        assert!(servers.rests(now, 0) && servers.pick(now, 0, ServerSet::default()) == Some(1));
        let begun = now;
        while servers.rests(now, 0) {
            now += Span::from_us(100);
        }
        rests.push((now - begun).as_ps() / Span::from_ms(1).as_ps());
        // One at a time until it has answered.
        assert_eq!(servers.pick(now, 0, all_but(&[1])), Some(0));
        servers.begin(0);
        assert!(servers.rests(now, 0));
        servers.end(now, 0, ServerEnd::Lost);
        now += Span::from_ms(10_000);
    }
    for (rest, longest) in rests.iter().zip([10, 40, 160, 640, 2560, 5000]) {
        assert!((longest / 2..=longest).contains(rest), "{rests:?}");
    }
    assert!(rests[5..].iter().all(|rest| (2500..=5000).contains(rest)), "the longest: {rests:?}");
    servers.begin(0);
    servers.end(now, 0, ServerEnd::Answered);
    servers.begin(0);
    assert!(!servers.rests(now, 0), "as before");
}

#[test]
fn clients_that_lose_a_server_together_try_it_at_different_times() {
    let rests = (0..8).map(|seed| {
        let mut servers = servers(2, Balance::PowerOfTwo, seed);
        servers.lose(START, 0);
        servers.rests_until(0).as_ps()
    });
    assert_eq!(rests.collect::<std::collections::BTreeSet<_>>().len(), 8);
}

#[test]
fn the_last_servers_are_not_left_alone_unless_they_are_not_well() {
    for balance in [Balance::RoundRobin, Balance::Random, Balance::PowerOfTwo, Balance::KeyHash] {
        let mut servers = servers(2, balance, 1);
        servers.lose(START, 0);
        assert_eq!(servers.pick(START, 7, ServerSet::default()), Some(1), "{balance}");
        servers.lose(START, 1);
        // One RPC after another, although none has been answered.
        for _ in 0..4 {
            let picked = servers.pick(START, 7, ServerSet::default()).expect("one of two");
            servers.begin(picked);
        }
        servers.set_health(0, false);
        assert_eq!(servers.pick(START, 7, ServerSet::default()), Some(1), "{balance}");
        servers.set_health(1, false);
        assert_eq!(servers.pick(START, 7, ServerSet::default()), None, "{balance}");
        assert_eq!(servers.pick(START, 7, all_but(&[])), None, "{balance}");
    }
}

#[test]
fn a_server_that_is_late_now_and_then_is_not_left_alone_and_one_that_is_mostly_late_is() {
    let mut servers = servers(2, Balance::PowerOfTwo, 1);
    let mut end = |end| {
        servers.begin(0);
        servers.end(START, 0, end);
        servers.rests(START, 0)
    };
    for _ in 0..100 {
        assert!(!end(ServerEnd::Late) && !end(ServerEnd::Answered), "every other one");
    }
    assert!(!end(ServerEnd::Answered) && !end(ServerEnd::Answered));
    let late = (1..10).find(|_| end(ServerEnd::Late));
    assert!(late.is_some_and(|late| (3..=4).contains(&late)), "{late:?} in a row");
}

#[test]
fn rpcs_that_are_lost_together_count_once() {
    let mut servers = servers(1, Balance::RoundRobin, 1);
    (0..10).for_each(|_| servers.begin(0));
    (0..10).for_each(|_| servers.end(START, 0, ServerEnd::Lost));
    assert!(servers.rests(START + Span::from_ms(4), 0) && !servers.rests(START + Span::from_ms(10), 0));
}

/// A server that serves one RPC at a time and refuses a fifth one.
#[derive(Default)]
struct Busy {
    ends: std::collections::VecDeque<u64>,
}

/// Of 200,000 RPCs at a load of 0.8, how many a server refuses, and how many all servers refuse.
#[expect(clippy::cast_precision_loss, clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "draws")]
fn refused(count: u16, balance: Balance) -> (u32, u32) {
    let (mut servers, mut refused, mut now) = (servers(count, balance, 5), (0, 0), 0_u64);
    let mut at: Vec<Busy> = (0..count).map(|_| Busy::default()).collect();
    let mut word = 1_u64;
    // Exponential by inversion of a uniform 53-bit draw.
    let mut draw = |mean: f64| {
        word = word.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
        let uniform = ((word >> 11) as f64 + 1.0) / (1_u64 << 53) as f64;
        (-uniform.ln() * mean) as u64
    };
    for key in 0..200_000_u32 {
        now += draw(1e6 / 0.8 / f64::from(count));
        for (server, busy) in (0..).zip(&mut at) {
            while busy.ends.front().is_some_and(|&end| end <= now) {
                busy.ends.pop_front();
                servers.end(Timestamp::from_ps(now), server, ServerEnd::Answered);
            }
        }
        let mut tried = ServerSet::default();
        loop {
            let next = another(&mut servers, Timestamp::from_ps(now), key, tried, ServerSet::default());
            let Some(server) = next else {
                refused.1 += 1;
                break;
            };
            servers.begin(server);
            tried.insert(server);
            let busy = &mut at[usize::from(server)];
            if busy.ends.len() < 4 {
                let begin = busy.ends.back().copied().unwrap_or(now).max(now);
                busy.ends.push_back(begin + draw(1e6));
                break;
            }
            refused.0 += 1;
            servers.end(Timestamp::from_ps(now), server, ServerEnd::Refused);
        }
    }
    refused
}

#[test]
fn with_two_choices_over_four_servers_a_fifth_as_many_rpcs_are_refused_as_by_one() {
    let (nacks, one) = refused(1, Balance::RoundRobin);
    assert!(nacks == one && one > 10_000, "one server refuses {one} of 200,000");
    let (random_nacks, _) = refused(4, Balance::Random);
    let (nacks, two) = refused(4, Balance::PowerOfTwo);
    assert!(nacks * 5 <= one, "{nacks} NACKs with two choices over four servers, {one} of one server");
    assert!(
        two * 5 <= one && nacks * 5 < random_nacks,
        "{two} are refused by all four; {random_nacks} NACKs by chance"
    );
}

#[test]
fn one_that_leaves_gets_nothing_more_and_its_number_is_free_once_its_rpcs_have_ended() {
    let mut servers = servers(2, Balance::RoundRobin, 1);
    servers.begin(1);
    servers.leave(1);
    assert!((0..4).all(|_| servers.pick(START, 0, ServerSet::default()) == Some(0)));
    assert_eq!((servers.is_there(1), servers.join(7)), (true, Some(2)), "its RPC is under way");
    servers.end(START, 1, ServerEnd::Answered);
    assert_eq!((servers.is_there(1), servers.join(8)), (false, Some(1)));
    servers.leave(0);
    assert_eq!(servers.join(9), Some(0), "nothing was under way");
    while servers.join(10).is_some() {}
    assert_eq!(servers.count(), nebula_requester::SERVERS_MAX);
}

#[test]
fn keys_follow_names_and_not_numbers() {
    let names = [0xA, 0xB, 0xC];
    let mut orders = [[0, 1, 2], [2, 0, 1]].map(|order| {
        let mut servers = Servers::new(Balance::KeyHash, 1);
        order.iter().for_each(|&at: &usize| assert!(servers.join(names[at]).is_some()));
        move |key| order[usize::from(servers.pick(START, key, ServerSet::default()).unwrap())]
    });
    assert!((0..1000).all(|key| orders[0](key) == orders[1](key)));
}

#[test]
fn one_that_is_not_well_gets_nothing_until_it_is() {
    let mut servers = servers(2, Balance::PowerOfTwo, 1);
    servers.set_health(0, false);
    assert!((0..20).all(|_| servers.pick(START, 0, ServerSet::default()) == Some(1)));
    servers.set_health(0, true);
    assert!((0..20).any(|_| servers.pick(START, 0, ServerSet::default()) == Some(0)));
}

#[test]
fn a_balance_is_spelled_as_it_is_read() {
    for balance in Balance::ALL {
        assert_eq!(balance.to_string().parse(), Ok(balance));
    }
    assert_eq!("two".parse::<Balance>().unwrap_err().to_string(), "expected round-robin, random, p2c or key-hash");
}

#[test]
fn one_that_answers_nothing_of_what_is_taken_back_counts_as_lost() {
    let mut servers = servers(1, Balance::PowerOfTwo, 1);
    for round in 0..2 {
        for taken_back in 0..64 {
            assert!(!servers.rests(START, 0), "round {round}, {taken_back} taken back");
            servers.begin(0);
            servers.end(START, 0, ServerEnd::Withdrawn);
        }
        assert!(servers.rests(START, 0));
        servers.find(0);
    }
    for _ in 0..20 {
        for end in [ServerEnd::Withdrawn, ServerEnd::Answered] {
            servers.begin(0);
            servers.end(START, 0, end);
        }
    }
    assert!(!servers.rests(START, 0), "it answers in between");
}

#[test]
fn a_server_that_was_full_is_tried_again_with_more_once_it_has_answered_some() {
    let mut servers = servers(2, Balance::PowerOfTwo, 1);
    for _ in 0..3 {
        servers.begin(0);
    }
    servers.end(START, 0, ServerEnd::Refused);
    assert!(servers.is_full(0), "it refused a third one beside two");
    servers.begin(1);
    servers.begin(1);
    servers.begin(1);
    // However loaded the other is, this one gets no third.
    assert!((0..50).all(|_| servers.pick(START, 0, ServerSet::default()) == Some(1)));
    for _ in 0..256 {
        servers.end(START, 0, ServerEnd::Answered);
        servers.begin(0);
    }
    assert!(!servers.is_full(0) && servers.pick(START, 0, ServerSet::default()) == Some(0));
}

/// How many of `rpcs` RPCs each server gets, if each is answered at once unless `refuses`.
fn shares(servers: &mut Servers, rpcs: u32, refuses: impl Fn(u16) -> bool) -> Vec<u32> {
    let mut got = vec![0; usize::from(servers.count())];
    for key in 0..rpcs {
        let server = servers.pick(START, key, ServerSet::default()).unwrap();
        servers.begin(server);
        servers.end(START, server, if refuses(server) { ServerEnd::Refused } else { ServerEnd::Answered });
        got[usize::from(server)] += 1;
    }
    got
}

/// Servers by weight and whether they are far.
fn standing(balance: Balance, standings: &[(u16, bool)]) -> Servers {
    let mut servers = Servers::new(balance, 11);
    for (number, &(weight, is_far)) in standings.iter().enumerate() {
        servers.join_as((number as u64) << 32 | 0xABCD, Standing::default().weight(weight).far(is_far)).unwrap();
    }
    servers
}

#[test]
fn a_server_gets_what_it_weighs() {
    for (balance, within) in [(Balance::RoundRobin, 0), (Balance::Random, 400), (Balance::KeyHash, 400)] {
        let mut servers = standing(balance, &[(1, false), (3, false), (4, false)]);
        let got = shares(&mut servers, 16_000, |_| false);
        let wrong = got.iter().zip([2000, 6000, 8000]).any(|(&got, weighs)| got.abs_diff(weighs) > within);
        assert!(!wrong, "{balance}: {got:?}");
    }
}

#[test]
fn two_choices_give_the_one_that_weighs_more_as_much_more_at_once() {
    let mut servers = standing(Balance::PowerOfTwo, &[(1, false), (3, false)]);
    let mut got = [0; 2];
    // None ends.
    for key in 0..400 {
        let server = servers.pick(START, key, ServerSet::default()).unwrap();
        servers.begin(server);
        got[usize::from(server)] += 1;
    }
    assert!((98..=102).contains(&got[0]), "{got:?}");
}

#[test]
fn the_keys_that_move_when_a_weight_grows_move_to_it() {
    let mut before = standing(Balance::KeyHash, &[(1, false), (1, false), (1, false)]);
    let mut after = standing(Balance::KeyHash, &[(1, false), (2, false), (1, false)]);
    let mut moved = 0;
    for key in 0..4000 {
        let [was, is] =
            [&mut before, &mut after].map(|servers| servers.pick(START, key, ServerSet::default()).unwrap());
        assert!(was == is || is == 1, "key {key}");
        moved += u32::from(was != is);
    }
    // From a third to a half.
    assert!((560..780).contains(&moved), "{moved}");
}

#[test]
fn a_far_server_gets_nothing_while_one_near_has_room() {
    for balance in [Balance::RoundRobin, Balance::Random, Balance::PowerOfTwo] {
        let mut servers = standing(balance, &[(1, true), (1, false), (1, false), (1, true)]);
        let got = shares(&mut servers, 1000, |_| false);
        assert_eq!((got[0], got[3], got[1] + got[2]), (0, 0, 1000), "{balance}");
        // After a refusal or silence there, the far ones get it.
        assert!([0, 3].contains(&servers.pick(START, 1, all_but(&[1, 2])).unwrap()), "{balance}");
        [1, 2].into_iter().for_each(|near| servers.lose(START, near));
        assert!([0, 3].contains(&servers.pick(START, 1, ServerSet::default()).unwrap()), "{balance}");
    }
}

#[test]
fn rpcs_go_far_while_those_near_refuse_and_come_back_afterwards() {
    for balance in [Balance::RoundRobin, Balance::Random, Balance::PowerOfTwo] {
        let mut servers = standing(balance, &[(1, false), (1, false), (1, true), (1, true)]);
        let got = shares(&mut servers, 2000, |server| server < 2);
        assert!(got[2] + got[3] > 900, "{balance}: those near refuse: {got:?}");
        shares(&mut servers, 2000, |_| false);
        let got = shares(&mut servers, 1000, |_| false);
        assert_eq!(got[2] + got[3], 0, "{balance}: they have room again: {got:?}");
    }
}

#[test]
fn keys_are_the_same_servers_for_clients_of_all_zones() {
    let mut here = standing(Balance::KeyHash, &[(1, false), (2, true), (1, true)]);
    let mut there = standing(Balance::KeyHash, &[(1, true), (2, false), (1, false)]);
    for key in 0..500 {
        let [here, there] = [&mut here, &mut there].map(|servers| servers.pick(START, key, ServerSet::default()));
        assert_eq!(here, there, "key {key}");
    }
}

/// How often each of five servers with 0 to 4 outstanding RPCs is picked.
fn picks_by_load(weights: [u16; 5], picks: u32) -> [u32; 5] {
    let (mut servers, mut got) = (standing(Balance::PowerOfTwo, &weights.map(|weight| (weight, false))), [0; 5]);
    for server in 0..5 {
        (0..server * weights[usize::from(server)]).for_each(|_| servers.begin(server));
    }
    for key in 0..picks {
        got[usize::from(servers.pick(START, key, ServerSet::default()).unwrap())] += 1;
    }
    got
}

#[test]
fn two_choices_are_two_different_servers() {
    // Each of the ten pairs is as likely: the least loaded server is in four of them, and the most
    // loaded wins in none. Draws that may be equal would give it one RPC in 25.
    let got = picks_by_load([1; 5], 100_000);
    for (&got, pairs) in got.iter().zip([4, 3, 2, 1, 0]) {
        assert!(got.abs_diff(pairs * 10_000) <= pairs * 500, "{got} picks for {pairs} pairs of 10");
    }
    // By weight too, and with all but two excluded.
    assert_eq!(picks_by_load([1, 2, 3, 4, 5], 100_000)[4], 0);
    let mut servers = servers(5, Balance::PowerOfTwo, 5);
    servers.begin(3);
    assert!((0..10_000).all(|key| servers.pick(START, key, all_but(&[0, 2, 4])) == Some(1)));
}

#[test]
fn a_server_is_late_when_the_client_says_so_before_its_rpc_ends() {
    let mut servers = servers(2, Balance::PowerOfTwo, 1);
    for late in 0..4 {
        assert!(!servers.rests(START, 0), "{late} late");
        servers.begin(0);
        servers.be_late(START, 0);
        // Another server has answered it.
        servers.end(START, 0, ServerEnd::Withdrawn);
    }
    assert!(servers.rests(START, 0));
}

#[test]
fn a_client_without_room_is_no_sign_of_life_of_a_server() {
    let mut servers = servers(2, Balance::PowerOfTwo, 1);
    servers.lose(START, 0);
    servers.begin(0);
    servers.end(START, 0, ServerEnd::Unsent);
    assert!(servers.is_lost(0));
    servers.begin(0);
    servers.end(START, 0, ServerEnd::Refused);
    assert!(!servers.is_lost(0));
}
