//! The service's message formats: encoded messages decode to the same, and nothing else decodes.

use nebula_kvs::{
    VALUE_BYTES_MAX,
    protocol::{HEADER_BYTES, ProtocolError, Reply, Request, Status},
};
use nebula_testing::seeded;

const STATUSES: [Status; 6] =
    [Status::Ok, Status::NotFound, Status::Full, Status::Malformed, Status::OtherPartition, Status::Unknown];

fn encoded(request: Request<'_>) -> Vec<u8> {
    let mut buffer = vec![0xEE; request.encoded_bytes()];
    assert_eq!(request.encode_into(&mut buffer), Ok(buffer.len()));
    buffer
}

#[test]
fn a_request_has_the_bytes_that_the_module_documents() {
    let set = encoded(Request::Set { key: b"0123456789abcdef", value: &[9; 8] });
    assert_eq!(set.len(), 32);
    assert_eq!(set[..HEADER_BYTES], [2, 16, 0, 0, 8, 0, 0, 0]);
    assert_eq!(set[HEADER_BYTES..], [&b"0123456789abcdef"[..], &[9; 8]].concat());
    assert_eq!(encoded(Request::Get { key: b"0123456789abcdef" }).len(), 24);
    assert_eq!(encoded(Request::Delete { key: b"k" }), [3, 1, 0, 0, 0, 0, 0, 0, b'k']);
}

#[test]
fn a_reply_has_the_bytes_that_the_module_documents() {
    let mut buffer = [0xEE; 11];
    assert_eq!(Reply { status: Status::Ok, value: b"abc" }.encode_into(&mut buffer), Ok(11));
    assert_eq!(buffer, [0, 0, 0, 0, 3, 0, 0, 0, b'a', b'b', b'c']);
    assert_eq!(Reply::header(Status::NotFound, 0), [1, 0, 0, 0, 0, 0, 0, 0]);
}

#[test]
fn bytes_that_decode_are_what_encoding_writes() {
    seeded(|u| {
        let mut bytes: Vec<u8> = u.arbitrary()?;
        // Half of the inputs start with a nearly valid header, since few random bytes pass the
        // first check.
        if u.arbitrary()? && bytes.len() >= HEADER_BYTES {
            bytes[0] %= 4;
            bytes[2..HEADER_BYTES].fill(0);
            let body = bytes.len() - HEADER_BYTES;
            bytes[1] = bytes[1].min(u8::try_from(body).unwrap_or(u8::MAX));
            let value = u32::try_from(body - usize::from(bytes[1])).expect("short");
            bytes[4..HEADER_BYTES].copy_from_slice(&value.to_le_bytes());
        }
        if let Ok(request) = Request::decode(&bytes) {
            assert_eq!(encoded(request), bytes);
        }
        if let Ok(reply) = Reply::decode(&bytes) {
            let mut buffer = vec![0; reply.encoded_bytes()];
            assert_eq!(reply.encode_into(&mut buffer), Ok(bytes.len()));
            assert_eq!(buffer, bytes);
        }
        Ok(())
    })
    .size_max(2_000)
    .runs(300);
}

#[test]
fn requests_of_every_size_come_back() {
    seeded(|u| {
        let key: Vec<u8> = u.arbitrary()?;
        let value: Vec<u8> = u.arbitrary()?;
        for request in
            [Request::Get { key: &key }, Request::Set { key: &key, value: &value }, Request::Delete { key: &key }]
        {
            let mut buffer = vec![0xEE; request.encoded_bytes() + 3];
            match request.encode_into(&mut buffer) {
                Ok(bytes) => assert_eq!(Request::decode(&buffer[..bytes]), Ok(request)),
                Err(error) => {
                    assert_eq!(error, ProtocolError::KeyBytes { got: key.len() });
                    assert!(key.is_empty() || key.len() > 255);
                }
            }
        }
        Ok(())
    })
    .size_max(2_000)
    .runs(300);
}

#[test]
fn a_truncated_or_extended_message_is_refused() {
    let whole = encoded(Request::Set { key: b"key", value: b"value" });
    for bytes in 0..whole.len() {
        assert!(Request::decode(&whole[..bytes]).is_err(), "{bytes} bytes");
    }
    let longer = [&whole[..], &[0]].concat();
    assert_eq!(Request::decode(&longer), Err(ProtocolError::Length { announced: 16, got: 17 }));
    assert_eq!(Request::decode(&whole[..7]), Err(ProtocolError::Short { got: 7 }));
}

#[test]
fn a_header_with_a_wrong_length_is_refused() {
    let with = |at: usize, byte: u8| {
        let mut bytes = encoded(Request::Get { key: b"key" });
        bytes[at] = byte;
        Request::decode(&bytes).map(|_| ())
    };
    assert_eq!(with(0, 0), Err(ProtocolError::Opcode { code: 0 }));
    assert_eq!(with(0, 4), Err(ProtocolError::Opcode { code: 4 }));
    assert_eq!(with(2, 1), Err(ProtocolError::Reserved));
    assert_eq!(with(3, 1), Err(ProtocolError::Reserved));
    assert_eq!(with(1, 4), Err(ProtocolError::Length { announced: 12, got: 11 }));
    assert_eq!(with(7, 0xFF), Err(ProtocolError::Length { announced: 11 + 0xFF00_0000, got: 11 }));
    assert_eq!(Request::decode(&[1, 0, 0, 0, 0, 0, 0, 0]), Err(ProtocolError::KeyBytes { got: 0 }));
    assert_eq!(Request::decode(&[1, 1, 0, 0, 1, 0, 0, 0, 1, 1]), Err(ProtocolError::ValueBytes { got: 1, max: 0 }));
    assert_eq!(Reply::decode(&[1, 0, 0, 0, 1, 0, 0, 0, 1]), Err(ProtocolError::ValueBytes { got: 1, max: 0 }));
    assert_eq!(Reply::decode(&[6, 0, 0, 0, 0, 0, 0, 0]), Err(ProtocolError::StatusCode { code: 6 }));
}

#[test]
fn every_status_comes_back() {
    for status in STATUSES {
        let header = Reply::header(status, 0);
        assert_eq!(Reply::decode(&header), Ok(Reply { status, value: &[] }));
    }
}

#[test]
fn a_value_over_the_limit_and_a_short_buffer_are_refused_before_anything_is_written() {
    let value = vec![0; VALUE_BYTES_MAX + 1];
    let mut buffer = vec![7; value.len() + 64];
    let refused = Err(ProtocolError::ValueBytes { got: value.len(), max: VALUE_BYTES_MAX });
    assert_eq!(Request::Set { key: b"k", value: &value }.encode_into(&mut buffer), refused);
    assert_eq!(Reply { status: Status::Ok, value: &value }.encode_into(&mut buffer), refused);
    let short = Request::Get { key: b"k" }.encode_into(&mut buffer[..8]);
    assert_eq!(short, Err(ProtocolError::BufferTooShort { needed: 9, got: 8 }));
    assert!(buffer.iter().all(|&byte| byte == 7));
}
