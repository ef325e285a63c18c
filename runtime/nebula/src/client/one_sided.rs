//! One-sided operations of a client, beside its RPCs on the same connection: reads, writes and
//! swaps of memory that the server registered.
//!
//! ```text
//!   read, write, swap ──▶ mapped? ─ yes: loads and stores, at once ──────────────▶ ended ──▶ poll
//!                            └─ no: blocks of 64 B ──▶ connection ──▶ engine ──▶ absorb ──┘
//! ```
//!
//! An operation of several blocks ends when all of them are answered. Blocks are sent as far as
//! there is room, the others by the next poll.

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

/// In the ticket of an operation, and in the token of a block.
const OPERATION: u64 = Ticket::ONE_SIDED;
/// In the token of a block: the block, above the place of its operation.
const BLOCK_SHIFT: u32 = 24;
/// The longest operation, in bytes.
pub(crate) const BYTES_MAX: usize = 64 << 20;
/// Polls of a client that waits before it lets others run between polls.
const SPINS: u32 = 2048;
/// How long it sleeps at most between two looks.
const NAP: Span = Span::from_us(100);

/// A connection that carries operations too.
pub(crate) trait Carrier: Connection {
    /// The most payload bytes of what fits one packet.
    fn packet_bytes(&self) -> u32;

    /// As [`poll`](Connection::poll), compiled into the caller.
    fn poll_next(&mut self) -> Option<Completion<'_>>;

    /// Sends an operation of one packet, whose answer comes under `token`.
    fn submit_operation(&mut self, token: Ticket, message: &[u8]) -> Result<(), SubmitError>;

    /// Waits until an answer may have come, for `timeout` at most.
    fn wait_for(&mut self, timeout: Span);
}

/// A connection, and the operations that are outstanding on it.
#[derive(Debug)]
pub(crate) struct OneSided<C> {
    pub(super) carrier: C,
    mapped: Vec<Mapped>,
    operations: Box<[Operation]>,
    free: Vec<u32>,
    /// Operations of which some blocks are still to be sent.
    waiting: VecDeque<u32>,
    ended: VecDeque<u32>,
    /// The operation whose bytes the caller has.
    handed: Option<u32>,
    /// Blocks under way.
    blocks: u32,
    number: u64,
    wait: Wait,
    timeout: Duration,
}

impl<C: Carrier> OneSided<C> {
    /// Operations over `carrier`, and on `mapped` memory.
    pub(crate) fn new(carrier: C, mapped: Vec<Mapped>, config: &ClientConfig) -> Self {
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

    /// Begins an operation on `region`; `data` is what it writes.
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

    /// The next RPC or operation that has ended.
    #[inline]
    pub(crate) fn poll(&mut self) -> Option<Completion<'_>> {
        if let Some(place) = self.next_ended() {
            return Some(self.operations[place as usize].completion());
        }
        self.send();
        let completion = self.carrier.poll_next()?;
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

    /// The operation that ended first and was not handed out; the one before is forgotten.
    #[inline]
    fn next_ended(&mut self) -> Option<u32> {
        self.take_back();
        let place = self.ended.pop_front()?;
        self.handed = Some(place);
        Some(place)
    }

    /// What was handed out is not needed any more.
    #[inline]
    fn take_back(&mut self) {
        if let Some(place) = self.handed.take() {
            self.free.push(place);
        }
    }

    /// Sends blocks of what waits, as far as there is room.
    #[inline]
    fn send(&mut self) {
        while let Some(&place) = self.waiting.front()
            && self.send_blocks(place)
        {
            self.operations[place as usize].is_waiting = false;
            self.waiting.pop_front();
        }
    }

    /// Sends the blocks of an operation that are still to be sent; whether there was room for all.
    /// One that comes to an end by that is queued.
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

    /// Calls `visit` with whatever has ended.
    pub(crate) fn take_all(&mut self, visit: &mut dyn FnMut(Completion<'_>)) {
        loop {
            let blocks = self.blocks;
            if let Some(completion) = self.poll() {
                visit(completion);
                continue;
            }
            // A block of an operation may have ended, and not the operation.
            if self.blocks == blocks && self.ended.is_empty() {
                return;
            }
        }
    }

    /// Ends an operation with [`CallError::Cancelled`], once its blocks under way are answered;
    /// whether it was outstanding.
    pub(crate) fn cancel(&mut self, ticket: Ticket) -> bool {
        if !ticket.is_one_sided() {
            return self.carrier.cancel(ticket);
        }
        let place = self.place(ticket);
        let operation = &mut self.operations[place];
        // One that is over waits to be handed out. What waits to be sent ends when its turn comes,
        // and finds nothing left to send.
        let is_outstanding = operation.ticket == ticket && operation.is_open() && !operation.is_over();
        if is_outstanding {
            operation.fail(CallError::Cancelled);
        }
        is_outstanding
    }

    /// The place of an operation.
    fn place(&self, ticket: Ticket) -> usize {
        usize::try_from(ticket.0 & (self.operations.len() as u64 - 1)).unwrap_or(0)
    }

    /// RPCs and operations that have not been handed out.
    #[inline]
    pub(crate) fn outstanding(&self) -> u32 {
        let operations = self.operations.len() - self.free.len() - usize::from(self.handed.is_some());
        self.carrier.outstanding() - self.blocks + u32::try_from(operations).unwrap_or(u32::MAX)
    }

    /// Waits for the only outstanding operation.
    pub(crate) fn finish(&mut self, ticket: Ticket) -> Result<&[u8], CallError> {
        let others = self.outstanding();
        if others != 1 {
            return Err(CallError::Outstanding { rpcs: others });
        }
        // Whatever is polled for below is taken back at once.
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
                Wait::Block => self.carrier.wait_for(NAP),
                Wait::Spin => std::thread::yield_now(),
            }
        }
    }

    /// The place of the operation, if a poll says that it has ended. What earlier ones left behind
    /// is dropped.
    fn find_end(&mut self, ticket: Ticket) -> Option<u32> {
        let ended = self.poll()?.ticket;
        if ended == ticket { self.handed } else { None }
    }

    /// Waits as the connection does, unless something has ended.
    pub(crate) fn wait(&mut self, timeout: Span) {
        if self.ended.is_empty() {
            self.carrier.wait_for(timeout);
        }
    }
}

/// All blocks of an operation wait to be sent once more.
#[cold]
fn queue_again(operation: &mut Operation, waiting: &mut VecDeque<u32>, place: u32) {
    operation.is_waiting = true;
    waiting.push_back(place);
}

/// The place of an operation, and which of its blocks.
fn parts(token: Ticket) -> (u32, u32) {
    #[expect(clippy::cast_possible_truncation, reason = "as they were put together")]
    let (low, high) = (token.0 as u32 & ((1 << BLOCK_SHIFT) - 1), (token.0 >> BLOCK_SHIFT) as u32);
    (low, high)
}
