//! What `udp://` and `tcp://` have in common: sizes, families, modes, keys, addresses, draining.

use crate::support::{PATIENCE, echo, echo_sizes, patient_client, roomy};
use nebula::{
    CallError, Client, ClientConfig, ConnectError, Endpoint, IdlePolicy, Key, NackReason, RetryPolicy, RunningServer,
    ServeError, Server, ServerConfig, Wait,
};
use nebula_testing::wait::Watchdog;
use std::net::{SocketAddr, TcpListener, UdpSocket};
use std::time::Duration;

const SCHEMES: [&str; 2] = ["udp", "tcp"];

fn serve(at: &str, change: impl FnOnce(&mut ServerConfig)) -> RunningServer {
    Server::bind(at).config(roomy(change)).serve(echo).expect("a server")
}

fn here(scheme: &str) -> String {
    format!("{scheme}://127.0.0.1:0")
}

fn address(server: &RunningServer) -> SocketAddr {
    let (Endpoint::Tcp(address) | Endpoint::Udp(address)) = *server.endpoint() else { panic!("a network's endpoint") };
    address
}

#[test]
fn rpcs_of_every_size_go_over_both_families_in_every_mode() {
    let _watchdog = Watchdog::new("RPCs of every size over a network");
    let has_ipv6 = UdpSocket::bind("[::1]:0").is_ok();
    if !has_ipv6 {
        println!("skipped for IPv6: this machine has no ::1");
    }
    for (scheme, host) in SCHEMES.into_iter().flat_map(|scheme| [(scheme, "127.0.0.1"), (scheme, "[::1]")]) {
        if host == "[::1]" && !has_ipv6 {
            continue;
        }
        for (inline, idle) in [
            (true, IdlePolicy::Adaptive),
            (false, IdlePolicy::Adaptive),
            (true, IdlePolicy::Block),
            (false, IdlePolicy::Block),
        ] {
            let server =
                serve(&format!("{scheme}://{host}:0"), |config| (config.inline, config.idle) = (Some(inline), idle));
            for config in [patient_client(), patient_client().wait(Wait::Block), patient_client().datagram_bytes(1400)]
            {
                echo_sizes(&mut Client::connect_with(server.endpoint(), config).expect("a client"));
            }
            server.stop();
        }
    }
}

#[test]
fn a_key_opens_and_another_or_none_does_not() {
    let _watchdog = Watchdog::new("keys");
    for scheme in SCHEMES {
        let key = Key::new([7; 32]);
        let server = serve(&here(scheme), |config| config.keys = key.clone().into());
        let config = patient_client().key(key.clone());
        echo_sizes(&mut Client::connect_with(server.endpoint(), config).expect("a client"));
        let plain = serve(&here(scheme), |_| ());
        let soon = ClientConfig::default().call_timeout(Duration::from_millis(300));
        for (server, config) in
            [(&server, soon.clone()), (&server, soon.clone().key(Key::new([8; 32]))), (&plain, soon.clone().key(key))]
        {
            let error = Client::connect_with(server.endpoint(), config).expect_err("no key, no welcome").to_string();
            assert!(error.contains(scheme) && error.contains("key") && !error.contains('\n'), "{error}");
        }
    }
}

#[test]
fn without_a_key_nobody_serves_or_calls_beyond_this_machine_by_accident() {
    for scheme in SCHEMES {
        let everywhere = format!("{scheme}://0.0.0.0:0");
        let error = Server::bind(&everywhere).serve(echo).expect_err("open to everybody");
        assert!(matches!(error, ServeError::Insecure { .. }), "{error}");
        assert!(error.to_string().contains("--insecure") && error.to_string().contains(scheme), "{error}");
        let error = Client::connect(&format!("{scheme}://192.0.2.1:7400")).expect_err("not on this machine");
        assert!(matches!(error, ConnectError::Open { .. }), "{error}");
        assert!(error.to_string().contains("insecure") && error.to_string().contains(scheme), "{error}");
        let server = serve(&everywhere, |config| config.insecure = true);
        assert!(Client::connect(server.endpoint()).is_err(), "0.0.0.0 is nobody's, or not of this machine alone");
        // Answers come from the requested address.
        for host in ["127.0.0.1", "127.0.0.2"] {
            let at = format!("{scheme}://{host}:{}", address(&server).port());
            let mut client = Client::connect_with(&at, patient_client()).expect("a client");
            assert_eq!(client.call(host.as_bytes()), Ok(host.as_bytes()));
        }
    }
}

#[test]
fn where_nobody_serves_the_client_says_so() {
    let _watchdog = Watchdog::new("nobody serves");
    let udp = UdpSocket::bind("127.0.0.1:0").and_then(|socket| socket.local_addr()).expect("a port");
    let tcp = TcpListener::bind("127.0.0.1:0").and_then(|socket| socket.local_addr()).expect("a port");
    for (scheme, free) in SCHEMES.into_iter().zip([udp, tcp]) {
        let error = Client::connect(&format!("{scheme}://{free}")).expect_err("nobody serves there");
        assert!(matches!(error, ConnectError::NobodyServes { .. }), "{error}");
    }
}

#[test]
fn an_address_is_served_by_one_server() {
    for (scheme, first) in SCHEMES.into_iter().flat_map(|scheme| [(scheme, 1), (scheme, 2)]) {
        let engines = |config: &mut ServerConfig, engines| (config.engines, config.workers) = (engines, engines);
        let first = serve(&here(scheme), |config| engines(config, first));
        for second in 1..=2 {
            let config = roomy(|config| engines(config, second));
            let second = Server::bind(first.endpoint()).config(config).serve(echo);
            assert!(matches!(second.map(drop), Err(ServeError::Taken { .. })), "{scheme}");
        }
    }
}

#[test]
fn a_server_that_drains_refuses_what_comes() {
    let _watchdog = Watchdog::new("draining");
    for (scheme, inline, engines) in
        SCHEMES.into_iter().flat_map(|scheme| [(scheme, true, 1), (scheme, true, 2), (scheme, false, 1)])
    {
        let server = serve(&here(scheme), |config| {
            (config.inline, config.engines, config.workers) = (Some(inline), engines, engines);
            config.idle = if inline { IdlePolicy::Adaptive } else { IdlePolicy::Block };
        });
        let config = patient_client().retry(RetryPolicy::GiveUp);
        let mut client = Client::connect_with(server.endpoint(), config.clone()).expect("a client");
        assert_eq!(client.call(b"before"), Ok(&b"before"[..]));
        assert!(server.drain(PATIENCE));
        let refused = Err(CallError::Nack { reason: NackReason::QueueBound });
        assert_eq!(client.call(b"after"), refused);
        if scheme == "tcp" {
            // The address is free.
            let second = serve(&server.endpoint().to_string(), |_| ());
            let mut other = Client::connect_with(second.endpoint(), config).expect("a client");
            assert_eq!(other.call(b"new"), Ok(&b"new"[..]));
            assert_eq!(client.call(b"old"), refused);
        }
        server.stop();
    }
}
