//! The client that an answer goes to over a network, and the protection of its datagrams.

use crate::net::Route;
use nebula_nic::NodeId;
use std::net::{Ipv4Addr, SocketAddr};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Recipient {
    pub(crate) route: Route,
    pub(crate) cover: Cover,
    pub(crate) snid: NodeId,
    /// The longest datagram that it accepts.
    pub(crate) datagram_bytes: u16,
}

impl Recipient {
    pub(crate) fn none() -> Self {
        let route = SocketAddr::from((Ipv4Addr::UNSPECIFIED, 0)).into();
        Self { route, cover: Cover::default(), snid: NodeId(0), datagram_bytes: 0 }
    }
}

/// The protection of a datagram. Both sides know it; the datagram does not contain it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Cover {
    /// Plain: the check's seed, so that a sender off the path cannot forge a valid datagram.
    pub(crate) secret: u32,
    pub(crate) key: KeyId,
}

impl Cover {
    #[inline]
    #[expect(clippy::cast_possible_truncation, reason = "both halves are in the lower one")]
    pub(crate) const fn of_token(token: u64, key: KeyId) -> Self {
        Self { secret: (token ^ token >> 32) as u32, key }
    }
}

/// A key's number at one side while that keeps the key. Numbers are never reused.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct KeyId(pub(crate) u32);
