//! The cost of deciding about one RPC under every policy: for timing and for counting instructions.
//!
//! ```text
//! decisions list                     the policies, what each figure includes, and its unit
//! decisions time INDEX CORES         nanoseconds each: the median of rounds in a tight loop
//! decisions count INDEX CORES N      N of them and nothing else, for callgrind
//! ```
//!
//! A central policy is measured through the whole back end: a packet of a one-packet RPC arrives
//! (admission, slots, queue), the RPC goes to a core, and is freed. Schedulers outside the back end
//! are added at their worst case: every RPC is stolen, every RPC is suspended once. Caches are warm
//! and branches are predicted, so a figure is the cost of the decision itself, without interference
//! from the rest of a server.

#![expect(clippy::print_stdout, reason = "a program")]

use nebula_nic::schedule::{
    Darc, DarcConfig, Manager, ManagerConfig, RpcType, Thief, Thresholds, Turns, TypedQueues, Yielded,
};
use nebula_nic::{
    Backend, BackendConfig, CoreId, CoreSet, Dispatch, GroupId, Header, NodeId, Policy, Quantum, Retention,
    RetentionConfig, RetentionKey, RpcKey, Seen, SlotRange, Span, Timestamp, TransferId, Verdict,
};
use std::collections::VecDeque;
use std::hint::black_box;
use std::time::Instant;

const SLOTS: u32 = 8640;
/// RPCs per round of `time`, and rounds: half a second or so, so that interference from other
/// programs averages out.
const ROUND: u32 = 20_000;
const ROUNDS: usize = 501;

/// Decides about the given number of RPCs.
type Decide = Box<dyn FnMut(u32)>;

/// A policy, what its figure includes and its unit, and a constructor of its decider for a number
/// of cores.
struct Subject {
    policy: &'static str,
    what: &'static str,
    each: &'static str,
    decider: fn(Policy, u16) -> Result<Decide, String>,
}

const WHOLE: &str = "whole back end: arrival, dispatch, free";
const RPC: &str = "RPC";

const SUBJECTS: &[Subject] = &[
    Subject { policy: "rss", what: WHOLE, each: RPC, decider: handed_out },
    Subject { policy: "round-robin", what: WHOLE, each: RPC, decider: handed_out },
    Subject { policy: "random", what: WHOLE, each: RPC, decider: handed_out },
    Subject { policy: "key-hash", what: WHOLE, each: RPC, decider: handed_out },
    Subject { policy: "two-choices", what: WHOLE, each: RPC, decider: handed_out },
    Subject { policy: "single-queue", what: WHOLE, each: RPC, decider: handed_out },
    Subject {
        policy: "mcs-lock",
        what: "whole back end, a core taking the head; without the lock",
        each: RPC,
        decider: come_for,
    },
    Subject { policy: "jbsq:2", what: WHOLE, each: RPC, decider: handed_out },
    Subject { policy: "jbsq:4", what: WHOLE, each: RPC, decider: handed_out },
    Subject {
        policy: "work-stealing",
        what: "whole back end, and a thief's choice for each RPC",
        each: RPC,
        decider: stolen,
    },
    Subject {
        policy: "preemptive:5us",
        what: "whole back end, and turns with one suspension an RPC",
        each: RPC,
        decider: in_turns,
    },
    Subject {
        policy: "darc",
        what: "typed queue, core and type chosen, load learned; without slots",
        each: RPC,
        decider: by_type,
    },
    Subject {
        policy: "jbsq:2",
        what: "cost of at-most-once: lookup, begin, keep the reply; 65,536 RPCs",
        each: "request",
        decider: remembered,
    },
    Subject { policy: "altocumulus:16", what: "back end of one group, its load learned", each: RPC, decider: grouped },
    Subject {
        policy: "altocumulus:16",
        what: "a manager's choice beyond its threshold, at most once per period of 200 ns",
        each: "decision",
        decider: migrated,
    },
];

fn main() -> Result<(), String> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    match args.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        ["list"] => SUBJECTS.iter().enumerate().for_each(|(index, Subject { policy, what, each, .. })| {
            println!("{index}\t{policy}\t{what}\t{each}");
        }),
        ["time", index, cores] => println!("{:.2}", time(&mut decider(index, cores)?)),
        ["count", index, cores, n] => decider(index, cores)?(n.parse().map_err(|_| usage())?),
        _ => return Err(usage()),
    }
    Ok(())
}

fn usage() -> String {
    "usage: decisions list | time INDEX CORES | count INDEX CORES N".to_owned()
}

fn decider(index: &str, cores: &str) -> Result<Decide, String> {
    let subject = index.parse().ok().and_then(|index: usize| SUBJECTS.get(index)).ok_or_else(usage)?;
    let policy = subject.policy.parse().map_err(|error| format!("{error}"))?;
    (subject.decider)(policy, cores.parse().map_err(|_| usage())?)
}

/// Nanoseconds per RPC: the median of rounds, so that one interruption does not matter.
fn time(decide: &mut Decide) -> f64 {
    decide(10 * ROUND);
    let mut rounds: Vec<f64> = (0..ROUNDS)
        .map(|_| {
            let begun = Instant::now();
            decide(ROUND);
            begun.elapsed().as_secs_f64() * 1e9 / f64::from(ROUND)
        })
        .collect();
    rounds.sort_by(f64::total_cmp);
    rounds[ROUNDS / 2]
}

// -- a back end, and RPCs in it --

/// A back end with a steady number of RPCs in it.
struct Server {
    backend: Backend,
    /// At cores, in dispatch order.
    given: VecDeque<Dispatch>,
    sent: u32,
}

impl Server {
    fn new(config: BackendConfig) -> Result<Self, String> {
        let backend = Backend::try_new(config.slots(SLOTS)).map_err(|error| error.to_string())?;
        Ok(Self { backend, given: VecDeque::with_capacity(1 << 16), sent: 0 })
    }

    /// A request of one packet, from one of several peers, about one of many keys.
    #[inline]
    fn arrive(&mut self) {
        let (snid, tid) = (NodeId(self.sent % 61), TransferId(self.sent));
        let header = Header { snid, tid, rpc_bytes: 64, key_hash: self.sent, ..Header::default() };
        self.sent = self.sent.wrapping_add(1);
        let verdict = self.backend.handle_packet(Timestamp::ZERO, black_box(header));
        assert!(matches!(verdict, Verdict::Write { complete: true, .. }), "there is room");
    }

    /// Dispatches waiting RPCs to cores with credit.
    #[inline]
    fn hand_out(&mut self) {
        while let Some(dispatch) = self.backend.poll_dispatch() {
            self.given.push_back(black_box(dispatch));
        }
    }

    /// Frees the oldest RPC at a core.
    #[inline]
    fn free(&mut self) -> (CoreId, SlotRange) {
        let dispatch = self.given.pop_front().expect("an RPC is at a core");
        self.backend.handle_free(dispatch.core, dispatch.arrival.slots);
        (dispatch.core, dispatch.arrival.slots)
    }
}

/// RPCs in the back end: as many as half of the cores.
fn filled(policy: Policy, cores: u16) -> Result<Server, String> {
    let mut server = Server::new(BackendConfig::new(cores, policy))?;
    (0..cores.div_ceil(2)).for_each(|_| server.arrive());
    server.hand_out();
    Ok(server)
}

fn handed_out(policy: Policy, cores: u16) -> Result<Decide, String> {
    let mut server = filled(policy, cores)?;
    Ok(Box::new(move |rpcs| {
        for _ in 0..rpcs {
            server.arrive();
            server.hand_out();
            black_box(server.free());
        }
    }))
}

fn come_for(policy: Policy, cores: u16) -> Result<Decide, String> {
    let mut server = filled(policy, cores)?;
    Ok(Box::new(move |rpcs| {
        for _ in 0..rpcs {
            server.arrive();
            let (core, _) = server.free();
            let dispatch = server.backend.poll_dispatch_for(core);
            server.given.push_back(black_box(dispatch.expect("one has just arrived")));
        }
    }))
}

fn stolen(policy: Policy, cores: u16) -> Result<Decide, String> {
    let mut server = filled(policy, cores)?;
    let mut thief = Thief::new(CoreId(0), cores, 1);
    let mut queues = CoreSet::empty(cores);
    Ok(Box::new(move |rpcs| {
        for _ in 0..rpcs {
            server.arrive();
            server.hand_out();
            let home = server.given.back().map_or(CoreId(0), |dispatch| dispatch.core);
            queues.insert(home);
            let victim = black_box(thief.choose(black_box(&queues))).expect("a queue is not empty");
            queues.remove(victim);
            black_box(server.free());
        }
    }))
}

/// A core's turns outside the back end: the RPC begins, is suspended in favor of the previous one,
/// resumes and ends.
fn in_turns(policy: Policy, cores: u16) -> Result<Decide, String> {
    let Policy::Preemptive(quantum) = policy else { return Err(usage()) };
    let mut server = filled(Policy::Jbsq(18), cores)?;
    let (mut turns, mut now) = (Turns::new(quantum, 16), Timestamp::ZERO);
    turns.handle_dispatch();
    Ok(Box::new(move |rpcs| {
        for _ in 0..rpcs {
            server.arrive();
            server.hand_out();
            turns.handle_dispatch();
            assert!(black_box(turns.poll_next(now)).is_some(), "two are at the core");
            now += Quantum::SHINJUKU.span();
            assert_eq!(turns.handle_yield(now), Yielded::Suspended);
            assert!(black_box(turns.poll_next(now)).is_some(), "the other RPC's turn");
            turns.handle_end();
            black_box(server.free());
        }
    }))
}

/// Short and long RPCs alternately, with the cores that DARC reserves for them.
fn by_type(_: Policy, cores: u16) -> Result<Decide, String> {
    let mut darc = Darc::new(DarcConfig::new(2, cores));
    let mut queues = TypedQueues::new(2, 1024);
    let mut idle = CoreSet::full(cores);
    let mut number = 0_u32;
    Ok(Box::new(move |rpcs| {
        for _ in 0..rpcs {
            number = number.wrapping_add(1);
            let (kind, service) = if number.is_multiple_of(2) {
                (RpcType(0), Span::from_us(1))
            } else {
                (RpcType(1), Span::from_us(100))
            };
            assert!(queues.push(black_box(kind), number, Timestamp::ZERO), "there is room");
            let (core, kind) = darc.choose(black_box(&idle), &queues).expect("a core is idle");
            black_box(queues.pop(kind));
            idle.remove(core);
            darc.handle_begun(kind, Span::ZERO);
            black_box(darc.handle_done(kind, service));
            idle.insert(core);
        }
    }))
}

/// The memory of the last RPCs, full of those of several peers, with as many in the server as half
/// of the cores.
fn remembered(_: Policy, cores: u16) -> Result<Decide, String> {
    let mut retention = Retention::new(RetentionConfig::new(1 << 16, 8 << 20).seed(1));
    let mut in_server = VecDeque::with_capacity(1 << 16);
    let (mut number, ahead) = (0_u32, usize::from(cores.div_ceil(2)));
    let mut decide: Decide = Box::new(move |rpcs| {
        for _ in 0..rpcs {
            let rpc = RpcKey { snid: NodeId(number % 61), tid: TransferId(number) };
            let (key, stamp_ns) = (black_box(RetentionKey { rpc, tag: 0 }), u64::from(number));
            number += 1;
            assert_eq!(retention.look(key, stamp_ns), Seen::New);
            in_server.push_back(retention.begin(key, stamp_ns, 0).expect("few are in the server"));
            if in_server.len() > ahead
                && let Some(over) = in_server.pop_front()
            {
                black_box(retention.end_replied(over, 64));
            }
        }
    });
    decide(1 << 17);
    Ok(decide)
}

/// The manager of the first group, whose queue may hold `waiting_max` RPCs.
fn manager(policy: Policy, cores: u16, waiting_max: u32) -> Result<Manager, String> {
    let Policy::Altocumulus(groups) = policy else { return Err(usage()) };
    let workers = (cores / groups.get()).max(1);
    let thresholds = Thresholds::fixed(waiting_max);
    let config = ManagerConfig::new(GroupId(0), groups.get(), workers, Span::from_us(1), thresholds);
    Manager::try_new(config).map_err(|error| error.to_string())
}

fn grouped(policy: Policy, cores: u16) -> Result<Decide, String> {
    let Policy::Altocumulus(groups) = policy else { return Err(usage()) };
    let mut server = filled(Policy::Jbsq(2), (cores / groups.get()).max(1))?;
    let (mut manager, mut now) = (manager(policy, cores, 10)?, Timestamp::ZERO);
    Ok(Box::new(move |rpcs| {
        for _ in 0..rpcs {
            now += Span::from_ns(100);
            server.arrive();
            manager.handle_arrival(now);
            server.hand_out();
            black_box(server.free());
        }
    }))
}

fn migrated(policy: Policy, cores: u16) -> Result<Decide, String> {
    let Policy::Altocumulus(groups) = policy else { return Err(usage()) };
    let (mut manager, mut now) = (manager(policy, cores, 10)?, Timestamp::ZERO);
    let mut lengths: Vec<u32> = (0..u32::from(groups.get())).map(|group| group * 7 % 11).collect();
    Ok(Box::new(move |decisions| {
        for decision in 0..decisions {
            now += Span::from_ns(200);
            // The other groups' queues change from one decision to the next.
            let at = decision as usize % lengths.len();
            lengths[at] = (lengths[at] + 3) % 11;
            black_box(manager.decide(now, 40, |group| lengths[group.index()]));
        }
    }))
}
