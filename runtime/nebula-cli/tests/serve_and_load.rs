//! A real server process under real load: counters and exits.

#![expect(clippy::unwrap_used, reason = "what cannot go on fails here")]

mod program;

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use nebula::{Client, Reply, RunningServer, Server, ServerConfig, Span};
use nebula_testing::wait::{spin, wait_until};
use program::{command, end, endpoint, json, nebula, signal, start, wait};
use rustix::process::Signal;
use serde_json::Value;

/// Starts `serve kv` with a small store and engine and worker on one thread, and waits until it is
/// ready.
fn serve(endpoint: &str, more: &[&str]) -> Child {
    serve_by(endpoint, &[&["--inline"], more].concat())
}

/// Starts `serve kv` with a small store and waits until it is ready.
fn serve_by(endpoint: &str, more: &[&str]) -> Child {
    let (child, ready) = serve_anywhere(endpoint, more);
    assert_eq!(ready, endpoint);
    child
}

/// The same; also returns its endpoint.
fn serve_anywhere(endpoint: &str, more: &[&str]) -> (Child, String) {
    let args = [
        "serve",
        "kv",
        "--endpoint",
        endpoint,
        "--items",
        "20k",
        "--value-bytes",
        "64",
        "--end-with-parent",
        "--oversubscribe",
    ];
    start(command(&[&args[..], more].concat()))
}

/// Arguments of a short load on the small store.
fn load<'a>(endpoint: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    [&["load", "kv", "--endpoint", endpoint, "--keys", "10k", "--value-bytes", "64", "--format", "json"], more].concat()
}

fn count(row: &Value, field: &str) -> u64 {
    row[field].as_u64().unwrap_or_else(|| panic!("{field} is no count in {row}"))
}

/// Asserts that the counters account for every offered RPC.
fn assert_adds_up(row: &Value) {
    let ends = ["replied", "nacked", "refused_by_client", "lost", "unsent"].map(|field| count(row, field));
    assert_eq!(count(row, "offered"), ends.iter().sum::<u64>(), "{row}");
}

#[test]
fn a_store_that_was_filled_answers_every_key() {
    let endpoint = endpoint("round-trip");
    let server = serve(&endpoint, &[]);
    let measured = ["--preload", "--rate", "20k", "--duration", "300ms", "--warm-up", "100ms"];
    let ended = nebula(&load(&endpoint, &measured)).assert_ok();
    let row = json(&ended.stdout);
    assert_adds_up(&row);
    assert!(count(&row, "offered") > 0, "{row}");
    assert_eq!((count(&row, "not_found"), count(&row, "lost")), (0, 0), "{row}");
    assert_eq!(row["rate_rps"], 20_000.0);
    for tail in ["latency_ns", "latency_ns_gaps_excluded"] {
        for figure in ["mean", "p50", "p90", "p95", "p99", "p999", "max"] {
            assert!(row[tail].get(figure).is_some(), "{tail} has no {figure}: {row}");
        }
    }
    assert!(row["share_kept"].as_f64().is_some_and(|share| (0.0..=1.0).contains(&share)), "{row}");
    for field in ["achieved_rps", "nack_share", "sender_late_share"] {
        assert!(row[field].is_number(), "{field}: {row}");
    }
    let counters = end(server).assert_ok();
    assert!(counters.stdout.contains("served"), "{counters:?}");
}

#[test]
fn a_store_that_is_shared_is_read_without_its_workers_and_every_value_is_complete() {
    for (mode, is_network) in [("store", false), ("cache", false), ("store", true), ("cache", true)] {
        let asked = if is_network { "udp://127.0.0.1:0".to_owned() } else { endpoint(&format!("one-sided-{mode}")) };
        let (server, endpoint) =
            serve_anywhere(&asked, &["--inline", "--one-sided", "--mode", mode, "--format", "json"]);
        let mix = ["--mix", "get=80,set=20", "--one-sided"];
        let measured = ["--preload", "--rate", "2k", "--duration", "300ms", "--warm-up", "50ms", "--slots", "64"];
        let ended = nebula(&load(&endpoint, &[&mix[..], &measured].concat())).assert_ok();
        let row = json(&ended.stdout);
        assert_adds_up(&row);
        // Even on a busy machine it answers some.
        assert!(count(&row, "replied") > 0, "{row}");
        assert_eq!((count(&row, "not_found"), count(&row, "lost")), (0, 0), "{row}");
        let counters = json(&end(server).assert_ok().stdout);
        // Over shared memory the client has mapped the store and asks no server.
        let one_sided = count(&counters, "one_sided");
        assert!(if is_network { one_sided >= count(&row, "replied") / 2 } else { one_sided == 0 }, "{counters}, {row}");
        assert_eq!(count(&counters, "one_sided_refused"), 0, "{counters}");
        // The preload and the SETs, which are a fifth of the load.
        let served = count(&counters, "served");
        assert!(served < 10_000 + count(&row, "offered") / 2, "{counters}, {row}");
    }
    let endpoint = endpoint("one-sided-not");
    let server = serve(&endpoint, &[]);
    nebula(&load(&endpoint, &["--one-sided", "--rate", "1k"])).assert_error(2, "does not share its store");
    end(server).assert_ok();
    let memcached_alone = ["serve", "kv", "--memcached", "tcp://127.0.0.1:0", "--one-sided"];
    nebula(&memcached_alone).assert_error(2, "--one-sided needs --endpoint");
}

#[test]
fn under_key_hash_a_preload_goes_to_all_workers() {
    let (endpoint, folder) = (endpoint("preload-keys"), tempfile::tempdir().unwrap());
    let log = folder.path().join("decisions");
    let more = ["--workers", "4", "--policy", "key-hash", "--decision-log", log.to_str().unwrap()];
    let server = serve_by(&endpoint, &more);
    // The load is so short that the log consists almost only of the preload.
    let few = ["--preload", "--rate", "100", "--duration", "50ms", "--warm-up", "0ns"];
    nebula(&load(&endpoint, &few)).assert_ok();
    end(server).assert_ok();
    let log = std::fs::read_to_string(&log).unwrap();
    let given = [0, 1, 2, 3].map(|core| log.matches(&format!("dispatch core={core} ")).count());
    let all: usize = given.iter().sum();
    assert!(all >= 10_000, "10,000 keys are stored: {given:?}");
    assert!(given.iter().all(|&rpcs| rpcs > all / 8), "each of four workers gets about a quarter: {given:?}");
}

#[test]
fn a_store_over_the_network_answers_who_has_its_key() {
    let folder = tempfile::tempdir().unwrap();
    let key = folder.path().join("kv.key");
    let key = key.to_str().unwrap();
    nebula(&["keygen", key]).assert_ok();
    nebula(&["keygen", key]).assert_error(2, "cannot write");
    for asked in ["udp://127.0.0.1:0", "tcp://127.0.0.1:0"] {
        let (server, endpoint) = serve_anywhere(asked, &["--inline", "--block", "--key-file", key]);
        let measured = ["--preload", "--rate", "5k", "--duration", "300ms", "--warm-up", "50ms", "--key-file", key];
        let row = json(&nebula(&load(&endpoint, &measured)).assert_ok().stdout);
        assert_adds_up(&row);
        // The number of refusals depends on the machine's other work.
        assert!(count(&row, "replied") > 0 && count(&row, "not_found") == 0, "{row}");
        let without = nebula(&load(&endpoint, &["--rate", "1k", "--duration", "100ms"]));
        without.assert_error(1, "--key-file");
        end(server).assert_ok();
    }
}

#[test]
fn a_key_file_is_read_again_on_sighup_and_only_its_owner_may_read_it() {
    let folder = tempfile::tempdir().unwrap();
    let [kv, old, new] = ["kv.key", "old.key", "new.key"].map(|name| folder.path().join(name));
    let [kv, old, new] = [&kv, &old, &new].map(|path| path.to_str().unwrap());
    nebula(&["keygen", old, "--name", "ann"]).assert_ok();
    nebula(&["keygen", new, "--name", "bob"]).assert_ok();
    nebula(&["keygen", kv, "--name", "a/b"]).assert_error(2, "--name");
    std::fs::copy(old, kv).unwrap();
    let (mut server, endpoint) = serve_anywhere("udp://127.0.0.1:0", &["--inline", "--block", "--key-file", kv]);
    let mut said = BufReader::new(server.stderr.take().unwrap());
    let mut hear = |wanted: &str| {
        let mut line = String::new();
        while !line.contains(wanted) {
            line.clear();
            assert!(said.read_line(&mut line).unwrap() > 0, "it never said {wanted}");
        }
    };
    let run = |key| nebula(&load(&endpoint, &["--preload", "--rate", "1k", "--duration", "50ms", "--key-file", key]));
    run(old).assert_ok();
    std::fs::copy(new, kv).unwrap();
    signal(&server, Signal::HUP);
    hear("read the key file again: 1 keys");
    run(new).assert_ok();
    run(old).assert_error(1, "another key");
    // After an unusable file the old keys stay valid.
    std::fs::write(kv, "oops").unwrap();
    signal(&server, Signal::HUP);
    hear("the keys stay as they were");
    run(new).assert_ok();
    signal(&server, Signal::TERM);
    assert!(server.wait().unwrap().success());

    std::fs::set_permissions(new, std::os::unix::fs::PermissionsExt::from_mode(0o644)).unwrap();
    run(new).assert_error(2, &format!("chmod 600 {new}"));
    run("/dev/zero").assert_error(2, "is no key file");
    nebula(&load("shm://nobody", &["--key-file", old])).assert_error(2, "--key-file has no effect over shm://");
    nebula(&["serve", "kv", "--key-file", old]).assert_error(2, "--key-file has no effect over shm://");
}

#[test]
fn nobody_serves_the_network_without_a_key_by_accident() {
    let ended = nebula(&["serve", "kv", "--endpoint", "udp://0.0.0.0:0", "--items", "1k", "--value-bytes", "64"]);
    ended.assert_error(2, "give a key (ServerConfig::key, --key-file), or accept an open network");
    assert!(ended.stderr.contains("--insecure"), "{ended:?}");
}

#[test]
fn two_clients_share_a_load_with_deletes_and_popular_keys() {
    let endpoint = endpoint("two-clients");
    let server = serve(&endpoint, &["--format", "json"]);
    let mixed = ["--mix", "get=60,set=20,delete=20", "--key-dist", "zipf:0.99", "--clients", "2", "--rate", "20k"];
    let brief = ["--duration", "200ms", "--warm-up", "0ms"];
    let row = json(&nebula(&load(&endpoint, &[&mixed[..], &brief].concat())).assert_ok().stdout);
    assert_adds_up(&row);
    assert!(count(&row, "not_found") > 0, "nothing was stored before, and much is deleted: {row}");
    let counters = json(&end(server).assert_ok().stdout);
    // The worker may be stopped between an answer and the return of its slots.
    assert!(count(&counters, "served") + 1 >= count(&row, "replied"), "{counters}");
    assert_eq!(count(&counters, "violations"), 0);
}

/// The table is trained for one worker per group, written to a file, and read by the server.
#[test]
fn groups_take_trained_thresholds_from_a_file_that_is_for_them() {
    let file = std::env::temp_dir().join(format!("nebula-trained-{}.toml", std::process::id()));
    let file = file.to_str().unwrap();
    let train =
        ["thresholds", "--workers", "1", "--load", "0.7,0.9", "--rpcs", "20k", "--replications", "1", "--write", file];
    nebula(&train).assert_ok();
    let endpoint = endpoint("trained");
    let trained = ["--workers", "2", "--policy", "altocumulus:2", "--thresholds", file];
    let server = serve_by(&endpoint, &[&trained[..], &["--slo", "10ms", "--format", "json"]].concat());
    let row = json(&nebula(&load(&endpoint, &["--preload", "--rate", "5k", "--duration", "300ms"])).assert_ok().stdout);
    assert_adds_up(&row);
    end(server).assert_ok();
    let refused = |more: &[&str], said: &str| {
        nebula(&[&["serve", "kv", "--thresholds", file], more].concat()).assert_error(2, said);
    };
    refused(&[], "--policy altocumulus:G only");
    refused(&["--policy", "altocumulus:2", "--workers", "4"], "train with nebula thresholds --workers 2");
    std::fs::remove_file(file).unwrap();
    refused(&["--policy", "altocumulus:2", "--workers", "2"], "neither a file nor a name");
}

#[test]
fn workers_that_share_the_nic_and_workers_that_steal_answer_every_key() {
    for policy in ["mcs-lock", "work-stealing", "darc"] {
        let endpoint = endpoint(policy);
        let server = serve_by(&endpoint, &["--workers", "2", "--policy", policy, "--slo", "10ms", "--format", "json"]);
        let measured = ["--preload", "--rate", "5k", "--clients", "2", "--duration", "300ms", "--warm-up", "50ms"];
        let row = json(&nebula(&load(&endpoint, &measured)).assert_ok().stdout);
        assert_adds_up(&row);
        assert_eq!((count(&row, "not_found"), count(&row, "lost")), (0, 0), "{policy}: {row}");
        assert!(count(&row, "replied") > 0, "{policy}: {row}");
        let counters = json(&end(server).assert_ok().stdout);
        assert_eq!(count(&counters, "violations"), 0, "{policy}");
        assert!(policy == "work-stealing" || count(&counters, "stolen") == 0, "{policy}: {counters}");
    }
}

#[test]
fn ctrl_c_ends_a_server_and_frees_its_name() {
    let endpoint = endpoint("ctrl-c");
    let server = serve(&endpoint, &[]);
    nebula(&["serve", "kv", "--endpoint", &endpoint, "--items", "9"]).assert_error(1, "is being served already");
    signal(&server, Signal::INT);
    let ended = wait(server).assert_ok();
    let said: Vec<_> = ended.stderr.lines().filter_map(|line| line.split_once("INFO ")).map(|(_, said)| said).collect();
    assert!(said[0].starts_with(&format!("{endpoint}: engine and worker on one thread")), "{ended:?}");
    assert_eq!(said[1], format!("serving {endpoint}; press Ctrl-C to stop"), "{ended:?}");
    assert!(said[2].starts_with("draining") && said[3].starts_with("stopped: ") && said.len() == 4, "{ended:?}");
    let again = serve(&endpoint, &[]);
    signal(&again, Signal::INT);
    wait(again).assert_ok();
}

#[test]
fn a_server_ends_with_the_process_that_started_it_however_that_one_ends() {
    let endpoint = endpoint("parent");
    // The shell has a command after its child, so it stays the parent.
    let script =
        format!("'{}' serve kv --endpoint {endpoint} --items 9 --end-with-parent; true", env!("CARGO_BIN_EXE_nebula"));
    let mut shell =
        Command::new("sh").args(["-c", &script]).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    BufReader::new(shell.stdout.take().unwrap()).read_line(&mut String::new()).unwrap();
    assert!(Client::connect(&endpoint).is_ok());
    shell.kill().unwrap();
    shell.wait().unwrap();
    wait_until("the end of the server", || Client::connect(&endpoint).err());
}

#[test]
fn ctrl_c_ends_a_load_with_what_it_has_measured() {
    let endpoint = endpoint("ctrl-c-load");
    let server = serve(&endpoint, &["--format", "json"]);
    // So long that only the signal ends it, which is sent once the server has served an RPC.
    let load = command(&load(&endpoint, &["--rate", "2k", "--duration", "600s", "--warm-up", "0ms"])).spawn().unwrap();
    wait_until_served(&endpoint);
    signal(&load, Signal::INT);
    let ended = wait(load);
    assert_eq!(ended.code, Some(130), "{ended:?}");
    assert_adds_up(&json(&ended.stdout));
    assert!(ended.stderr.contains("interrupted"), "{ended:?}");
    end(server).assert_ok();
}

#[test]
fn a_server_that_is_killed_is_a_fault_of_the_load_within_seconds() {
    let endpoint = endpoint("killed");
    let server = serve(&endpoint, &[]);
    let load = command(&load(&endpoint, &["--rate", "2k", "--duration", "600s", "--warm-up", "0ms"])).spawn().unwrap();
    wait_until_served(&endpoint);
    signal(&server, Signal::KILL);
    wait(load).assert_error(1, "the server is gone");
    wait(server);
}

/// Waits until the server's status page shows a served RPC.
fn wait_until_served(endpoint: &str) {
    let client = Client::connect(endpoint).unwrap();
    wait_until("an RPC to be served", || (client.status().unwrap().read().freed > 0).then_some(()));
}

#[test]
fn a_trace_is_replayed_operation_by_operation() {
    let endpoint = endpoint("trace");
    // Unbounded, since after a pause many RPCs are due at once, and a NACKed SET would make later
    // GETs miss.
    let server = serve(&endpoint, &["--unbounded"]);
    let trace = tempfile::NamedTempFile::new().unwrap();
    let lines: String =
        (0..200).map(|i| format!("{},{},{},32\n", i * 50, ["set", "get", "get", "delete"][i % 4], i / 4)).collect();
    std::fs::write(trace.path(), format!("time_us,op,key,value_bytes\n{lines}")).unwrap();
    let path = trace.path().to_str().unwrap();
    // Very patient, since an abandoned SET would also make them miss.
    let row = json(&nebula(&load(&endpoint, &["--trace", path, "--patience", "60s"])).assert_ok().stdout);
    assert_adds_up(&row);
    assert_eq!((count(&row, "offered"), count(&row, "not_found")), (200, 0), "{row}");
    end(server).assert_ok();
}

#[test]
fn a_bad_line_of_a_trace_is_named_by_its_number() {
    let trace = tempfile::NamedTempFile::new().unwrap();
    let path = trace.path().to_str().unwrap();
    for (text, said) in [
        (
            "time_us,op,key,value_bytes\n0,get,1,0\n5,put,1,0\n",
            "trace line 3: \"5,put,1,0\": op must be get, set, delete or scan",
        ),
        ("0,get,1,0\n7,get,1,0\n6,get,1,0\n", "trace line 3: \"6,get,1,0\": time goes back"),
        ("0,get,1\n", "trace line 1: \"0,get,1\": has 3 fields"),
        ("time_us,op,key,value_bytes\n", "the trace is empty"),
        ("0,set,1,1048576\n", "the limit is 1048575"),
    ] {
        std::fs::write(path, text).unwrap();
        nebula(&load("shm://not-asked", &["--trace", path])).assert_error(2, said);
    }
}

#[test]
fn a_bound_that_no_load_can_meet_is_found_to_be_met_by_none() {
    let endpoint = endpoint("find-slo");
    let server = serve(&endpoint, &[]);
    let search = ["--find-slo", "1ns", "--rate", "4k", "--duration", "20ms", "--warm-up", "0ms"];
    let row = json(&nebula(&load(&endpoint, &search)).assert_ok().stdout);
    assert_eq!(row["throughput_under_slo_rps"], Value::Null, "{row}");
    assert_eq!((&row["lowest_missed_rps"], &row["slo_ns"]), (&1000.0.into(), &1.into()), "{row}");
    assert_eq!(row["is_complete"], true);
    end(server).assert_ok();
}

#[test]
fn a_report_is_one_page_with_the_curve_of_what_was_printed() {
    let endpoint = endpoint("report");
    let server = serve(&endpoint, &[]);
    let folder = tempfile::tempdir().unwrap();
    let page = folder.path().join("load.html");
    let brief = ["--rate", "10k", "--duration", "100ms", "--warm-up", "0ms", "--report", page.to_str().unwrap()];
    nebula(&load(&endpoint, &brief)).assert_ok();
    let html = std::fs::read_to_string(&page).unwrap();
    assert!(html.contains("class=\"chart\"") && html.ends_with("</html>\n"), "{html}");
    let nowhere = ["--rate", "10k", "--report", "no/such/folder/load.html"];
    nebula(&load(&endpoint, &nowhere)).assert_error(2, "there is no directory no/such/folder");
    let full = ["--rate", "10k", "--duration", "1ms", "--warm-up", "0ms", "--report", "/dev/full"];
    let ended = nebula(&load(&endpoint, &full));
    assert_eq!((ended.code, ended.stderr.lines().count()), (Some(1), 1), "{ended:?}");
    assert!(ended.stderr.contains("cannot write the report to /dev/full"), "{ended:?}");
    end(server).assert_ok();
}

/// A service in this process with an assumed service time of 0.2 ms.
fn serve_here(endpoint: &str, answer: impl Fn(&[u8], &mut Reply<'_>) + Send + Sync + 'static) -> RunningServer {
    let config = ServerConfig::default().slo(Span::from_ms(4)).service_mean(Span::from_us(200));
    Server::bind(endpoint).config(config).serve(answer).unwrap()
}

#[test]
fn a_wrong_answer_is_a_fault_and_not_throughput() {
    let endpoint = endpoint("wrong");
    let run = |said| nebula(&load(&endpoint, &["--rate", "1k", "--mix", "get=1"])).assert_error(1, said);
    let server = serve_here(&endpoint, |request, reply| reply.write(&request[..7]));
    run("shorter than its 8-byte header");
    server.stop();
    let server = serve_here(&endpoint, |_, reply| reply.write(&[0, 0, 0, 0, 8, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8]));
    run("returned 8 bytes that this load generator did not write");
    server.stop();
    let server = serve_here(&endpoint, |_, reply| reply.write(&[2, 0, 0, 0, 0, 0, 0, 0]));
    run("the store is full");
    server.stop();
}

/// Takes 0.2 ms per RPC, which limits it to 5 k/s.
fn slow(_: &[u8], reply: &mut Reply<'_>) {
    spin(Duration::from_micros(200));
    reply.write(&[0; 8]);
}

#[test]
fn overload_is_refused_and_every_refusal_counted_as_infinitely_late() {
    let endpoint = endpoint("overload");
    // 20 k/s are offered, and some ten may wait.
    let server = serve_here(&endpoint, slow);
    let overload = ["--rate", "20k", "--mix", "set=1", "--duration", "500ms", "--warm-up", "0ms", "--slots", "1024"];
    let row = json(&nebula(&load(&endpoint, &overload)).assert_ok().stdout);
    assert_adds_up(&row);
    assert!(count(&row, "nacked") > 0 && row["nack_share"].as_f64() > Some(0.01), "{row}");
    assert_eq!((count(&row, "lost"), &row["latency_ns"]["p99"]), (0, &Value::Null), "{row}");
    server.stop();
}

#[test]
fn overload_over_the_network_is_refused_by_the_client_and_seen_in_a_separate_column() {
    let server = serve_here("udp://127.0.0.1:0", slow);
    let endpoint = server.endpoint().to_string();
    // Forty times the capacity: nearly all RPCs find the window full.
    let overload = ["--rate", "200k", "--mix", "set=1", "--duration", "500ms", "--warm-up", "0ms"];
    let row = json(&nebula(&load(&endpoint, &overload)).assert_ok().stdout);
    assert_adds_up(&row);
    let [offered, replied, refused] = ["offered", "replied", "refused_by_client"].map(|field| count(&row, field));
    assert!(replied > 0 && refused > offered / 2, "{row}");
    assert_eq!((count(&row, "unsent"), count(&row, "lost")), (0, 0), "nothing waits in the client: {row}");
    let rest = ["--keys", "10k", "--value-bytes", "64", "--patience", "0ns"];
    let table = nebula(&[&["load", "kv", "--endpoint", &endpoint], &rest[..], &overload].concat());
    assert!(table.stdout.contains("client full") && table.stdout.contains("∞ (client full)"), "{table:?}");
    server.stop();
}

#[test]
fn what_waits_for_room_instead_and_is_never_sent_is_an_error() {
    let server = serve_here("udp://127.0.0.1:0", slow);
    let endpoint = server.endpoint().to_string();
    let overload = ["--rate", "200k", "--mix", "set=1", "--duration", "500ms", "--warm-up", "0ms"];
    let ended = nebula(&[&load(&endpoint, &overload)[..], &["--patience", "600s"]].concat());
    let row = json(&ended.stdout);
    assert_adds_up(&row);
    assert!(count(&row, "unsent") > 0 && count(&row, "refused_by_client") == 0, "{row}");
    assert_eq!(ended.code, Some(1), "{ended:?}");
    let errors: Vec<_> = ended.stderr.lines().filter(|line| line.starts_with("error: ")).collect();
    assert!(errors.len() == 1 && errors[0].contains("RPCs were never sent: they waited for room"), "{ended:?}");
    server.stop();
}

#[test]
fn rpcs_without_an_answer_are_an_error_beside_the_results() {
    let endpoint = endpoint("lost");
    let server = serve(&endpoint, &[]);
    let brief = ["--rate", "2k", "--duration", "2s", "--warm-up", "0ms"];
    let load = command(&load(&endpoint, &brief)).spawn().unwrap();
    wait_until_served(&endpoint);
    signal(&server, Signal::STOP);
    let ended = wait(load);
    signal(&server, Signal::KILL);
    wait(server);
    let row = json(&ended.stdout);
    assert_adds_up(&row);
    assert!(count(&row, "lost") > 0, "{row}");
    assert_eq!(ended.code, Some(1), "{ended:?}");
    assert!(ended.stderr.contains(&format!("error: {} of ", count(&row, "lost"))), "{ended:?}");
    assert!(ended.stderr.contains("RPCs got no answer"), "{ended:?}");
}

fn long_load(endpoint: &str) -> Child {
    let long = ["--rate", "2k", "--mix", "set=1", "--duration", "600s", "--warm-up", "0ms"];
    command(&load(endpoint, &long)).spawn().unwrap()
}

/// Serves a load until the load ends by itself. RPC `number` is held if `is_held` says so.
fn ends_the_load(endpoint: &str, config: ServerConfig, is_held: fn(u64) -> bool) {
    let (served, is_released) = (AtomicU64::new(0), Arc::new(AtomicBool::new(false)));
    let released = is_released.clone();
    let service = move |_: &[u8], reply: &mut Reply<'_>| {
        let waits = is_held(served.fetch_add(1, Relaxed));
        while waits && !released.load(Relaxed) {
            std::thread::yield_now();
        }
        reply.write(&[0; 8]);
    };
    let server = Server::bind(endpoint).config(config).serve(service).unwrap();
    let ended = wait(long_load(&server.endpoint().to_string()));
    is_released.store(true, Relaxed);
    server.stop();
    ended.assert_error(1, "the server has not answered for 5 s");
}

#[test]
fn a_server_that_falls_silent_or_holds_one_rpc_is_a_fault_of_the_load_within_seconds() {
    type Case = (String, ServerConfig, fn(u64) -> bool);
    let inline = ServerConfig::default().inline(true);
    let cases: [Case; 3] = [
        // Inline, since a separate engine thread would go on refusing.
        (endpoint("silent"), inline.clone(), |number| number >= 100),
        ("udp://127.0.0.1:0".to_owned(), inline, |number| number >= 100),
        // The second worker serves the others, until there is no room behind the held one.
        (endpoint("all-but-one"), ServerConfig::default().workers(2), |number| number == 0),
    ];
    // All at once, since each waits for five seconds.
    std::thread::scope(|scope| {
        for (at, config, is_held) in cases {
            scope.spawn(move || ends_the_load(&at, config, is_held));
        }
    });
}

#[test]
fn a_server_over_the_network_that_ends_is_a_fault_of_the_load_within_seconds() {
    let had = Arc::new(AtomicU64::new(0));
    let counted = had.clone();
    let server = serve_here("udp://127.0.0.1:0", move |_, reply| {
        counted.fetch_add(1, Relaxed);
        reply.write(&[0; 8]);
    });
    let load = long_load(&server.endpoint().to_string());
    wait_until("RPCs to be served", || (had.load(Relaxed) >= 10).then_some(()));
    server.stop();
    wait(load).assert_error(1, "the server");
}

#[test]
fn a_tenant_is_the_owner_of_a_key_and_has_a_weight() {
    let serve = |args: &[&str]| nebula(&[&["serve", "kv", "--items", "1k", "--value-bytes", "64"], args].concat());
    serve(&["--tenant", "ann=3"]).assert_error(2, "--key-file");
    serve(&["--tenant", "ann=0", "--key-file", "none"]).assert_error(2, "a tenant is NAME=WEIGHT");
    let folder = tempfile::tempdir().unwrap();
    let [key, log] = ["ann.key", "log"].map(|name| folder.path().join(name));
    let [key, log] = [&key, &log].map(|path| path.to_str().unwrap());
    nebula(&["keygen", key, "--name", "ann"]).assert_ok();
    let udp = ["--endpoint", "udp://127.0.0.1:0", "--inline", "--key-file", key];
    serve(&[&udp[..], &["--tenant", "ann=3", "--tenant", "ann=4"]].concat())
        .assert_error(2, "tenant ann has two weights");
    let told = ["--inline", "--key-file", key, "--tenant", "ann=3", "--tenant", "*=2", "--decision-log", log];
    let (server, _) = serve_anywhere("udp://127.0.0.1:0", &told);
    end(server).assert_ok();
    let text = std::fs::read_to_string(log).unwrap();
    assert!(text.lines().next().is_some_and(|line| line.ends_with(" tenants=28+2,3")), "{text}");
}

#[test]
fn a_load_for_two_servers_gives_each_its_keys() {
    let names = ["two-one", "two-other"].map(endpoint);
    let servers = names.each_ref().map(|name| serve(name, &["--format", "json"]));
    let both = names.join(",");
    let measured = ["--preload", "--rate", "20k", "--mix", "get=100", "--duration", "300ms", "--warm-up", "100ms"];
    let row = json(&nebula(&load(&both, &measured)).assert_ok().stdout);
    assert_adds_up(&row);
    assert_eq!((count(&row, "not_found"), count(&row, "lost")), (0, 0), "{row}");
    // Without regard to the key, each server has only some of the items.
    let by_chance =
        ["--rate", "20k", "--mix", "get=100", "--duration", "300ms", "--warm-up", "100ms", "--balance", "p2c"];
    let row = json(&nebula(&load(&both, &by_chance)).assert_ok().stdout);
    let (not_found, replied) = (count(&row, "not_found"), count(&row, "replied"));
    assert!(not_found > 0 && not_found < replied, "{row}");
    let alone = nebula(&load(&names[0], &["--balance", "p2c"]));
    alone.assert_error(2, "--balance needs servers to choose from");
    for server in servers {
        end(server).assert_ok();
    }
}

#[test]
fn a_load_of_gets_and_scans_is_answered_in_order_and_has_latencies_of_each() {
    for asked in [endpoint("ordered"), "udp://127.0.0.1:0".to_owned(), "tcp://127.0.0.1:0".to_owned()] {
        let args =
            ["serve", "ordered", "--endpoint", &asked, "--inline", "--format", "json", "--memory-bytes", "64MiB"];
        let (child, endpoint) = start(command(&[&args[..], &["--slo", "10s", "--end-with-parent"]].concat()));
        let load = ["load", "kv", "--endpoint", &endpoint, "--preset", "masstree", "--keys", "5k", "--preload"];
        let measured = ["--mix", "get=80,scan=20", "--rate", "5k", "--duration", "300ms", "--format", "json"];
        let row = json(&nebula(&[&load[..], &measured].concat()).assert_ok().stdout);
        let by_op = &row["latency_ns_by_op"];
        assert!(by_op["get"]["mean"].as_f64() > Some(0.0) && by_op["scan"]["mean"].as_f64() > Some(0.0), "{row}");
        assert!(by_op.get("set").is_none() && count(&row, "replied") > 0 && count(&row, "not_found") == 0, "{row}");
        end(child).assert_ok();
    }
}

#[test]
fn partitions_are_loaded_by_the_hash_of_each_key_and_need_its_policy() {
    for (access, at) in [("erew", endpoint("erew")), ("crew", "udp://127.0.0.1:0".to_owned())] {
        let two = ["--workers", "2", "--policy", "key-hash", "--partitions", access, "--format", "json"];
        let (child, endpoint) = serve_anywhere(&at, &two);
        let row = json(
            &nebula(&load(&endpoint, &["--preload", "--mix", "get=80,set=20", "--rate", "5k"])).assert_ok().stdout,
        );
        assert!(count(&row, "replied") > 0 && count(&row, "not_found") == 0, "{row}");
        let said = json(&end(child).assert_ok().stdout);
        assert!(said["served"].as_u64() > Some(0), "{said}");
    }
    let refused = nebula(&["serve", "kv", "--endpoint", "shm://none", "--partitions", "erew"]);
    refused.assert_error(2, "--partitions needs --policy key-hash");
}

#[test]
fn a_server_without_scans_is_named_as_such() {
    let endpoint = endpoint("no-scans");
    let child = serve(&endpoint, &[]);
    let ended = nebula(&load(&endpoint, &["--mix", "scan=1", "--rate", "1k", "--duration", "100ms"]));
    ended.assert_error(1, "nebula serve ordered");
    end(child).assert_ok();
}
