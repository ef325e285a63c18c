//! The step after an RPC's end at one of several servers, over all short histories: at most once
//! holds.

#![allow(clippy::unwrap_used, reason = "tests may panic")]

use nebula_nic::{Span, Timestamp};
use nebula_requester::{After, Attempts, Balance, CopyEnd, Failover, RetryPolicy, ServerEnd, ServerSet, Servers};
use nebula_requester::{backup_after, spare};

const NOW: Timestamp = Timestamp::from_ps(0);
const ENDS: [CopyEnd; 4] = [CopyEnd::Answered, CopyEnd::NotExecuted, CopyEnd::Impossible, CopyEnd::Unknown];
const SERVERS: u16 = 3;

fn policies() -> [RetryPolicy; 3] {
    [
        RetryPolicy::GiveUp,
        RetryPolicy::AnotherServer { servers: SERVERS, attempts: 2 },
        RetryPolicy::BackOff { first: Span::from_us(10), factor: 2, attempts: 2, seed: 1 },
    ]
}

fn three() -> Servers {
    let mut servers = Servers::new(Balance::RoundRobin, 1);
    (0..u64::from(SERVERS)).for_each(|name| assert!(servers.join(name).is_some()));
    servers
}

/// Runs one RPC whose copies end as `history` says; the copies that were sent.
fn follow(retry: RetryPolicy, is_idempotent: bool, history: &[CopyEnd]) -> Vec<(u16, CopyEnd)> {
    let (mut servers, mut failover, mut attempts) = (three(), Failover::new(retry), Attempts::new(is_idempotent));
    let mut sent = Vec::new();
    let mut at = servers.pick(NOW, 0, ServerSet::default()).unwrap();
    for &end in history {
        attempts.begin(at);
        servers.begin(at);
        sent.push((at, end));
        // No server rests here, so the failover alone decides.
        servers.end(NOW, at, ServerEnd::Answered);
        let mut after = failover.after(&mut servers, NOW, (&mut attempts, 0), end, ServerSet::default());
        if let After::Rests(span) = after {
            assert!(span > Span::ZERO && attempts.tried().is_empty());
            after = After::Goes(servers.pick(NOW, 0, attempts.tried()).unwrap());
        }
        match after {
            After::Over => break,
            After::Goes(server) => at = server,
            After::Waits | After::Rests(_) => panic!("one copy is under way at a time: {after:?}"),
        }
    }
    sent
}

#[test]
fn over_all_short_histories_at_most_one_copy_may_have_been_executed() {
    let mut longest = [0; 3];
    for code in 0..4_usize.pow(7) {
        let history: Vec<CopyEnd> = (0..7).map(|at| ENDS[code / 4_usize.pow(at) % 4]).collect();
        for (policy, retry) in policies().into_iter().enumerate() {
            for is_idempotent in [false, true] {
                let sent = follow(retry, is_idempotent, &history);
                let last = sent.len() - 1;
                for (at, &(server, end)) in sent.iter().enumerate() {
                    let harmless = end == CopyEnd::NotExecuted || (end == CopyEnd::Unknown && is_idempotent);
                    assert!(at == last || harmless, "{retry:?}: {sent:?}");
                    let round = at / usize::from(SERVERS) * usize::from(SERVERS);
                    assert!(sent[round..at].iter().all(|&(other, _)| other != server), "twice in a round: {sent:?}");
                }
                longest[policy] = longest[policy].max(sent.len());
            }
        }
    }
    assert_eq!(longest, [3, 2, 6], "each server once; so many tries; so many rounds");
}

#[test]
fn of_two_copies_the_first_answer_ends_the_rpc_and_other_ends_wait_for_the_other_copy() {
    for end in [CopyEnd::NotExecuted, CopyEnd::Unknown] {
        let (mut servers, mut failover) = (three(), Failover::new(RetryPolicy::GiveUp));
        let mut attempts = Attempts::new(true);
        attempts.begin(0);
        assert!(attempts.may_be_copied());
        attempts.begin(1);
        assert!(!attempts.may_be_copied(), "two are enough");
        let mut after =
            |attempts: &mut Attempts, end| failover.after(&mut servers, NOW, (attempts, 0), end, ServerSet::default());
        assert_eq!(after(&mut attempts, end), After::Waits);
        assert_eq!(after(&mut attempts, end), After::Goes(2), "the only one where it has not been");
        attempts.begin(2);
        assert_eq!(after(&mut attempts, CopyEnd::Answered), After::Over);
    }
    let mut attempts = Attempts::new(false);
    attempts.begin(0);
    assert!(!attempts.may_be_copied(), "what may do harm is never copied");
}

#[test]
fn servers_that_cannot_get_it_do_not() {
    let (mut servers, mut failover) = (three(), Failover::new(RetryPolicy::GiveUp));
    let (mut attempts, mut down) = (Attempts::new(false), ServerSet::default());
    attempts.begin(0);
    down.insert(1);
    let end = CopyEnd::NotExecuted;
    assert_eq!(failover.after(&mut servers, NOW, (&mut attempts, 0), end, down), After::Goes(2));
    attempts.begin(2);
    assert_eq!(failover.after(&mut servers, NOW, (&mut attempts, 0), end, down), After::Over);
}

#[test]
fn where_keys_have_servers_a_refusal_goes_nowhere_else_and_a_lost_server_s_keys_do() {
    let mut servers = Servers::new(Balance::KeyHash, 1);
    (0..3).for_each(|name| assert!(servers.join(name).is_some()));
    let mut failover = Failover::new(RetryPolicy::GiveUp);
    for key in 0..50 {
        let mut attempts = Attempts::new(false);
        let owner = servers.pick(NOW, key, ServerSet::default()).unwrap();
        attempts.begin(owner);
        let mut lost = servers.clone();
        let end = CopyEnd::NotExecuted;
        let after = failover.after(&mut servers, NOW, (&mut attempts, key), end, ServerSet::default());
        assert_eq!(after, After::Over, "key {key}");
        lost.lose(NOW, owner);
        attempts.begin(owner);
        let after = failover.after(&mut lost, NOW, (&mut attempts, key), end, ServerSet::default());
        assert!(matches!(after, After::Goes(other) if other != owner), "key {key}: {after:?}");
    }
}

#[test]
fn backups_come_after_each_quarter_of_the_deadline_and_then_each_half_of_the_rest() {
    let (deadline, mut at, mut backups) = (Span::from_us(6400), Span::ZERO, Vec::new());
    while let Some(after) = backup_after(at, deadline - at) {
        at += after;
        backups.push(at.as_ps() / Span::from_us(1).as_ps());
    }
    assert_eq!(backups, [1600, 3200, 4800, 5600, 6000, 6200, 6300]);
    assert_eq!(backup_after(Span::ZERO, Span::from_us(399)), None, "too short for one");
}

#[test]
fn a_backup_goes_where_the_rpc_is_not_and_by_key_only_if_the_key_s_server_is_left_alone() {
    let mut tried = ServerSet::default();
    tried.insert(0);
    tried.insert(1);
    assert_eq!(spare(&mut three(), NOW, 0, tried, ServerSet::default()), Some(2));
    let mut without = ServerSet::default();
    without.insert(2);
    assert_eq!(spare(&mut three(), NOW, 0, tried, without), None);
    let mut servers = Servers::new(Balance::KeyHash, 1);
    (0..3).for_each(|name| assert!(servers.join(name).is_some()));
    let (owner, mut tried) = (servers.pick(NOW, 7, ServerSet::default()).unwrap(), ServerSet::default());
    tried.insert(owner);
    assert_eq!(spare(&mut servers, NOW, 7, tried, ServerSet::default()), None);
    servers.lose(NOW, owner);
    assert!(spare(&mut servers, NOW, 7, tried, ServerSet::default()).is_some());
}
