//! Between hosts: two network namespaces with a cable between them, and a bad link where the kernel
//! supports it.
//!
//! Needs root and `ip`; skipped, with a message, without them.

use crate::support::draw::Draw;
use crate::support::patient_client;
use crate::support::process::{Process, role, say, wait_for_end};
use crate::support::{PATIENCE, echo, server_config};
use nebula::{Client, Key, Queueing, RetryPolicy, Server, Span};
use nebula_testing::wait::Watchdog;
use std::process::{Command, exit};

const TEST: &str = "udp_netns::rpcs_go_between_hosts";
const SERVER_IP: &str = "10.137.0.1";
const CLIENT_IP: &str = "10.137.0.2";

struct Hosts {
    names: [String; 2],
}

impl Hosts {
    fn try_new(test: char) -> Result<Self, String> {
        if !rustix::process::getuid().is_root() {
            return Err("not root".to_owned());
        }
        let names = ["s", "c"].map(|side| format!("nb{}{test}{side}", std::process::id()));
        let hosts = Self { names };
        let [server, client] = &hosts.names;
        ip(&["netns", "add", server])?;
        ip(&["netns", "add", client])?;
        ip(&["link", "add", "v0", "netns", server, "type", "veth", "peer", "name", "v0", "netns", client])?;
        for (host, address) in [(server, SERVER_IP), (client, CLIENT_IP)] {
            ip(&["-n", host, "address", "add", &format!("{address}/24"), "dev", "v0"])?;
            ip(&["-n", host, "link", "set", "v0", "up"])?;
        }
        Ok(hosts)
    }

    fn netem(&self) -> Result<(), String> {
        let words = "qdisc add dev v0 root netem loss 2% duplicate 2% delay 500us 300us corrupt 1%";
        self.names.iter().try_for_each(|host| {
            let words: Vec<_> = ["-n", host].into_iter().chain(words.split(' ')).collect();
            run("tc", &words)
        })
    }
}

impl Drop for Hosts {
    fn drop(&mut self) {
        for name in &self.names {
            let _ = ip(&["netns", "delete", name]);
        }
    }
}

fn ip(words: &[&str]) -> Result<(), String> {
    run("ip", words)
}

fn run(program: &str, words: &[&str]) -> Result<(), String> {
    let output = Command::new(program).args(words).output().map_err(|error| format!("{program}: {error}"))?;
    let said = String::from_utf8_lossy(&output.stderr).trim().to_owned();
    output.status.success().then_some(()).ok_or_else(|| format!("{program} {}: {said}", words.join(" ")))
}

/// Moves this process to that host, before it has threads.
fn enter(host: &str) {
    let namespace = std::fs::File::open(format!("/run/netns/{host}")).expect("a host");
    rustix::thread::move_into_link_name_space(
        std::os::fd::AsFd::as_fd(&namespace),
        Some(rustix::thread::LinkNameSpaceType::Network),
    )
    .expect("root may");
}

fn key() -> Key {
    Key::new([3; 32])
}

fn play(words: &[String]) -> ! {
    enter(&words[1]);
    let endpoint = words[2].as_str();
    if words[0] == "server" {
        let config = server_config(|config| {
            config.queueing = Queueing::Unbounded { recv_buffer_bytes: 8 << 20 };
            config.reassembly_timeout = Some(PATIENCE.into());
            (config.inline, config.keys) = (Some(true), key().into());
        });
        let server = Server::bind(endpoint).config(config).serve(echo).expect("a server");
        assert_eq!(server.endpoint().to_string(), endpoint, "nothing else is fallen back to");
        say("ready");
        wait_for_end();
        assert_eq!(server.stop().slots_used, 0);
        exit(0);
    }
    let mut config = patient_client().key(key());
    config.deadline = PATIENCE.into();
    config.retry = RetryPolicy::BackOff { first: Span::from_us(500), factor: 2, attempts: 10, seed: 1 };
    let mut client = Client::connect_with(endpoint, config).expect("a client");
    let mut draw = Draw::new(4);
    // The reply of 1,200 bytes is two datagrams, which together are no longer than a frame may be.
    for size in [0, 64, 1088, 1089, 1200, 10_000, 60_000].into_iter().cycle().take(70) {
        let request = draw.bytes(size);
        assert!(client.call(&request).expect("an echo") == request);
    }
    say("done");
    exit(0);
}

const UDP: [&str; 2] = ["udp://0.0.0.0:7400", "udp://10.137.0.1:7400"];
const XDP: [&str; 2] = ["xdp://v0:7400", "xdp://v0/10.137.0.1:7400"];

fn call_across(test: &str, hosts: &Hosts, [of_server, of_client]: [&str; 2]) {
    let [on_server, on_client] = &hosts.names;
    let mut server = Process::spawn(test, &["server", on_server, of_server]);
    server.wait_for("ready");
    let mut client = Process::spawn(test, &["client", on_client, of_client]);
    client.wait_for("done");
    assert!(server.end().success());
}

#[test]
fn rpcs_go_between_hosts() {
    if let Some(words) = role() {
        play(&words);
    }
    let _watchdog = Watchdog::new(TEST);
    let hosts = match Hosts::try_new('u') {
        Ok(hosts) => hosts,
        Err(why) => return println!("skipped: {why}"),
    };
    call_across(TEST, &hosts, UDP);
    match hosts.netem() {
        Ok(()) => call_across(TEST, &hosts, UDP),
        Err(why) => println!("skipped on a bad link: {why}"),
    }
}

#[test]
fn rpcs_go_past_the_kernels_stack_and_peers_need_not_know() {
    const TEST: &str = "udp_netns::rpcs_go_past_the_kernels_stack_and_peers_need_not_know";
    if let Some(words) = role() {
        play(&words);
    }
    let _watchdog = Watchdog::new(TEST);
    let hosts = match Hosts::try_new('x') {
        Ok(hosts) => hosts,
        Err(why) => return println!("skipped: {why}"),
    };
    for ends in [XDP, [XDP[0], UDP[1]], [UDP[0], XDP[1]]] {
        call_across(TEST, &hosts, ends);
    }
}
