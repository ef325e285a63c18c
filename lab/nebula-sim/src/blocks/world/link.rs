//! The link, and the messages that arrive on it.

use crate::slab::Slab;
use nebula_nic::{Span, Timestamp};
use std::collections::VecDeque;

/// The link into the server: one message after another.
#[derive(Clone, Debug, Default)]
pub(crate) struct Link {
    pub(crate) waiting: VecDeque<Waiting>,
    pub(crate) receiving: Option<Receiving>,
    pub(crate) numbered: u32,
    /// Messages with packets still to come, if those of clients interleave.
    pub(super) senders: Senders,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Waiting {
    pub(crate) type_index: u16,
    pub(crate) is_measured: bool,
    pub(crate) since: Timestamp,
}

/// Senders whose packets interleave.
#[derive(Clone, Debug, Default)]
pub(crate) struct Senders {
    pub(crate) all: Slab<Receiving>,
    /// The packets that have reached the link, and when: the first is on it.
    pub(crate) packets: VecDeque<(u32, u32, Timestamp)>,
    /// When the link can carry another packet.
    pub(crate) free_at: Timestamp,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Receiving {
    pub(super) type_index: u16,
    pub(super) is_measured: bool,
    pub(super) begun: Timestamp,
    /// How long it waited for the link.
    pub(super) waited: Span,
    pub(super) packet: u32,
    /// Its RPC; `None` before the first packet and after a NACK.
    pub(super) message: Option<u32>,
}
