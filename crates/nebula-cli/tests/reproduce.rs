//! What was reproduced stays reproduced, the document says what the golden rows say, and the command's words.

#![expect(clippy::unwrap_used, reason = "what cannot go on fails here")]

#[expect(dead_code, reason = "each test file uses its share")]
mod program;

use program::nebula;
use std::fs;
use std::path::{Path, PathBuf};

fn in_tree(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path)
}

/// The ids of the entries that take a second or two. The others take up to minutes without the optimizations of a release: what they
/// promise whatever they find is tested beside them, and what they find by `nebula reproduce --effort quick --check`.
fn entries() -> Vec<String> {
    const SECONDS_MAX: u64 = 2;
    let listed = nebula(&["reproduce", "--list", "--format", "json"]).assert_ok().stdout;
    let entries = rows(&listed).into_iter().filter(|entry| entry["seconds"]["quick"].as_u64().unwrap() <= SECONDS_MAX);
    entries.map(|entry| entry["id"].as_str().unwrap().to_owned()).collect()
}

fn rows(stdout: &str) -> Vec<serde_json::Value> {
    stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn what_was_reproduced_still_is() {
    let entries = entries();
    assert!(entries.len() >= 6, "{entries:?}");
    for entry in entries {
        let ended = nebula(&["reproduce", &entry, "--effort", "quick", "--check", "--format", "json"]).assert_ok();
        let rows = rows(&ended.stdout);
        assert!(rows.iter().any(|row| row["published"].is_number()), "{entry} compares nothing");
        for row in rows {
            let verdict = row["verdict"].as_str().unwrap();
            assert_eq!(verdict == "note", row["published"].is_null(), "{row}");
            assert!(
                ["reproduced", "note"].contains(&verdict) || row["why"].as_str().is_some_and(|why| !why.is_empty()),
                "{row}"
            );
        }
    }
}

#[test]
fn a_row_that_is_no_longer_reproduced_ends_with_1_and_its_name() {
    let golden = fs::read_to_string(in_tree("crates/nebula-sim/data/golden/reproduce-full.json")).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("rows.json");
    let check = || nebula(&["reproduce", "--from", file.to_str().unwrap(), "--check", "--format", "csv"]);
    fs::write(&file, &golden).unwrap();
    check().assert_ok();
    let id = "\"id\":\"nebula/sizing/cam_entries\"";
    let spoiled = golden.lines().map(|line| {
        if line.contains(id) { line.replace("\"reproduced\",\"why", "\"differs\",\"why") } else { line.to_owned() }
    });
    fs::write(&file, spoiled.collect::<Vec<_>>().join("\n")).unwrap();
    let ended = check();
    assert_eq!(ended.code, Some(1), "{ended:?}");
    assert!(ended.stderr.contains("nebula/sizing/cam_entries") && ended.stdout.lines().count() > 100, "{ended:?}");
}

#[test]
fn rows_are_the_same_bytes_on_any_number_of_threads() {
    let on = |threads: &str| {
        let args =
            ["reproduce", "nebula/eq1", "nebula/sizing", "--effort", "quick", "--threads", threads, "--format", "json"];
        nebula(&args).assert_ok().stdout
    };
    let one = on("1");
    assert_eq!(one, on("2"));
    assert_eq!(one.lines().count(), 7);
}

#[test]
fn the_document_says_what_the_golden_rows_say() {
    let golden = in_tree("crates/nebula-sim/data/golden/reproduce-full.json");
    let tables = nebula(&["reproduce", "--from", golden.to_str().unwrap(), "--format", "markdown"]).assert_ok().stdout;
    let document = fs::read_to_string(in_tree("docs/REPRODUCTION.md")).unwrap();
    let (_, after) = document.split_once("<!-- made by the command above -->\n").unwrap();
    let (between, _) = after.split_once("<!-- end -->").unwrap();
    assert!(
        between.trim() == tables.trim(),
        "docs/REPRODUCTION.md is not what this prints: nebula reproduce --from crates/nebula-sim/data/golden/reproduce-full.json --format markdown"
    );
}

#[test]
fn the_report_is_written_and_named() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("sizing.html");
    let ended = nebula(&["reproduce", "nebula/sizing", "--report", file.to_str().unwrap()]).assert_ok();
    assert!(ended.stderr.contains("sizing.html"), "{ended:?}");
    let page = fs::read_to_string(file).unwrap();
    assert!(page.contains("Of 5 published values 5 are reproduced") && page.ends_with("</html>\n"));
}

#[test]
fn bad_input_is_one_line_that_says_what_would_be_right() {
    let cases: &[(&[&str], &str)] = &[
        (&["nebula/fig3"], "the entries are nebula/eq1, nebula/sizing"),
        (&["--effort", "some"], "[possible values: quick, normal, full]"),
        (&["--format", "xml"], "[possible values: table, json, csv, markdown]"),
        (&["--from", "no/such/rows.json"], "cannot read no/such/rows.json"),
        (&["--from", "Cargo.toml"], "line 1 is not a row of nebula reproduce"),
        (&["--from", "a.json", "--effort", "full"], "cannot be used with"),
        (&["nebula/sizing", "--report", "no/such/folder/page.html"], "there is no directory no/such/folder"),
        (&["--threads", "0"], "1..=1024"),
    ];
    for (args, said) in cases {
        nebula(&[&["reproduce"], *args].concat()).assert_error(2, said);
    }
}
