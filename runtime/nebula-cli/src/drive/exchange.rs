//! Encodes operations and checks replies: wrong answers do not count as throughput.
//!
//! A value is one word repeated, computed from its key and its length. So any reader can check that
//! a value belongs to its key, is complete and has its stated length, whichever client wrote it.

use nebula_kvs::protocol::scan::{self as ordered, NoPair, PAIR_HEADER_BYTES, Pairs};
use nebula_kvs::protocol::{HEADER_BYTES, ProtocolError, Reply, Request, Status, steering_hash};
use nebula_kvs::{KEY_BYTES_MAX, KeyHash};
use nebula_workload::{Key, Op, Operation, key_bytes};

/// A reply that a correct service never sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum WrongAnswer {
    #[error("the store is full: start the server with more --items, or with --mode cache")]
    Full,
    #[error(
        "the service could not decode a request: is the server `nebula serve kv` of the same version, or for SCAN `nebula serve ordered`?"
    )]
    Malformed,
    #[error("the worker does not have the key's partition: is the server of the same version?")]
    OtherPartition,
    #[error("the replicas do not know whether a write was or will be executed: their leader changed")]
    Unknown,
    #[error("unexpected reply to {op}: {status:?} with a value of {value_bytes} bytes")]
    Status { op: Op, status: Status, value_bytes: usize },
    #[error(
        "GET of key {key} returned {value_bytes} bytes that this load generator did not write; do other clients use the store?"
    )]
    Value { key: u64, value_bytes: usize },
    #[error("the reply of {value_bytes} bytes is not the request: is the server `nebula serve echo`?")]
    Echo { value_bytes: usize },
    #[error("SCAN from key {from} returned pairs that are out of order, before that key, or more than {items}")]
    Order { from: u64, items: u16 },
    #[error("invalid reply: {0}")]
    Pairs(#[from] NoPair),
    #[error("invalid reply: {0}")]
    Protocol(#[from] ProtocolError),
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Exchange {
    #[default]
    Kv,
    /// Values, which come back as they are.
    Echo,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Sizes {
    pub(super) key_bytes: usize,
    pub(super) value_bytes: u32,
    pub(super) scan_items: u16,
}

#[derive(Debug)]
pub(super) struct Requests {
    exchange: Exchange,
    key: Vec<u8>,
    value: Vec<u8>,
    message: Vec<u8>,
    scan_items: u16,
}

impl Requests {
    pub(super) fn new(exchange: Exchange, sizes: Sizes) -> Self {
        let Sizes { key_bytes, value_bytes, scan_items } = sizes;
        let value_bytes = value_bytes as usize;
        Self {
            exchange,
            key: vec![0; key_bytes],
            value: vec![0; value_bytes],
            message: vec![0; HEADER_BYTES + key_bytes + value_bytes],
            scan_items,
        }
    }

    /// Encodes an operation without allocation. Returns the request, and the hash by which the
    /// policy `key-hash` chooses a worker.
    #[inline]
    pub(super) fn encode(&mut self, operation: &Operation) -> Result<(&[u8], u32), ProtocolError> {
        if self.exchange == Exchange::Echo {
            let bytes = (operation.value_bytes as usize).min(self.value.len());
            fill(operation.key, &mut self.value[..bytes]);
            return Ok((&self.value[..bytes], steering_hash(KeyHash::of(&operation.key.0.to_le_bytes()))));
        }
        key_bytes(operation.key, &mut self.key);
        let key = &self.key[..];
        let key_hash = steering_hash(KeyHash::of(key));
        let request = match operation.op {
            Op::Scan => {
                let bytes =
                    ordered::Request::Scan { from: key, items: self.scan_items }.encode_into(&mut self.message)?;
                return Ok((&self.message[..bytes], key_hash));
            }
            Op::Get => Request::Get { key },
            Op::Delete => Request::Delete { key },
            Op::Set => {
                let bytes = (operation.value_bytes as usize).min(self.value.len());
                fill(operation.key, &mut self.value[..bytes]);
                Request::Set { key, value: &self.value[..bytes] }
            }
        };
        let bytes = request.encode_into(&mut self.message)?;
        Ok((&self.message[..bytes], key_hash))
    }

    /// Checks the reply to `operation`; returns whether the key was found, or for a SCAN any pair.
    /// A reply is wrong if the service is faulty or full, or if other clients write to its store.
    #[inline]
    pub(super) fn check(&self, operation: &Operation, reply: &[u8]) -> Result<bool, WrongAnswer> {
        if self.exchange == Exchange::Echo {
            let is_same = reply.len() == operation.value_bytes as usize && is_of(operation.key, reply);
            return if is_same { Ok(true) } else { Err(WrongAnswer::Echo { value_bytes: reply.len() }) };
        }
        let Reply { status, value } = Reply::decode(reply)?;
        match (operation.op, status) {
            (Op::Get, Status::Ok) if is_of(operation.key, value) => Ok(true),
            (Op::Get, Status::Ok) => Err(WrongAnswer::Value { key: operation.key.0, value_bytes: value.len() }),
            (Op::Set | Op::Delete, Status::Ok) if value.is_empty() => Ok(true),
            (Op::Get | Op::Delete, Status::NotFound) => Ok(false),
            (Op::Scan, Status::Ok) => check_pairs(operation.key, self.key.len(), self.scan_items, value),
            (_, Status::Full) => Err(WrongAnswer::Full),
            (_, Status::Malformed) => Err(WrongAnswer::Malformed),
            (_, Status::OtherPartition) => Err(WrongAnswer::OtherPartition),
            (_, Status::Unknown) => Err(WrongAnswer::Unknown),
            (op, status) => Err(WrongAnswer::Status { op, status, value_bytes: value.len() }),
        }
    }
}

/// Checks the pairs of a SCAN from `from` on; returns whether there is any.
fn check_pairs(from: Key, bytes: usize, items: u16, value: &[u8]) -> Result<bool, WrongAnswer> {
    let mut buffer = [0; KEY_BYTES_MAX];
    key_bytes(from, &mut buffer[..bytes]);
    let wrong = || WrongAnswer::Order { from: from.0, items };
    let (mut least, mut pairs) = (&buffer[..bytes], 0);
    for pair in Pairs::of(value) {
        let (key, value) = pair?;
        let is_behind = if pairs == 0 { key >= least } else { key > least };
        let (Some(number), true) = (key.first_chunk(), is_behind) else { return Err(wrong()) };
        let key_number = Key(u64::from_le_bytes(*number));
        if !is_of(key_number, value) {
            return Err(WrongAnswer::Value { key: key_number.0, value_bytes: value.len() });
        }
        (least, pairs) = (key, pairs + 1);
    }
    if pairs > usize::from(items) { Err(wrong()) } else { Ok(pairs > 0) }
}

/// Bytes of the longest reply, if values have up to `value_bytes` bytes and SCANs ask for up to
/// `pairs` pairs.
pub(super) fn reply_bytes(key_bytes: usize, value_bytes: u32, pairs: u16) -> u32 {
    let pair_bytes = u32::try_from(PAIR_HEADER_BYTES + key_bytes).unwrap_or(u32::MAX).saturating_add(value_bytes);
    value_bytes.max(pair_bytes.saturating_mul(pairs.into())).saturating_add(8)
}

const _: () = assert!(HEADER_BYTES == 8, "`reply_bytes` assumes this header");

/// The word that a value of `bytes` bytes of `key` repeats.
#[inline]
fn word(key: Key, bytes: usize) -> [u8; 8] {
    // Two odd multipliers give neighboring keys and lengths words that differ in most bits.
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

/// Whether the first and the last word belong to the key. A mixture of two values differs in one of
/// them, unless both ends come from the same value.
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

    fn requests(value_bytes: u32) -> Requests {
        Requests::new(Exchange::Kv, Sizes { key_bytes: 16, value_bytes, scan_items: 100 })
    }

    fn value_of(key: u64, bytes: u32) -> Vec<u8> {
        let mut requests = requests(bytes);
        let (encoded, _) = requests.encode(&operation(Op::Set, key, bytes)).unwrap();
        let Ok(Request::Set { value, .. }) = Request::decode(encoded) else { panic!("no SET: {encoded:?}") };
        value.to_vec()
    }

    fn answer(operation: &Operation, status: Status, value: &[u8]) -> Result<bool, WrongAnswer> {
        let mut reply = vec![0; 8 + value.len()];
        Reply { status, value }.encode_into(&mut reply).unwrap();
        requests(512).check(operation, &reply)
    }

    fn pairs_of(keys: &[u64]) -> Vec<u8> {
        let pair = |&key: &u64| {
            let value = value_of(key, 20);
            let header = ordered::pair_header(16, value.len()).unwrap();
            [&header[..], &Key(key).to_bytes(), &value].concat()
        };
        keys.iter().flat_map(pair).collect()
    }

    #[test]
    fn the_pairs_of_a_scan_ascend_from_its_key_and_are_whole() {
        let scan = operation(Op::Scan, 2, 0);
        assert_eq!(answer(&scan, Status::Ok, &pairs_of(&[2, 3, 9])), Ok(true));
        assert_eq!(answer(&scan, Status::Ok, &[]), Ok(false));
        for wrong in [&[1, 2][..], &[3, 2], &[2, 2], &[2; 101], &(2..103).collect::<Vec<_>>()] {
            assert!(
                matches!(answer(&scan, Status::Ok, &pairs_of(wrong)), Err(WrongAnswer::Order { from: 2, .. })),
                "{wrong:?}"
            );
        }
        let mut torn = pairs_of(&[2, 3]);
        torn.truncate(30);
        assert!(matches!(answer(&scan, Status::Ok, &torn), Err(WrongAnswer::Pairs(_))));
        let (whole, end) = (pairs_of(&[2]), pairs_of(&[3]).len() - 1);
        let mut foreign = whole.clone();
        foreign[end] ^= 1;
        assert!(matches!(answer(&scan, Status::Ok, &foreign), Err(WrongAnswer::Value { key: 2, .. })));
    }

    #[test]
    fn a_scan_is_encoded_with_its_key_and_the_pairs_asked_for() {
        let mut requests = Requests::new(Exchange::Kv, Sizes { key_bytes: 8, value_bytes: 0, scan_items: 7 });
        let (encoded, _) = requests.encode(&operation(Op::Scan, 5, 0)).unwrap();
        let expected = ordered::Request::Scan { from: &[5, 0, 0, 0, 0, 0, 0, 0], items: 7 };
        assert_eq!(ordered::Request::decode(encoded), Ok(expected));
        assert_eq!(reply_bytes(8, 8, 100), 8 + 100 * (4 + 8 + 8));
        assert_eq!(reply_bytes(16, 512, 0), 520);
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
    fn an_echo_is_the_request_and_nothing_else() {
        let mut requests = Requests::new(Exchange::Echo, Sizes { key_bytes: 16, value_bytes: 64, scan_items: 0 });
        let asked = operation(Op::Set, 7, 40);
        let request = requests.encode(&asked).unwrap().0.to_vec();
        assert_eq!((request.len(), requests.check(&asked, &request)), (40, Ok(true)));
        for wrong in [&request[..39], &value_of(8, 40), &[]] {
            let value_bytes = wrong.len();
            assert_eq!(requests.check(&asked, wrong), Err(WrongAnswer::Echo { value_bytes }));
        }
    }

    #[test]
    fn a_miss_is_an_answer_to_a_get_and_none_to_a_set() {
        assert_eq!(answer(&operation(Op::Get, 1, 0), Status::NotFound, &[]), Ok(false));
        assert_eq!(answer(&operation(Op::Delete, 1, 0), Status::NotFound, &[]), Ok(false));
        assert!(matches!(answer(&operation(Op::Set, 1, 8), Status::NotFound, &[]), Err(WrongAnswer::Status { .. })));
        assert_eq!(answer(&operation(Op::Set, 1, 8), Status::Full, &[]), Err(WrongAnswer::Full));
        assert!(matches!(requests(8).check(&operation(Op::Get, 1, 0), &[0; 3]), Err(WrongAnswer::Protocol(_))));
    }
}
