//! The demo from end to end, with a small store.

#![expect(clippy::unwrap_used, reason = "what fails here fails the test")]

use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

use nebula_testing::wait::{Watchdog, wait_until};

/// The time limit of a demo of one or two seconds on a busy machine.
const LIMIT: Duration = Duration::from_secs(600);

fn demo(args: &[&str]) -> Child {
    let mut command = Command::new(env!("CARGO_BIN_EXE_nebula"));
    command.arg("demo").args(args).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    // A separate process group, as a shell creates for a command: its signals do not reach the
    // test.
    command.process_group(0).spawn().unwrap()
}

/// Waits for the end, with a time limit.
fn finish(child: Child) -> Output {
    let _watchdog = Watchdog::within(LIMIT, "a demo");
    child.wait_with_output().unwrap()
}

/// Processes of this machine whose command line holds `words`.
fn processes_with(words: &str) -> Vec<u32> {
    let is_one = |pid: &u32| {
        let line = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        String::from_utf8_lossy(&line).replace('\0', " ").contains(words)
    };
    let entries = std::fs::read_dir("/proc").unwrap();
    entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok()).filter(is_one).collect()
}

#[test]
fn both_designs_are_shown_and_nothing_is_left_behind() {
    let page = std::env::temp_dir().join(format!("nebula-demo-{}.html", std::process::id()));
    let child = demo(&[
        "--quick",
        "--items",
        "2000",
        "--seconds-per-point",
        "0.1",
        "--format",
        "json",
        "--report",
        page.to_str().unwrap(),
    ]);
    let id = child.id();
    let service = format!("shm://nebula-demo-{id}");
    let output = finish(child);
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{err}");
    let rows: Vec<serde_json::Value> = out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(rows.len(), 8, "two designs of four loads: {out}");
    for (row, design) in rows.iter().zip(["jbsq:2 with NACK"; 4].into_iter().chain(["jbsq:2 unbounded"; 4])) {
        assert_eq!(row["design"], design);
        check_row(row);
    }
    let loads: Vec<f64> = rows.iter().map(|row| row["load"].as_f64().unwrap()).collect();
    assert_eq!(loads, [0.3, 0.7, 1.0, 1.5, 0.3, 0.7, 1.0, 1.5], "{out}");
    assert!(rows[4..].iter().all(|row| row["nack_share"] == 0.0), "without a bound nothing is NACKed: {out}");
    // A machine that can promise nothing says so first, and simulates.
    let says = if rows[0]["simulated"] == true { "Other work holds the cores" } else { "The SLO is " };
    assert!(err.starts_with(says), "{err}");
    assert!(err.contains("what it can do, the server with the bound answered "), "{err}");
    let html = std::fs::read_to_string(&page).unwrap();
    std::fs::remove_file(&page).unwrap();
    assert!(html.starts_with("<!doctype html>") && html.trim_end().ends_with("</html>"));
    assert!(html.contains("jbsq:2 unbounded"), "{html}");
    for loading in ["src=", "<link", "@import", "url("] {
        assert!(!html.contains(loading), "the page loads something: {loading}");
    }
    assert_eq!(html.matches("<figure").count(), 1, "one picture");
    assert!(processes_with(&service).is_empty(), "the service outlived the demo");
    assert!(!times_file(id).exists(), "the service times outlived the demo");
}

/// A row has its fields, and they agree with each other, whatever the machine did.
fn check_row(row: &serde_json::Value) {
    let number = |field: &str| row[field].as_f64().unwrap_or_else(|| panic!("{field}: {row}"));
    assert!(number("offered_rps") > 0.0 && number("saturation_rps") > 0.0 && number("slo_ns") >= 100_000.0, "{row}");
    for share in ["goodput", "nack_share", "nack_share_generator_late", "generator_late", "client_full_share"] {
        assert!((0.0..=1.0).contains(&number(share)), "{share}: {row}");
    }
    let without_reply = ["nack_share", "nack_share_generator_late", "unanswered_share"].map(number).iter().sum::<f64>();
    assert!(number("goodput") + without_reply <= 1.0 + 1e-9, "{row}");
    assert!(number("client_full_share") <= number("unanswered_share"), "{row}");
    assert_eq!(row["meets_slo_raw"], number("goodput") >= 0.99, "{row}");
    assert!(row["simulated"].is_boolean(), "{row}");
}

/// The file of service times of the demo with this process id.
fn times_file(id: u32) -> std::path::PathBuf {
    std::env::temp_dir().join(format!("nebula-demo-{id}-service.csv"))
}

/// A demo that would take hours, after its service has started, with the service's process id.
fn long_demo() -> (Child, u32) {
    let mut child = demo(&["--items", "200000", "--no-report", "--seconds-per-point", "600"]);
    let service = format!("shm://nebula-demo-{}", child.id());
    let pid = wait_until("the demo's service", || {
        assert!(child.try_wait().unwrap().is_none(), "the demo started no service");
        processes_with(&service).first().copied()
    });
    (child, pid)
}

fn pid(id: u32) -> rustix::process::Pid {
    rustix::process::Pid::from_raw(id.try_into().unwrap()).unwrap()
}

#[test]
fn ctrl_c_ends_the_demo_and_its_service() {
    let (child, _) = long_demo();
    let id = child.id();
    let service = format!("shm://nebula-demo-{id}");
    // As a terminal does it: to every process of the group.
    rustix::process::kill_process_group(pid(child.id()), rustix::process::Signal::INT).unwrap();
    let output = finish(child);
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(130), "{said}");
    assert!(!said.contains("error: "), "{said}");
    assert!(processes_with(&service).is_empty(), "the service outlived the demo");
    assert!(!times_file(id).exists(), "the service times outlived the demo");
}

#[test]
fn a_service_that_dies_is_a_fault_in_one_line() {
    let (child, service) = long_demo();
    rustix::process::kill_process(pid(service), rustix::process::Signal::KILL).unwrap();
    let output = finish(child);
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert_eq!(
        said.lines().filter(|line| line.starts_with("error: the service ended (signal: 9")).count(),
        1,
        "{said}"
    );
}

#[test]
fn what_cannot_be_is_said_in_one_line() {
    for (args, word) in [
        (["--seconds-per-point", "0"], "0.05"),
        (["--value-bytes", "1"], "8"),
        (["--slo", "fast"], "fast"),
        (["--report", "/nowhere/page.html"], "/nowhere"),
        (["--plot", "demo.gif"], "ends in .svg"),
    ] {
        let output = finish(demo(&args));
        let err = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{args:?}: {err}");
        assert!(err.starts_with("error: ") && err.trim_end().lines().count() == 1 && err.contains(word), "{err}");
    }
}

#[test]
fn flights_tiers_are_shown_load_by_load_and_drawn() {
    let folder = tempfile::tempdir().unwrap();
    let page = folder.path().join("flight.html");
    let (program, page_path) = (concat!(env!("CARGO_MANIFEST_DIR"), "/tests/tiers.sh"), page.to_str().unwrap());
    let shown = finish(demo(&["flight", "--program", program, "--format", "json", "--report", page_path]));
    let said = String::from_utf8_lossy(&shown.stderr);
    assert!(shown.status.success() && said.contains("Worker threads: 200 RPC/s within the SLO of 10 ms."), "{said}");
    let row: serde_json::Value = serde_json::from_slice(&shown.stdout).unwrap();
    assert_eq!(
        (&row["latency_ns_p99"], &row["meets_slo"], &row["refused"]),
        (&901_500.into(), &true.into(), &2.into())
    );
    let page = std::fs::read_to_string(page).unwrap();
    assert!(page.contains("worker threads at 200 RPC/s") && page.contains("5 % refused"), "{page}");

    let missing = finish(demo(&["flight", "--program", "/no/such/program", "--no-report"]));
    let said = String::from_utf8_lossy(&missing.stderr);
    assert!(missing.status.code() == Some(2) && said.contains("cargo build --release -p flight"), "{said}");
}

#[test]
fn unbalanced_groups_are_run_and_predicted_with_and_without_migration() {
    let args = ["groups", "--service", "1ms", "--duration", "2s", "--waiting-max", "1", "--format", "json"];
    let output = finish(demo(&args));
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    // On a machine whose cores have other work there is nothing to compare; and it says so.
    if output.status.code() == Some(1) && err.contains("other work has this machine's cores") {
        return;
    }
    assert!(output.status.success(), "{err}");
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
        let output = finish(demo(&[&["groups"], &args[..]].concat()));
        let err = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.code() == Some(2) && err.contains(says), "{args:?}: {err}");
    }
}

#[test]
fn gets_and_scans_are_run_and_predicted() {
    let args =
        ["scans", "--keys", "2000", "--load", "0.1,0.3", "--scans", "0.1", "--duration", "500ms", "--format", "json"];
    let output = finish(demo(&args));
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{err}");
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
        let output = finish(demo(&[&["scans"], &args[..]].concat()));
        let err = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.code() == Some(2) && err.contains(says), "{args:?}: {err}");
    }
}
