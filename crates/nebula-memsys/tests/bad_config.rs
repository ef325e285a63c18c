//! A description that no machine can be made of is refused in one line that says what would be right.

use machines::{ideal, large, paper, tiny};
use nebula_memsys::{MemoryConfig, MemorySystem};

mod machines;

type Change = fn(&mut MemoryConfig);

fn refusal(change: Change) -> String {
    let mut config = paper();
    change(&mut config);
    let message = config.validate().expect_err("it has to be refused").to_string();
    assert_eq!(MemorySystem::try_new(&config).err().map(|error| error.to_string()).as_ref(), Some(&message));
    message
}

#[test]
fn each_bad_number_is_named_with_what_would_be_right() {
    let cases: &[(Change, &str)] = &[
        (|c| c.cores = 0, "cores is 0, from 1 to 1000 are possible"),
        (|c| c.cores = 1001, "cores is 1001, from 1 to 1000 are possible"),
        (|c| c.clock_ghz = 0.0, "clock_ghz is 0, a number above 0 is needed"),
        (|c| c.clock_ghz = f64::NAN, "clock_ghz is NaN, a number above 0 is needed"),
        (|c| c.l1.ways = 0, "l1.ways is 0, from 1 to 16 are possible"),
        (|c| c.l1.bytes = 3 * 128, "l1.bytes / 64 / l1.ways is 3, a power of two is needed"),
        (|c| c.llc.ways = 17, "llc.ways is 17, from 1 to 16 are possible"),
        (|c| c.llc.bytes = 1000, "llc.bytes is 1000, from 1024 to 68719476736 are possible"),
        (|c| c.llc.bytes = 1500, "llc.bytes is 1500, a multiple of 1024 (64 bytes times the ways) is needed"),
        (|c| c.llc.nic_ways = Some(0), "llc.nic_ways is 0, from 1 to 16 are possible"),
        (|c| c.llc.nic_ways = Some(17), "llc.nic_ways is 17, from 1 to 16 are possible"),
        (|c| c.mesh.columns = 0, "mesh.columns is 0, from 1 to 1024 are possible"),
        (|c| (c.mesh.columns, c.mesh.rows) = (64, 17), "mesh.rows is 17, from 1 to 16 are possible"),
        (|c| c.mesh.nic_tile = [4, 0], "mesh.nic_tile[0] is 4, from 0 to 3 are possible"),
        (|c| c.dram.channels = 0, "dram.channels is 0, from 1 to 256 are possible"),
        (|c| c.dram.gb_per_s = 0.0, "dram.gb_per_s is 0, a number above 0 is needed"),
        (|c| c.dram.banks = 12, "dram.banks is 12, a power of two is needed"),
        (|c| c.dram.ranks = 3, "dram.ranks is 3, a power of two is needed"),
        (|c| c.dram.row_bytes = 32, "dram.row_bytes is 32, from 64 to 16777216 are possible"),
        (|c| c.dram.hit_ns = -1.0, "dram.hit_ns is -1, a time from 0 to 1000000 ns is needed"),
        (|c| c.dram.closed_ns = 30.0, "dram.hit_ns is 31 and dram.closed_ns is 30, the first may not be greater"),
        (
            |c| c.dram.refresh_ns = 4000.0,
            "2 dram.refresh_ns is 8000 and dram.refresh_interval_ns is 7800, the first may not be greater",
        ),
        (|c| c.dram.write_batch = 49, "dram.write_batch is 49, from 1 to 48 are possible"),
    ];
    for (change, message) in cases {
        assert_eq!(refusal(*change), *message);
    }
}

#[test]
fn the_machines_of_the_tests_are_possible() {
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
