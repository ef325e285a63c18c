//! Where the tiers of an application are: by its name over shared memory, and at the addresses that
//! they got over UDP.

use crate::tier::Tier;
use clap::ValueEnum;
use std::collections::BTreeMap;

/// How tiers reach each other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Transport {
    /// Shared memory
    #[default]
    Shm,
    /// UDP over the loopback interface
    Udp,
}

/// The endpoints of the tiers that are known.
#[derive(Clone, Debug, Default)]
pub(crate) struct Places {
    /// Name of the application.
    app: String,
    /// Endpoints that do not follow from the name.
    at: BTreeMap<Tier, String>,
}

impl Places {
    pub(crate) fn new(app: &str) -> Self {
        Self { app: app.to_owned(), at: BTreeMap::new() }
    }

    pub(crate) fn app(&self) -> &str {
        &self.app
    }

    /// A tier has started there.
    pub(crate) fn insert(&mut self, tier: Tier, endpoint: String) {
        self.at.insert(tier, endpoint);
    }

    /// Where a tier is.
    pub(crate) fn of(&self, tier: Tier) -> String {
        self.at.get(&tier).cloned().unwrap_or_else(|| format!("shm://{}-{}", self.app, tier.name()))
    }

    /// Where a tier is to start: where it was before, so that those find it that call it.
    pub(crate) fn to_start(&self, tier: Tier, transport: Transport) -> String {
        match (transport, self.at.contains_key(&tier)) {
            (Transport::Udp, false) => "udp://127.0.0.1:0".to_owned(),
            _ => self.of(tier),
        }
    }
}

/// Reads `TIER=ENDPOINT`.
pub(crate) fn place(text: &str) -> Result<(Tier, String), String> {
    let (tier, endpoint) =
        text.split_once('=').ok_or("give a tier and where it is, such as flights=udp://127.0.0.1:7400")?;
    Ok((ValueEnum::from_str(tier, false)?, endpoint.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tier_is_where_it_was_and_otherwise_where_the_name_says() {
        let mut places = Places::new("app");
        assert_eq!(places.to_start(Tier::CheckIn, Transport::Shm), "shm://app-check-in");
        assert_eq!(places.to_start(Tier::CheckIn, Transport::Udp), "udp://127.0.0.1:0");
        let (tier, endpoint) = place("check-in=udp://127.0.0.1:7").expect("a place");
        places.insert(tier, endpoint);
        assert_eq!(places.to_start(Tier::CheckIn, Transport::Udp), "udp://127.0.0.1:7");
        assert_eq!(
            (places.of(Tier::CheckIn), places.of(Tier::Staff)),
            ("udp://127.0.0.1:7".into(), "shm://app-staff".into())
        );
        assert!(place("check-in").is_err() && place("nobody=shm://a").is_err());
    }
}
