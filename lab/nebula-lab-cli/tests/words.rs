//! The command line: valid and invalid arguments, error messages, and the exact output formats.

use crate::program::nebula;

#[test]
fn bad_input_is_one_line_that_says_what_would_be_right_and_ends_with_2() {
    let cases: &[(&[&str], &str)] = &[
        (&[], "nebula-lab --help"),
        (&["fly"], "unrecognized subcommand 'fly'"),
        (&["size", "--format", "xml"], "[possible values: table, json, csv]"),
        (&["size", "--loda", "0.5"], "a similar argument exists: '--load'"),
        (&["size", "--cores", "-1"], "unexpected argument '-1'"),
        (&["size", "--cores", "0"], "at least 1 core"),
        (&["size", "--load", "1"], "less than 1"),
        (&["size", "--load", "NaN"], "less than 1"),
        (&["size", "--rpc-bytes", "0"], "at least 1 byte"),
        (&["size", "--slo", "10x"], "--service"),
        (&["size", "--service", "exp:1us", "--cores", "0"], "give 1 to 4096"),
        (&["size", "--service", "exp:1us", "--cores", "70000"], "too many"),
        (&["size", "--service", "exp:1us", "--load", "1"], "no steady state"),
        (&["size", "--service", "exp:1us", "--slo", "2us"], "at the lowest load the p99 is"),
        (&["size", "--service", "exp:1us", "--rpc-bytes", "0"], "at least 1 byte"),
        (&["size", "--service", "exp:fast"], "write exp:TIME such as exp:1us"),
        (&["incast", "--flow", "tcp"], "expected window, homa or none"),
        (&["incast", "--senders", "0"], "give 1 to 4096"),
        (&["incast", "--short", "1MiB"], "the shorter first"),
        (&["incast", "--recv-buffer", "4KiB"], "holds no long message"),
        (&["simulate", "--policy", "fifo"], "single-queue"),
        (&["simulate", "--cores", "0"], "give 1 to 4096"),
        (&["simulate", "--servers", "0"], "at least 1 server"),
        (&["simulate", "--load", "1"], "a load less than 1, or a --queue-bound"),
        (&["simulate", "--load", "0.5,1.5"], "a load less than 1, or a --queue-bound"),
        (&["simulate", "--load", "0"], "more than 0"),
        (&["simulate", "--load", "NaN"], "more than 0"),
        (&["simulate", "--load", "0.5..0.9"], "such as 0.5,0.9 or 0.5..0.99:20"),
        (&["simulate", "--load", "0.5", "--clients", "3"], "cannot be used with"),
        (&["simulate", "--find-slo", "--clients", "3"], "cannot be used with"),
        (&["simulate", "--find-slo", "--load", "0.5"], "cannot be used with"),
        (&["simulate", "--clients", "0"], "0 clients"),
        (&["simulate", "--think", "exp:1us"], "--clients"),
        (&["simulate", "--service", "pareto:min=1us,alpha=1"], "has no mean"),
        (&["simulate", "--service", "exp:1ps"], "give 1 ns to 1 s"),
        (&["simulate", "--service", "trace:no/such/file"], "could not be opened"),
        (&["simulate", "--service", "trace:/dev/zero"], "no regular file"),
        (&["simulate", "--arrivals", "trace:/dev/zero"], "no regular file"),
        (&["size", "--trace", "/dev/zero", "--rate", "1M"], "no regular file"),
        (&["sweep", "/dev/zero"], "no regular file"),
        (&["simulate", "--arrivals", "often"], "write poisson, paced"),
        (&["simulate", "--slo", "10"], "such as 10us, or 10x"),
        (&["simulate", "--precision", "200%"], "such as 1% or 0.005"),
        (&["simulate", "--precision", "much"], "such as 1% or 0.005"),
        (&["simulate", "--rpcs", "10"], "give 1000 to 1e12"),
        (&["simulate", "--replications", "1"], "give 2 to 10000"),
        (&["simulate", "--threads", "0"], "is not in 1..=1024"),
        (&["simulate", "--lock-handoff", "1us"], "add it to --policy"),
        (&["simulate", "--nic-cycles", "no/such/file"], "cannot read no/such/file"),
        (&["simulate", "--nic-ghz", "1"], "--nic-cycles"),
        (&["simulate", "--nic-cycles", "x", "--nic-ghz", "0"], "above 0"),
        (&["simulate", "--on-nack", "retry:1us"], "give a --queue-bound"),
        (&["simulate", "--on-nack", "another", "--queue-bound", "9"], "--servers 2 or more"),
        (&["simulate", "--outstanding", "3"], "--clients"),
        (&["simulate", "--clients", "5", "--outstanding", "0"], "give 1 or more"),
        (&["simulate", "--clients", "1000000", "--outstanding", "1000"], "at most 16777216 in all"),
        (&["simulate", "--speeds", "fast"], "such as 1,1,0.5 or 4x1,12x0.5"),
        (&["simulate", "--cores", "4", "--speeds", "3x1"], "3 speeds for 4 cores"),
        (&["simulate", "--cores", "2", "--policy", "darc", "--speeds", "2x1"], "no cores of different speeds"),
        (&["simulate", "--cores", "2", "--policy", "random", "--speeds", "1,0.5", "--load", "0.7"], "less than 0.6667"),
        (&["simulate", "--load-over-time", "0.5"], "steps such as 0.5/2ms,1.5/100us"),
        (&["simulate", "--load-over-time", "1.5/1ms,0.9/1ms"], "a load less than 1, or a --queue-bound"),
        (&["simulate", "--load-over-time", "0.5/1ms", "--load", "0.5"], "cannot be used with"),
        (&["simulate", "--per-core-time", "1ns"], "give a --decision-time as well"),
        (
            &["simulate", "--decision-time", "10ns", "--per-core-time", "1ns", "--cores", "256", "--load", "0.5"],
            "less than 0.0147",
        ),
        (&["simulate", "--balancer", "best", "--servers", "2"], "expected jbsq:8, random"),
        (&["simulate", "--balancer", "random"], "--servers 2 or more"),
        (&["simulate", "--balancer", "random", "--servers", "2"], "at most 32 cores"),
        (&["simulate", "--distance", "1us"], "--balancer"),
        (&["simulate", "--flows", "few"], "such as 64, or zipf:0.99"),
        (&["simulate", "--flows", "0"], "give 1 to 10000000"),
        (&["simulate", "--flows", "clients"], "an open loop has no clients"),
        (&["simulate", "--keys", "zipf:99"], "at most 10"),
        (&["simulate", "--queue-bound", "0", "--policy", "work-stealing"], "give a queue bound of 1 or more"),
        (&["simulate", "--on-nack", "hope"], "expected drop, retry:10us"),
        (&["simulate", "--plot", "plot.png"], "ends in .svg, not plot.png"),
        (&["simulate", "--plot", "no/such/plot.svg"], "no directory no/such"),
        (&["simulate", "--report", "no/such/page.html"], "no directory no/such"),
    ];
    for (args, said) in cases {
        nebula(args).assert_error(2, said);
    }
}

#[test]
fn help_and_version_are_results() {
    for args in [&["--help"][..], &["size", "--help"], &["simulate", "--help"]] {
        let ended = nebula(args).assert_ok();
        assert!(ended.stdout.contains("nebula") && ended.stderr.is_empty(), "{args:?}: {ended:?}");
    }
    assert!(nebula(&["--version"]).assert_ok().stdout.starts_with("nebula-lab "));
}

#[test]
fn size_prints_the_papers_server_in_every_form() {
    let table = "\
cores      load  E[Nq]  buffer slots   buffer  bitvector  reassembler entries
   64  0.984375  53.91          8640  540 KiB   1.05 KiB                  540
";
    let json = r#"{"cores":64,"load":0.984375,"queue_depth_mean":53.90668144918197,"buffer_slots":8640,"buffer_bytes":552960,"bitvector_bytes":1080,"reassembler_entries":540}
"#;
    let csv = "\
cores,load,queue_depth_mean,buffer_slots,buffer_bytes,bitvector_bytes,reassembler_entries
64,0.984375,53.90668144918197,8640,552960,1080,540
";
    let size = ["size", "--cores", "64", "--load", "0.984375", "--rpc-bytes", "1024", "--format"];
    for (format, expected) in [("table", table), ("json", json), ("csv", csv)] {
        assert_eq!(nebula(&[&size[..], &[format]].concat()).assert_ok().stdout, expected);
    }
    assert_eq!(nebula(&["size"]).assert_ok().stdout, table, "which is what it prints unless told otherwise");
}

#[test]
fn size_prints_a_row_for_each_number_of_cores_and_each_load() {
    let csv = nebula(&["size", "--cores", "2,4", "--load", "0.5,0.9", "--format", "csv"]).assert_ok().stdout;
    let pairs: Vec<String> =
        csv.lines().skip(1).map(|row| row.split(',').take(2).collect::<Vec<_>>().join(" ")).collect();
    assert_eq!(pairs, ["2 0.5", "2 0.9", "4 0.5", "4 0.9"]);
}
