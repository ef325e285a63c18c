//! Servers of several flows over both transports: each thread has its own queue and its share of
//! the clients, and one pool serves all threads.

use crate::support::{endpoint, endpoints, patient_client, wait_until_freed, wait_until_served};
use nebula::{Class, Client, Description, Reply, RunningServer, Server, ServerConfig, Service, Span};
use nebula_testing::wait::{Watchdog, wait_until};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::ThreadId;

const FLOWS: u16 = 3;

fn config() -> ServerConfig {
    ServerConfig::default().flows(FLOWS).slo(Span::from_ms(200)).service_mean(Span::from_ms(1))
}

fn client(server: &RunningServer) -> Client {
    let config = patient_client().slots(16);
    Client::connect_with(server.endpoint().clone(), config).expect("a connection")
}

/// The clients of each thread, by number.
type Seen = Arc<Mutex<BTreeMap<u8, Vec<ThreadId>>>>;

fn noting(seen: &Seen) -> impl Service + Send + Sync + 'static + use<> {
    let seen = seen.clone();
    move |request: &[u8], reply: &mut Reply<'_>| {
        seen.lock().expect("not poisoned").entry(request[0]).or_default().push(std::thread::current().id());
        reply.write(request);
    }
}

#[test]
fn clients_are_dealt_out_in_turn_and_stay() {
    for at in endpoints("flows") {
        let seen = Seen::default();
        let server = Server::bind(&at).config(config()).serve(noting(&seen)).expect("a server");
        let mut clients: Vec<_> = (0..6).map(|_| client(&server)).collect();
        for _ in 0..50 {
            for (number, client) in (0_u8..).zip(&mut clients) {
                assert_eq!(client.call(&[number]), Ok(&[number][..]));
            }
        }
        // Clients that leave make room for as many others, and no client moves.
        clients.truncate(3);
        for (number, client) in (0_u8..).zip(&mut clients) {
            assert_eq!(client.call(&[number]), Ok(&[number][..]));
        }
        let status = wait_until_served(server.status(), 303);
        server.stop();
        assert_eq!((status.workers, status.freed), (FLOWS.into(), 303), "{at}: {status:?}");
        let seen = seen.lock().expect("not poisoned");
        let mut of_thread: BTreeMap<String, u32> = BTreeMap::new();
        for threads in seen.values() {
            assert!(threads.iter().all(|thread| *thread == threads[0]), "{at}: a client has one flow");
            *of_thread.entry(format!("{:?}", threads[0])).or_default() += 1;
        }
        // Over UDP, a hello repeated on a busy machine uses up a number.
        if at.starts_with("shm") {
            assert_eq!(of_thread.into_values().collect::<Vec<_>>(), [2; 3], "{at}");
        }
    }
}

/// Answers at once, except `w`, which waits until released, in the pool if there is one.
struct Waits {
    has_begun: Arc<AtomicBool>,
    is_let_go: Arc<AtomicBool>,
    is_long: bool,
}

impl Service for Waits {
    fn serve(&self, request: &[u8], reply: &mut Reply<'_>) {
        if request == b"w" {
            self.has_begun.store(true, Ordering::Relaxed);
            wait_until("to be let go", || self.is_let_go.load(Ordering::Relaxed).then_some(()));
        }
        reply.write(request);
    }

    fn describe(&self) -> Description {
        match self.is_long {
            true => {
                Description::default().classes(|request| if request == b"w" { Class::Worker } else { Class::Dispatch })
            }
            false => Description::default(),
        }
    }
}

/// How many of six clients are answered while the RPC of one runs. Waits for `expected` of them.
fn answered_meanwhile(at: &str, is_long: bool, expected: usize) -> usize {
    let [has_begun, is_let_go] = [(); 2].map(|()| Arc::new(AtomicBool::new(false)));
    let service = Waits { has_begun: has_begun.clone(), is_let_go: is_let_go.clone(), is_long };
    let server = Server::bind(at).config(config()).serve(service).expect("a server");
    let mut clients: Vec<_> = (0..6).map(|_| client(&server)).collect();
    clients[0].submit(b"w").expect("room");
    wait_until("it to begin", || {
        assert!(clients[0].poll().is_none(), "it is not let go");
        has_begun.load(Ordering::Relaxed).then_some(())
    });
    let mut answered = [false; 6];
    for client in &mut clients[1..] {
        client.submit(b"at once").expect("room");
        client.flush();
    }
    wait_until("answers to the others", || {
        for (client, answered) in clients[1..].iter_mut().zip(&mut answered[1..]) {
            *answered |= client.poll().is_some();
        }
        (answered.iter().filter(|answered| **answered).count() >= expected).then_some(())
    });
    is_let_go.store(true, Ordering::Relaxed);
    for (client, answered) in clients.iter_mut().zip(answered) {
        wait_until("the rest", || (answered || client.poll().is_some()).then_some(()));
    }
    drop(clients);
    if at.starts_with("shm") {
        wait_until_freed(server.status(), 6);
    }
    server.stop();
    answered.into_iter().filter(|answered| *answered).count()
}

#[test]
fn who_waits_holds_up_its_flow_alone_and_in_the_pool_none() {
    let _watchdog = Watchdog::new("flows");
    // There are two clients per flow, and one shares the flow of the client that waits.
    assert_eq!(answered_meanwhile(&endpoint("flows-wait"), false, 4), 4);
    // Over UDP a repeated hello draws another flow.
    assert!(answered_meanwhile("udp://127.0.0.1:0", false, 2) >= 2);
    for at in endpoints("flows-pool") {
        assert_eq!(answered_meanwhile(&at, true, 5), 5, "{at}");
    }
}
