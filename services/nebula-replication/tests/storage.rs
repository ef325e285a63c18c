//! Log and state machine keep what `openraft` asks of them: its own suite for storage.

use nebula_replication::command::Kv;
use nebula_replication::disk::Disk;
use nebula_replication::machine::{Machine, Room};
use openraft::StorageError;
use openraft::testing::{StoreBuilder, Suite};
use redb::backends::InMemoryBackend;

const ROOM: Room = Room { items_max: 100, value_bytes_max: 64 };

struct Fresh;

impl StoreBuilder<Kv, Disk, Machine> for Fresh {
    async fn build(&self) -> Result<((), Disk, Machine), StorageError<u64>> {
        let disk = Disk::open_on(InMemoryBackend::new()).expect("memory is there");
        let machine = Machine::open(disk.clone(), ROOM).expect("an empty file has an empty state");
        Ok(((), disk, machine))
    }
}

#[test]
fn log_and_state_machine_pass_the_suite_of_the_raft_library() {
    Suite::test_all(Fresh).expect("the suite passes");
}
