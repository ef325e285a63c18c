//! The receive buffer that incomplete RPCs hold, by the hosts of their clients.
//!
//! Hosts are identified by address, because a client can use any number of ids and ports.
//! [`Crowding`] decides, by a hash of the address.

use crate::nic::recorder::Recorder;
use crate::rpc::answer::Answer;
use nebula_nic::crowding::Crowding;
use nebula_nic::{BackendConfig, Decision, Input, NackReason, RpcKey, Timestamp};
use siphasher::sip::SipHasher24;
use std::hash::{Hash, Hasher};
use std::net::IpAddr;

#[derive(Debug)]
pub(super) struct Incomplete {
    crowding: Crowding,
    seed: u64,
}

impl Incomplete {
    pub(super) fn new(backend: &BackendConfig, seed: u64) -> Self {
        Self { crowding: Crowding::new(backend.slots, backend.rpc_bytes_max), seed }
    }

    /// Why `host` gets no room for another RPC, if so.
    pub(super) fn refusal(
        &self,
        now: Timestamp,
        host: IpAddr,
        (rpc, bytes): (RpcKey, u32),
        log: &mut Option<Recorder>,
    ) -> Option<NackReason> {
        let host = self.place(host);
        let refusal = self.crowding.refusal(host, bytes);
        let decision = refusal.map_or(Decision::Fits, Decision::nack);
        note(log, now, Input::Crowd { rpc, host, bytes }, Some(decision));
        refusal
    }

    pub(super) fn take(&mut self, now: Timestamp, answer: &mut Answer, slots: u32, log: &mut Option<Recorder>) {
        answer.incomplete_slots = slots;
        let host = self.place(answer.ending.recipient.route.peer.ip());
        self.crowding.hold(host, slots);
        note(log, now, Input::Hold { host, slots }, None);
    }

    pub(super) fn give_back(&mut self, now: Timestamp, answer: &mut Answer, log: &mut Option<Recorder>) {
        let slots = std::mem::take(&mut answer.incomplete_slots);
        let host = self.place(answer.ending.recipient.route.peer.ip());
        self.crowding.give_back(host, slots);
        note(log, now, Input::GiveBack { host, slots }, None);
    }

    /// One of [`HOSTS`](nebula_nic::crowding::HOSTS) values.
    fn place(&self, host: IpAddr) -> u8 {
        let mut hasher = SipHasher24::new_with_keys(self.seed, !self.seed);
        host.hash(&mut hasher);
        hasher.finish().to_le_bytes()[0]
    }
}

fn note(log: &mut Option<Recorder>, now: Timestamp, input: Input, decision: Option<Decision>) {
    if let Some(recorder) = log {
        recorder.outside(now, input, decision);
    }
}
