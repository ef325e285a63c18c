//! Three replicas over UDP on the loopback interface, as a server runs them.

use std::sync::atomic::{AtomicU32, Ordering};

use nebula::{CallError, Client, ClientConfig, RetryPolicy, Server, ServerConfig, Span};
use nebula_kvs::protocol::{Reply, Request, Status};
use nebula_replication::client::{administer, asks_for_leader};
use nebula_replication::machine::Room;
use nebula_replication::replica::ReplicaConfig;
use nebula_replication::running::{RunningReplica, serve};
use nebula_replication::wire::Message;
use nebula_testing::wait::Limit;

const ROOM: Room = Room { items_max: 1000, value_bytes_max: 64 };

/// Endpoints that the kernel gives to no socket by itself, so that a replica that is restarted has
/// its own again.
fn endpoints() -> Vec<String> {
    // The tests of this file run at once: a port is tried by one of them only.
    static TRIED: AtomicU32 = AtomicU32::new(0);
    let tried = std::iter::repeat_with(|| TRIED.fetch_add(1, Ordering::Relaxed)).take(4000);
    let ports = tried.map(|tried| 61_000 + (std::process::id() + tried) % 4000);
    let free = ports.filter(|&port| std::net::UdpSocket::bind(("127.0.0.1", u16::try_from(port).unwrap())).is_ok());
    free.take(3).map(|port| format!("udp://127.0.0.1:{port}")).collect()
}

fn start(endpoint: &str, members: &[String], folder: &std::path::Path) -> RunningReplica {
    start_with(ServerConfig::default().slo(Span::from_ms(100)), endpoint, members, folder)
}

fn start_with(server: ServerConfig, endpoint: &str, members: &[String], folder: &std::path::Path) -> RunningReplica {
    let config = ReplicaConfig::new(endpoint, members, ROOM).snapshot_every(50);
    let server = server.inline(true);
    let server = Server::bind(endpoint).config(server);
    serve(server, config, &folder.join(endpoint.rsplit(':').next().unwrap()), ClientConfig::default()).unwrap()
}

/// Asks until the RPC is executed for certain.
fn ask(client: &mut Client, request: &Request<'_>) -> (Status, Vec<u8>) {
    let mut message = vec![0; request.encoded_bytes()];
    request.encode_into(&mut message).unwrap();
    let limit = Limit::new("an answer");
    loop {
        limit.check();
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
    let endpoints = endpoints();
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

#[test]
fn an_overloaded_leader_refuses_writes_and_its_receive_buffer_stays_within_its_bound() {
    let folder = tempfile::tempdir().unwrap();
    let endpoints = endpoints();
    // As long as a commit may take: some seven may wait beside those that are under way.
    let mut server = ServerConfig::default().slo(Span::from_ms(10));
    server.service_mean = Span::from_ms(1);
    let running: Vec<_> =
        endpoints.iter().map(|endpoint| start_with(server.clone(), endpoint, &endpoints, folder.path())).collect();
    // There is a leader once this is answered.
    let mut client = client(&endpoints);
    ask(&mut client, &Request::Set { key: b"first", value: b"" });
    let leader = running.iter().position(|replica| replica.replica().leads()).unwrap();
    let mut flood = Client::connect_with(&endpoints[leader], ClientConfig::default().slots(1024)).unwrap();
    let mut keys = std::collections::BTreeMap::new();
    let (mut stored, mut refused, limit) = (Vec::new(), 0, Limit::new("the ends of writes"));
    let mut numbers = (0..500_u32).peekable();
    while !keys.is_empty() || numbers.peek().is_some() {
        limit.check();
        while let Some(key) = numbers.peek().map(|number| number.to_le_bytes()) {
            let request = Request::Set { key: &key, value: &[1; 64] };
            let mut message = vec![0; request.encoded_bytes()];
            request.encode_into(&mut message).unwrap();
            let Ok(ticket) = flood.submit(&message) else { break };
            keys.insert(ticket.0, key);
            numbers.next();
        }
        let Some(done) = flood.poll() else { continue };
        let key = keys.remove(&done.ticket.0).unwrap();
        match done.result.map(|reply| Reply::decode(reply).unwrap().status) {
            Ok(Status::Ok) => stored.push(key),
            Ok(Status::Unknown) => {}
            Ok(status) => panic!("{status:?}"),
            Err(CallError::Nack { .. }) => refused += 1,
            Err(error) => panic!("{error}"),
        }
    }
    assert!(refused > 0 && !stored.is_empty(), "{refused} refused, {} stored", stored.len());
    for key in &stored {
        assert_eq!(ask(&mut client, &Request::Get { key }).0, Status::Ok);
    }
    let members = running[leader].replica().members();
    assert!(members.buffer_bytes_used_max > 0 && members.buffer_bytes_used_max <= members.buffer_bytes, "{members:?}");
    running.into_iter().for_each(|replica| _ = replica.stop());
}
