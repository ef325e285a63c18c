//! `nebula simulate` at the block level: the fields of its results and their sums, tables and
//! pages, and invalid input.

#![expect(clippy::unwrap_used, reason = "what cannot go on fails here")]

use crate::program::{Ended, nebula};
use serde_json::Value;

/// A run of a tenth of a second.
const SHORT: &str = "simulate --machine isca20 --rpcs 2000 --warmup 2000 --replications 2";

/// An SLO of 6 µs, which needs no extra run, unless another is given.
fn run(words: &str, more: &[&str]) -> Ended {
    let slo = if words.contains("--slo") { "" } else { " --slo 6us" };
    let words = format!("{SHORT} {words}{slo}");
    nebula(&words.split(' ').chain(more.iter().copied()).collect::<Vec<_>>())
}

fn rows(words: &str) -> Vec<Value> {
    let ended = run(words, &["--format", "json"]).assert_ok();
    ended.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn number(row: &Value, field: &str) -> f64 {
    let value = field.split('.').fold(row, |value, name| match name.parse::<usize>() {
        Ok(index) => &value[index],
        Err(_) => &value[name],
    });
    value.as_f64().unwrap_or_else(|| panic!("{field} is no number in {row}"))
}

fn sum(object: &Value) -> f64 {
    object.as_object().unwrap().values().map(|value| value.as_f64().unwrap_or_else(|| sum(value))).sum()
}

#[track_caller]
fn assert_near(one: f64, other: f64, share: f64) {
    assert!((one / other - 1.0).abs() <= share, "{one} is not {other}");
}

#[test]
fn a_row_has_every_field_and_its_parts_add_up() {
    let found = rows("--design rpcvalet,nebula.toml --rate 2,5MRPS --seed 7 --hog 1GB/s");
    let expected = [("rpcvalet", 2e6), ("rpcvalet", 5e6), ("nebula", 2e6), ("nebula", 5e6)];
    assert_eq!(found.len(), expected.len(), "a row each design and rate");
    for (row, (design, rate)) in found.iter().zip(expected) {
        let words = ["machine", "design", "application", "arrivals"].map(|field| row[field].as_str().unwrap());
        assert_eq!(words, ["isca20", design, "kvs", "poisson"]);
        assert_eq!((number(row, "load_rps_offered"), number(row, "offered_mrps")), (rate, rate / 1e6));
        assert_eq!((&row["seed"], &row["rpcs"], &row["replications"]), (&7.into(), &2000.into(), &2.into()));
        assert_eq!((&row["slo_ns"], &row["meets_slo"], &row["nacks"]), (&6000.0.into(), &"yes".into(), &0.into()));
        assert_eq!((number(row, "accepted"), number(row, "hog_gb_per_s")), (1.0, 1.0));
        assert_near(number(row, "throughput_mrps"), rate / 1e6, 0.1);
        let [p50, p90, p99, p999] = ["p50", "p90", "p99", "p999"].map(|q| number(row, &format!("latency_ns.{q}")));
        assert!(0.0 < p50 && p50 < p90 && p90 < p99 && p99 <= p999, "{row}");
        let [lo, hi] = [0, 1].map(|end| number(row, &format!("latency_ns_p99_ci.{end}")));
        assert!(lo <= p99 && p99 <= hi, "{row}");
        assert!(number(row, "service_ns_mean") < number(row, "latency_ns.mean"), "{row}");
        // A latency is recorded to a thousandth.
        assert_near(sum(&row["stage_ns"]), number(row, "latency_ns.mean"), 1e-3);
        assert_near(sum(&row["dram_blocks"]), number(row, "dram_blocks_per_rpc"), 1e-6);
        assert!(number(row, "dram_blocks.hog.stream") > 0.0 && number(row, "dram_gb_per_s") > 1.0, "{row}");
        assert!(row["precise"].is_null() && row["throughput_under_slo_rps"].is_null(), "{row}");
        assert_eq!((&row["get_share"], &row["value_bytes"]), (&0.5.into(), &512.into()));
    }
    let fetched = |index: usize| number(&found[index], "dram_blocks.payload.nic_fetch");
    assert!(
        fetched(1) > 4.0 && fetched(3) == 0.0,
        "a buffer for each connection does not fit the LLC, a shared one does"
    );
}

#[test]
fn the_same_arguments_give_the_same_bytes_on_any_number_of_threads() {
    for words in ["--design srq-emu,nebula --rate 3..6MRPS:2 --precision 30%", "--design nebula-base --find-slo"] {
        let on = |threads| run(words, &["--threads", threads, "--format", "json"]).assert_ok();
        let (one, two) = (on("1"), on("2"));
        assert_eq!((&one.stdout, &one.stderr), (&two.stdout, &two.stderr), "{words}");
        assert_ne!(one.stdout, run(words, &["--seed", "2", "--format", "json"]).assert_ok().stdout);
    }
}

#[test]
fn the_rate_at_the_slo_is_found_with_its_interval_or_there_is_none() {
    let row = &rows("--design nebula --find-slo")[0];
    let [rate, lo, hi] = ["", "_ci.0", "_ci.1"].map(|end| number(row, &format!("throughput_under_slo_rps{end}")));
    assert!((10e6..40e6).contains(&rate) && lo <= rate && rate <= hi, "{row}");
    // The p99 at that rate is within the SLO, or lies on it; above it so few RPCs do not settle.
    assert_eq!((number(row, "load_rps_offered"), &row["search_end"]), (rate, &"unsettled".into()));
    assert_ne!(row["meets_slo"], "no");
    let never = run("--design rss --find-slo --slo 200ns", &["--format", "json"]).assert_ok();
    let row: Value = serde_json::from_str(&never.stdout).unwrap();
    assert!(row["throughput_under_slo_rps"].is_null() && row["stage_ns"]["queue"].is_null(), "{row}");
    assert!(never.stderr.contains("rss keeps the SLO of 200 ns at no rate"), "{never:?}");
}

/// The paper's machine with a link that carries 4.3 million RPCs a second: 536 B and 24 B in turn.
fn with_a_slow_link(folder: &std::path::Path) -> String {
    let text = include_str!("../../nebula-sim/data/machines/isca20.toml");
    let slow = text.replace("link_gbps = 120.0", "link_gbps = 10.0");
    assert_ne!(slow, text);
    let path = folder.join("slow.toml").to_str().unwrap().to_owned();
    std::fs::write(&path, slow).unwrap();
    path
}

#[test]
fn a_rate_that_the_link_cannot_carry_is_neither_served_nor_met() {
    let folder = tempfile::tempdir().unwrap();
    let words = |more: &str| {
        let machine = with_a_slow_link(folder.path());
        format!("simulate --machine {machine} --design nebula --slo 6us --rpcs 4000 --warmup 2000 {more} --format json")
    };
    let row = |more: &str| -> Value {
        let words = words(more);
        serde_json::from_str(&nebula(&words.split(' ').collect::<Vec<_>>()).assert_ok().stdout).unwrap()
    };
    let over = row("--rate 10MRPS");
    let served = number(&over, "throughput_mrps");
    assert!((4.1..4.6).contains(&served), "{over}");
    assert_eq!(
        (&over["meets_slo"], &over["nacks"]),
        (&"no".into(), &0.into()),
        "no NACK: nothing but the link is full"
    );
    assert!(number(&over, "stage_ns.link") > 0.95 * number(&over, "latency_ns.mean"), "{over}");
    assert!(number(&over, "idle") > 0.8, "{over}");
    let found = number(&row("--find-slo"), "throughput_under_slo_rps");
    assert!((2.5e6..4.4e6).contains(&found), "{found}");
}

#[test]
fn a_link_with_room_makes_nobody_wait() {
    let row = &rows("--design nebula --rate 2MRPS --arrivals paced")[0];
    assert_eq!((number(row, "stage_ns.link"), &row["meets_slo"]), (0.0, &"yes".into()));
    // 2 MRPS of some 630 ns each, on 16 cores.
    assert!((number(row, "idle") - (1.0 - 2.0 * 0.63 / 16.0)).abs() < 0.01, "{row}");
}

#[test]
fn the_mix_the_values_and_the_buffer_are_those_asked_for() {
    let bare = &rows("--design nebula --rate 5MRPS --mix get=1 --value-bytes 64 --receive-buffer 40KiB")[0];
    let fields = ["get_share", "value_bytes", "receive_buffer_bytes"].map(|field| number(bare, field));
    assert_eq!(fields, [1.0, 64.0, 40_960.0]);
    let full = &rows("--design nebula --rate 5MRPS --mix get=1")[0];
    assert!(number(bare, "service_ns_mean") < number(full, "service_ns_mean") - 50.0, "{bare} {full}");
    // 20 RPCs of 9 slots are all that it holds: a burst at 22 million a second is NACKed.
    let refused = &rows("--design nebula --rate 22MRPS --receive-buffer 2KiB")[0];
    assert!(number(refused, "accepted") < 0.99 && number(refused, "nacks") > 0.0, "{refused}");
    assert_eq!(refused["meets_slo"], "no");
}

#[test]
fn other_applications_and_ones_own_files_run_too() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    std::fs::write(path("mine.toml"), "name = 'wide'\npolicy = 'jbsq:4'\nbuffers = 'shared'\n").unwrap();
    let nf = "kind = 'network-function'\npacket_bytes = 256\nstate_bytes = 65536\nstate_reads = 2\nstate_writes = 1\nservice = 'fixed:1us'\n";
    std::fs::write(path("firewall.toml"), nf).unwrap();
    let words = format!("--design {} --rate 2MRPS --application {}", path("mine.toml"), path("firewall.toml"));
    let row = &rows(&words)[0];
    assert_eq!((row["design"].as_str(), row["application"].as_str()), (Some("wide"), Some("firewall")));
    assert_near(number(row, "stage_ns.compute"), 1000.0, 1e-6);
    assert!(row["value_bytes"].is_null() && number(row, "stage_ns.state") > 0.0, "{row}");
    let row = &rows("--design nebula --rate 2MRPS --application replication --arrivals paced")[0];
    assert_eq!((row["application"].as_str(), row["arrivals"].as_str()), (Some("replication"), Some("paced")));
    std::fs::write(path("bad.toml"), "name = 'bad'\nbuffers = 'none'\npolicy = 'rss'\n").unwrap();
    let bad = path("bad.toml");
    nebula(&["simulate", "--machine", "isca20", "--design", &bad]).assert_error(2, "bad.toml: this is not a design");
    nebula(&["simulate", "--machine", "isca20", "--design", &bad]).assert_error(2, "line 2");
}

#[test]
fn the_breakdown_is_two_tables_more_and_csv_has_a_column_for_each_figure() {
    let words = "--design rpcvalet,nebula --rate 5MRPS";
    let (plain, more) = (run(words, &[]).assert_ok().stdout, run(words, &["--breakdown"]).assert_ok().stdout);
    assert_eq!(plain.lines().count(), 3, "{plain}");
    assert!(more.starts_with(&plain), "{more}");
    for said in
        ["Where the time of an RPC went", "Where each byte to and from DRAM went", "NIC write-back", "slots", "%)"]
    {
        assert!(more.contains(said) && !plain.contains(said), "{said}: {more}");
    }
    let csv = run(words, &["--breakdown", "--format", "csv"]).assert_ok().stdout;
    let names: Vec<&str> = csv.lines().next().unwrap().split(',').collect();
    for name in ["dram_gb_per_s_lo", "stage_ns_look_ahead", "dram_blocks_slots_nic_write_back", "latency_ns_p99"] {
        assert!(names.contains(&name), "{name} is not in {names:?}");
    }
    assert!(csv.lines().count() == 3 && csv.lines().all(|line| line.split(',').count() == names.len()), "{csv}");
}

#[test]
fn pages_are_files_that_need_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let page = path("page.html");
    let words = "--design rss,nebula --rate 2,5,30MRPS";
    let ended = run(words, &["--report", &page]).assert_ok();
    assert!(
        ended.stderr.contains("past saturation latencies grow with --rpcs, and so it is with rss at 30M RPC/s"),
        "{ended:?}"
    );
    let page = std::fs::read_to_string(page).unwrap();
    assert_eq!(page.matches("class=\"chart\"").count(), 5, "tail, bandwidth, time, and traffic twice");
    assert!(page.contains("Tail latency over the rate") && page.contains("SLO 6 µs"));
    let text = page.replace("http-equiv", "");
    assert!(["http:", "https:", "<link", "@import", "url("].iter().all(|foreign| !text.contains(foreign)));
}

#[test]
fn what_does_not_belong_or_cannot_be_is_refused_in_one_line() {
    let cases: &[(&str, &str)] = &[
        ("--machine isca20 --policy rss", "--policy belongs to the queueing level"),
        ("--machine isca20 --clients 3", "--clients belongs to the queueing level"),
        ("--design nebula", "--design belongs to the block level: add --machine"),
        ("--breakdown", "--breakdown belongs to the block level"),
        ("--machine isca21", "give a file, or one of isca20, isca20-unfitted, server64"),
        ("--machine no/such.toml", "\"no/such.toml\" is neither a file nor a name"),
        ("--machine isca20 --design nebulous", "nebula-swpref, nebula"),
        ("--machine isca20 --application mail", "kvs, kvs-one-sided, network-function, remote-memory, replication"),
        ("--machine isca20 --rate 0", "such as 22MRPS"),
        ("--machine isca20 --rate NaN", "such as 22MRPS"),
        ("--machine isca20 --rate 22", "from 1k to 1G RPC/s, not 22 RPC/s"),
        ("--machine isca20 --rate 5..25M:1", "5..25MRPS:9"),
        ("--machine isca20 --find-slo --rate 5M", "cannot be used with"),
        ("--machine isca20 --mix get=1,delete=1", "supports neither delete nor scan"),
        ("--machine isca20 --application network-function --mix get=1", "applies to a key-value store only"),
        ("--machine isca20 --application replication --value-bytes 64", "applies to a key-value store only"),
        ("--machine isca20 --value-bytes 0", "give 1 to 16384"),
        ("--machine isca20 --hog 5", "such as 5GB/s"),
        ("--machine isca20 --hog 40GB/s", "has a peak of 31 GB/s"),
        ("--machine isca20 --receive-buffer 100", "give 512 to"),
        ("--machine isca20 --receive-buffer 1KiB --value-bytes 2048", "does not fit the receive buffer"),
        ("--machine isca20 --rpcs 10", "give 1000 to 1e12"),
        ("--machine isca20 --replications 1", "give 2 to 10000"),
        ("--machine isca20 --precision 200%", "such as 1% or 0.005"),
        ("--machine isca20 --report no/such/page.html", "no directory no/such"),
    ];
    for (words, said) in cases {
        nebula(&["simulate"].into_iter().chain(words.split(' ')).collect::<Vec<_>>()).assert_error(2, said);
    }
}
