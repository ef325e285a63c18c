//! Histories under faults are linearizable, and what was acknowledged stays: replicas that are
//! killed and restarted, a network that parts, clocks that differ, disks that are full.

use std::rc::Rc;
use std::time::Duration;

use nebula_replication::command::{Outcome, Write};
use nebula_replication::replica::Written;

use crate::simulated::{Cluster, Draws, History, Op, run};

const KEYS: u64 = 3;
const CLIENTS: u64 = 3;
/// Operations of each client.
const OPS: u64 = 16;
const FAULTS: u64 = 6;

fn key(number: u64) -> Vec<u8> {
    format!("key {number}").into_bytes()
}

fn set(number: u64, value: u64) -> Write {
    Write::Set { key: key(number), value: value.to_le_bytes().to_vec() }
}

fn value(bytes: Option<Vec<u8>>) -> Option<u64> {
    bytes.map(|bytes| u64::from_le_bytes(bytes.try_into().unwrap()))
}

/// One client: it asks any replica, and another where that one does not lead, until it is told.
async fn ask_all(cluster: Rc<Cluster>, history: History, number: u64, seed: u64) {
    let mut draws = Draws::new(seed ^ (number + 1));
    // A client whose write may still come to be counts as another one from then on.
    let mut client = number;
    for op in 0..OPS {
        let at = draws.below(KEYS);
        if draws.below(2) == 0 {
            let unique = number * 1000 + op;
            history.asked(client, at, Op::Write(Some(unique)));
            if write(&cluster, set(at, unique), &mut draws).await {
                history.written(client, at);
            } else {
                client += CLIENTS;
            }
        } else {
            history.asked(client, at, Op::Read);
            history.read(client, at, read(&cluster, at, &mut draws).await);
        }
        tokio::time::sleep(Duration::from_millis(draws.below(300))).await;
    }
}

/// Whether it was acknowledged; if not, nobody knows what becomes of it.
async fn write(cluster: &Cluster, write: Write, draws: &mut Draws) -> bool {
    for _ in 0..10_000 {
        let index = usize::try_from(draws.below(cluster.names.len() as u64)).unwrap();
        if cluster.replica(index).is_some_and(|replica| replica.leads()) {
            match cluster.write(index, write.clone()).await {
                Some(Written::Committed(Outcome::Done)) => return true,
                Some(Written::Committed(outcome)) => panic!("{outcome:?}"),
                Some(Written::NotLeader) => {}
                Some(Written::Unknown) | None => return false,
            }
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    panic!("nobody takes a write");
}

async fn read(cluster: &Cluster, at: u64, draws: &mut Draws) -> Option<u64> {
    for _ in 0..10_000 {
        let index = usize::try_from(draws.below(cluster.names.len() as u64)).unwrap();
        if let Some(found) = cluster.read(index, &key(at)).await {
            return value(found);
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    panic!("nobody answers a read");
}

/// Faults, one after the other; then all is well again.
async fn break_things(cluster: &Cluster, seed: u64) {
    let mut draws = Draws::new(seed);
    let count = cluster.names.len();
    for _ in 0..FAULTS {
        let index = usize::try_from(draws.below(count as u64)).unwrap();
        match draws.below(5) {
            0 => cluster.network.part(&[&cluster.names[index]]),
            1 => {
                let leader = cluster.leader().await;
                cluster.network.part(&[&cluster.names[leader]]);
            }
            2 => cluster.kill(index, &mut draws).await,
            3 => {
                let leader = cluster.leader().await;
                cluster.kill(leader, &mut draws).await;
            }
            _ => cluster.fill_disk(index),
        }
        tokio::time::sleep(Duration::from_millis(200 + draws.below(1500))).await;
        // A majority is up and speaks with each other again.
        cluster.network.part(&[]);
        for index in 0..count {
            cluster.restart(index, &mut draws).await;
        }
        tokio::time::sleep(Duration::from_millis(draws.below(800))).await;
    }
}

fn check(seed: u64) -> usize {
    let history = History::default();
    run(async {
        let cluster = Rc::new(Cluster::start(3, seed).await);
        let local = tokio::task::LocalSet::new();
        local
            .run_until(async {
                let asking: Vec<_> = (0..CLIENTS)
                    .map(|number| tokio::task::spawn_local(ask_all(cluster.clone(), history.clone(), number, seed)))
                    .collect();
                break_things(&cluster, seed).await;
                for one in asking {
                    one.await.unwrap();
                }
            })
            .await;
        // All that was acknowledged is there.
        let mut draws = Draws::new(seed);
        for at in 0..KEYS {
            history.asked(u64::MAX, at, Op::Read);
            history.read(u64::MAX, at, read(&cluster, at, &mut draws).await);
        }
    });
    assert!(history.is_linearizable(), "seed {seed}: {history:?}");
    history.answered()
}

#[test]
fn histories_under_kills_partitions_skewed_clocks_and_full_disks_are_linearizable() {
    let answered: usize = (0..20).map(check).sum();
    // Most operations are answered, or there would be little to judge.
    assert!(answered > 20 * 30, "{answered} operations were answered");
}

#[test]
fn a_leader_that_is_restarted_at_once_does_not_show_what_was_before_its_own_acknowledgments() {
    run(async {
        let cluster = Cluster::start(3, 5).await;
        let mut draws = Draws::new(5);
        for round in 0..20 {
            let leader = cluster.leader().await;
            while !write(&cluster, set(0, round), &mut draws).await {}
            cluster.kill(leader, &mut draws).await;
            cluster.restart(leader, &mut draws).await;
            // The others do not know yet that it was away.
            for _ in 0..20 {
                if let Some(found) = cluster.read(leader, &key(0)).await {
                    assert_eq!(value(found), Some(round));
                }
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        }
    });
}

#[test]
fn the_judge_rejects_a_read_of_a_replica_that_is_behind() {
    let (current, stale) = (History::default(), History::default());
    run(async {
        let cluster = Cluster::start(3, 1).await;
        let leader = cluster.leader().await;
        let behind = (leader + 1) % 3;
        let mut draws = Draws::new(1);
        for (unique, is_parted) in [(1, false), (2, true)] {
            let parted: &[&String] = if is_parted { &[&cluster.names[behind]] } else { &[] };
            if is_parted {
                // It has the first value, and will not have the second.
                while cluster.replica(behind).unwrap().replicated().get_here(&key(0)).is_none() {
                    tokio::time::sleep(Duration::from_millis(10)).await;
                }
            }
            cluster.network.part(parted);
            for history in [&current, &stale] {
                history.asked(0, 0, Op::Write(Some(unique)));
            }
            while !write(&cluster, set(0, unique), &mut draws).await {}
            for history in [&current, &stale] {
                history.written(0, 0);
            }
        }
        for history in [&current, &stale] {
            history.asked(0, 0, Op::Read);
        }
        current.read(0, 0, read(&cluster, 0, &mut draws).await);
        stale.read(0, 0, value(cluster.replica(behind).unwrap().replicated().get_here(&key(0))));
    });
    assert!(current.is_linearizable(), "{current:?}");
    assert!(!stale.is_linearizable(), "{stale:?}");
}
