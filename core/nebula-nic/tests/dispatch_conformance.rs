//! The contract of `CentralDispatch`, which every policy meets.

use nebula_nic::{
    ArrivalQueue, Availability, Backend, BackendConfig, CentralDispatch, CoreId, Header, NodeId, Placement, Policy,
    Queues, Timestamp, TransferId,
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

    /// Dispatches RPCs until no core has credit for any.
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

    pub(super) fn has_served_an_rpc_where_it_was_given_and_freed(policy: Policy) {
        for cores in [1, 3, 64, 65] {
            let mut served = policy.dispatcher(cores, 5);
            // Some cores have one RPC outstanding; the last has none.
            (0..cores - 1).step_by(2).for_each(|core| served.handle_dispatched(CoreId(core)));
            let mut given = served.clone();
            let last = CoreId(cores - 1);
            served.handle_served(last);
            given.handle_dispatched(last);
            given.handle_freed(last);
            assert_eq!(format!("{served:?}"), format!("{given:?}"), "{policy} of {cores} cores");
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

    pub(super) fn has_the_bound_of_the_table(policy: Policy) {
        assert_eq!(policy.dispatcher(3, 5).bound(), policy.bound(), "{policy}");
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

/// Every policy, by its samples.
fn policies() -> impl Iterator<Item = Policy> {
    Policy::SAMPLES.iter().map(|sample| sample.parse().expect("a sample is a policy"))
}

macro_rules! conforms {
    ($($test:ident),+) => { $(#[test] fn $test() { policies().for_each(suite::$test); })+ };
}

conforms!(
    never_exceeds_the_bound,
    leaves_no_core_idle_that_could_work,
    has_served_an_rpc_where_it_was_given_and_freed,
    places_only_at_cores_that_exist,
    decides_the_same_again,
    gives_each_rpc_once_and_in_order,
    has_the_bound_of_the_table
);

#[test]
fn every_policy_has_a_sample() {
    let names = |texts: &[&'static str]| -> BTreeSet<_> { texts.iter().map(|text| text.split(':').next()).collect() };
    assert_eq!(names(Policy::SAMPLES), names(Policy::SPELLINGS));
    assert_eq!(names(Policy::SPELLINGS).len(), Policy::SPELLINGS.len());
}

#[test]
fn what_is_served_is_what_the_table_says() {
    let simulated: Vec<_> = policies().filter(|policy| policy.availability() == Availability::Simulated).collect();
    assert_eq!(simulated, [], "every policy is served");
    assert_eq!(Policy::served(), Policy::SPELLINGS);
}

#[test]
fn static_deals_cores_out_to_senders_in_turn() {
    let places = |policy, of: fn(u32) -> (u32, u32)| -> Vec<_> {
        (0..16).map(of).map(|(snid, key)| place(policy, snid, key)).collect()
    };
    let each_core: Vec<_> = (0..16).map(|core| Placement::Core(CoreId(core))).collect();
    assert_eq!(places(Policy::Static, |number| (number, 0)), each_core, "16 senders on 16 cores: one each");
    assert_eq!(places(Policy::Static, |key| (5, key)), [Placement::Core(CoreId(5)); 16], "a sender keeps its core");
    let hashed: BTreeSet<_> = places(Policy::Rss, |number| (number, 0)).iter().map(|at| format!("{at:?}")).collect();
    assert!(hashed.len() < 16, "a hash puts several of them at one core");
}

/// Where a policy places the RPCs of a sender and key.
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
