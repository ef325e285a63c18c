//! An invalid description is refused with one line that states the valid range.

use crate::machines::{ideal, large, paper, tiny};
use nebula_memsys::{MemoryConfig, MemorySystem};

type Change = fn(&mut MemoryConfig);

fn refusal(change: Change) -> String {
    let mut config = paper();
    change(&mut config);
    let message = config.validate().expect_err("it must be refused").to_string();
    assert_eq!(MemorySystem::try_new(&config).err().map(|error| error.to_string()).as_ref(), Some(&message));
    message
}

#[test]
fn each_bad_number_is_named_with_its_valid_range() {
    let cases: &[(Change, &str)] = &[
        (|c| c.cores = 0, "cores is 0; use 1 to 1000"),
        (|c| c.cores = 1001, "cores is 1001; use 1 to 1000"),
        (|c| c.clock_ghz = 0.0, "clock_ghz is 0; use a number above 0"),
        (|c| c.clock_ghz = f64::NAN, "clock_ghz is NaN; use a number above 0"),
        (|c| c.l1.ways = 0, "l1.ways is 0; use 1 to 16"),
        (|c| c.l1.bytes = 3 * 128, "l1.bytes / 64 / l1.ways is 3; use a power of two"),
        (|c| c.llc.ways = 17, "llc.ways is 17; use 1 to 16"),
        (|c| c.llc.bytes = 1000, "llc.bytes is 1000; use 1024 to 68719476736"),
        (|c| c.llc.bytes = 1500, "llc.bytes is 1500; use a multiple of 1024 (64 bytes times the ways)"),
        (|c| c.llc.nic_ways = Some(0), "llc.nic_ways is 0; use 1 to 16"),
        (|c| c.llc.nic_ways = Some(17), "llc.nic_ways is 17; use 1 to 16"),
        (|c| c.mesh.columns = 0, "mesh.columns is 0; use 1 to 1024"),
        (|c| (c.mesh.columns, c.mesh.rows) = (64, 17), "mesh.rows is 17; use 1 to 16"),
        (|c| c.mesh.nic_tile = [4, 0], "mesh.nic_tile[0] is 4; use 0 to 3"),
        (|c| c.dram.channels = 0, "dram.channels is 0; use 1 to 256"),
        (|c| c.dram.gb_per_s = 0.0, "dram.gb_per_s is 0; use a number above 0"),
        (|c| c.dram.banks = 12, "dram.banks is 12; use a power of two"),
        (|c| c.dram.ranks = 3, "dram.ranks is 3; use a power of two"),
        (|c| c.dram.row_bytes = 32, "dram.row_bytes is 32; use 64 to 16777216"),
        (|c| c.dram.hit_ns = -1.0, "dram.hit_ns is -1; use a time from 0 to 1000000 ns"),
        (
            |c| c.dram.closed_ns = 30.0,
            "dram.hit_ns is 31 and dram.closed_ns is 30; the first must not exceed the second",
        ),
        (
            |c| c.dram.refresh_ns = 4000.0,
            "2 dram.refresh_ns is 8000 and dram.refresh_interval_ns is 7800; the first must not exceed the second",
        ),
        (|c| c.dram.idle_writes_least = 0, "dram.idle_writes_least is 0; use 1 to 48"),
        (|c| c.dram.write_batch = 49, "dram.write_batch is 49; use 1 to 48"),
    ];
    for (change, message) in cases {
        assert_eq!(refusal(*change), *message);
    }
}

#[test]
fn the_machines_of_the_tests_are_valid() {
    for config in [paper(), large(), tiny(), ideal()] {
        assert_eq!(config.validate(), Ok(()));
    }
}

#[test]
fn toml_with_an_unknown_name_is_refused_and_infinite_rates_are_read() {
    let text = include_str!("../examples/small.toml");
    assert!(toml::from_str::<MemoryConfig>(text).is_ok());
    let infinite = text.replace("gb_per_s = 15.5", "gb_per_s = inf");
    let config: MemoryConfig = toml::from_str(&infinite).expect("TOML has infinity");
    assert_eq!(config.validate(), Ok(()));
    let error = toml::from_str::<MemoryConfig>(&text.replace("ways = 2", "way = 2")).expect_err("no such name");
    assert!(error.to_string().contains("unknown field `way`"), "{error}");
}
