//! What a SET costs where any thread may write, and in a partition that one thread writes: in
//! turns, so that both meet the same machine.
//!
//! `cargo run --release -p nebula-kvs --example partitions [operations per row]`

#![expect(clippy::print_stdout, reason = "an example prints what it measured")]

use nebula_kvs::{Access, Partition, SliceSink, Store, StoreConfig};
use std::{error::Error, hint::black_box, time::Instant};

/// So few that they stay in the first caches: what is left is the work.
const ITEMS: u64 = 128;
const VALUE_BYTES: usize = 8;
const ROUNDS: usize = 9;

/// The operations of a store, or of a partition.
trait Items {
    fn set(&self, key: [u8; 8], value: &[u8]);
    fn get(&self, key: [u8; 8], value: &mut [u8]) -> bool;
}

impl Items for Store {
    fn set(&self, key: [u8; 8], value: &[u8]) {
        self.set(Self::hash(&key), &key, value).expect("room");
    }

    fn get(&self, key: [u8; 8], value: &mut [u8]) -> bool {
        self.get(Self::hash(&key), &key, &mut SliceSink::new(value))
    }
}

impl Items for Partition {
    fn set(&self, key: [u8; 8], value: &[u8]) {
        self.set(Store::hash(&key), &key, value).expect("room in its partition");
    }

    fn get(&self, key: [u8; 8], value: &mut [u8]) -> bool {
        self.get(Store::hash(&key), &key, &mut SliceSink::new(value)).expect("its partition")
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let operations = std::env::args().nth(1).map_or(Ok(1_000_000), |text| text.parse())?;
    let config = StoreConfig::for_items(ITEMS, 8, VALUE_BYTES);
    let any = Store::try_new(config)?;
    let one = Partition::divide(config, Access::Erew, 1, |_, _| 0)?.remove(0);
    let rounds = (0..ROUNDS)
        .map(|_| [sets(&any, operations), sets(&one, operations), gets(&any, operations), gets(&one, operations)]);
    let mut of = [const { Vec::new() }; 4];
    for round in rounds.collect::<Vec<_>>() {
        of.iter_mut().zip(round).for_each(|(ns, once)| ns.push(once));
    }
    let [any_set, one_set, any_get, one_get] = of.map(median);
    println!("{:>4}  {:>18}  {:>18}  {:>5}", "", "any thread, ns/op", "one thread, ns/op", "ratio");
    for (name, any, one) in [("SET", any_set, one_set), ("GET", any_get, one_get)] {
        println!("{name:>4}  {any:>18.1}  {one:>18.1}  {:>5.2}", any / one);
    }
    Ok(())
}

fn keys(operations: u64) -> impl Iterator<Item = [u8; 8]> {
    (0..operations).map(|number| (number % ITEMS).to_le_bytes())
}

/// Nanoseconds of a SET.
fn sets(items: &impl Items, operations: u64) -> f64 {
    timed(operations, || keys(operations).for_each(|key| items.set(key, black_box(&[7; VALUE_BYTES]))))
}

/// Nanoseconds of a GET.
fn gets(items: &impl Items, operations: u64) -> f64 {
    let mut value = [0; VALUE_BYTES];
    let all = || assert!(keys(operations).all(|key| items.get(key, black_box(&mut value))), "all are stored");
    timed(operations, all)
}

#[expect(clippy::cast_precision_loss, reason = "a number of operations")]
fn timed(operations: u64, run: impl FnOnce()) -> f64 {
    let begun = Instant::now();
    run();
    begun.elapsed().as_secs_f64() * 1e9 / operations as f64
}

fn median(mut all: Vec<f64>) -> f64 {
    all.sort_by(f64::total_cmp);
    all[all.len() / 2]
}
