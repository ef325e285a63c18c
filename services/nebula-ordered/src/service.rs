//! The handler: executes one request on the ordered store and writes the reply in place.

use nebula::{Description, Reply, RpcType, Service};
use nebula_kvs::protocol::scan::{OPERATIONS, PAIR_HEADER_BYTES, Request, pair_header};
use nebula_kvs::protocol::{self as key_value, HEADER_BYTES, Status};

use crate::OrderedStore;

/// An ordered store as a service.
pub struct OrderedService {
    store: OrderedStore,
}

impl OrderedService {
    /// The service of `store`.
    #[must_use]
    pub const fn new(store: OrderedStore) -> Self {
        Self { store }
    }

    #[inline]
    fn pair(&self, request: key_value::Request<'_>, reply: &mut Reply<'_>) {
        match request {
            key_value::Request::Get { key } => {
                if self.store.get(key, |value| write_value(reply, value)).is_none() {
                    answer(reply, Status::NotFound);
                }
            }
            key_value::Request::Set { key, value } => {
                answer(reply, if self.store.set(key, value).is_ok() { Status::Ok } else { Status::Full });
            }
            key_value::Request::Delete { key } => {
                answer(reply, if self.store.delete(key) { Status::Ok } else { Status::NotFound });
            }
        }
    }

    /// Writes pairs while a whole one fits into the reply.
    fn scan(&self, from: &[u8], items: u16, reply: &mut Reply<'_>) {
        let mut end = HEADER_BYTES;
        self.store.scan(from, items.into(), |key, value| {
            let Some(header) = pair_header(key.len(), value.len()) else { return false };
            let next = end + PAIR_HEADER_BYTES + key.len() + value.len();
            if next > reply.capacity() {
                return false;
            }
            reply.write_at(end, &header);
            reply.write_at(end + PAIR_HEADER_BYTES, key);
            reply.write_at(next - value.len(), value);
            end = next;
            true
        });
        reply.write_at(0, &key_value::Reply::header(Status::Ok, bytes(end - HEADER_BYTES)));
    }
}

impl Service for OrderedService {
    #[inline]
    fn serve(&self, request: &[u8], reply: &mut Reply<'_>) {
        match Request::decode(request) {
            Ok(Request::Pair(request)) => self.pair(request, reply),
            Ok(Request::Scan { from, items }) => self.scan(from, items, reply),
            Err(_) => answer(reply, Status::Malformed),
        }
    }

    /// An RPC's type is its operation: under `darc` short GETs have cores that no SCAN takes.
    fn describe(&self) -> Description {
        Description::default().types(OPERATIONS + 1, |request| {
            let operation = request.first().copied().filter(|&operation| operation <= OPERATIONS);
            RpcType(operation.unwrap_or(0))
        })
    }
}

fn answer(reply: &mut Reply<'_>, status: Status) {
    reply.write_at(0, &key_value::Reply::header(status, 0));
}

fn write_value(reply: &mut Reply<'_>, value: &[u8]) {
    reply.write(&key_value::Reply::header(Status::Ok, bytes(value.len())));
    reply.write(value);
}

fn bytes(bytes: usize) -> u32 {
    u32::try_from(bytes).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use nebula::{Client, RunningServer, Server};
    use nebula_kvs::protocol::scan::Pairs;

    const SLOT_BYTES: u32 = 448;

    /// A service of a store, and a client with one slot for a reply.
    fn served(test: &str, bytes_max: u64) -> (RunningServer, Client) {
        let name = format!("shm://ordered-{test}-{}", std::process::id());
        let service = OrderedService::new(OrderedStore::new(bytes_max));
        let config = nebula::ServerConfig::default().inline(true).mtu_bytes(SLOT_BYTES);
        let server = Server::bind(&name).config(config).serve(service).unwrap();
        (server, Client::connect(&name).unwrap())
    }

    fn ask(client: &mut Client, request: Request<'_>) -> (Status, Vec<u8>) {
        let mut message = vec![0; request.encoded_bytes()];
        request.encode_into(&mut message).unwrap();
        let reply = key_value::Reply::decode(client.call(&message).unwrap()).unwrap();
        (reply.status, reply.value.to_vec())
    }

    fn set(client: &mut Client, key: &[u8], value: &[u8]) -> Status {
        ask(client, Request::Pair(key_value::Request::Set { key, value })).0
    }

    #[test]
    fn a_scan_returns_pairs_in_order_and_as_many_as_there_is_room_for() {
        let (_server, mut client) = served("scan", 1 << 20);
        for key in (0..50_u8).rev() {
            assert_eq!(set(&mut client, &[key], &[key; 20]), Status::Ok);
        }
        let mut scan = |from: &[u8], items| {
            let (status, value) = ask(&mut client, Request::Scan { from, items });
            assert_eq!(status, Status::Ok);
            let keys = Pairs::of(&value).map(|pair| {
                let (key, value) = pair.unwrap();
                assert_eq!(value, [key[0]; 20]);
                key[0]
            });
            keys.collect::<Vec<u8>>()
        };
        assert_eq!(scan(&[7], 3), [7, 8, 9]);
        assert_eq!(scan(&[48], 10), [48, 49]);
        assert_eq!(scan(&[200], 10), [0; 0]);
        let many = scan(&[0], 50);
        assert!((17..=20).contains(&many.len()), "{} pairs of 25 bytes in a slot of 448 or little more", many.len());
        assert_eq!(many, (0..many.len()).map(|key| u8::try_from(key).unwrap()).collect::<Vec<_>>());
    }

    #[test]
    fn pairs_are_set_got_and_deleted_as_at_the_key_value_service() {
        let (_server, mut client) = served("pairs", 300);
        let get = Request::Pair(key_value::Request::Get { key: b"key" });
        let delete = Request::Pair(key_value::Request::Delete { key: b"key" });
        assert_eq!(ask(&mut client, get), (Status::NotFound, vec![]));
        assert_eq!(set(&mut client, b"key", b"value"), Status::Ok);
        assert_eq!(ask(&mut client, get), (Status::Ok, b"value".to_vec()));
        assert_eq!(set(&mut client, b"other", &[1; 200]), Status::Full);
        assert_eq!(ask(&mut client, delete), (Status::Ok, vec![]));
        assert_eq!(ask(&mut client, delete), (Status::NotFound, vec![]));
    }

    #[test]
    fn what_is_no_request_is_said_to_be_malformed() {
        let (_server, mut client) = served("malformed", 1 << 20);
        for request in [&[][..], &[4], &[4, 0, 1, 0, 0, 0, 0, 0], &[5; 16], &[4, 1, 1, 0, 1, 0, 0, 0, 7]] {
            let reply = client.call(request).unwrap();
            assert_eq!(key_value::Reply::decode(reply).unwrap().status, Status::Malformed, "{request:?}");
        }
    }
}
