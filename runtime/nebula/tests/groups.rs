//! Under `altocumulus:G` groups hand each other waiting RPCs, and nothing else about an RPC
//! changes.

use crate::support::boxed::boxed;
use crate::support::draw::Draw;
use crate::support::exchange::exchange;
use crate::support::log_file::LogFile;
use crate::support::patient_client;
use crate::support::{endpoint, everywhere, server_config, unhurried_config, wait_until_freed, wait_until_served};
use nebula::{
    CallError, Client, Fault, IdlePolicy, IntoEndpoints, MigrationConfig, Reply, RunningServer, Server, ServerConfig,
};
use nebula_nic::decision::{GroupReplayError, replay_group_text};
use nebula_nic::schedule::{ThresholdRow, Thresholds};
use nebula_testing::wait::{Limit, Watchdog, spin, wait_until};
use std::cell::Cell;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::time::Duration;

/// Service time, so that queues build up.
const SERVICE: Duration = Duration::from_micros(2);

const DEPTH: usize = 100;
/// Stands for a worker's number after a panic.
const PANICKED: u8 = u8::MAX;

thread_local! {
    /// This thread's worker. Workers are numbered in the order of their first RPC.
    static WORKER: Cell<Option<u64>> = const { Cell::new(None) };
}

#[derive(Default)]
struct Workers(AtomicU64);

impl Workers {
    fn own(&self) -> u64 {
        WORKER.get().unwrap_or_else(|| {
            let own = self.0.fetch_add(1, SeqCst);
            WORKER.set(Some(own));
            own
        })
    }
}

/// Answers with the worker's number and the request.
fn serve(name: &str, change: impl FnOnce(&mut ServerConfig)) -> RunningServer {
    let config = unhurried_config(|config| {
        (config.policy, config.workers) = ("altocumulus:2".parse().expect("a policy"), 2);
        config.migration = MigrationConfig::default().waiting_max(4);
        change(config);
    });
    let workers = Arc::new(Workers::default());
    let server = Server::bind(name).config(config).serve(boxed(move |request: &[u8], reply: &mut Reply| {
        spin(SERVICE);
        reply.write(&workers.own().to_le_bytes());
        reply.write(request);
        if request.len() > 64 && request[0] == b'p' {
            std::panic::resume_unwind(Box::new("asked for"));
        }
    }));
    server.expect("a server")
}

fn connect(name: impl IntoEndpoints) -> Client {
    Client::connect_with(name, patient_client().slots(2048).reply_bytes_max(2008)).expect("a connection")
}

/// The worker of the client's own group, which serves RPCs that do not wait.
fn home(client: &mut Client) -> u8 {
    client.call(b"who?").expect("a reply")[0]
}

/// A request of random size; the handler panics at long ones that begin with `p`.
fn request(draw: &mut Draw, may_panic: bool) -> Vec<u8> {
    let bytes = if draw.once_in(4) { draw.below(2001) } else { draw.below(65) };
    let mut request = draw.bytes(bytes);
    if bytes > 64 && !may_panic {
        request[0] = b'q';
    }
    request
}

/// Sends `rpcs` RPCs of all sizes, [`DEPTH`] at once, and checks each end. Returns how many each
/// worker answered.
fn load(client: &mut Client, seed: u64, rpcs: usize, may_panic: bool) -> BTreeMap<u8, u64> {
    let (mut draw, mut by_worker) = (Draw::new(seed), BTreeMap::new());
    exchange(
        client,
        rpcs,
        DEPTH,
        |_| request(&mut draw, may_panic),
        |request, end| {
            let worker = match end {
                Ok(reply) => {
                    assert!(reply[8..] == *request, "{} bytes", request.len());
                    reply[0]
                }
                Err(error) => {
                    assert_eq!((error, request[0]), (CallError::Fault(Fault::HandlerPanicked), b'p'));
                    PANICKED
                }
            };
            *by_worker.entry(worker).or_default() += 1;
        },
    );
    by_worker
}

#[test]
fn the_load_of_one_groups_client_is_served_by_both_and_each_rpc_moves_once_at_most() {
    let _watchdog = Watchdog::new("the load of one group's client");
    for name in everywhere("groups-share") {
        let server = serve(&name, |_| ());
        let mut client = connect(server.endpoint().clone());
        let home = home(&mut client);
        // However the machine divides its cores, both workers serve some in the end.
        let (limit, mut rounds, mut own, mut other) = (Limit::new("work of both groups"), 0, 0, 0);
        while rounds < 5 || own == 0 || other == 0 {
            limit.check();
            rounds += 1;
            for (worker, served) in load(&mut client, rounds, 1000, false) {
                *(if worker == home { &mut own } else { &mut other }) += served;
            }
        }
        let all = rounds * 1000 + 1;
        drop(client);
        let status = wait_until_served(server.status(), all);
        server.stop();
        // Each move takes one RPC to the other group. The number of moves equals the RPCs served
        // there, so none moved twice.
        assert_eq!((status.migrated_out, status.migrated_in), (other, other), "{name}: {status:?}");
        assert_eq!((status.freed, status.completed, status.nacked()), (all, all, 0), "{name}: {status:?}");
    }
}

#[test]
fn what_does_not_wait_does_not_move() {
    let _watchdog = Watchdog::new("what does not wait");
    for name in everywhere("groups-calm") {
        let server = serve(&name, |_| ());
        let mut client = connect(server.endpoint().clone());
        let home = home(&mut client);
        for number in 0..1000_u32 {
            let reply = client.call(&number.to_le_bytes()).expect("a reply");
            assert_eq!((reply[0], &reply[8..]), (home, &number.to_le_bytes()[..]));
        }
        drop(client);
        let status = wait_until_served(server.status(), 1001);
        server.stop();
        assert_eq!((status.migrated_out, status.freed, status.workers), (0, 1001, 2), "{name}: {status:?}");
    }
}

#[test]
fn every_rpc_ends_once_and_whole_in_uneven_groups_with_little_room_for_foreign_ones() {
    let _watchdog = Watchdog::new("uneven groups");
    for name in everywhere("groups-uneven") {
        let server = serve(&name, |config| {
            config.workers = 3;
            (config.migration.foreign_max, config.migration.waiting_max) = (2, Some(0));
        });
        let (limit, mut all) = (Limit::new("an RPC to move"), 0);
        while all == 0 || server.status().read().migrated_out == 0 {
            limit.check();
            std::thread::scope(|scope| {
                for seed in 0..3 {
                    let endpoint = server.endpoint().clone();
                    scope.spawn(move || load(&mut connect(endpoint), all + seed, 1500, true));
                }
            });
            all += 4500;
            wait_until_served(server.status(), all);
        }
        let status = wait_until_served(server.status(), all);
        server.stop();
        assert_eq!((status.freed, status.completed), (all, all), "{name}: {status:?}");
        // If an engine pauses between reading the clock and reading the socket, it sees a request
        // from the future, counts a violation, and gets the request again.
        assert!(!name.starts_with("shm") || status.violations == 0, "{name}: {status:?}");
        assert_eq!(status.migrated_out, status.migrated_in, "{name}: {status:?}");
    }
}

#[test]
fn a_client_that_leaves_gives_back_what_has_moved_too() {
    let _watchdog = Watchdog::new("a client that leaves");
    let name = endpoint("groups-leaves");
    let server = serve(&name, |_| ());
    let (limit, mut rounds) = (Limit::new("an RPC to move"), 0);
    while rounds < 20 || server.status().read().migrated_out == 0 {
        limit.check();
        let mut leaves = connect(&*name);
        load(&mut leaves, rounds, 300, false);
        rounds += 1;
        // Submits until the ring is full.
        (0..DEPTH).any(|_| leaves.submit(&[7; 200]).is_err());
    }
    let mut stays = connect(&*name);
    load(&mut stays, 99, 300, false);
    drop(stays);
    let status = wait_until_freed(server.status(), rounds * 300 + 300);
    server.stop();
    assert_eq!(status.freed + status.abandoned, status.completed, "{status:?}");
}

#[test]
fn a_stop_under_load_ends_every_rpc() {
    let _watchdog = Watchdog::new("a stop under load");
    let name = endpoint("groups-stop");
    let server = serve(&name, |_| ());
    let mut client = connect(&*name);
    let mut submitted = 0;
    wait_until("some to have moved", || {
        // Slots become free in order, and the oldest RPC may have moved to a group without a core
        // for now.
        while client.outstanding() < 100 && client.submit(&[7; 64]).is_ok() {
            submitted += 1;
        }
        while let Some(done) = client.poll() {
            assert!(done.result.is_ok());
            submitted -= 1;
        }
        (server.status().read().migrated_out > 0).then_some(())
    });
    server.stop();
    while submitted > 0 {
        let result = wait_until("an end", || client.poll().map(|done| done.result.map(<[u8]>::len)));
        assert!(matches!(result, Ok(72) | Err(CallError::ServerGone)), "{result:?}");
        submitted -= 1;
    }
    assert_eq!(client.outstanding(), 0);
}

/// The log of one group.
fn log_of(file: &LogFile, group: u32) -> String {
    LogFile(format!("{}.{group}", file.0.display()).into()).text()
}

/// Trained thresholds follow each group's load, not half of the queue bound.
#[test]
fn trained_thresholds_are_those_of_the_managers() {
    let _watchdog = Watchdog::new("trained thresholds");
    let row = |load_permille, waiting| ThresholdRow { load_permille, waiting };
    for (waiting, migrates) in [(3, true), (1_000_000, false)] {
        let name = endpoint(&format!("groups-trained-{waiting}"));
        let file = LogFile::new(&format!("groups-trained-{waiting}"));
        let server = serve(&name, |config| {
            let trained =
                Thresholds::try_from_rows(vec![row(1, waiting), row(900, waiting + 1)]).expect("rising loads");
            config.migration = MigrationConfig::default().thresholds(trained);
            config.decision_log = Some(file.0.clone());
        });
        let (limit, mut all) = (Limit::new("an RPC to move"), 0);
        while all == 0 || (migrates && server.status().read().migrated_out == 0) {
            limit.check();
            load(&mut connect(&*name), all, 2000, true);
            all += 2000;
            wait_until_freed(server.status(), all);
        }
        let status = wait_until_freed(server.status(), all);
        server.stop();
        assert_eq!((status.migrated_out > 0, status.freed), (migrates, all), "{status:?}");
        // With two queues, the longer one is a hill if it is far longer.
        let [hill, valley, pairing] = [status.migrations_hill, status.migrations_valley, status.migrations_pairing];
        assert_eq!((hill + pairing > 0, valley), (migrates, 0), "{status:?}");
        for group in 0..2 {
            let log = log_of(&file, group);
            let told = format!("1:{waiting},900:{}", waiting + 1);
            assert!(log.lines().next().is_some_and(|setup| setup.contains(&told)), "{:?}", log.lines().next());
            replay_group_text(&log).expect("the log replays");
        }
    }
}

#[test]
fn unsupported_groups_are_errors_that_say_so() {
    let open = |change: &dyn Fn(&mut ServerConfig)| {
        let config = server_config(|config| {
            (config.policy, config.workers) = ("altocumulus:2".parse().expect("a policy"), 2);
            change(config);
        });
        Server::bind(&endpoint("groups-errors")).config(config).open().expect_err("no server").to_string()
    };
    let few = open(&|config| config.workers = 1);
    assert!(few.contains("2 groups need at least 2 workers"), "{few}");
    let bulk = open(&|config| config.migration.bulk = 0);
    assert!(bulk.contains("bulk of 0"), "{bulk}");
    let udp = |change: &dyn Fn(&mut ServerConfig)| {
        let config = server_config(|config| {
            (config.policy, config.workers) = ("altocumulus:2".parse().expect("a policy"), 2);
            change(config);
        });
        Server::bind("udp://127.0.0.1:0").config(config).open().expect_err("no server").to_string()
    };
    let asleep = udp(&|config| config.idle = IdlePolicy::Block);
    assert!(asleep.contains("under altocumulus:2 threads look for work where others leave it"), "{asleep}");
    let engines = udp(&|config| config.engines = 2);
    assert!(engines.contains("an engine a group"), "{engines}");
}

#[test]
fn one_group_is_a_server_as_any_other() {
    let _watchdog = Watchdog::new("one group");
    for inline in [true, false] {
        let name = endpoint(&format!("groups-one-{inline}"));
        let server = serve(&name, |config| {
            (config.policy, config.workers, config.inline) =
                ("altocumulus:1".parse().expect("a policy"), 1, Some(inline));
        });
        load(&mut connect(&*name), 5, 500, true);
        let status = wait_until_freed(server.status(), 500);
        server.stop();
        assert_eq!((status.freed, status.migrated_out), (500, 0), "{status:?}");
    }
}

#[test]
fn the_logs_of_the_groups_replay_through_fresh_groups_and_managers() {
    let _watchdog = Watchdog::new("the logs of the groups");
    let name = endpoint("groups-logged");
    let file = LogFile::new("groups");
    let server = serve(&name, |config| {
        (config.decision_log, config.workers) = (Some(file.0.clone()), 3);
        (config.migration.foreign_max, config.migration.waiting_max) = (4, Some(1));
    });
    std::thread::scope(|scope| {
        for seed in 0..3 {
            let name = &name;
            scope.spawn(move || load(&mut connect(&**name), seed, 1500, true));
        }
    });
    let status = wait_until_freed(server.status(), 4500);
    server.stop();
    let logs = [0, 1].map(|group| log_of(&file, group));
    for log in &logs {
        let lines = replay_group_text(log).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(lines, log.lines().count() - 1, "every line but the configuration's");
    }
    let count = |what: &str| logs.iter().map(|log| log.matches(what).count() as u64).sum::<u64>();
    assert_eq!(count("-> adopted"), status.migrated_in);
    assert_eq!(count("-> handed "), status.migrated_in + count("-> turned-away"));
    assert_eq!(count("returned by="), status.migrated_in);
    assert_eq!((count("-> waits-again"), count("-> foreign ")), (count("-> turned-away"), status.migrated_in));
    assert_eq!(count("dispatch core="), status.dispatched);
    for (from, to) in [
        ("-> migrate to=1", "-> migrate to=0"),
        ("-> foreign origin=0", "-> foreign origin=1"),
        ("-> adopted", "-> turned-away"),
    ] {
        for log in logs.iter().filter(|log| log.contains(from)) {
            let error = replay_group_text(&log.replacen(from, to, 1)).expect_err("a decision that was tampered with");
            assert!(matches!(error, GroupReplayError::Difference { .. }), "{error}");
        }
    }
}
