//! The outstanding operations.
//!
//! A table of fixed size. A token identifies a slot and its generation, so that a late reply to an
//! abandoned operation is never attributed to a later operation in the same slot.

use crate::operation::Operation;

/// Identifies an operation from [`Generator::poll_send`](crate::Generator::poll_send) to its
/// outcome.
///
/// # Examples
///
/// A transport that carries 64 bits for its caller can carry a token.
///
/// ```
/// use nebula_workload::Token;
///
/// let token = Token::from_u64(0x0000_0007_0000_002a);
/// assert_eq!(token.to_u64(), 0x0000_0007_0000_002a);
/// ```
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash)]
pub struct Token {
    index: u32,
    generation: u32,
}

impl Token {
    /// The token as 64 bits.
    #[must_use]
    pub const fn to_u64(self) -> u64 {
        (self.generation as u64) << 32 | self.index as u64
    }

    /// The token of the bits of [`to_u64`](Self::to_u64); other bits identify no operation.
    #[must_use]
    #[expect(clippy::cast_possible_truncation, reason = "the two halves")]
    pub const fn from_u64(bits: u64) -> Self {
        Self { index: bits as u32, generation: (bits >> 32) as u32 }
    }

    pub(crate) const fn index(self) -> u32 {
        self.index
    }
}

#[derive(Copy, Clone, Debug)]
pub(crate) struct Entry {
    pub(crate) operation: Operation,
    /// It had to wait for room, in the transport or in this table.
    pub(crate) was_held: bool,
    /// It was sent later than the generator may be, although there was room.
    pub(crate) was_late: bool,
    /// It is waiting for room in the transport.
    pub(crate) is_blocked: bool,
}

#[derive(Clone, Debug)]
pub(crate) struct Outstanding {
    slots: Vec<Slot>,
    free: Vec<u32>,
}

#[derive(Clone, Debug)]
struct Slot {
    generation: u32,
    entry: Option<Entry>,
}

impl Outstanding {
    pub(crate) fn with_capacity(capacity: u32) -> Self {
        let slots = (0..capacity).map(|_| Slot { generation: 0, entry: None }).collect();
        // Slots are taken from the end, so that a lightly loaded client uses only the first few,
        // which stay in its cache.
        Self { slots, free: (0..capacity).rev().collect() }
    }

    pub(crate) fn is_full(&self) -> bool {
        self.free.is_empty()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.free.len() == self.slots.len()
    }

    pub(crate) fn len(&self) -> usize {
        self.slots.len() - self.free.len()
    }

    pub(crate) fn insert(&mut self, entry: Entry) -> Option<Token> {
        let index = self.free.pop()?;
        let slot = &mut self.slots[index as usize];
        slot.entry = Some(entry);
        Some(Token { index, generation: slot.generation })
    }

    pub(crate) fn entry_mut(&mut self, token: Token) -> Option<&mut Entry> {
        let slot = self.slots.get_mut(token.index as usize)?;
        slot.entry.as_mut().filter(|_| slot.generation == token.generation)
    }

    pub(crate) fn remove(&mut self, token: Token) -> Option<Entry> {
        self.entry_mut(token)?;
        let slot = &mut self.slots[token.index as usize];
        slot.generation = slot.generation.wrapping_add(1);
        self.free.push(token.index);
        slot.entry.take()
    }

    /// The token of an outstanding operation at slot `from` or later.
    pub(crate) fn next_live(&self, from: u32) -> Option<Token> {
        let slots = self.slots.iter().zip(0..).skip(from as usize);
        let mut live = slots.filter(|(slot, _)| slot.entry.is_some());
        live.next().map(|(slot, index)| Token { index, generation: slot.generation })
    }
}
