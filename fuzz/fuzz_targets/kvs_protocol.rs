//! Any bytes as a request or a reply of the key-value service or of the ordered one: decoded
//! messages encode to the same bytes.
#![no_main]

use libfuzzer_sys::fuzz_target;
use nebula_kvs::protocol::scan::{self as ordered, Pairs};
use nebula_kvs::protocol::{Reply, Request};

fuzz_target!(|bytes: &[u8]| {
    let mut buffer = vec![0xa5; bytes.len()];
    if let Ok(request) = Request::decode(bytes) {
        assert!((1..=nebula_kvs::KEY_BYTES_MAX).contains(&request.key().len()));
        assert_eq!(request.encode_into(&mut buffer), Ok(bytes.len()));
        assert_eq!(buffer, bytes);
        assert!(request.encode_into(&mut buffer[1..]).is_err(), "a buffer too short was written");
    }
    if let Ok(request) = ordered::Request::decode(bytes) {
        assert_eq!(request.encode_into(&mut buffer), Ok(bytes.len()));
        assert_eq!(buffer, bytes);
    }
    // Each pair follows the previous one within the bytes; an invalid one is the last.
    let mut left = bytes.len();
    for pair in Pairs::of(bytes) {
        match pair {
            Ok((key, value)) => left -= ordered::PAIR_HEADER_BYTES + key.len() + value.len(),
            Err(wrong) => left -= wrong.left,
        }
    }
    assert_eq!(left, 0, "bytes that were neither pairs nor refused");
    if let Ok(reply) = Reply::decode(bytes) {
        assert!(reply.value.len() <= nebula_kvs::VALUE_BYTES_MAX);
        assert_eq!(reply.encode_into(&mut buffer), Ok(bytes.len()));
        assert_eq!(buffer, bytes);
    }
});
