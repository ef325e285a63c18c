//! Whether there is room is the same at every replica, however its store came to be.

use nebula_replication::command::{Outcome, Write};
use nebula_replication::replica::Written;

use crate::simulated::{Cluster, Draws, ROOM, run};

fn set(number: u64) -> Write {
    Write::Set { key: number.to_le_bytes().to_vec(), value: vec![1; ROOM.value_bytes_max as usize] }
}

#[test]
fn a_full_store_refuses_new_items_and_takes_one_more_for_each_that_is_deleted_after_a_restart_too() {
    run(async {
        let cluster = Cluster::start(1, 3).await;
        let committed = |outcome| Some(Written::Committed(outcome));
        assert_eq!(cluster.leader().await, 0);
        for number in 0..ROOM.items_max {
            assert_eq!(cluster.write(0, set(number)).await, committed(Outcome::Done));
        }
        assert_eq!(cluster.write(0, set(ROOM.items_max)).await, committed(Outcome::Full));
        let long = Write::Set { key: vec![1], value: vec![1; 17] };
        assert_eq!(cluster.write(0, long).await, committed(Outcome::Full));
        let mut draws = Draws::new(3);
        cluster.kill(0, &mut draws).await;
        cluster.restart(0, &mut draws).await;
        assert_eq!(cluster.leader().await, 0);
        assert_eq!(cluster.write(0, set(ROOM.items_max)).await, committed(Outcome::Full));
        let delete = Write::Delete { key: 5_u64.to_le_bytes().to_vec() };
        assert_eq!(cluster.write(0, delete.clone()).await, committed(Outcome::Done));
        assert_eq!(cluster.write(0, delete).await, committed(Outcome::NotFound));
        assert_eq!(cluster.write(0, set(ROOM.items_max)).await, committed(Outcome::Done));
        assert_eq!(cluster.write(0, set(5)).await, committed(Outcome::Full));
    });
}
