//! Long random histories on small stores, compared with the model after each step.

use crate::model;

use crate::model::{Model, Op, Tiny, check_all, check_exact, check_lossy};
use nebula_kvs::{Eviction, Mode, Store};
use nebula_testing::{arbitrary::Unstructured, seeded};
use std::cell::Cell;

fn run(u: &mut Unstructured<'_>, tiny: Tiny, check: impl Fn(&Store, &mut Model, Op)) -> arbitrary::Result<Store> {
    let store = tiny.store();
    let mut model = Model::new(tiny);
    while !u.is_empty() {
        check(&store, &mut model, tiny.fit(u.arbitrary()?));
    }
    check_all(&store, &model);
    Ok(store)
}

const STORE: Tiny = Tiny {
    mode: Mode::Store,
    buckets: 2,
    extra_buckets: 3,
    log_bytes: 64 << 10,
    keys: 48,
    value_bytes_end: 120,
    eviction: Eviction::Oldest,
};
const CACHE: Tiny = Tiny { mode: Mode::Cache, extra_buckets: 0, log_bytes: 4 << 10, keys: 40, ..STORE };

#[test]
fn a_store_behaves_exactly_as_a_map_until_it_is_full() {
    seeded(|u| {
        run(u, STORE, check_exact)?;
        Ok(())
    })
    .size_max(20_000)
    .runs(200);
}

#[test]
fn a_store_of_one_bucket_chains_and_loses_nothing() {
    let chained_max = Cell::new(0);
    seeded(|u| {
        let store = run(u, Tiny { buckets: 1, extra_buckets: 5, ..STORE }, check_exact)?;
        chained_max.set(chained_max.get().max(store.stats().extra_buckets_used));
        Ok(())
    })
    .size_max(20_000)
    .runs(200);
    assert_eq!(chained_max.get(), 5, "no history used all extra buckets");
}

#[test]
fn a_store_with_a_full_log_refuses_and_keeps_what_it_has() {
    seeded(|u| {
        run(u, Tiny { log_bytes: 512, ..STORE }, check_exact)?;
        Ok(())
    })
    .size_max(2_000)
    .runs(300);
}

#[test]
fn a_cache_evicts_but_never_returns_a_wrong_value() {
    let wraps_max = Cell::new(0);
    let evicted_max = Cell::new(0);
    seeded(|u| {
        let stats = run(u, CACHE, check_lossy)?.stats();
        wraps_max.set(wraps_max.get().max(stats.log_wraps));
        evicted_max.set(evicted_max.get().max(stats.evicted));
        Ok(())
    })
    .size_max(30_000)
    .runs(300);
    assert!(wraps_max.get() > 5, "the log wrapped only {} times", wraps_max.get());
    assert!(evicted_max.get() > 5, "the buckets overflowed only {} times", evicted_max.get());
}

#[test]
fn a_cache_that_keeps_what_is_read_never_returns_a_wrong_value() {
    let carried_max = Cell::new(0);
    seeded(|u| {
        let tiny = Tiny { eviction: Eviction::Unread, buckets: 8, ..CACHE };
        let stats = run(u, tiny, check_lossy)?.stats();
        carried_max.set(carried_max.get().max(stats.carried));
        Ok(())
    })
    .size_max(30_000)
    .runs(300);
    assert!(carried_max.get() > 100, "only {} items were carried over", carried_max.get());
}

#[test]
fn a_cache_with_the_smallest_log_evicts_but_never_returns_a_wrong_value() {
    seeded(|u| {
        for eviction in [Eviction::Oldest, Eviction::Unread] {
            run(u, Tiny { log_bytes: 1, buckets: 1, value_bytes_end: 40, eviction, ..CACHE }, check_lossy)?;
        }
        Ok(())
    })
    .size_max(10_000)
    .runs(300);
}

/// 8 segments of 16 granules. One is being written, and each may end with a gap of up to the
/// longest item less one granule.
#[test]
fn a_cache_keeps_what_is_younger_than_its_log_when_no_bucket_overflows() {
    const ITEM_GRANULES_MAX: u64 = 4;
    const KEPT_GRANULES: u64 = 7 * (16 - ITEM_GRANULES_MAX) - ITEM_GRANULES_MAX;
    let tiny = Tiny { buckets: 1, keys: 7, value_bytes_end: 100, ..CACHE };
    let forgotten = Cell::new(0);
    seeded(|u| {
        run(u, tiny, |store, model, op| {
            check_lossy(store, model, op);
            for key in 0..tiny.keys {
                let Some(age) = model.age(key) else { continue };
                let is_found = model::get(store, key).is_some();
                assert!(is_found || age > KEPT_GRANULES, "key {key} is gone after {age} granules");
                forgotten.set(forgotten.get() + usize::from(!is_found));
            }
        })?;
        Ok(())
    })
    .size_max(30_000)
    .runs(300);
    assert!(forgotten.get() > 0, "no history was long enough to evict anything");
}
