//! Memory that outlives its process: what the next one finds and refuses.
#![cfg(not(miri))]

use nebula_kvs::{Eviction, Mode, Pages, Put, PutOutcome, Store, StoreConfig, StoreError, StoreOptions};
use std::fs::{self, File};
use std::os::unix::fs::{FileExt, MetadataExt, PermissionsExt};
use std::path::PathBuf;

/// A file that is removed with this value.
struct Named(PathBuf);

impl Named {
    fn new(test: &str) -> Self {
        Self(std::env::temp_dir().join(format!("nebula-kvs-{test}-{}", std::process::id())))
    }
}

impl Drop for Named {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

fn config(mode: Mode) -> StoreConfig {
    // A cache uses them up and takes more from its log.
    let extra_buckets = if mode == Mode::Store { 64 } else { 8 };
    StoreConfig { buckets: 64, log_bytes: 64 << 10, mode, extra_buckets, pages: Pages::Base }
}

fn options(eviction: Eviction) -> StoreOptions {
    StoreOptions { eviction, ..StoreOptions::default() }
}

fn key(number: u64) -> [u8; 8] {
    number.to_le_bytes()
}

fn put(store: &Store, number: u64, value_bytes: usize, expires: u32) -> bool {
    let value = vec![u8::try_from(number % 251).expect("a byte"); value_bytes];
    let flags = u32::try_from(number).expect("small");
    let put = Put { flags, expires, now: 1, ..Put::default() };
    store.put(Store::hash(&key(number)), &key(number), &value, put).is_ok()
}

/// The length of item `number`'s value, after checking it.
fn found(store: &Store, number: u64, now: u32) -> Option<usize> {
    let mut value = Vec::new();
    let meta = store.get_item(Store::hash(&key(number)), &key(number), now, &mut value)?;
    assert!(value.iter().all(|&byte| u64::from(byte) == number % 251), "item {number}: {value:?}");
    assert_eq!(u64::from(meta.flags), number);
    Some(value.len())
}

#[test]
fn what_one_store_leaves_the_next_one_has() {
    for (mode, eviction) in
        [(Mode::Store, Eviction::Oldest), (Mode::Cache, Eviction::Oldest), (Mode::Cache, Eviction::Unread)]
    {
        let named = Named::new("leaves");
        let store = Store::create_in(&named.0, config(mode), options(eviction)).expect("a new file");
        // The cache wraps several times.
        let last = if mode == Mode::Store { 200 } else { 3000 };
        assert!((0..last).all(|number| put(&store, number, 20 + usize::try_from(number % 100).expect("small"), 0)));
        assert!(put(&store, 5000, 8, 10));
        assert!(store.delete(Store::hash(&key(last - 1)), &key(last - 1)));
        let before: Vec<_> = (0..last).map(|number| found(&store, number, 2)).collect();
        let (items, wraps) = (store.items_live() as u64, store.stats().log_wraps);
        let (extra_buckets, log_bytes) = (store.stats().extra_buckets_used, store.stats().log_bytes);
        assert!(extra_buckets > 8 || mode == Mode::Store, "buckets overflow in a cache");
        drop(store);

        let (store, adopted) = Store::adopt(&named.0, config(mode), options(eviction)).expect("it fits");
        assert!(adopted.was_clean && adopted.dropped == 0 && adopted.released == 0, "{mode:?} {adopted:?}");
        assert_eq!((adopted.items, store.stats().items, store.stats().log_wraps), (items, items, wraps));
        let stats = store.stats();
        assert_eq!((stats.extra_buckets_used, stats.log_bytes), (extra_buckets, log_bytes), "{mode:?}");
        let after: Vec<_> = (0..last).map(|number| found(&store, number, 2)).collect();
        assert_eq!(before, after, "{mode:?} {eviction:?}");
        assert_eq!((found(&store, 5000, 9), found(&store, 5000, 10)), (Some(8), None));
        // Later writes overwrite nothing that is still valid.
        let more = if mode == Mode::Store { 20 } else { 5000 };
        for number in 10_000..10_000 + more {
            assert!(put(&store, number, 50, 0) && found(&store, number, 11) == Some(50));
        }
        (0..last).for_each(|number| assert!(found(&store, number, 11).is_none_or(|bytes| bytes < 120)));
    }
}

#[test]
fn cas_numbers_and_flushes_go_on() {
    let named = Named::new("cas");
    let store = Store::create_in(&named.0, config(Mode::Store), StoreOptions::default()).expect("a new file");
    let stored = |store: &Store| match store.put(Store::hash(b"k"), b"k", b"v", Put::default()) {
        Ok(PutOutcome::Stored { cas }) => cas,
        other => panic!("{other:?}"),
    };
    let before = stored(&store);
    store.flush_all(0, 1);
    assert!(put(&store, 1, 8, 0));
    drop(store);
    let (store, adopted) = Store::adopt(&named.0, config(Mode::Store), StoreOptions::default()).expect("it fits");
    assert_eq!((found(&store, 1, 1), adopted.items), (Some(8), 2));
    assert!(store.peek(Store::hash(b"k"), b"k", 1).is_none(), "flushed before");
    assert!(stored(&store) > before + 1);
}

#[test]
fn space_that_was_free_is_free_again() {
    let named = Named::new("free");
    let store = Store::create_in(&named.0, config(Mode::Store), StoreOptions::default()).expect("a new file");
    let taken = (0..).take_while(|&number| put(&store, number, 60, 0)).count() as u64;
    for number in (0..taken).step_by(3) {
        assert!(store.delete(Store::hash(&key(number)), &key(number)));
    }
    drop(store);
    let (store, _) = Store::adopt(&named.0, config(Mode::Store), StoreOptions::default()).expect("it fits");
    let again = (taken..).take_while(|&number| put(&store, number, 60, 0)).count() as u64;
    assert_eq!(again, taken.div_ceil(3));
    for number in 0..taken {
        assert_eq!(found(&store, number, 1), (number % 3 > 0).then_some(60));
    }
}

/// Makes the file look as if its process had been killed: it has no check then.
fn kill(file: &File) {
    file.write_all_at(&1_u64.to_le_bytes(), 9 * 8).expect("writable");
}

/// Creates a store, changes words of its file, and tries to adopt it.
fn changed(test: &str, change: impl Fn(&File)) -> Result<u64, StoreError> {
    let named = Named::new(test);
    let store = Store::create_in(&named.0, config(Mode::Store), StoreOptions::default()).expect("a new file");
    assert!((0..100).all(|number| put(&store, number, 40, 0)));
    drop(store);
    change(&File::options().write(true).read(true).open(&named.0).expect("the file"));
    let (store, adopted) = Store::adopt(&named.0, config(Mode::Store), StoreOptions::default())?;
    (0..100).for_each(|number| assert!(found(&store, number, 1).is_none_or(|bytes| bytes == 40)));
    assert_eq!(adopted.items + adopted.dropped, 100);
    Ok(adopted.dropped)
}

#[test]
fn a_file_that_does_not_fit_is_refused_with_what_to_do() {
    let word =
        |at: u64, word: u64| move |file: &File| file.write_all_at(&word.to_le_bytes(), at * 8).expect("writable");
    assert_eq!(changed("unchanged", |_| ()).expect("it fits"), 0);
    assert!(matches!(changed("magic", word(0, 7)), Err(StoreError::NotAStore { .. })));
    assert!(matches!(changed("version", word(1, 9)), Err(StoreError::Unfit { .. })));
    assert!(matches!(changed("check", word(5, 9)), Err(StoreError::Unfit { .. })));
    assert!(matches!(changed("boot", word(10, 9)), Err(StoreError::Unfit { .. })));
    assert!(matches!(changed("begun", word(9, 0)), Err(StoreError::Unfit { .. })));
    let cut = |file: &File| file.set_len(8192).expect("writable");
    assert!(matches!(changed("cut", cut), Err(StoreError::Unfit { .. })));
    assert!(matches!(changed("empty", |file| file.set_len(0).expect("writable")), Err(StoreError::NotAStore { .. })));
}

#[test]
fn another_geometry_another_owner_and_no_file_are_errors() {
    let named = Named::new("geometry");
    let store = Store::create_in(&named.0, config(Mode::Cache), StoreOptions::default()).expect("a new file");
    let adopt = |config| Store::adopt(&named.0, config, StoreOptions::default()).err();
    assert!(matches!(adopt(config(Mode::Cache)), Some(StoreError::InUse { .. })));
    let again = Store::create_in(&named.0, config(Mode::Cache), StoreOptions::default()).err();
    assert!(matches!(again, Some(StoreError::File { step: "create", .. })), "{again:?}");
    drop(store);
    let other = adopt(StoreConfig { buckets: 128, ..config(Mode::Cache) });
    assert!(matches!(other, Some(StoreError::Geometry { what: "buckets", expected: 128, got: 64, .. })), "{other:?}");
    let other = adopt(config(Mode::Store));
    assert!(matches!(other, Some(StoreError::Geometry { what: "extra buckets", .. })), "{other:?}");
    fs::remove_file(&named.0).expect("it is there");
    assert!(matches!(adopt(config(Mode::Cache)), Some(StoreError::File { step: "open", .. })));
}

#[test]
fn a_damaged_file_loses_items_and_never_returns_a_wrong_one() {
    // Overwrites index words in many places; an index entry must never lead to an item that was not
    // stored there.
    let mut lost = 0;
    for seed in 0..200_u64 {
        let damage = move |file: &File| {
            kill(file);
            let mut random = seed + 1;
            for _ in 0..20 {
                random = random.wrapping_mul(0x5851_F42D_4C95_7F2D).wrapping_add(0x1405_7B7E_F767_814F);
                let at = 4096 + (random >> 20) % 1024 * 8;
                file.write_all_at(&(random >> 3).to_le_bytes(), at).expect("writable");
            }
        };
        let named = Named::new("damaged");
        let store = Store::create_in(&named.0, config(Mode::Store), StoreOptions::default()).expect("a new file");
        assert!((0..100).all(|number| put(&store, number, 40, 0)));
        drop(store);
        damage(&File::options().write(true).read(true).open(&named.0).expect("the file"));
        let (store, adopted) = Store::adopt(&named.0, config(Mode::Store), StoreOptions::default()).expect("it fits");
        lost += (0..100).filter(|&number| found(&store, number, 1).is_none()).count();
        assert!(adopted.items <= 100);
        assert!((200..220).all(|number| !put(&store, number, 40, 0) || found(&store, number, 1) == Some(40)));
    }
    assert!(lost > 100, "only {lost} items were lost");
}

#[test]
fn memory_that_was_left_orderly_is_as_it_was_left_or_refused() {
    assert_eq!(changed("as-left", |_| ()).expect("it fits"), 0);
    let flip = |at: u64| {
        move |file: &File| {
            let mut byte = [0];
            file.read_exact_at(&mut byte, at).expect("readable");
            file.write_all_at(&[byte[0] ^ 1], at).expect("writable");
        }
    };
    // The state, the index from its first to its last byte, and the log, which is mostly values.
    let index_bytes = 64 * 64 + 64 * 64;
    let log = 4096 + index_bytes;
    for at in [12 * 8, 16 * 8, 24 * 8, 4096, 4104, log - 1, log, log + 17, log + 3000, log + 6000, log + (64 << 10) - 1]
    {
        let refused = changed("flipped", flip(at));
        assert!(matches!(refused, Err(StoreError::Unfit { .. })), "byte {at}: {refused:?}");
    }
}

#[test]
fn a_file_that_others_can_write_or_that_is_none_is_refused() {
    let chmod = |file: &File| file.set_permissions(PermissionsExt::from_mode(0o620)).expect("it is ours");
    let refused = changed("others", chmod);
    assert!(matches!(refused, Err(StoreError::Unfit { .. })), "{refused:?}");
    if fs::metadata("/proc/self").expect("proc").uid() == 0 {
        let refused = changed("owner", |file| std::os::unix::fs::fchown(file, Some(12345), None).expect("root"));
        assert!(matches!(refused, Err(StoreError::Unfit { .. })), "{refused:?}");
    }
    let device = Store::adopt("/dev/zero".as_ref(), config(Mode::Store), StoreOptions::default()).err();
    assert!(matches!(device, Some(StoreError::NotAStore { .. })), "{device:?}");
}
