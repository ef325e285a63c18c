//! A store with the schema of `nebula serve kv`, whose code `nebula-typed` has:
//! `cargo run --release -p kv`.

#![forbid(unsafe_code)]

use nebula::Server;
use nebula_kvs::{SetError, Store, StoreConfig};
use nebula_typed::services::kv::{DeleteReply, DeleteRequest, GetReply, GetRequest, Kv, SetReply, SetRequest};
use nebula_typed::services::{KvClient, KvServer};
use nebula_typed::{Context, Slot, Status};
use std::error::Error;
use std::time::Duration;

const VALUE_BYTES_MAX: u32 = 1024;

struct Items(Store);

impl Kv for Items {
    fn get(&self, _: &Context, GetRequest { key }: &GetRequest, reply: Slot<GetReply>) -> Result<(), Status> {
        let mut value = Vec::new();
        match self.0.get(Store::hash(key), key, &mut value) {
            true => reply.write(&GetReply { value }),
            false => Err(Status::not_found("no such key")),
        }
    }

    fn set(&self, _: &Context, SetRequest { key, value }: &SetRequest, reply: Slot<SetReply>) -> Result<(), Status> {
        self.0.set(Store::hash(key), key, value).map_err(|cause| match cause {
            SetError::Full => Status::resource_exhausted("the store is full"),
            cause => Status::invalid_argument(cause.to_string()),
        })?;
        reply.write(&SetReply {})
    }

    fn delete(&self, _: &Context, request: &DeleteRequest, reply: Slot<DeleteReply>) -> Result<(), Status> {
        match self.0.delete(Store::hash(&request.key), &request.key) {
            true => reply.write(&DeleteReply {}),
            false => Err(Status::not_found("no such key")),
        }
    }
}

#[expect(clippy::print_stdout, reason = "the program's output")]
fn main() -> Result<(), Box<dyn Error>> {
    let endpoint = format!("shm://kv-typed-{}", std::process::id());
    let store = Store::try_new(StoreConfig::for_items(1000, 32, VALUE_BYTES_MAX as usize))?;
    let server = Server::bind(&endpoint)
        .slo(Duration::from_micros(100))
        .reply_bytes_max(VALUE_BYTES_MAX + 16)
        .serve(KvServer(Items(store)))?;

    let mut client = KvClient::connect(&endpoint)?; // in another process, usually
    client.set(&SetRequest { key: "tea".into(), value: "green".into() })?;
    let got = client.get(&GetRequest { key: "tea".into() })?;
    println!("tea is {}", String::from_utf8_lossy(&got.value));
    client.delete(&DeleteRequest { key: "tea".into() })?;
    match client.get(&GetRequest { key: "tea".into() }) {
        Err(gone) => println!("then: {gone}"),
        Ok(_) => println!("then: it is still there"),
    }
    server.stop();
    Ok(())
}
