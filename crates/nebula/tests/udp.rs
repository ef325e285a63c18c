//! Server and client over UDP on this machine.

mod support;

use nebula::{Client, ClientConfig, ConnectError, Queueing, Server, Wait};
use support::watch::Watchdog;
use support::{echo, server_config};

/// An echo server at an address of its own.
fn server() -> (nebula::RunningServer, String) {
    let config = server_config(|config| {
        config.workers = 1;
        // However slow the machine is, nothing is refused.
        config.queueing = Queueing::Unbounded { recv_buffer_bytes: 1 << 20 };
    });
    let server = Server::bind("udp://127.0.0.1:0").config(config).serve(echo).expect("a server");
    let endpoint = server.endpoint().to_string();
    (server, endpoint)
}

#[test]
fn calls_of_all_lengths_are_answered() {
    let _watchdog = Watchdog::new("calls over UDP");
    let (server, endpoint) = server();
    for wait in [Wait::Spin, Wait::Block] {
        let mut client = Client::connect_with(&endpoint, ClientConfig::default().wait(wait)).expect("a welcome");
        for bytes in [0, 1, 64, 1088, 1089, 5000, 40_000, 60_000] {
            let request: Vec<u8> = (0..bytes).map(|at| (at % 251) as u8).collect();
            for _ in 0..20 {
                assert_eq!(client.call(&request).expect("an echo"), request, "{bytes} bytes");
            }
        }
    }
    server.stop();
}

#[test]
fn many_at_once_are_each_answered_once() {
    let _watchdog = Watchdog::new("many over UDP");
    let (server, endpoint) = server();
    let mut client = Client::connect(&endpoint).expect("a welcome");
    let mut waiting = std::collections::BTreeMap::new();
    let (mut next, mut answered) = (0_u64, 0);
    while answered < 100_000 {
        while waiting.len() < 64 {
            let ticket = client.submit(&next.to_le_bytes()).expect("room");
            assert_eq!(waiting.insert(ticket, next), None);
            next += 1;
        }
        if let Some(done) = client.poll() {
            let number = waiting.remove(&done.ticket).expect("its only end");
            assert_eq!(done.result.expect("an echo"), number.to_le_bytes());
            answered += 1;
        }
    }
    server.stop();
}

#[test]
fn nobody_at_the_port_is_said_soon() {
    let _watchdog = Watchdog::new("nobody over UDP");
    let socket = std::net::UdpSocket::bind("127.0.0.1:0").expect("a port");
    let endpoint = format!("udp://{}", socket.local_addr().expect("its address"));
    drop(socket);
    let refused = Client::connect(&endpoint);
    assert!(matches!(refused, Err(ConnectError::NobodyServes { .. })), "{refused:?}");
    let abroad = Client::connect("udp://192.0.2.1:7400");
    assert!(matches!(abroad, Err(ConnectError::Open { .. })), "{abroad:?}");
}
