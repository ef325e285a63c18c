//! One connection: what has come and is incomplete, and what waits to be sent.

use super::frames::{Frames, PREFIX_BYTES};
use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;

/// Bytes read from a connection at once.
pub(super) const READ_BYTES: usize = 64 << 10;
/// Room that an idle connection keeps.
const ROOM_BYTES: usize = 4 << 10;

/// How a connection has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    /// Between two frames.
    Closed,
    /// Within a frame.
    Cut,
    /// By a frame of an invalid length.
    Bad,
    /// The kernel says so.
    Failed(ErrorKind),
}

impl End {
    /// Whether the peer has done what this protocol does not allow.
    pub(super) fn is_violation(self) -> bool {
        matches!(self, Self::Cut | Self::Bad)
    }
}

/// One connection.
#[derive(Debug)]
pub(super) struct Link {
    pub(super) stream: TcpStream,
    frames: Frames,
    output: Vec<u8>,
    sent: usize,
    /// Bytes that may wait for a peer that does not read. Frames beyond are dropped.
    unsent_max: usize,
    /// There may be something to be read.
    pub(super) may_read: bool,
    /// The peer sends nothing more.
    pub(super) has_ended: bool,
}

impl Link {
    /// A connection whose peer may leave `unsent_max` bytes unread.
    pub(super) fn new(stream: TcpStream, unsent_max: usize) -> Self {
        let (frames, output) = (Frames::default(), Vec::new());
        Self { stream, frames, output, sent: 0, unsent_max, may_read: false, has_ended: false }
    }

    /// Bytes that have come and were not taken.
    pub(super) fn kept(&self) -> usize {
        self.frames.kept_bytes()
    }

    /// Bytes that wait to be sent.
    pub(super) fn unsent(&self) -> usize {
        self.output.len() - self.sent
    }

    /// Whether frames can be taken now: none are of who leaves half of the bound unread.
    pub(super) fn is_ready(&self) -> bool {
        self.unsent() <= self.unsent_max / 2 && (self.may_read || self.frames.has_whole())
    }

    /// Whether whole frames were kept.
    pub(super) fn has_frames(&self) -> bool {
        self.frames.has_whole()
    }

    /// Visits at most `most` frames of what was kept or else of what is read, once.
    pub(super) fn receive(
        &mut self,
        scratch: &mut [u8; READ_BYTES],
        most: usize,
        visit: &mut dyn FnMut(&mut [u8]),
    ) -> Result<usize, End> {
        let reads = self.may_read && !self.frames.has_whole();
        let got = if reads { self.read(scratch)? } else { 0 };
        self.frames.take(&mut scratch[..got], most, visit).map_err(|_| End::Bad)
    }

    fn read(&mut self, scratch: &mut [u8]) -> Result<usize, End> {
        match self.stream.read(scratch) {
            Ok(0) if self.kept() > 0 => Err(End::Cut),
            Ok(0) => Err(End::Closed),
            Ok(bytes) => {
                // Less than there was room for is all there was: the kernel says when there is
                // more, and when the peer has ended.
                self.may_read = bytes == scratch.len() || self.has_ended;
                Ok(bytes)
            }
            Err(error) if error.kind() == ErrorKind::Interrupted => Ok(0),
            Err(error) if error.kind() == ErrorKind::WouldBlock => {
                self.may_read = false;
                Ok(0)
            }
            Err(error) => Err(End::Failed(error.kind())),
        }
    }

    /// Queues datagrams of `segment` bytes each, the last perhaps shorter, as far as there is room
    /// for them.
    pub(super) fn queue(&mut self, bytes: &[u8], segment: usize) {
        for datagram in bytes.chunks(segment.max(1)) {
            let Ok(length) = u32::try_from(datagram.len()) else { return };
            if self.unsent() + PREFIX_BYTES + datagram.len() > self.unsent_max {
                return;
            }
            self.output.extend_from_slice(&length.to_le_bytes());
            self.output.extend_from_slice(datagram);
        }
    }

    /// Sends what waits, as far as the kernel takes it.
    pub(super) fn send(&mut self) -> Result<(), End> {
        while self.sent < self.output.len() {
            match self.stream.write(&self.output[self.sent..]) {
                Ok(bytes) => self.sent += bytes,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    self.drop_sent();
                    return Ok(());
                }
                Err(error) => return Err(End::Failed(error.kind())),
            }
        }
        self.sent = 0;
        if self.output.capacity() > ROOM_BYTES {
            self.output = Vec::new()
        } else {
            self.output.clear()
        }
        Ok(())
    }

    /// What was sent is not kept beside what was not.
    fn drop_sent(&mut self) {
        if self.sent > self.unsent_max / 2 {
            self.output.drain(..self.sent);
            self.sent = 0;
        }
    }
}
