//! How often each RPC was executed. An RPC is identified by its message, as the server reads it:
//! the payload alone may contain anything, since a truncated message takes the bytes of the next
//! one as its own.

use crate::udp_raw::request_payloads;
use std::collections::{BTreeMap, BTreeSet};

/// The part of an RPC's bytes that identifies it: the first four, or all of them.
type Name = Vec<u8>;

#[derive(Debug, Default)]
pub(crate) struct Executions {
    /// The transfer ids of the requests whose payload begins with these bytes.
    sent: BTreeMap<Name, BTreeSet<u32>>,
    executed: BTreeMap<Name, usize>,
}

impl Executions {
    /// Fills the payload of each request in a datagram with its transfer id, and records it as
    /// sent.
    pub(crate) fn mark(&mut self, body: &mut [u8]) {
        for (tid, payload) in request_payloads(body) {
            let payload = &mut body[payload];
            payload.iter_mut().zip(tid.to_le_bytes().into_iter().cycle()).for_each(|(byte, mark)| *byte = mark);
            self.sent.entry(name(payload)).or_default().insert(tid);
        }
    }

    pub(crate) fn execute(&mut self, request: &[u8]) {
        *self.executed.entry(name(request)).or_default() += 1;
    }

    pub(crate) fn check(&self) {
        for (name, &times) in &self.executed {
            let tids = self.sent.get(name).map_or(0, BTreeSet::len);
            assert!(times <= tids, "requests that begin with {name:?} were executed {times} times; {tids} RPCs do");
        }
    }
}

fn name(payload: &[u8]) -> Name {
    payload[..payload.len().min(4)].to_vec()
}
