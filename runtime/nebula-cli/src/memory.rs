//! Checks that the store fits into memory before it is allocated; otherwise the kernel may kill the
//! process later.

use nebula_kvs::{Mode, StoreConfig};
pub(crate) use nebula_ops::memory::{MTU_BYTES_AUTO, budget_bytes, meminfo};
use nebula_workload::KEY_BYTES;

use nebula_ui::output::{Failure, units};

pub(crate) fn config_for(items: u64, value_bytes: u32, mode: Mode) -> StoreConfig {
    StoreConfig { mode, ..StoreConfig::for_items(items, KEY_BYTES, value_bytes as usize) }
}

/// Of the index and the log.
pub(crate) fn store_bytes(config: &StoreConfig) -> u64 {
    const BUCKET_BYTES: u64 = 64;
    (config.buckets as u64 + config.extra_buckets as u64) * BUCKET_BYTES + config.log_bytes as u64
}

/// The parts of a server's memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Shares {
    pub(crate) store: u64,
    pub(crate) receive_buffers: u64,
    /// Of clients over shared memory.
    pub(crate) rings: u64,
}

/// A sixteenth of less would hold no client's ring.
pub(crate) const MEMORY_BYTES_MIN: u64 = 1 << 20;

impl Shares {
    pub(crate) fn of(memory: u64, has_rings: bool) -> Self {
        let (receive_buffers, rings) = (memory / 40, if has_rings { memory / 16 } else { 0 });
        Self { store: memory - receive_buffers - rings, receive_buffers, rings }
    }
}

pub(crate) fn items_that_fit(value_bytes: u32, mode: Mode, budget: u64) -> u64 {
    let fits = |items: u64| store_bytes(&config_for(items, value_bytes, mode)) <= budget;
    // An item needs at least its value, and at least one granule of the log.
    let (mut fitting, mut beyond) = (0, budget / u64::from(value_bytes.max(32)) + 1);
    while beyond - fitting > 1 {
        let middle = fitting + (beyond - fitting) / 2;
        if fits(middle) { fitting = middle } else { beyond = middle }
    }
    fitting
}

/// The sizes of a store of `items` values, if it fits into `budget` bytes; otherwise the error says
/// how many would fit.
pub(crate) fn checked_config(items: u64, value_bytes: u32, mode: Mode, budget: u64) -> Result<StoreConfig, Failure> {
    if items == 0 {
        return Err(Failure::bad_input("a store needs room for items: give --items of 1 or more"));
    }
    let most = items_that_fit(value_bytes, mode, budget);
    if items <= most {
        return Ok(config_for(items, value_bytes, mode));
    }
    let least_bytes = items.saturating_mul(u64::from(value_bytes) + KEY_BYTES as u64);
    Err(Failure::bad_input(format!(
        "{items} items of {value_bytes} B need more than {}, but the store may use {}: --items {most} would fit",
        units::bytes(least_bytes),
        units::bytes(budget),
    )))
}

/// The largest store of values of `value_bytes` bytes within `budget` bytes.
pub(crate) fn config_within(budget: u64, value_bytes: u32, mode: Mode) -> Result<StoreConfig, Failure> {
    let bytes = usize::try_from(budget).unwrap_or(usize::MAX).min(1 << 46);
    let config = StoreConfig::within(bytes, mode, KEY_BYTES, value_bytes as usize);
    let needed = store_bytes(&config).max(store_bytes(&config_for(1, value_bytes, mode)));
    if needed <= budget {
        return Ok(config);
    }
    let [budget, needed] = [budget, needed].map(units::bytes);
    Err(Failure::bad_input(format!(
        "a store of values of {value_bytes} B does not fit into {budget}: it needs at least {needed}"
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_said_to_fit_fits_and_one_more_does_not() {
        for (value_bytes, budget) in [(512, 1 << 30), (8, 1 << 30), (512, 1 << 20), (100_000, 10 << 20)] {
            for mode in [Mode::Cache, Mode::Store] {
                let items = items_that_fit(value_bytes, mode, budget);
                assert!(store_bytes(&config_for(items, value_bytes, mode)) <= budget);
                assert!(store_bytes(&config_for(items + 1, value_bytes, mode)) > budget);
                assert!(checked_config(items, value_bytes, mode, budget).is_ok());
                let refused = checked_config(items + 1, value_bytes, mode, budget).unwrap_err();
                assert!(refused.line().unwrap().contains(&format!("--items {items} would fit")), "{refused}");
            }
        }
    }

    #[test]
    fn the_parts_of_a_server_are_no_more_than_its_memory() {
        for (memory, has_rings) in [(1 << 20, true), (12_345_678_901, false), (u64::MAX, true)] {
            let Shares { store, receive_buffers, rings } = Shares::of(memory, has_rings);
            assert_eq!(store + receive_buffers + rings, memory);
            assert!(store >= memory / 10 * 9 && (rings > 0) == has_rings);
        }
    }

    #[test]
    fn a_store_within_a_budget_takes_it_and_no_more() {
        for mode in [Mode::Cache, Mode::Store] {
            for budget in [4 << 20, 100 << 20, 1 << 30, 5_000_000_000] {
                let taken = store_bytes(&config_within(budget, 512, mode).unwrap());
                assert!((budget / 10 * 9..=budget).contains(&taken), "{taken} of {budget} in {mode:?}");
            }
            assert!(config_within(100, 512, mode).unwrap_err().line().unwrap().contains("at least"));
        }
    }

    #[test]
    fn a_size_beyond_all_bounds_is_refused_and_not_computed() {
        assert!(checked_config(u64::MAX, 512, Mode::Cache, 1 << 30).is_err());
    }

    #[test]
    fn the_papers_data_set_takes_about_a_gigabyte() {
        let bytes = store_bytes(&config_for(1_600_000, 512, Mode::Cache));
        assert!((1_000_000_000..1_300_000_000).contains(&bytes), "{bytes}");
    }
}
