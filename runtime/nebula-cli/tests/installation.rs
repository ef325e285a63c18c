//! Shell completions and manual pages.

#![expect(clippy::unwrap_used, reason = "what cannot go on fails here")]

use std::collections::BTreeSet;
use std::fs;
use std::process::Command;

use crate::program::nebula;

fn commands() -> Vec<String> {
    let help = nebula(&["--help"]).assert_ok().stdout;
    // A command is indented by two spaces; deeper lines continue its text.
    let (lists, _) = help.split_once("Options:\n").unwrap();
    let listed = lists.lines().filter_map(|line| line.strip_prefix("  ")).filter(|line| !line.starts_with(' '));
    let names = listed.filter_map(|line| line.split_whitespace().next());
    names.filter(|&name| name != "help").map(str::to_owned).collect()
}

#[test]
fn completions_of_every_shell_know_every_command() {
    let commands = commands();
    assert!(commands.iter().any(|name| name == "simulate") && commands.len() >= 10, "{commands:?}");
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = nebula(&["completions", shell]).assert_ok().stdout;
        for name in &commands {
            assert!(script.contains(name.as_str()), "the script for {shell} does not know {name}");
        }
        assert!(script.contains("find-slo"), "the script for {shell} does not know the flags of `load kv`");
    }
}

#[test]
fn bash_reads_its_script() {
    let folder = tempfile::tempdir().unwrap();
    let script = folder.path().join("nebula");
    fs::write(&script, nebula(&["completions", "bash"]).assert_ok().stdout).unwrap();
    let ended = Command::new("bash").arg("-n").arg(&script).output().unwrap();
    assert!(ended.status.success(), "{ended:?}");
}

#[test]
fn an_unknown_shell_is_answered_with_the_known_ones() {
    nebula(&["completions", "csh"]).assert_error(2, "[possible values: bash, ");
}

#[test]
fn every_command_has_a_manual_page_and_the_first_page_names_them() {
    let folder = tempfile::tempdir().unwrap();
    let ended = nebula(&["man", folder.path().to_str().unwrap()]).assert_ok();
    assert_eq!(ended.stdout, "");
    let pages: BTreeSet<_> =
        fs::read_dir(folder.path()).unwrap().map(|page| page.unwrap().file_name().into_string().unwrap()).collect();
    for name in commands() {
        assert!(pages.contains(&format!("nebula-{name}.1")), "{name} has no page among {pages:?}");
    }
    assert!(pages.contains("nebula-serve-kv.1") && pages.contains("nebula-load-kv.1"), "{pages:?}");
    let first = fs::read_to_string(folder.path().join("nebula.1")).unwrap();
    assert_eq!(first.trim_end(), nebula(&["man"]).assert_ok().stdout.trim_end());
    for name in commands() {
        // roff writes a hyphen within a name as `\-`.
        assert!(first.contains(&format!("nebula\\-{name}")), "nebula.1 does not name {name}:\n{first}");
    }
}

#[test]
fn man_renders_every_page_without_a_warning() {
    let folder = tempfile::tempdir().unwrap();
    nebula(&["man", folder.path().to_str().unwrap()]).assert_ok();
    if Command::new("man").arg("--version").output().is_err() {
        return; // The packages that check pages are not part of a toolchain.
    }
    for page in fs::read_dir(folder.path()).unwrap() {
        let page = page.unwrap().path();
        let ended = Command::new("man")
            .args(["--local-file", "--warnings", "--encoding=UTF-8"])
            .arg(&page)
            .envs([("MANPAGER", "cat"), ("MANWIDTH", "100"), ("LC_ALL", "C.UTF-8")])
            .output()
            .unwrap();
        let text = String::from_utf8_lossy(&ended.stdout);
        assert!(ended.status.success() && text.contains("SYNOPSIS"), "{}: {ended:?}", page.display());
        assert!(ended.stderr.is_empty(), "{}: {}", page.display(), String::from_utf8_lossy(&ended.stderr));
    }
}

#[test]
fn a_folder_that_does_not_exist_is_named() {
    nebula(&["man", "no/such/folder"]).assert_error(2, "no folder no/such/folder");
}
