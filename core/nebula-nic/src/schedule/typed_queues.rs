//! One FIFO for each type of RPC.
//!
//! A scheduler that distinguishes types, by a field of the request, keeps them in separate queues,
//! so that short RPCs need not wait behind long ones and each type has its own SLO.

use crate::time::{Span, Timestamp};
use alloc::boxed::Box;
use alloc::vec;

/// A type of RPC, counted from 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RpcType(pub u8);

/// The maximum number of types.
pub const TYPES_MAX: u8 = 64;

/// A set of types: bit `i` is type `i`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TypeSet(u64);

impl TypeSet {
    /// No type.
    pub const EMPTY: Self = Self(0);

    /// The types below `types`.
    ///
    /// # Panics
    ///
    /// If `types` exceeds [`TYPES_MAX`].
    #[must_use]
    pub const fn below(types: u8) -> Self {
        assert!(types <= TYPES_MAX, "more types than a set can hold");
        Self(if types == TYPES_MAX { u64::MAX } else { (1 << types) - 1 })
    }

    /// Adds a type below [`TYPES_MAX`].
    #[inline]
    pub const fn insert(&mut self, kind: RpcType) {
        self.0 |= 1 << kind.0;
    }

    /// Removes a type below [`TYPES_MAX`].
    #[inline]
    pub const fn remove(&mut self, kind: RpcType) {
        self.0 &= !(1 << kind.0);
    }

    /// Whether a type below [`TYPES_MAX`] is in the set.
    #[must_use]
    #[inline]
    pub const fn contains(self, kind: RpcType) -> bool {
        self.0 >> kind.0 & 1 == 1
    }

    /// Whether the set is empty.
    #[must_use]
    #[inline]
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// The types that are in both.
    #[must_use]
    #[inline]
    pub const fn and(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }
}

/// Its types, from the lowest on.
impl Iterator for TypeSet {
    type Item = RpcType;

    #[inline]
    fn next(&mut self) -> Option<RpcType> {
        if self.0 == 0 {
            return None;
        }
        #[expect(clippy::cast_possible_truncation, reason = "at most 63")]
        let lowest = self.0.trailing_zeros() as u8;
        self.0 &= self.0 - 1;
        Some(RpcType(lowest))
    }
}

/// Which queue's head comes next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Selection {
    /// The one that joined its queue first, as if there were one queue.
    Fifo,
    /// The one that has used most of its SLO: the largest wait divided by the SLO of its type,
    /// given here by type. The wait counts from the RPC's arrival, even if it was interrupted. Of
    /// equals, the lower type comes first.
    WaitOverSlo(Box<[Span]>),
}

/// An RPC in a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Waiting<T> {
    /// The caller's identifier of the RPC.
    pub rpc: T,
    /// The time from which its wait counts.
    pub since: Timestamp,
}

/// A FIFO for each type. Cost: joining and leaving O(1), selecting O(types that wait); no
/// allocation after construction.
///
/// Source: Shinjuku: a queue per type; the head with the largest wait over its type's SLO comes
/// first.
///
/// # Invariants
///
/// Within a type, RPCs leave in the order in which they joined; none is lost or leaves twice.
///
/// # Examples
///
/// ```
/// use nebula_nic::schedule::{RpcType, Selection, TypedQueues};
/// use nebula_nic::{Span, Timestamp};
///
/// let at = Timestamp::from_ps;
/// let mut queues = TypedQueues::new(2, 8);
/// assert!(queues.push(RpcType(0), "scan", at(0)) && queues.push(RpcType(1), "get", at(50)));
/// assert_eq!(queues.select(&Selection::Fifo, at(60)), Some(RpcType(0)));
/// let slos = Selection::WaitOverSlo([1000, 10].map(Span::from_ps).into());
/// assert_eq!(queues.select(&slos, at(60)), Some(RpcType(1)), "10 of 10 ps against 60 of 1000");
/// assert_eq!(queues.pop(RpcType(1)).unwrap().rpc, "get");
/// ```
#[derive(Clone, Debug)]
pub struct TypedQueues<T> {
    pool: Box<[Node<T>]>,
    free: u32,
    queues: Box<[Queue]>,
    types: TypeSet,
    waiting: u32,
    joined: u64,
}

const NONE: u32 = u32::MAX;

#[derive(Clone, Copy, Debug)]
struct Node<T> {
    waiting: Option<Waiting<T>>,
    /// RPCs that joined any queue before it.
    order: u64,
    next: u32,
}

#[derive(Clone, Copy, Debug)]
struct Queue {
    front: u32,
    back: u32,
    len: u32,
}

impl<T: Copy> TypedQueues<T> {
    /// Queues for the types below `types`, with room for `capacity` RPCs in all.
    ///
    /// # Panics
    ///
    /// If there are no types, or more than [`TYPES_MAX`].
    #[must_use]
    pub fn new(types: u8, capacity: u32) -> Self {
        assert!((1..=TYPES_MAX).contains(&types), "use 1 to 64 types");
        let node = |next| Node { waiting: None, order: 0, next };
        let pool = (1..capacity).chain((capacity > 0).then_some(NONE)).map(node).collect();
        let queues = vec![Queue { front: NONE, back: NONE, len: 0 }; usize::from(types)].into();
        let free = if capacity == 0 { NONE } else { 0 };
        Self { pool, free, queues, types: TypeSet::EMPTY, waiting: 0, joined: 0 }
    }

    /// Appends an RPC to its type's queue; `false` if there is no room.
    ///
    /// # Panics
    ///
    /// If the type does not exist.
    #[inline]
    pub fn push(&mut self, kind: RpcType, rpc: T, since: Timestamp) -> bool {
        let number = self.free;
        if number == NONE {
            return false;
        }
        let node = &mut self.pool[number as usize];
        self.free = node.next;
        *node = Node { waiting: Some(Waiting { rpc, since }), order: self.joined, next: NONE };
        self.joined += 1;
        let queue = &mut self.queues[usize::from(kind.0)];
        match queue.back {
            NONE => queue.front = number,
            back => self.pool[back as usize].next = number,
        }
        queue.back = number;
        queue.len += 1;
        self.waiting += 1;
        self.types.insert(kind);
        true
    }

    /// Takes the head of a type's queue.
    ///
    /// # Panics
    ///
    /// If the type does not exist.
    #[inline]
    pub fn pop(&mut self, kind: RpcType) -> Option<Waiting<T>> {
        let queue = &mut self.queues[usize::from(kind.0)];
        let number = queue.front;
        if number == NONE {
            return None;
        }
        let node = &mut self.pool[number as usize];
        let waiting = node.waiting.take();
        queue.front = node.next;
        queue.len -= 1;
        if queue.front == NONE {
            queue.back = NONE;
            self.types.remove(kind);
        }
        node.next = self.free;
        self.free = number;
        self.waiting -= 1;
        waiting
    }

    /// The type whose head comes next.
    #[must_use]
    #[inline]
    pub fn select(&self, selection: &Selection, now: Timestamp) -> Option<RpcType> {
        match selection {
            Selection::Fifo => self.oldest_of(self.types),
            Selection::WaitOverSlo(slos) => self.most_urgent(slos, now),
        }
    }

    /// The type among `types` whose head joined first.
    #[must_use]
    #[inline]
    pub fn oldest_of(&self, types: TypeSet) -> Option<RpcType> {
        types.and(self.types).min_by_key(|&kind| self.front(kind).order)
    }

    fn most_urgent(&self, slos: &[Span], now: Timestamp) -> Option<RpcType> {
        let urgency = |kind: RpcType| {
            let wait = self.front(kind).waiting.map_or(Span::ZERO, |waiting| now - waiting.since);
            let slo = slos.get(usize::from(kind.0)).copied().unwrap_or(Span::MAX);
            (wait.as_ps(), slo.as_ps().max(1))
        };
        self.types.reduce(|best, kind| {
            let ((best_wait, best_slo), (wait, slo)) = (urgency(best), urgency(kind));
            let is_more = u128::from(wait) * u128::from(best_slo) > u128::from(best_wait) * u128::from(slo);
            if is_more { kind } else { best }
        })
    }

    #[inline]
    fn front(&self, kind: RpcType) -> &Node<T> {
        &self.pool[self.queues[usize::from(kind.0)].front as usize]
    }

    /// The head of a type's queue, without removing it.
    #[must_use]
    #[inline]
    pub fn peek(&self, kind: RpcType) -> Option<Waiting<T>> {
        if self.waiting_of(kind) == 0 { None } else { self.front(kind).waiting }
    }

    /// The types that have an RPC waiting.
    #[must_use]
    #[inline]
    pub const fn types(&self) -> TypeSet {
        self.types
    }

    /// RPCs that wait, of all types.
    #[must_use]
    #[inline]
    pub const fn waiting(&self) -> u32 {
        self.waiting
    }

    /// Waiting RPCs of one type; 0 for a type that does not exist.
    #[must_use]
    #[inline]
    pub fn waiting_of(&self, kind: RpcType) -> u32 {
        self.queues.get(usize::from(kind.0)).map_or(0, |queue| queue.len)
    }
}
