//! Runs the program `nebula` as its users do.
#![allow(dead_code, reason = "each suite uses its part")]

use std::io::{BufRead, BufReader};
use std::process::{Child, Command};

use rustix::process::Signal;
use serde_json::Value;

pub(crate) use nebula_testing::program::*;

pub(crate) const PROGRAM: &str = env!("CARGO_BIN_EXE_nebula");

/// The program with arguments and piped output.
pub(crate) fn command(args: &[&str]) -> Command {
    nebula_testing::program::command(PROGRAM, args)
}

pub(crate) fn nebula(args: &[&str]) -> Ended {
    nebula_testing::program::run(PROGRAM, args)
}

/// A name that no other test or run uses.
pub(crate) fn endpoint(test: &str) -> String {
    format!("shm://cli-{test}-{}", std::process::id())
}

/// Starts a server and waits until it is ready; also returns its endpoint.
#[track_caller]
pub(crate) fn start(mut server: Command) -> (Child, String) {
    let mut child = server.spawn().expect("the program starts");
    let mut ready = String::new();
    // The small buffer leaves the lines after the first in the pipe.
    BufReader::with_capacity(1, child.stdout.as_mut().expect("piped")).read_line(&mut ready).expect("text");
    let Some(endpoint) = ready.trim_end().strip_prefix("ready ") else {
        let _ = child.kill();
        panic!("{ready:?}, then {:?}", wait(child));
    };
    (child, endpoint.to_owned())
}

/// Ends a server as a service manager does.
pub(crate) fn end(server: Child) -> Ended {
    signal(&server, Signal::TERM);
    wait(server)
}

/// The address of `--metrics`, from standard error.
pub(crate) fn metrics_of(server: &mut Child) -> String {
    let mut lines = BufReader::new(server.stderr.take().expect("piped")).lines().map_while(Result::ok);
    let line = lines.find_map(|line| line.split_once("status at http://").map(|(_, rest)| rest.to_owned()));
    // Reads the rest, so that the server never blocks on its output.
    std::thread::spawn(move || lines.for_each(drop));
    line.expect("the address").trim_end_matches('/').to_owned()
}

#[track_caller]
pub(crate) fn json(line: &str) -> Value {
    serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"))
}

/// Waits until something is so.
pub(crate) fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    nebula_testing::wait::wait_until(what, || is_so().then_some(()));
}
