//! A server whose decision log cannot be written reports it and goes on serving.

use crate::support::{echo, endpoint, server_config};
use nebula::{Client, ClientConfig, Policy, RunningServer, ServeError, Server, ServerConfig};
use nebula_testing::wait::{Watchdog, wait_until};
use std::io::{ErrorKind, PipeReader, Read};
use std::os::fd::AsRawFd;

/// Every place where an engine may run.
fn configs() -> [(&'static str, ServerConfig); 4] {
    [
        ("inline", server_config(|config| config.inline = Some(true))),
        ("threads", server_config(|config| config.workers = 2)),
        ("mcs-lock", server_config(|config| (config.policy, config.workers) = (Policy::McsLock, 2))),
        ("work-stealing", server_config(|config| (config.policy, config.workers) = (Policy::WorkStealing, 2))),
    ]
}

/// A server whose log is a pipe, which takes writes while its other end is open.
fn serve_into_a_pipe(endpoint: &str, config: ServerConfig) -> (RunningServer, PipeReader) {
    let (reader, writer) = std::io::pipe().expect("a pipe");
    let config = config.decision_log(format!("/proc/self/fd/{}", writer.as_raw_fd()));
    (Server::bind(endpoint).config(config).serve(echo).expect("a server"), reader)
}

#[test]
fn a_log_on_a_full_disk_starts_no_server() {
    for (kind, config) in configs() {
        let endpoint = endpoint(&format!("log-full-{kind}"));
        let server = Server::bind(&endpoint).config(config.decision_log("/dev/full")).serve(echo);
        let Err(ServeError::Log(error)) = server else { panic!("{kind}: {server:?}") };
        assert_eq!((error.path.to_str(), error.cause.kind()), (Some("/dev/full"), ErrorKind::StorageFull), "{kind}");
    }
}

#[test]
fn a_log_that_cannot_be_written_any_more_is_told_and_costs_no_client_its_reply() {
    let _watchdog = Watchdog::new("a log that is cut");
    for (kind, config) in configs() {
        let endpoint = endpoint(&format!("log-cut-{kind}"));
        let (server, mut log) = serve_into_a_pipe(&endpoint, config);
        let mut client = Client::connect_with(&endpoint, ClientConfig::default()).expect("a connection");
        assert_eq!(client.call(b"before").expect("a reply"), b"before");
        log.read_exact(&mut [0; 10]).expect("the log begins");
        assert!(server.log_error().is_none(), "{kind}");
        drop(log);
        let error = wait_until("an error of the log", || {
            assert_eq!(client.call(b"after").expect("a reply"), b"after");
            server.log_error()
        });
        assert_eq!(error.cause.kind(), ErrorKind::BrokenPipe, "{kind}");
        let (status, log) = server.stop_with_log();
        assert_eq!(log.expect_err("it lacks the end").cause.kind(), ErrorKind::BrokenPipe, "{kind}");
        assert!(status.freed > 0, "{kind}: {status:?}");
    }
}

#[test]
fn who_waits_for_the_end_of_a_server_is_told_that_its_log_is_cut() {
    let _watchdog = Watchdog::new("the end of a server whose log is cut");
    for is_cut in [true, false] {
        let (server, mut log) = serve_into_a_pipe(&endpoint(&format!("log-join-{is_cut}")), server_config(|_| ()));
        let (stopper, name) = (server.stopper(), server.endpoint().to_string());
        let waiting = std::thread::spawn(|| server.join());
        if is_cut {
            drop(log);
            Client::connect(&name).expect("a connection").call(b"the last").expect("a reply");
            stopper.stop();
        } else {
            stopper.stop();
            log.read_to_end(&mut Vec::new()).expect("the whole log");
        }
        let ended = waiting.join().expect("no panic").map_err(|error| error.cause.kind());
        assert_eq!(ended, if is_cut { Err(ErrorKind::BrokenPipe) } else { Ok(()) });
    }
}

#[test]
fn the_last_lines_are_missed_although_the_server_stops_with_them() {
    let _watchdog = Watchdog::new("the last lines");
    for (kind, config) in configs() {
        let (server, log) = serve_into_a_pipe(&endpoint(&format!("log-last-{kind}")), config);
        drop(log);
        // After one RPC most of the log is still in memory when the server stops.
        let name = server.endpoint().to_string();
        Client::connect(&name).expect("a connection").call(b"the last").expect("a reply");
        assert!(server.stop_with_log().1.is_err(), "{kind}");
    }
}

#[test]
fn a_log_that_is_whole_is_no_error() {
    for (kind, config) in configs() {
        let file = std::env::temp_dir().join(format!("nebula-whole-log-{kind}-{}", std::process::id()));
        let endpoint = endpoint(&format!("log-whole-{kind}"));
        let server = Server::bind(&endpoint).config(config.decision_log(&file)).serve(echo).expect("a server");
        Client::connect(&endpoint).expect("a connection").call(b"one").expect("a reply");
        let (_, log) = server.stop_with_log();
        let text = std::fs::read_to_string(&file).expect("a log");
        std::fs::remove_file(&file).expect("its file");
        assert!(log.is_ok() && text.contains("dispatch"), "{kind}: {log:?}: {text}");
    }
}
