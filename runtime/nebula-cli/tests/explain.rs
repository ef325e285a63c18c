//! `nebula explain`: the same inputs in the runtime, the simulator and the hardware.

#![expect(clippy::unwrap_used, reason = "tests may panic")]

use std::fs;
use std::path::Path;

use crate::program::nebula;

/// The log of a one-core server with two RPCs.
const LOG: &str = "\
nebula-nic 1 cores=1 policy=jbsq:2 slots=4 rpc_bytes_max=64
0 packet request 3.5 bytes=64 idx=0 key=0 -> write slots=0+1 offset=0 bytes=64 complete; dispatch core=0 rpc=3.5 slots=0+1 bytes=64 key=0 arrived=0
512 packet request 4.6 bytes=64 idx=0 key=0 -> write slots=1+1 offset=0 bytes=64 complete; dispatch core=0 rpc=4.6 slots=1+1 bytes=64 key=0 arrived=512
1024 free core=0 slots=0+1 -> freed
";

fn files(folder: &Path, hardware: &str) -> [String; 2] {
    let [log, made] = ["kv.log", "kv.rtl"].map(|name| folder.join(name).to_str().unwrap().to_owned());
    fs::write(&log, LOG).unwrap();
    fs::write(&made, hardware).unwrap();
    [log, made]
}

/// The log with the cycles of each line appended, as from hardware.
fn with_cycles(text: &str) -> String {
    text.replace("arrived=0\n", "arrived=0 # cycles=2\n").replace("-> freed", "-> freed # cycles=1")
}

#[test]
fn one_input_is_shown_as_each_of_them_decides() {
    let folder = tempfile::tempdir().unwrap();
    let [log, made] = files(folder.path(), &with_cycles(LOG));
    let rows = nebula(&["explain", &log, "--hardware", &made, "--line", "1", "--format", "csv"]).assert_ok().stdout;
    let lines: Vec<&str> = rows.lines().collect();
    assert_eq!((lines.len(), lines[0]), (2, "line,at_ps,input,runtime,simulator,hardware,cycles,agree"));
    assert_eq!(lines[1].matches("write slots=0+1 offset=0 bytes=64 complete; dispatch core=0 rpc=3.5").count(), 3);
    assert!(lines[1].ends_with(",2,true"), "{rows}");
    let about = nebula(&["explain", &log, "--rpc", "4.6", "--format", "csv"]).assert_ok().stdout;
    assert_eq!(about.lines().count(), 2);
    assert!(about.contains("\n2,512,packet request 4.6"), "{about}");
}

#[test]
fn what_differs_is_found_and_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    let [log, made] = files(folder.path(), &with_cycles(&LOG.replace("-> freed", "-> refused")));
    let rows = nebula(&["explain", &log, "--hardware", &made, "--differing", "--format", "csv"]).assert_ok().stdout;
    assert_eq!(rows.lines().count(), 2);
    assert!(rows.contains("3,1024,free core=0 slots=0+1,freed,freed,refused,"), "{rows}");
}

#[test]
fn a_log_that_is_none_and_hardware_of_another_log_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let [log, made] = files(folder.path(), &LOG.replace("slots=0+1 -> freed", "slots=1+1 -> freed"));
    nebula(&["explain", &log, "--hardware", &made]).assert_error(2, "is of other inputs than the log");
    nebula(&["explain", "no/such/file"]).assert_error(2, "cannot read no/such/file");
    nebula(&["explain", &log, "--line", "9"]).assert_error(2, "has 3 lines");
    let mut sealing = nebula_files::Sealing::new("", Vec::new());
    std::io::Write::write_all(&mut sealing, LOG.as_bytes()).unwrap();
    let whole = String::from_utf8(sealing.end().unwrap()).unwrap();
    fs::write(&made, &whole).unwrap();
    nebula(&["explain", &made]).assert_ok();
    fs::write(&made, whole.replace("512 packet", "513 packet")).unwrap();
    nebula(&["explain", &made]).assert_error(2, "the log is not as it was written");
    nebula(&["explain", "/dev/zero"]).assert_error(2, "no regular file");
    fs::write(&made, "not a log").unwrap();
    nebula(&["explain", &made]).assert_error(2, "a log begins with");
}
