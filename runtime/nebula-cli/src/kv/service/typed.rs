//! The typed store: the service `nebula.kv.Kv`, at the endpoint of the byte protocol.
//!
//! No request belongs to both. A byte request begins with its operation, 1 to 3, and has the length
//! that its header says, whatever its value ends with. A message of protobuf's begins with the key
//! of a field, which is 8 or more. A connecting client's question for the schema begins with its
//! fingerprint, whose first bytes are no such header.

use super::KvService;
use nebula_kvs::protocol::Status as Outcome;
use nebula_kvs::{KEY_BYTES_MAX, KeyHash, Store};
use nebula_typed::services::kv::{DeleteReply, DeleteRequest, GetReply, GetRequest, Kv, SetReply, SetRequest};
use nebula_typed::{Context, Slot, Status};

fn hash_of(key: &[u8]) -> Result<KeyHash, Status> {
    match key.len() {
        1..=KEY_BYTES_MAX => Ok(Store::hash(key)),
        bytes => Err(Status::invalid_argument(format!("a key has 1 to {KEY_BYTES_MAX} bytes, and not {bytes}"))),
    }
}

fn done(outcome: Outcome) -> Result<(), Status> {
    match outcome {
        Outcome::Ok => Ok(()),
        Outcome::NotFound => Err(Status::not_found("no such key")),
        Outcome::Full => Err(Status::resource_exhausted("the store has no room for it")),
        Outcome::Unknown => Err(Status::unavailable("the replicas do not know whether the write was executed")),
        Outcome::Malformed | Outcome::OtherPartition => Err(Status::invalid_argument("the store takes no such item")),
    }
}

impl Kv for &KvService {
    fn get(&self, _: &Context, GetRequest { key }: &GetRequest, reply: Slot<GetReply>) -> Result<(), Status> {
        let mut value = Vec::new();
        match self.store.get(hash_of(key)?, key, &mut value) {
            true => reply.write(&GetReply { value }),
            false => done(Outcome::NotFound),
        }
    }

    fn set(&self, _: &Context, SetRequest { key, value }: &SetRequest, reply: Slot<SetReply>) -> Result<(), Status> {
        done(KvService::set(self, hash_of(key)?, key, value))?;
        reply.write(&SetReply {})
    }

    fn delete(&self, _: &Context, request: &DeleteRequest, reply: Slot<DeleteReply>) -> Result<(), Status> {
        done(KvService::delete(self, hash_of(&request.key)?, &request.key))?;
        reply.write(&DeleteReply {})
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nebula::{Client, ClientConfig, RpcType, RunningServer, ServerConfig, Service};
    use nebula_kvs::StoreConfig;
    use nebula_kvs::protocol::{self, Request};
    use nebula_typed::services::KvClient;
    use nebula_typed::{CallError, Code};

    const VALUE_BYTES: u32 = (1 << 20) - 1;

    fn served(at: &str) -> (RunningServer, ClientConfig) {
        let store = Store::try_new(StoreConfig::for_items(16, 16, VALUE_BYTES as usize)).unwrap();
        let config = ServerConfig::default().inline(true).rpc_bytes_max(VALUE_BYTES + 1024).rpc_bytes_mean(VALUE_BYTES);
        // A megabyte takes long in a build without optimization.
        let config =
            config.slo(nebula::Span::from_ms(100)).mtu_bytes(4080).reassembly_timeout(nebula::Span::from_secs(10));
        let server = nebula::Server::bind(at).config(config).serve(KvService::new(store, 528)).unwrap();
        (server, ClientConfig::default().slots(1024).reply_bytes_max(VALUE_BYTES + 64))
    }

    fn code<T: std::fmt::Debug>(ended: Result<T, CallError>) -> Code {
        match ended {
            Err(CallError::Status(status)) => status.code(),
            other => panic!("{other:?} is no status"),
        }
    }

    #[test]
    fn what_is_set_by_the_schema_is_got_by_it_until_it_is_deleted() {
        for at in [
            format!("shm://cli-typed-{}", std::process::id()),
            "udp://127.0.0.1:0".to_owned(),
            "tcp://127.0.0.1:0".to_owned(),
        ] {
            let (server, config) = served(&at);
            let mut client = KvClient::connect_with(server.endpoint().clone(), config).unwrap();
            for bytes in [0, 1, 8, 511, 512, 5000, VALUE_BYTES as usize] {
                let (key, value) = (b"sixteen-byte-key".to_vec(), vec![7; bytes]);
                assert_eq!(code(client.get(&GetRequest { key: key.clone() })), Code::NotFound);
                client.set(&SetRequest { key: key.clone(), value: value.clone() }).unwrap();
                assert!(client.get(&GetRequest { key: key.clone() }).unwrap().value == value, "{bytes} B");
                client.delete(&DeleteRequest { key: key.clone() }).unwrap();
                assert_eq!(code(client.delete(&DeleteRequest { key })), Code::NotFound);
            }
            let value = vec![7; VALUE_BYTES as usize + 1];
            assert_eq!(code(client.set(&SetRequest { key: b"too long".to_vec(), value })), Code::InvalidArgument);
            for key in [vec![], vec![1; KEY_BYTES_MAX + 1]] {
                assert_eq!(code(client.get(&GetRequest { key })), Code::InvalidArgument);
            }
            server.stop();
        }
    }

    #[test]
    fn both_protocols_have_one_endpoint_and_the_same_items() {
        let (server, config) = served(&format!("shm://cli-both-{}", std::process::id()));
        let mut typed = KvClient::connect_with(server.endpoint().clone(), config.clone()).unwrap();
        let mut bytes = Client::connect_with(server.endpoint().clone(), config).unwrap();
        let mut ask = |request: Request<'_>| {
            let mut message = vec![0; request.encoded_bytes()];
            request.encode_into(&mut message).unwrap();
            let reply = protocol::Reply::decode(bytes.call(&message).unwrap()).unwrap();
            (reply.status, reply.value.to_vec())
        };
        typed.set(&SetRequest { key: b"tea".to_vec(), value: b"green".to_vec() }).unwrap();
        assert_eq!(ask(Request::Get { key: b"tea" }), (Outcome::Ok, b"green".to_vec()));
        // A value that ends like a typed request is still a value.
        let end = nebula_typed::request_bytes(
            nebula_typed::MethodId::new(nebula_typed::services::KV.id, 3),
            &DeleteRequest { key: b"tea".to_vec() },
        );
        assert_eq!(ask(Request::Set { key: b"end", value: &end }), (Outcome::Ok, vec![]));
        assert_eq!(ask(Request::Get { key: b"tea" }).0, Outcome::Ok, "it was not executed");
        assert!(typed.get(&GetRequest { key: b"end".to_vec() }).unwrap().value == end);
        server.stop();
    }

    #[test]
    fn requests_of_the_schema_are_of_the_types_of_the_operations() {
        let store = Store::try_new(StoreConfig::for_items(16, 16, 16)).unwrap();
        let types = KvService::new(store, 32).describe().types.unwrap();
        let of = |method| {
            types.type_of(&nebula_typed::request_bytes(
                nebula_typed::MethodId::new(nebula_typed::services::KV.id, method),
                &GetRequest { key: b"k".to_vec() },
            ))
        };
        assert_eq!([1, 2, 3].map(of), [1, 2, 3].map(RpcType));
    }
}
