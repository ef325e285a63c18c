//! Network functions between hosts: three network namespaces, of which the one in the middle has
//! packets go through a chain.
//!
//! Needs root and `ip`; skipped, with a message, where they are missing.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream, UdpSocket};
use std::os::fd::AsFd;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use rustix::process::Signal;
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};
use serde_json::Value;

use nebula_testing::program::{run, signal, wait};

const PROGRAM: &str = env!("CARGO_BIN_EXE_nebula-services");

/// A client, a router and servers; they go with this value.
struct Hosts {
    /// Begins the names of their namespaces.
    prefix: String,
}

impl Hosts {
    fn try_new(test: &str) -> Result<Self, String> {
        if !rustix::process::getuid().is_root() {
            return Err("not root".to_owned());
        }
        let hosts = Self { prefix: format!("nf{}{test}", std::process::id()) };
        let [c, m, s] = ["c", "m", "s"].map(|host| hosts.name(host));
        for words in [
            format!("netns add {c}"),
            format!("netns add {m}"),
            format!("netns add {s}"),
            format!("link add v0 netns {c} type veth peer name va netns {m}"),
            format!("link add v0 netns {s} type veth peer name vb netns {m}"),
            format!("-n {c} address add 10.1.0.2/24 dev v0"),
            format!("-n {m} address add 10.1.0.1/24 dev va"),
            format!("-n {m} address add 10.2.0.1/24 dev vb"),
            format!("-n {s} address add 10.2.0.2/24 dev v0"),
            format!("-n {s} address add 10.2.0.3/24 dev v0"),
            format!("-n {c} link set v0 up"),
            format!("-n {m} link set lo up"),
            format!("-n {m} link set va up"),
            format!("-n {m} link set vb up"),
            format!("-n {s} link set v0 up"),
            format!("-n {s} link set lo up"),
            format!("-n {c} route add default via 10.1.0.1"),
            format!("-n {s} route add default via 10.2.0.1"),
        ] {
            ip(&words)?;
        }
        Ok(hosts)
    }

    fn name(&self, host: &str) -> String {
        format!("{}{host}", self.prefix)
    }

    /// Does something on a thread that is at a host.
    fn on<T: Send + 'static>(&self, host: &str, work: impl FnOnce() -> T + Send + 'static) -> T {
        let name = self.name(host);
        let there = thread::spawn(move || {
            let namespace = fs::File::open(format!("/run/netns/{name}")).unwrap();
            move_into_link_name_space(namespace.as_fd(), Some(LinkNameSpaceType::Network)).unwrap();
            work()
        });
        there.join().unwrap()
    }

    /// A socket of a host: it stays there, whichever thread has it.
    fn socket(&self, host: &str, address: &str) -> UdpSocket {
        let address = address.to_owned();
        self.on(host, move || UdpSocket::bind(address).unwrap())
    }

    /// What a server at `address` answers to a GET.
    fn get(&self, host: &str, address: &'static str, path: &str) -> String {
        let mut stream = self.on(host, move || TcpStream::connect(address).unwrap());
        write!(stream, "GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n").unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    }

    /// Starts the service in the middle, and returns once it is ready.
    fn serve(&self, words: &[&str]) -> Child {
        let middle = self.name("m");
        let program = ["netns", "exec", &middle, PROGRAM, "serve", "nf", "--between", "va,vb"];
        let mut command = Command::new("ip");
        command.args(program).args(words).args(["--end-with-parent", "--format", "json"]);
        let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut ready = String::new();
        BufReader::with_capacity(1, child.stdout.as_mut().unwrap()).read_line(&mut ready).unwrap();
        assert_eq!(ready, "ready packets://va,vb\n");
        child
    }
}

impl Drop for Hosts {
    fn drop(&mut self) {
        for host in ["c", "m", "s"] {
            let _ = ip(&format!("netns delete {}", self.name(host)));
        }
    }
}

fn ip(words: &str) -> Result<(), String> {
    let output = Command::new("ip").args(words.split(' ')).output().map_err(|error| format!("ip: {error}"))?;
    let said = String::from_utf8_lossy(&output.stderr).trim().to_owned();
    output.status.success().then_some(()).ok_or_else(|| format!("ip {words}: {said}"))
}

/// How often a question is asked: the first packets to a host are dropped until it is known where
/// that is.
const TRIES: usize = 100;

/// Asks until the answer to this question comes.
fn ask(client: &UdpSocket, question: &[u8]) {
    client.set_read_timeout(Some(Duration::from_millis(200))).unwrap();
    let mut answer = [0; 2048];
    for _ in 0..TRIES {
        client.send(question).unwrap();
        if let Ok(bytes) = client.recv(&mut answer)
            && &answer[..bytes] == question
        {
            return;
        }
    }
    panic!("no answer");
}

fn send(socket: &UdpSocket, times: u64, datagram: &[u8], to: &str) {
    for _ in 0..times {
        socket.send_to(datagram, to).unwrap();
    }
}

/// Answers each question with it, until one is empty; who asked, without repetitions.
fn answer_all(server: UdpSocket) -> thread::JoinHandle<Vec<SocketAddr>> {
    server.set_read_timeout(Some(Duration::from_secs(120))).unwrap();
    thread::spawn(move || {
        let (mut seen, mut question) = (Vec::new(), [0; 2048]);
        loop {
            let (bytes, from) = server.recv_from(&mut question).unwrap();
            if bytes == 0 {
                return seen;
            }
            server.send_to(&question[..bytes], from).unwrap();
            if !seen.contains(&from) {
                seen.push(from);
            }
        }
    })
}

/// Ends the service; its counters.
fn end(server: Child) -> Value {
    signal(&server, Signal::TERM);
    let ended = wait(server).assert_ok();
    serde_json::from_str(ended.stdout.trim()).unwrap()
}

fn count(row: &Value, name: &str) -> u64 {
    row[name].as_u64().unwrap_or_else(|| panic!("{name} in {row}"))
}

/// Asserts that packets that came are those that left and those that were dropped for a reason.
fn assert_balanced(row: &Value) {
    let fields = row.as_object().unwrap();
    let dropped: u64 =
        fields.iter().filter(|field| field.0.starts_with("dropped_")).map(|field| field.1.as_u64().unwrap()).sum();
    assert_eq!(dropped, count(row, "dropped"), "{row}");
    assert_eq!(count(row, "received"), count(row, "sent") + dropped, "{row}");
    let of_sides = |name: &str| count(row, &format!("{name}_inside")) + count(row, &format!("{name}_outside"));
    assert_eq!((of_sides("received"), of_sides("sent")), (count(row, "received"), count(row, "sent")), "{row}");
}

const RULES: &str = "allow udp 10.1.0.0/24 -> 10.9.0.1 53
allow udp 10.9.0.1 53 -> 10.1.0.0/24
default deny
";
const CLIENTS: u16 = 16;
const DENIED: u64 = 5;
const UNASKED: u64 = 3;

#[test]
fn packets_go_through_firewall_nat_and_balancer_and_answers_come_back() {
    let hosts = match Hosts::try_new("a") {
        Ok(hosts) => hosts,
        Err(why) => return println!("skipped: {why}"),
    };
    let folder = tempfile::tempdir().unwrap();
    let [rules, flows] = ["rules.txt", "flows.csv"].map(|name| folder.path().join(name));
    fs::write(&rules, RULES).unwrap();
    let chain = format!("firewall:{},nat:10.2.0.1,lb:10.9.0.1:53=10.2.0.2:53+10.2.0.3:53,counter", rules.display());
    for policy in ["jbsq:2", "key-hash"] {
        let nf = hosts.serve(&[
            "--chain",
            &chain,
            "--workers",
            "2",
            "--oversubscribe",
            "--policy",
            policy,
            "--flows",
            flows.to_str().unwrap(),
            "--metrics",
            "127.0.0.1:9464",
        ]);
        let servers = ["10.2.0.2:53", "10.2.0.3:53"].map(|address| hosts.socket("s", address));
        let unasked = servers[0].try_clone().unwrap();
        let answering = servers.map(answer_all);
        let ask_from = |port: u16| {
            let client = hosts.socket("c", &format!("10.1.0.2:{port}"));
            client.connect("10.9.0.1:53").unwrap();
            ask(&client, format!("question of {port} {}", "x".repeat(1200)).as_bytes());
            client
        };
        // They stay open: a second answer that met a closed port would be answered by a packet that
        // is denied.
        let _open: Vec<UdpSocket> = (4000..4000 + CLIENTS).map(ask_from).collect();
        let client = hosts.socket("c", "10.1.0.2:5000");
        send(&client, DENIED, b"denied", "10.9.0.1:54");
        send(&unasked, UNASKED, b"unasked", "10.2.0.1:60000");
        // Behind those, on either side.
        client.connect("10.9.0.1:53").unwrap();
        ask(&client, b"the last");
        let name = "nebula_through_packets_dropped_total{cause=\"functions\"} ";
        // A worker may still have one of those when the last is answered.
        let is_counted = (0..1000).any(|_| {
            let metrics = hosts.get("m", "127.0.0.1:9464", "/metrics");
            let dropped = metrics.lines().find_map(|line| line.strip_prefix(name)).expect("a count");
            dropped.parse::<u64>().unwrap() >= DENIED + UNASKED
        });
        assert!(is_counted, "packets that were dropped are in the metrics");
        let row = end(nf);

        let end = hosts.socket("s", "10.2.0.2:0");
        ["10.2.0.2:53", "10.2.0.3:53"].iter().for_each(|server| send(&end, 1, &[], server));
        let seen = answering.map(|server| server.join().unwrap());
        assert!(seen.iter().all(|clients| !clients.is_empty()), "both backends serve: {seen:?}");
        let mut clients = seen.concat();
        assert!(clients.iter().all(|client| client.ip().to_string() == "10.2.0.1"), "{clients:?}");
        clients.sort();
        clients.dedup();
        assert_eq!(clients.len(), usize::from(CLIENTS) + 1, "each client has one port and one backend");
        assert_balanced(&row);
        assert_eq!((count(&row, "dropped_firewall"), count(&row, "dropped_nat_unknown")), (DENIED, UNASKED), "{row}");
        assert!(count(&row, "sent_inside") > u64::from(CLIENTS) && count(&row, "dropped_refused") == 0, "{row}");
        let flows = fs::read_to_string(&flows).unwrap();
        assert!(flows.starts_with("protocol,from,to,packets,bytes\n"), "{flows}");
        assert!(flows.contains(",10.2.0.2:53,") && flows.contains("udp,10.2.0.3:53,10.2.0.1:"), "{flows}");
    }
}

#[test]
fn what_cannot_be_served_is_said_in_one_line() {
    let serve = |words: &[&str]| run(PROGRAM, &[&["serve", "nf", "--log", "off"], words].concat());
    let chain = |chain: &str| serve(&["--between", "no-such-a,no-such-b", "--chain", chain]);
    chain("proxy").assert_error(2, "--chain: unknown function \"proxy\"");
    chain("firewall:/no/such/file").assert_error(2, "cannot read /no/such/file");
    chain("nat:1.2.3.4,nat:1.2.3.5").assert_error(2, "one nat");
    chain("counter").assert_error(1, "interface no-such-a: no such network interface");
    let counter =
        |words: &[&str]| serve(&[&["--between", "no-such-a,no-such-b", "--chain", "counter"], words].concat());
    counter(&["--key-file", "some.key"]).assert_error(2, "packets have none");
    counter(&["--insecure"]).assert_error(2, "packets have none");
    counter(&["--policy", "altocumulus:2", "--workers", "2"]).assert_error(2, "one engine");
    counter(&["--spin", "--block"]).assert_error(2, "cannot be used with");
    serve(&["--between", "eth0", "--chain", "counter"]).assert_error(2, "expected two interfaces");
    serve(&["--between", "lo,lo", "--chain", "counter"]).assert_error(1, "not from lo to itself");
    serve(&["--between", "a,b", "--chain", "nat:1.2.3.4", "--flows", "flows.csv"]).assert_error(2, "add counter");
}
