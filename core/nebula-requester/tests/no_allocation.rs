//! Construction is the last allocation: a million RPCs make none, at client and server.

use nebula_nic::schedule::RpcType;
use nebula_nic::{Backend, BackendConfig, CoreId, Freed, Frontend, Header, NodeId, Policy, Span, Timestamp, Verdict};
use nebula_requester::{Outcome, Requester, RequesterConfig, RetryPolicy};
use nebula_testing::allocations::{Counting, made_by};

#[global_allocator]
static ALLOCATOR: Counting = Counting::new();

/// A client, a back end and its cores.
struct World {
    client: Requester,
    nic: Backend,
    cores: Vec<Frontend>,
    now: Timestamp,
    replied: u32,
    refused: u32,
}

impl World {
    fn new(policy: Policy) -> Self {
        let retry = RetryPolicy::BackOff { first: Span::from_ns(50), factor: 2, attempts: 3, seed: 1 };
        let config = RequesterConfig::new(NodeId(3), 64).retry(retry).deadline(Span::from_us(2)).reply_bytes_max(256);
        let nic = BackendConfig::new(3, policy).slots(40).rpc_bytes_max(400).reassembler_entries(4).queue_bound(9);
        let nic = nic.reassembly_timeout(Span::from_ns(100)).types(3).type_window(1_000);
        Self {
            client: Requester::try_new(config).expect("the bounds are possible"),
            nic: Backend::try_new(nic).expect("the bounds are possible"),
            cores: (0..3).map(|core| Frontend::new(CoreId(core), 2)).collect(),
            now: Timestamp::ZERO,
            replied: 0,
            refused: 0,
        }
    }

    /// One more RPC and one step of each core; some packets get lost.
    fn step(&mut self, number: u32) {
        self.now += Span::from_ns(7);
        if let Ok(packets) = self.client.begin(self.now, number * 37 % 400, number.into()) {
            packets.filter(|packet| packet.tid.0 % 11 != packet.pkt_idx).for_each(|packet| self.packet(packet));
        }
        self.nic.handle_timeout(self.now);
        while self.nic.poll_abandoned().is_some() {}
        self.client.handle_timeout(self.now);
        while self.client.poll_expired().is_some() {}
        while let Some(resend) = self.client.poll_retry(self.now) {
            resend.outbound.for_each(|packet| self.packet(packet));
        }
        self.serve(number as usize % 3);
    }

    fn packet(&mut self, packet: Header) {
        if let Verdict::Nack { reason } = self.nic.handle_packet(self.now, packet) {
            self.client.handle_packet(self.now, Header::nack(packet.rpc(), reason));
            self.refused += 1;
        }
        while let Some(arrival) = self.nic.untyped() {
            self.nic.handle_type(self.now, RpcType(u8::from(arrival.bytes > 100)));
        }
        self.dispatch();
    }

    fn dispatch(&mut self) {
        while let Some(dispatch) = self.nic.poll_dispatch() {
            self.cores[dispatch.core.index()].handle_dispatch(dispatch);
        }
    }

    fn serve(&mut self, core: usize) {
        let Some(begin) = self.cores[core].poll_completion() else { return };
        for pkt_idx in 0..4 {
            let outcome = self.client.handle_packet(self.now, Header::reply(begin.arrival.rpc, 256, pkt_idx));
            self.replied += u32::from(matches!(outcome, Outcome::Reply { .. }));
        }
        let release = self.cores[core].handle_release(begin.arrival.slots);
        assert_eq!(self.nic.handle_free_at(self.now, release.core, release.slots), Freed::Taken);
        self.dispatch();
    }
}

#[test]
fn a_million_rpcs_allocate_nothing() {
    for policy in [Policy::Jbsq(2), Policy::RoundRobin, Policy::Darc] {
        let mut world = World::new(policy);
        let count = made_by(|| (0..500_000).for_each(|number| world.step(number)));
        assert_eq!(count, 0, "under {policy}");
        assert_eq!(world.nic.darc().is_some_and(|darc| darc.plans() > 0), policy == Policy::Darc);
        assert!(world.replied > 50_000 && world.refused > 50_000, "{} and {}", world.replied, world.refused);
    }
}
