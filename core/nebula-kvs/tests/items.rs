//! Items with metadata: conditions, expiry, additions, numbers, flushes.

use nebula_kvs::{
    Change, Condition, DeleteOutcome, Delta, End, Mark, Meta, Mode, NumberOutcome, Pages, Put, PutOutcome, SetError,
    SetOutcome, Store, StoreConfig,
};

const BOTH: [Mode; 2] = [Mode::Cache, Mode::Store];

fn store(mode: Mode) -> Store {
    let config = StoreConfig { buckets: 4, log_bytes: 64 << 10, mode, extra_buckets: 4, pages: Pages::Base };
    Store::try_new(config).expect("a small store")
}

fn put(store: &Store, key: &[u8], value: &[u8], put: Put) -> PutOutcome {
    store.put(Store::hash(key), key, value, put).expect("room")
}

/// The CAS number of an unconditional store.
fn stored(store: &Store, key: &[u8], value: &[u8], how: Put) -> u64 {
    let PutOutcome::Stored { cas } = put(store, key, value, how) else { panic!("an unconditional store is refused") };
    cas
}

fn get(store: &Store, key: &[u8], now: u32) -> Option<(Vec<u8>, Meta)> {
    let mut value = Vec::new();
    let meta = store.get_item(Store::hash(key), key, now, &mut value)?;
    Some((value, meta))
}

fn value(store: &Store, key: &[u8], now: u32) -> Option<Vec<u8>> {
    get(store, key, now).map(|(value, _)| value)
}

fn at(now: u32) -> Put {
    Put { now, ..Put::default() }
}

#[test]
fn what_is_put_comes_back_with_flags_and_length() {
    for mode in BOTH {
        let store = store(mode);
        for value_bytes in [0, 1, 8, 9, 24, 25, 100, 2000] {
            let given = vec![7; value_bytes];
            let cas = stored(&store, b"key", &given, Put { flags: 0xDEAD_BEEF, expires: 90, ..at(10) });
            let (value, meta) = get(&store, b"key", 11).expect("just stored");
            assert_eq!(value, given);
            let value_bytes = u32::try_from(value_bytes).expect("small");
            let expected =
                Meta { flags: 0xDEAD_BEEF, expires: 90, cas, last_access: 10, value_bytes, ..Meta::default() };
            assert_eq!(meta, expected);
        }
    }
}

#[test]
fn conditions_decide_as_memcached_says_them() {
    for mode in BOTH {
        let store = store(mode);
        let given = |condition| Put { condition, ..Put::default() };
        assert_eq!(put(&store, b"k", b"1", given(Condition::Present)), PutOutcome::NotStored);
        assert_eq!(put(&store, b"k", b"1", given(Condition::Cas(1))), PutOutcome::NotFound);
        let PutOutcome::Stored { cas } = put(&store, b"k", b"1", given(Condition::Absent)) else { panic!("absent") };
        assert_eq!(put(&store, b"k", b"2", given(Condition::Absent)), PutOutcome::NotStored);
        assert_eq!(put(&store, b"k", b"2", given(Condition::Cas(cas + 1))), PutOutcome::Exists);
        assert_eq!(value(&store, b"k", 0), Some(b"1".to_vec()));
        let PutOutcome::Stored { cas: later } = put(&store, b"k", b"3", given(Condition::Cas(cas))) else {
            panic!("the number is right")
        };
        assert!(later > cas);
        assert_eq!(put(&store, b"k", b"4", given(Condition::Cas(cas))), PutOutcome::Exists);
        assert!(matches!(put(&store, b"k", b"5", given(Condition::Present)), PutOutcome::Stored { .. }));
    }
}

#[test]
fn a_store_that_names_an_earlier_number_may_leave_a_stale_item() {
    let store = store(Mode::Cache);
    let cas = stored(&store, b"k", b"1", at(0));
    let stale = |cas| Put { condition: Condition::CasOrStale(cas), ..Put::default() };
    assert!(matches!(put(&store, b"k", b"2", stale(cas)), PutOutcome::Stored { .. }));
    assert!(!get(&store, b"k", 0).expect("stored").1.is_stale);
    assert!(matches!(put(&store, b"k", b"3", stale(cas)), PutOutcome::Stored { .. }));
    let (value, meta) = get(&store, b"k", 0).expect("stored");
    assert!(meta.is_stale && value == b"3");
    assert_eq!(put(&store, b"k", b"4", stale(meta.cas + 9)), PutOutcome::Exists);
}

#[test]
fn an_expired_item_is_absent_to_every_operation() {
    for mode in BOTH {
        let store = store(mode);
        let hash = Store::hash(b"k");
        let again = |now| stored(&store, b"k", b"5", Put { expires: now + 10, ..at(now) });
        let cas = again(100);
        assert_eq!(value(&store, b"k", 109), Some(b"5".to_vec()));
        assert_eq!(value(&store, b"k", 110), None);
        assert!(!store.get(hash, b"k", &mut Vec::new()), "the store was told that it is second 110");
        assert_eq!(store.peek(hash, b"k", 110), None);
        let present = Put { condition: Condition::Present, ..at(110) };
        assert_eq!(put(&store, b"k", b"6", present), PutOutcome::NotStored);
        assert_eq!(put(&store, b"k", b"6", Put { condition: Condition::Cas(cas), ..at(110) }), PutOutcome::NotFound);
        assert_eq!(store.concat(hash, b"k", b"6", End::Back, None, 110), Ok(PutOutcome::NotStored));
        let sum = store.add_to_number(hash, b"k", Delta::Up(1), None, 110);
        assert_eq!(sum, Ok(NumberOutcome::NotFound));
        assert!(!store.touch(hash, b"k", 500, 110));
        assert_eq!(store.delete_item(hash, b"k", None, 110), DeleteOutcome::NotFound);
        assert!(matches!(
            put(&store, b"k", b"7", Put { condition: Condition::Absent, ..at(110) }),
            PutOutcome::Stored { .. }
        ));
        assert_eq!(value(&store, b"k", 110), Some(b"7".to_vec()));
    }
}

#[test]
fn a_touch_moves_the_expiry_and_says_what_it_was() {
    let store = store(Mode::Cache);
    let hash = Store::hash(b"k");
    assert!(!store.touch(hash, b"k", 9, 1));
    let cas = stored(&store, b"k", b"v", Put { expires: 20, flags: 3, ..at(10) });
    assert!(store.touch(hash, b"k", 50, 15));
    assert_eq!(value(&store, b"k", 49), Some(b"v".to_vec()));
    let mut found = Vec::new();
    let before = store.get_and_touch(hash, b"k", 0, 49, &mut found).expect("not expired");
    assert_eq!((before.expires, before.flags, before.cas, &found[..]), (50, 3, cas, &b"v"[..]));
    assert_eq!(value(&store, b"k", 1_000_000), Some(b"v".to_vec()));
}

#[test]
fn additions_to_either_end_keep_flags_and_expiry() {
    for mode in BOTH {
        let store = store(mode);
        let hash = Store::hash(b"k");
        assert_eq!(store.concat(hash, b"k", b"x", End::Back, None, 1), Ok(PutOutcome::NotStored));
        assert_eq!(store.concat(hash, b"k", b"x", End::Back, Some(1), 1), Ok(PutOutcome::NotFound));
        let cas = stored(&store, b"k", b"mid", Put { flags: 5, expires: 99, ..at(1) });
        let Ok(PutOutcome::Stored { cas: second }) = store.concat(hash, b"k", b" end", End::Back, None, 2) else {
            panic!("there")
        };
        assert_eq!(store.concat(hash, b"k", b"x", End::Front, Some(cas), 2), Ok(PutOutcome::Exists));
        assert!(matches!(store.concat(hash, b"k", &[b'a'; 300], End::Front, None, 2), Ok(PutOutcome::Stored { .. })));
        let (value, meta) = get(&store, b"k", 3).expect("there");
        assert_eq!(value, [&[b'a'; 300][..], b"mid end"].concat());
        assert_eq!((meta.flags, meta.expires), (5, 99));
        assert!(cas < second && second < meta.cas);
    }
}

#[test]
fn numbers_wrap_upward_and_stop_at_zero_downward() {
    for mode in BOTH {
        let store = store(mode);
        let hash = Store::hash(b"n");
        let add = |delta| store.add_to_number(hash, b"n", delta, None, 1).expect("room");
        let number = |delta| match add(delta) {
            NumberOutcome::Stored { number, .. } => number,
            other => panic!("{other:?}"),
        };
        assert_eq!(add(Delta::Up(1)), NumberOutcome::NotFound);
        stored(&store, b"n", b"10", Put { flags: 2, expires: 7, ..at(1) });
        assert_eq!(number(Delta::Down(1)), 9);
        assert_eq!(value(&store, b"n", 1), Some(b"9 ".to_vec()), "keeps its length, as memcached does");
        assert_eq!(number(Delta::Up(1)), 10);
        assert_eq!(number(Delta::Down(11)), 0);
        assert_eq!(number(Delta::Up(u64::MAX)), u64::MAX);
        assert_eq!(value(&store, b"n", 1), Some(b"18446744073709551615".to_vec()));
        assert_eq!(number(Delta::Up(2)), 1);
        let meta = get(&store, b"n", 1).expect("there").1;
        assert_eq!((meta.flags, meta.expires), (2, 7));
        assert_eq!(store.add_to_number(hash, b"n", Delta::Up(1), Some(meta.cas + 1), 1), Ok(NumberOutcome::Exists));
        for text in [&b"x"[..], b"", b"-1", &[b'1'; 21], &[b' '; 2000]] {
            stored(&store, b"n", text, at(1));
            assert_eq!(add(Delta::Up(1)), NumberOutcome::NotANumber, "{text:?}");
        }
    }
}

#[test]
fn a_delete_may_name_a_cas_number() {
    let store = store(Mode::Store);
    let hash = Store::hash(b"k");
    let cas = stored(&store, b"k", b"v", at(1));
    assert_eq!(store.delete_item(hash, b"k", Some(cas + 1), 1), DeleteOutcome::Exists);
    assert_eq!(store.delete_item(hash, b"k", Some(cas), 1), DeleteOutcome::Deleted);
    assert_eq!(store.delete_item(hash, b"k", None, 1), DeleteOutcome::NotFound);
}

#[test]
fn a_flush_drops_what_was_stored_before_and_nothing_later() {
    for mode in BOTH {
        let store = store(mode);
        stored(&store, b"old", b"1", at(1));
        store.set(Store::hash(b"plain"), b"plain", b"2").expect("room");
        store.flush_all(0, 1);
        assert_eq!((value(&store, b"old", 1), value(&store, b"plain", 1)), (None, None));
        assert!(!store.get(Store::hash(b"old"), b"old", &mut Vec::new()));
        assert!(!store.get(Store::hash(b"plain"), b"plain", &mut Vec::new()));
        stored(&store, b"new", b"3", at(1));
        assert_eq!(value(&store, b"new", 1), Some(b"3".to_vec()));
        assert!(matches!(
            put(&store, b"old", b"4", Put { condition: Condition::Absent, ..at(1) }),
            PutOutcome::Stored { .. }
        ));
    }
}

#[test]
fn a_flush_to_come_takes_what_is_stored_until_then() {
    let store = store(Mode::Cache);
    stored(&store, b"a", b"1", at(1));
    store.flush_all(10, 1);
    store.set(Store::hash(b"plain"), b"plain", b"2").expect("room");
    stored(&store, b"b", b"2", at(9));
    assert_eq!(value(&store, b"a", 9), Some(b"1".to_vec()));
    assert_eq!([b"a", b"b"].map(|key| value(&store, key, 10)), [None, None]);
    assert!(!store.get(Store::hash(b"plain"), b"plain", &mut Vec::new()));
    stored(&store, b"c", b"3", at(10));
    assert_eq!(value(&store, b"c", 1000), Some(b"3".to_vec()));
    store.flush_all(2000, 1000);
    store.flush_all(0, 1001);
    stored(&store, b"d", b"4", at(1002));
    assert_eq!(value(&store, b"d", 3000), Some(b"4".to_vec()), "the later flush replaced the one to come");
}

#[test]
fn the_first_read_and_one_a_minute_are_noted() {
    let store = store(Mode::Cache);
    stored(&store, b"k", b"v", at(100));
    let seen = |now| {
        let meta = get(&store, b"k", now).expect("there").1;
        (meta.is_fetched, meta.last_access)
    };
    assert_eq!(store.peek(Store::hash(b"k"), b"k", 101).map(|meta| meta.is_fetched), Some(false));
    assert_eq!([seen(105), seen(120), seen(165), seen(166)], [(false, 100), (true, 105), (true, 105), (true, 165)]);
}

#[test]
fn a_change_sees_the_item_as_it_was_and_sets_what_it_names() {
    let store = store(Mode::Store);
    let hash = Store::hash(b"k");
    let cas = stored(&store, b"k", b"v", Put { flags: 1, is_won: true, ..at(5) });
    let mut found = Vec::new();
    let before = store.change(hash, b"k", 6, &mut found, |meta| {
        assert!(meta.is_won && meta.cas == cas);
        Change { is_stale: Some(true), is_won: Some(false), flags: Some(9), cas: Some(Mark::New), ..Change::default() }
    });
    assert_eq!((before.map(|meta| meta.flags), &found[..]), (Some(1), &b"v"[..]));
    let after = store.peek(hash, b"k", 6).expect("there");
    assert!(after.is_stale && !after.is_won && after.flags == 9 && after.cas > cas && !after.is_fetched);
    let given = Change { cas: Some(Mark::Given(77)), ..Change::default() };
    store.change(hash, b"k", 6, &mut found, |_| given);
    assert_eq!(store.peek(hash, b"k", 6).map(|meta| meta.cas), Some(77));
    assert_eq!(store.change(hash, b"none", 6, &mut found, |_| given), None);
}

#[test]
fn plain_operations_and_those_with_metadata_meet_on_one_key() {
    for mode in BOTH {
        let store = store(mode);
        let hash = Store::hash(b"k");
        assert_eq!(store.set(hash, b"k", b"plain"), Ok(SetOutcome::Inserted));
        let (found, meta) = get(&store, b"k", 1).expect("there");
        assert_eq!((&found[..], meta), (&b"plain"[..], Meta { value_bytes: 5, ..Meta::default() }));
        assert_eq!(put(&store, b"k", b"x", Put { condition: Condition::Cas(0), ..at(1) }), PutOutcome::Exists);
        assert!(matches!(store.concat(hash, b"k", b"er", End::Back, None, 1), Ok(PutOutcome::Stored { .. })));
        let cas = stored(&store, b"k", b"with", Put { flags: 4, expires: 50, ..at(2) });
        let mut plain = Vec::new();
        assert!(store.get(hash, b"k", &mut plain) && plain == b"with");
        store.set(hash, b"k", b"set").expect("room");
        let (found, meta) = get(&store, b"k", 100).expect("a SET names no expiry");
        assert_eq!((&found[..], meta.flags), (&b"set"[..], 0));
        assert!(meta.cas > cas);
        store.set(hash, b"k", &[1; 900]).expect("room");
        let longer = get(&store, b"k", 100).expect("there").1;
        assert!(longer.cas > meta.cas && longer.value_bytes == 900);
        assert!(store.delete(hash, b"k") && get(&store, b"k", 100).is_none());
    }
}

#[test]
fn an_item_whose_metadata_does_not_fit_is_refused_and_the_old_one_kept() {
    let config = StoreConfig { buckets: 1, log_bytes: 4096, mode: Mode::Cache, extra_buckets: 0, pages: Pages::Base };
    let store = Store::try_new(config).expect("a small store");
    stored(&store, b"k", &[1; 400], at(1));
    let refused = store.put(Store::hash(b"k"), b"k", &[2; 416], at(1));
    assert_eq!(refused, Err(SetError::ItemBytes { got: 456, max: 448 }));
    assert_eq!(
        store.concat(Store::hash(b"k"), b"k", &[2; 16], End::Back, None, 1),
        Err(SetError::ItemBytes { got: 456, max: 448 })
    );
    assert_eq!(value(&store, b"k", 1), Some(vec![1; 400]));
}
