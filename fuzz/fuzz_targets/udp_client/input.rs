//! The fuzzer's input: the client's calls, and messages of a server.

use arbitrary::Arbitrary;
use nebula::{FlowKind, RetryPolicy, Span};

#[derive(Arbitrary, Debug)]
pub(crate) struct Input {
    pub(crate) has_deadline: bool,
    retries: bool,
    pub(crate) ops: Vec<Op>,
}

#[derive(Arbitrary, Debug)]
pub(crate) enum Op {
    Submit {
        bytes: u16,
        deadline_us: Option<u16>,
    },
    Cancel {
        which: u8,
    },
    Wait {
        us: u16,
    },
    Bytes {
        is_checked: bool,
        bytes: Vec<u8>,
    },
    /// To the last hello.
    Welcome {
        mtu: u8,
        /// Its upper half is also the longest reply: 0 if the server does not say.
        rpc_bytes_max: u32,
    },
    Refusal {
        reason: u8,
        is_for_hello: bool,
    },
    Answers(Vec<Answer>),
}

#[derive(Arbitrary, Debug)]
pub(crate) enum Answer {
    Reply {
        tid: u8,
        rpc_bytes: u16,
        pkt_idx: u8,
        payload_bytes: u16,
    },
    Nack {
        tid: u8,
        code: u8,
    },
    Ack {
        tid: u8,
        is_whole: bool,
        first_missing: u16,
        bitmap: u64,
    },
    /// From code 128 on a grant, of one more packet each.
    Fault {
        tid: u8,
        code: u8,
    },
    Bytes(Vec<u8>),
}

impl Input {
    /// Derived from existing input, so that seeds keep their meaning.
    pub(crate) fn flow(&self) -> FlowKind {
        FlowKind::ALL[self.ops.len() % 3]
    }

    pub(crate) fn retry(&self) -> RetryPolicy {
        if !self.retries {
            return RetryPolicy::GiveUp;
        }
        RetryPolicy::BackOff { first: Span::from_us(100), factor: 2, attempts: 3, seed: 1 }
    }
}

impl Answer {
    pub(crate) fn bytes(&self) -> Vec<u8> {
        let common = |kind: u8, flag: bool, payload: u16, tid: u8, word: u32, pkt_idx: u16| {
            let mut bytes = vec![kind, u8::from(flag)];
            bytes.extend(payload.to_le_bytes());
            bytes.extend(u32::from(tid).to_le_bytes());
            bytes.extend(word.to_le_bytes());
            bytes.extend(pkt_idx.to_le_bytes());
            bytes.extend([0, 0]);
            bytes
        };
        match *self {
            Self::Reply { tid, rpc_bytes, pkt_idx, payload_bytes } => {
                let mut bytes = common(2, false, payload_bytes, tid, rpc_bytes.into(), pkt_idx.into());
                bytes.resize(16 + usize::from(payload_bytes), tid);
                bytes
            }
            Self::Nack { tid, code } => common(3, false, 0, tid, code.into(), 0),
            Self::Ack { tid, is_whole, first_missing, bitmap } => {
                let mut bytes = common(4, is_whole, 0, tid, 0, first_missing);
                bytes.extend(bitmap.to_le_bytes());
                bytes
            }
            Self::Fault { tid, code: 255 } => common(9, false, 0, tid, u32::MAX, 0),
            Self::Fault { tid, code: code @ 128.. } => common(9, false, 0, tid, u32::from(code) - 128, 0),
            Self::Fault { tid, code } => common(5, false, 0, tid, code.into(), 0),
            Self::Bytes(ref bytes) => bytes.clone(),
        }
    }
}
