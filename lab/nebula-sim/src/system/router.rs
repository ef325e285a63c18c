//! A router before several servers: how it chooses one, and how far away they are.

use nebula_nic::{STEALABLE_BOUND, Span};
use nebula_workload::from_toml::span;
use serde::Deserialize;
use std::fmt;

/// A switch between clients and servers, which chooses the server of each RPC.
///
/// It counts the RPCs that it has sent to each server without feedback, so its counts are as old as
/// `feedback`. An RPC that it cannot send yet waits in its queue. Sources: R2P2 for JBSQ(n) in a
/// switch with feedback at the end of an RPC; RackSched for the less loaded of two random servers,
/// by counts that replies carry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Router {
    /// Most RPCs at a server, 1 to [`JBSQ_BOUND_MAX`](nebula_nic::JBSQ_BOUND_MAX); under another
    /// choice than JBSQ, [`STEALABLE_BOUND`].
    pub bound: u16,
    /// Latency from the router to a server.
    #[serde(deserialize_with = "span")]
    pub dispatch: Span,
    /// Latency from the end of an RPC at a server until the router knows it.
    #[serde(deserialize_with = "span")]
    pub feedback: Span,
    /// How it chooses a server.
    #[serde(default)]
    pub balance: Balance,
}

/// How a router chooses a server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Balance {
    /// The head of one queue goes to the server with the fewest RPCs, if that has fewer than the
    /// bound.
    #[default]
    Jbsq,
    /// A random server.
    Random,
    /// One server after the other.
    RoundRobin,
    /// The less loaded of two random servers, as far as the router knows.
    TwoChoices,
}

impl Router {
    /// A router that is `distance` away from its servers, in both directions: JBSQ with this bound.
    #[must_use]
    pub const fn jbsq(bound: u16, distance: Span) -> Self {
        Self { bound, dispatch: distance, feedback: distance, balance: Balance::Jbsq }
    }

    /// A router that chooses when an RPC arrives.
    #[must_use]
    #[expect(clippy::cast_possible_truncation, reason = "64")]
    pub const fn at_arrival(balance: Balance, distance: Span) -> Self {
        Self { balance, ..Self::jbsq(STEALABLE_BOUND as u16, distance) }
    }
}

impl fmt::Display for Router {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.balance {
            Balance::Jbsq => write!(f, "jbsq:{}", self.bound),
            Balance::Random => f.write_str("random"),
            Balance::RoundRobin => f.write_str("round-robin"),
            Balance::TwoChoices => f.write_str("two-choices"),
        }
    }
}
