//! A replica as a service: requests of clients by `nebula_kvs::protocol`, and those of replicas, at
//! one endpoint.
//!
//! No worker waits for other replicas or the disk: those replies come later.

use nebula::{Description, LaterReply, Reply, Service, StoreCounters};
use nebula_kvs::protocol::{self, Request, Status};
use nebula_kvs::{KEY_BYTES_MAX, Store};
use tokio::runtime::Handle;

use crate::command::{Outcome, Write};
use crate::replica::{Replica, Written};
use crate::wire;

/// The most outstanding replies of a worker: Nebula's bound.
pub const LATER_MAX: u16 = 62;
/// The longest message of a replica, without one write: entries, or a piece of a snapshot.
pub const MESSAGE_BYTES_MAX: u32 = 64 << 10;

/// The service of a replica.
pub struct ReplicaService {
    replica: Replica,
    runtime: Handle,
}

impl ReplicaService {
    /// The service of `replica`, whose tasks run on `runtime`.
    #[must_use]
    pub fn new(replica: Replica, runtime: Handle) -> Self {
        Self { replica, runtime }
    }

    fn write(&self, write: Write, reply: &mut Reply<'_>) {
        let Ok(later) = reply.later() else { return reply.refuse() };
        self.replica.write(write, move |written| match written {
            Written::Committed(Outcome::Done) => answer(later, Status::Ok),
            Written::Committed(Outcome::NotFound) => answer(later, Status::NotFound),
            Written::Committed(Outcome::Full) => answer(later, Status::Full),
            Written::Unknown => answer(later, Status::Unknown),
            Written::NotLeader => later.refuse(),
        });
    }

    fn read(&self, key: &[u8], reply: &mut Reply<'_>) {
        let Ok(later) = reply.later() else { return reply.refuse() };
        let key = key.to_vec();
        self.replica.read(move |store| match store {
            Some(store) => answer_value(later, store, &key),
            None => later.refuse(),
        });
    }

    fn peer(&self, request: &[u8], reply: &mut Reply<'_>) {
        let Ok(later) = reply.later() else { return reply.refuse() };
        let (replica, request) = (self.replica.clone(), request.to_vec());
        self.runtime.spawn(async move { later.answer(&replica.answer(&request).await) });
    }
}

fn answer(later: LaterReply, status: Status) {
    later.answer(&protocol::Reply::header(status, 0));
}

fn answer_value(mut later: LaterReply, store: &Store, key: &[u8]) {
    let mut value = Vec::new();
    if !store.get(Store::hash(key), key, &mut value) {
        return answer(later, Status::NotFound);
    }
    later.write(&protocol::Reply::header(Status::Ok, u32::try_from(value.len()).unwrap_or(u32::MAX)));
    later.answer(&value);
}

/// An empty key is invalid: Raft would keep it.
fn is_key(key: &[u8]) -> bool {
    (1..=KEY_BYTES_MAX).contains(&key.len())
}

impl Service for ReplicaService {
    fn serve(&self, request: &[u8], reply: &mut Reply<'_>) {
        if request.first() == Some(&wire::OPERATION) {
            return self.peer(request, reply);
        }
        let request = match Request::decode(request) {
            Ok(request) if is_key(request.key()) => request,
            _ => return reply.write(&protocol::Reply::header(Status::Malformed, 0)),
        };
        if !self.replica.leads() {
            return reply.refuse();
        }
        match request {
            Request::Get { key } => self.read(key, reply),
            Request::Set { key, value } => self.write(Write::Set { key: key.to_vec(), value: value.to_vec() }, reply),
            Request::Delete { key } => self.write(Write::Delete { key: key.to_vec() }, reply),
        }
    }

    fn describe(&self) -> Description {
        let replica = self.replica.clone();
        Description::default().later_max(LATER_MAX).store(move || counters(&replica))
    }
}

fn counters(replica: &Replica) -> StoreCounters {
    let stats = replica.replicated().stats();
    StoreCounters {
        sets: stats.inserted + stats.updated_in_place + stats.appended,
        deletes: stats.deleted,
        items: stats.items,
        bytes_used: stats.log_bytes_used as u64,
        bytes_max: stats.log_bytes as u64,
        ..StoreCounters::default()
    }
}
