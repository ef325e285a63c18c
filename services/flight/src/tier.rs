//! The tiers: their names, where they are, and which of them call which.

use clap::ValueEnum;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// A tier of the application.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Tier {
    /// The front end that passengers use.
    Passengers,
    /// The front end that the airport's staff uses.
    Staff,
    /// Asks flights, baggage and passports at once, then writes to the airport's store.
    CheckIn,
    /// Knows the flights, and is the slow one.
    Flights,
    /// Knows what luggage is allowed.
    Baggage,
    /// Knows passports, by the store of citizens.
    Passports,
    /// The store of citizens.
    Citizens,
    /// The store of who has checked in.
    Airport,
}

impl Tier {
    /// Every tier, those that others call first.
    pub(crate) const ALL: [Self; 8] = [
        Self::Citizens,
        Self::Airport,
        Self::Flights,
        Self::Baggage,
        Self::Passports,
        Self::CheckIn,
        Self::Passengers,
        Self::Staff,
    ];

    /// As a program writes it.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Passengers => "passengers",
            Self::Staff => "staff",
            Self::CheckIn => "check-in",
            Self::Flights => "flights",
            Self::Baggage => "baggage",
            Self::Passports => "passports",
            Self::Citizens => "citizens",
            Self::Airport => "airport",
        }
    }

    /// Those that it calls.
    pub(crate) const fn calls(self) -> &'static [Self] {
        match self {
            Self::Passengers => &[Self::CheckIn],
            Self::Staff => &[Self::Airport],
            Self::CheckIn => &[Self::Flights, Self::Baggage, Self::Passports, Self::Airport],
            Self::Passports => &[Self::Citizens],
            Self::Flights | Self::Baggage | Self::Citizens | Self::Airport => &[],
        }
    }

    /// How long its handler waits unless it is said: for what is behind it and no tier of ours.
    pub(crate) const fn wait(self) -> Duration {
        match self {
            Self::Flights => Duration::from_micros(200),
            _ => Duration::ZERO,
        }
    }
}

/// Where handlers run that take long or call others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Threads {
    /// Where the RPC arrives, which waits with them.
    Dispatch,
    /// Elsewhere: what takes long in the pool; what calls others replies when they have.
    Worker,
}

impl Threads {
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Dispatch => "dispatch",
            Self::Worker => "worker",
        }
    }
}
