//! `nebula compare`: its tables, pages and errors.

#![expect(clippy::unwrap_used, reason = "tests may panic")]

use crate::program::nebula;
use serde_json::Value;

/// Rows of JSON of a short comparison.
fn compared(args: &[&str]) -> Vec<Value> {
    let rpcs = if args.contains(&"--policy") { "200000" } else { "20000" };
    let short = ["--rpcs", rpcs, "--replications", "3", "--format", "json"];
    let ended = nebula(&[&["compare"], args, &short].concat()).assert_ok();
    ended.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn every_system_that_ships_is_compared_and_its_cores_time_adds_up() {
    let rows = compared(&["--load", "0.1", "--workload", "exponential:20us"]);
    let listed = nebula(&["compare", "--list"]).assert_ok().stdout;
    let systems = listed.lines().filter(|line| line.starts_with("system")).count();
    assert!(systems >= 8 && rows.len() == systems, "{systems} systems, {} rows", rows.len());
    for row in &rows {
        let shares = row["core_time"].as_object().unwrap();
        let total: f64 = shares.values().map(|share| share.as_f64().unwrap()).sum();
        assert!((total - 1.0).abs() < 0.02, "{row}");
        let service = shares["service"].as_f64().unwrap();
        assert!((service - 0.1).abs() < 0.01, "equal loads are equal rates: {row}");
    }
}

#[test]
fn ideals_stand_beside_systems_and_the_better_bears_more() {
    let words = "--system rss,zygos --policy single-queue,two-choices --workload bimodal-1:10us --precision 10%";
    let rows = compared(&words.split(' ').collect::<Vec<_>>());
    let names: Vec<&str> = rows.iter().map(|row| row["system"].as_str().unwrap()).collect();
    assert_eq!(names, ["rss", "zygos", "single-queue", "two-choices"]);
    let load = |index: usize| rows[index]["load_at_slo"].as_f64().unwrap();
    assert!(load(0) < load(1) && load(1) < load(2), "{} {} {}", load(0), load(1), load(2));
    assert!(load(0) < load(3) && load(3) < load(2));
}

#[test]
fn an_interface_to_the_nic_is_named_and_a_wrong_one_is_refused() {
    let rows = compared(&["--system", "dagger-upi,dagger-doorbell-batched,rss", "--load", "0.2", "--cores", "2"]);
    let of = |field: &str| rows.iter().map(|row| row[field].clone()).collect::<Vec<_>>();
    assert_eq!(of("host_interface"), [Value::from("poll"), Value::from("doorbell"), Value::Null]);
    assert_eq!(of("host_batch"), [Value::from(1), Value::from(11), Value::Null]);
    // A line in 5 µs, and a read in 150 ns; each of the reads by DMA finds one.
    let reads = of("host_reads_per_line");
    assert!(
        (reads[0].as_f64().unwrap() / 33.3 - 1.0).abs() < 0.1 && reads[1] == 1.0 && reads[2].is_null(),
        "{reads:?}"
    );
    let path = format!("{}/host-{}.toml", env!("CARGO_TARGET_TMPDIR"), std::process::id());
    let host =
        "[host]\ninterface = 'mmio'\nper_rpc = '70ns'\nstore = '150ns'\nhop = '450ns'\nfifo = 8\nring = 8\nbatch = 4\n";
    std::fs::write(&path, format!("name = 'own'\ntitle = 'mine'\npolicy = 'static'\nhardware = true\n{host}")).unwrap();
    nebula(&["compare", "--system", &path]).assert_error(2, "under mmio each RPC is a separate store");
    std::fs::remove_file(&path).unwrap();
}

#[test]
fn a_page_is_written_and_names_what_was_compared() {
    let path = format!("{}/compare-{}.html", env!("CARGO_TARGET_TMPDIR"), std::process::id());
    compared(&["--system", "ix,nebula", "--load", "0.1", "--report", &path]);
    let page = std::fs::read_to_string(&path).unwrap();
    std::fs::remove_file(&path).unwrap();
    assert!(page.contains("ISCA 2020") && page.contains("Core time at a load of 0.1"));
}

#[test]
fn what_cannot_be_compared_is_said_in_one_line() {
    let cases: [(&[&str], &str); 7] = [
        (&["--system", "nosuch"], "zygos"),
        (&["--system", "none"], "--policy"),
        (&["--workload", "nosuch"], "bimodal-1:MEAN"),
        (&["--workload", "tpcc:5us"], "tpcc"),
        (&["--system", "r2p2", "--cores", "6"], "multiple of 4"),
        (&["--policy", "fifo"], "single-queue"),
        (&["--load", "1.5", "--system", "rss"], "less than 1"),
    ];
    for (args, says) in cases {
        nebula(&[&["compare"], args].concat()).assert_error(2, says);
    }
}

#[test]
fn a_file_of_ones_own_is_read_and_a_wrong_one_says_where() {
    let path = format!("{}/own-{}.toml", env!("CARGO_TARGET_TMPDIR"), std::process::id());
    std::fs::write(&path, "name = 'own'\ntitle = 'mine'\npolicy = 'jbsq:4'\nhardware = true\n").unwrap();
    let rows = compared(&["--system", &path, "--load", "0.5"]);
    assert_eq!(rows[0]["system"], "own");
    std::fs::write(&path, "name = 'own'\npolicy = 'fifo'\n").unwrap();
    nebula(&["compare", "--system", &path]).assert_error(2, "line 2");
    std::fs::remove_file(&path).unwrap();
}
