//! The handler: executes one request on the store and writes the reply into the client's ring.
//!
//! A GET copies the value once, from the log into the client's ring. If another core changes the
//! value meanwhile, the store repeats the copy or reports a miss. The client never sees the first
//! copy, because a reply's header is published last.

#[cfg(feature = "typed")]
mod typed;

use nebula::{Description, Reply, Requests, RpcType, Service, Span, Stage, StoreCounters};
use nebula_kvs::protocol::{self, HEADER_BYTES, OPERATIONS, Request, Status};
use nebula_kvs::{KeyHash, SetError, Stats, Store, ValueSink};
use nebula_sys::clock::Clock;
use nebula_sys::sync::AtomicU64;
#[cfg(feature = "typed")]
use nebula_typed::services::KvServer;
use std::sync::Arc;

use super::lookups::Lookups;
use super::times::ServiceTimes;

/// Requests between the prefetch of a bucket and its use.
const BUCKETS_AHEAD: usize = 16;
/// Requests between the prefetch of an item and its use.
const ITEMS_AHEAD: usize = BUCKETS_AHEAD / 2;
/// Between two safe points of `--work`.
const PIECE: Span = Span::from_us(1);

pub(crate) struct KvService {
    store: Arc<Store>,
    /// Of key and value, to prefetch.
    item_bytes: usize,
    work_ticks: u64,
    /// Between two safe points.
    piece_ticks: u64,
    clock: Clock,
    lookups: Arc<Lookups>,
    times: Option<Arc<ServiceTimes>>,
}

impl KvService {
    /// A service of `store`, whose typical items have `item_bytes` bytes of key and value.
    pub(crate) fn new(store: impl Into<Arc<Store>>, item_bytes: usize) -> Self {
        let clock = Clock::new();
        let piece_ticks = clock.ticks_of(PIECE.as_ps()).max(1);
        Self {
            store: store.into(),
            item_bytes,
            work_ticks: 0,
            piece_ticks,
            clock,
            lookups: Arc::new(Lookups::new()),
            times: None,
        }
    }

    pub(crate) fn working(mut self, work: Span) -> Self {
        self.work_ticks = self.clock.ticks_of(work.as_ps());
        self
    }

    pub(super) fn timed(mut self, times: Option<Arc<ServiceTimes>>) -> Self {
        self.times = times;
        self
    }

    #[inline(always)]
    fn answer_to(&self, request: &[u8], hash: KeyHash, reply: &mut Reply<'_>) {
        match Request::decode(request) {
            Ok(Request::Get { key }) => self.get(hash, key, reply),
            Ok(Request::Set { key, value }) => answer(reply, self.set(hash, key, value)),
            Ok(Request::Delete { key }) => answer(reply, self.delete(hash, key)),
            Err(_) => self.serve_other(request, reply),
        }
        if self.work_ticks > 0 {
            self.work();
        }
    }

    /// Other requests may be typed.
    #[inline(never)]
    fn serve_other(&self, request: &[u8], reply: &mut Reply<'_>) {
        #[cfg(feature = "typed")]
        if nebula_typed::serve_if_meant(&KvServer(self), request, reply) {
            return;
        }
        let _ = request;
        answer(reply, Status::Malformed);
    }

    #[inline(always)]
    fn serve_hashed(&self, request: &[u8], hash: KeyHash, reply: &mut Reply<'_>) {
        match self.times.as_deref().and_then(|times| Some((times, times.begin()?))) {
            None => self.answer_to(request, hash, reply),
            Some((times, began)) => {
                self.answer_to(request, hash, reply);
                times.end(began);
            }
        }
    }

    /// Hashes a later request's key, and prefetches its bucket.
    #[inline(always)]
    fn hash_ahead(&self, request: &[u8], may_prefetch: bool) -> KeyHash {
        let hash = hash_of(request).unwrap_or(KeyHash(0));
        if may_prefetch {
            self.store.prefetch_bucket(hash);
        }
        hash
    }

    #[inline(never)]
    fn work(&self) {
        let mut left = self.work_ticks;
        while left > 0 {
            let (from, piece) = (self.clock.ticks(), left.min(self.piece_ticks));
            while self.clock.ticks().wrapping_sub(from) < piece {
                std::hint::spin_loop();
            }
            left -= piece;
            nebula::yield_if_due();
        }
    }

    #[inline(always)]
    fn get(&self, hash: KeyHash, key: &[u8], reply: &mut Reply<'_>) {
        let is_found = self.store.get(hash, key, &mut ReplySink { reply });
        self.lookups.count(is_found);
        if !is_found {
            answer(reply, Status::NotFound);
        }
    }

    #[inline(never)]
    fn set(&self, hash: KeyHash, key: &[u8], value: &[u8]) -> Status {
        match self.store.set(hash, key, value) {
            Ok(_) => Status::Ok,
            Err(SetError::Full | SetError::ItemBytes { .. }) => Status::Full,
            Err(_) => Status::Malformed,
        }
    }

    #[inline(never)]
    fn delete(&self, hash: KeyHash, key: &[u8]) -> Status {
        if self.store.delete(hash, key) { Status::Ok } else { Status::NotFound }
    }
}

impl Service for KvService {
    #[inline]
    fn serve(&self, request: &[u8], reply: &mut Reply<'_>) {
        self.serve_hashed(request, hash_of(request).unwrap_or(KeyHash(0)), reply);
    }

    /// Hashes each key once, and overlaps misses with earlier requests: a bucket is prefetched some
    /// requests ahead, and its item half as many.
    #[inline]
    fn serve_burst(&self, requests: &mut Requests<'_>) {
        let (rpcs, may_prefetch) = (requests.len(), requests.may_prefetch());
        let mut hashes = [KeyHash(0); BUCKETS_AHEAD];
        for (index, hash) in hashes.iter_mut().enumerate().take(rpcs) {
            *hash = self.hash_ahead(requests.peek(index), may_prefetch);
        }
        if may_prefetch {
            hashes[..rpcs.min(ITEMS_AHEAD)].iter().for_each(|&hash| self.store.prefetch_entry(hash, self.item_bytes));
        }
        for index in 0..rpcs {
            let hash = hashes[index % BUCKETS_AHEAD];
            if may_prefetch && index + ITEMS_AHEAD < rpcs {
                self.store.prefetch_entry(hashes[(index + ITEMS_AHEAD) % BUCKETS_AHEAD], self.item_bytes);
            }
            if index + BUCKETS_AHEAD < rpcs {
                hashes[index % BUCKETS_AHEAD] = self.hash_ahead(requests.peek(BUCKETS_AHEAD), may_prefetch);
            }
            let Some((request, reply)) = requests.next() else { return };
            self.serve_hashed(request, hash, reply);
        }
    }

    fn describe(&self) -> Description {
        let (store, lookups) = (self.store.clone(), self.lookups.clone());
        Description::default()
            .prefetches(true)
            .types(OPERATIONS + 1, rpc_type)
            .store(move || counters(&store.stats(), lookups.totals()))
    }

    #[inline]
    fn prefetch(&self, request: &[u8], stage: Stage) {
        let Some(hash) = hash_of(request) else { return };
        match stage {
            Stage::Arrived => self.store.prefetch_bucket(hash),
            Stage::Next => self.store.prefetch_entry(hash, self.item_bytes),
        }
    }
}

fn rpc_type(request: &[u8]) -> RpcType {
    let operation = request.first().copied().filter(|&operation| operation <= OPERATIONS);
    #[cfg(feature = "typed")]
    let operation = operation.or_else(|| Some(nebula_typed::rpc_type::<KvServer<&KvService>>(request).0));
    RpcType(operation.unwrap_or(0))
}

pub(super) fn counters(stats: &Stats, (hits, misses): (u64, u64)) -> StoreCounters {
    StoreCounters {
        hits,
        misses,
        sets: stats.inserted + stats.updated_in_place + stats.appended,
        deletes: stats.deleted,
        evictions: stats.evicted,
        expired: stats.expired,
        items: stats.items,
        bytes_used: stats.log_bytes_used as u64,
        bytes_max: stats.log_bytes as u64,
    }
}

/// The hash of the key in an unvalidated request: it is only a prefetch hint.
#[inline(always)]
pub(super) fn hash_of(request: &[u8]) -> Option<KeyHash> {
    let key_bytes = usize::from(*request.get(1)?);
    request.get(HEADER_BYTES..HEADER_BYTES + key_bytes).map(Store::hash)
}

/// Replies without a value, and discards a value that was written before.
#[inline(always)]
pub(super) fn answer(reply: &mut Reply<'_>, status: Status) {
    reply.clear();
    reply.write_at(0, &protocol::Reply::header(status, 0));
}

pub(super) struct ReplySink<'r, 'a> {
    pub(super) reply: &'r mut Reply<'a>,
}

impl ValueSink for ReplySink<'_, '_> {
    #[inline(always)]
    fn write(&mut self, value: &[AtomicU64], bytes: usize) {
        self.reply.clear();
        self.reply.write(&protocol::Reply::header(Status::Ok, u32::try_from(bytes).unwrap_or(u32::MAX)));
        self.reply.write_words_at(HEADER_BYTES, value, bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nebula::{CallError, Client, ClientConfig, Fault, RunningServer, Server, ServerConfig, Steering};
    use nebula_kvs::StoreConfig;

    fn store() -> Store {
        Store::try_new(StoreConfig::for_items(100, 16, 512)).unwrap()
    }

    fn served(test: &str, store: Store) -> (RunningServer, Client) {
        let name = format!("shm://cli-{test}-{}", std::process::id());
        let server = Server::bind(&name).config(ServerConfig::default().inline(true).mtu_bytes(576));
        let server = server.serve(KvService::new(store, 528)).unwrap();
        (server, Client::connect(&name).unwrap())
    }

    fn ask(client: &mut Client, request: &Request<'_>) -> (Status, Vec<u8>) {
        let mut message = vec![0; request.encoded_bytes()];
        request.encode_into(&mut message).unwrap();
        let reply = client.call(&message).unwrap();
        let reply = protocol::Reply::decode(reply).unwrap();
        (reply.status, reply.value.to_vec())
    }

    #[test]
    fn what_is_set_is_got_until_it_is_deleted() {
        let (_server, mut client) = served("set-get-delete", store());
        let key = b"sixteen-byte-key";
        for bytes in [0, 1, 8, 511, 512] {
            let value = vec![u8::try_from(bytes % 251).unwrap(); bytes];
            assert_eq!(ask(&mut client, &Request::Get { key }), (Status::NotFound, vec![]));
            assert_eq!(ask(&mut client, &Request::Set { key, value: &value }), (Status::Ok, vec![]));
            assert_eq!(ask(&mut client, &Request::Get { key }), (Status::Ok, value));
            assert_eq!(ask(&mut client, &Request::Delete { key }), (Status::Ok, vec![]));
            assert_eq!(ask(&mut client, &Request::Delete { key }), (Status::NotFound, vec![]));
        }
    }

    #[test]
    fn requests_that_come_at_once_are_answered_as_one_by_one() {
        for (test, steering) in [("at-once", Steering::On), ("at-once-unsteered", Steering::Off)] {
            let name = format!("shm://cli-{test}-{}", std::process::id());
            let service = KvService::new(store(), 528);
            let server = Server::bind(&name).inline(true).steering(steering).description(service.describe());
            let (server, mut workers) = server.open().unwrap();
            let worker = &mut workers[0];
            let mut client = Client::connect_with(&name, ClientConfig::default().slots(64)).unwrap();
            // Sets each key, gets it twice and deletes it, with an invalid message in between.
            let keys: Vec<String> = (0..12).map(|key| format!("key {key}")).collect();
            let mut messages = Vec::new();
            for key in &keys {
                let key = key.as_bytes();
                for request in [Request::Set { key, value: key }, Request::Get { key }, Request::Delete { key }] {
                    messages.push(vec![0; request.encoded_bytes()]);
                    request.encode_into(messages.last_mut().unwrap()).unwrap();
                }
                messages.extend([vec![9; 8], messages[messages.len() - 2].clone()]);
            }
            for message in &messages {
                client.submit(message).unwrap();
            }
            let mut replies = Vec::new();
            let limit = nebula_testing::wait::Limit::new("the replies");
            while replies.len() < messages.len() {
                limit.check();
                worker.turn(&service);
                while let Some(completion) = client.poll() {
                    let reply = protocol::Reply::decode(completion.result.unwrap()).unwrap();
                    replies.push((reply.status, reply.value.to_vec()));
                }
            }
            let expected = keys.iter().flat_map(|key| {
                let empty = |status| (status, vec![]);
                let got = (Status::Ok, key.as_bytes().to_vec());
                [empty(Status::Ok), got, empty(Status::Ok), empty(Status::Malformed), empty(Status::NotFound)]
            });
            assert_eq!(replies, expected.collect::<Vec<_>>(), "{test}");
            server.stop();
        }
    }

    #[test]
    fn lookups_are_counted_by_what_they_found() {
        let name = format!("shm://cli-lookups-{}", std::process::id());
        let (server, mut workers) = Server::bind(&name).inline(true).open().unwrap();
        let service = KvService::new(store(), 528);
        let mut client = Client::connect(&name).unwrap();
        let key = b"key";
        for request in
            [Request::Get { key }, Request::Set { key, value: b"value" }, Request::Get { key }, Request::Get { key }]
        {
            let mut message = vec![0; request.encoded_bytes()];
            request.encode_into(&mut message).unwrap();
            client.submit(&message).unwrap();
            while client.poll().is_none() {
                workers[0].turn(&service);
            }
        }
        let counted = (service.describe().store.unwrap())();
        assert_eq!((counted.hits, counted.misses, counted.sets, counted.items), (2, 1, 1, 1));
        server.stop();
    }

    #[test]
    fn what_is_no_request_is_said_to_be_malformed() {
        let (_server, mut client) = served("malformed", store());
        for request in [&[][..], &[1], &[9; 8], &[1, 16, 0, 0, 0, 0, 0, 0], &[0; 64]] {
            let reply = client.call(request).unwrap();
            assert_eq!(protocol::Reply::decode(reply).unwrap().status, Status::Malformed, "{request:?}");
        }
    }

    #[test]
    fn a_value_longer_than_the_clients_room_is_a_fault_and_no_part_of_it() {
        let store = store();
        store.set(Store::hash(b"k"), b"k", &[7; 900]).unwrap();
        let (_server, mut client) = served("too-long", store);
        let mut message = [0; 64];
        let bytes = Request::Get { key: b"k" }.encode_into(&mut message).unwrap();
        assert_eq!(client.call(&message[..bytes]), Err(CallError::Fault(Fault::ReplyTooLarge)));
    }
}
