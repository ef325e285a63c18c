//! The server answers memcached's clients as memcached does, in the cases of `memcached/cases.txt`,
//! recorded from it.
//!
//! `cargo xtask memcached` also sends them to memcached, in more ways, and runs client libraries
//! against both.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpStream, UdpSocket};
use std::process::Child;
use std::time::Duration;

use crate::program::{command, endpoint, metrics_of, nebula, signal, wait_until};

/// Sent behind each request to mark the end of its answer.
const MARK: &[u8] = b"mg end-of-case k O777\r\n";
const MARKED: &[u8] = b"EN kend-of-case O777\r\n";
/// Longer requests are only sent whole.
const BYTE_BY_BYTE_MAX: usize = 200;

struct Case {
    name: String,
    steps: Vec<(Vec<u8>, Vec<u8>)>,
}

fn cases() -> Vec<Case> {
    let cases = nebula_testing::cases::read(include_str!("memcached/cases.txt")).into_iter().map(
        |nebula_testing::cases::Case { name, lines }| {
            let mut steps: Vec<(Vec<u8>, Vec<u8>)> = Vec::new();
            for (word, bytes) in lines {
                match word {
                    ">" => steps.push((nebula_testing::cases::bytes(bytes), Vec::new())),
                    _ => steps.last_mut().unwrap().1 = nebula_testing::cases::bytes(bytes),
                }
            }
            Case { name: name.to_owned(), steps }
        },
    );
    let cases: Vec<Case> = cases.collect();
    assert!(cases.len() > 40);
    cases
}

/// An answer without the parts that depend on the server or the time.
fn normal(answer: &[u8]) -> Vec<u8> {
    let lines: Vec<Vec<u8>> = answer.split(|&byte| byte == b'\n').map(normal_line).collect();
    lines.join(&b'\n')
}

fn normal_line(line: &[u8]) -> Vec<u8> {
    let Ok(text) = std::str::from_utf8(line) else { return line.to_vec() };
    let Some(text) = text.strip_suffix('\r') else { return line.to_vec() };
    let words: Vec<&str> = text.split(' ').collect();
    let normal = match words[..] {
        ["VALUE", key, flags, bytes, _] => format!("VALUE {key} {flags} {bytes} CAS"),
        ["VERSION", _] => "VERSION V".to_owned(),
        ["HD" | "VA" | "ME", ..] => words.iter().map(|word| normal_word(word)).collect::<Vec<_>>().join(" "),
        _ => text.to_owned(),
    };
    format!("{normal}\r").into_bytes()
}

fn normal_word(word: &str) -> String {
    let number = |prefix| word.strip_prefix(prefix).and_then(|number: &str| number.parse::<i64>().ok());
    // Rounds times up to tens, since a second may have passed.
    let tens = |number: i64| if number.abs() < 10 { number } else { number.signum() * ((number.abs() + 9) / 10 * 10) };
    match word {
        _ if word.starts_with("cas=") => "cas=CAS".to_owned(),
        _ if word.starts_with("cls=") => "cls=CLS".to_owned(),
        _ if word.starts_with("size=") => "size=SIZE".to_owned(),
        _ => match (number("t"), number("exp="), number("l"), number("la=")) {
            (Some(time), ..) => format!("t{}", tens(time)),
            (_, Some(time), ..) => format!("exp={}", tens(time)),
            (.., Some(0..=3), _) => "l0".to_owned(),
            (.., Some(0..=3)) => "la=0".to_owned(),
            _ => word.to_owned(),
        },
    }
}

struct Serving {
    child: Child,
    /// The addresses for memcached's clients.
    addresses: Vec<String>,
    /// The address for their datagrams.
    datagrams: Option<String>,
}

impl Serving {
    fn start(more: &[&str]) -> Self {
        Self::start_at("127.0.0.1:0", more)
    }

    fn start_at(address: &str, more: &[&str]) -> Self {
        Self::of(&[&["--memcached", &format!("tcp://{address}"), "--items", "100k"], more].concat())
    }

    fn of(more: &[&str]) -> Self {
        let args = ["serve", "kv"];
        // An hour, so that on a machine that pauses, requests wait instead of being refused.
        let slo = ["--memcached-slo", "3600s", "--end-with-parent"];
        let mut child = command(&[&args[..], &slo, more].concat()).spawn().unwrap();
        let is_server = |word: &&&str| matches!(**word, "--quota" | "--endpoint" | "--memcached");
        let servers = more.iter().filter(is_server).count();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map(Result::unwrap);
        let ready = lines.by_ref().filter_map(|line| Some(line.strip_prefix("ready ")?.to_owned())).take(servers);
        let ready: Vec<String> = ready.collect();
        let of = |scheme| ready.iter().filter_map(move |ready| Some(ready.strip_prefix(scheme)?.to_owned()));
        let (addresses, datagrams) = (of("tcp://").collect(), of("udp://").next());
        // Reads the rest of its output.
        std::thread::spawn(move || lines.for_each(drop));
        Self { child, addresses, datagrams }
    }

    fn connect(&self) -> TcpStream {
        self.connect_to(0)
    }

    fn connect_to(&self, server: usize) -> TcpStream {
        let stream = TcpStream::connect(&self.addresses[server]).unwrap();
        stream.set_nodelay(true).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        stream
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Sends `pieces` and the mark; the answer before the mark.
fn ask<'a>(stream: &mut TcpStream, pieces: impl Iterator<Item = &'a [u8]>) -> Vec<u8> {
    // The code below notices a closed connection.
    let _ = pieces.chain([MARK]).try_for_each(|piece| stream.write_all(piece));
    let mut answer = Vec::new();
    let mut room = vec![0; 1 << 20];
    while !answer.ends_with(MARKED) {
        match stream.read(&mut room) {
            Ok(0) => return [&normal(&answer), &b"<EOF>"[..]].concat(),
            Ok(bytes) => answer.extend_from_slice(&room[..bytes]),
            Err(error) if error.kind() == std::io::ErrorKind::ConnectionReset => {
                return [&normal(&answer), &b"<EOF>"[..]].concat();
            }
            Err(error) => panic!("{error} after {:?}", String::from_utf8_lossy(&answer)),
        }
    }
    answer.truncate(answer.len() - MARKED.len());
    normal(&answer)
}

/// Sends all cases, short requests in pieces of `piece` bytes.
#[track_caller]
fn check(serving: &Serving, piece: usize) {
    for Case { name, steps } in cases() {
        assert_eq!(ask(&mut serving.connect(), [&b"flush_all\r\n"[..]].into_iter()), b"OK\r\n");
        let mut stream = serving.connect();
        for (sent, expected) in steps {
            let piece = if sent.len() > BYTE_BY_BYTE_MAX { sent.len() } else { piece };
            let answer = ask(&mut stream, sent.chunks(piece));
            let text = |bytes: &[u8]| String::from_utf8_lossy(&bytes[..bytes.len().min(300)]).into_owned();
            assert!(
                answer == expected,
                "{name}: {:?} gave {:?}, not {:?}",
                text(&sent),
                text(&answer),
                text(&expected)
            );
        }
    }
}

#[test]
fn memcached_clients_are_answered_as_memcached_answers() {
    check(&Serving::start(&[]), usize::MAX);
}

#[test]
fn memcached_clients_are_answered_alike_byte_by_byte() {
    check(&Serving::start(&[]), 1);
}

#[test]
fn memcached_clients_are_answered_alike_where_the_order_is_not_the_engines() {
    check(&Serving::start(&["--policy", "mcs-lock", "--spin"]), usize::MAX);
}

#[test]
fn a_pipeline_of_thousands_is_answered_in_order() {
    let serving = Serving::start(&[]);
    let mut stream = serving.connect();
    let requests: Vec<u8> =
        (0..5000).flat_map(|n| format!("set k 0 0 4\r\n{n:04}\r\nget k\r\n").into_bytes()).collect();
    let expected: Vec<u8> =
        (0..5000).flat_map(|n| format!("STORED\r\nVALUE k 0 4\r\n{n:04}\r\nEND\r\n").into_bytes()).collect();
    assert!(ask(&mut stream, [&*requests].into_iter()) == expected);
}

fn say(stream: &mut TcpStream, lines: &str) -> Vec<String> {
    let answer = ask(stream, [lines.as_bytes()].into_iter());
    String::from_utf8(answer).unwrap().lines().map(str::to_owned).collect()
}

/// Sends requests in datagrams, each with its piece and pieces. The datagrams of each one's answer;
/// of a piece, those that came before the next request was answered.
fn datagrams(to: &str, sent: &[(u16, u16, &[u8])]) -> Vec<Vec<String>> {
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    socket.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    socket.connect(to).unwrap();
    let mut answers = vec![Vec::new(); sent.len()];
    for (number, &(piece, pieces, request)) in sent.iter().enumerate() {
        let header = [u16::try_from(number).unwrap(), piece, pieces, 0].map(u16::to_be_bytes);
        socket.send(&[header.as_flattened(), request].concat()).unwrap();
        let mut expected = usize::from(pieces == 1);
        while answers[number].len() < expected {
            let mut room = [0; 2048];
            let bytes = socket.recv(&mut room).unwrap();
            let [answered, _, pieces] = [0, 2, 4].map(|at| usize::from(u16::from_be_bytes([room[at], room[at + 1]])));
            answers[answered].push(String::from_utf8(room[8..bytes].to_vec()).unwrap());
            expected = if answered == number { pieces } else { expected };
        }
    }
    answers
}

#[test]
fn a_request_of_several_datagrams_is_dropped_as_by_memcached() {
    let serving = Serving::start(&["--memcached", "udp://127.0.0.1:0"]);
    let to = serving.datagrams.as_deref().unwrap();
    let answers = datagrams(
        to,
        &[
            (0, 1, b"set page 0 0 4\r\nsafe\r\n"),
            (0, 2, b"set page 0 0 100\r\n<html>"),
            (1, 2, b"\r\nset victim 0 0 5\r\nOWNED\r\n"),
            (0, 0, b"flush_all\r\n"),
            (0, 1, b"get page victim\r\n"),
        ],
    );
    let expected: [&[&str]; 5] = [&["STORED\r\n"], &[], &[], &[], &["VALUE page 0 4\r\nsafe\r\nEND\r\n"]];
    assert_eq!(answers, expected);
}

#[test]
fn an_answer_to_a_datagram_is_at_most_ten_datagrams() {
    let serving = Serving::start(&["--memcached", "udp://127.0.0.1:0", "--value-bytes", "100000"]);
    let mut stream = serving.connect();
    for (key, bytes) in [("ten", 13_700), ("eleven", 14_000), ("long", 100_000)] {
        assert_eq!(say(&mut stream, &format!("set {key} 0 0 {bytes}\r\n{}\r\n", "v".repeat(bytes))), ["STORED"]);
    }
    let short = "get nothing\r\n".repeat(3000);
    let answers = datagrams(
        serving.datagrams.as_deref().unwrap(),
        &[(0, 1, b"get ten\r\n"), (0, 1, b"get eleven\r\n"), (0, 1, b"get long\r\nmn\r\n"), (0, 1, short.as_bytes())],
    );
    assert_eq!((answers[0].len(), answers[0].concat().len()), (10, 13_700 + 26));
    let error = "SERVER_ERROR out of memory writing get response\r\n";
    assert_eq!(answers[1..], [[error], [&format!("{error}MN\r\n")], [error]]);
}

/// A number from `stats`.
fn stat(stream: &mut TcpStream, name: &str) -> u64 {
    let stats = say(stream, "stats\r\n");
    let value = stats.iter().find_map(|line| line.strip_prefix(&format!("STAT {name} ")));
    value.unwrap_or_else(|| panic!("no {name} in {stats:?}")).parse().unwrap()
}

#[test]
fn a_tenant_that_floods_its_quota_takes_nothing_from_another() {
    for (mode, is_cache) in [("cache", true), ("store", false)] {
        let serving =
            Serving::start(&["--mode", mode, "--quota", "tcp://127.0.0.1:0=4MiB", "--quota", "tcp://127.0.0.1:0=2MiB"]);
        let [mut common, mut ann, mut bob] = [0, 1, 2].map(|at| serving.connect_to(at));
        for stream in [&mut common, &mut ann] {
            assert_eq!(say(stream, "set k 0 0 3\r\nown\r\n"), ["STORED"]);
        }
        // Sixteen times bob's quota, in batches.
        let value = "v".repeat(1000);
        let mut refused = 0;
        for batch in 0..16 {
            let sets = (0..2000).map(|n| format!("set key-{batch}-{n} 0 0 1000\r\n{value}\r\n")).collect::<String>();
            let answers = say(&mut bob, &sets);
            assert_eq!(answers.len(), 2000);
            refused += answers.iter().filter(|answer| *answer == "SERVER_ERROR out of memory storing object").count();
        }
        assert_eq!(refused > 20_000, !is_cache, "{refused} refused in mode {mode}");
        for (name, stream) in [("common", &mut common), ("ann", &mut ann)] {
            assert_eq!(say(stream, "get k\r\n"), ["VALUE k 0 3", "own", "END"], "{name}");
            assert_eq!((stat(stream, "evictions"), stat(stream, "curr_items")), (0, 1), "{name}");
        }
        assert_eq!(say(&mut bob, "get k\r\n"), ["END"], "keys of tenants do not meet");
        assert!((1 << 20..=2 << 20).contains(&stat(&mut bob, "limit_maxbytes")));
        assert!((3 << 20..=4 << 20).contains(&stat(&mut ann, "limit_maxbytes")));
        assert_eq!(stat(&mut bob, "evictions") > 20_000, is_cache);
    }
}

#[test]
fn a_unix_socket_serves_its_user_and_is_gone_with_its_server() {
    use std::os::unix::fs::PermissionsExt;
    use std::os::unix::net::UnixStream;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("socket");
    let endpoint = format!("unix:{}", path.display());
    let args = ["serve", "kv", "--memcached", &endpoint, "--items", "1k", "--workers", "2", "--end-with-parent"];
    // A file that a killed server has left does not hinder the next.
    for ends_by in [rustix::process::Signal::KILL, rustix::process::Signal::TERM] {
        let mut child = command(&args).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        assert_eq!(line, format!("ready {endpoint}\n"));
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o700);
        let mut stream = UnixStream::connect(&path).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        stream.write_all(b"set k 0 0 2\r\nok\r\nget k\r\nquit\r\n").unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        assert_eq!(answer, "STORED\r\nVALUE k 0 2\r\nok\r\nEND\r\n");
        nebula(&args).assert_error(1, "is being served already");
        signal(&child, ends_by);
        child.wait().unwrap();
    }
    assert!(!path.exists());
    std::fs::write(&path, "a file of somebody's").unwrap();
    assert_eq!(nebula(&args).code, Some(1));
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "a file of somebody's");
}

#[test]
fn monitors_find_their_figures() {
    let serving = Serving::of(&["--memcached", "tcp://127.0.0.1:0", "--items", "1k", "--memcached-clients-max", "2"]);
    let (mut stream, mut other) = (serving.connect(), serving.connect());
    // Only who has asked keeps its place.
    assert_eq!(say(&mut other, "version\r\n").len(), 1);
    assert_eq!(say(&mut stream, "set k 0 0 100\r\n{}\r\n".replace("{}", &"v".repeat(100)).as_str()), ["STORED"]);
    let mut refused = serving.connect();
    let mut text = String::new();
    assert!(refused.read_to_string(&mut text).is_ok() && text.starts_with("ERROR Too many"), "{text}");
    drop(other);
    // An engine writes its figures from time to time.
    wait_until("the figures", || {
        let seen =
            ["total_connections", "rejected_connections", "curr_connections"].map(|name| stat(&mut stream, name));
        seen == [2, 1, 1] && stat(&mut stream, "bytes_read") > 100 && stat(&mut stream, "bytes_written") > 1000
    });
    assert!((100..1000).contains(&stat(&mut stream, "bytes")));
    let names: Vec<_> = say(&mut stream, "stats\r\n");
    for name in ["rusage_user", "rusage_system", "evicted_unfetched", "evicted_active", "reclaimed", "accepting_conns"]
    {
        assert!(names.iter().any(|line| line.starts_with(&format!("STAT {name} "))), "{name}: {names:?}");
    }
}

#[test]
fn keys_are_listed_with_their_metadata_as_far_as_an_answer_goes() {
    let serving = Serving::start(&[]);
    let mut stream = serving.connect();
    assert_eq!(say(&mut stream, "set a%b 5 0 3\r\nabc\r\nset c 0 1000 1\r\nd\r\nget c\r\n").len(), 5);
    let sorted = |mut lines: Vec<String>| {
        lines.sort_unstable();
        lines
    };
    let dump = sorted(say(&mut stream, "lru_crawler metadump all\r\n"));
    assert_eq!(dump.len(), 3);
    assert!(dump[0] == "END" && dump[1].starts_with("key=a%25b exp=-1 la="), "{dump:?}");
    assert!(dump[1].ends_with(" fetch=no cls=1 size=65") && dump[2].contains(" fetch=yes cls=1 size="), "{dump:?}");
    let lines = sorted(say(&mut stream, "stats cachedump 1 0\r\n"));
    assert!(
        lines[0] == "END" && lines[1] == "ITEM a%b [3 b; 0 s]" && lines[2].starts_with("ITEM c [1 b; "),
        "{lines:?}"
    );
    assert_eq!(say(&mut stream, "stats cachedump 1 1\r\n").len(), 2);
    let sets: String = (0..30_000).map(|number| format!("set key{number} 0 0 1 noreply\r\nv\r\n")).collect();
    assert_eq!(say(&mut stream, &sets), [""; 0]);
    for list in ["lru_crawler metadump all", "stats cachedump 1 0"] {
        let lines = say(&mut stream, &format!("{list}\r\n"));
        assert!(lines.last().is_some_and(|line| line == "END") && lines.len() > 10_000, "{}", lines.len());
        assert!(lines.iter().map(|line| line.len() + 1).sum::<usize>() < 1 << 20);
    }
}

#[test]
fn a_value_longer_than_was_said_is_refused_at_every_endpoint() {
    let serving = Serving::start(&["--value-bytes", "64", "--quota", "tcp://127.0.0.1:0=4MiB"]);
    let value = "v".repeat(65);
    for server in 0..2 {
        let mut stream = serving.connect_to(server);
        assert_eq!(say(&mut stream, &format!("set k 0 0 64\r\n{}\r\n", &value[1..])), ["STORED"]);
        assert_eq!(say(&mut stream, "append k 0 0 1\r\nv\r\nmg k s\r\n"), ["NOT_STORED", "HD s64"]);
        let too_large = "SERVER_ERROR object too large for cache";
        // As in memcached, nobody then takes the old value for the new one.
        for set in ["set k 0 0 65", "ms k 65"] {
            assert_eq!(say(&mut stream, &format!("{set}\r\n{value}\r\nget k\r\n")), [too_large, "END"]);
        }
    }
}

#[test]
fn a_long_longest_value_takes_no_room_from_short_ones() {
    let serving = Serving::of(&["--memcached", "tcp://127.0.0.1:0", "--memory", "64MiB", "--value-bytes", "1048575"]);
    let (mut stream, value) = (serving.connect(), "v".repeat(100));
    for batch in 0..20 {
        let numbers = batch * 1000..(batch + 1) * 1000;
        let sets = numbers.map(|number| format!("set k{number} 0 0 100 noreply\r\n{value}\r\n")).collect::<String>();
        assert_eq!(say(&mut stream, &sets), [""; 0]);
    }
    assert_eq!((stat(&mut stream, "curr_items"), stat(&mut stream, "evictions")), (20_000, 0));
}

#[test]
fn quotas_that_leave_nothing_are_refused() {
    let serve = |more: &[&str]| nebula(&[&["serve", "kv", "--endpoint", "shm://cli-quota"], more].concat());
    serve(&["--memory", "64MiB", "--quota", "tcp://127.0.0.1:0=1GiB"])
        .assert_error(2, "together, but all stores may use");
    assert_eq!(serve(&["--quota", "tcp://127.0.0.1:0"]).code, Some(2));
}

/// Asks for `k` until the server is gone; how many requests were answered with the value, with
/// busy, and not at all.
fn ask_until_gone(address: &str) -> [u64; 3] {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    let mut answers = BufReader::new(stream.try_clone().unwrap());
    let mut seen = [0, 0, 0];
    while stream.write_all(b"get k\r\n").is_ok() {
        let mut line = String::new();
        let kind = match answers.read_line(&mut line) {
            Ok(1..) if line.starts_with("VALUE ") => {
                (0..2).for_each(|_| assert!(answers.read_line(&mut line).is_ok()));
                usize::from(!line.ends_with("END\r\n")) * 2
            }
            Ok(1..) => 1,
            _ => 2,
        };
        seen[kind] += 1;
        if kind == 2 {
            break;
        }
    }
    seen
}

#[test]
fn a_server_that_drains_tells_memcached_clients_and_the_next_one_has_its_address() {
    let mut serving = Serving::start(&[]);
    assert_eq!(say(&mut serving.connect(), "set k 0 0 3\r\nown\r\n"), ["STORED"]);
    let address = serving.addresses[0].clone();
    let askers: Vec<_> = (0..4)
        .map(|_| {
            let address = address.clone();
            std::thread::spawn(move || ask_until_gone(&address))
        })
        .collect();
    wait_until("hits", || stat(&mut serving.connect(), "get_hits") >= 400);
    signal(&serving.child, rustix::process::Signal::TERM);
    assert!(serving.child.wait().unwrap().success(), "a drain with clients connected ends well");
    for asker in askers {
        let [values, _, nothing] = asker.join().unwrap();
        // At most the last request, which met the server's end, has no answer.
        assert!(values > 0 && nothing <= 1, "{values} values, {nothing} without an answer");
    }
    let next = Serving::start_at(&address, &[]);
    assert_eq!(say(&mut next.connect(), "get k\r\n"), ["END"]);
}

#[test]
fn all_servers_of_a_process_are_in_its_metrics() {
    let mut serving = Serving::start(&["--quota", "tcp://127.0.0.1:0=2MiB", "--metrics", "127.0.0.1:0"]);
    let metrics = metrics_of(&mut serving.child);
    assert_eq!(say(&mut serving.connect_to(1), "set a 0 0 1\r\n1\r\nget a\r\nget b\r\n").len(), 5);
    let [first, second] = [0, 1].map(|at| format!("tcp://{}", serving.addresses[at]));
    let page = |path: &str| {
        let mut stream = TcpStream::connect(&metrics).unwrap();
        stream.write_all(format!("GET {path} HTTP/1.1\r\n\r\n").as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    };
    let expected = [
        format!("nebula_store_hits_total{{endpoint=\"{second}\"}} 1"),
        // `get b`, and the mark.
        format!("nebula_store_misses_total{{endpoint=\"{second}\"}} 2"),
        format!("nebula_store_sets_total{{endpoint=\"{second}\"}} 1"),
        format!("nebula_rpcs_offered_total{{endpoint=\"{first}\"}} 0"),
    ];
    // The server writes the counters from time to time.
    wait_until("the counters", || {
        let text = page("/metrics");
        expected.iter().all(|line| text.lines().any(|found| found == line))
    });
    assert!(page("/servers.json").ends_with(&format!("[\"{first}\",\"{second}\"]")));
    assert!(page("/status.json?server=1").contains(&format!("\"endpoint\":\"{second}\"")));
    assert!(page("/status.json?server=2").starts_with("HTTP/1.1 404"));
}

#[test]
fn one_store_has_two_listeners() {
    let name = endpoint("memcached");
    let serving = Serving::start(&["--endpoint", &name, "--inline"]);
    let load = nebula(&[
        "load",
        "kv",
        "--endpoint",
        &name,
        "--preload",
        "--keys",
        "100",
        "--value-bytes",
        "16",
        "--rate",
        "1k",
        "--duration",
        "100ms",
        "--warm-up",
        "0s",
        "--patience",
        "1s",
    ]);
    load.assert_ok();
    let answer = ask(&mut serving.connect(), [&b"stats\r\n"[..]].into_iter());
    let text = String::from_utf8(answer).unwrap();
    assert!(text.contains("STAT curr_items 100\r\n"), "{text}");
}
