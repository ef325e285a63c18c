//! Client and server in two containers of a pod: each sees no process of the other.
//!
//! Needs `unshare`; skipped, with a message, where namespaces are not allowed.

use crate::support::endpoint;
use crate::support::process::{Process, container, role, say, wait_for_end};
use nebula::{Client, Reply, Server};
use nebula_testing::wait::Watchdog;
use std::process::exit;

const TEST: &str = "containers::two_containers_of_a_pod_share_memory";

fn play(words: &[String]) -> ! {
    let endpoint = words[1].as_str();
    // In its PID namespace this process is the first, and the only one.
    assert_eq!(std::process::id(), 1);
    if words[0] == "server" {
        let echo = |request: &[u8], reply: &mut Reply<'_>| reply.write(request);
        let server = Server::bind(endpoint).serve(echo).expect("a server");
        say("ready");
        wait_for_end();
        assert!(server.stop().freed > 0);
    } else {
        let mut client = Client::connect(endpoint).expect("a server in another container");
        for bytes in [0, 48, 4096, 60_000] {
            assert!(client.call(&vec![7; bytes]).expect("an echo") == vec![7; bytes]);
        }
        say("done");
    }
    exit(0);
}

#[test]
fn two_containers_of_a_pod_share_memory() {
    if let Some(words) = role() {
        play(&words);
    }
    let _watchdog = Watchdog::new(TEST);
    let tried = container().arg("true").output();
    if !tried.as_ref().is_ok_and(|tried| tried.status.success()) {
        return println!("skipped: {tried:?}");
    }
    let endpoint = endpoint("containers");
    let mut server = Process::spawn_in_container(TEST, &["server", &endpoint]);
    server.wait_for("ready");
    // The server serves a client beside its container, and one in another.
    let mut here = Client::connect(&endpoint).expect("a server in a container");
    assert_eq!(here.call(b"from outside").expect("an echo"), b"from outside");
    Process::spawn_in_container(TEST, &["client", &endpoint]).wait_for("done");
    assert!(server.end().success());
}
