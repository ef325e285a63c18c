//! One connection: its incomplete frame, and the bytes that wait to be sent.

use super::frames::{Frames, PREFIX_BYTES};
use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;

pub(super) const READ_BYTES: usize = 64 << 10;
/// The capacity that an idle connection keeps.
const ROOM_BYTES: usize = 4 << 10;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    /// Between two frames.
    Closed,
    /// Within a frame.
    Cut,
    /// By a frame of an invalid length.
    Bad,
    /// By an error of the kernel.
    Failed(ErrorKind),
}

impl End {
    pub(super) fn is_violation(self) -> bool {
        matches!(self, Self::Cut | Self::Bad)
    }
}

#[derive(Debug)]
pub(super) struct Link {
    pub(super) stream: TcpStream,
    frames: Frames,
    output: Vec<u8>,
    sent: usize,
    /// The bound on bytes that wait for the peer. Frames beyond it are dropped.
    unsent_max: usize,
    pub(super) may_read: bool,
    /// The peer has closed its side.
    pub(super) has_ended: bool,
}

impl Link {
    pub(super) fn new(stream: TcpStream, unsent_max: usize) -> Self {
        let (frames, output) = (Frames::default(), Vec::new());
        Self { stream, frames, output, sent: 0, unsent_max, may_read: false, has_ended: false }
    }

    pub(super) fn kept(&self) -> usize {
        self.frames.kept_bytes()
    }

    pub(super) fn unsent(&self) -> usize {
        self.output.len() - self.sent
    }

    /// Whether frames can be taken now. A peer that leaves half of the bound unread is not read.
    pub(super) fn is_ready(&self) -> bool {
        self.unsent() <= self.unsent_max / 2 && (self.may_read || self.frames.has_whole())
    }

    /// Whether complete frames were kept.
    pub(super) fn has_frames(&self) -> bool {
        self.frames.has_whole()
    }

    /// Visits at most `most` frames: kept ones, or else those of one read.
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
                // A short read is everything there was: the kernel reports more bytes, and the end.
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

    /// Queues datagrams of `segment` bytes each, the last perhaps shorter, as far as there is room.
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

    /// Frees the bytes that were sent, once they are many.
    fn drop_sent(&mut self) {
        if self.sent > self.unsent_max / 2 {
            self.output.drain(..self.sent);
            self.sent = 0;
        }
    }
}
