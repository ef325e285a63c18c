//! The command line: valid and invalid arguments, error messages, and exact output formats.

use crate::program::nebula;

#[test]
fn bad_input_is_one_line_that_says_what_would_be_right_and_ends_with_2() {
    let cases: &[(&[&str], &str)] = &[
        (&[], "nebula --help"),
        (&["fly"], "unrecognized subcommand 'fly'"),
        (&["serve"], "nebula --help"),
        (&["load", "echo", "--flow", "homa"], "give udp:// or tcp:// to --endpoint"),
        (&["load", "kv", "--flow", "grants"], "expected window, homa or none"),
        (
            &["load", "kv", "--protocol", "memcached", "--endpoint", "tcp://127.0.0.1:1", "--flow", "none"],
            "--pipeline is the bound",
        ),
        (&["doctor", "--seconds", "-3"], "unexpected argument '-3'"),
        (&["doctor", "--seconds", "0"], "from 0.01 to 3600"),
        (&["serve", "kv", "--policy", "jbsq:0"], "such as jbsq:2"),
        (&["serve", "kv", "--endpoint", "kv"], "expected shm://NAME"),
        (&["serve", "kv", "--slo", "100"], "such as 100us"),
        (&["serve", "kv", "--inline", "--workers", "2"], "as many workers as engines"),
        (&["serve", "kv", "--items", "many"], "such as 1600000 or 1.6M"),
        (&["serve", "kv", "--items", "1G", "--memory-bytes", "64MiB"], "would fit"),
        (&["serve", "kv", "--items", "0"], "--items of 1 or more"),
        (&["serve", "kv", "--items", "9", "--decision-log", "no/such/folder/log"], "cannot write no/such/folder/log"),
        (&["serve", "kv", "--items", "9", "--workers", "0"], "give 1 to 4096"),
        (&["serve", "kv", "--items", "9", "--workers", "1000"], "1000 for workers, 1 for engines"),
        (&["serve", "kv", "--inline", "--engine-thread"], "cannot be used with"),
        (&["serve", "kv", "--items", "9", "--mtu-bytes", "0"], "give 1 to 1048576"),
        (&["serve", "kv", "--recv-buffer-bytes", "1MiB"], "--unbounded"),
        (&["load", "kv", "--rate", "fast"], "such as 200k"),
        (&["load", "kv", "--mix", "put=1"], "such as get=50,set=45,delete=5"),
        (&["load", "kv", "--mix", "get=50,set=60"], "add up to 110"),
        (&["load", "kv", "--pin", "70000"], "cannot be pinned to core 70000"),
        (&["load", "kv", "--report", "no/such/page.html"], "no directory no/such"),
        (&["load", "kv", "--patience", "none"], "such as 100us"),
        (&["load", "kv", "--key-dist", "zipf:99"], "at most 10"),
        (&["load", "kv", "--keys", "0"], "use 1 to 2^53 keys"),
        (&["load", "kv", "--slots", "3"], "a power of two"),
        (&["load", "kv", "--find-slo", "100"], "such as 100us"),
        (&["load", "kv", "--value-bytes", "1048576"], "is not in 0..=1048575"),
        (&["load", "kv", "--trace", "no/such/file.csv"], "cannot open no/such/file.csv"),
        (&["load", "kv", "--trace", "a.csv", "--rate", "1k"], "cannot be used with"),
    ];
    for (args, said) in cases {
        nebula(args).assert_error(2, said);
    }
}

#[test]
fn help_and_version_are_results() {
    for args in [&["--help"][..], &["doctor", "--help"], &["serve", "kv", "--help"], &["load", "kv", "--help"]] {
        let ended = nebula(args).assert_ok();
        assert!(ended.stdout.contains("Examples:") && ended.stderr.is_empty(), "{args:?}: {ended:?}");
    }
    assert!(nebula(&["--version"]).assert_ok().stdout.starts_with("nebula "));
}

#[test]
fn a_load_without_a_server_is_a_fault_that_names_the_command_to_start_one() {
    let endpoint = format!("shm://cli-nobody-{}", std::process::id());
    let said =
        format!("nobody serves {endpoint}: start a server there first, such as: nebula serve kv --endpoint {endpoint}");
    nebula(&["load", "kv", "--endpoint", &endpoint]).assert_error(1, &said);
    nebula(&["load", "kv", "--endpoint", &endpoint, "--preload"]).assert_error(1, &said);
}

#[test]
fn the_doctor_gives_a_verdict_on_each_thing_it_looks_at() {
    let ended = nebula(&["doctor", "--seconds", "0.05", "--format", "json"]).assert_ok();
    let findings: Vec<serde_json::Value> =
        ended.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let checks: Vec<&str> = findings.iter().map(|finding| finding["check"].as_str().unwrap()).collect();
    let static_checks = ["cores", "engines", "clock", "huge pages", "memory", "shared memory", "udp"];
    let measured = [
        "isolation",
        "timer ticks",
        "interrupts",
        "steal",
        "frequency",
        "page size",
        "NUMA",
        "p99 floor",
        "round trip",
    ];
    for check in static_checks.into_iter().chain(measured) {
        assert!(checks.contains(&check), "{check} is not in {checks:?}");
    }
    for finding in &findings {
        let has_advice = finding["advice"] != "";
        assert_eq!(finding["verdict"], if has_advice { "warn" } else { "ok" }, "{finding}");
        assert_ne!(finding["measured"], "", "{finding}");
        assert!(has_advice || finding["command"] == "", "{finding}");
    }
    let memory = findings.iter().find(|finding| finding["check"] == "shared memory").unwrap();
    assert_eq!(memory["values"]["is_mapped"], true);
}
