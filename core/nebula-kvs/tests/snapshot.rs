//! Snapshots: what they restore, and what is refused.

use nebula_kvs::{
    Eviction, Mode, Pages, Put, PutOutcome, SnapshotError, Store, StoreConfig, StoreOptions, check_snapshot,
};

fn store(log_bytes: usize) -> Store {
    let config = StoreConfig { buckets: 64, log_bytes, mode: Mode::Store, extra_buckets: 64, pages: Pages::Base };
    Store::try_new(config).expect("a small store")
}

fn key(number: u32) -> Vec<u8> {
    format!("key {number}").into_bytes()
}

fn put(store: &Store, number: u32, value: &[u8], expires: u32) -> u64 {
    let put = Put { flags: number, expires, now: 1, ..Put::default() };
    match store.put(Store::hash(&key(number)), &key(number), value, put) {
        Ok(PutOutcome::Stored { cas }) => cas,
        other => panic!("{other:?}"),
    }
}

fn full() -> Store {
    let store = store(8 << 20);
    for number in 0..300 {
        put(&store, number, &vec![7; 3 * number as usize], 0);
    }
    put(&store, 300, b"short-lived", 10);
    put(&store, 301, b"", 0);
    put(&store, 302, &vec![9; 1_000_000], 0);
    store.set(Store::hash(b"plain"), b"plain", b"value").expect("room");
    store.delete(Store::hash(&key(5)), &key(5));
    store
}

fn written(store: &Store) -> Vec<u8> {
    let mut file = Vec::new();
    let written = store.snapshot(&mut file).expect("a vector takes all");
    assert_eq!(written.bytes, file.len() as u64);
    file
}

#[test]
fn what_was_written_comes_back_with_its_metadata() {
    let before = full();
    let file = written(&before);
    let eviction = Eviction::Unread;
    let config = StoreConfig::within(16 << 20, Mode::Cache, 16, 1000);
    let cache = Store::try_with(config, StoreOptions { eviction, ..StoreOptions::default() }).expect("a small store");
    for after in [store(8 << 20), cache] {
        let loaded = after.load(&file[..], 1).expect("it is whole");
        assert_eq!((loaded.items, loaded.expired, loaded.bytes), (303, 0, file.len() as u64));
        for number in 0..303 {
            let (mut one, mut two) = (Vec::new(), Vec::new());
            let hash = Store::hash(&key(number));
            let metas =
                [before.get_item(hash, &key(number), 1, &mut one), after.get_item(hash, &key(number), 1, &mut two)];
            assert!(metas[0].is_some() == (number != 5) && metas[0].is_some() == metas[1].is_some() && one == two);
            let same = |meta: nebula_kvs::Meta| (meta.flags, meta.expires, meta.cas);
            assert_eq!(metas[0].map(same), metas[1].map(same));
        }
        let mut plain = Vec::new();
        assert!(after.get(Store::hash(b"plain"), b"plain", &mut plain) && plain == b"value");
        let latest = before.peek(Store::hash(&key(302)), &key(302), 1).expect("there").cas;
        assert!(put(&after, 400, b"new", 0) > latest, "CAS numbers go on");
    }
}

#[test]
fn items_that_have_expired_are_left_out() {
    let file = written(&full());
    let after = store(8 << 20);
    let loaded = after.load(&file[..], 10).expect("it is whole");
    assert_eq!((loaded.items, loaded.expired, after.stats().items), (303, 1, 302));
}

#[test]
fn every_cut_and_every_changed_byte_is_noticed() {
    let small = store(64 << 10);
    for number in 0..3 {
        put(&small, number, b"value", 0);
    }
    let file = written(&small);
    assert_eq!(check_snapshot(&file[..]).expect("it is whole").items, 3);
    for bytes in 0..file.len() {
        let cut = check_snapshot(&file[..bytes]);
        assert!(matches!(cut, Err(SnapshotError::Cut { .. } | SnapshotError::NotASnapshot)), "{bytes}: {cut:?}");
    }
    for at in 0..file.len() {
        let mut changed = file.clone();
        changed[at] ^= 0x10;
        assert!(check_snapshot(&changed[..]).is_err(), "byte {at}");
    }
    let longer = check_snapshot(&[&file[..], b"\0"].concat()[..]);
    assert!(matches!(longer, Err(SnapshotError::Longer)), "{longer:?}");
    let foreign = check_snapshot(&b"PK\x03\x04 and much that is no snapshot"[..]);
    assert!(matches!(foreign, Err(SnapshotError::NotASnapshot)));
    let mut later = file.clone();
    later[8] = 2;
    assert!(matches!(check_snapshot(&later[..]), Err(SnapshotError::Version { got: 2 })));
}

#[test]
fn a_store_that_is_too_small_says_which_item_it_did_not_take() {
    let file = written(&full());
    let refused = store(64 << 10).load(&file[..], 1);
    assert!(matches!(refused, Err(SnapshotError::Store { .. })), "{refused:?}");
}
