//! Streams are cut into requests as the cases say, however the bytes come, and no bytes are too strange.

use nebula_memcached::frame::{Framed, next};
use nebula_memcached::request::Request;

const REQUEST_BYTES_MAX: usize = 4096;

/// A case of `requests.txt`.
struct Case {
    name: String,
    sent: Vec<u8>,
    pieces: Vec<Piece>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Piece {
    Request(Vec<u8>),
    Skip(usize),
    Quit,
    Broken(Vec<u8>),
    Rest(usize),
}

/// Bytes as the file writes them.
fn bytes(text: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut left = text;
    while let Some(first) = left.chars().next() {
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
            _ => (u8::try_from(first).unwrap(), 1),
        };
        bytes.push(byte);
        left = &left[length..];
    }
    bytes
}

fn cases() -> Vec<Case> {
    let mut cases: Vec<Case> = Vec::new();
    for line in include_str!("requests.txt").lines().skip(3).filter(|line| !line.is_empty()) {
        match line.split_once(' ').unwrap_or((line, "")) {
            ("#", name) => cases.push(Case { name: name.to_owned(), sent: Vec::new(), pieces: Vec::new() }),
            (">", sent) => cases.last_mut().unwrap().sent.extend(bytes(sent)),
            (_, piece) => {
                let (kind, rest) = piece.split_once(' ').unwrap_or((piece, ""));
                cases.last_mut().unwrap().pieces.push(match kind {
                    "request" => Piece::Request(bytes(rest)),
                    "skip" => Piece::Skip(rest.parse().unwrap()),
                    "quit" => Piece::Quit,
                    "broken" => Piece::Broken(bytes(rest)),
                    "rest" => Piece::Rest(rest.parse().unwrap()),
                    _ => panic!("{line}"),
                });
            }
        }
    }
    cases
}

/// What a stream is cut into that comes in `pieces`.
fn cut<'a>(pieces: impl Iterator<Item = &'a [u8]>) -> Vec<Piece> {
    let (mut stream, mut skip, mut cut) = (Vec::new(), 0, Vec::new());
    let mut needed = 0;
    for piece in pieces {
        stream.extend_from_slice(piece);
        loop {
            let skipped = skip.min(stream.len());
            stream.drain(..skipped);
            skip -= skipped;
            if stream.is_empty() || stream.len() < needed {
                break;
            }
            match next(&stream, REQUEST_BYTES_MAX) {
                Framed::Incomplete { bytes_min } => {
                    assert!(bytes_min > stream.len(), "a part of {} that needs {bytes_min}", stream.len());
                    needed = bytes_min;
                    break;
                }
                Framed::Request { bytes, discard } => {
                    assert!(bytes > 0 && bytes <= stream.len());
                    cut.push(Piece::Request(stream.drain(..bytes).collect()));
                    (skip, needed) = (discard, 0);
                    if discard > 0 {
                        cut.push(Piece::Skip(discard));
                    }
                }
                Framed::Quit => {
                    cut.push(Piece::Quit);
                    return cut;
                }
                Framed::Broken(answer) => {
                    cut.push(Piece::Broken(answer.to_vec()));
                    return cut;
                }
            }
        }
    }
    if !stream.is_empty() {
        cut.push(Piece::Rest(stream.len()));
    }
    cut
}

#[test]
fn streams_are_cut_as_the_cases_say() {
    assert!(cases().len() >= 10);
    for Case { name, sent, pieces } in cases() {
        assert_eq!(cut([&*sent].into_iter()), pieces, "{name}");
    }
}

#[test]
fn a_stream_is_cut_alike_however_it_comes() {
    for Case { name, sent, pieces } in cases() {
        assert_eq!(cut(sent.chunks(1)), pieces, "{name}, byte by byte");
        for at in 0..sent.len() {
            let (begin, rest) = sent.split_at(at);
            assert_eq!(cut([begin, rest].into_iter()), pieces, "{name}, split at {at}");
        }
    }
}

#[test]
fn whatever_comes_is_cut_and_read_without_a_panic() {
    let words: [&[u8]; 16] = [
        b"get ",
        b"set ",
        b"ms ",
        b"mg ",
        b"ma ",
        b"md ",
        b"me ",
        b"cas ",
        b"key ",
        b"0 ",
        b"3 ",
        b"\r\n",
        b"abc\r\n",
        b" q k O1 b T5 N-1",
        b" noreply",
        b"\x00\xff",
    ];
    seeded::seeded(|u| {
        let mut stream = Vec::new();
        for _ in 0..u.int_in_range(0..=12)? {
            if u.ratio(3, 4)? {
                stream.extend_from_slice(u.choose(&words)?);
            } else {
                stream.push(u.arbitrary()?);
            }
        }
        for piece in cut([&*stream].into_iter()) {
            if let Piece::Request(request) = piece {
                let _ = format!("{:?}", Request::parse(&request));
            }
        }
        let _ = Request::parse(&stream);
        Ok(())
    });
}
