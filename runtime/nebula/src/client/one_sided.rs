//! One-sided operations of a client, on the connection of its RPCs: reads, writes and swaps of
//! memory that the server registered.
//!
//! ```text
//!   read, write, swap ──▶ mapped? ─ yes: loads and stores, at once ──────────────▶ ended ──▶ poll
//!                            └─ no: blocks of 64 B ──▶ connection ──▶ engine ──▶ absorb ──┘
//! ```
//!
//! An operation ends when all its blocks are answered. Blocks are sent as far as there is room, the
//! rest by the next poll.

mod mapped;
mod operation;

pub(crate) use mapped::Mapped;

use super::connection::Connection;
use super::error::{CallError, SubmitError};
use super::ticket::{Completion, Ticket};
use crate::config::client::{ClientConfig, Wait};
use nebula_nic::{RegionId, Span};
pub(crate) use operation::Wanted;
use operation::{Absorbed, Operation};
use std::collections::VecDeque;
use std::time::{Duration, Instant};

/// The bit that marks the ticket of an operation and the token of a block.
const OPERATION: u64 = Ticket::ONE_SIDED;
/// In the token of a block: its index, above the place of its operation.
const BLOCK_SHIFT: u32 = 24;
pub(crate) const BYTES_MAX: usize = 64 << 20;
/// Polls of a waiting client before it yields between polls.
const SPINS: u32 = 2048;
const NAP: Span = Span::from_us(100);

#[derive(Debug)]
pub(crate) struct OneSided {
    pub(super) carrier: Box<dyn Connection>,
    mapped: Vec<Mapped>,
    operations: Box<[Operation]>,
    free: Vec<u32>,
    waiting: VecDeque<u32>,
    ended: VecDeque<u32>,
    /// The operation whose bytes the caller borrows.
    handed: Option<u32>,
    blocks: u32,
    number: u64,
    wait: Wait,
    timeout: Duration,
}

impl OneSided {
    pub(crate) fn new(carrier: Box<dyn Connection>, mapped: Vec<Mapped>, config: &ClientConfig) -> Self {
        let slots = config.slots.next_power_of_two();
        Self {
            carrier,
            mapped,
            operations: (0..slots).map(|_| Operation::default()).collect(),
            free: (0..slots).rev().collect(),
            waiting: VecDeque::with_capacity(slots as usize),
            ended: VecDeque::with_capacity(slots as usize),
            handed: None,
            blocks: 0,
            number: 0,
            wait: config.wait,
            timeout: config.call_timeout.into(),
        }
    }

    /// Begins an operation on `region` that writes `data`, if it writes.
    #[inline]
    pub(crate) fn begin(&mut self, region: RegionId, wanted: Wanted, data: &[u8]) -> Result<Ticket, SubmitError> {
        let bytes = wanted.bytes(data);
        if bytes > BYTES_MAX {
            return Err(SubmitError::TooLarge { bytes, max: u32::try_from(BYTES_MAX).unwrap_or(u32::MAX) });
        }
        self.take_back();
        let place = self.free.pop().ok_or(SubmitError::Full)?;
        let slots = self.operations.len() as u64;
        let ticket = Ticket(OPERATION | (self.number * slots + u64::from(place)));
        self.number += 1;
        let operation = &mut self.operations[place as usize];
        match self.mapped.iter().find(|mapped| mapped.region == region && mapped.may(wanted)) {
            Some(mapped) => {
                let result = operation.begin_at_once(ticket, wanted, bytes);
                let result = mapped.carry_out(wanted, data, result);
                operation.end_at_once(result);
                self.ended.push_back(place);
            }
            None => {
                operation.begin(ticket, (region, wanted), data, self.carrier.packet_bytes());
                if !self.waiting.is_empty() || !self.send_blocks(place) {
                    self.operations[place as usize].is_waiting = true;
                    self.waiting.push_back(place);
                }
            }
        }
        Ok(ticket)
    }

    /// The operation that ended first. The one handed out before becomes free.
    #[inline]
    fn next_ended(&mut self) -> Option<u32> {
        self.take_back();
        let place = self.ended.pop_front()?;
        self.handed = Some(place);
        Some(place)
    }

    #[inline]
    fn take_back(&mut self) {
        if let Some(place) = self.handed.take() {
            self.free.push(place);
        }
    }

    #[inline]
    fn send(&mut self) {
        while let Some(&place) = self.waiting.front()
            && self.send_blocks(place)
        {
            self.operations[place as usize].is_waiting = false;
            self.waiting.pop_front();
        }
    }

    /// Sends the remaining blocks of an operation, which an error may end. Returns whether all had
    /// room.
    #[inline]
    fn send_blocks(&mut self, place: u32) -> bool {
        let operation = &mut self.operations[place as usize];
        while let Some((block, message)) = operation.next_block() {
            let token = Ticket(OPERATION | u64::from(block) << BLOCK_SHIFT | u64::from(place));
            match self.carrier.submit_operation(token, message) {
                Ok(()) => {
                    operation.sent();
                    self.blocks += 1;
                }
                Err(SubmitError::Full) => return false,
                Err(error) => {
                    operation.fail(error.into());
                    break;
                }
            }
        }
        if operation.is_over() {
            self.ended.push_back(place);
        }
        true
    }

    fn place(&self, ticket: Ticket) -> usize {
        usize::try_from(ticket.0 & (self.operations.len() as u64 - 1)).unwrap_or(0)
    }

    pub(crate) fn finish(&mut self, ticket: Ticket) -> Result<&[u8], CallError> {
        let others = self.outstanding();
        if others != 1 {
            return Err(CallError::Outstanding { rpcs: others });
        }
        // `take_back` frees whatever the polls below hand out.
        let place = self.place(ticket);
        self.operations[place].keep();
        let (mut spins, mut until) = (0_u32, None);
        loop {
            if let Some(place) = self.find_end(ticket) {
                return self.operations[place as usize].completion().result;
            }
            spins = spins.saturating_add(1);
            if spins < SPINS {
                std::hint::spin_loop();
                continue;
            }
            if Instant::now() >= *until.get_or_insert_with(|| Instant::now() + self.timeout) {
                self.cancel(ticket);
                return Err(CallError::TimedOut);
            }
            match self.wait {
                Wait::Block => self.carrier.wait(NAP),
                Wait::Spin => std::thread::yield_now(),
            }
        }
    }

    /// The place of the operation, if a poll returns its end. Drops the ends of abandoned ones.
    fn find_end(&mut self, ticket: Ticket) -> Option<u32> {
        let ended = self.poll()?.ticket;
        if ended == ticket { self.handed } else { None }
    }

    #[inline]
    pub(crate) fn poll(&mut self) -> Option<Completion<'_>> {
        if let Some(place) = self.next_ended() {
            return Some(self.operations[place as usize].completion());
        }
        self.send();
        let completion = self.carrier.poll()?;
        if !completion.ticket.is_one_sided() {
            return Some(completion);
        }
        let (place, block) = parts(completion.ticket);
        self.blocks -= 1;
        let operation = &mut self.operations[place as usize];
        if operation.is_short {
            if let Some(result) = operation.end_short(completion.result) {
                self.handed = Some(place);
                return Some(Completion { ticket: operation.ticket, result });
            }
            queue_again(operation, &mut self.waiting, place);
            return None;
        }
        match operation.absorb(block, completion.result) {
            Absorbed::Open => None,
            Absorbed::Again => {
                queue_again(operation, &mut self.waiting, place);
                None
            }
            Absorbed::Over => {
                self.handed = Some(place);
                Some(self.operations[place as usize].completion())
            }
        }
    }

    pub(crate) fn take_all(&mut self, visit: &mut dyn FnMut(Completion<'_>)) {
        loop {
            let blocks = self.blocks;
            if let Some(completion) = self.poll() {
                visit(completion);
                continue;
            }
            // A block may have ended without its operation.
            if self.blocks == blocks && self.ended.is_empty() {
                return;
            }
        }
    }

    /// Ends an operation once its blocks in flight are answered. Returns whether it was
    /// outstanding.
    pub(crate) fn cancel(&mut self, ticket: Ticket) -> bool {
        if !ticket.is_one_sided() {
            return self.carrier.cancel(ticket);
        }
        let place = self.place(ticket);
        let operation = &mut self.operations[place];
        // One that is over waits to be handed out; one that waits to send ends at its turn.
        let is_outstanding = operation.ticket == ticket && operation.is_open() && !operation.is_over();
        if is_outstanding {
            operation.fail(CallError::Cancelled);
        }
        is_outstanding
    }

    #[inline]
    pub(crate) fn outstanding(&self) -> u32 {
        let operations = self.operations.len() - self.free.len() - usize::from(self.handed.is_some());
        self.carrier.outstanding() - self.blocks + u32::try_from(operations).unwrap_or(u32::MAX)
    }

    pub(crate) fn wait(&mut self, timeout: Span) {
        if self.ended.is_empty() {
            self.carrier.wait(timeout);
        }
    }
}

#[cold]
fn queue_again(operation: &mut Operation, waiting: &mut VecDeque<u32>, place: u32) {
    operation.is_waiting = true;
    waiting.push_back(place);
}

fn parts(token: Ticket) -> (u32, u32) {
    #[expect(clippy::cast_possible_truncation, reason = "as they were put together")]
    let (low, high) = (token.0 as u32 & ((1 << BLOCK_SHIFT) - 1), (token.0 >> BLOCK_SHIFT) as u32);
    (low, high)
}
