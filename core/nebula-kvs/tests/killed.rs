//! Processes killed while they write, and what the next one adopts.
//!
//! The parent starts this program again as a child, which reports that it writes, writes without
//! end, and is killed.
#![cfg(not(any(loom, miri)))]
#![expect(clippy::print_stderr, reason = "the child tells its parent that it writes")]

use nebula_kvs::{Eviction, Mode, Pages, Put, Store, StoreConfig, StoreOptions};
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

const KEYS: u64 = 200;
/// Gives the child its file and mode.
const CHILD: &str = "NEBULA_KVS_TEST_CHILD";

fn config(mode: Mode) -> StoreConfig {
    StoreConfig { buckets: 32, log_bytes: 256 << 10, mode, extra_buckets: 64, pages: Pages::Base }
}

fn options() -> StoreOptions {
    StoreOptions { eviction: Eviction::Unread, ..StoreOptions::default() }
}

fn mode_of(name: &str) -> Mode {
    if name == "store" { Mode::Store } else { Mode::Cache }
}

fn key(number: u64) -> [u8; 16] {
    let mut key = [0xC3; 16];
    key[..8].copy_from_slice(&number.to_le_bytes());
    key
}

/// Equal words that name their key.
fn value(number: u64, sequence: u64) -> Vec<u8> {
    let words = usize::try_from(1 + sequence * 7 % 60).expect("few");
    (number << 40 | sequence & 0xFF_FFFF_FFFF).to_le_bytes().repeat(words)
}

fn check(store: &Store, number: u64) -> bool {
    let mut value = Vec::new();
    let is_found = store.get_item(Store::hash(&key(number)), &key(number), 0, &mut value).is_some();
    if is_found {
        let (words, rest) = value.as_chunks::<8>();
        let first = u64::from_le_bytes(words[0]);
        assert!(rest.is_empty() && words.iter().all(|word| *word == words[0]), "torn: {value:x?}");
        assert_eq!(first >> 40, number, "a value of another key");
    }
    is_found
}

/// Two threads that store, overwrite and delete until the process is killed.
fn write_until_killed(path: &Path, mode: Mode) -> ! {
    let store = if path.exists() {
        Store::adopt(path, config(mode), options()).expect("it fits").0
    } else {
        Store::create_in(path, config(mode), options()).expect("a new file")
    };
    std::thread::scope(|scope| {
        for thread in 0..2 {
            let store = &store;
            scope.spawn(move || {
                let mut random = 0x9E37_79B9_7F4A_7C15_u64 + thread;
                for sequence in 0.. {
                    random ^= random << 13;
                    random ^= random >> 7;
                    random ^= random << 17;
                    let number = random % KEYS;
                    let hash = Store::hash(&key(number));
                    match random >> 60 {
                        0..2 => drop(store.delete(hash, &key(number))),
                        2..6 => drop(store.set(hash, &key(number), &value(number, sequence))),
                        6..10 => drop(check(store, number)),
                        _ => drop(store.put(hash, &key(number), &value(number, sequence), Put::default())),
                    }
                    if sequence == 3_000 {
                        eprintln!("writing");
                    }
                }
            });
        }
    });
    unreachable!("the threads do not end")
}

#[test]
fn the_next_process_finds_whole_values_whatever_was_half_done() {
    if let Ok(told) = std::env::var(CHILD) {
        let (mode, path) = told.split_once(':').expect("a mode and a file");
        write_until_killed(Path::new(path), mode_of(mode));
    }
    for mode in ["store", "cache"] {
        let path = PathBuf::from(format!(
            "{}/nebula-kvs-killed-{mode}-{}",
            std::env::temp_dir().display(),
            std::process::id()
        ));
        let mut released = 0;
        for round in 0..20 {
            let this = std::env::current_exe().expect("this program");
            let told = format!("{mode}:{}", path.display());
            let name = "the_next_process_finds_whole_values_whatever_was_half_done";
            let mut child = Command::new(this);
            child.args(["--exact", name, "--nocapture"]).env(CHILD, told).stdout(Stdio::null()).stderr(Stdio::piped());
            let mut child = child.spawn().expect("this program again");
            let said = BufReader::new(child.stderr.take().expect("piped"));
            let is_writing = said.lines().map_while(Result::ok).any(|line| line == "writing");
            child.kill().expect("it runs");
            child.wait().expect("it was this one's child");
            assert!(is_writing, "round {round}: the child ended before it wrote");
            let (store, adopted) = Store::adopt(&path, config(mode_of(mode)), options()).expect("it fits");
            let found = (0..KEYS).filter(|&number| check(&store, number)).count() as u64;
            assert_eq!(found, adopted.items, "round {round}");
            assert!(!adopted.was_clean && found > KEYS / 4, "round {round}: {adopted:?}");
            assert!(adopted.dropped <= 2, "round {round}: two threads were writing: {adopted:?}");
            released += adopted.released;
        }
        std::fs::remove_file(&path).expect("it is there");
        eprintln!("{mode}: {released} buckets were held when their process was killed");
    }
}
