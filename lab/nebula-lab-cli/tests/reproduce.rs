//! What was reproduced stays reproduced, the document says what the golden rows say, and the
//! command's words.

#![expect(clippy::unwrap_used, reason = "what cannot go on fails here")]

#[expect(dead_code, reason = "each test file uses its share")]
mod program;

use nebula_sim::reproduce::paper;
use program::nebula;
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

fn in_tree(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path)
}

/// The ids of the entries that take a second or two. The others take up to minutes without the
/// optimizations of a release: what they promise whatever they find is tested beside them, and what
/// they find by `nebula reproduce --effort quick --check`.
fn entries() -> Vec<String> {
    const SECONDS_MAX: u64 = 2;
    let listed = nebula(&["reproduce", "--list", "--format", "json"]).assert_ok().stdout;
    let entries = rows(&listed).into_iter().filter(|entry| entry["seconds"]["quick"].as_u64().unwrap() <= SECONDS_MAX);
    entries.map(|entry| entry["id"].as_str().unwrap().to_owned()).collect()
}

fn rows(stdout: &str) -> Vec<Value> {
    stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// The rows of an entry, checked against the golden ones. Each entry is run once, however many
/// tests look at it.
fn checked(entry: &str) -> Vec<Value> {
    static FOUND: [OnceLock<Vec<Value>>; 2] = [const { OnceLock::new() }; 2];
    let run =
        || rows(&nebula(&["reproduce", entry, "--effort", "quick", "--check", "--format", "json"]).assert_ok().stdout);
    match ["dagger/interfaces", "dagger/scaling"].iter().position(|&twice| twice == entry) {
        Some(place) => FOUND[place].get_or_init(run).clone(),
        None => run(),
    }
}

fn row<'r>(rows: &'r [Value], id: &str) -> &'r Value {
    rows.iter().find(|row| row["id"] == id).unwrap_or_else(|| panic!("no row {id}"))
}

#[test]
fn what_was_reproduced_still_is_each_published_value_has_its_row_and_each_verdict_its_reason() {
    let entries = entries();
    assert!(entries.len() >= 6, "{entries:?}");
    for entry in entries {
        let rows = checked(&entry);
        let prefix = format!("{entry}/");
        let expected = paper::figures().map(|(_, figure)| figure.id.as_str()).filter(|id| id.starts_with(&prefix));
        let published = rows.iter().filter(|row| row["published"].is_number());
        let published: Vec<_> = published.map(|row| row["id"].as_str().unwrap()).collect();
        assert!(!published.is_empty(), "{entry} compares nothing");
        assert_eq!(published, expected.collect::<Vec<_>>(), "{entry}");
        rows.iter().for_each(assert_explained);
    }
}

/// A note compares nothing; what differs says by how much and why; the value lies in its interval,
/// unless it is cited.
fn assert_explained(row: &Value) {
    let (verdict, why) = (row["verdict"].as_str().unwrap(), row["why"].as_str().unwrap_or_default());
    assert_eq!(verdict == "note", row["published"].is_null(), "{row}");
    assert!(["reproduced", "note"].contains(&verdict) || !why.is_empty(), "{row}");
    let needs_number = ["differs", "not-reproducible-as-published"].contains(&verdict);
    assert!(!needs_number || why.contains(|c: char| c.is_ascii_digit()), "{row}");
    let lies_within = || {
        let value = row["reproduced"].as_f64()?;
        Some((row["interval"][0].as_f64()?..=row["interval"][1].as_f64()?).contains(&value))
    };
    assert_eq!(lies_within().unwrap_or(false), verdict != "cited", "{row}");
}

#[test]
fn the_other_bars_of_dagger_follow_from_the_fits_and_the_latency_of_mmio_does_not() {
    let rows = checked("dagger/interfaces");
    let row = |name: &str| row(&rows, &format!("dagger/interfaces/{name}"));
    for predicted in ["mmio_mrps", "doorbell-3_mrps", "doorbell-7_mrps"] {
        let ratio = row(predicted)["ratio"].as_f64().unwrap();
        assert!((ratio - 1.0).abs() < 0.03 && row(predicted)["verdict"] == "reproduced", "{predicted}: {ratio}");
    }
    for fitted in ["doorbell-1_mrps", "doorbell-11_mrps", "upi-1_mrps", "upi-4_mrps", "upi-1_p50"] {
        assert_eq!(row(fitted)["verdict"], "fitted", "{fitted}");
    }
    let mmio = row("mmio_p50");
    assert!(mmio["verdict"] == "differs" && mmio["ratio"].as_f64().unwrap() < 0.7, "{mmio}");
    assert!(mmio["why"].as_str().unwrap().contains("4 crossings of 450 ns"), "{mmio}");
    // Nothing is lost where the throughput is measured.
    let dropped = rows.iter().filter(|row| row["id"].as_str().unwrap().ends_with("_dropped"));
    assert_eq!(dropped.map(|row| row["reproduced"].as_f64().unwrap()).collect::<Vec<_>>(), [0.0; 8]);
}

#[test]
fn dagger_scales_by_one_thread_up_to_what_the_interconnect_carries() {
    let rows = checked("dagger/scaling");
    let value = |name: &str| row(&rows, &format!("dagger/scaling/{name}"))["reproduced"].as_f64().unwrap();
    for (way, most) in [("end-to-end", 42.0), ("raw", 84.0)] {
        for threads in 1..=8_u32 {
            let expected = (value("end-to-end_1") * f64::from(threads)).min(most);
            let ours = value(&format!("{way}_{threads}"));
            // Where both bounds meet, RPCs of one flow may wait while another has none.
            assert!((ours / expected - 1.0).abs() < 0.025, "{way} {threads}: {ours} and not {expected}");
        }
    }
}

#[test]
fn a_row_that_is_no_longer_reproduced_ends_with_1_and_its_name() {
    let golden = fs::read_to_string(in_tree("lab/nebula-sim/data/golden/reproduce-full.json")).unwrap();
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
    let golden = in_tree("lab/nebula-sim/data/golden/reproduce-full.json");
    let tables = nebula(&["reproduce", "--from", golden.to_str().unwrap(), "--format", "markdown"]).assert_ok().stdout;
    let document = fs::read_to_string(in_tree("docs/REPRODUCTION.md")).unwrap();
    let (_, after) = document.split_once("<!-- made by the last command below -->\n").unwrap();
    let (between, _) = after.split_once("<!-- end -->").unwrap();
    let (counts, _) = tables.split_once("\n| claim |").unwrap();
    // The document has the same words in lines of at most 100 columns.
    let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
    assert!(
        words(between) == words(counts),
        "docs/REPRODUCTION.md does not begin as this does: nebula reproduce --from lab/nebula-sim/data/golden/reproduce-full.json --format markdown"
    );
}

#[test]
fn a_page_of_the_golden_rows_has_every_row_and_its_reason() {
    let golden = in_tree("lab/nebula-sim/data/golden/reproduce-full.json");
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("rows.html");
    nebula(&["reproduce", "--from", golden.to_str().unwrap(), "--report", file.to_str().unwrap()]).assert_ok();
    let page = fs::read_to_string(file).unwrap();
    let golden = rows(&fs::read_to_string(golden).unwrap());
    // A claim is in a table and in the remarks, a variant in a table: each has its cell.
    let cells: usize = page.matches("<tr>").count();
    assert!(cells > golden.len(), "{cells} rows for {}", golden.len());
    for row in &golden {
        for text in [&row["what"], &row["why"]].into_iter().filter_map(Value::as_str) {
            let escapes = [('&', "&amp;"), ('<', "&lt;"), ('>', "&gt;"), ('"', "&quot;"), ('\'', "&#39;")];
            let escaped = escapes.iter().fold(text.to_owned(), |text, (char, escape)| text.replace(*char, escape));
            assert!(page.contains(&escaped), "{}: {text}", row["id"]);
        }
    }
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
