//! A process started by one with servers and clients inherits nothing of them. An inherited socket
//! would hold the server's name and hide its end from clients, and inherited memory could be
//! written.

use crate::support::process::{Process, role, say, wait_for_end};
use crate::support::{echo, endpoint, lasting_udp_endpoint, server_config};
use nebula::{AsyncClient, CallError, Client, Endpoint, IdlePolicy, Server};
use nebula_testing::wait::Watchdog;
use std::path::PathBuf;

const TEST: &str = "inherited::a_process_that_is_started_keeps_no_descriptor_of_servers_and_clients";

/// The targets of this process's descriptors, without the standard streams: `socket:[INODE]`,
/// `/memfd:NAME`, `anon_inode:[eventfd]`, a path.
fn descriptors() -> Vec<String> {
    let is_stream = |at: &PathBuf| ["0", "1", "2"].iter().any(|stream| at.ends_with(stream));
    let all = std::fs::read_dir("/proc/self/fd").expect("Linux").flatten().map(|entry| entry.path());
    let all: Vec<_> = all.filter(|at| !is_stream(at)).collect();
    // The descriptor of the listing itself is closed by now.
    let links = all.iter().filter_map(|at| std::fs::read_link(at).ok());
    let mut links: Vec<_> = links.map(|link| link.display().to_string()).collect();
    links.sort_unstable();
    links
}

/// Another process, and the descriptors that it found open.
fn start() -> (Process, Vec<String>) {
    let mut child = Process::spawn(TEST, &["look"]);
    let found = std::iter::from_fn(|| child.line().filter(|line| line != "that is all")).collect();
    (child, found)
}

fn play() -> ! {
    descriptors().iter().for_each(|link| say(link));
    say("that is all");
    wait_for_end();
    std::process::exit(0)
}

#[test]
fn a_process_that_is_started_keeps_no_descriptor_of_servers_and_clients() {
    if role().is_some() {
        play();
    }
    let _watchdog = Watchdog::new(TEST);
    // Descriptors inherited from the process that started the tests do not count.
    let (_, before) = start();
    let log = std::env::temp_dir().join(format!("nebula-inherited-{}.log", std::process::id()));
    let logged = server_config(|config| config.decision_log = Some(log.clone()));
    let name = endpoint("inherited");
    let shm = Server::bind(&name).config(logged.clone()).serve(echo).expect("a server");
    let engines = server_config(|config| (config.engines, config.workers, config.idle) = (2, 2, IdlePolicy::Block));
    let udp = Server::bind(&lasting_udp_endpoint()).config(engines).serve(echo).expect("a server");
    let &Endpoint::Udp(address) = udp.endpoint() else { panic!("a udp endpoint") };
    let at = [name.clone(), format!("udp://{address}")];
    let mut clients: Vec<_> = at.iter().map(|at| Client::connect(at).expect("a client")).collect();
    let tasks: Vec<_> = at.iter().map(|at| AsyncClient::connect(at).wait().expect("a client")).collect();
    let executor = tokio::runtime::Builder::new_current_thread().build().expect("an executor");
    for client in &tasks {
        assert_eq!(executor.block_on(client.call(b"awaited")).as_deref(), Ok(&b"awaited"[..]));
    }
    let own = descriptors().join("\n");
    let log_name = log.display().to_string();
    for kind in ["/memfd:", "socket:", "[eventfd]", "[eventpoll]", &log_name] {
        assert!(own.contains(kind), "no descriptor `{kind}` here:\n{own}");
    }
    let (_child, mut kept) = start();
    before.iter().for_each(|link| drop(kept.iter().position(|kept| kept == link).map(|at| kept.remove(at))));
    assert!(kept.is_empty(), "a process that was started keeps {kept:#?}");
    // The child still runs, and yet clients see the servers' ends and the names are free.
    shm.stop();
    udp.stop();
    assert_eq!(clients[0].call(b"anyone?"), Err(CallError::ServerGone));
    for at in &at {
        Server::bind(at).config(server_config(|_| ())).serve(echo).expect("the address is free").stop();
    }
    std::fs::remove_file(log).expect("the log was written");
}
