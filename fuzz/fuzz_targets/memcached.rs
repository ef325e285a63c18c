//! Any stream of a memcached client: it is cut into the same requests however it arrives, and each
//! is parsed without a panic.
#![no_main]

use libfuzzer_sys::fuzz_target;
use nebula_memcached::frame::{Framed, next};
use nebula_memcached::request::{Get, Request, Store};

/// Short enough that some values are too long.
const REQUEST_BYTES_MAX: usize = 512;

/// The requests in a stream that arrives in pieces of `piece` bytes, and whether its end was seen.
fn cut(stream: &[u8], piece: usize) -> (Vec<(usize, usize)>, bool) {
    let (mut begin, mut requests) = (0, Vec::new());
    for end in (0..stream.len()).step_by(piece).map(|at| (at + piece).min(stream.len())) {
        while begin < end {
            match next(&stream[begin..end], REQUEST_BYTES_MAX) {
                Framed::Incomplete { bytes_min } => {
                    assert!(bytes_min > end - begin);
                    break;
                }
                Framed::Request { bytes, discard } => {
                    assert!(bytes > 0 && bytes <= end - begin);
                    requests.push((begin, bytes));
                    begin += bytes + discard;
                }
                Framed::Quit | Framed::Broken(_) => return (requests, true),
            }
        }
    }
    (requests, false)
}

fuzz_target!(|stream: &[u8]| {
    let (requests, _) = cut(stream, stream.len().max(1));
    // A line without an end is given up sooner if it arrives in pieces: the requests before it are
    // the same.
    let (in_pieces, has_ended) = cut(stream, 7);
    assert_eq!(in_pieces, requests[..in_pieces.len()]);
    assert!(has_ended || in_pieces.len() == requests.len());
    for (begin, bytes) in requests {
        match Request::parse(&stream[begin..begin + bytes]) {
            Request::Store(Store { key, value, .. }) => {
                assert!((1..=250).contains(&key.len()) && value.is_none_or(|value| value.len() <= bytes));
            }
            Request::Get(Get { keys, .. }) => keys.for_each(|key| assert!(!key.is_empty())),
            Request::Meta(meta) => assert!((1..=250).contains(&meta.key.bytes().len())),
            _ => {}
        }
    }
});
