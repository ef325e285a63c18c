//! Processes killed at any moment: a killed client leaves nothing behind, and a killed server
//! becomes an error in time.

use crate::support::draw::Draw;
use crate::support::exchange::next_end;
use crate::support::process::{Process, role, say, wait_for_end};
use crate::support::{echo, endpoint, server_config, unhurried_config, wait_until_clean};
use nebula::{AsyncClient, CallError, Client, ClientConfig, Queueing, Reply, Server, Span, SubmitError};
use nebula_testing::wait::{RaisedAtTheEnd, Watchdog, wait_until};
use std::process::exit;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

const KILLS: u64 = 20;
/// Far longer than a test may take. A client that ends sooner has noticed that the server is gone.
const PATIENCE: Duration = Duration::from_secs(600);

/// Runs a client that does as much as it can, of every kind, until it is killed.
fn play_victim(name: &str, seed: u64) -> ! {
    let mut draw = Draw::new(seed);
    say("ready");
    loop {
        let config = ClientConfig::default().slots(1 << (2 + draw.below(7))).reply_bytes_max(2000);
        let Ok(mut client) = Client::connect_with(name, config) else { continue };
        // Some clients come and go, others stay.
        for _ in 0..10_usize.pow(u32::try_from(draw.below(6)).expect("small")) {
            let bytes = [8, 100, 576, 577, 3000, 20_000][draw.below(6)];
            if client.submit(&draw.bytes(bytes)).is_err() && client.poll().is_none() {
                std::thread::yield_now();
            }
        }
    }
}

/// Kills one client after another while a second one calls without a break.
fn kill_clients(test: &'static str, inline: bool) {
    if let Some(words) = role() {
        play_victim(&words[0], words[1].parse().expect("a seed"));
    }
    let _watchdog = Watchdog::new(test);
    let name = endpoint(if inline { "victims-inline" } else { "victims" });
    let config = server_config(|config| {
        // The buffer is so large that no NACK is allowed.
        config.queueing = Queueing::Unbounded { recv_buffer_bytes: 64 << 20 };
        (config.inline, config.workers) = (Some(inline), if inline { 1 } else { 2 });
    });
    let server = Server::bind(&name).config(config).serve(echo).expect("a server");
    let mut survivor = Client::connect_with(&name, patient().reply_bytes_max(2000)).expect("a connection");
    let mut draw = Draw::new(1);
    for kill in 0..KILLS {
        let mut victim = Process::spawn(test, &[&name, &kill.to_string()]);
        victim.wait_for("ready");
        // The survivor's calls measure when to kill, so each kill comes at another moment.
        for _ in 0..draw.below(150) {
            let bytes = draw.below(2001);
            assert_echo(&mut survivor, &draw.bytes(bytes));
        }
        victim.kill();
    }
    let status = wait_until_clean(server.status(), 1);
    assert_eq!(status.violations, 0, "what a dead client left behind was sound: {status:?}");
    assert_eq!(survivor.call(b"still there").expect("an echo"), b"still there");
    drop(survivor);
    wait_until_clean(server.status(), 0);
    server.stop();
}

/// Calls, and sees no error of another client's end. Repeats a request of several packets, which
/// the server abandons if this process pauses inside it.
fn assert_echo(client: &mut Client, request: &[u8]) {
    let reply = wait_until("an echo", || match client.call(request) {
        Err(CallError::Nack { .. }) if request.len() > 576 => None,
        answer => Some(answer.map(<[u8]>::to_vec)),
    });
    assert!(reply.expect("an echo") == request);
}

#[test]
fn killed_clients_leave_nothing_behind() {
    kill_clients("kill::killed_clients_leave_nothing_behind", false);
}

#[test]
fn killed_clients_leave_nothing_behind_at_an_inline_server() {
    kill_clients("kill::killed_clients_leave_nothing_behind_at_an_inline_server", true);
}

/// Serves until killed; never answers `halt`.
fn play_server(name: &str, kind: &str) -> ! {
    let service = |request: &[u8], reply: &mut Reply<'_>| {
        if request == b"halt" {
            say("halted");
            loop {
                std::thread::park();
            }
        }
        reply.write(request);
    };
    let config = unhurried_config(|config| config.inline = Some(kind == "inline"));
    let server = Server::bind(name).config(config).serve(service).expect("a server");
    say("ready");
    wait_for_end();
    server.stop();
    exit(0);
}

fn serve_elsewhere(test: &str, name: &str, kind: &str) -> Process {
    let mut server = Process::spawn(test, &[name, kind]);
    server.wait_for("ready");
    server
}

fn patient() -> ClientConfig {
    ClientConfig::default().call_timeout(PATIENCE)
}

/// Takes the ends of `outstanding` RPCs. All report that the server is gone, as does every later
/// call.
fn assert_gone(client: &mut Client, outstanding: usize) {
    for _ in 0..outstanding {
        let (_, end) = wait_until("an end", || next_end(client));
        assert_eq!(end, Err(CallError::ServerGone));
    }
    assert_eq!(client.outstanding(), 0);
    assert_eq!(client.call(b"more"), Err(CallError::ServerGone));
    assert_eq!(client.submit(b"more"), Err(SubmitError::ServerGone));
    assert!(client.poll().is_none());
}

#[test]
fn a_killed_server_ends_every_rpc_in_time_and_frees_its_name() {
    const TEST: &str = "kill::a_killed_server_ends_every_rpc_in_time_and_frees_its_name";
    if let Some(words) = role() {
        play_server(&words[0], &words[1]);
    }
    let _watchdog = Watchdog::new(TEST);
    let name = endpoint("killed");
    for outstanding in [0, 1, 2, 3, 50, 100, 200, 256] {
        let mut server = serve_elsewhere(TEST, &name, if outstanding % 3 == 0 { "inline" } else { "threaded" });
        let mut idle = Client::connect_with(&name, patient()).expect("a connection");
        assert_eq!(idle.call(b"warm").expect("an echo"), b"warm");
        // The only worker is halted; the other RPCs wait in the server or in the ring.
        let mut busy = Client::connect_with(&name, patient()).expect("a connection");
        for _ in 0..outstanding {
            busy.submit(b"halt").expect("room");
        }
        server.kill();
        assert_gone(&mut busy, outstanding);
        assert_gone(&mut idle, 0);
        let again = Server::bind(&name).inline(false).serve(echo).expect("the name is free at once");
        assert_eq!(Client::connect(&name).expect("a connection").call(b"again").expect("an echo"), b"again");
        again.stop();
    }
}

#[test]
fn tasks_that_sleep_are_told_that_their_server_was_killed() {
    const TEST: &str = "kill::tasks_that_sleep_are_told_that_their_server_was_killed";
    if let Some(words) = role() {
        play_server(&words[0], &words[1]);
    }
    let _watchdog = Watchdog::new(TEST);
    let name = endpoint("killed-asleep");
    let executor = tokio::runtime::Builder::new_multi_thread().worker_threads(1).build().expect("an executor");
    for kind in ["inline", "threaded"] {
        let mut server = serve_elsewhere(TEST, &name, kind);
        let client =
            AsyncClient::connect_with(&name, patient().slots(8)).wait().expect("a connection").poll_for(Span::ZERO);
        executor.block_on(async {
            assert_eq!(client.call(b"warm").await, Ok(b"warm".to_vec()));
            // More calls than there is room for, so some wait for room.
            let asleep: Vec<_> = (0..20)
                .map(|_| {
                    let client = client.clone();
                    tokio::spawn(async move { client.call(b"halt").await })
                })
                .collect();
            wait_until("a full client", || (client.outstanding() == 8).then_some(()));
            server.kill();
            for call in asleep {
                assert_eq!(call.await.expect("no panic"), Err(CallError::ServerGone));
            }
            assert_eq!(client.call(b"more").await, Err(CallError::ServerGone));
        });
    }
}

/// Keeps all cores busy, so that no waiting thread has one to itself.
fn with_busy_cores<R>(run: impl FnOnce() -> R) -> R {
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let _end = RaisedAtTheEnd(&is_over);
        for _ in 0..2 * std::thread::available_parallelism().map_or(2, usize::from) {
            scope.spawn(|| {
                while !is_over.load(Ordering::Relaxed) {
                    std::hint::spin_loop();
                }
            });
        }
        run()
    })
}

#[test]
fn a_call_under_way_ends_in_time_when_its_server_is_killed_on_a_busy_machine() {
    const TEST: &str = "kill::a_call_under_way_ends_in_time_when_its_server_is_killed_on_a_busy_machine";
    if let Some(words) = role() {
        play_server(&words[0], &words[1]);
    }
    let _watchdog = Watchdog::new(TEST);
    let name = endpoint("killed-busy");
    for kind in ["threaded", "inline"] {
        let mut server = serve_elsewhere(TEST, &name, kind);
        let mut client = Client::connect_with(&name, patient()).expect("a connection");
        let result = with_busy_cores(|| {
            std::thread::scope(|scope| {
                let caller = scope.spawn(|| client.call(b"halt").map(<[u8]>::to_vec));
                server.wait_for("halted");
                server.kill();
                wait_until("the end of the call", || caller.is_finished().then_some(()));
                caller.join().expect("no panic")
            })
        });
        assert_eq!(result, Err(CallError::ServerGone), "at a {kind} server");
    }
}

#[test]
fn a_halted_server_times_calls_out_and_serves_again_when_it_goes_on() {
    const TEST: &str = "kill::a_halted_server_times_calls_out_and_serves_again_when_it_goes_on";
    if let Some(words) = role() {
        play_server(&words[0], &words[1]);
    }
    let _watchdog = Watchdog::new(TEST);
    let name = endpoint("halted");
    for kind in ["threaded", "inline"] {
        let mut server = serve_elsewhere(TEST, &name, kind);
        let config = ClientConfig::default().call_timeout(Duration::from_millis(50));
        let mut client = Client::connect_with(&name, config).expect("a connection");
        for round in 0..3_u8 {
            wait_until("an answer", || client.call(&[round]).ok().map(|reply| assert_eq!(reply, [round])));
            server.pause();
            for number in 0..3_u8 {
                assert_eq!(client.call(&[round, number]), Err(CallError::TimedOut), "at a halted {kind} server");
            }
            server.resume();
            let reply = wait_until("an answer", || client.call(b"go on").ok().map(<[u8]>::to_vec));
            assert_eq!(reply, b"go on", "not the answer to a call that timed out");
        }
        assert_eq!(client.outstanding(), 0);
        assert!(server.end().success(), "a {kind} server ends cleanly after all that");
        assert_gone(&mut client, 0);
    }
}
