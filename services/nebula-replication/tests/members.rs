//! Replicas are added and removed while others write.

use std::time::Duration;

use nebula_replication::command::{Outcome, Write};
use nebula_replication::replica::Written;
use nebula_replication::wire::{self, Answer, Members, Message, Sender};

use crate::simulated::{Cluster, run};

async fn administer(cluster: &Cluster, message: &Message) -> Result<Members, String> {
    let leader = cluster.leader().await;
    let request = wire::encode(Sender::Administrator, message).unwrap();
    match wire::decode_answer(&cluster.replica(leader).unwrap().answer(&request).await).unwrap() {
        Answer::Members(members) => Ok(members),
        Answer::Refused(why) => Err(why),
        other => panic!("{other:?}"),
    }
}

async fn write(cluster: &Cluster, number: u32) {
    let write = Write::Set { key: number.to_le_bytes().to_vec(), value: b"value".to_vec() };
    while cluster.write(cluster.leader().await, write.clone()).await != Some(Written::Committed(Outcome::Done)) {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

#[test]
fn a_replica_that_is_added_gets_a_snapshot_and_all_behind_it_and_one_that_is_removed_is_not_needed() {
    run(async {
        let mut cluster = Cluster::start(3, 7).await;
        // More than a snapshot is taken after: the log alone does not have it all any more.
        for number in 0..80 {
            write(&cluster, number).await;
        }
        let added = cluster.one_more().await;
        let members = administer(&cluster, &Message::Add(cluster.names[added].clone())).await.unwrap();
        assert_eq!(members.voters.len(), 4, "{members:?}");
        let replicated = cluster.replica(added).unwrap().replicated().clone();
        while (0..80_u32).any(|number| replicated.get_here(&number.to_le_bytes()).is_none()) {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        let follower = (0..4).find(|&index| !cluster.replica(index).unwrap().leads()).unwrap();
        let removed = cluster.names[follower].clone();
        let members = administer(&cluster, &Message::Remove(removed.clone())).await.unwrap();
        assert!(members.voters.len() == 3 && !members.voters.contains(&removed), "{members:?}");
        cluster.network.part(&[&removed]);
        write(&cluster, 80).await;
        assert!(administer(&cluster, &Message::Remove(removed)).await.unwrap_err().contains("is no replica here"));
    });
}
