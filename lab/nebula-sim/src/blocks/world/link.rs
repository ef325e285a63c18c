//! The link, and the messages that arrive on it.

use super::senders::Senders;
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
