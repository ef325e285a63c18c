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
    // Its own process group, as a shell creates for a command, so that its signals do not reach the
    // test.
    command.process_group(0).spawn().unwrap()
}

fn finish(child: Child) -> Output {
    let _watchdog = Watchdog::within(LIMIT, "a demo");
    child.wait_with_output().unwrap()
}

/// Processes whose command line contains `words`.
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
    // A busy machine cannot promise anything: the demo says so first, and simulates.
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

fn times_file(id: u32) -> std::path::PathBuf {
    std::env::temp_dir().join(format!("nebula-demo-{id}-service.csv"))
}

/// A demo that would take hours, once its service has started, and the service's process id.
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
    // Like a terminal: to every process of the group.
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
