//! The handler of one partition: MICA's EREW and CREW.
//!
//! `key-hash` sends the RPCs about a key to the worker that has its partition. The client computes
//! the hash, so the worker checks the key: it refuses a key of another partition. Only the worker
//! writes its partition.

use std::sync::{Arc, Mutex};

use nebula::{CoreId, Description, Reply, RunningServer, Server, Service, Stage, StoreCounters};
use nebula_kvs::protocol::{Request, Status, steering_hash};
use nebula_kvs::{
    Access, KeyHash, OtherPartition, Partition, PartitionSetError, PartitionStats, SetError, Stats, StoreConfig,
    StoreError,
};

use super::lookups::Lookups;
use super::service::{ReplySink, answer, hash_of};
use nebula_ops::or_fail::OrFail;
use nebula_ui::output::Failure;

/// Who reads and writes a partition.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum Partitions {
    /// One worker writes it, and all read it
    Crew,
    /// One worker reads and writes it
    Erew,
}

impl Partitions {
    fn access(self) -> Access {
        match self {
            Self::Crew => Access::Crew,
            Self::Erew => Access::Erew,
        }
    }
}

fn partition_of(hash: KeyHash, partitions: u16) -> u16 {
    nebula::KeyHash::new(partitions).core_of(steering_hash(hash)).0
}

/// Divides a store of the sizes `config` into a partition for each worker.
pub(super) fn divide(config: StoreConfig, access: Partitions, partitions: u16) -> Result<Vec<Partition>, StoreError> {
    Partition::divide(config, access.access(), partitions, partition_of)
}

pub(super) fn serve(server: Server, partitions: Vec<Partition>, item_bytes: usize) -> Result<RunningServer, Failure> {
    let lookups = Arc::new(Lookups::new());
    let description = describe(&partitions, lookups.clone());
    let waiting = Mutex::new(partitions.into_iter().map(Some).collect::<Vec<_>>());
    let service = move |core: CoreId| {
        let mut waiting = waiting.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let partition = waiting.get_mut(usize::from(core.0)).and_then(Option::take);
        let partition = partition.expect("each worker begins once");
        PartitionService { partition, item_bytes, lookups: lookups.clone() }
    };
    server.description(description).serve_each(service).or_fail()
}

/// Of all partitions together.
fn describe(partitions: &[Partition], lookups: Arc<Lookups>) -> Description {
    let stats = partitions.first().map(Partition::stats);
    let store = move || {
        let (hits, misses) = lookups.totals();
        let counted = StoreCounters { hits, misses, ..StoreCounters::default() };
        stats.iter().flat_map(PartitionStats::read).fold(counted, add)
    };
    Description::default().prefetches(true).store(store)
}

struct PartitionService {
    partition: Partition,
    /// Of key and value, to prefetch.
    item_bytes: usize,
    /// Of all partitions together.
    lookups: Arc<Lookups>,
}

impl PartitionService {
    #[inline(always)]
    fn get(&self, key: &[u8], reply: &mut Reply<'_>) {
        match self.partition.get(KeyHash::of(key), key, &mut ReplySink { reply }) {
            Ok(is_found) => {
                self.lookups.count(is_found);
                if !is_found {
                    answer(reply, Status::NotFound);
                }
            }
            Err(OtherPartition { .. }) => answer(reply, Status::OtherPartition),
        }
    }

    fn set(&self, key: &[u8], value: &[u8]) -> Status {
        match self.partition.set(KeyHash::of(key), key, value) {
            Ok(_) => Status::Ok,
            Err(PartitionSetError::Other(_)) => Status::OtherPartition,
            Err(PartitionSetError::Set(SetError::Full | SetError::ItemBytes { .. })) => Status::Full,
            Err(_) => Status::Malformed,
        }
    }

    fn delete(&self, key: &[u8]) -> Status {
        match self.partition.delete(KeyHash::of(key), key) {
            Ok(true) => Status::Ok,
            Ok(false) => Status::NotFound,
            Err(OtherPartition { .. }) => Status::OtherPartition,
        }
    }
}

impl Service for PartitionService {
    #[inline]
    fn serve(&self, request: &[u8], reply: &mut Reply<'_>) {
        match Request::decode(request) {
            Ok(Request::Get { key }) => self.get(key, reply),
            Ok(Request::Set { key, value }) => answer(reply, self.set(key, value)),
            Ok(Request::Delete { key }) => answer(reply, self.delete(key)),
            Err(_) => answer(reply, Status::Malformed),
        }
    }

    #[inline]
    fn prefetch(&self, request: &[u8], stage: Stage) {
        let Some(hash) = hash_of(request) else { return };
        match stage {
            Stage::Arrived => self.partition.prefetch_bucket(hash),
            Stage::Next => self.partition.prefetch_entry(hash, self.item_bytes),
        }
    }
}

fn add(mut sum: StoreCounters, stats: Stats) -> StoreCounters {
    sum.sets += stats.inserted + stats.updated_in_place + stats.appended;
    sum.deletes += stats.deleted;
    sum.evictions += stats.evicted;
    sum.items += stats.items;
    sum
}

#[cfg(test)]
mod tests {
    use super::*;
    use nebula::{Client, Policy};
    use nebula_kvs::protocol;

    fn served(test: &str, access: Access) -> (RunningServer, Client) {
        let partitions = Partition::divide(StoreConfig::for_items(100, 16, 8), access, 2, partition_of).unwrap();
        let name = format!("shm://cli-{test}-{}", std::process::id());
        let server = Server::bind(&name).workers(2).policy(Policy::KeyHash);
        let server = serve(server, partitions, 24).unwrap();
        let client = Client::connect(&name).unwrap();
        (server, client)
    }

    fn ask(client: &mut Client, request: &Request<'_>, key_hash: u32) -> (Status, Vec<u8>) {
        let mut message = vec![0; request.encoded_bytes()];
        request.encode_into(&mut message).unwrap();
        client.submit_keyed(&message, key_hash).unwrap();
        let limit = nebula_testing::wait::Limit::new("a reply");
        loop {
            limit.check();
            let Some(completion) = client.poll() else { continue };
            let reply = protocol::Reply::decode(completion.result.unwrap()).unwrap();
            return (reply.status, reply.value.to_vec());
        }
    }

    #[test]
    fn a_key_is_served_where_its_hash_leads_and_nowhere_else() {
        for (test, access) in [("crew", Access::Crew), ("erew", Access::Erew)] {
            let (server, mut client) = served(test, access);
            for number in 0..50u8 {
                let key = &[b'k', number][..];
                let hash = steering_hash(KeyHash::of(key));
                // A hash that leads to the other worker.
                let away = (0..).find(|&away| partition_of(KeyHash(away), 2) != partition_of(KeyHash(hash.into()), 2));
                let away = steering_hash(KeyHash(away.unwrap()));
                let mut asked = |request: &Request<'_>, hash| ask(&mut client, request, hash);
                let value = &[number; 8][..];
                assert_eq!(asked(&Request::Set { key, value }, away), (Status::OtherPartition, vec![]));
                assert_eq!(asked(&Request::Get { key }, hash), (Status::NotFound, vec![]));
                assert_eq!(asked(&Request::Set { key, value }, hash), (Status::Ok, vec![]));
                assert_eq!(asked(&Request::Get { key }, hash), (Status::Ok, value.to_vec()));
                let elsewhere = match access {
                    Access::Crew => (Status::Ok, value.to_vec()),
                    Access::Erew => (Status::OtherPartition, vec![]),
                };
                assert_eq!(asked(&Request::Get { key }, away), elsewhere);
                assert_eq!(asked(&Request::Delete { key }, away), (Status::OtherPartition, vec![]));
                assert_eq!(asked(&Request::Delete { key }, hash), (Status::Ok, vec![]));
            }
            server.stop();
        }
    }
}
