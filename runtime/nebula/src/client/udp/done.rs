//! RPCs that are over and not handed out yet, with their replies.

use crate::client::error::CallError;
use crate::client::ticket::Ticket;
use std::collections::VecDeque;
use std::ops::Range;

#[derive(Debug)]
enum Payload {
    Packed(Range<usize>),
    Own(Vec<u8>),
}

#[derive(Debug)]
struct Ended {
    ticket: Ticket,
    place: u32,
    result: Result<Payload, CallError>,
}

#[derive(Debug)]
pub(super) struct Taken {
    pub(super) ticket: Ticket,
    pub(super) place: u32,
    pub(super) result: Result<Slice, CallError>,
}

#[derive(Debug)]
pub(crate) struct Slice(Option<Range<usize>>);

/// The queue. One-packet replies share a buffer, which is reused when the queue is empty.
#[derive(Debug)]
pub(super) struct Done {
    queue: VecDeque<Ended>,
    packed: Vec<u8>,
    current: Vec<u8>,
    spare: Vec<Vec<u8>>,
}

impl Done {
    pub(super) fn new(capacity: u32) -> Self {
        let capacity = capacity as usize;
        Self {
            queue: VecDeque::with_capacity(capacity),
            packed: Vec::with_capacity(64 * capacity),
            current: Vec::new(),
            spare: Vec::with_capacity(capacity),
        }
    }

    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }

    #[inline]
    pub(super) fn len(&self) -> u32 {
        u32::try_from(self.queue.len()).unwrap_or(u32::MAX)
    }

    /// Frees the last reply, if the queue is empty.
    #[inline]
    pub(super) fn begin_batch(&mut self) {
        if self.queue.is_empty() {
            self.packed.clear();
        }
    }

    #[inline]
    pub(super) fn push_packed(&mut self, ticket: Ticket, place: u32, reply: &[u8]) {
        let start = self.packed.len();
        self.packed.extend_from_slice(reply);
        let result = Ok(Payload::Packed(start..self.packed.len()));
        self.queue.push_back(Ended { ticket, place, result });
    }

    /// Queues an RPC with a long reply. Returns a buffer for the next RPC at its place.
    pub(super) fn push_long(&mut self, ticket: Ticket, place: u32, reply: Vec<u8>) -> Vec<u8> {
        self.queue.push_back(Ended { ticket, place, result: Ok(Payload::Own(reply)) });
        self.spare.pop().unwrap_or_default()
    }

    pub(super) fn push_error(&mut self, ticket: Ticket, place: u32, error: CallError) {
        self.queue.push_back(Ended { ticket, place, result: Err(error) });
    }

    #[inline]
    pub(super) fn take(&mut self) -> Option<Taken> {
        let Ended { ticket, place, result } = self.queue.pop_front()?;
        let result = match result {
            Ok(Payload::Packed(range)) => Ok(Slice(Some(range))),
            Ok(Payload::Own(reply)) => {
                let before = std::mem::replace(&mut self.current, reply);
                self.spare.push(before);
                Ok(Slice(None))
            }
            Err(error) => Err(error),
        };
        Some(Taken { ticket, place, result })
    }

    #[inline]
    pub(super) fn bytes(&self, slice: Slice) -> &[u8] {
        slice.0.map_or(&self.current[..], |range| &self.packed[range])
    }

    pub(super) fn buffer_bytes(&self) -> usize {
        self.packed.capacity() + self.current.capacity() + self.spare.iter().map(Vec::capacity).sum::<usize>()
    }
}
