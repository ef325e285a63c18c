//! A service in operation: watched from outside, configured by a file, drained by SIGTERM, replaced
//! at its endpoint.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::UnixDatagram;
use std::process::Child;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use nebula::{CallError, Client, ClientConfig, RetryPolicy};
use rustix::process::Signal;
use serde_json::Value;

use crate::program::{command, end, endpoint, json, metrics_of, nebula, signal, start, wait, wait_until};

/// Starts a service and waits until it is ready.
fn serve(words: &[&str]) -> Child {
    serve_with(words, &[])
}

fn serve_with(words: &[&str], environment: &[(&str, &str)]) -> Child {
    let mut program = command(&[&["serve"], words, &["--end-with-parent", "--oversubscribe"]].concat());
    program.envs(environment.iter().copied());
    start(program).0
}

fn client(endpoint: &str) -> Client {
    Client::connect_with(endpoint, ClientConfig::default().retry(RetryPolicy::GiveUp)).unwrap()
}

fn get(address: &str, path: &str) -> (u16, String) {
    let mut stream = TcpStream::connect(address).unwrap();
    write!(stream, "GET {path} HTTP/1.1\r\nHost: {address}\r\n\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    (head.split(' ').nth(1).unwrap().parse().unwrap(), body.to_owned())
}

/// The row of a server that has begun: until its first turn it is starting.
fn status_of(server: &str) -> Value {
    loop {
        let shown = nebula(&["status", server, "--interval", "0ns", "--format", "json"]);
        let row = json(&shown.stdout);
        if row["state"] != "starting" {
            assert_eq!(shown.assert_ok().stdout.lines().count(), 1);
            return row;
        }
    }
}

#[test]
fn a_running_server_is_shown_and_the_exit_code_says_whether_it_is_well() {
    let endpoint = endpoint("status");
    nebula(&["status", &endpoint]).assert_error(1, "nobody serves");
    let server = serve(&["echo", "--endpoint", &endpoint, "--inline", "--slo", "10ms"]);
    let mut client = client(&endpoint);
    for _ in 0..500 {
        client.call(b"hello").unwrap();
    }
    let row = status_of(&endpoint);
    assert_eq!((&row["state"], &row["clients"], &row["workers"]), (&"serving".into(), &1.into(), &1.into()), "{row}");
    assert_eq!(
        (&row["served"], &row["offered"], &row["slo_ns"]),
        (&500.into(), &500.into(), &10_000_000.into()),
        "{row}"
    );
    assert!(
        row["latency_ns"]["samples"].as_u64().unwrap() > 0 && row["latency_ns"]["p99"].as_f64().unwrap() > 0.0,
        "{row}"
    );
    let picture = nebula(&["top", &endpoint, "--once", "--interval", "50ms"]).assert_ok().stdout;
    for shown in [endpoint.as_str(), "offered", "p99", "queue", "buffer", "worker 0"] {
        assert!(picture.contains(shown), "{shown} is not in:\n{picture}");
    }
    assert_eq!(end(server).code, Some(0));
}

#[test]
fn a_server_over_a_network_is_shown_by_its_metrics() {
    ["udp://127.0.0.1:0", "tcp://127.0.0.1:0"].into_iter().for_each(is_shown_by_its_metrics);
}

fn is_shown_by_its_metrics(endpoint: &str) {
    let mut server = serve(&["echo", "--endpoint", endpoint, "--inline", "--metrics", "127.0.0.1:0"]);
    let address = metrics_of(&mut server);
    nebula(&["status", endpoint]).assert_error(2, "--metrics");
    let row = status_of(&format!("http://{address}"));
    assert_eq!(row["state"], "serving");
    assert_eq!(get(&address, "/ready").0, 200);
    let (code, text) = get(&address, "/metrics");
    assert!(code == 200 && text.contains("# TYPE nebula_latency_seconds histogram"), "{text}");
    let (code, page) = get(&address, "/");
    assert!(code == 200 && page.contains("vegaEmbed"), "{page}");
    assert_eq!(end(server).code, Some(0));
}

/// The RPCs of a client that asks for as long as there is a server.
#[derive(Debug, Default)]
struct Ends {
    sent: u64,
    replied: u64,
    nacked: u64,
    gone: u64,
}

fn ask_until_gone(endpoint: &str, replied: &AtomicU64) -> Ends {
    let (mut client, mut ends) = (client(endpoint), Ends::default());
    while ends.gone == 0 || ends.sent > ends.replied + ends.nacked + ends.gone {
        if ends.gone == 0 && client.submit(&[7; 64]).is_ok() {
            ends.sent += 1;
        }
        while let Some(done) = client.poll() {
            match done.result {
                Ok(_) => {
                    ends.replied += 1;
                    replied.fetch_add(1, Ordering::Relaxed);
                }
                Err(CallError::Nack { .. }) => ends.nacked += 1,
                Err(CallError::ServerGone) => ends.gone += 1,
                Err(error) => panic!("{error}"),
            }
        }
    }
    ends
}

#[test]
fn sigterm_under_load_loses_nothing_that_was_taken_in_and_ends_with_0() {
    let endpoint = endpoint("drain");
    let server = serve(&["echo", "--endpoint", &endpoint, "--work", "2us", "--workers", "2", "--format", "json"]);
    let replied = Arc::new(AtomicU64::new(0));
    let clients: Vec<_> = (0..2)
        .map(|_| {
            let (endpoint, replied) = (endpoint.clone(), replied.clone());
            std::thread::spawn(move || ask_until_gone(&endpoint, &replied))
        })
        .collect();
    wait_until("replies", || replied.load(Ordering::Relaxed) > 1000);
    let ended = end(server);
    let ends: Vec<Ends> = clients.into_iter().map(|client| client.join().unwrap()).collect();
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let served = json(ended.stdout.lines().last().unwrap())["served"].as_u64().unwrap();
    // Every executed RPC was answered: those with an unknown end were not executed.
    assert_eq!(served, ends.iter().map(|ends| ends.replied).sum::<u64>(), "{ends:?}");
    assert!(ended.stderr.contains("draining") && ended.stderr.contains("stopped"), "{ended:?}");
}

#[test]
fn one_worker_is_the_engine_too_unless_an_engine_thread_is_asked_for() {
    let threads_of = |more: &[&str]| {
        let endpoint = endpoint(&format!("threads{}", more.len()));
        let server = serve(&[&["echo", "--endpoint", endpoint.as_str()], more].concat());
        assert_eq!(client(&endpoint).call(b"hello").unwrap(), b"hello");
        let is_inline = nebula::Observer::connect(&endpoint).unwrap().status().read().is_inline;
        (is_inline, end(server).stderr)
    };
    let (is_inline, said) = threads_of(&[]);
    assert!(is_inline && said.contains("engine and worker on one thread, as one worker needs no other"), "{said}");
    let (is_inline, said) = threads_of(&["--engine-thread"]);
    assert!(!is_inline && said.contains("1 engine and 1 worker, each on its own thread, as was asked for"), "{said}");
}

#[test]
fn a_handler_that_does_not_end_keeps_the_server_no_longer_than_it_may() {
    let endpoint = endpoint("stuck");
    let server = serve(&[
        "echo",
        "--endpoint",
        &endpoint,
        "--work",
        "60s",
        "--slo",
        "100s",
        "--drain-timeout",
        "50ms",
        "--engine-thread",
    ]);
    let mut client = client(&endpoint);
    client.submit(b"never answered").unwrap();
    let reader = nebula::Observer::connect(&endpoint).unwrap();
    wait_until("the handler", || reader.status().read().dispatched > 0);
    let ended = end(server);
    assert_eq!(ended.code, Some(1), "{ended:?}");
    assert!(ended.stderr.contains("1 RPCs were not answered within --drain-timeout 50ms"), "{ended:?}");
    let mut told = None;
    wait_until("the client to be told", || {
        told = client.poll().map(|done| done.result.map(drop));
        told.is_some()
    });
    assert_eq!(told, Some(Err(CallError::ServerGone)));
}

#[test]
fn a_server_that_is_replaced_at_its_endpoint_loses_the_rpcs_in_flight_at_most() {
    let endpoint = endpoint("restart");
    let words = ["echo", "--endpoint", endpoint.as_str(), "--inline", "--slo", "100ms"];
    let first = serve(&words);
    let (stop, calls) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
    let (asked_to_stop, counted, at) = (stop.clone(), calls.clone(), endpoint.clone());
    // One call at a time, so that at most one is in flight when the server goes.
    let caller = std::thread::spawn(move || {
        let (mut client, mut unknown) = (client(&at), 0);
        while !asked_to_stop.load(Ordering::Relaxed) {
            match client.call(b"hello").map(drop) {
                Ok(()) => drop(counted.fetch_add(1, Ordering::Relaxed)),
                Err(error) => {
                    // A refused call and one with an unknown end both return an error.
                    assert!(
                        matches!(error, CallError::Nack { .. } | CallError::NotSent(_) | CallError::ServerGone),
                        "{error}"
                    );
                    unknown += u32::from(error == CallError::ServerGone);
                    wait_until("the next server", || {
                        let config = ClientConfig::default().retry(RetryPolicy::GiveUp);
                        Client::connect_with(at.as_str(), config).map(|next| client = next).is_ok()
                    });
                }
            }
        }
        unknown
    });
    wait_until("calls", || calls.load(Ordering::Relaxed) > 10);
    assert_eq!(end(first).code, Some(0));
    let second = serve(&words);
    let before = calls.load(Ordering::Relaxed);
    wait_until("calls to the next server", || calls.load(Ordering::Relaxed) > before + 10);
    stop.store(true, Ordering::Relaxed);
    let unknown = caller.join().unwrap();
    assert!(unknown <= 1, "{unknown} calls of which nobody knows what became of them");
    assert_eq!(end(second).code, Some(0));
}

#[test]
fn the_service_manager_is_told_when_the_server_is_ready_and_when_it_stops() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("notify");
    let socket = UnixDatagram::bind(&path).unwrap();
    socket.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    let hear = || {
        let mut bytes = [0; 1024];
        let read = socket.recv(&mut bytes).unwrap();
        String::from_utf8_lossy(&bytes[..read]).into_owned()
    };
    let endpoint = endpoint("notify");
    let notify = [("NOTIFY_SOCKET", path.to_str().unwrap())];
    let server = serve_with(&["echo", "--endpoint", &endpoint, "--inline"], &notify);
    assert!(hear().starts_with(&format!("READY=1\nSTATUS=serving {endpoint}")));
    signal(&server, Signal::TERM);
    assert!(hear().starts_with("STOPPING=1"));
    assert_eq!(wait(server).code, Some(0));
}

#[test]
fn sighup_ends_no_server_and_reads_again_what_can_change() {
    let folder = tempfile::tempdir().unwrap();
    let [path, keys] = ["echo.toml", "keys"].map(|name| folder.path().join(name));
    let [one, two] = [1, 2].map(|byte| nebula::Key::new([byte; 32]).to_hex());
    std::fs::write(&keys, &one).unwrap();
    std::fs::set_permissions(&keys, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
    let settings = |more: &str| format!("service = 'echo'\nkey_file = '{}'\n{more}", keys.display());
    std::fs::write(&path, settings("slo = '5ms'\nlog = 'info'\n")).unwrap();
    // An abstract name, as a service manager in a container has.
    let name = format!("nebula-notify-{}", std::process::id());
    let address = std::os::unix::net::SocketAddr::from_abstract_name(&name).unwrap();
    let socket = UnixDatagram::bind_addr(&address).unwrap();
    socket.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    let hear = || {
        let mut bytes = [0; 1024];
        let read = socket.recv(&mut bytes).unwrap();
        String::from_utf8_lossy(&bytes[..read]).into_owned()
    };
    let words = ["echo", "--endpoint", "udp://127.0.0.1:0", "--inline", "--config", path.to_str().unwrap()];
    let server = serve_with(&words, &[("NOTIFY_SOCKET", &format!("@{name}"))]);
    assert!(hear().starts_with("READY=1"));
    let reload = || {
        signal(&server, Signal::HUP);
        let reloading = hear();
        assert!(reloading.starts_with("RELOADING=1\nMONOTONIC_USEC="), "{reloading}");
        assert_eq!(hear(), "READY=1\n");
    };
    std::fs::write(&keys, format!("{two}\n{one}")).unwrap();
    std::fs::write(&path, settings("slo = '7ms'\nlog = 'info'\n")).unwrap();
    reload();
    std::fs::write(&path, settings("slo = 'soon'\n")).unwrap();
    reload();
    std::fs::write(&path, settings("slo = '5ms'\nlog = 'error'\n")).unwrap();
    reload();
    let ended = end(server);
    assert!(ended.code == Some(0) && hear().starts_with("STOPPING=1"), "{ended:?}");
    for said in
        ["read the key file again: 2 keys", "needs a restart: slo\n", "stay as they were", "invalid value 'soon'"]
    {
        assert!(ended.stderr.contains(said), "{said:?} is not in {ended:?}");
    }
    assert!(!ended.stderr.contains("draining"), "the level is error: {ended:?}");
    // A server without any file.
    let endpoint = endpoint("hup");
    let server = serve_with(&["echo", "--endpoint", &endpoint, "--inline"], &[("NOTIFY_SOCKET", &format!("@{name}"))]);
    assert!(hear().starts_with("READY=1"));
    signal(&server, Signal::HUP);
    assert!(hear().starts_with("RELOADING=1") && hear() == "READY=1\n");
    assert_eq!(client(&endpoint).call(b"still there").unwrap(), b"still there");
    assert_eq!(end(server).code, Some(0));
}

#[test]
fn a_server_waits_for_the_ports_of_the_one_that_drains() {
    let udp = std::net::UdpSocket::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let metrics = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string();
    let endpoint = format!("udp://{udp}");
    let words = ["echo", "--endpoint", &endpoint, "--metrics", &metrics, "--engine-thread", "--slo", "100s"];
    let first = serve(&[&words[..], &["--work", "600s", "--drain-timeout", "600s"]].concat());
    let mut client = client(&endpoint);
    client.submit(b"keeps it from ending").unwrap();
    wait_until("the request", || {
        let _ = client.poll();
        json(&get(&metrics, "/status.json").1)["offered"].as_u64().unwrap() > 0
    });
    signal(&first, Signal::TERM);
    wait_until("its drain", || get(&metrics, "/ready").0 == 503);
    let more = ["--end-with-parent", "--oversubscribe"];
    let mut second = command(&[&["serve"], &words[..], &more].concat()).spawn().unwrap();
    let mut lines = BufReader::new(second.stderr.take().unwrap()).lines().map_while(Result::ok);
    let told = lines.find(|line| line.contains("is in use")).unwrap();
    assert!(told.contains(&format!("{endpoint} is in use: waiting up to 12s")), "{told}");
    // A second signal ends it at once.
    signal(&first, Signal::TERM);
    assert_eq!(wait(first).code, Some(130));
    assert!(lines.any(|line| line.contains("serving")), "it got both ports");
    std::thread::spawn(move || lines.for_each(drop));
    wait_until("its first turn", || get(&metrics, "/ready").0 == 200);
    assert_eq!(end(second).code, Some(0));
}

#[test]
fn a_flag_comes_before_the_file_and_the_file_before_the_default() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("echo.toml");
    let endpoint = endpoint("config");
    std::fs::write(
        &path,
        format!("service = 'echo'\nendpoint = '{endpoint}'\nworkers = 2\nslo = '5ms'\noversubscribe = true\n"),
    )
    .unwrap();
    let file = path.to_str().unwrap();
    let checked = nebula(&["config", "check", file, "--format", "json"]).assert_ok();
    let rows: Vec<Value> = checked.stdout.lines().map(json).collect();
    let setting = |name: &str| rows.iter().find(|row| row["setting"] == name).unwrap();
    assert_eq!((&setting("workers")["value"], &setting("workers")["from"]), (&"2".into(), &"file".into()));
    assert_eq!((&setting("engines")["value"], &setting("engines")["from"]), (&"1".into(), &"default".into()));
    let server = serve(&["echo", "--config", file, "--workers=3"]);
    let row = status_of(&endpoint);
    assert_eq!((&row["workers"], &row["slo_ns"]), (&3.into(), &5_000_000.into()), "{row}");
    assert_eq!(end(server).code, Some(0));
}

#[test]
fn a_file_that_is_wrong_is_told_in_one_line_before_anything_is_served() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("kv.toml");
    let file = path.to_str().unwrap();
    for (text, said) in [
        ("wokers = 2", "wokers: no such setting: did you mean workers?"),
        ("workers = 'many'", "invalid value 'many'"),
        ("workers", "TOML parse error"),
        ("service = 'chat'", "there is no nebula serve chat"),
        ("spin = true\nblock = true", "cannot be used with"),
    ] {
        std::fs::write(&path, text).unwrap();
        nebula(&["config", "check", file]).assert_error(2, said);
    }
    // What serve refuses, with the same words.
    for text in [
        "memory = '1KiB'",
        "workers = 0",
        "items = 0",
        "endpoint = 'udp://127.0.0.1:7400'\nkey_file = 'no/such/key'",
        "endpoint = 'udp://0.0.0.0:7400'",
        "memcached = 'tcp://0.0.0.0:11211'",
        "workers = 2\ninline = true",
        "quota = 'shm://ann=1024TiB'",
        "load = 'no/such/snapshot'",
        "snapshot = '/dev/null'",
        "partitions = 'erew'",
        "service = 'echo'\nworkers = 0",
    ] {
        std::fs::write(&path, text).unwrap();
        let service = if text.contains("echo") { "echo" } else { "kv" };
        let served = nebula(&["serve", service, "--config", file]);
        let said = served.stderr.trim_start_matches("error: ").trim_end();
        served.assert_error(2, said);
        nebula(&["config", "check", file]).assert_error(2, said);
    }
    std::fs::write(&path, "service = 'echo'").unwrap();
    nebula(&["serve", "kv", "--config", file]).assert_error(2, "the settings are of nebula serve echo");
    nebula(&["serve", "kv", "--config", "no/such/file"]).assert_error(2, "cannot read no/such/file");
}

#[test]
fn the_files_that_are_shipped_are_right() {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../../packaging");
    nebula(&["config", "check", &format!("{root}/nebula-kv.toml")]).assert_ok();
    let unit = std::fs::read_to_string(format!("{root}/systemd/nebula-kv.service")).unwrap();
    let start = unit.lines().find_map(|line| line.strip_prefix("ExecStart=")).unwrap();
    assert_eq!(start, "/usr/bin/nebula serve kv --config /etc/nebula/kv.toml");
    assert!(unit.lines().any(|line| line == "Type=notify-reload"), "{unit}");
}

#[test]
fn memory_is_bounded_by_one_flag_for_store_buffers_and_rings() {
    let endpoint = endpoint("memory");
    let words = ["kv", "--endpoint", endpoint.as_str(), "--inline", "--items", "20k", "--value-bytes", "64"];
    // A slot of a ring takes at least 96 B, so a ring of 65,536 slots exceeds a sixteenth of this.
    let server = serve(&[&words[..], &["--memory", "32MiB"]].concat());
    let small = Client::connect_with(&endpoint, ClientConfig::default().slots(64));
    let large = Client::connect_with(&endpoint, ClientConfig::default().slots(65_536));
    assert!(small.is_ok());
    assert!(large.is_err_and(|error| error.to_string().contains("no memory for the ring")));
    let row = status_of(&endpoint);
    assert!(row["buffer_bytes"].as_u64().unwrap() <= 2 << 20, "{row}");
    assert_eq!(end(server).code, Some(0));
    let mut too_little = vec!["serve"];
    too_little.extend(words);
    too_little.extend(["--memory", "1MiB"]);
    nebula(&too_little).assert_error(2, "would fit");
}

#[test]
fn a_load_on_an_echo_is_answered_and_compared() {
    let endpoint = endpoint("echo");
    let server = serve(&["echo", "--endpoint", &endpoint, "--inline", "--slo", "100ms"]);
    let words = ["load", "echo", "--endpoint", &endpoint, "--rate", "20k", "--bytes", "100", "--duration", "300ms"];
    let row = json(&nebula(&[&words[..], &["--warm-up", "100ms", "--format", "json"]].concat()).assert_ok().stdout);
    assert!(row["replied"].as_u64().unwrap() > 0, "{row}");
    assert_eq!((&row["lost"], &row["not_found"]), (&0.into(), &0.into()), "{row}");
    assert_eq!(end(server).code, Some(0));
}

#[test]
fn a_server_is_sized_by_its_own_load() {
    let endpoint = endpoint("size");
    let server = serve(&["echo", "--endpoint", &endpoint, "--inline", "--work", "5us", "--slo", "20ms"]);
    let stop = Arc::new(AtomicBool::new(false));
    let (asked_to_stop, at) = (stop.clone(), endpoint.clone());
    let caller = std::thread::spawn(move || {
        let mut client = client(&at);
        while !asked_to_stop.load(Ordering::Relaxed) {
            while client.outstanding() < 8 && client.submit(b"hello").is_ok() {}
            while let Some(done) = client.poll() {
                // On a busy machine the server counts lost core time as service time and refuses
                // some.
                assert!(matches!(done.result, Ok(_) | Err(CallError::Nack { .. })), "{:?}", done.result);
            }
            // The server may need this core.
            std::thread::yield_now();
        }
    });
    let size = |over: &str| {
        let words = format!("size --from {endpoint} --over {over} --rpcs 5k --replications 2 --format json");
        nebula(&words.split(' ').collect::<Vec<_>>())
    };
    let mut answer = size("3s");
    // On a busy machine it has too few samples then, and says how to get more.
    if answer.stderr.contains("give a longer --over") {
        answer = size("30s");
    }
    stop.store(true, Ordering::Relaxed);
    caller.join().unwrap();
    let answer = answer.assert_ok();
    let running = json(answer.stdout.lines().next().unwrap());
    assert_eq!((&running["scenario"], &running["cores"]), (&"running".into(), &1.into()), "{running}");
    assert!(running["service_ns_mean"].as_f64().unwrap() > 4_500.0, "{running}");
    for field in ["load", "rate_rps", "latency_ns_p99", "nack_share", "measured_latency_ns_p99", "buffer_bytes"] {
        assert!(running[field].is_number(), "{field}: {running}");
    }
    assert!(json(answer.stdout.lines().nth(1).unwrap())["cores"].as_u64().unwrap() >= 1);
    assert_eq!(end(server).code, Some(0));
}
