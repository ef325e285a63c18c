//! The contract of `CentralDispatch`, held by every policy.

use nebula_nic::{
    ArrivalQueue, Backend, BackendConfig, CentralDispatch, CoreId, Header, NodeId, Placement, Policy, Quantum, Queues,
    Timestamp, TransferId,
};
use std::collections::BTreeSet;

mod suite {
    use super::*;

    fn header(number: u32) -> Header {
        let (snid, tid) = (NodeId(number % 97), TransferId(number));
        Header { snid, tid, rpc_bytes: 64, key_hash: number.wrapping_mul(0x9e37_79b9), ..Header::default() }
    }

    fn backend(policy: Policy, cores: u16) -> Backend {
        Backend::try_new(BackendConfig::new(cores, policy).seed(5)).expect("the suite uses bounds that are possible")
    }

    /// Hands in RPCs until no core has credit for any.
    fn fill(nic: &mut Backend, rpcs: u32) -> Vec<nebula_nic::Dispatch> {
        for number in 0..rpcs {
            nic.handle_packet(Timestamp::ZERO, header(number));
        }
        std::iter::from_fn(|| nic.poll_dispatch()).collect()
    }

    pub(super) fn never_exceeds_the_bound(policy: Policy) {
        for cores in [1, 2, 16, 64, 65, 4096] {
            let mut nic = backend(policy, cores);
            let bound = policy.dispatcher(cores, 5).bound();
            let mut held: Vec<_> = fill(&mut nic, 8000);
            assert!((0..cores).all(|core| nic.outstanding(CoreId(core)) <= bound));
            for round in 0..4000 {
                if held.is_empty() {
                    break;
                }
                let done = held.swap_remove(round * 31 % held.len());
                nic.handle_free(done.core, done.arrival.slots);
                if let Some(next) = nic.poll_dispatch() {
                    assert!(nic.outstanding(next.core) <= bound);
                    held.push(next);
                }
            }
        }
    }

    pub(super) fn leaves_no_core_idle_that_could_work(policy: Policy) {
        for cores in [1, 3, 64, 100] {
            let mut nic = backend(policy, cores);
            let given = fill(&mut nic, 8000);
            let bound = policy.dispatcher(cores, 5).bound();
            match policy.dispatcher(cores, 5).queues() {
                Queues::Shared => assert_eq!(given.len(), usize::from(cores) * bound as usize),
                _ => {
                    let placed: BTreeSet<_> = given.iter().map(|dispatch| dispatch.core).collect();
                    assert!(
                        placed.iter().all(|&core| nic.outstanding(core) == bound),
                        "8000 RPCs fill every queue used"
                    );
                }
            }
        }
    }

    pub(super) fn places_only_at_cores_that_exist(policy: Policy) {
        for cores in [1, 2, 7, 64, 65, 4096] {
            let mut state = policy.dispatcher(cores, 5);
            let waiting = ArrivalQueue::new(1, cores, state.queues());
            for number in 0..1000 {
                match state.place(&header(number), &waiting) {
                    Placement::Shared => assert_eq!(state.queues(), Queues::Shared),
                    Placement::Core(core) => assert!(core.0 < cores && state.queues() == Queues::PerCore),
                }
            }
            assert_eq!(state.outstanding(CoreId(cores)), 0, "a core that does not exist has nothing");
        }
    }

    pub(super) fn decides_the_same_again(policy: Policy) {
        let run = || fill(&mut backend(policy, 16), 100);
        assert_eq!(run(), run());
    }

    pub(super) fn gives_each_rpc_once_and_in_order(policy: Policy) {
        let mut nic = backend(policy, 4);
        let mut given = fill(&mut nic, 500);
        let mut next = 0;
        while let Some(done) = given.get(next).copied() {
            nic.handle_free(done.core, done.arrival.slots);
            given.extend(std::iter::from_fn(|| nic.poll_dispatch()));
            next += 1;
        }
        let numbers: BTreeSet<_> = given.iter().map(|dispatch| dispatch.arrival.rpc.tid.0).collect();
        assert_eq!((given.len(), numbers.len()), (500, 500));
        for core in (0..4).map(CoreId) {
            let at_core =
                given.iter().filter(|dispatch| dispatch.core == core).map(|dispatch| dispatch.arrival.rpc.tid);
            assert!(at_core.is_sorted(), "first come, first served at {core:?}");
        }
    }
}

macro_rules! conforms {
    ($($name:ident: $policy:expr;)+) => {
        $(mod $name {
            use super::*;
            conforms!(@each $policy, never_exceeds_the_bound, leaves_no_core_idle_that_could_work,
                places_only_at_cores_that_exist, decides_the_same_again, gives_each_rpc_once_and_in_order);
        })+
    };
    (@each $policy:expr, $($test:ident),+) => { $(#[test] fn $test() { suite::$test($policy); })+ };
}

conforms! {
    rss: Policy::Rss;
    round_robin: Policy::RoundRobin;
    random: Policy::Random;
    key_hash: Policy::KeyHash;
    single_queue: Policy::SingleQueue;
    mcs_lock: Policy::McsLock;
    jbsq_1: Policy::Jbsq(1);
    jbsq_2: Policy::Jbsq(2);
    jbsq_5: Policy::Jbsq(5);
    jbsq_64: Policy::Jbsq(64);
    two_choices: Policy::TwoChoices;
    work_stealing: Policy::WorkStealing;
    preemptive: Policy::Preemptive(Quantum::SHINJUKU);
    darc: Policy::Darc;
    altocumulus: "altocumulus:4".parse().unwrap();
}

/// Where a policy places RPCs of a sender and a key.
fn place(policy: Policy, snid: u32, key_hash: u32) -> Placement {
    let header = Header { snid: NodeId(snid), key_hash, ..Header::default() };
    let mut state = policy.dispatcher(16, 0);
    let waiting = ArrivalQueue::new(1, 16, state.queues());
    state.place(&header, &waiting)
}

#[test]
fn rss_looks_at_the_sender_and_key_hash_at_the_key() {
    assert!((0..100).all(|key| place(Policy::Rss, 7, key) == place(Policy::Rss, 7, 0)));
    assert!((0..100).all(|snid| place(Policy::KeyHash, snid, 7) == place(Policy::KeyHash, 0, 7)));
    for policy in [Policy::Rss, Policy::KeyHash] {
        let cores: BTreeSet<_> = (0..200).map(|number| format!("{:?}", place(policy, number, number))).collect();
        assert_eq!(cores.len(), 16, "{policy} uses all cores");
    }
}

#[test]
fn single_queue_is_jbsq_of_one() {
    let run = |policy| {
        let mut nic = Backend::try_new(BackendConfig::new(3, policy)).unwrap();
        let mut given = Vec::new();
        for number in 0..100_u32 {
            let header = Header { tid: TransferId(number), rpc_bytes: 64 + number, ..Header::default() };
            nic.handle_packet(Timestamp::ZERO, Header { rpc_bytes: header.rpc_bytes.min(64), ..header });
            given.extend(nic.poll_dispatch());
            if number % 3 == 0 {
                let done: nebula_nic::Dispatch = given[given.len() / 2];
                nic.handle_free(done.core, done.arrival.slots);
            }
        }
        given
    };
    assert_eq!(run(Policy::SingleQueue), run(Policy::Jbsq(1)));
}
