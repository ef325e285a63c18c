//! Streams are cut into requests as the cases say, however the bytes come, and no bytes are too
//! strange.

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

fn cases() -> Vec<Case> {
    let cases = nebula_testing::cases::read(include_str!("requests.txt")).into_iter().map(
        |nebula_testing::cases::Case { name, lines }| {
            let (mut sent, mut pieces) = (Vec::new(), Vec::new());
            for (word, rest) in lines {
                match word {
                    ">" => sent.extend(nebula_testing::cases::bytes(rest)),
                    _ => pieces.push(piece(rest)),
                }
            }
            Case { name: name.to_owned(), sent, pieces }
        },
    );
    cases.collect()
}

/// A piece as the file names it.
fn piece(text: &str) -> Piece {
    let (kind, rest) = text.split_once(' ').unwrap_or((text, ""));
    match kind {
        "request" => Piece::Request(nebula_testing::cases::bytes(rest)),
        "skip" => Piece::Skip(rest.parse().unwrap()),
        "quit" => Piece::Quit,
        "broken" => Piece::Broken(nebula_testing::cases::bytes(rest)),
        "rest" => Piece::Rest(rest.parse().unwrap()),
        _ => panic!("{text}"),
    }
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
    nebula_testing::seeded(|u| {
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
