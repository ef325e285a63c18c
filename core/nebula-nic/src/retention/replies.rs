//! Which bytes of the ring belong to which reply.

use super::entry::ReplyAt;

/// The bookkeeping of the ring. A reply is contiguous; the rest at the end of a lap is skipped.
#[derive(Clone, Debug)]
pub(super) struct Replies {
    /// A power of two.
    capacity: usize,
    /// Bytes allocated or skipped.
    head: u64,
}

impl Replies {
    pub(super) const fn new(bytes: usize) -> Self {
        Self { capacity: bytes.next_power_of_two(), head: 0 }
    }

    #[inline]
    pub(super) const fn capacity(&self) -> usize {
        self.capacity
    }

    /// Allocates the next `bytes` contiguously; `None` if the whole ring is shorter.
    #[inline]
    pub(super) const fn alloc(&mut self, bytes: u32) -> Option<ReplyAt> {
        if bytes as usize > self.capacity {
            return None;
        }
        let start = self.next_start(bytes);
        self.head = start + bytes as u64;
        Some(ReplyAt { start, bytes })
    }

    #[inline]
    const fn next_start(&self, bytes: u32) -> u64 {
        let lap_left = self.capacity - self.place(self.head);
        if bytes as usize > lap_left { self.head + lap_left as u64 } else { self.head }
    }

    /// Whether the next `bytes` would overwrite something at `start` or after it.
    #[inline]
    pub(super) const fn reaches(&self, start: u64, bytes: u32) -> bool {
        (self.next_start(bytes) + bytes as u64).saturating_sub(start) > self.capacity as u64
    }

    /// Whether no part of a reply has been overwritten. An empty reply never is.
    #[inline]
    pub(super) const fn has(&self, reply: ReplyAt) -> bool {
        reply.bytes == 0 || self.head - reply.start <= self.capacity as u64
    }

    #[inline]
    pub(super) const fn offset(&self, reply: ReplyAt) -> usize {
        self.place(reply.start)
    }

    #[inline]
    #[expect(clippy::cast_possible_truncation, reason = "masked to the length of the ring")]
    const fn place(&self, position: u64) -> usize {
        position as usize & (self.capacity - 1)
    }
}
