//! The application as its users see it: who is refused learns it at once, and who asks a tier that is gone is told so, until it is back.

use serde_json::Value;
use std::collections::BTreeSet;
use std::process::Command;

/// The lines that a run prints.
fn run(args: &[&str]) -> Vec<Value> {
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
    for threads in ["worker", "dispatch"] {
        let lines = run(&["--threads", threads, "--rate", "200", "--duration", "600ms", "--interval", "150ms"]);
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
            assert!(sum(&edges, tier, "replied") > 0, "{threads}: {tier}");
            assert_eq!(sum(&edges, tier, "failed"), 0, "{threads}: {tier}");
        }
    }
}

#[test]
fn an_overloaded_tier_is_a_nack_at_the_front_long_before_a_reply_would_be() {
    // The pool of flights serves 800 a second. A reply takes 20 ms at least.
    let lines = run(&[
        &["--slo", "100ms", "--wait", "flights=20ms"][..],
        &["--rate", "1600", "--duration", "800ms", "--interval", "200ms"],
    ]
    .concat());
    let fronts = edges(&of_kind(&lines, "clients"));
    let (refused, failed) = (sum(&fronts, "passengers", "refused"), sum(&fronts, "passengers", "failed"));
    assert!(refused > 100 && failed == 0, "{refused} refused, {failed} failed");
    let mut refusals_us: Vec<_> = fronts.iter().filter_map(|(_, _, edge)| edge["refusal_us_p50"].as_f64()).collect();
    refusals_us.retain(|&us| us > 0.0);
    refusals_us.sort_by(f64::total_cmp);
    assert!(refusals_us[refusals_us.len() / 2] < 10_000.0, "{refusals_us:?}");
    let load = of_kind(&lines, "load")[0];
    assert_eq!(load["offered"], load["replied"].as_u64().unwrap_or(0) + load["refused"].as_u64().unwrap_or(0));
    // Who looks somebody up does not ask that tier.
    assert!(sum(&fronts, "staff", "replied") > 20 * sum(&fronts, "staff", "refused"), "{fronts:?}");
}

/// Kills a tier and starts it again; the calls of `front` are to fail meanwhile and no longer.
fn kill(tier: &str, front: &str) {
    let lines = run(&["--kill", tier, "--rate", "300", "--duration", "1200ms", "--interval", "100ms"]);
    let at =
        |kind: &str| lines.iter().position(|line| line["kind"] == kind).unwrap_or_else(|| panic!("{tier}: {kind}"));
    let (killed, restarted) = (at("killed"), at("restarted"));
    let before = edges(&of_kind(&lines[..killed], "clients"));
    assert!(sum(&before, front, "replied") > 0 && sum(&before, front, "failed") == 0, "{tier}: {before:?}");
    let meanwhile = edges(&of_kind(&lines[killed..restarted], "clients"));
    assert!(sum(&meanwhile, front, "failed") > 0, "{tier}: {meanwhile:?}");
    for (_, _, edge) in meanwhile.iter().filter(|(_, to, edge)| *to == front && edge["failed"] != 0) {
        let error = edge["error"].as_str().expect("what the client was told");
        assert!(error.contains("gone"), "{tier}: {error}");
        assert!(tier == front || error.contains(tier), "{tier}: {error}");
    }
    let after = edges(&of_kind(&lines[restarted..], "clients"));
    let whole: Vec<_> = after.into_iter().filter(|(_, _, edge)| edge["failed"] == 0).collect();
    assert!(sum(&whole, front, "replied") > 10, "{tier}: {whole:?}");
}

#[test]
fn the_front_ends_come_back() {
    kill("passengers", "passengers");
    kill("staff", "staff");
}

#[test]
fn check_in_and_what_it_asks_come_back() {
    ["check-in", "flights", "baggage"].into_iter().for_each(|tier| kill(tier, "passengers"));
}

#[test]
fn passports_and_the_stores_come_back() {
    ["passports", "citizens", "airport"].into_iter().for_each(|tier| kill(tier, "passengers"));
}
