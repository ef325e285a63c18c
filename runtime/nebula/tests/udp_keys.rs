//! Keys of a `udp://` server that change while it runs.

use crate::support::boxed::boxed;
use crate::support::{PATIENCE, patient_client};
use nebula::{CallError, Client, ClientConfig, ConnectError, Key, Keys, Reply, Server, ServerConfig, Span};
use nebula_testing::wait::{Watchdog, wait_until};
use std::collections::HashMap;
use std::sync::{Arc, Mutex};

fn keys(lines: &[(&str, u8)]) -> Keys {
    let line = |(name, byte): &(&str, u8)| format!("{name} {}\n", Key::new([*byte; 32]).to_hex());
    lines.iter().map(line).collect::<String>().parse().expect("keys")
}

fn config(lines: &[(&str, u8)]) -> ClientConfig {
    patient_client().keys(keys(lines))
}

#[test]
fn a_key_is_changed_without_a_lost_rpc() {
    let _watchdog = Watchdog::new("a_key_is_changed_without_a_lost_rpc");
    let runs: Arc<Mutex<HashMap<Vec<u8>, u32>>> = Arc::default();
    let seen = runs.clone();
    let service = move |request: &[u8], reply: &mut Reply<'_>| {
        *seen.lock().expect("no panic").entry(request.to_vec()).or_default() += 1;
        reply.write(request);
    };
    let server_config = ServerConfig::default().engines(2).workers(2).inline(true).keys(keys(&[("ann", 1)]));
    let server = Server::bind("udp://127.0.0.1:0").config(server_config).serve(boxed(service)).expect("a server");
    let mut clients: Vec<_> = (0..2)
        .map(|_| Client::connect_with(server.endpoint().clone(), config(&[("", 1)])).expect("a client"))
        .collect();
    let mut number = 0_u32;
    let mut call_all = |clients: &mut [Client]| {
        for _ in 0..20 {
            for client in &mut *clients {
                number += 1;
                assert_eq!(client.call(&number.to_le_bytes()).expect("a reply"), number.to_le_bytes());
            }
        }
    };
    call_all(&mut clients);
    // An RPC is under way during each change of keys.
    for (at_server, at_clients) in [
        (&[("ann", 1), ("ann", 2)][..], &[("", 1)][..]),
        (&[("ann", 1), ("ann", 2)], &[("", 2), ("", 1)]),
        (&[("ann", 2)], &[("", 2)]),
    ] {
        let tickets: Vec<_> =
            clients.iter_mut().map(|client| client.submit(&at_server.len().to_le_bytes()).expect("room")).collect();
        server.set_keys(&keys(at_server));
        clients.iter_mut().for_each(|client| client.set_keys(&keys(at_clients)));
        for (client, ticket) in clients.iter_mut().zip(tickets) {
            let done = loop {
                if let Some(done) = client.poll() {
                    break done;
                }
            };
            assert_eq!((done.ticket, done.result.map(<[u8]>::len)), (ticket, Ok(8)));
        }
        call_all(&mut clients);
    }
    assert_eq!(server.status().read().clients, 2, "each stayed the client that it was");
    // Each engine takes over the new keys in its next turn.
    let late = wait_until("the new keys", || {
        Client::connect_with(server.endpoint().clone(), config(&[("", 1)]).call_timeout(Span::from_ms(200))).err()
    });
    assert!(matches!(late, ConnectError::Silent { .. }), "{late:?}");
    let runs = runs.lock().expect("no panic");
    let numbered: Vec<u32> = runs.iter().filter(|(request, _)| request.len() == 4).map(|(_, &runs)| runs).collect();
    assert_eq!(numbered, vec![1; number as usize], "each once");
}

#[test]
fn a_key_that_is_taken_out_shuts_out_its_owner_and_nobody_else() {
    let _watchdog = Watchdog::new("a_key_that_is_taken_out_shuts_out_its_owner_and_nobody_else");
    let server_config = ServerConfig::default().inline(true).keys(keys(&[("ann", 1), ("bob", 2)]));
    let echo = |request: &[u8], reply: &mut Reply<'_>| reply.write(request);
    let server = Server::bind("udp://127.0.0.1:0").config(server_config).serve(echo).expect("a server");
    let connect = |byte| {
        let timeout = if byte == 1 { Span::from_secs(1) } else { PATIENCE.into() };
        let config = config(&[("", byte)]).call_timeout(timeout);
        Client::connect_with(server.endpoint().clone(), config).expect("a client")
    };
    let (mut ann, mut bob) = (connect(1), connect(2));
    assert!(ann.call(b"ann").is_ok() && bob.call(b"bob").is_ok());
    server.set_keys(&keys(&[("bob", 2)]));
    let end = wait_until("the keys without hers", || ann.call(b"ann").map(drop).err());
    assert_eq!(end, CallError::TimedOut);
    assert_eq!(bob.call(b"bob"), Ok(&b"bob"[..]));
    // An empty set of keys must not open a sealed server.
    server.set_keys(&Keys::default());
    for _ in 0..100 {
        assert_eq!(bob.call(b"bob"), Ok(&b"bob"[..]));
    }
    assert!(Client::connect_with(server.endpoint().clone(), ClientConfig::default()).is_err());
}
