//! The laws of every run, however bad the network: each call ends once, in time, and truthfully.

use nebula::{CallError, Executed, NackReason};
use std::collections::BTreeMap;

/// A request of at most this many bytes is too short to name its call.
pub(crate) const NAMED_BYTES: usize = 12;

/// The first bytes of the adversary's requests.
pub(crate) const FLOOD: [u8; 8] = [0xFF; 8];

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum End {
    Replied,
    Nacked(NackReason),
    Expired,
    NotSent,
    Stale,
    ServerGone,
    TimedOut,
    Cancelled,
    Faulted,
    /// Its client was ended.
    Left,
}

#[derive(Clone, Debug)]
pub(crate) struct Call {
    pub(crate) bytes: usize,
    pub(crate) reply_bytes: u32,
    pub(crate) begun_ps: u64,
    pub(crate) deadline_ps: Option<u64>,
    /// It is sent so often that it gets through if anything does.
    pub(crate) is_patient: bool,
    pub(crate) is_cancelled: bool,
    /// The adversary has its client's key: it may end in any way, but once and in time.
    pub(crate) is_exposed: bool,
    pub(crate) end: Option<End>,
    /// The answer of `was_executed`.
    pub(crate) told: Executed,
    pub(crate) executed: u32,
}

/// The ends that are possible in a run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Laws {
    /// A client that tries often enough succeeds: none times out without a deadline.
    pub(crate) is_fair: bool,
    /// The server remembers more than is sent to it: nothing is stale.
    pub(crate) is_ample: bool,
    /// A server was ended, or a client's address changed.
    pub(crate) may_be_gone: bool,
}

#[derive(Debug)]
pub(crate) struct Oracle {
    pub(crate) calls: Vec<Call>,
    /// Executions of requests too short to name their call.
    unnamed: u32,
    pub(crate) laws: Laws,
    pub(crate) violations: Vec<String>,
    pub(crate) ends: BTreeMap<End, u64>,
    /// Replied calls with several packets: in the request, in the reply.
    pub(crate) long: [u64; 2],
    /// The longest time by which a call missed its deadline.
    pub(crate) late_ps: u64,
}

/// How much later than its deadline a call may end, since clients' clocks may run slow.
const LATE_MAX_PS: u64 = 200_000_000;

pub(crate) fn request_of(id: usize, bytes: usize, reply_bytes: u32, into: &mut Vec<u8>) {
    into.clear();
    into.extend_from_slice(&(id as u64).to_le_bytes());
    into.extend_from_slice(&reply_bytes.to_le_bytes());
    fill(id as u64, bytes.saturating_sub(NAMED_BYTES), into);
    into.truncate(bytes);
}

pub(crate) fn reply_of(id: usize, reply_bytes: u32, into: &mut Vec<u8>) {
    into.clear();
    fill(!(id as u64), reply_bytes as usize, into);
}

/// Bytes that differ in each packet.
fn fill(id: u64, bytes: usize, into: &mut Vec<u8>) {
    let end = into.len() + bytes;
    let mut mixed = id.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    while into.len() < end {
        mixed = mixed.wrapping_mul(0xD134_2543_DE82_EF95).wrapping_add(1);
        into.extend_from_slice(&mixed.to_le_bytes());
    }
    into.truncate(end);
}

impl Oracle {
    pub(crate) fn new(laws: Laws) -> Self {
        Self {
            calls: Vec::new(),
            unnamed: 0,
            laws,
            violations: Vec::new(),
            ends: BTreeMap::new(),
            long: [0; 2],
            late_ps: 0,
        }
    }

    pub(crate) fn violated(&mut self, what: String) {
        self.violations.push(what);
    }

    /// A call is about to be submitted.
    pub(crate) fn begin(&mut self, call: Call) {
        self.calls.push(call);
    }

    /// Counts an execution, checks the request and writes the reply.
    pub(crate) fn execute(&mut self, request: &[u8], reply: &mut Vec<u8>) {
        if request.starts_with(&FLOOD) {
            return reply.clear();
        }
        if request.len() < NAMED_BYTES {
            self.unnamed += 1;
            reply.clear();
            return reply.extend_from_slice(request);
        }
        let id = u64::from_le_bytes(request[..8].try_into().expect("eight bytes"));
        let known = usize::try_from(id).ok().filter(|&id| id < self.calls.len());
        let Some(id) = known else { return self.violated(format!("executed call {id}, which nobody made")) };
        let call = &mut self.calls[id];
        call.executed += 1;
        let Call { executed, end, told, bytes, reply_bytes, is_exposed, .. } = *call;
        if is_exposed {
            return reply_of(id, reply_bytes, reply);
        }
        let mut expected = Vec::new();
        request_of(id, bytes, reply_bytes, &mut expected);
        if expected != request {
            self.violated(format!("call {id} was executed with other bytes than were sent"));
        }
        if executed > 1 {
            self.violated(format!("call {id} was executed {executed} times"));
        }
        if let Some(end) = end.filter(|&end| end == End::Replied || told != Executed::Unknown) {
            self.violated(format!("call {id} was executed after it had ended as {end:?}"));
        }
        reply_of(id, reply_bytes, reply);
    }

    pub(crate) fn end(&mut self, now_ps: u64, id: usize, result: Result<&[u8], &CallError>) {
        self.calls[id].told = result.map_or_else(CallError::was_executed, |_| Executed::Yes);
        let end = match result {
            Ok(reply) => {
                self.check_reply(id, reply);
                End::Replied
            }
            Err(CallError::Nack { reason }) => End::Nacked(*reason),
            Err(CallError::Fault(_)) => End::Faulted,
            Err(CallError::ServerGone) => End::ServerGone,
            Err(CallError::TimedOut) => End::TimedOut,
            Err(CallError::Stale) => End::Stale,
            Err(CallError::Expired) => End::Expired,
            Err(CallError::NotSent(_)) => End::NotSent,
            Err(CallError::Cancelled) => End::Cancelled,
            // Made up by the adversary with the client's key.
            Err(CallError::Protocol) if self.calls[id].is_exposed => End::Faulted,
            Err(error) => return self.violated(format!("call {id} ended as {error:?}")),
        };
        self.check_end(now_ps, id, end);
        *self.ends.entry(end).or_default() += 1;
        if let Some(before) = self.calls[id].end.replace(end) {
            self.violated(format!("call {id} ended as {end:?} after it had ended as {before:?}"));
        }
    }

    pub(crate) fn leave(&mut self, id: usize) {
        self.calls[id].end = Some(End::Left);
    }

    fn check_reply(&mut self, id: usize, reply: &[u8]) {
        let Call { bytes, reply_bytes, is_exposed, .. } = self.calls[id];
        if is_exposed {
            return;
        }
        let mut expected = Vec::new();
        if bytes < NAMED_BYTES {
            request_of(id, bytes, reply_bytes, &mut expected);
        } else {
            reply_of(id, reply_bytes, &mut expected);
        }
        if expected != reply {
            let at = expected.iter().zip(reply).take_while(|(a, b)| a == b).count();
            self.violated(format!(
                "the reply to call {id} has {} of {} bytes and is wrong from {at}",
                reply.len(),
                expected.len()
            ));
        }
        let packets = |bytes: usize| u64::from(bytes > 1216);
        self.long[0] += packets(bytes);
        self.long[1] += packets(reply.len());
    }

    fn check_end(&mut self, now_ps: u64, id: usize, end: End) {
        let Call { deadline_ps, is_patient, is_cancelled, executed, told, bytes, is_exposed, .. } = self.calls[id];
        let is_named = bytes >= NAMED_BYTES;
        let Laws { is_fair, is_ample, may_be_gone } = self.laws;
        let wrong = match end {
            _ if is_exposed => "",
            _ if told == Executed::Yes && is_named && executed != 1 => "without having been executed once",
            _ if told == Executed::No && executed > 0 => "although it was executed",
            End::TimedOut if is_fair && is_patient && deadline_ps.is_none() => {
                "where a client that tries often enough succeeds"
            }
            End::Expired if deadline_ps.is_none() => "without a deadline",
            End::Stale if is_ample => "at a server that remembers everything",
            End::ServerGone if !may_be_gone => "although the server was there all the time",
            End::Cancelled if !is_cancelled => "although nobody cancelled it",
            _ if is_cancelled && end != End::Cancelled => "although it was cancelled",
            _ => "",
        };
        if !wrong.is_empty() {
            self.violated(format!("call {id} ended as {end:?} {wrong}"));
        }
        if let Some(late_ps) = deadline_ps.and_then(|deadline_ps| now_ps.checked_sub(deadline_ps)) {
            self.late_ps = self.late_ps.max(late_ps);
            if late_ps > LATE_MAX_PS {
                self.violated(format!("call {id} ended as {end:?} {} ns after its deadline", late_ps / 1000));
            }
        }
    }

    pub(crate) fn close(&mut self) {
        let mut unnamed = [0, 0];
        let mut wrong = Vec::new();
        for (id, call) in self.calls.iter().enumerate() {
            let is_unnamed = u32::from(call.bytes < NAMED_BYTES);
            unnamed[0] += is_unnamed * u32::from(call.end == Some(End::Replied) && !call.is_exposed);
            unnamed[1] += is_unnamed * u32::from(call.told != Executed::No || call.is_exposed);
            match call.end {
                None => wrong.push(format!("call {id}, begun at {} ns, never ended", call.begun_ps / 1000)),
                Some(end) if call.told == Executed::No && call.executed > 0 && !call.is_exposed => {
                    wrong.push(format!("call {id} ended as {end:?} and was executed"));
                }
                Some(_) => {}
            }
        }
        self.violations.append(&mut wrong);
        if !(unnamed[0]..=unnamed[1]).contains(&self.unnamed) {
            self.violated(format!("{} short calls were executed, and {unnamed:?} can have been", self.unnamed));
        }
    }

    pub(crate) fn ended(&self, end: End) -> u64 {
        self.ends.get(&end).copied().unwrap_or(0)
    }
}

impl Call {
    pub(crate) fn new(bytes: usize, reply_bytes: u32, begun_ps: u64, deadline_ps: Option<u64>) -> Self {
        Self {
            bytes,
            reply_bytes,
            begun_ps,
            deadline_ps,
            is_patient: true,
            is_cancelled: false,
            is_exposed: false,
            end: None,
            told: Executed::Unknown,
            executed: 0,
        }
    }
}
