//! The service's scan messages: encoded messages decode to the same, and nothing else decodes.

use nebula_kvs::protocol::scan::{OP_SCAN, OPERATIONS, PAIR_HEADER_BYTES, Pairs, Request, pair_header};
use nebula_kvs::protocol::{self as key_value, HEADER_BYTES, ProtocolError};
use nebula_testing::seeded;

fn encoded(request: Request<'_>) -> Vec<u8> {
    let mut buffer = vec![0xEE; request.encoded_bytes()];
    assert_eq!(request.encode_into(&mut buffer), Ok(buffer.len()));
    buffer
}

#[test]
fn a_scan_has_the_bytes_that_the_module_documents() {
    assert_eq!(encoded(Request::Scan { from: b"key", items: 0x0102 }), [4, 3, 2, 1, 0, 0, 0, 0, b'k', b'e', b'y']);
    assert_eq!((OP_SCAN, OPERATIONS), (4, 4));
    assert_eq!(pair_header(3, 0x0102), Some([3, 2, 1, 0]));
}

#[test]
fn the_other_operations_are_those_of_the_key_value_service() {
    for request in [key_value::Request::Get { key: b"k" }, key_value::Request::Set { key: b"k", value: b"v" }] {
        let mut buffer = vec![0; request.encoded_bytes()];
        request.encode_into(&mut buffer).expect("a buffer of its length");
        assert_eq!(Request::decode(&buffer), Ok(Request::Pair(request)));
        assert_eq!(encoded(Request::Pair(request)), buffer);
    }
    assert_eq!(
        key_value::Request::decode(&encoded(Request::Scan { from: b"k", items: 0 })),
        Err(ProtocolError::Opcode { code: 4 })
    );
}

#[test]
fn bytes_that_decode_are_what_encoding_writes() {
    seeded(|u| {
        let mut bytes: Vec<u8> = u.arbitrary()?;
        if u.arbitrary()? && bytes.len() >= HEADER_BYTES {
            bytes[0] = OP_SCAN;
            bytes[4..HEADER_BYTES].fill(0);
            bytes[1] = u8::try_from(bytes.len() - HEADER_BYTES).unwrap_or(u8::MAX);
        }
        if let Ok(request) = Request::decode(&bytes) {
            assert_eq!(encoded(request), bytes);
        }
        Ok(())
    })
    .size_max(1_000)
    .runs(300);
}

#[test]
fn a_scan_that_is_none_is_refused() {
    let with = |at: usize, byte: u8| {
        let mut bytes = encoded(Request::Scan { from: b"key", items: 5 });
        bytes[at] = byte;
        Request::decode(&bytes).map(|_| ())
    };
    assert_eq!(with(1, 0), Err(ProtocolError::KeyBytes { got: 0 }));
    assert_eq!(with(1, 4), Err(ProtocolError::Length { announced: 12, got: 11 }));
    assert_eq!(with(5, 1), Err(ProtocolError::ValueBytes { got: 256, max: 0 }));
    assert_eq!(Request::decode(&[4, 1, 0]), Err(ProtocolError::Short { got: 3 }));
    assert_eq!(Request::decode(&[]), Err(ProtocolError::Short { got: 0 }));
    let mut buffer = [0; 10];
    let scan = Request::Scan { from: b"key", items: 1 };
    assert_eq!(scan.encode_into(&mut buffer), Err(ProtocolError::BufferTooShort { needed: 11, got: 10 }));
    assert_eq!(Request::Scan { from: &[], items: 1 }.encode_into(&mut buffer), Err(ProtocolError::KeyBytes { got: 0 }));
    assert_eq!(
        Request::Scan { from: &[1; 256], items: 1 }.encode_into(&mut [0; 300]),
        Err(ProtocolError::KeyBytes { got: 256 })
    );
}

#[test]
fn pairs_come_back_and_any_other_bytes_end_in_one_error() {
    seeded(|u| {
        let (mut bytes, mut expected) = (Vec::new(), Vec::new());
        for _ in 0..u.int_in_range(0..=5)? {
            let (key, value): (Vec<u8>, Vec<u8>) = u.arbitrary()?;
            let Some(header) = pair_header(key.len(), value.len()) else { continue };
            [&header[..], &key, &value].into_iter().for_each(|part| bytes.extend(part));
            expected.push((key, value));
        }
        let pairs: Result<Vec<_>, _> = Pairs::of(&bytes).collect();
        let owned = pairs.map(|pairs| pairs.into_iter().map(|(key, value)| (key.to_vec(), value.to_vec())).collect());
        assert_eq!(owned, Ok(expected));
        let (any, wrong): (Vec<u8>, usize) = (u.arbitrary()?, 0);
        let wrongs = Pairs::of(&any).fold(wrong, |wrongs, pair| wrongs + usize::from(pair.is_err()));
        assert!(wrongs <= 1);
        Ok(())
    })
    .size_max(3_000)
    .runs(300);
}

#[test]
fn the_headers_of_pairs_have_limits() {
    assert_eq!(pair_header(0, 5), None);
    assert_eq!(pair_header(256, 5), None);
    assert!(pair_header(255, nebula_kvs::VALUE_BYTES_MAX).is_some());
    assert_eq!(pair_header(1, nebula_kvs::VALUE_BYTES_MAX + 1), None);
    assert_eq!(PAIR_HEADER_BYTES, 4);
}
