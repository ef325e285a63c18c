//! The memory of RPCs and one that never forgets, and the operations that drive both.

use arbitrary::Arbitrary;
use nebula_nic::{
    EntryId, NackReason, NodeId, ReplyAt, Retention, RetentionConfig, RetentionFull, RetentionKey, RpcKey, Seen,
    TransferId,
};
use std::collections::{BTreeMap, VecDeque};

#[derive(Clone, Copy, Debug, Arbitrary)]
pub enum Op {
    /// A new request, stamped `late` before the latest or `early` after it.
    Request {
        peer: u8,
        late: u8,
        early: u8,
        note: u32,
    },
    /// The same, refused at admission.
    Refused {
        peer: u8,
        late: u8,
        early: u8,
        reason: u8,
    },
    /// A repeated request.
    Again {
        nth: u16,
    },
    Reply {
        nth: u8,
        bytes: u16,
    },
    Nack {
        nth: u8,
        reason: u8,
    },
    Fault {
        nth: u8,
        code: u8,
    },
    Note {
        nth: u8,
        note: u32,
    },
}

/// The final outcome of an RPC.
#[derive(Clone, Copy, Debug)]
enum Fate {
    InServer(EntryId, u32),
    Over(Seen),
    /// Never accepted: there was no room, or it was stale.
    NotTaken,
}

#[derive(Clone, Copy, Debug)]
struct Known {
    stamp_ns: u64,
    fate: Fate,
    is_forgotten: bool,
}

#[derive(Clone)]
pub struct Pair {
    real: Retention,
    known: BTreeMap<RetentionKey, Known>,
    /// Keys in the order of their first requests.
    keys: Vec<RetentionKey>,
    in_server: Vec<RetentionKey>,
    /// Remembered ended RPCs, in the order of their ends.
    over: VecDeque<RetentionKey>,
    /// Entries that were never used.
    unused: usize,
    floor_ns: Option<u64>,
    latest_ns: u64,
    /// The RPC whose reply each byte of the ring holds.
    bytes: Vec<Option<RetentionKey>>,
    head: u64,
}

impl Pair {
    pub fn new(entries: u32, reply_bytes: usize) -> Self {
        let real = Retention::new(RetentionConfig::new(entries, reply_bytes).seed(5));
        let unused = (entries as usize).next_power_of_two();
        let bytes = vec![None; reply_bytes.next_power_of_two()];
        assert_eq!((real.entries(), real.reply_bytes()), (unused, bytes.len()));
        Self {
            real,
            known: BTreeMap::new(),
            keys: Vec::new(),
            in_server: Vec::new(),
            over: VecDeque::new(),
            unused,
            floor_ns: None,
            latest_ns: 0,
            bytes,
            head: 0,
        }
    }

    pub fn apply(&mut self, op: Op) {
        let floor_before = self.real.floor_ns();
        match op {
            Op::Request { peer, late, early, note } => self.request(peer, late, early, Some(note), 0),
            Op::Refused { peer, late, early, reason } => self.request(peer, late, early, None, reason),
            Op::Again { nth } => {
                if let Some(nth) = usize::from(nth).checked_rem(self.keys.len()) {
                    self.check(self.keys[nth]);
                }
            }
            Op::Reply { nth, bytes } => self.reply(nth, bytes.into()),
            Op::Nack { nth, reason } => {
                let reason = reason_of(reason);
                self.end(nth, Fate::Over(Seen::Nacked(reason)), |real, id| real.end_nacked(id, reason));
            }
            Op::Fault { nth, code } => {
                self.end(nth, Fate::Over(Seen::Faulted(code)), |real, id| real.end_faulted(id, code));
            }
            Op::Note { nth, note } => self.set_note(nth, note),
        }
        assert_eq!(self.real.in_server() as usize, self.in_server.len());
        assert_eq!(self.real.len() as usize, self.in_server.len() + self.over.len());
        assert_eq!(self.real.is_full(), self.over.is_empty() && self.unused == 0);
        assert_eq!(self.real.floor_ns(), self.floor_ns);
        assert!(self.real.floor_ns() >= floor_before, "the floor sank");
    }

    /// Checks every RPC so far.
    pub fn check_all(&self) {
        self.keys.iter().for_each(|&key| self.check(key));
    }

    pub fn in_server(&self) -> usize {
        self.in_server.len()
    }

    fn request(&mut self, peer: u8, late: u8, early: u8, note: Option<u32>, reason: u8) {
        let stamp_ns = (self.latest_ns + u64::from(early % 8)).saturating_sub((late % 16).into());
        self.latest_ns = self.latest_ns.max(stamp_ns) + 1;
        let key = self.key(peer);
        let seen = self.real.look(key, stamp_ns);
        let is_stale = self.floor_ns.is_some_and(|floor| stamp_ns <= floor);
        assert_eq!(seen, if is_stale { Seen::Stale } else { Seen::New });
        let fate = if is_stale { Fate::NotTaken } else { self.take(key, stamp_ns, note, reason_of(reason)) };
        self.keys.push(key);
        self.known.insert(key, Known { stamp_ns, fate, is_forgotten: false });
    }

    /// An unused key of few nodes, some of which differ only by tag.
    fn key(&self, peer: u8) -> RetentionKey {
        let tid = TransferId(u32::try_from(self.keys.len()).expect("few operations") / 2);
        let mut key = RetentionKey { rpc: RpcKey { snid: NodeId(u32::from(peer % 3)), tid }, tag: u32::from(peer % 2) };
        while self.known.contains_key(&key) {
            key.rpc.tid.0 += 1;
        }
        key
    }

    /// Gives a new RPC to the real one, and forgets what must make room.
    fn take(&mut self, key: RetentionKey, stamp_ns: u64, note: Option<u32>, reason: NackReason) -> Fate {
        let has_room = self.unused > 0 || !self.over.is_empty();
        let fate = match note {
            Some(note) => self.real.begin(key, stamp_ns, note).map(|id| Fate::InServer(id, note)),
            None => self.real.nacked(key, stamp_ns, reason).map(|()| Fate::Over(Seen::Nacked(reason))),
        };
        assert_eq!(fate.is_ok(), has_room);
        let Ok(fate) = fate else {
            assert_eq!(self.real.begin(key, stamp_ns, 0), Err(RetentionFull));
            return Fate::NotTaken;
        };
        self.make_room();
        if note.is_some() {
            self.in_server.push(key)
        } else {
            self.over.push_back(key)
        }
        fate
    }

    fn make_room(&mut self) {
        if self.unused > 0 {
            self.unused -= 1;
            return;
        }
        let forgotten = self.over.pop_front().expect("there was room");
        let known = self.known.get_mut(&forgotten).expect("it was there");
        known.is_forgotten = true;
        self.floor_ns = self.floor_ns.max(Some(known.stamp_ns));
    }

    fn reply(&mut self, nth: u8, bytes: u32) {
        let Some((place, key, id)) = self.nth_in_server(nth) else { return };
        let capacity = self.bytes.len() as u64;
        let at = self.real.end_replied(id, bytes);
        assert_eq!(at.is_some(), u64::from(bytes) <= capacity);
        let Some(at) = at else { return };
        let lap_left = capacity - self.head % capacity;
        let start = if u64::from(bytes) > lap_left { self.head + lap_left } else { self.head };
        assert_eq!(at, ReplyAt { start, bytes });
        self.head = start + u64::from(bytes);
        let offset = self.real.reply_offset(at);
        self.bytes[offset..][..bytes as usize].fill(Some(key));
        self.over_with(place, Fate::Over(Seen::Replied(at)));
    }

    fn end(&mut self, nth: u8, fate: Fate, end: impl FnOnce(&mut Retention, EntryId)) {
        if let Some((place, _, id)) = self.nth_in_server(nth) {
            end(&mut self.real, id);
            self.over_with(place, fate);
        }
    }

    fn over_with(&mut self, place: usize, fate: Fate) {
        let key = self.in_server.remove(place);
        self.over.push_back(key);
        self.known.get_mut(&key).expect("it was there").fate = fate;
    }

    fn set_note(&mut self, nth: u8, note: u32) {
        if let Some((_, key, id)) = self.nth_in_server(nth) {
            self.real.set_note(id, note);
            self.known.get_mut(&key).expect("it was there").fate = Fate::InServer(id, note);
        }
    }

    fn nth_in_server(&self, nth: u8) -> Option<(usize, RetentionKey, EntryId)> {
        let place = usize::from(nth).checked_rem(self.in_server.len())?;
        let key = self.in_server[place];
        let Fate::InServer(id, _) = self.known[&key].fate else { panic!("{key:?} is over") };
        Some((place, key, id))
    }

    /// Checks what a repeated request finds.
    fn check(&self, key: RetentionKey) {
        let Known { stamp_ns, fate, is_forgotten } = self.known[&key];
        let seen = self.real.look(key, stamp_ns);
        match fate {
            Fate::NotTaken => assert!(matches!(seen, Seen::New | Seen::Stale), "{seen:?}"),
            _ if is_forgotten => assert_eq!((seen, self.real.recall(key)), (Seen::Stale, None)),
            Fate::InServer(id, note) => {
                assert_eq!(seen, Seen::InServer(id));
                assert_eq!((self.real.note(id), self.real.key(id), self.real.stamp_ns(id)), (note, key, stamp_ns));
            }
            Fate::Over(Seen::Replied(at)) => self.check_reply(key, at, seen),
            Fate::Over(fate) => assert_eq!(seen, fate),
        }
        assert!(seen == Seen::New || seen == Seen::Stale || self.real.recall(key) == Some(seen));
    }

    /// Checks that a reply stays, complete, until the ring wraps.
    fn check_reply(&self, key: RetentionKey, at: ReplyAt, seen: Seen) {
        let is_there = at.bytes == 0 || self.head - at.start <= self.bytes.len() as u64;
        assert_eq!(seen, if is_there { Seen::Replied(at) } else { Seen::Stale });
        if is_there {
            let bytes = &self.bytes[self.real.reply_offset(at)..][..at.bytes as usize];
            assert!(bytes.iter().all(|owner| *owner == Some(key)), "another reply lies over that of {key:?}");
        }
    }
}

fn reason_of(number: u8) -> NackReason {
    NackReason::ALL[usize::from(number) % NackReason::ALL.len()]
}
