//! A typed RPC of line messages allocates nothing, neither at the client nor at the server; nor
//! does a submitted one of protobuf's once messages as long have come.

use nebula::{ClientConfig, RunningServer, Server, ServerConfig, Worker};
use typed_tests::EveryService;
use typed_tests::echo::{EchoClient, EchoEnded, EchoServer, ProtoMessage};
use typed_tests::echo_service::Same;
use typed_tests::every::{EveryClient, EveryEnded, EveryServer, Line};

#[global_allocator]
static ALLOCATOR: nebula_testing::allocations::Counting = nebula_testing::allocations::Counting::new();

fn open(name: &str) -> (RunningServer, Worker) {
    let endpoint = format!("shm://typed-allocations-{name}-{}", std::process::id());
    let config = ServerConfig::default().inline(true).reply_bytes_max(256);
    let (server, mut workers) = Server::bind(&endpoint).config(config).open().expect("a server");
    (server, workers.pop().expect("a worker"))
}

#[test]
fn no_typed_rpc_of_line_messages_allocates() {
    let (server, mut worker) = open("line");
    let (endpoint, service) = (server.endpoint().clone(), EveryServer(EveryService));
    // The server answers on this thread, so the client cannot wait for it as it connects.
    let connecting = std::thread::spawn(move || EveryClient::connect_with(endpoint, ClientConfig::default()).unwrap());
    while !connecting.is_finished() {
        worker.turn(&service);
    }
    let mut client = connecting.join().unwrap();
    let mut rpcs = |count: u32| {
        for number in 0..count {
            client.submit_echo_line(&Line { u32: number.into(), ..Line::default() }).unwrap();
            let reply = loop {
                worker.turn(&service);
                if let Some((_, reply)) = client.poll() {
                    break reply;
                }
            };
            assert!(matches!(reply, Ok(EveryEnded::EchoLine(line)) if line.u32.get() == number));
        }
    };
    rpcs(1000);
    assert_eq!(nebula_testing::allocations::made_by(|| rpcs(10_000)), 0);
    server.stop();
}

#[test]
fn a_message_of_protobuf_is_read_where_one_as_long_was_before() {
    let (server, mut worker) = open("protobuf");
    let endpoint = server.endpoint().clone();
    let connecting = std::thread::spawn(move || EchoClient::connect_with(endpoint, ClientConfig::default()).unwrap());
    while !connecting.is_finished() {
        worker.turn(&EchoServer(Same));
    }
    let mut client = connecting.join().unwrap();
    let messages: Vec<_> = (0..64).map(|bytes| ProtoMessage { key: 7, flags: 1, value: vec![7; bytes] }).collect();
    let mut rpcs = |times: u32| {
        for message in (0..times).flat_map(|_| messages.iter().rev()) {
            client.submit_proto(message).unwrap();
            let reply = loop {
                worker.turn(&EchoServer(Same));
                if let Some((_, reply)) = client.poll() {
                    break reply;
                }
            };
            assert!(
                matches!(reply, Ok(EchoEnded::Proto(reply)) if reply == message),
                "nothing is left of the one before"
            );
        }
    };
    rpcs(10);
    assert_eq!(nebula_testing::allocations::made_by(|| rpcs(100)), 0);
    server.stop();
}
