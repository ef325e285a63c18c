//! `nebula sweep`: its rows, what it keeps, and its errors.

#![expect(clippy::unwrap_used, reason = "tests may panic")]

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use crate::program::nebula;

const STUDY: &str = "[fixed]
cores = 4
queue_bound = 20
rpcs = '2k'
replications = 2
[grid]
policy = ['rss', 'fifo', 'jbsq:2']
load = '0.5..0.9:2'
";

fn csv(study: &Path, more: &[&str]) -> (String, String) {
    let ended = nebula(&[&["sweep", study.to_str().unwrap(), "--format", "csv"], more].concat());
    assert_eq!(ended.code, Some(1), "a point failed: {}", ended.stderr);
    (ended.stdout, ended.stderr)
}

#[test]
fn a_point_that_fails_is_a_row_and_the_bytes_are_the_same_however_they_came() {
    let folder = tempfile::tempdir().unwrap();
    let (study, cache) = (folder.path().join("study.toml"), folder.path().join("cache"));
    fs::write(&study, STUDY).unwrap();
    let cache = cache.to_str().unwrap();
    let (alone, said) = csv(&study, &["--no-cache", "--threads", "1"]);
    let (fresh, _) = csv(&study, &["--cache", cache, "--threads", "2"]);
    let (kept, _) = csv(&study, &["--cache", cache]);
    assert_eq!(alone, fresh);
    assert_eq!(fresh, kept);
    assert!(said.contains("2 of 6 points failed, the first of them: invalid value 'fifo'"), "{said}");
    let lines: Vec<&str> = alone.lines().collect();
    assert_eq!(lines.len(), 7);
    assert!(lines[3].starts_with("fifo,") && lines[3].contains("unknown policy"), "{alone}");
    assert!(lines[5].starts_with("jbsq:2,4,exp:1us,0.5,"), "{alone}");

    // One that is kept is not simulated again, unless it was changed.
    let files = || fs::read_dir(cache).unwrap().map(|file| file.unwrap().path());
    let written = || files().map(|file| (fs::metadata(&file).unwrap().ino(), file)).collect::<BTreeSet<_>>();
    assert_eq!(files().count(), 4);
    let before = written();
    let file = files().find(|file| fs::read_to_string(file).unwrap().contains("\"jbsq:2\"")).unwrap();
    fs::write(&file, fs::read_to_string(&file).unwrap().replace("jbsq:2", "jbsq:7")).unwrap();
    assert_eq!(csv(&study, &["--cache", cache]).0, kept);
    let again: Vec<_> = written().difference(&before).map(|(_, file)| file.clone()).collect();
    assert_eq!(again, [file]);
    // One whose words changed is.
    fs::write(&study, STUDY.replace("2k", "3k")).unwrap();
    assert_ne!(csv(&study, &["--cache", cache]).0, kept);
    assert_eq!(files().count(), 8);
}

#[test]
fn keys_of_a_machine_are_an_axis() {
    let folder = tempfile::tempdir().unwrap();
    let study = folder.path().join("study.toml");
    let text = "fixed = { machine = 'isca20', design = 'nebula', rate = '5MRPS', rpcs = '2k', replications = 2 }\n\
                [grid.set.memory.dram]\npath_ns = [7.5, 75]\n";
    fs::write(&study, text).unwrap();
    let ended = nebula(&["sweep", study.to_str().unwrap(), "--no-cache", "--format", "json"]).assert_ok();
    let rows: Vec<serde_json::Value> = ended.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let of = |row: &serde_json::Value| (row["set.memory.dram.path_ns"].as_f64(), row["latency_ns"]["p99"].as_f64());
    let [(first, quick), (second, slow)] = [of(&rows[0]), of(&rows[1])];
    assert!(first == Some(7.5) && second == Some(75.0) && quick < slow, "{}", ended.stdout);
}

#[test]
fn a_wrong_study_is_told_with_its_name() {
    let folder = tempfile::tempdir().unwrap();
    let study = folder.path().join("study.toml");
    fs::write(&study, "[fixed]\ncore = 4\n").unwrap();
    let name = study.to_str().unwrap();
    nebula(&["sweep", name]).assert_error(2, "study.toml: unexpected argument '--core'");
    nebula(&["sweep", "missing.toml"]).assert_error(2, "cannot read missing.toml");
    fs::write(&study, "[grid]\nload = '0.5..0.9:5'\n").unwrap();
    let listed = nebula(&["sweep", name, "--points"]).assert_ok().stdout;
    assert!(listed.lines().count() == 6 && listed.contains("nebula simulate --load=0.7"), "{listed}");
}
