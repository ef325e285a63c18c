//! The outstanding RPCs, indexed by the low bits of their numbers and linked by age.

use super::outcome::Call;
use alloc::boxed::Box;
use alloc::vec;
use nebula_nic::id::TransferId;
use nebula_nic::time::{Span, Timestamp};

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum State {
    /// No RPC, and no answer is expected for `tid`, the last number here.
    #[default]
    Unused,
    /// No RPC; the one with number `tid` was answered.
    Answered,
    /// Sent; the answer is pending.
    Sent,
    /// NACKed; the next try is pending.
    BackOff,
    /// Ended without an answer, not reported yet.
    Expired,
}

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Entry {
    pub(super) state: State,
    pub(super) tid: TransferId,
    pub(super) call: Call,
    pub(super) deadline: Timestamp,
    /// The longest delay after the next NACK.
    pub(super) delay: Span,
    /// NACKs so far.
    pub(super) refusals: u32,
    /// The size given by the first packet of the reply.
    pub(super) reply_bytes: Option<u32>,
    reply_packets_left: u32,
    /// Neighbors by age; `newer` also chains the expired.
    older: u32,
    newer: u32,
}

const NONE: u32 = u32::MAX;

#[derive(Clone, Debug)]
pub(super) struct Table {
    entries: Box<[Entry]>,
    /// One bit per place: set if there is no RPC.
    free: Box<[u64]>,
    /// `reply_words` words per place: one bit for each packet of its reply that has arrived.
    reply_bits: Box<[u64]>,
    reply_words: usize,
    /// The place of the next number.
    cursor: usize,
    outstanding: u32,
    oldest: u32,
    newest: u32,
    expired_front: u32,
    expired_back: u32,
}

impl Table {
    pub(super) fn new(outstanding: u32, reply_packets_max: u32, first: TransferId) -> Self {
        let places = outstanding.next_power_of_two();
        let reply_words = if reply_packets_max <= 1 { 0 } else { reply_packets_max.div_ceil(64) as usize };
        let mut free = vec![u64::MAX; places.div_ceil(64) as usize];
        free[0] >>= 64 - places.min(64);
        // Numbers begin at `first` and rotate through the places: the first of a place is the next
        // number with its low bits.
        let first_of = |place: u32| first.0.wrapping_add(place.wrapping_sub(first.0) & (places - 1));
        let entry = |place: u32| Entry { tid: TransferId(first_of(place).wrapping_sub(places)), ..Entry::default() };
        Self {
            entries: (0..places).map(entry).collect(),
            free: free.into(),
            reply_bits: vec![0; places as usize * reply_words].into(),
            reply_words,
            cursor: (first.0 & (places - 1)) as usize,
            outstanding: 0,
            oldest: NONE,
            newest: NONE,
            expired_front: NONE,
            expired_back: NONE,
        }
    }

    #[expect(clippy::cast_possible_truncation, reason = "built from a u32")]
    pub(super) fn capacity(&self) -> u32 {
        self.entries.len() as u32
    }

    #[inline]
    pub(super) const fn outstanding(&self) -> u32 {
        self.outstanding
    }

    #[inline]
    pub(super) fn place(&self, tid: TransferId) -> usize {
        tid.0 as usize & (self.entries.len() - 1)
    }

    #[inline]
    pub(super) fn number(&self, tid: TransferId) -> u32 {
        tid.0 & (self.capacity() - 1)
    }

    #[inline]
    pub(super) fn entry(&self, place: usize) -> &Entry {
        &self.entries[place]
    }

    pub(super) fn entry_mut(&mut self, place: usize) -> &mut Entry {
        &mut self.entries[place]
    }

    /// Gives an RPC the next number whose place is free.
    #[inline]
    pub(super) fn begin(&mut self, call: Call, deadline: Timestamp, delay: Span) -> Option<usize> {
        let place = self.next_free()?;
        self.free[place / 64] &= !(1 << (place % 64));
        self.cursor = (place + 1) & (self.entries.len() - 1);
        self.outstanding += 1;
        let (older, tid) = (self.newest, self.entries[place].tid);
        self.entries[place] = Entry { tid, call, deadline, delay, older, newer: NONE, ..Entry::default() };
        self.renumber(place);
        #[expect(clippy::cast_possible_truncation, reason = "a place is masked by a u32")]
        let number = place as u32;
        match older {
            NONE => self.oldest = number,
            _ => self.entries[older as usize].newer = number,
        }
        self.newest = number;
        Some(place)
    }

    /// The first free place at or after the cursor, wrapping once.
    #[inline]
    fn next_free(&self) -> Option<usize> {
        let word = self.cursor / 64;
        let ahead = self.free[word] & (u64::MAX << (self.cursor % 64));
        if ahead != 0 {
            return Some(word * 64 + ahead.trailing_zeros() as usize);
        }
        let round = (word + 1..self.free.len()).chain(0..=word);
        let found = round.map(|word| (word, self.free[word])).find(|&(_, free)| free != 0)?;
        Some(found.0 * 64 + found.1.trailing_zeros() as usize)
    }

    /// Gives the RPC at `place` the number of its next try.
    #[inline]
    pub(super) fn renumber(&mut self, place: usize) {
        let lap = self.capacity();
        let entry = &mut self.entries[place];
        entry.tid = TransferId(entry.tid.0.wrapping_add(lap));
        entry.state = State::Sent;
        entry.reply_bytes = None;
    }

    #[inline]
    pub(super) fn end(&mut self, place: usize) {
        self.unlink(place);
        self.set_free(place, State::Answered);
    }

    /// Ends an RPC without an answer.
    pub(super) fn expire(&mut self, place: usize) {
        self.unlink(place);
        self.entries[place].state = State::Expired;
        self.entries[place].newer = NONE;
        #[expect(clippy::cast_possible_truncation, reason = "a place is masked by a u32")]
        let number = place as u32;
        match self.expired_front {
            NONE => self.expired_front = number,
            _ => self.entries[self.expired_back as usize].newer = number,
        }
        self.expired_back = number;
    }

    /// Takes an RPC that has ended without an answer: its place and its token.
    pub(super) fn pop_expired(&mut self) -> Option<(u32, u64)> {
        let place = self.expired_front;
        let Entry { newer, call, .. } = *self.entries.get(place as usize)?;
        self.expired_front = newer;
        self.set_free(place as usize, State::Unused);
        Some((place, call.token))
    }

    /// Ends an RPC whose answer is no longer needed.
    pub(super) fn take_back(&mut self, place: usize) {
        self.unlink(place);
        self.set_free(place, State::Unused);
    }

    pub(super) fn oldest(&self) -> Option<usize> {
        (self.oldest != NONE).then_some(self.oldest as usize)
    }

    pub(super) fn newer(&self, place: usize) -> Option<usize> {
        let newer = self.entries[place].newer;
        (newer != NONE).then_some(newer as usize)
    }

    #[inline]
    pub(super) fn oldest_deadline(&self) -> Option<Timestamp> {
        self.entries.get(self.oldest as usize).map(|entry| entry.deadline)
    }

    /// Marks a packet of a longer reply; returns how many are missing, or `None` for a duplicate.
    pub(super) fn mark_reply(&mut self, place: usize, bytes: u32, packets: u32, pkt_idx: u32) -> Option<u32> {
        let bits = &mut self.reply_bits[place * self.reply_words..][..self.reply_words];
        let entry = &mut self.entries[place];
        if entry.reply_bytes.is_none() {
            bits.fill(0);
            entry.reply_bytes = Some(bytes);
            entry.reply_packets_left = packets;
        }
        let (word, bit) = (&mut bits[(pkt_idx / 64) as usize], 1 << (pkt_idx % 64));
        if *word & bit != 0 {
            return None;
        }
        *word |= bit;
        entry.reply_packets_left -= 1;
        Some(entry.reply_packets_left)
    }

    /// The first packet of its reply that has not arrived, and the bits of the 64 from there on;
    /// `None` before the first packet.
    pub(super) fn reply_missing(&self, place: usize) -> Option<(u32, u64)> {
        self.entries[place].reply_bytes?;
        let bits = &self.reply_bits[place * self.reply_words..][..self.reply_words];
        let word = bits.iter().position(|&word| word != u64::MAX)?;
        let bit = bits[word].trailing_ones();
        let behind = bits.get(word + 1).copied().unwrap_or(0);
        let arrived = bits[word] >> bit | behind.checked_shl(64 - bit).unwrap_or(0);
        Some((u32::try_from(word).ok()? * 64 + bit, arrived))
    }

    /// Makes room for replies of `reply_packets_max` packets; no reply may be partly received.
    pub(super) fn resize_replies(&mut self, reply_packets_max: u32) {
        let is_mid = |entry: &Entry| entry.state == State::Sent && entry.reply_bytes.is_some();
        assert!(!self.entries.iter().any(is_mid), "part of a reply has come");
        self.reply_words = if reply_packets_max <= 1 { 0 } else { reply_packets_max.div_ceil(64) as usize };
        self.reply_bits = vec![0; self.entries.len() * self.reply_words].into();
    }

    #[inline]
    fn set_free(&mut self, place: usize, state: State) {
        self.entries[place].state = state;
        self.free[place / 64] |= 1 << (place % 64);
        self.outstanding -= 1;
    }

    #[inline]
    fn unlink(&mut self, place: usize) {
        let Entry { older, newer, .. } = self.entries[place];
        match older {
            NONE => self.oldest = newer,
            _ => self.entries[older as usize].newer = newer,
        }
        match newer {
            NONE => self.newest = older,
            _ => self.entries[newer as usize].older = older,
        }
    }
}
