//! Three replicas over UDP on the loopback interface, as a server runs them.

use std::time::{Duration, Instant};

use nebula::{CallError, Client, ClientConfig, RetryPolicy, Server, ServerConfig, Span};
use nebula_kvs::protocol::{Reply, Request, Status};
use nebula_replication::client::{administer, asks_for_leader};
use nebula_replication::machine::Room;
use nebula_replication::replica::ReplicaConfig;
use nebula_replication::running::{RunningReplica, serve};
use nebula_replication::wire::Message;

const ROOM: Room = Room { items_max: 1000, value_bytes_max: 64 };
const PATIENCE: Duration = Duration::from_secs(60);

/// Addresses that were free a moment ago.
fn endpoints(count: usize) -> Vec<String> {
    let sockets: Vec<_> = (0..count).map(|_| std::net::UdpSocket::bind("127.0.0.1:0").unwrap()).collect();
    sockets.iter().map(|socket| format!("udp://{}", socket.local_addr().unwrap())).collect()
}

fn start(endpoint: &str, members: &[String], folder: &std::path::Path) -> RunningReplica {
    let config = ReplicaConfig::new(endpoint, members, ROOM).snapshot_every(50);
    let server = ServerConfig::default().inline(true).slo(Span::from_ms(100));
    let server = Server::bind(endpoint).config(server);
    serve(server, config, &folder.join(endpoint.rsplit(':').next().unwrap()), ClientConfig::default()).unwrap()
}

/// Asks until the RPC is executed for certain.
fn ask(client: &mut Client, request: &Request<'_>) -> (Status, Vec<u8>) {
    let mut message = vec![0; request.encoded_bytes()];
    request.encode_into(&mut message).unwrap();
    let began = Instant::now();
    loop {
        assert!(began.elapsed() < PATIENCE, "nobody answers");
        match client.call(&message) {
            Ok(reply) => {
                let reply = Reply::decode(reply).unwrap();
                if reply.status != Status::Unknown {
                    return (reply.status, reply.value.to_vec());
                }
            }
            // It does no harm to write the same twice.
            Err(CallError::Nack { .. } | CallError::TimedOut | CallError::ServerGone | CallError::NotSent(_)) => {}
            Err(error) => panic!("{error}"),
        }
    }
}

fn client(endpoints: &[String]) -> Client {
    let config = ClientConfig::default().call_timeout(Span::from_secs(1)).retry(RetryPolicy::GiveUp);
    Client::connect_with(&endpoints.join(","), asks_for_leader(config)).unwrap()
}

#[test]
fn what_is_written_is_read_also_after_the_leader_is_gone_and_after_all_were_restarted() {
    let folder = tempfile::tempdir().unwrap();
    let endpoints = endpoints(3);
    let mut running: Vec<_> =
        endpoints.iter().map(|endpoint| Some(start(endpoint, &endpoints, folder.path()))).collect();
    let mut client = client(&endpoints);
    let key = |n: u32| format!("key {n}").into_bytes();
    for n in 0..100 {
        assert_eq!(ask(&mut client, &Request::Set { key: &key(n), value: &n.to_le_bytes() }).0, Status::Ok);
    }
    assert_eq!(ask(&mut client, &Request::Get { key: &key(7) }), (Status::Ok, 7_u32.to_le_bytes().to_vec()));
    assert_eq!(ask(&mut client, &Request::Get { key: b"other" }).0, Status::NotFound);
    let leader = running.iter().position(|replica| replica.as_ref().unwrap().replica().leads()).unwrap();
    running[leader].take().unwrap().stop();
    for n in 0..100 {
        assert_eq!(ask(&mut client, &Request::Get { key: &key(n) }), (Status::Ok, n.to_le_bytes().to_vec()));
    }
    assert_eq!(ask(&mut client, &Request::Delete { key: &key(0) }).0, Status::Ok);
    running.into_iter().flatten().for_each(|replica| _ = replica.stop());
    drop(client);
    let restarted: Vec<_> = endpoints.iter().map(|endpoint| start(endpoint, &endpoints, folder.path())).collect();
    let mut client = self::client(&endpoints);
    assert_eq!(ask(&mut client, &Request::Get { key: &key(0) }).0, Status::NotFound);
    for n in 1..100 {
        assert_eq!(ask(&mut client, &Request::Get { key: &key(n) }), (Status::Ok, n.to_le_bytes().to_vec()));
    }
    let listed = administer(&endpoints[0], &ClientConfig::default(), &Message::List).unwrap();
    assert_eq!(listed.voters.len(), 3, "{listed:?}");
    restarted.into_iter().for_each(|replica| _ = replica.stop());
}
