//! Three processes that replicate a store, killed, restarted and asked for their role.

use std::fs;
use std::net::UdpSocket;
use std::path::PathBuf;
use std::process::Child;
use std::sync::atomic::{AtomicU32, Ordering};

use nebula::{CallError, Client, ClientConfig, Span};
use nebula_kvs::protocol::{Reply, Request, Status};
use nebula_replication::client::asks_for_leader;
use nebula_testing::wait::Limit;
use rustix::process::Signal;

use crate::program::{command, nebula, signal, start, wait};

/// Ports that the kernel gives to no socket by itself, so that a restarted process gets its own
/// again.
fn endpoints() -> Vec<String> {
    // The tests of this file run at once, and only one of them tries a port.
    static TRIED: AtomicU32 = AtomicU32::new(0);
    let tried = std::iter::repeat_with(|| TRIED.fetch_add(1, Ordering::Relaxed)).take(4000);
    let ports = tried.map(|tried| 61_000 + (std::process::id() + tried) % 4000);
    let free = ports.filter(|&port| UdpSocket::bind(("127.0.0.1", u16::try_from(port).unwrap())).is_ok());
    free.take(3).map(|port| format!("udp://127.0.0.1:{port}")).collect()
}

/// Three replicas and their folder, removed with this value.
struct Replicas {
    endpoints: Vec<String>,
    folder: PathBuf,
    running: Vec<Option<Child>>,
}

impl Replicas {
    fn start(test: &str) -> Self {
        let folder = std::env::temp_dir().join(format!("nebula-cli-{test}-{}", std::process::id()));
        let mut replicas = Self { endpoints: endpoints(), folder, running: Vec::new() };
        for index in 0..3 {
            let child = replicas.serve(index);
            replicas.running.push(Some(child));
        }
        replicas
    }

    fn all(&self) -> String {
        self.endpoints.join(",")
    }

    fn serve(&self, index: usize) -> Child {
        let folder = self.folder.join(index.to_string()).display().to_string();
        let all = self.all();
        let words =
            ["serve", "kv", "--endpoint", &self.endpoints[index], "--replicate", &all, "--replica-dir", &folder];
        let more = ["--mode", "store", "--items", "1000", "--slo", "100ms", "--inline", "--block", "--end-with-parent"];
        start(command(&[&words[..], &more, &["--snapshot-every", "50", "--log", "off"]].concat())).0
    }

    fn kill(&mut self, index: usize) {
        let killed = self.running[index].take().unwrap();
        signal(&killed, Signal::KILL);
        wait(killed);
    }

    /// The current leader, as any replica reports it.
    fn leader(&self) -> usize {
        let limit = Limit::new("a leader");
        loop {
            limit.check();
            let listed = nebula(&["replicas", &self.all(), "--format", "json"]);
            let leads = |endpoint: &String| listed.stdout.contains(&format!("\"leader\":\"{endpoint}\""));
            match self.endpoints.iter().position(leads) {
                Some(leader) if self.running[leader].is_some() => return leader,
                _ => {}
            }
        }
    }

    fn client(&self) -> Client {
        let config = ClientConfig::default().call_timeout(Span::from_secs(1));
        Client::connect_with(&self.all(), asks_for_leader(config)).unwrap()
    }
}

impl Drop for Replicas {
    fn drop(&mut self) {
        for child in self.running.iter_mut().flatten() {
            let _ = child.kill();
        }
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// Asks until the answer is certain; repeating a request does no harm here.
fn ask(client: &mut Client, request: &Request<'_>) -> (Status, Vec<u8>) {
    let mut message = vec![0; request.encoded_bytes()];
    request.encode_into(&mut message).unwrap();
    let limit = Limit::new("an answer");
    loop {
        limit.check();
        match client.call(&message) {
            Ok(reply) => match Reply::decode(reply).unwrap() {
                Reply { status: Status::Unknown, .. } => {}
                Reply { status, value } => return (status, value.to_vec()),
            },
            Err(CallError::Nack { .. } | CallError::TimedOut | CallError::ServerGone | CallError::NotSent(_)) => {}
            Err(error) => panic!("{error}"),
        }
    }
}

fn set(client: &mut Client, number: u32) {
    let (key, value) = (number.to_be_bytes(), number.to_le_bytes());
    assert_eq!(ask(client, &Request::Set { key: &key, value: &value }).0, Status::Ok);
}

fn check_all(client: &mut Client, count: u32) {
    for number in 0..count {
        let got = ask(client, &Request::Get { key: &number.to_be_bytes() });
        assert_eq!(got, (Status::Ok, number.to_le_bytes().to_vec()), "key {number} of {count}");
    }
}

#[test]
fn nothing_acknowledged_is_lost_when_one_leader_after_the_other_is_killed() {
    let mut replicas = Replicas::start("replicas-killed");
    let mut client = replicas.client();
    let mut count = 0;
    for _ in 0..3 {
        for _ in 0..60 {
            set(&mut client, count);
            count += 1;
        }
        let leader = replicas.leader();
        replicas.kill(leader);
        // The other two go on.
        for _ in 0..20 {
            set(&mut client, count);
            count += 1;
        }
        check_all(&mut client, count);
        // It is needed: the next leader is killed, which leaves it as one of two.
        let restarted = replicas.serve(leader);
        replicas.running[leader] = Some(restarted);
    }
    check_all(&mut client, count);
    drop(client);
    for running in std::mem::take(&mut replicas.running).into_iter().flatten() {
        signal(&running, Signal::TERM);
        let ended = wait(running).assert_ok();
        assert!(ended.stdout.contains("receive buffer"), "{ended:?}");
    }
}

#[test]
fn replicas_are_listed_and_removed_and_wrong_flags_are_one_line() {
    let replicas = Replicas::start("replicas-listed");
    let leader = replicas.leader();
    let follower = &replicas.endpoints[(leader + 1) % 3];
    let removed = nebula(&["replicas", &replicas.all(), "--remove", follower, "--format", "json"]).assert_ok();
    assert!(removed.stdout.contains("\"rounds_ns\":{\"p50\":"), "{removed:?}");
    let listed = nebula(&["replicas", &replicas.endpoints[leader], "--format", "csv"]).assert_ok();
    assert!(!listed.stdout.contains(follower.as_str()), "{listed:?}");
    nebula(&["replicas", &replicas.all(), "--remove", follower]).assert_error(1, "is no replica here");
    let mut words = vec!["serve", "kv", "--endpoint", "udp://127.0.0.1:1", "--replicate", "udp://127.0.0.1:1"];
    nebula(&words).assert_error(2, "--replica-dir");
    words.extend(["--replica-dir", "/nonexistent/replica"]);
    nebula(&words).assert_error(2, "--mode store");
    nebula(&[&words[..], &["--one-sided"]].concat()).assert_error(2, "--one-sided");
    nebula(&["load", "kv", "--replicated"]).assert_error(2, "give all to --endpoint");
}
