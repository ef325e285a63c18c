//! Senders whose packets interleave.

use super::link::Receiving;
use nebula_nic::Timestamp;
use std::collections::VecDeque;

#[derive(Clone, Debug, Default)]
pub(crate) struct Senders {
    pub(crate) all: Vec<Receiving>,
    pub(crate) unused: Vec<u32>,
    /// The packets that have reached the link, and when: the first is on it.
    pub(crate) packets: VecDeque<(u32, u32, Timestamp)>,
    /// When the link can carry another packet.
    pub(crate) free_at: Timestamp,
}

impl Senders {
    #[expect(clippy::cast_possible_truncation, reason = "a run has fewer messages than 2^32")]
    pub(crate) fn insert(&mut self, message: Receiving) -> u32 {
        if let Some(sender) = self.unused.pop() {
            self.all[sender as usize] = message;
            return sender;
        }
        self.all.push(message);
        self.all.len() as u32 - 1
    }
}
