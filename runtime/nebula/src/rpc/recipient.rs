//! Whom an answer goes to where the transport has to find the way itself, and what its datagrams
//! are closed with.

use crate::net::Route;
use nebula_nic::NodeId;
use std::net::{Ipv4Addr, SocketAddr};

/// Who gets an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Recipient {
    pub(crate) route: Route,
    pub(crate) cover: Cover,
    /// Its number.
    pub(crate) snid: NodeId,
    /// The longest datagram that it takes.
    pub(crate) datagram_bytes: u16,
}

impl Recipient {
    /// Nobody.
    pub(crate) fn none() -> Self {
        let route = SocketAddr::from((Ipv4Addr::UNSPECIFIED, 0)).into();
        Self { route, cover: Cover::default(), snid: NodeId(0), datagram_bytes: 0 }
    }
}

/// What a datagram is closed with. Both sides know it; it is not in the datagram.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Cover {
    /// Plain: what the check begins with, so that who is off the path cannot make a datagram that
    /// is taken.
    pub(crate) secret: u32,
    /// Sealed: the key.
    pub(crate) key: KeyId,
}

impl Cover {
    /// That of frames to the client that has `token`.
    #[inline]
    #[expect(clippy::cast_possible_truncation, reason = "both halves are in the lower one")]
    pub(crate) const fn of_token(token: u64, key: KeyId) -> Self {
        Self { secret: (token ^ token >> 32) as u32, key }
    }
}

/// The number of a key at one side, as long as that has it; never that of another key.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct KeyId(pub(crate) u32);
