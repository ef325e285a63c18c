//! The server under a client without shared code: `clients/python-reference`, written from
//! docs/PROTOCOL.md.
//!
//! The client checks each reply and refusal. This test compares its count of executions with the
//! server's.

#![expect(clippy::unwrap_used, reason = "what cannot go on fails here")]

mod program;

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use program::{Ended, command, end, endpoint, nebula, signal, wait};
use rustix::process::Signal;
use serde_json::Value;

/// Python in the client's folder.
fn python(args: &[&str]) -> Command {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join("clients/python-reference");
    let mut python = Command::new("python3");
    python.args(args).current_dir(folder).env("PYTHONDONTWRITEBYTECODE", "1").env_remove("PYTHONPATH");
    python.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    python
}

fn start(mut python: Command) -> Child {
    python.spawn().unwrap_or_else(|error| panic!("these tests need python3, 3.10 or later: {error}"))
}

/// Starts a server with an empty store, waits until it is ready, and returns its endpoint.
fn serve(endpoint: &str, more: &[&str]) -> (Child, String) {
    let args = ["serve", "kv", "--endpoint", endpoint, "--items", "1k", "--value-bytes", "100000", "--format", "json"];
    program::start(command(&[&args[..], &["--end-with-parent", "--oversubscribe"], more].concat()))
}

/// The last line of a side's output.
#[track_caller]
fn counts(ended: &Ended) -> Value {
    serde_json::from_str(ended.stdout.lines().last().unwrap_or_default()).unwrap_or_else(|_| panic!("{ended:?}"))
}

/// Runs the client's cases against a server and returns both counts.
#[track_caller]
fn conform(endpoint: &str, of_server: &[&str], of_client: &[&str]) -> (Value, Value) {
    let (server, endpoint) = serve(endpoint, of_server);
    let client = wait(start(python(&[&["-m", "conformance", &endpoint], of_client].concat())));
    assert_eq!(client.code, Some(0), "{}\n{}", client.stdout, client.stderr);
    let server = end(server).assert_ok();
    (counts(&server), counts(&client))
}

/// Asserts that the server executed as many RPCs as the client knows of. A worker also gets, and
/// drops, RPCs that end in the queue.
#[track_caller]
fn assert_each_once((server, client): (Value, Value), ends_in_the_queue: &[&str]) {
    let dropped: u64 = ends_in_the_queue.iter().map(|end| client["ends"][end].as_u64().unwrap_or(0)).sum();
    let executed = client["executed"].as_u64().unwrap();
    assert!(executed > 10, "{client}");
    assert_eq!(server["served"].as_u64(), Some(executed + dropped), "{server} {client}");
}

#[test]
fn the_clients_own_tests_pass() {
    let ended = wait(start(python(&["-m", "unittest", "discover", "-s", "tests", "-t", "."])));
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    let ran = ended.stderr.lines().find_map(|line| line.strip_prefix("Ran ")?.split(' ').next()?.parse::<u32>().ok());
    assert!(ran > Some(15), "{}", ended.stderr);
}

#[test]
fn over_shared_memory_it_finds_what_the_page_says() {
    let endpoint = endpoint("reference");
    assert_each_once(conform(&endpoint, &["--inline"], &[]), &[]);
}

#[test]
fn packets_of_few_bytes_make_long_spans() {
    let endpoint = endpoint("reference-short");
    assert_each_once(conform(&endpoint, &["--inline", "--mtu-bytes", "48"], &[]), &[]);
}

#[test]
fn over_udp_in_plain_it_finds_what_the_page_says() {
    assert_each_once(conform("udp://127.0.0.1:0", &["--inline", "--block"], &[]), &[]);
}

#[test]
fn over_udp_with_keys_it_finds_what_the_page_says() {
    let folder = tempfile::tempdir().unwrap();
    let [kv, bob] = ["kv.key", "bob.key"].map(|name| folder.path().join(name));
    let [kv, bob] = [&kv, &bob].map(|path| path.to_str().unwrap());
    nebula(&["keygen", kv, "--name", "ann"]).assert_ok();
    nebula(&["keygen", bob, "--name", "bob"]).assert_ok();
    // The server has several keys, and the client's is not the first.
    let both = [kv, bob].map(|path| std::fs::read_to_string(path).unwrap()).concat();
    std::fs::write(kv, both).unwrap();
    let counts = conform("udp://127.0.0.1:0", &["--inline", "--block", "--key-file", kv], &["--key-file", bob]);
    assert_each_once(counts, &[]);
}

#[test]
fn over_ipv6_it_finds_what_the_page_says() {
    assert_each_once(conform("udp://[::1]:0", &["--inline", "--block"], &[]), &[]);
}

#[test]
fn of_several_engines_it_finds_what_the_page_says() {
    assert_each_once(
        conform("udp://127.0.0.1:0", &["--inline", "--block", "--engines", "2", "--workers", "2"], &[]),
        &[],
    );
}

#[test]
fn a_key_is_changed_while_rpcs_are_under_way() {
    let folder = tempfile::tempdir().unwrap();
    let [kv, old, new] = ["kv.key", "old.key", "new.key"].map(|name| folder.path().join(name));
    let [kv, old, new] = [&kv, &old, &new].map(|path| path.to_str().unwrap());
    nebula(&["keygen", old, "--name", "ann"]).assert_ok();
    nebula(&["keygen", new, "--name", "ann"]).assert_ok();
    std::fs::copy(old, kv).unwrap();
    let (mut server, endpoint) = serve("udp://127.0.0.1:0", &["--inline", "--block", "--key-file", kv]);
    let mut of_server = BufReader::new(server.stderr.take().unwrap()).lines();
    let mut client = start(python(&["-m", "conformance", &endpoint, "--key-file", old, "--rotate"]));
    let (mut to_client, mut said) =
        (client.stdin.take().unwrap(), BufReader::new(client.stdout.take().unwrap()).lines());
    for (wanted, files) in [("add", &[new, old][..]), ("delete", &[new])] {
        assert_eq!(said.next().unwrap().unwrap(), wanted);
        let keys: String = files.iter().map(|path| std::fs::read_to_string(path).unwrap()).collect();
        std::fs::write(kv, keys).unwrap();
        signal(&server, Signal::HUP);
        assert!(of_server.any(|line| line.unwrap().contains("read the key file again")), "{wanted}");
        writeln!(to_client, "{new}").unwrap();
    }
    let client = wait(client);
    let rest: Vec<String> = said.map(Result::unwrap).collect();
    assert_eq!(client.code, Some(0), "{rest:?} {client:?}");
    end(server).assert_ok();
}

#[test]
fn what_waits_for_a_core_is_cancelled_or_expires() {
    let slow = ["--engine-thread", "--block", "--work", "20ms", "--slo", "1s", "--policy", "single-queue"];
    assert_each_once(conform("udp://127.0.0.1:0", &slow, &["--slow"]), &["Cancelled", "Expired"]);
}

#[test]
fn a_server_that_was_restarted_says_so_and_goes_on() {
    let (first, endpoint) = serve("udp://127.0.0.1:0", &["--inline", "--block"]);
    let mut client = start(python(&["-m", "conformance", &endpoint, "--restart"]));
    let (mut to_client, mut said) = (client.stdin.take().unwrap(), BufReader::new(client.stdout.take().unwrap()));
    let mut hear = |wanted: &str| {
        let mut line = String::new();
        said.read_line(&mut line).unwrap();
        assert_eq!(line.trim_end(), wanted);
    };
    hear("stop");
    signal(&first, Signal::KILL);
    wait(first);
    writeln!(to_client).unwrap();
    hear("start");
    let (second, again) = serve(&endpoint, &["--inline", "--block"]);
    assert_eq!(again, endpoint);
    writeln!(to_client).unwrap();
    let client = wait(client);
    assert_eq!(client.code, Some(0), "{client:?}");
    signal(&second, Signal::TERM);
    wait(second).assert_ok();
}
