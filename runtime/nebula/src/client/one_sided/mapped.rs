//! Memory of the server that this process has mapped: operations are loads and stores.

use super::operation::{WHOLE_TRIES, Wanted};
use crate::client::error::ConnectError;
use crate::transport::shm::handshake::Mappable;
use nebula_nic::{AccessRefusal, RegionId};
use nebula_sys::shared::{ReadOnlyMemory, SharedError, SharedMemory};
use nebula_sys::window;
use std::os::fd::OwnedFd;

#[derive(Debug)]
pub(crate) struct Mapped {
    pub(super) region: RegionId,
    memory: Memory,
}

#[derive(Debug)]
enum Memory {
    ReadOnly(ReadOnlyMemory),
    Writable(SharedMemory),
}

impl Mapped {
    pub(crate) fn open(mappable: Mappable, fd: OwnedFd) -> Result<Self, ConnectError> {
        let Mappable { region, bytes, may_write } = mappable;
        let bytes = usize::try_from(bytes).map_err(|_| SharedError::Size { bytes: usize::MAX })?;
        let memory = if may_write {
            let mut memory = SharedMemory::open(fd, bytes)?;
            memory.close_fd();
            Memory::Writable(memory)
        } else {
            Memory::ReadOnly(ReadOnlyMemory::open(fd, bytes)?)
        };
        Ok(Self { region, memory })
    }

    #[inline]
    pub(super) fn may(&self, wanted: Wanted) -> bool {
        let reads = matches!(wanted, Wanted::Read { .. } | Wanted::Whole { .. });
        reads || matches!(self.memory, Memory::Writable(_))
    }

    #[inline]
    pub(super) fn carry_out(&self, wanted: Wanted, data: &[u8], result: &mut [u8]) -> Result<(), AccessRefusal> {
        let at = usize::try_from(wanted.at()).map_err(|_| AccessRefusal::Bounds)?;
        match (wanted, &self.memory) {
            (Wanted::Read { .. }, memory) => memory.read(at, result),
            (Wanted::Whole { version_at, .. }, memory) => memory.read_whole(version_at, at, result),
            (Wanted::Write { .. }, Memory::Writable(memory)) => {
                window::store(memory.words(), inside(memory, at, data.len())?, data);
                Ok(())
            }
            (Wanted::Swap { expected, desired, .. }, Memory::Writable(memory)) => {
                if !at.is_multiple_of(8) {
                    return Err(AccessRefusal::Unaligned);
                }
                let there = window::compare_swap(memory.words(), inside(memory, at, 8)?, expected, desired);
                result.copy_from_slice(&there.to_le_bytes());
                Ok(())
            }
            (Wanted::Write { .. } | Wanted::Swap { .. }, Memory::ReadOnly(_)) => Err(AccessRefusal::Rights),
        }
    }
}

impl Memory {
    #[inline]
    fn read(&self, at: usize, into: &mut [u8]) -> Result<(), AccessRefusal> {
        match self {
            Self::ReadOnly(memory) => memory.read(at, into).then_some(()).ok_or(AccessRefusal::Bounds),
            Self::Writable(memory) => {
                window::load(memory.words(), inside(memory, at, into.len())?, into);
                Ok(())
            }
        }
    }

    fn bytes(&self) -> usize {
        match self {
            Self::ReadOnly(memory) => memory.bytes(),
            Self::Writable(memory) => memory.bytes(),
        }
    }

    /// Reads the version, then the bytes, into `result`.
    fn read_whole(&self, version_at: u64, at: usize, result: &mut [u8]) -> Result<(), AccessRefusal> {
        let version_at = usize::try_from(version_at).map_err(|_| AccessRefusal::Bounds)?;
        if !version_at.is_multiple_of(8) {
            return Err(AccessRefusal::Unaligned);
        }
        let (version, into) = result.split_at_mut(8);
        let is_inside = |from: usize, bytes: usize| from <= self.bytes() && bytes <= self.bytes() - from;
        if !is_inside(version_at, 8) || !is_inside(at, into.len()) {
            return Err(AccessRefusal::Bounds);
        }
        for _ in 0..WHOLE_TRIES {
            let found = match self {
                Self::ReadOnly(memory) => memory.read_whole(version_at, at, into),
                Self::Writable(memory) => window::load_whole(memory.words(), version_at, at, into),
            };
            if let Some(found) = found {
                version.copy_from_slice(&found.to_le_bytes());
                return Ok(());
            }
            std::hint::spin_loop();
        }
        Err(AccessRefusal::Torn)
    }
}

#[inline]
fn inside(memory: &SharedMemory, at: usize, bytes: usize) -> Result<usize, AccessRefusal> {
    let is_inside = at <= memory.bytes() && bytes <= memory.bytes() - at;
    if is_inside { Ok(at) } else { Err(AccessRefusal::Bounds) }
}
