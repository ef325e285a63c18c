//! A `udp://` server with several engines: its clients are divided among them, and each engine
//! serves its own.

use crate::support::boxed::boxed;
use crate::support::patient_client;
use nebula::{Client, Key, Keys, Reply, ServeError, Server, ServerConfig};
use std::thread::JoinHandle;

const HERE: &str = "udp://127.0.0.1:0";

/// Runs a worker until it is to stop; the RPCs that it served.
fn count(worker: nebula::Worker) -> JoinHandle<u64> {
    std::thread::spawn(move || {
        let mut served = 0;
        while let Some(mut rpc) = worker.wait_for_rpc() {
            let payload = rpc.payload().to_vec();
            rpc.rpc_send(&payload);
            served += 1;
        }
        served
    })
}

#[test]
fn clients_are_divided_evenly_and_each_is_served_by_one_engine() {
    for keys in [Keys::default(), Key::new([5; 32]).into()] {
        let mut config = ServerConfig::default().engines(3).workers(3).inline(true);
        config.keys = keys.clone();
        let (server, workers) = Server::bind(HERE).config(config).open().expect("it works");
        let workers: Vec<_> = workers.into_iter().map(count).collect();
        let mut clients: Vec<_> = (0..6)
            .map(|_| {
                let mut config = patient_client();
                config.keys = keys.clone();
                Client::connect_with(server.endpoint().clone(), config).expect("it works")
            })
            .collect();
        for call in 0..100_u32 {
            for client in &mut clients {
                assert_eq!(client.call(&call.to_le_bytes()).expect("it works"), call.to_le_bytes());
            }
        }
        // The test owns the workers; their counts are known once they end.
        server.stopper().stop();
        let served: Vec<u64> = workers.into_iter().map(|worker| worker.join().expect("it works")).collect();
        let status = server.stop();
        // A hello repeated on a busy machine uses up a number.
        if status.clients == 6 {
            assert_eq!(served, [200; 3]);
        }
        assert!(served.iter().all(|served| served % 100 == 0), "each client has one engine: {served:?}");
        assert_eq!((status.freed, status.workers), (600, 3));
    }
}

#[test]
fn an_engine_with_its_own_thread_has_its_share_of_the_workers() {
    let server = Server::bind(HERE).engines(2).workers(3);
    let server = server.serve(boxed(|request: &[u8], reply: &mut Reply<'_>| reply.write(request))).expect("it works");
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                let mut client = Client::connect_with(server.endpoint().clone(), patient_client()).expect("it works");
                for _ in 0..200 {
                    assert_eq!(client.call(b"hello").expect("it works"), b"hello");
                }
            });
        }
    });
    let status = server.stop();
    assert_eq!(status.workers, 3);
    assert!(status.clients >= 2 && status.freed > 0, "{status:?}");
}

#[test]
fn what_cannot_be_is_refused_and_says_what_could() {
    let refused = |server: Server| server.open().map(drop).unwrap_err();
    assert!(matches!(refused(Server::bind(HERE).engines(0)), ServeError::Engines { engines: 0, workers: 1 }));
    assert!(matches!(refused(Server::bind(HERE).engines(2)), ServeError::Engines { engines: 2, workers: 1 }));
    assert!(matches!(refused(Server::bind(HERE).engines(257).workers(300)), ServeError::Engines { .. }));
    let uneven = Server::bind(HERE).engines(2).workers(3).inline(true);
    assert!(matches!(refused(uneven), ServeError::InlineWorkers { workers: 3, engines: 2 }));
    let groups = Server::bind(HERE).engines(2).workers(2).policy("altocumulus:2".parse().expect("a policy"));
    assert!(matches!(refused(groups), ServeError::EnginesAndGroups { engines: 2, .. }));
    let shm =
        Server::bind("shm://engines-refused").engines(2).workers(2).policy("altocumulus:2".parse().expect("a policy"));
    assert!(matches!(refused(shm), ServeError::EnginesAndGroups { engines: 2, .. }));
}

#[test]
fn each_engine_writes_its_own_decision_log() {
    let dir = std::env::temp_dir().join(format!("nebula-engines-{}", std::process::id()));
    std::fs::create_dir_all(&dir).expect("it works");
    let log = dir.join("decisions");
    let config = ServerConfig::default().engines(2).workers(2).inline(true).decision_log(&log);
    let server = Server::bind(HERE).config(config);
    let server = server.serve(boxed(|request: &[u8], reply: &mut Reply<'_>| reply.write(request))).expect("it works");
    // In turn; a hello repeated on a busy machine takes a turn too.
    for _ in 0..8 {
        Client::connect_with(server.endpoint().clone(), patient_client()).expect("it works").call(b"noted").unwrap();
    }
    server.stop();
    let noted = [0, 1].map(|index| {
        let text = std::fs::read_to_string(dir.join(format!("decisions.{index}"))).expect("it works");
        nebula_nic::replay_text(&text).expect("it works");
        text.lines().filter(|line| line.contains("packet")).count()
    });
    assert!(noted.iter().all(|&noted| noted > 0) && noted.iter().sum::<usize>() >= 8, "{noted:?}");
    std::fs::remove_dir_all(&dir).expect("it works");
}
