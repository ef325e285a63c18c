//! Encodes operations and checks replies: wrong answers do not count as throughput.
//!
//! A value is one word repeated, computed from its key and its length. So any reader can check that a value belongs to its key, is
//! complete, and has the stated length, without knowing which client wrote it.

use nebula_kvs::protocol::{HEADER_BYTES, ProtocolError, Reply, Request, Status};
use nebula_workload::{KEY_BYTES, Key, Op, Operation};

/// A reply that a correct service never sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum WrongAnswer {
    #[error("the store is full: start the server with more --items, or with --mode cache")]
    Full,
    #[error("the service could not decode a request: is the server `nebula serve kv` of the same version?")]
    Malformed,
    #[error("unexpected reply to {op}: {status:?} with a value of {value_bytes} bytes")]
    Status { op: Op, status: Status, value_bytes: usize },
    #[error(
        "GET of key {key} returned {value_bytes} bytes that this load generator did not write; do other clients use the store?"
    )]
    Value { key: u64, value_bytes: usize },
    #[error("invalid reply: {0}")]
    Protocol(#[from] ProtocolError),
}

/// The request buffers of one client.
#[derive(Debug)]
pub(super) struct Requests {
    value: Vec<u8>,
    message: Vec<u8>,
}

impl Requests {
    /// Buffers for values of up to `value_bytes_max` bytes.
    pub(super) fn new(value_bytes_max: u32) -> Self {
        let value_bytes = value_bytes_max as usize;
        Self { value: vec![0; value_bytes], message: vec![0; HEADER_BYTES + KEY_BYTES + value_bytes] }
    }

    /// Encodes an operation, without allocation.
    #[inline]
    pub(super) fn encode(&mut self, operation: &Operation) -> Result<&[u8], ProtocolError> {
        let key = &operation.key.to_bytes();
        let request = match operation.op {
            Op::Get => Request::Get { key },
            Op::Delete => Request::Delete { key },
            Op::Set => {
                let bytes = (operation.value_bytes as usize).min(self.value.len());
                fill(operation.key, &mut self.value[..bytes]);
                Request::Set { key, value: &self.value[..bytes] }
            }
        };
        let bytes = request.encode_into(&mut self.message)?;
        Ok(&self.message[..bytes])
    }
}

/// The hash by which the policy `key-hash` chooses a worker.
#[inline]
pub(super) fn key_hash(key: Key) -> u32 {
    // The upper half of the product depends on every bit of the key.
    (key.0.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32) as u32
}

/// Bytes of the longest reply, if values have up to `value_bytes` bytes.
pub(super) fn reply_bytes(value_bytes: u32) -> u32 {
    value_bytes.saturating_add(8)
}

const _: () = assert!(HEADER_BYTES == 8, "`reply_bytes` assumes this header");

/// Checks the reply to `operation`; returns whether the key was found.
///
/// # Errors
///
/// [`WrongAnswer`] if the service is faulty or full, or if other clients write to its store.
#[inline]
pub(super) fn check(operation: &Operation, reply: &[u8]) -> Result<bool, WrongAnswer> {
    let Reply { status, value } = Reply::decode(reply)?;
    match (operation.op, status) {
        (Op::Get, Status::Ok) if is_of(operation.key, value) => Ok(true),
        (Op::Get, Status::Ok) => Err(WrongAnswer::Value { key: operation.key.0, value_bytes: value.len() }),
        (Op::Set | Op::Delete, Status::Ok) if value.is_empty() => Ok(true),
        (Op::Get | Op::Delete, Status::NotFound) => Ok(false),
        (_, Status::Full) => Err(WrongAnswer::Full),
        (_, Status::Malformed) => Err(WrongAnswer::Malformed),
        (op, status) => Err(WrongAnswer::Status { op, status, value_bytes: value.len() }),
    }
}

/// The word that the value of `key`, of `bytes` bytes, repeats.
#[inline]
fn word(key: Key, bytes: usize) -> [u8; 8] {
    // Two odd multipliers, so that neighboring keys and lengths give words that differ in most bits.
    let mixed = (key.0 ^ (bytes as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15)).wrapping_mul(0xD6E8_FEB8_6659_FD93);
    (mixed ^ mixed >> 32).to_le_bytes()
}

#[inline]
pub(super) fn fill(key: Key, value: &mut [u8]) {
    let word = word(key, value.len());
    let (whole, rest) = value.as_chunks_mut::<8>();
    whole.fill(word);
    rest.copy_from_slice(&word[..rest.len()]);
}

/// Whether the first and the last word belong to the key. A mixture of two values differs in one of them, unless both ends come from
/// the same value.
#[inline]
pub(super) fn is_of(key: Key, value: &[u8]) -> bool {
    let word = word(key, value.len());
    let (whole, rest) = value.as_chunks::<8>();
    let ends = [whole.first(), whole.last()];
    ends.into_iter().flatten().all(|end| *end == word) && *rest == word[..rest.len()]
}

#[cfg(test)]
mod tests {
    use super::*;
    use nebula_nic::Timestamp;

    fn operation(op: Op, key: u64, value_bytes: u32) -> Operation {
        Operation { at: Timestamp::ZERO, op, key: Key(key), value_bytes }
    }

    fn value_of(key: u64, bytes: u32) -> Vec<u8> {
        let mut requests = Requests::new(bytes);
        let encoded = requests.encode(&operation(Op::Set, key, bytes)).unwrap();
        let Ok(Request::Set { value, .. }) = Request::decode(encoded) else { panic!("no SET: {encoded:?}") };
        value.to_vec()
    }

    fn answer(operation: &Operation, status: Status, value: &[u8]) -> Result<bool, WrongAnswer> {
        let mut reply = vec![0; 8 + value.len()];
        Reply { status, value }.encode_into(&mut reply).unwrap();
        check(operation, &reply)
    }

    #[test]
    fn a_value_that_was_set_is_right_at_every_length() {
        for bytes in [0, 1, 7, 8, 9, 16, 511, 512] {
            assert_eq!(answer(&operation(Op::Get, 7, 0), Status::Ok, &value_of(7, bytes)), Ok(true), "{bytes}");
        }
    }

    #[test]
    fn values_of_another_key_or_length_or_of_two_writers_are_wrong() {
        let get = operation(Op::Get, 7, 0);
        let right = value_of(7, 64);
        let torn = [&right[..32], &value_of(8, 64)[32..]].concat();
        for wrong in [value_of(8, 64), right[..56].to_vec(), value_of(7, 512)[..64].to_vec(), torn] {
            assert!(matches!(answer(&get, Status::Ok, &wrong), Err(WrongAnswer::Value { key: 7, .. })));
        }
    }

    #[test]
    fn a_miss_is_an_answer_to_a_get_and_none_to_a_set() {
        assert_eq!(answer(&operation(Op::Get, 1, 0), Status::NotFound, &[]), Ok(false));
        assert_eq!(answer(&operation(Op::Delete, 1, 0), Status::NotFound, &[]), Ok(false));
        assert!(matches!(answer(&operation(Op::Set, 1, 8), Status::NotFound, &[]), Err(WrongAnswer::Status { .. })));
        assert_eq!(answer(&operation(Op::Set, 1, 8), Status::Full, &[]), Err(WrongAnswer::Full));
        assert!(matches!(check(&operation(Op::Get, 1, 0), &[0; 3]), Err(WrongAnswer::Protocol(_))));
    }
}
