//! Runs of the runtime beside their predictions, as users start them.

use nebula_testing::program::{Ended, run};

fn agreement(args: &[&str]) -> Ended {
    run(env!("CARGO_BIN_EXE_nebula-agreement"), args)
}

#[test]
fn unbalanced_groups_are_run_and_predicted_with_and_without_migration() {
    let args = ["groups", "--service", "1ms", "--duration", "2s", "--waiting-max", "1", "--format", "json"];
    let Ended { code, stdout: out, stderr: err } = agreement(&args);
    // On a machine whose cores have other work there is nothing to compare; and it says so.
    if code == Some(1) && err.contains("other work has this machine's cores") {
        return;
    }
    assert_eq!(code, Some(0), "{err}");
    let rows: Vec<serde_json::Value> = out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let number = |row: usize, field: &str| rows[row][field].as_f64().unwrap();
    assert_eq!((rows.len(), &rows[0]["migration"], &rows[1]["migration"]), (2, &false.into(), &true.into()), "{out}");
    assert!(number(0, "migrated") + number(0, "predicted_migrated") == 0.0, "{out}");
    assert!(number(1, "migrated") > 0.0 && number(1, "predicted_migrated") > 0.0, "{out}");
    for row in 0..2 {
        // 0.6 of 8 workers of a millisecond, for two seconds.
        assert!((8_500.0..10_700.0).contains(&number(row, "rpcs")), "{out}");
        assert!(number(row, "service_ns_mean") >= 900_000.0 && number(row, "latency_ms_p99") > 1.0, "{out}");
    }
}

#[test]
fn groups_that_cannot_be_run_are_refused() {
    for (args, says) in [
        (["--load", "0.7"], "one group cannot serve its share"),
        (["--service", "10us"], "--service takes at least 100us"),
        (["--duration", "1s"], "at least a thousand times --service"),
        (["--workers", "1"], "2..=64"),
    ] {
        agreement(&[&["groups"], &args[..]].concat()).assert_error(2, says);
    }
}

#[test]
fn gets_and_scans_are_run_and_predicted() {
    let args =
        ["scans", "--keys", "2000", "--load", "0.1,0.3", "--scans", "0.1", "--duration", "500ms", "--format", "json"];
    let Ended { code, stdout: out, stderr: err } = agreement(&args);
    assert_eq!(code, Some(0), "{err}");
    let rows: Vec<serde_json::Value> = out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let kinds: Vec<&str> = rows.iter().map(|row| row["type"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["get", "scan", "get", "scan"], "{out}");
    for pair in rows.chunks(2) {
        let number = |row: usize, field: &str| pair[row][field].as_f64().unwrap();
        // 100 pairs take longer than one, and a tenth of the RPCs are SCANs.
        assert!(number(1, "service_ns_mean") > 2.0 * number(0, "service_ns_mean"), "{out}");
        let share = number(1, "rpcs") / (number(0, "rpcs") + number(1, "rpcs"));
        assert!((0.05..0.2).contains(&share), "{share}: {out}");
        assert!((0..2).all(|row| number(row, "latency_us_p99") > 0.0 && number(row, "service_ns_mean") > 0.0));
        // A machine that pauses all the time has nothing that can be compared; and says so.
        for row in pair {
            let compared =
                ["latency_us_p99_gaps_excluded", "predicted_latency_us_p99"].map(|field| row[field].as_f64());
            assert_eq!(row["agrees"].is_boolean(), compared.iter().all(Option::is_some), "{out}");
            let (p99, kept) = (row["latency_us_p99"].as_f64().unwrap(), row["kept"].as_f64().unwrap());
            assert!(compared.into_iter().flatten().all(|us| us > 0.0) && p99 > 0.0, "{out}");
            assert!((0.0..=1.0).contains(&kept) && (kept > 0.0 || row["agrees"].is_null()), "{out}");
        }
    }
    for (args, says) in
        [(["--load", "0.95"], "up to 0.9"), (["--scans", "1"], "below 1"), (["--duration", "1ms"], "at least 500ms")]
    {
        agreement(&[&["scans"], &args[..]].concat()).assert_error(2, says);
    }
}

#[test]
fn incast_prints_each_flow_control_in_both_worlds() {
    let args = ["incast", "--senders", "4", "--rpcs", "1k", "--replications", "2", "--runtime", "100ms"];
    let csv = agreement(&[&args[..], &["--format", "csv"]].concat()).assert_ok().stdout;
    let rows: Vec<Vec<&str>> = csv.lines().map(|row| row.split(',').collect()).collect();
    let of = |name: &str| rows[0].iter().position(|heading| *heading == name).expect("a field");
    let worlds: Vec<String> = rows[1..].iter().map(|row| row[..2].join(" ")).collect();
    let expected = ["window", "homa", "none"].map(|flow| [format!("simulated {flow}"), format!("runtime {flow}")]);
    assert_eq!(worlds, expected.concat());
    for row in &rows[1..] {
        let figure = |name: &str| row[of(name)].parse::<f64>().expect("a figure");
        assert!(figure("goodput_gbps") > 0.0 && figure("short_ns_p99") > 0.0, "{row:?}");
        assert!((0.0..=1.0).contains(&figure("nacked")), "{row:?}");
        assert_eq!(row[of("dropped")].is_empty(), row[0] == "runtime", "{row:?}");
    }
}

#[test]
fn an_incast_that_cannot_be_measured_is_refused() {
    agreement(&["incast", "--runtime", "1ms"]).assert_error(2, "give 100ms to 600s");
}
