//! A typed RPC of line messages allocates nothing, neither at the client nor at the server.

use nebula::{ClientConfig, Server, ServerConfig};
use typed_tests::EveryService;
use typed_tests::every::{EveryClient, EveryEnded, EveryServer, Line};

#[global_allocator]
static ALLOCATOR: allocations::Counting = allocations::Counting::new();

#[test]
fn no_typed_rpc_of_line_messages_allocates() {
    let endpoint = format!("shm://typed-allocations-{}", std::process::id());
    let config = ServerConfig::default().inline(true).reply_bytes_max(256);
    let (server, mut workers) = Server::bind(&endpoint).config(config).open().unwrap();
    let mut worker = workers.pop().unwrap();
    let service = EveryServer(EveryService);
    // The server answers on this thread, so the client cannot wait for it as it connects.
    let connecting =
        std::thread::spawn(move || EveryClient::connect_with(&*endpoint, ClientConfig::default()).unwrap());
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
    assert_eq!(allocations::made_by(|| rpcs(10_000)), 0);
    server.stop();
}
