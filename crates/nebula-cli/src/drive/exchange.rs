//! One operation as bytes, and the look at its answer: a service that answers fast and wrong has no throughput.
//!
//! A value is one word over and over, made of its key and its length. So whoever reads it can tell, without knowing who wrote
//! it, whether it is the key's, whole, and of the length it says.

use nebula_kvs::protocol::{HEADER_BYTES, ProtocolError, Reply, Request, Status};
use nebula_workload::{KEY_BYTES, Key, Op, Operation};

/// An answer that the service must not give.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum WrongAnswer {
    #[error("the store is full: serve it with more --items, or with --mode cache")]
    Full,
    #[error("the service could not understand a request: is it `nebula serve kv`, of this version?")]
    Malformed,
    #[error("a {op} was answered with {status:?} and {value_bytes} bytes")]
    Status { op: Op, status: Status, value_bytes: usize },
    #[error(
        "GET of key {key} returned {value_bytes} bytes that this load generator never wrote there; is the store shared?"
    )]
    Value { key: u64, value_bytes: usize },
    #[error("an answer is none of the service's: {0}")]
    Protocol(#[from] ProtocolError),
}

/// Requests of one client, made in memory of its own.
#[derive(Debug)]
pub(super) struct Requests {
    value: Vec<u8>,
    message: Vec<u8>,
}

impl Requests {
    /// Room for values of up to `value_bytes_max` bytes.
    pub(super) fn new(value_bytes_max: u32) -> Self {
        let value_bytes = value_bytes_max as usize;
        Self { value: vec![0; value_bytes], message: vec![0; HEADER_BYTES + KEY_BYTES + value_bytes] }
    }

    /// The bytes of an operation; no allocation.
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

/// What the policy `key-hash` chooses a worker by.
#[inline]
pub(super) fn key_hash(key: Key) -> u32 {
    // The upper half of the product depends on every bit of the key.
    (key.0.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32) as u32
}

/// Bytes of the longest reply when values have up to `value_bytes` bytes.
pub(super) fn reply_bytes(value_bytes: u32) -> u32 {
    value_bytes.saturating_add(8)
}

const _: () = assert!(HEADER_BYTES == 8, "as `reply_bytes` has it");

/// Looks at the reply to `operation`: whether the key was found.
///
/// # Errors
///
/// [`WrongAnswer`], of a service that is broken, full, or used by others too.
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

/// The word that a value of `bytes` bytes under `key` consists of.
#[inline]
fn word(key: Key, bytes: usize) -> [u8; 8] {
    // Two odd multipliers, so that neighbours in key and length differ in most bits.
    let mixed = (key.0 ^ (bytes as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15)).wrapping_mul(0xD6E8_FEB8_6659_FD93);
    (mixed ^ mixed >> 32).to_le_bytes()
}

#[inline]
fn fill(key: Key, value: &mut [u8]) {
    let word = word(key, value.len());
    let (whole, rest) = value.as_chunks_mut::<8>();
    whole.fill(word);
    rest.copy_from_slice(&word[..rest.len()]);
}

/// Whether the first and the last word are the key's: a mixture of two values differs in one of them, unless both ends are of one.
#[inline]
fn is_of(key: Key, value: &[u8]) -> bool {
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
