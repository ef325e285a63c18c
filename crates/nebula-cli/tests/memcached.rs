//! The server answers memcached's clients as memcached does: the cases of `memcached/cases.txt`, which were recorded from it.
//!
//! `cargo xtask memcached` sends them to memcached too, in more ways, and calls client libraries on both.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::Child;
use std::time::Duration;

use crate::program::command;

/// Sent behind each request, so that its answer is known to be whole.
const MARK: &[u8] = b"mg end-of-case k O777\r\n";
const MARKED: &[u8] = b"EN kend-of-case O777\r\n";
/// Longer requests are sent whole only.
const BYTE_BY_BYTE_MAX: usize = 200;

/// A case: what is sent and answered in turn.
struct Case {
    name: String,
    steps: Vec<(Vec<u8>, Vec<u8>)>,
}

/// Bytes as the file writes them.
fn bytes(text: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut left = text;
    while let Some(&first) = left.as_bytes().first() {
        let repeated = left.strip_prefix('{').and_then(|rest| rest.split_once('}'));
        if let Some((repeat, rest)) = repeated
            && let Some((what, times)) = repeat.split_once('*')
        {
            bytes.extend(what.repeat(times.parse().unwrap()).bytes());
            left = rest;
            continue;
        }
        let (byte, length) = match left.as_bytes() {
            [b'\\', b'r', ..] => (b'\r', 2),
            [b'\\', b'n', ..] => (b'\n', 2),
            [b'\\', b'\\', ..] => (b'\\', 2),
            [b'\\', b'x', ..] => (u8::from_str_radix(&left[2..4], 16).unwrap(), 4),
            _ => (first, 1),
        };
        bytes.push(byte);
        left = &left[length..];
    }
    bytes
}

fn cases() -> Vec<Case> {
    let mut cases: Vec<Case> = Vec::new();
    let text = include_str!("memcached/cases.txt").split_once("\n\n").unwrap().1;
    for line in text.lines() {
        match line.split_once(' ') {
            Some(("#", name)) => cases.push(Case { name: name.to_owned(), steps: Vec::new() }),
            Some((">", sent)) => cases.last_mut().unwrap().steps.push((bytes(sent), Vec::new())),
            Some(("<", answer)) => cases.last_mut().unwrap().steps.last_mut().unwrap().1 = bytes(answer),
            _ => {}
        }
    }
    assert!(cases.len() > 40);
    cases
}

/// An answer without what differs from server to server, or with the time.
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
    // Times are rounded up to tens, for a second may have passed.
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

/// A server that ends with this value.
struct Serving {
    child: Child,
    address: String,
}

impl Serving {
    fn start(more: &[&str]) -> Self {
        let args = ["serve", "kv", "--memcached", "tcp://127.0.0.1:0", "--items", "100k", "--value-bytes", "256"];
        // An hour: on a machine that pauses, a request is to wait and not to be refused.
        let slo = ["--memcached-slo", "3600s", "--end-with-parent"];
        let mut child = command(&[&args[..], &slo, more].concat()).spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let ready = lines.map(Result::unwrap).find_map(|line| Some(line.strip_prefix("ready tcp://")?.to_owned()));
        Self { address: ready.unwrap(), child }
    }

    fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(&self.address).unwrap();
        stream.set_nodelay(true).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        stream
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

/// Sends `pieces` and the mark; what is answered before it.
fn ask<'a>(stream: &mut TcpStream, pieces: impl Iterator<Item = &'a [u8]>) -> Vec<u8> {
    // A server that has closed the connection is seen below.
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

/// Sends all cases, in pieces of `piece` bytes where a request is short.
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

#[test]
fn one_store_has_two_doors() {
    let name = format!("shm://cli-memcached-{}", std::process::id());
    let serving = Serving::start(&["--endpoint", &name, "--inline"]);
    let load = crate::program::nebula(&[
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
