//! `--quota ENDPOINT=SIZE`: a tenant's own memory, at its own endpoint.
//!
//! The tenant has a separate store of that size. Keys of tenants do not meet, and a full store
//! evicts or refuses only its own items.

use std::str::FromStr;
use std::sync::Arc;

use nebula::{Endpoint, Region};
use nebula_kvs::{Mode, Store, StoreConfig, StoreOptions};

use crate::flags;
use crate::memory;
use nebula_ops::or_fail::OrFail;
use nebula_ui::output::{Failure, units};

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Quota {
    pub(super) endpoint: Endpoint,
    pub(super) bytes: u64,
}

impl FromStr for Quota {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (endpoint, size) = text.rsplit_once('=').ok_or("a quota is ENDPOINT=SIZE, such as shm://ann=1GiB")?;
        let endpoint = endpoint.parse().map_err(|error| format!("{endpoint}: {error}"))?;
        Ok(Self { endpoint, bytes: flags::bytes(size)? })
    }
}

/// A store, the bytes of its index and log, and its memory if Nebula's clients may read it.
#[derive(Clone)]
pub(super) struct Part {
    pub(super) store: Arc<Store>,
    pub(super) bytes: u64,
    pub(super) readable: Option<Region>,
}

impl Part {
    pub(super) fn of(store: Store, config: &StoreConfig) -> Self {
        Self { store: Arc::new(store), bytes: memory::store_bytes(config), readable: None }
    }
}

impl Quota {
    /// Whether its clients are memcached's.
    pub(super) fn has_memcached(&self) -> bool {
        matches!(self.endpoint, Endpoint::Tcp(_) | Endpoint::Unix(_))
    }

    /// The sizes of the tenant's store.
    pub(super) fn config(&self, value_bytes: u32, mode: Mode) -> Result<StoreConfig, Failure> {
        memory::config_within(self.bytes, value_bytes, mode).map_err(|failure| match failure.line() {
            Some(line) => Failure::bad_input(format!("--quota {}: {line}", self.endpoint)),
            None => failure,
        })
    }

    pub(super) fn part(&self, value_bytes: u32, mode: Mode, options: StoreOptions) -> Result<Part, Failure> {
        let config = self.config(value_bytes, mode)?;
        Ok(Part::of(Store::try_with(config, options).or_fail()?, &config))
    }
}

/// The part of `memory`, a bound of all stores, that `quotas` leave.
pub(super) fn left_of(memory: u64, quotas: &[Quota]) -> Result<u64, Failure> {
    let taken = quotas.iter().fold(0_u64, |taken, quota| taken.saturating_add(quota.bytes));
    memory.checked_sub(taken).filter(|&left| left > 0).ok_or_else(|| {
        let [taken, memory] = [taken, memory].map(units::bytes);
        Failure::bad_input(format!("--quota: tenants have {taken} together, but all stores may use {memory}"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use nebula_kvs::{Eviction, Put, PutOutcome, SetError};

    fn quota(text: &str) -> Quota {
        text.parse().unwrap()
    }

    #[test]
    fn a_quota_is_an_endpoint_and_a_size() {
        assert_eq!(quota("shm://ann=1GiB").bytes, 1 << 30);
        assert_eq!(quota("tcp://127.0.0.1:11212=64MiB").endpoint.to_string(), "tcp://127.0.0.1:11212");
        for text in ["ann", "ann=1GiB", "shm://ann", "shm://ann=", "shm://ann=much", "=1GiB"] {
            assert!(text.parse::<Quota>().is_err(), "{text}");
        }
    }

    #[test]
    fn quotas_leave_the_rest_and_never_nothing() {
        let quotas = [quota("shm://ann=1GiB"), quota("shm://bob=2GiB")];
        assert_eq!(left_of(4 << 30, &quotas).unwrap(), 1 << 30);
        for memory in [0, 1 << 30, 3 << 30] {
            assert!(left_of(memory, &quotas).unwrap_err().line().unwrap().contains("together"));
        }
    }

    #[derive(Clone, Copy)]
    struct Ask {
        key: u64,
        is_put: bool,
    }

    fn asks(seed: u64, count: usize) -> Vec<Ask> {
        let mut word = seed;
        let asks = (0..count).map(|_| {
            word = word.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            Ask { key: (word >> 33) % 2_500, is_put: word >> 62 != 0 }
        });
        asks.collect()
    }

    fn answer(part: &Part, ask: Ask, now: u32) -> Result<Option<usize>, ()> {
        let (key, value_bytes) = (ask.key.to_be_bytes(), 100 + (ask.key % 300) as usize);
        let hash = Store::hash(&key);
        if !ask.is_put {
            let mut value = Vec::new();
            return Ok(part.store.get_item(hash, &key, now, &mut value).map(|_| value.len()));
        }
        match part.store.put(hash, &key, &vec![1; value_bytes], Put { now, ..Put::default() }) {
            Ok(PutOutcome::Stored { .. }) => Ok(None),
            Err(SetError::Full) => Err(()),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn what_a_tenant_is_answered_does_not_depend_on_what_others_store() {
        let bytes = 256 << 10;
        for mode in [Mode::Cache, Mode::Store] {
            for eviction in [Eviction::Oldest, Eviction::Unread] {
                let part = |name: &str| {
                    let quota = Quota { endpoint: Endpoint::Shm(name.to_owned()), bytes };
                    quota.part(512, mode, StoreOptions { eviction, ..StoreOptions::default() }).unwrap()
                };
                let (alone, ann, bob) = (part("alone"), part("ann"), part("bob"));
                assert!([&alone, &ann, &bob].iter().all(|part| part.bytes <= bytes));
                let mut noise = asks(99, 60_000).into_iter();
                let mut refused = 0;
                for (now, ask) in (1..).zip(asks(7, 6_000)) {
                    let expected = answer(&alone, ask, now);
                    // Another tenant's requests, ten times as many, for the same keys.
                    for ask in noise.by_ref().take(10) {
                        let _ = answer(&bob, ask, now);
                    }
                    assert_eq!(answer(&ann, ask, now), expected, "ask {now} in {mode:?}, {eviction:?}");
                    refused += u32::from(expected.is_err());
                }
                let (alone, ann, bob) = (alone.store.stats(), ann.store.stats(), bob.store.stats());
                assert_eq!((alone.items, alone.evicted), (ann.items, ann.evicted));
                match mode {
                    Mode::Cache => assert!(ann.evicted > 1000 && bob.evicted > 1000 && refused == 0, "{ann:?} {bob:?}"),
                    Mode::Store => assert!(refused > 1000 && ann.evicted == 0, "{refused} refused, {ann:?}"),
                }
            }
        }
    }
}
