//! Groups that hand each other RPCs, compared with lists: no RPC is lost, duplicated or moved
//! twice, the order holds, and messages about other groups' RPCs change nothing.

use crate::support::reach::Reach;
use arbitrary::Arbitrary;
use nebula_nic::{
    Adoption, Arrival, Backend, BackendConfig, CoreId, Freed, GroupConfig, GroupConfigError, GroupId, Header, Mtu,
    NackReason, Policy, SlotRange, Timestamp, Verdict,
};
use std::collections::VecDeque;

const GROUPS: u16 = 3;
const CORES: u16 = 2;
const SLOTS: u32 = 12;
const FOREIGN_MAX: u32 = 2;
const NOW: Timestamp = Timestamp::ZERO;

fn config(group: u16) -> GroupConfig {
    let backend = BackendConfig::new(CORES, Policy::Jbsq(2)).slots(SLOTS).rpc_bytes_max(192);
    let backend = backend.mtu(Mtu::try_new(192).expect("a multiple of 64"));
    GroupConfig { backend, group: GroupId(group), groups: GROUPS, foreign_max: FOREIGN_MAX }
}

#[derive(Clone, Copy, Debug, Arbitrary)]
enum Op {
    Packet { group: u8, slots: u8 },
    Take { group: u8, to: u8 },
    Arrive { nth: u8 },
    Poll { group: u8 },
    Free { group: u8, core: u8, nth: u8 },
    FreeAny { group: u8, core: u8, start: u8, slots: u8 },
    ReturnAny { group: u8, by: u8, start: u8, slots: u8 },
    RefuseAny { group: u8, by: u8, start: u8, slots: u8 },
    AdoptAny { group: u8, start: u8, slots: u8 },
}

/// Messages between two groups.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Message {
    Migrate { from: GroupId, to: GroupId, arrival: Arrival },
    Refuse { by: GroupId, to: GroupId, arrival: Arrival },
    Return { by: GroupId, to: GroupId, slots: SlotRange },
}

/// The place of each RPC, by number.
#[derive(Clone, Debug, Default)]
struct Model {
    waiting: [VecDeque<Arrival>; GROUPS as usize],
    at_cores: [[Vec<SlotRange>; CORES as usize]; GROUPS as usize],
    live: Vec<SlotRange>,
    moved: Vec<SlotRange>,
}

struct Pair {
    real: Vec<Backend>,
    model: Model,
    messages: Vec<Message>,
    served: u32,
    let_in: u32,
    reach: Reach,
}

fn origin(slots: SlotRange) -> GroupId {
    GroupId(u16::try_from(slots.start.0 / SLOTS).expect("few groups"))
}

impl Pair {
    fn new() -> Self {
        let real =
            (0..GROUPS).map(|group| Backend::try_group(config(group)).expect("the bounds are possible")).collect();
        Self { real, model: Model::default(), messages: Vec::new(), served: 0, let_in: 0, reach: Reach::default() }
    }

    fn apply(&mut self, op: Op) {
        let of = |group: u8| usize::from(group) % usize::from(GROUPS);
        let range = |start: u8, slots: u8| SlotRange::new(u32::from(start) % 40, u32::from(slots) % 4);
        match op {
            Op::Packet { group, slots } => self.packet(of(group), u32::from(slots) % 3 + 1),
            Op::Take { group, to } => self.take(of(group), GroupId(u16::from(to) % 5)),
            Op::Arrive { nth } if !self.messages.is_empty() => {
                let message = self.messages.remove(usize::from(nth) % self.messages.len());
                self.arrive(message);
            }
            Op::Arrive { .. } => {}
            Op::Poll { group } => self.poll(of(group)),
            Op::Free { group, core, nth } => self.free(of(group), usize::from(core) % 2, nth.into()),
            Op::FreeAny { group, core, start, slots } => {
                self.free_any(of(group), u16::from(core) % 4, range(start, slots));
            }
            Op::ReturnAny { group, by, start, slots } => {
                self.return_any(of(group), GroupId(u16::from(by) % 4), range(start, slots));
            }
            Op::RefuseAny { group, by, start, slots } => {
                self.refuse_any(of(group), GroupId(u16::from(by) % 4), range(start, slots));
            }
            Op::AdoptAny { group, start, slots } => self.adopt_any(of(group), range(start, slots)),
        }
        self.check();
    }

    fn packet(&mut self, group: usize, slots: u32) {
        self.let_in += 1;
        let header = Header { rpc_bytes: slots * 64, key_hash: self.let_in, ..Header::default() };
        match self.real[group].handle_packet(NOW, header) {
            Verdict::Write { slots, .. } => {
                assert_eq!(origin(slots).index(), group);
                let overlaps = |other: &&SlotRange| {
                    slots.start.0 < other.start.0 + other.slots && other.start.0 < slots.start.0 + slots.slots
                };
                assert_eq!(
                    self.model.live.iter().find(overlaps),
                    None,
                    "an RPC's slots are its own until they come back"
                );
                self.model.live.push(slots);
                let (rpc, key_hash) = (header.rpc(), header.key_hash);
                let arrival = Arrival { rpc, slots, bytes: header.rpc_bytes, key_hash, arrived: NOW };
                self.model.waiting[group].push_back(arrival);
            }
            Verdict::Nack { reason } => {
                assert_eq!(reason, NackReason::BufferFull);
                self.let_in -= 1;
                self.reach.count("the buffer is full");
            }
            Verdict::Drop { reason } => panic!("{reason}"),
        }
    }

    fn take(&mut self, group: usize, to: GroupId) {
        let from = GroupId(u16::try_from(group).expect("few groups"));
        let is_possible = to != from && to.0 < GROUPS;
        let newest =
            self.model.waiting[group].back().copied().filter(|newest| is_possible && origin(newest.slots) == from);
        assert_eq!(self.real[group].take_newest_waiting(to), newest);
        let Some(arrival) = newest else { return };
        self.model.waiting[group].pop_back();
        self.messages.push(Message::Migrate { from, to, arrival });
    }

    fn arrive(&mut self, message: Message) {
        match message {
            Message::Migrate { from, to, arrival } => {
                let here = &mut self.model.waiting[to.index()];
                let foreign = here.iter().filter(|waiting| origin(waiting.slots) != to).count();
                if foreign < FOREIGN_MAX as usize {
                    assert_eq!(self.real[to.index()].adopt(arrival), Adoption::Taken);
                    here.push_back(arrival);
                    assert!(!self.model.moved.contains(&arrival.slots), "an RPC moves at most once");
                    self.model.moved.push(arrival.slots);
                } else {
                    assert_eq!(self.real[to.index()].adopt(arrival), Adoption::Refused);
                    self.messages.push(Message::Refuse { by: to, to: from, arrival });
                    self.reach.count("a foreign RPC is refused");
                }
            }
            Message::Refuse { by, to, arrival } => {
                assert!(self.real[to.index()].handle_refused(by, arrival));
                self.model.waiting[to.index()].push_back(arrival);
            }
            Message::Return { by, to, slots } => {
                assert_eq!(self.real[to.index()].handle_returned(by, slots), Freed::Taken);
                self.end(slots);
                self.reach.count("slots come back");
            }
        }
    }

    fn poll(&mut self, group: usize) {
        let cores = &mut self.model.at_cores[group];
        let idlest = (0..usize::from(CORES)).min_by_key(|&core| cores[core].len()).expect("there are cores");
        let expected = (cores[idlest].len() < 2).then(|| self.model.waiting[group].pop_front()).flatten();
        let given = self.real[group].poll_dispatch();
        assert_eq!(given.map(|given| (given.core.index(), given.arrival)), expected.map(|arrival| (idlest, arrival)));
        if let Some(arrival) = expected {
            cores[idlest].push(arrival.slots);
        }
    }

    fn free(&mut self, group: usize, core: usize, nth: usize) {
        let held = &mut self.model.at_cores[group][core];
        if held.is_empty() {
            return;
        }
        let slots = held.remove(nth % held.len());
        let (by, at) =
            (GroupId(u16::try_from(group).expect("few groups")), CoreId(u16::try_from(core).expect("few cores")));
        let freed = self.real[group].handle_free(at, slots);
        self.served += 1;
        if origin(slots) == by {
            assert_eq!(freed, Freed::Taken);
            self.end(slots);
        } else {
            assert_eq!(freed, Freed::Foreign { origin: origin(slots) });
            self.messages.push(Message::Return { by, to: origin(slots), slots });
        }
    }

    fn end(&mut self, slots: SlotRange) {
        self.model.live.retain(|live| *live != slots);
        self.model.moved.retain(|moved| *moved != slots);
    }

    // Messages that no honest group sends are refused, unless they happen to be right.

    fn free_any(&mut self, group: usize, core: u16, slots: SlotRange) {
        let is_held = self.model.at_cores[group].get(usize::from(core)).is_some_and(|held| held.contains(&slots));
        if !is_held {
            assert_eq!(self.real[group].handle_free(CoreId(core), slots), Freed::Refused);
        }
    }

    fn return_any(&mut self, group: usize, by: GroupId, slots: SlotRange) {
        let is_away = self.is_away(group, by, slots);
        if is_away {
            return self.reach.count("a return that is right by chance");
        }
        assert_eq!(self.real[group].handle_returned(by, slots), Freed::Refused);
    }

    fn refuse_any(&mut self, group: usize, by: GroupId, slots: SlotRange) {
        if !self.is_away(group, by, slots) {
            assert!(!self.real[group].handle_refused(by, Arrival { slots, ..Arrival::default() }));
        }
    }

    /// Whether group `by` has, or is about to get, these slots of `group`.
    fn is_away(&self, group: usize, by: GroupId, slots: SlotRange) -> bool {
        let is_of_group = slots.slots > 0 && origin(slots).index() == group;
        let there = |by: usize| {
            self.model.waiting[by].iter().any(|waiting| waiting.slots == slots)
                || self.model.at_cores[by].iter().flatten().any(|held| *held == slots)
        };
        let under_way = self.messages.iter().any(|message| match message {
            Message::Migrate { to, arrival, .. } => *to == by && arrival.slots == slots,
            Message::Refuse { by: from, arrival, .. } => *from == by && arrival.slots == slots,
            Message::Return { by: from, slots: returned, .. } => *from == by && *returned == slots,
        });
        let by_another = by.0 < GROUPS && by.index() != group;
        is_of_group && by_another && (there(by.index()) || under_way)
    }

    fn adopt_any(&mut self, group: usize, slots: SlotRange) {
        let is_foreign = slots.slots > 0
            && slots.start.0 < SLOTS * u32::from(GROUPS)
            && slots.slots <= SLOTS - slots.start.0 % SLOTS
            && origin(slots).index() != group;
        if !is_foreign {
            let arrival = Arrival { slots, ..Arrival::default() };
            assert_eq!(self.real[group].adopt(arrival), Adoption::Refused);
        }
    }

    fn check(&self) {
        for (index, group) in self.real.iter().enumerate() {
            let waiting = &self.model.waiting[index];
            assert_eq!(group.queue_depth() as usize, waiting.len());
            let foreign = waiting.iter().filter(|waiting| origin(waiting.slots).index() != index).count();
            assert_eq!(group.foreign_waiting() as usize, foreign);
            let live = self.model.live.iter().filter(|slots| origin(**slots).index() == index);
            assert_eq!(group.slots_used(), live.map(|slots| slots.slots).sum::<u32>());
            for core in 0..CORES {
                let held = self.model.at_cores[index][usize::from(core)].len();
                assert_eq!(group.outstanding(CoreId(core)) as usize, held);
            }
        }
    }

    /// Lets everything end: each admitted RPC has been served once.
    fn drain(&mut self) {
        for _ in 0..200 {
            (0..usize::from(GROUPS)).for_each(|group| {
                self.poll(group);
                (0..usize::from(CORES)).for_each(|core| self.free(group, core, 0));
            });
            while let Some(message) = self.messages.pop() {
                self.arrive(message);
            }
        }
        self.check();
        assert!(self.model.live.is_empty() && self.served == self.let_in, "{} of {}", self.served, self.let_in);
    }
}

#[test]
fn groups_agree_with_lists_and_lose_nothing() {
    let mut reach = Reach::default();
    nebula_testing::seeded(|random| {
        let mut pair = Pair::new();
        while !random.is_empty() {
            pair.apply(random.arbitrary()?);
        }
        pair.drain();
        reach.add(&pair.reach);
        Ok(())
    })
    .size_min(200)
    .size_max(4000)
    .runs(900);
    reach.assert_reached(&["the buffer is full", "a foreign RPC is refused", "slots come back"]);
}

#[test]
fn rpcs_of_several_slots_move_as_one() {
    let mut groups: Vec<Backend> = (0..2)
        .map(|group| {
            let backend = BackendConfig::new(1, Policy::SingleQueue).slots(8).rpc_bytes_max(512);
            let config = GroupConfig { backend, group: GroupId(group), groups: 2, foreign_max: 1 };
            Backend::try_group(config).unwrap()
        })
        .collect();
    for pkt_idx in 0..3 {
        groups[1].handle_packet(NOW, Header { rpc_bytes: 160, pkt_idx, ..Header::default() });
    }
    let moved = groups[1].take_newest_waiting(GroupId(0)).unwrap();
    assert_eq!((moved.slots, moved.bytes), (SlotRange::new(8, 3), 160));
    assert_eq!(groups[0].adopt(moved), Adoption::Taken);
    let given = groups[0].poll_dispatch().unwrap();
    assert_eq!(given.arrival, moved);
    assert_eq!(groups[0].handle_free(CoreId(0), moved.slots), Freed::Foreign { origin: GroupId(1) });
    assert_eq!(groups[0].handle_free(CoreId(0), moved.slots), Freed::Refused, "it has been freed");
    let part = SlotRange::new(8, 2);
    assert_eq!(groups[1].handle_returned(GroupId(0), part), Freed::Refused, "a part of it is none");
    assert_eq!(groups[1].handle_returned(GroupId(0), moved.slots), Freed::Taken);
    assert_eq!((groups[1].slots_used(), groups[1].migrations().mistaken), (0, 1));
}

#[test]
fn what_is_no_group_is_refused_with_what_would_be_right() {
    let try_new = |config| Backend::try_group(config).map(|_| ()).unwrap_err();
    assert!(matches!(try_new(config(3)), GroupConfigError::Group { group: 3, groups: 3 }));
    let backend = BackendConfig::new(CORES, Policy::Rss);
    assert_eq!(try_new(GroupConfig { backend, ..config(0) }), GroupConfigError::Queues);
    let backend = BackendConfig::new(CORES, Policy::Jbsq(2)).slots(1 << 30);
    assert!(matches!(try_new(GroupConfig { backend, ..config(0) }), GroupConfigError::Room { .. }));
    let backend = BackendConfig::new(0, Policy::Jbsq(2));
    assert!(matches!(try_new(GroupConfig { backend, ..config(0) }), GroupConfigError::Backend(_)));
}
