//! Calls the store directly, on one core, with uniform keys: the baseline for the service over a
//! network.
//!
//! `cargo run --release -p nebula-kvs --example direct [items] [operations per row]`

#![expect(clippy::print_stdout, reason = "an example prints what it measured")]

use nebula_kvs::{GROUP, SliceSink, Store, StoreConfig};
use std::{error::Error, hint::black_box, time::Instant};

const KEY_BYTES: usize = 16;
type Key = [u8; KEY_BYTES];

/// Uniform keys from an xorshift generator, which costs a few instructions per key.
struct Keys {
    state: u64,
    items: u64,
}

impl Keys {
    fn next(&mut self) -> Key {
        self.state ^= self.state << 13;
        self.state ^= self.state >> 7;
        self.state ^= self.state << 17;
        key(self.state % self.items)
    }

    fn group(&mut self) -> [Key; GROUP] {
        std::array::from_fn(|_| self.next())
    }
}

fn key(number: u64) -> Key {
    let mut key = [0; KEY_BYTES];
    key[..8].copy_from_slice(&number.to_le_bytes());
    key
}

/// How the measured loop calls the store.
#[derive(Clone, Copy, Debug)]
enum Loop {
    Plain,
    Prefetched,
}

#[derive(Clone, Copy, Debug)]
enum Mix {
    Get,
    Half,
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let items = arguments.next().map_or(Ok(1_600_000), |text| text.parse())?;
    let operations = arguments.next().map_or(Ok(4_000_000), |text| text.parse())?;
    println!("{:>11}  {:>5}  {:>10}  {:>6}  {:>7}", "value_bytes", "mix", "loop", "Mops", "ns/op");
    for value_bytes in [8, 512] {
        let store = filled(items, value_bytes)?;
        for mix in [Mix::Get, Mix::Half] {
            for how in [Loop::Plain, Loop::Prefetched] {
                let mut keys = Keys { state: 0x9E37_79B9_7F4A_7C15, items };
                run(&store, &mut keys, value_bytes, mix, how, operations / 10)?;
                let begun = Instant::now();
                run(&store, &mut keys, value_bytes, mix, how, operations)?;
                let ns = begun.elapsed().as_secs_f64() * 1e9 / operations as f64;
                let [mix, how] = [format!("{mix:?}"), format!("{how:?}")];
                println!("{value_bytes:>11}  {mix:>5}  {how:>10}  {:>6.1}  {ns:>7.1}", 1e3 / ns);
            }
        }
    }
    Ok(())
}

fn filled(items: u64, value_bytes: usize) -> Result<Store, Box<dyn Error>> {
    let store = Store::try_new(StoreConfig::for_items(items, KEY_BYTES, value_bytes))?;
    let value = vec![1; value_bytes];
    for number in 0..items {
        store.set(Store::hash(&key(number)), &key(number), &value)?;
    }
    let stats = store.stats();
    println!("{} items, index on {}, log on {}", store.items_live(), stats.index_pages, stats.log_pages);
    Ok(store)
}

fn run(
    store: &Store,
    keys: &mut Keys,
    value_bytes: usize,
    mix: Mix,
    how: Loop,
    operations: usize,
) -> Result<(), Box<dyn Error>> {
    let mut buffer = vec![0; value_bytes];
    let value = vec![2; value_bytes];
    let mut found = 0;
    for _ in 0..operations / GROUP {
        let group = keys.group();
        let hashes = match how {
            Loop::Plain => group.map(|key| Store::hash(&key)),
            Loop::Prefetched => store.prefetch_group(&group, KEY_BYTES + value_bytes),
        };
        for (i, (key, hash)) in group.iter().zip(hashes).enumerate() {
            if matches!(mix, Mix::Half) && i % 2 == 1 {
                store.set(hash, key, &value)?;
            } else {
                let mut sink = SliceSink::new(&mut buffer);
                found += usize::from(store.get(hash, key, &mut sink));
                black_box(&mut buffer);
            }
        }
    }
    black_box(found);
    Ok(())
}
