//! `nebula simulate` at the queueing level: the fields of its results, results that theory
//! predicts, and invalid input.

#![expect(clippy::unwrap_used, reason = "what cannot go on fails here")]

use crate::program::{Ended, nebula};
use serde_json::Value;

/// The results of a command that ends well, one object a line.
fn rows(args: &[&str]) -> Vec<Value> {
    parsed(&nebula(&[args, &["--format", "json"]].concat()).assert_ok())
}

fn parsed(ended: &Ended) -> Vec<Value> {
    ended.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn simulate(words: &str) -> Vec<Value> {
    rows(&["simulate"].into_iter().chain(words.split(' ')).collect::<Vec<_>>())
}

fn number(row: &Value, field: &str) -> f64 {
    let value = field.split('.').fold(row, |value, name| match name.parse::<usize>() {
        Ok(index) => &value[index],
        Err(_) => &value[name],
    });
    value.as_f64().unwrap_or_else(|| panic!("{field} is no number in {row}"))
}

#[track_caller]
fn assert_near(row: &Value, field: &str, expected: f64, share: f64) {
    let value = number(row, field);
    assert!((value / expected - 1.0).abs() <= share, "{field} is {value} and not {expected}: {row}");
}

#[test]
fn a_row_has_every_field_with_its_unit() {
    let found = simulate("--policy jbsq:2,rss --cores 16 --load 0.5,0.9 --rpcs 20000 --replications 3 --seed 7");
    let expected = [("jbsq:2", 0.5), ("jbsq:2", 0.9), ("rss", 0.5), ("rss", 0.9)];
    assert_eq!(found.len(), expected.len(), "a row each policy and load");
    for (row, (policy, load)) in found.iter().zip(expected) {
        assert_eq!((row["policy"].as_str(), row["service"].as_str()), (Some(policy), Some("exp:1us")));
        assert_eq!((&row["cores"], &row["seed"], &row["rpcs"]), (&16.into(), &7.into(), &20_000.into()));
        assert_eq!((&row["slo_ns"], &row["replications"], &row["nacks"]), (&10_000.0.into(), &3.into(), &0.into()));
        assert_eq!((number(row, "load"), number(row, "accepted")), (load, 1.0));
        assert_near(row, "offered_mrps", 16.0 * load, 1e-9);
        assert_near(row, "throughput_mrps", 16.0 * load, 0.03);
        let [p50, p90, p99, p999] = ["p50", "p90", "p99", "p999"].map(|q| number(row, &format!("latency_ns.{q}")));
        assert!(0.0 < p50 && p50 < p90 && p90 < p99 && p99 < p999, "{row}");
        let [lo, hi] = [0, 1].map(|end| number(row, &format!("latency_ns_p99_ci.{end}")));
        assert!(lo < p99 && p99 < hi, "{row}");
        // So few RPCs say little at a load of 0.9, or about 16 queues: such a load may be missed,
        // but never met.
        let is_unsettled = load == 0.9 || policy == "rss";
        let verdict = match (lo > 10_000.0, is_unsettled) {
            (true, _) => "no",
            (false, false) => "yes",
            (false, true) => "undecided",
        };
        assert!(row["meets_slo"] == verdict && row["unsettled"] == is_unsettled, "{row}");
        assert!(number(row, "queue_depth.mean") <= number(row, "queue_depth.p99") + 1.0, "{row}");
        assert!(number(row, "latency_ns.mean") >= 1000.0 * 0.97 + number(row, "queued_ns.mean"), "{row}");
        assert!(row["precise"].is_null() && row["queue_bound"].is_null() && row["arrivals"] == "poisson", "{row}");
    }
    let p99 = |index: usize| number(&found[index], "latency_ns.p99");
    assert!(p99(3) > 3.0 * p99(1), "a queue a core has the longer tail");
}

#[test]
fn the_same_arguments_give_the_same_bytes_on_any_number_of_threads() {
    let measured =
        "simulate --policy rss,mcs-lock,jbsq:2 --cores 4 --load 0.3,0.6 --rpcs 5000 --replications 5 --precision 2%";
    let searched = "simulate --policy rss,single-queue --cores 4 --find-slo --rpcs 5000 --replications 5";
    for words in [measured, searched] {
        let run =
            |threads| nebula(&words.split(' ').chain(["--threads", threads, "--format", "json"]).collect::<Vec<_>>());
        let (one, two) = (run("1").assert_ok(), run("2").assert_ok());
        assert_eq!((one.stdout.as_str(), one.stderr), (two.stdout.as_str(), two.stderr));
        let other = nebula(&words.split(' ').chain(["--seed", "2", "--format", "json"]).collect::<Vec<_>>());
        assert_ne!(one.stdout, other.assert_ok().stdout, "another seed draws otherwise");
    }
}

#[test]
fn csv_has_the_fields_of_json_under_names_of_their_own() {
    let words = ["simulate", "--cores", "2", "--rpcs", "2000", "--replications", "2", "--format", "csv"];
    let csv = nebula(&words).assert_ok().stdout;
    let lines: Vec<Vec<&str>> = csv.lines().map(|line| line.split(',').collect()).collect();
    for name in
        ["policy", "load", "latency_ns_p99", "latency_ns_p99_lo", "latency_ns_p99_hi", "queued_ns_p99", "precise"]
    {
        assert!(lines[0].contains(&name), "{name} is not in {csv}");
    }
    assert!(lines.len() == 3 && lines.iter().all(|line| line.len() == lines[0].len()), "{csv}");
    assert!(!csv.contains(';') && !csv.contains("_ci"), "one value a cell: {csv}");
}

#[test]
fn the_load_found_is_that_of_the_closed_form() {
    // M/M/1: the p99 is ln(100) services over what is left of the core.
    let closed_form = 1.0 - 100f64.ln() / 10.0;
    let row = &simulate("--policy jbsq:1 --cores 1 --find-slo --rpcs 50000 --replications 6 --precision 10%")[0];
    assert_near(row, "load_at_slo", closed_form, 0.02);
    assert_near(row, "throughput_under_slo_rps", closed_form * 1e6, 0.03);
    assert!(number(row, "load_at_slo_ci.0") <= closed_form && closed_form <= number(row, "load_at_slo_ci.1"), "{row}");
    assert_near(row, "latency_ns.p99", 10_000.0, 0.1);
    let never =
        nebula(&["simulate", "--find-slo", "--slo", "2us", "--rpcs", "5000", "--cores", "2", "--format", "json"])
            .assert_ok();
    assert!(parsed(&never)[0]["load_at_slo"].is_null() && never.stderr.contains("at no load"), "{never:?}");
}

#[test]
fn a_closed_loop_achieves_what_its_clients_can_ask_for() {
    let row = &simulate("--clients 1 --think fixed:3us --service fixed:1us --cores 2 --rpcs 2000 --replications 2")[0];
    assert_near(row, "load", 0.125, 0.01);
    assert_near(row, "latency_ns.p99", 1000.0, 0.002);
    assert_eq!((&row["clients"], row["think"].as_str()), (&1.into(), Some("fixed:3us")));
    let row = &simulate("--clients 8 --service exp:1us --cores 2 --rpcs 20000 --replications 2")[0];
    assert_near(row, "load", 1.0, 0.02);
    // Little: eight RPCs at two million a second.
    assert_near(row, "latency_ns.mean", 4000.0, 0.03);
}

#[test]
fn a_bound_refuses_and_clients_react() {
    let base = "--cores 4 --load 1.3 --queue-bound 8 --rpcs 20000 --replications 2 --policy single-queue --servers 2";
    let dropped = &simulate(base)[0];
    let accepted = number(dropped, "accepted");
    assert!((0.7..0.8).contains(&accepted), "one of 1.3 is served at most, and a little less: {dropped}");
    assert_eq!(dropped["meets_slo"], "no", "a NACK counts as infinite latency");
    assert!(number(dropped, "latency_ns.p99") < 10_000.0 && number(dropped, "nacks") > 0.0, "{dropped}");
    for reaction in ["retry:2us,4", "another"] {
        let row = &simulate(&format!("{base} --on-nack {reaction}"))[0];
        assert!(number(row, "accepted") >= accepted, "{reaction}: {row}");
        assert!(number(row, "nacks") > number(dropped, "nacks"), "{reaction}: a second try may be refused too: {row}");
    }
}

#[test]
fn without_a_queue_a_row_says_what_is_lost_and_how_busy_the_cores_are() {
    let row = &simulate("--policy single-queue --queue-bound 0 --cores 1 --load 1.5 --rpcs 50000 --replications 4")[0];
    // Erlang B of one core: a share a / (1 + a) is lost.
    assert_near(row, "accepted", 0.4, 0.01);
    assert_near(row, "busy", 0.6, 0.01);
    assert_near(row, "core_time.service", 0.6, 0.01);
    assert_eq!((number(row, "queue_bound"), number(row, "queue_depth.p99")), (0.0, 0.0));
    let table = nebula(&["simulate", "--cores", "2", "--load", "0.5", "--rpcs", "2000", "--replications", "2"]);
    let table = table.assert_ok().stdout;
    let [headings, cells]: [Vec<&str>; 2] =
        [0, 1].map(|line| table.lines().nth(line).unwrap().split("  ").filter(|cell| !cell.is_empty()).collect());
    let place = headings.iter().position(|heading| heading.trim() == "busy").unwrap();
    let busy: f64 = cells[place].trim().split(' ').next().unwrap().parse().unwrap();
    assert!((45.0..55.0).contains(&busy), "{table}");
}

#[test]
fn shared_flows_and_keys_show_in_the_hottest_core() {
    let base = "--cores 8 --load 0.1 --rpcs 20000 --replications 3";
    let found = simulate(&format!("{base} --policy rss,random --flows 1"));
    // One flow is one core of eight.
    assert_near(&found[0], "hottest", 0.8, 0.03);
    assert!(number(&found[1], "hottest") < 0.25 && found[1]["flows"] == "1" && found[1]["keys"].is_null(), "{found:?}");
    let hot = &simulate(&format!("{base} --policy key-hash --keys zipf:1.2,500"))[0];
    assert!(number(hot, "hottest") > 0.2 && hot["keys"] == "zipf:1.2,500" && hot["flows"].is_null(), "{hot}");
    assert!(simulate(base)[0]["hottest"].is_null(), "where cores do not differ there is no such field");
    let words =
        "simulate --cores 8 --flows 1 --policy rss,jbsq:2 --load 0.2 --rpcs 2000 --replications 2 --format json";
    let ended = nebula(&words.split(' ').collect::<Vec<_>>());
    assert!(ended.code == Some(1) && ended.stderr.contains("lower it below 0.1250"), "{ended:?}");
    assert_eq!(parsed(&ended).len(), 1, "the policy that serves it has its row");
}

#[test]
fn slow_cores_count_for_less_of_the_load() {
    let words =
        "--cores 3 --speeds 1,2x0.5 --policy jbsq:1 --service fixed:1us --load 0.5 --rpcs 20000 --replications 3";
    let row = &simulate(words)[0];
    // Half of two cores' worth.
    assert_near(row, "offered_mrps", 1.0, 1e-9);
    assert!(number(row, "latency_ns.p50") <= 2000.0 && number(row, "latency_ns.p99") > 1999.0, "{row}");
    assert!(row["speeds"] == "1,2x0.5" && number(row, "hottest") > 0.5, "{row}");
}

#[test]
fn a_load_that_changes_has_a_peak_and_a_time_to_recover() {
    let words = "--cores 1 --policy single-queue --arrivals paced --service fixed:1us --rpcs 30000 --replications 2 \
                 --load-over-time 0.5/300us,1.5/100us";
    let row = &simulate(&words.split_whitespace().collect::<Vec<_>>().join(" "))[0];
    assert_near(row, "load", 0.75, 1e-9);
    // 50 µs of work too many; a slot is 4 µs.
    assert_near(row, "peak_p99_ns", 51_000.0, 0.03);
    assert_near(row, "recovery_ns", 84_000.0, 0.03);
    let folder = tempfile::tempdir().unwrap();
    let page = folder.path().join("page.html").to_str().unwrap().to_owned();
    nebula(&["simulate", "--cores", "2", "--load-over-time", "0.5/1ms,1.2/100us", "--rpcs", "5000", "--report", &page])
        .assert_ok();
    assert!(std::fs::read_to_string(page).unwrap().contains("Tail latency over the period"));
    let lists = ["slot_at_ns", "slot_load", "slot_p99_ns"].map(|field| row[field].as_array().unwrap().len());
    assert!(lists == [100; 3] && row["load_over_time"] == "0.5/300us,1.5/100us", "{row}");
}

#[test]
fn a_balancer_at_a_distance_and_a_mesh_add_their_ways() {
    let base = "--policy jbsq:1 --service fixed:1us --load 0.01 --rpcs 5000 --replications 2";
    let row = &simulate(&format!("{base} --cores 4 --servers 2 --balancer two-choices --distance 2us"))[0];
    assert_near(row, "latency_ns.p50", 3000.0, 0.002);
    assert!(row["balancer"] == "two-choices" && number(row, "distance_ns") == 2000.0, "{row}");
    let row = &simulate(&format!("{base} --cores 64 --hop-latency 20ns --decision-time 30ns --per-core-time 1ns"))[0];
    // 5.25 hops, and a dispatcher that looks at 64 cores.
    assert_near(row, "latency_ns.p50", 1000.0 + 105.0 + 94.0, 0.002);
    let given = ["hop_ns", "decision_ns", "per_core_ns"].map(|field| number(row, field));
    assert!(given == [20.0, 30.0, 1.0] && row["balancer"].is_null(), "{row}");
}

#[test]
fn a_precision_is_reached_or_said_not_to_be() {
    let reached = &simulate("--cores 2 --load 0.5 --rpcs 20000 --replications 4 --precision 3%")[0];
    assert_eq!(reached["precise"], true);
    let half = (number(reached, "latency_ns_p99_ci.1") - number(reached, "latency_ns_p99_ci.0")) / 2.0;
    assert!(half <= 0.03 * number(reached, "latency_ns.p99"), "{reached}");
    let words = "simulate --cores 1 --load 0.9 --rpcs 1000 --precision 0.01% --format json";
    let missed = nebula(&words.split(' ').collect::<Vec<_>>()).assert_ok();
    assert_eq!(parsed(&missed)[0]["precise"], false);
    assert!(missed.stderr.lines().count() == 1 && missed.stderr.contains("give more --rpcs"), "{missed:?}");
}

#[test]
fn a_lock_carries_one_rpc_a_handoff() {
    let words = "--policy mcs-lock --cores 16 --lock-handoff 200ns --find-slo --rpcs 200000 --replications 3";
    let row = &simulate(&format!("{words} --precision 10%"))[0];
    assert!((0.25..0.3125).contains(&number(row, "load_at_slo")), "5 M RPC/s of 16: {row}");
    assert_eq!(number(row, "lock_handoff_ns"), 200.0);
    let words = ["simulate", "--policy", "mcs-lock", "--cores", "16", "--lock-handoff", "200ns", "--load", "0.35"];
    nebula(&words).assert_error(2, "the costs of mcs-lock leave room for less than 0.3125");
}

#[test]
fn a_queue_that_outgrows_all_room_is_a_fault_and_the_other_rows_are_shown() {
    // While it is on it asks for four times its load, for longer than the run lasts.
    let words = "simulate --cores 1 --service fixed:1us --arrivals on-off:100s,300s --load 0.999,0.2 --rpcs 6M --replications 2";
    let ended = nebula(&words.split(' ').chain(["--format", "json"]).collect::<Vec<_>>());
    assert_eq!((ended.code, ended.stderr.lines().count()), (Some(1), 1), "{ended:?}");
    assert!(ended.stderr.starts_with("error: the queue grew past"), "{ended:?}");
    assert_eq!(parsed(&ended).iter().map(|row| number(row, "load")).collect::<Vec<_>>(), [0.2]);
}

#[test]
fn a_recorded_trace_is_a_service_time_and_a_bad_line_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    std::fs::write(path("good.csv"), "service_ns\n500\n1500\n").unwrap();
    std::fs::write(path("bad.csv"), "500\nfast\n").unwrap();
    let service = format!("trace:{}", path("good.csv"));
    let args =
        ["simulate", "--service", &service, "--cores", "1", "--load", "0.01", "--rpcs", "1000", "--replications", "2"];
    assert_near(&rows(&args)[0], "latency_ns.mean", 1000.0, 0.1);
    let bad = format!("trace:{}", path("bad.csv"));
    nebula(&["simulate", "--service", &bad]).assert_error(2, "line 2: \"fast\": write one time in nanoseconds");
    nebula(&["size", "--service", &bad]).assert_error(2, "line 2: \"fast\"");
}

#[test]
fn formula_and_simulation_give_the_same_size() {
    // One type of a mix is the same service, but no formula is looked for.
    let size = |service: &str| {
        let words = [
            "size",
            "--policy",
            "single-queue",
            "--cores",
            "4",
            "--rpc-bytes",
            "512",
            "--rpcs",
            "400000",
            "--service",
            service,
        ];
        let searched = rows(&words).remove(0);
        (searched, rows(&[&words[..], &["--load", "0.8"]].concat()).remove(0))
    };
    let ((exact, exact_at), (shown, shown_at)) = (size("exp:1us"), size("mix:all=1*exp:1us"));
    assert_eq!((&exact["simulated"], &shown["simulated"]), (&false.into(), &true.into()));
    assert_near(&shown, "load_at_slo", number(&exact, "load_at_slo"), 0.02);
    assert_near(&shown_at, "queue_depth_mean", number(&exact_at, "queue_depth_mean"), 0.1);
    assert!((number(&shown_at, "queue_depth_p99") - number(&exact_at, "queue_depth_p99")).abs() <= 2.0);
    assert!(number(&shown, "queue_depth_mean_ci.0") < number(&shown, "queue_depth_mean"), "{shown}");
    assert_eq!(exact["queue_depth_mean_ci"][0], exact["queue_depth_mean"], "a formula leaves no doubt");
    let rpcs = 10.0 * number(&exact_at, "queue_depth_mean").round();
    assert_eq!(number(&exact_at, "reassembler_entries"), rpcs);
    assert_eq!(number(&exact_at, "buffer_bytes"), rpcs * 512.0);
    assert_eq!((number(&exact, "slo_ns"), number(&exact, "queue_bound")), (10_000.0, number(&shown, "queue_bound")));
}

#[test]
fn size_for_a_service_agrees_with_plain_size_where_both_say_erlang() {
    let plain = &rows(&["size"])[0];
    let of_service = &rows(&["size", "--service", "exp:1us", "--policy", "single-queue", "--load", "0.984375"])[0];
    let fields =
        ["cores", "load", "queue_depth_mean", "buffer_slots", "buffer_bytes", "bitvector_bytes", "reassembler_entries"];
    for field in fields {
        assert_eq!(plain[field], of_service[field], "{field}");
    }
    assert_eq!((of_service["policy"].as_str(), of_service["simulated"].as_bool()), (Some("single-queue"), Some(false)));
}

#[test]
fn pages_are_files_that_need_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let page = path("page.html");
    let words =
        "simulate --policy rss,jbsq:2 --cores 4 --load 0.5,0.9,1.1 --queue-bound 20 --rpcs 2000 --replications 3";
    let run = |files: &[&str]| nebula(&words.split(' ').chain(files.iter().copied()).collect::<Vec<_>>()).assert_ok();
    run(&["--report", &page]);
    let page = std::fs::read_to_string(page).unwrap();
    assert_eq!(page.matches("class=\"chart\"").count(), 3, "tail, queue and NACKs");
    assert!(page.contains("rss") && page.contains("SLO 10 µs"), "names of lines and bounds");
    let text = page.replace("http-equiv", "");
    assert!(["http:", "https:", "<link", "@import", "url("].iter().all(|foreign| !text.contains(foreign)));
}

#[test]
fn second_copies_have_a_row_each_and_say_what_they_cost() {
    let found = simulate(
        "--servers 8 --cores 4 --policy single-queue --hedge none,0ns,tied:0ns --load 0.2 --rpcs 20000 --replications 2",
    );
    let copied: Vec<f64> = found.iter().map(|row| number(row, "tier_copied.0")).collect();
    assert_eq!(copied, [0.0, 1.0, 1.0]);
    let [none, twice, tied] = [0, 1, 2].map(|index| &found[index]);
    assert_eq!(
        (none["hedge"].as_str(), twice["hedge"].as_str(), tied["hedge"].as_str()),
        (Some("none"), Some("0ns"), Some("tied:0ns"))
    );
    assert!(number(twice, "latency_ns.p99") < 0.6 * number(none, "latency_ns.p99"), "{twice}");
    assert!(number(twice, "busy") > 1.8 * number(none, "busy") && number(tied, "busy") < 1.05 * number(none, "busy"));
}

#[test]
fn tiers_are_read_by_name_or_file_and_have_a_list_each() {
    let row = &simulate("--tiers search --load 0.5 --rpcs 2000 --replications 2")[0];
    assert_eq!((row["tier"][0].as_str(), row["tier"][1].as_str()), (Some("front"), Some("leaf")));
    assert!(number(row, "tier_p99_ns.1") < number(row, "tier_p99_ns.0") && number(row, "tier_busy.1") > 0.4, "{row}");
    assert_near(row, "deadline_ns", 2e6, 1e-9);
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("mine.toml");
    std::fs::write(&file, "[front]\nservers = 1\ncores = 2\npolicy = 'jbsq:2'\nservice = 'exp:1us'\n").unwrap();
    let file = file.to_str().unwrap();
    assert_eq!(rows(&["simulate", "--tiers", file, "--load", "0.5", "--rpcs", "2000"]).len(), 1);
    let said = |tiers: &str, more: &str| {
        nebula(&[&["simulate", "--tiers", tiers], &more.split(' ').collect::<Vec<_>>()[..]].concat()).stderr
    };
    assert!(said("none", "--load 0.5").contains("search, chain"));
    assert!(said("search", "--cores 4").contains("--cores"));
}

#[test]
fn tenants_are_read_by_name_or_file_and_have_a_row_each() {
    let words = "simulate --tenants noisy --rpcs 20000 --replications 2";
    let [quiet, noisy] = &rows(&words.split(' ').collect::<Vec<_>>())[..] else { panic!("a row each") };
    assert_eq!((quiet["tenant"].as_str(), quiet["meets_slo"].as_str()), (Some("quiet"), Some("yes")), "{quiet}");
    assert!(number(noisy, "nacked") > 0.8 && noisy["meets_slo"].as_str() == Some("no"), "{noisy}");
    // The quiet one asks for less than its share, and the other one has the rest.
    assert_near(quiet, "busy", 0.2, 0.05);
    assert!(number(noisy, "share") > 0.75 && number(noisy, "fair_share") == 0.5, "{noisy}");
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("mine.toml");
    let tenant = "[[tenants]]\nname = 'a'\nweight = 1\nslo = '20us'\nload = 0.5\nservice = 'exp:1us'\n";
    std::fs::write(&file, format!("cores = 1\n{tenant}")).unwrap();
    let file = file.to_str().unwrap();
    let row = &rows(&["simulate", "--tenants", file, "--rpcs", "20000", "--replications", "2"])[0];
    assert_near(row, "latency_ns.mean", 2000.0, 0.1);
    let said = |words: &str| nebula(&words.split(' ').collect::<Vec<_>>());
    said("simulate --tenants none").assert_error(2, "noisy");
    said("simulate --tenants noisy --cores 4").assert_error(2, "--cores");
    said("simulate --tenants noisy --machine isca20").assert_error(2, "--tenants");
    std::fs::write(folder.path().join("mine.toml"), tenant).unwrap();
    said(&format!("simulate --tenants {file}")).assert_error(2, "cores");
}

#[test]
fn thresholds_are_trained_written_and_looked_up() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("mine.toml");
    let file = file.to_str().unwrap();
    let trained = "thresholds --workers 8 --load 0.7,0.9,0.95 --rpcs 20000 --replications 2 --write";
    let found = rows(&trained.split(' ').chain([file]).collect::<Vec<_>>());
    let waiting: Vec<f64> = found.iter().map(|row| number(row, "waiting")).collect();
    assert!(waiting.len() == 3 && waiting.is_sorted() && number(&found[2], "late") > 100.0, "{found:?}");
    let simulate = |policy: &str, cores: &str| {
        let words = ["simulate", "--policy", policy, "--cores", cores, "--thresholds", file, "--load", "0.9"];
        nebula(&[&words[..], &["--rpcs", "5000", "--replications", "2", "--format", "json"]].concat())
    };
    assert_eq!(parsed(&simulate("altocumulus:4", "32").assert_ok()).len(), 1);
    simulate("altocumulus:4", "64").assert_error(2, "--workers 16");
    simulate("jbsq:2", "8").assert_error(2, "altocumulus:G only");
    nebula(&["thresholds", "--load", "0.9,0.5"]).assert_error(2, "rise");
}

#[test]
fn a_mix_has_the_slowdown_of_its_rpcs_with_its_interval() {
    let words = "--policy single-queue --cores 4 --service mix:get=0.9*fixed:1us;scan=0.1*fixed:10us --load 0.5 --rpcs 20000 --replications 3";
    let row = &simulate(words)[0];
    let [p999, lo, hi] = ["slowdown.p999", "slowdown_p999_ci.0", "slowdown_p999_ci.1"].map(|field| number(row, field));
    assert!(1.0 < lo && lo <= p999 && p999 <= hi && number(row, "slowdown.p99") <= p999, "{row}");
    assert!(simulate("--cores 2 --rpcs 2000 --replications 2 --load 0.5")[0]["slowdown"].is_null());
}

#[test]
fn replications_and_the_distribution_stand_behind_the_row() {
    let words =
        ["simulate", "--cores", "2", "--load", "0.5", "--rpcs", "2000", "--replications", "3", "--format", "json"];
    let of = |more: &[&str]| -> Vec<Value> {
        let ended = nebula(&[&words, more].concat()).assert_ok();
        ended.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    };
    let (point, replications, cells) = (of(&[]), of(&["--per-replication"]), of(&["--histogram"]));
    assert_eq!(replications.len(), 3);
    let mean = replications.iter().map(|row| number(row, "latency_ns_mean")).sum::<f64>() / 3.0;
    assert!((mean / number(&point[0], "latency_ns.mean") - 1.0).abs() < 1e-3, "{mean}: {point:?}");
    assert_eq!(cells.iter().map(|cell| cell["count"].as_u64().unwrap()).sum::<u64>(), 6000);
    let p99 = cells.iter().find(|cell| number(cell, "ccdf") <= 0.01).unwrap();
    let middle = f64::midpoint(number(p99, "latency_ns_lo"), number(p99, "latency_ns_hi"));
    assert!((middle / number(&point[0], "latency_ns.p99") - 1.0).abs() < 1e-2, "{p99}: {point:?}");
    nebula(&["simulate", "--machine", "isca20", "--histogram"]).assert_error(2, "--histogram");
}

#[test]
fn a_trace_has_a_line_for_each_rpc() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("rpcs.csv");
    let words =
        "simulate --policy jbsq:2,rss --cores 4 --load 0.5,1.2 --queue-bound 8 --rpcs 2000 --replications 2 --trace";
    let words: Vec<&str> = words.split(' ').chain([path.to_str().unwrap()]).collect();
    nebula(&words).assert_ok();
    let text = std::fs::read_to_string(&path).unwrap();
    let lines: Vec<Vec<&str>> = text.lines().map(|line| line.split(',').collect()).collect();
    assert_eq!(lines[0], ["policy", "load", "rpc", "arrival_ns", "core", "start_ns", "end_ns"]);
    assert_eq!(lines.len(), 1 + 4 * 2000);
    let refused = |load: &str| lines.iter().filter(|line| line[1] == load && line[4].is_empty()).count();
    assert!(4 * refused("0.5") < refused("1.2"), "{} {}", refused("0.5"), refused("1.2"));
    let at = |line: &[&str], column: usize| line[column].parse::<f64>().unwrap();
    let served = lines[1..].iter().filter(|line| !line[4].is_empty());
    assert!(served.clone().all(|line| at(line, 3) <= at(line, 5) && at(line, 5) < at(line, 6)));
    assert!(served.map(|line| at(line, 4)).fold(0.0, f64::max) < 4.0);
    nebula(&["simulate", "--policy", "darc", "--trace", path.to_str().unwrap()])
        .assert_error(2, "policies that decide once");
}
