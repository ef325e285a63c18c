//! The application as its users see it: who is refused learns it at once, and who asks a tier that
//! is gone is told so, until it is back.

use nebula_testing::program;
use serde_json::Value;
use std::collections::BTreeSet;
use std::process::Command;
use std::sync::{Mutex, PoisonError};

/// One application at a time: each has nine processes.
static ONE: Mutex<()> = Mutex::new(());

/// The lines that a run prints.
fn run(args: &[&str]) -> Vec<Value> {
    let _one = ONE.lock().unwrap_or_else(PoisonError::into_inner);
    let output = Command::new(env!("CARGO_BIN_EXE_flight")).args(["run", "--format", "json"]).args(args).output();
    let output = output.expect("the example");
    assert!(output.status.success(), "{args:?}: {output:?}");
    let text = String::from_utf8(output.stdout).expect("text");
    text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
}

fn of_kind<'a>(lines: &'a [Value], kind: &str) -> Vec<&'a Value> {
    lines.iter().filter(|line| line["kind"] == kind).collect()
}

/// The calls that lines tell of: from whom, to whom, and what was seen.
fn edges<'a>(lines: &[&'a Value]) -> Vec<(&'a str, &'a str, &'a Value)> {
    let of = |line: &&'a Value| {
        let from = line["tier"].as_str().unwrap_or("clients");
        let edges = line["edges"].as_array().expect("edges");
        edges.iter().map(move |edge| (from, edge["to"].as_str().expect("a tier"), edge)).collect::<Vec<_>>()
    };
    lines.iter().flat_map(of).collect()
}

fn sum(edges: &[(&str, &str, &Value)], to: &str, field: &str) -> u64 {
    edges.iter().filter(|edge| edge.1 == to).map(|edge| edge.2[field].as_u64().expect("a count")).sum()
}

#[test]
fn every_tier_is_called_as_the_picture_says() {
    for (threads, transport) in [("worker", "shm"), ("dispatch", "shm"), ("worker", "udp"), ("dispatch", "udp")] {
        let how = ["--threads", threads, "--transport", transport];
        let lines = run(&[&how[..], &["--rate", "200", "--duration", "600ms", "--interval", "150ms"]].concat());
        let seen = [of_kind(&lines, "clients"), of_kind(&lines, "tier")].concat();
        let edges = edges(&seen);
        let called: BTreeSet<_> = edges.iter().map(|(from, to, _)| format!("{from}-{to}")).collect();
        let expected = [
            "clients-passengers",
            "clients-staff",
            "passengers-check-in",
            "check-in-flights",
            "check-in-baggage",
            "check-in-passports",
            "check-in-airport",
            "passports-citizens",
            "staff-airport",
        ];
        assert_eq!(called, expected.iter().map(ToString::to_string).collect());
        for tier in ["passengers", "staff", "check-in", "flights", "baggage", "passports", "citizens", "airport"] {
            assert!(sum(&edges, tier, "replied") > 0, "{threads}, {transport}: {tier}");
        }
        edges.iter().for_each(|(_, to, edge)| only_time_failed(to, edge));
    }
}

#[test]
fn an_overloaded_tier_is_a_nack_at_the_front_and_no_error() {
    ["shm", "udp"].into_iter().for_each(is_overloaded);
}

fn is_overloaded(transport: &str) {
    // The pool of flights serves 80 a second at most, and 48 wait or run: for 600 ms.
    let slow = ["--transport", transport, "--slo", "2s", "--wait", "flights=200ms"];
    let lines = run(&[&slow[..], &["--rate", "250", "--duration", "1s", "--interval", "100ms"]].concat());
    let fronts = edges(&of_kind(&lines, "clients"));
    assert!(sum(&fronts, "passengers", "refused") > 0, "{fronts:?}");
    fronts.iter().for_each(|(_, to, edge)| only_time_failed(to, edge));
    let load = of_kind(&lines, "load")[0];
    let ended = ["replied", "refused", "failed"].map(|field| load[field].as_u64().expect("a count"));
    assert_eq!(load["offered"], ended.iter().sum::<u64>());
    // Looking a passenger up does not ask that tier.
    assert_eq!(sum(&fronts, "staff", "refused"), 0, "{fronts:?}");
}

/// The last call that failed on an edge ran out of time, as it may on a busy machine: no refusal
/// became an error.
fn only_time_failed(to: &str, edge: &Value) {
    if let Some(error) = edge["error"].as_str() {
        assert!(is_of_time(error), "{to}: {error}");
    }
}

fn is_of_time(error: &str) -> bool {
    error.contains("no answer in time") || error.contains("deadline")
}

#[test]
fn who_asks_a_tier_that_was_killed_is_told_so_until_it_is_back() {
    let tiers = ["passengers", "staff", "check-in", "flights", "baggage", "passports", "citizens", "airport"];
    let lines = run(&["--kill", &tiers.join(","), "--rate", "500", "--duration", "8s", "--interval", "50ms"]);
    let at = |kind: &str, tier: &str| {
        let is_it = |line: &Value| line["kind"] == kind && line["tier"] == tier;
        lines.iter().position(is_it).unwrap_or_else(|| panic!("{tier} was not {kind}"))
    };
    let before = edges(&of_kind(&lines[..at("killed", tiers[0])], "clients"));
    assert!(sum(&before, "passengers", "replied") > 0, "{before:?}");
    before.iter().for_each(|(_, to, edge)| only_time_failed(to, edge));
    for (index, tier) in tiers.into_iter().enumerate() {
        let front = if tier == "staff" { "staff" } else { "passengers" };
        let (killed, restarted) = (at("killed", tier), at("restarted", tier));
        let meanwhile = edges(&of_kind(&lines[killed..restarted], "clients"));
        assert!(sum(&meanwhile, front, "failed") > 0, "{tier}: {meanwhile:?}");
        for (_, _, edge) in meanwhile.iter().filter(|(_, to, edge)| *to == front && edge["failed"] != 0) {
            let error = edge["error"].as_str().expect("an error");
            let names_it = error.contains("gone") && (tier == front || error.contains(tier));
            assert!(names_it || is_of_time(error), "{tier}: {error}");
        }
        let end = tiers.get(index + 1).map_or(lines.len(), |next| at("killed", next));
        let after = edges(&of_kind(&lines[restarted..end], "clients"));
        let whole: Vec<_> = after.into_iter().filter(|(_, _, edge)| edge["failed"] == 0).collect();
        assert!(sum(&whole, front, "replied") > 0, "{tier}: {whole:?}");
    }
}

/// Over UDP a tier that is gone says nothing: what was sent to it ends with its deadline, or when
/// it is back and does not know of it.
#[test]
fn over_udp_too_a_tier_that_was_killed_is_asked_again_once_it_is_back() {
    let tiers = ["passengers", "flights"];
    let kill = ["--transport", "udp", "--kill", "passengers,flights"];
    let lines = run(&[&kill[..], &["--rate", "300", "--duration", "8s", "--interval", "50ms"]].concat());
    let at = |kind: &str, tier: &str| {
        let is_it = |line: &Value| line["kind"] == kind && line["tier"] == tier;
        lines.iter().position(is_it).unwrap_or_else(|| panic!("{tier} was not {kind}"))
    };
    for (index, tier) in tiers.into_iter().enumerate() {
        let end = tiers.get(index + 1).map_or(lines.len(), |next| at("killed", next));
        let from_then = edges(&of_kind(&lines[at("killed", tier)..end], "clients"));
        assert!(sum(&from_then, "passengers", "failed") > 0, "{tier}: {from_then:?}");
        let after = edges(&of_kind(&lines[at("restarted", tier)..end], "clients"));
        let whole: Vec<_> = after.into_iter().filter(|(_, _, edge)| edge["failed"] == 0).collect();
        assert!(sum(&whole, "passengers", "replied") > 0, "{tier}: {whole:?}");
    }
}

#[test]
fn flights_tiers_are_shown_load_by_load_and_drawn() {
    let folder = tempfile::tempdir().expect("a folder");
    let page = folder.path().join("flight.html");
    let (program, page_path) = (concat!(env!("CARGO_MANIFEST_DIR"), "/tests/tiers.sh"), page.to_str().expect("UTF-8"));
    let flight = |args: &[&str]| program::run(env!("CARGO_BIN_EXE_flight"), &[&["demo"], args].concat());
    let shown = flight(&["--program", program, "--format", "json", "--report", page_path]).assert_ok();
    assert!(shown.stderr.contains("Worker threads: 200 RPC/s within the SLO of 10 ms."), "{shown:?}");
    let row: Value = serde_json::from_str(&shown.stdout).expect("JSON");
    assert_eq!(
        (&row["latency_ns_p99"], &row["meets_slo"], &row["refused"]),
        (&901_500.into(), &true.into(), &2.into())
    );
    let page = std::fs::read_to_string(page).expect("the page");
    assert!(page.contains("worker threads at 200 RPC/s") && page.contains("5 % refused"), "{page}");

    flight(&["--program", "/no/such/program", "--no-report"]).assert_error(2, "say where they are with --program");
}
