//! One operation, and the state of its blocks.

use crate::client::error::CallError;
use crate::client::ticket::{Completion, Ticket};
use nebula_nic::{ACCESS_BYTES, Access, AccessKind, AccessRefusal, BLOCK_BYTES, RegionId};

/// Bytes of an answer's status, and of a version.
const WORD: usize = 8;
const BLOCK: usize = BLOCK_BYTES as usize;
const MESSAGE_BYTES: usize = ACCESS_BYTES + BLOCK;
/// Reads of an object whose blocks differ in version before it counts as torn.
pub(super) const WHOLE_TRIES: u32 = 64;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wanted {
    Read { at: u64, bytes: u32 },
    Whole { version_at: u64, at: u64, bytes: u32 },
    Write { at: u64 },
    Swap { at: u64, expected: u64, desired: u64 },
}

impl Wanted {
    pub(crate) const fn bytes(self, data: &[u8]) -> usize {
        match self {
            Self::Read { bytes, .. } | Self::Whole { bytes, .. } => bytes as usize,
            Self::Write { .. } => data.len(),
            Self::Swap { .. } => WORD,
        }
    }

    pub(super) const fn at(self) -> u64 {
        match self {
            Self::Read { at, .. } | Self::Whole { at, .. } | Self::Write { at } | Self::Swap { at, .. } => at,
        }
    }

    const fn kind(self) -> AccessKind {
        match self {
            Self::Read { .. } => AccessKind::Read { version_at: None },
            Self::Whole { version_at, .. } => AccessKind::Read { version_at: Some(version_at) },
            Self::Write { .. } => AccessKind::Write,
            Self::Swap { expected, desired, .. } => AccessKind::CompareSwap { expected, desired },
        }
    }

    #[inline]
    const fn result_bytes(self, bytes: usize) -> usize {
        if matches!(self, Self::Write { .. }) { 0 } else { self.lead() + bytes }
    }

    const fn lead(self) -> usize {
        if matches!(self, Self::Whole { .. }) { WORD } else { 0 }
    }
}

pub(super) enum Absorbed {
    Open,
    /// All blocks must be sent again.
    Again,
    Over,
}

/// An operation at its place. The next one there uses its buffer again.
#[derive(Debug)]
pub(super) struct Operation {
    pub(super) ticket: Ticket,
    region: RegionId,
    wanted: Wanted,
    buffer: Vec<u8>,
    bytes: usize,
    /// Bytes of a block, and those in the first block before the operation's.
    block_bytes: usize,
    skip: usize,
    next: u32,
    end: u32,
    under_way: u32,
    version: Option<u64>,
    is_torn: bool,
    tries: u32,
    error: Option<CallError>,
    is_open: bool,
    /// It is one block, whose answer is handed out in place.
    pub(super) is_short: bool,
    /// Bytes of that answer, unless it is a refusal.
    answer_bytes: usize,
    pub(super) is_waiting: bool,
    message: [u8; MESSAGE_BYTES],
}

impl Default for Operation {
    fn default() -> Self {
        Self {
            ticket: Ticket(0),
            region: RegionId(0),
            wanted: Wanted::Read { at: 0, bytes: 0 },
            buffer: Vec::new(),
            bytes: 0,
            block_bytes: 1,
            skip: 0,
            next: 0,
            end: 0,
            under_way: 0,
            version: None,
            is_torn: false,
            tries: 0,
            error: None,
            is_open: false,
            is_short: false,
            answer_bytes: 0,
            is_waiting: false,
            message: [0; MESSAGE_BYTES],
        }
    }
}

impl Operation {
    #[inline]
    pub(super) fn begin(&mut self, ticket: Ticket, (region, wanted): (RegionId, Wanted), data: &[u8], packet: u32) {
        (self.ticket, self.region, self.wanted) = (ticket, region, wanted);
        self.bytes = wanted.bytes(data);
        if let Wanted::Write { .. } = wanted {
            self.buffer.clear();
            self.buffer.extend_from_slice(data);
        }
        (self.error, self.is_open, self.tries, self.next) = (None, true, 0, 0);
        let bytes_max = (packet as usize).saturating_sub(ACCESS_BYTES);
        self.is_short = bytes_max >= BLOCK && self.bytes + skip(wanted, BLOCK) <= BLOCK;
        if self.is_short {
            self.end = 1;
            self.answer_bytes = WORD + wanted.result_bytes(self.bytes);
        } else {
            self.cut(bytes_max.min(BLOCK) / WORD * WORD);
        }
    }

    /// Cuts it into blocks of `bytes` bytes, aligned to that size, and makes room for the result.
    #[inline(never)]
    fn cut(&mut self, bytes: usize) {
        (self.block_bytes, self.skip) = (bytes, skip(self.wanted, bytes));
        self.end = u32::try_from((self.skip + self.bytes).div_ceil(bytes).max(1)).unwrap_or(u32::MAX);
        self.make_room();
        self.try_again();
    }

    pub(super) fn keep(&mut self) {
        if std::mem::take(&mut self.is_short) {
            self.block_bytes = BLOCK;
            self.skip = skip(self.wanted, BLOCK);
            self.make_room();
            (self.version, self.is_torn) = (None, false);
        }
    }

    /// Makes room for the result; a write's bytes are in `buffer` already.
    fn make_room(&mut self) {
        if !matches!(self.wanted, Wanted::Write { .. }) {
            self.buffer.clear();
            self.buffer.resize(self.wanted.result_bytes(self.bytes), 0);
        }
    }

    fn try_again(&mut self) {
        (self.next, self.version, self.is_torn) = (0, None, false);
    }

    fn range(&self, block: u32) -> (usize, usize) {
        let (skip, block) = (self.skip, block as usize);
        let from = (block * self.block_bytes).saturating_sub(skip);
        let to = ((block + 1) * self.block_bytes - skip).min(self.bytes);
        (from, to.saturating_sub(from))
    }

    #[inline]
    pub(super) fn next_block(&mut self) -> Option<(u32, &[u8])> {
        if self.next >= self.end {
            return None;
        }
        let (from, bytes) = if self.end == 1 { (0, self.bytes) } else { self.range(self.next) };
        let access = Access {
            kind: self.wanted.kind(),
            region: self.region,
            // An address that wraps is beyond any region: the server refuses it.
            at: self.wanted.at().saturating_add(from as u64),
            bytes: u32::try_from(bytes).unwrap_or(u32::MAX),
        };
        self.message[..ACCESS_BYTES].copy_from_slice(&access.encode());
        let mut end = ACCESS_BYTES;
        if let Wanted::Write { .. } = self.wanted {
            end += bytes;
            self.message[ACCESS_BYTES..end].copy_from_slice(&self.buffer[from..from + bytes]);
        }
        Some((self.next, &self.message[..end]))
    }

    pub(super) fn sent(&mut self) {
        self.next += 1;
        self.under_way += 1;
    }

    /// Sends no more of it: it ends with `error`, or with an earlier one.
    pub(super) fn fail(&mut self, error: CallError) {
        self.error.get_or_insert(error);
        self.next = self.end;
    }

    pub(super) fn is_open(&self) -> bool {
        self.is_open
    }

    pub(super) fn is_over(&self) -> bool {
        self.under_way == 0 && self.next >= self.end
    }

    /// The end of a one-block operation by its answer; `None` if the block must be sent again.
    #[inline]
    pub(super) fn end_short<'a>(&mut self, answer: Result<&'a [u8], CallError>) -> Option<Result<&'a [u8], CallError>> {
        (self.under_way, self.is_open) = (0, false);
        match answer {
            Ok(answer) if answer.len() == self.answer_bytes && answer[0] == 0 && self.error.is_none() => {
                Some(Ok(&answer[WORD..]))
            }
            answer => self.end_refused(answer),
        }
    }

    #[cold]
    fn end_refused<'a>(&mut self, answer: Result<&'a [u8], CallError>) -> Option<Result<&'a [u8], CallError>> {
        let result = match (answer.and_then(|answer| self.check(self.bytes, answer)), self.error.take()) {
            (_, Some(error)) | (Err(error), None) => Err(error),
            (Ok(Some(read)), None) => Ok(read),
            (Ok(None), None) if self.may_try_again() => {
                self.is_open = true;
                return None;
            }
            (Ok(None), None) => Err(CallError::Refused { refusal: AccessRefusal::Torn }),
        };
        Some(result)
    }

    /// Whether to read a torn object again; if so, all its blocks are to be sent.
    fn may_try_again(&mut self) -> bool {
        self.tries += 1;
        let may = self.tries < WHOLE_TRIES;
        if may {
            self.try_again();
        }
        may
    }

    pub(super) fn absorb(&mut self, block: u32, result: Result<&[u8], CallError>) -> Absorbed {
        self.under_way -= 1;
        // After an error its answers are useless, but must arrive before its place is used again.
        let result = result.and_then(|answer| self.take(block, answer));
        if let Err(error) = result {
            self.fail(error);
        }
        // One that waits to be sent ends there.
        if !self.is_over() || self.is_waiting {
            return Absorbed::Open;
        }
        if self.is_torn && self.error.is_none() {
            if self.may_try_again() {
                return Absorbed::Again;
            }
            self.error = Some(CallError::Refused { refusal: AccessRefusal::Torn });
        }
        Absorbed::Over
    }

    fn take(&mut self, block: u32, answer: &[u8]) -> Result<(), CallError> {
        let (from, bytes) = self.range(block);
        let Some(read) = self.check(bytes, answer)? else {
            self.is_torn = true;
            return Ok(());
        };
        let lead = self.wanted.lead();
        let (version, read) = read.split_at(lead);
        if let Ok(version) = version.try_into().map(u64::from_le_bytes) {
            self.is_torn |= *self.version.get_or_insert(version) != version;
            self.buffer[..WORD].copy_from_slice(&version.to_le_bytes());
        }
        if !read.is_empty() {
            self.buffer[lead + from..][..bytes].copy_from_slice(read);
        }
        Ok(())
    }

    /// The bytes read of a block of `bytes` bytes, after the version if one was asked for; `None`
    /// if the object was being written.
    #[inline]
    fn check<'a>(&self, bytes: usize, answer: &'a [u8]) -> Result<Option<&'a [u8]>, CallError> {
        let (status, read) = answer.split_at_checked(WORD).ok_or(CallError::Protocol)?;
        match status[0] {
            0 => {}
            code if code == AccessRefusal::Torn.code() && matches!(self.wanted, Wanted::Whole { .. }) => {
                return Ok(None);
            }
            code => return Err(refusal(code)),
        }
        if read.len() == self.wanted.result_bytes(bytes) { Ok(Some(read)) } else { Err(CallError::Protocol) }
    }

    #[inline]
    pub(super) fn begin_at_once(&mut self, ticket: Ticket, wanted: Wanted, bytes: usize) -> &mut [u8] {
        (self.ticket, self.wanted, self.bytes) = (ticket, wanted, bytes);
        (self.next, self.end, self.is_open, self.is_short) = (0, 0, true, false);
        self.buffer.resize(wanted.result_bytes(bytes), 0);
        &mut self.buffer
    }

    #[inline]
    pub(super) fn end_at_once(&mut self, result: Result<(), AccessRefusal>) {
        self.error = result.err().map(|refusal| CallError::Refused { refusal });
    }

    /// Its end, the same until its place is used again.
    #[inline]
    pub(super) fn completion(&mut self) -> Completion<'_> {
        self.is_open = false;
        let result = match &self.error {
            Some(error) => Err(error.clone()),
            None if matches!(self.wanted, Wanted::Write { .. }) => Ok(&[][..]),
            None => Ok(&self.buffer[..]),
        };
        Completion { ticket: self.ticket, result }
    }
}

#[inline(always)]
fn skip(wanted: Wanted, block_bytes: usize) -> usize {
    usize::try_from(wanted.at() % block_bytes as u64).unwrap_or(0)
}

fn refusal(code: u8) -> CallError {
    AccessRefusal::from_code(code).map_or(CallError::Protocol, |refusal| CallError::Refused { refusal })
}
